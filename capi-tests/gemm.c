// Random products with random pipelines, made in many ways, against their definition.
//
// Usage: gemm [FIRST [COUNT]] to make only these calls.

#include "check.h"
#include "random_call.h"
#include "way.h"

enum { SMALL = 4000, LARGE = 40, LATER_SMALL = 2000, LATER_LARGE = 20, WAYS = 4 };

// Mostly less than a few tiles of any kernel; sometimes none, one, or many.
static int random_size(struct seed *seed) {
    switch (below(seed, 8)) {
        case 0:
            return below(seed, 3);
        case 1:
            return 1 + below(seed, 130);
        default:
            return 1 + below(seed, 24);
    }
}

static struct call small_call(uint64_t number) {
    struct seed seed = {~number};
    int m = random_size(&seed), n = random_size(&seed), k = random_size(&seed);
    // Sometimes deep enough to be cut into slices.
    if (one_in(&seed, 40)) {
        m = below(&seed, 9);
        n = below(&seed, 20);
        k = 1000 + below(&seed, 6000);
    }
    return random_call(number, m, n, k, 0);
}

// Worth several threads.
static struct call large_call(uint64_t number) {
    struct seed seed = {~number};
    return random_call(number, 140 + below(&seed, 60), 140 + below(&seed, 60), 100 + below(&seed, 60), 0);
}

static void test(uint64_t number) {
    int is_small = number < SMALL || (number >= LATER && number < LATER + LATER_SMALL);
    struct call call = is_small ? small_call(number) : large_call(number);
    struct seed seed = {~number};
    for (int way = 0; way < WAYS; way++)
        make_in_some_way(&call, &seed);
    free_call(&call);
}

int main(int argc, char **argv) {
    skip_unless_supported();
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : SMALL + LARGE;
    make_contexts();
    for (uint64_t number = first; number < first + count; number++)
        test(number);
    for (uint64_t number = LATER; argc == 1 && number < LATER + LATER_SMALL + LATER_LARGE; number++, count++)
        test(number);
    free_contexts();
    printf("%llu calls, each in %d ways\n", (unsigned long long)count, WAYS);
    return 0;
}
