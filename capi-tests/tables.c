// Tables of functions, compared with the C library's functions, and bytes that are looked up.

#include "check.h"
#include "plot.h"
#include "random.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct function {
    uint32_t number;
    double alpha, beta;
};

static double value(double x, const struct function *f) {
    switch (f->number) {
    case QGEMM_FUNCTION_RELU: return x < 0 ? f->alpha * x : x;
    case QGEMM_FUNCTION_TANH: return tanh(x);
    case QGEMM_FUNCTION_LOGISTIC: return 1 / (1 + exp(-x));
    case QGEMM_FUNCTION_GELU_ERF: return x / 2 * erfc(-x / sqrt(2));
    case QGEMM_FUNCTION_GELU_TANH: return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case QGEMM_FUNCTION_SWISH: return x / (1 + exp(-f->alpha * x));
    case QGEMM_FUNCTION_HARDSWISH: return x * fmin(fmax(f->alpha * x + f->beta, 0), 1);
    case QGEMM_FUNCTION_HARDSIGMOID: return fmin(fmax(f->alpha * x + f->beta, 0), 1);
    case QGEMM_FUNCTION_ELU: return x < 0 ? f->alpha * expm1(x) : x;
    case QGEMM_FUNCTION_EXP: return exp(x);
    case QGEMM_FUNCTION_MISH: return x * tanh(log1p(exp(x)));
    case QGEMM_FUNCTION_LINEAR: return f->alpha * x + f->beta;
    default: return fmin(fmax(x, f->alpha), f->beta);
    }
}

static int number(uint8_t byte, uint32_t type) {
    return type == QGEMM_TYPE_S8 ? (int8_t)byte : byte;
}

static qgemm_code random_code(struct seed *seed) {
    qgemm_code code;
    code.type = below(seed, 2) ? QGEMM_TYPE_S8 : QGEMM_TYPE_U8;
    code.scale = ldexpf((float)between(seed, 1, 2), below(seed, 16) - 12);
    code.zero_point = below(seed, 256) - (code.type == QGEMM_TYPE_S8 ? 128 : 0);
    return code;
}

// What an entry may be: a value within a rounding error of a tie may go to either side.
static int is_entry(uint8_t entry, double y, const qgemm_code *to) {
    int least = to->type == QGEMM_TYPE_S8 ? -128 : 0;
    double slack = 1e-12 * fmax(fabs(y), 1) / to->scale;
    double low = rint(y / to->scale - slack) + to->zero_point, high = rint(y / to->scale + slack) + to->zero_point;
    double got = number(entry, to->type);
    return got >= fmin(fmax(low, least), least + 255) && got <= fmin(fmax(high, least), least + 255);
}

static void well_known_functions(struct seed *seed) {
    for (uint32_t f = QGEMM_FUNCTION_RELU; f <= QGEMM_FUNCTION_CLIP; f++)
        for (int round = 0; round < 300; round++) {
            struct function function = {f, (float)between(seed, 0, 2), (float)between(seed, 2, 4)};
            qgemm_code from = random_code(seed), to = random_code(seed);
            uint8_t table[QGEMM_TABLE_SIZE];
            CHECK(qgemm_table_build_function(f, (float)function.alpha, (float)function.beta, &from, &to, table) ==
                  QGEMM_STATUS_OK);
            for (int byte = 0; byte < 256; byte++) {
                double x = (number((uint8_t)byte, from.type) - from.zero_point) * (double)from.scale;
                if (!is_entry(table[byte], value(x, &function), &to)) {
                    fprintf(stderr, "function %d of %g is %g, not %d * %g\n", (int)f, x, value(x, &function),
                            number(table[byte], to.type) - (int)to.zero_point, to.scale);
                    exit(1);
                }
            }
        }
}

struct calls {
    int count;
    float returned[256];
};

// Notes what it is given, and gives anything.
static float anything(float x, void *user) {
    struct calls *calls = user;
    CHECK(calls->count < 256);
    float y[] = {x, NAN, INFINITY, -INFINITY, FLT_MAX, 2.5f, -0.0f, -x};
    int call = calls->count++;
    calls->returned[call] = y[(call * 7 + call / 8) % 8];
    return calls->returned[call];
}

static void any_function(struct seed *seed) {
    for (int round = 0; round < 200; round++) {
        struct calls calls = {.count = 0};
        qgemm_code from = random_code(seed), to = random_code(seed);
        to.scale = below(seed, 2) ? 1 : to.scale;
        uint8_t table[QGEMM_TABLE_SIZE];
        CHECK(qgemm_table_build(anything, &calls, &from, &to, table) == QGEMM_STATUS_OK);
        CHECK(calls.count == 256);
        int least = to.type == QGEMM_TYPE_S8 ? -128 : 0;
        for (int byte = 0; byte < 256; byte++) {
            double y = calls.returned[byte], nearest = isnan(y) ? 0 : rint(y / (double)to.scale);
            CHECK(number(table[byte], to.type) == fmin(fmax(nearest + to.zero_point, least), least + 255));
        }
    }
}

static void looked_up(struct seed *seed) {
    qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
    for (int round = 0; round < 60; round++) {
        uint8_t table[QGEMM_TABLE_SIZE];
        for (int i = 0; i < QGEMM_TABLE_SIZE; i++)
            table[i] = (uint8_t)next_u32(seed);
        options.threads = 1 + below(seed, 3);
        qgemm_context *context;
        CHECK(qgemm_context_create(&options, &context) == QGEMM_STATUS_OK);
        size_t n = (size_t)(round < 40 ? below(seed, 700) : below(seed, 700000));
        struct plot from = make_plot(1, n, 0, (enum placement)below(seed, 2));
        struct plot to = make_plot(1, n, 0, (enum placement)below(seed, 2));
        fill_with_canaries(&to);
        for (size_t i = 0; i < n; i++)
            from.data[i] = (uint8_t)(next_u32(seed) >> 9);
        int in_place = below(seed, 2);
        if (in_place)
            memcpy(to.data, from.data, n);
        CHECK(qgemm_table_apply(context, table, in_place ? to.data : from.data, to.data, (int64_t)n) == QGEMM_STATUS_OK);
        for (size_t i = 0; i < n; i++)
            CHECK(to.data[i] == table[from.data[i]]);
        CHECK(canaries_live(&to));
        free_plot(&from);
        free_plot(&to);
        qgemm_context_free(context);
    }
}

static void fails(qgemm_status found, qgemm_status status, const char *text) {
    if (found != status || strcmp(qgemm_last_error(), text) != 0) {
        fprintf(stderr, "status %d, \"%s\" instead of %d, \"%s\"\n", (int)found, qgemm_last_error(), (int)status, text);
        exit(1);
    }
}

static void errors(void) {
    uint8_t table[QGEMM_TABLE_SIZE + 8], before[QGEMM_TABLE_SIZE + 8], bytes[64] = {0};
    memset(table, 77, sizeof table);
    memset(before, 77, sizeof before);
    const qgemm_code good = {QGEMM_TYPE_U8, 1, 0};
    qgemm_code bad = good;
    const uint32_t tanh_ = QGEMM_FUNCTION_TANH;
    fails(qgemm_table_build(NULL, NULL, &good, &good, table), QGEMM_STATUS_NULL_POINTER, "f is null, but must not be");
    fails(qgemm_table_build_function(0, 0, 0, &good, &good, table), QGEMM_STATUS_OPTION,
          "function is 0, which this libqgemm does not know");
    fails(qgemm_table_build_function(tanh_, NAN, 0, &good, &good, table), QGEMM_STATUS_PARAMETER,
          "alpha is NaN, but must be finite");
    fails(qgemm_table_build_function(tanh_, 0, INFINITY, &good, &good, table), QGEMM_STATUS_PARAMETER,
          "beta is inf, but must be finite");
    fails(qgemm_table_build_function(tanh_, 0, 0, NULL, &good, table), QGEMM_STATUS_NULL_POINTER,
          "from is null, but must not be");
    fails(qgemm_table_build_function(tanh_, 0, 0, &good, NULL, table), QGEMM_STATUS_NULL_POINTER,
          "to is null, but must not be");
    fails(qgemm_table_build_function(tanh_, 0, 0, &good, &good, NULL), QGEMM_STATUS_NULL_POINTER,
          "table is null, but must not be");
    bad.type = QGEMM_TYPE_S16;
    fails(qgemm_table_build_function(tanh_, 0, 0, &bad, &good, table), QGEMM_STATUS_TYPE,
          "from->type is 3, but must be QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    bad = good, bad.scale = 0;
    fails(qgemm_table_build_function(tanh_, 0, 0, &good, &bad, table), QGEMM_STATUS_PARAMETER,
          "to->scale is 0, but must be finite and at least FLT_MIN");
    bad = good, bad.zero_point = 256;
    fails(qgemm_table_build_function(tanh_, 0, 0, &bad, &good, table), QGEMM_STATUS_PARAMETER,
          "from->zero_point is 256, but must be among the integers of the type");
    fails(qgemm_table_apply(NULL, NULL, bytes, bytes, 9), QGEMM_STATUS_NULL_POINTER, "table is null, but must not be");
    fails(qgemm_table_apply(NULL, table, NULL, bytes, 9), QGEMM_STATUS_NULL_POINTER, "from is null, but must not be");
    fails(qgemm_table_apply(NULL, table, bytes, NULL, 9), QGEMM_STATUS_NULL_POINTER, "to is null, but must not be");
    fails(qgemm_table_apply(NULL, table, bytes, bytes, -1), QGEMM_STATUS_SHAPE, "count is -1, but must not be negative");
    fails(qgemm_table_apply(NULL, table, bytes, bytes + 8, 9), QGEMM_STATUS_OVERLAP,
          "what is written overlaps from, which is still to be read");
    fails(qgemm_table_apply(NULL, table, bytes, table + 255, 9), QGEMM_STATUS_OVERLAP,
          "what is written overlaps table, which is still to be read");
    CHECK(qgemm_table_apply(NULL, table, NULL, NULL, 0) == QGEMM_STATUS_OK);
    CHECK(memcmp(table, before, sizeof table) == 0);
}

static void report(const char *what) {
    fprintf(stderr, "%s\n", what);
}

int main(void) {
    skip_unless_supported();
    report_faults(report);
    struct seed seed = {5};
    well_known_functions(&seed);
    any_function(&seed);
    looked_up(&seed);
    errors();
    printf("tables are as defined\n");
    return 0;
}
