// Random products with random pipelines, where whatever they read or write begins right behind or ends right before
// inaccessible memory: operands, offsets, parameters, residuals, results, packed operands, workspaces, the arguments.
//
// Usage: gemm_guard_pages [FIRST [COUNT]] to make only these calls.

#include "check.h"
#include "random_call.h"
#include "way.h"

// Every shape of up to 4 in each direction, so many times.
enum { TINY_SIZES = 5, TIMES = 10, TINY = TINY_SIZES * TINY_SIZES * TINY_SIZES * TIMES };
enum { SMALL = 2500, LARGE = 30, LATER_SMALL = 1500, LAYER_COUNT = 60, WAYS = 3 };

static struct call tiny_call(uint64_t number) {
    int m = (int)number % TINY_SIZES, n = (int)number / TINY_SIZES % TINY_SIZES;
    return random_call(number, m, n, (int)number / TINY_SIZES / TINY_SIZES % TINY_SIZES, 1);
}

// One of the sizes is anything up to a little more than any tile, panel or vector.
static struct call small_call(uint64_t number) {
    struct seed seed = {~number};
    int sizes[] = {1 + below(&seed, 20), 1 + below(&seed, 20), 1 + below(&seed, 40)};
    sizes[number % 3] = (int)(number / 3 % 70);
    return random_call(number, sizes[0], sizes[1], sizes[2], 1);
}

// Deep enough to be cut into slices, or worth several threads.
static struct call large_call(uint64_t number) {
    struct seed seed = {~number};
    if (number % 2 == 0)
        return random_call(number, 1 + below(&seed, 9), 1 + below(&seed, 20), 2000 + below(&seed, 5000), 1);
    return random_call(number, 130 + below(&seed, 30), 130 + below(&seed, 30), 90 + below(&seed, 20), 1);
}

// With so many rows that tiles become bytes while others are multiplied.
static struct call layer_call(uint64_t number) {
    struct seed seed = {~number};
    return random_call(number, 37 + below(&seed, 60), 32 + below(&seed, 50), 64 + below(&seed, 90), 1);
}

static struct call fenced_call(uint64_t number) {
    if (number >= LAYERS)
        return layer_call(number);
    if (number >= LATER)
        return number % 2 == 0 ? tiny_call(number) : small_call(number);
    return number < TINY ? tiny_call(number) : number < TINY + SMALL ? small_call(number) : large_call(number);
}

static void test(uint64_t number) {
    struct call call = fenced_call(number);
    struct seed seed = {~number};
    for (int way = 0; way < WAYS; way++)
        make_in_some_way(&call, &seed);
    free_call(&call);
}

int main(int argc, char **argv) {
    skip_unless_supported();
    report_faults(report_way);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : TINY + SMALL + LARGE;
    make_contexts();
    for (uint64_t number = first; number < first + count; number++)
        test(number);
    for (uint64_t number = LATER; argc == 1 && number < LATER + LATER_SMALL; number++, count++)
        test(number);
    for (uint64_t number = LAYERS; argc == 1 && number < LAYERS + LAYER_COUNT; number++, count++)
        test(number);
    free_contexts();
    printf("%llu calls, each in %d ways\n", (unsigned long long)count, WAYS);
    return 0;
}
