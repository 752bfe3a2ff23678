// How large the errors of products with fewer than 8 bits are.
//
// Usage: bit_depths layer DIRECTORY      by bits and rule, on a layer of GoogLeNet, down to its bytes
//        bit_depths depths DIRECTORY     by depth, for many kinds of data
//        bit_depths crossings DIRECTORY  from which depth on add-mod is better than nearest, measured and predicted
//
// DIRECTORY is where the matrices of the layer are. Prints CSV.

#include "library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct bits bits_of_depths[] = {{7, 5}, {8, 5}, {6, 6}, {4, 4}};
static const struct bits bits_of_layer[] = {{8, 8}, {8, 7}, {7, 8}, {7, 7}, {7, 6}, {6, 7}, {7, 5},
                                            {5, 7}, {8, 5}, {6, 6}, {8, 4}, {5, 5}, {4, 8}, {4, 4},
                                            {8, 2}, {3, 3}, {2, 2}, {8, 1}, {1, 1}};
static const int depths[] = {1,   2,   4,   8,   16,  24,   32,   48,   64,   96,  128,
                             192, 256, 383, 510, 765, 1020, 1536, 2048, 3072, 4096};

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

enum { LINES = 96, DRAWS = 3 };

static int32_t *allocate_accumulators(const struct problem *problem) {
    int32_t *accumulators = malloc((size_t)problem->rows * (size_t)problem->columns * sizeof *accumulators);
    if (accumulators == NULL)
        exit(1);
    return accumulators;
}

// All figures are of these: the library's, and the same as those by the definition.
static int32_t *accumulators_of(const struct problem *problem, struct bits bits, enum rule rule) {
    int32_t *defined = allocate_accumulators(problem);
    multiply(problem, bits, rule, defined);
    int32_t *accumulators = allocate_accumulators(problem);
    multiply_by_library(problem, bits, rule, accumulators);
    if (memcmp(accumulators, defined, (size_t)problem->rows * (size_t)problem->columns * sizeof *defined) != 0) {
        fprintf(stderr, "%d x %d bits, depth %d, %s: not what the definition says\n", bits.lhs, bits.rhs,
                problem->depth, rule_names[rule]);
        exit(1);
    }
    free(defined);
    return accumulators;
}

struct error {
    double mean, square;
};

static struct error error_of(const int32_t *accumulators, const int32_t *exact, int count) {
    struct error error = {0, 0};
    for (int i = 0; i < count; i++) {
        double difference = accumulators[i] - exact[i];
        error.mean += difference / count;
        error.square += difference * difference / count;
    }
    return error;
}

// The layer's own scale, rounded half away from zero.
static int byte_of(int32_t accumulator) {
    int32_t scaled = (int32_t)(((uint32_t)accumulator + 74980u) * 3401u);
    int byte = scaled < 0 ? 0 : (int)(((int64_t)scaled + (1 << 20)) >> 21);
    return byte > 255 ? 255 : byte;
}

static int by_value(const void *x, const void *y) {
    return *(const int *)x - *(const int *)y;
}

static int median(int *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static void print_layer_row(const int32_t *accumulators, const int32_t *exact) {
    enum { COUNT = LAYER_ROWS * LAYER_COLUMNS };
    static int differences[COUNT], sizes[COUNT];
    double mean = 0;
    for (int i = 0; i < COUNT; i++) {
        differences[i] = byte_of(accumulators[i]) - byte_of(exact[i]);
        sizes[i] = abs(differences[i]);
        mean += (double)differences[i] / COUNT;
    }
    int middle = median(differences, COUNT), size = median(sizes, COUNT), most = sizes[COUNT - 1];
    struct error error = error_of(accumulators, exact, COUNT);
    int passes = size <= 2 && most <= 10 && middle == 0 && fabs(mean) <= 0.2;
    printf("%d,%d,%d,%.4f,%.1f,%.1f,%d\n", size, most, middle, mean, sqrt(error.square), error.mean, passes);
}

static void print_layer(void) {
    struct problem layer = make_problem(REAL, LAYER_ROWS, LAYER_COLUMNS, LAYER_DEPTH, 0);
    int32_t *exact = accumulators_of(&layer, (struct bits){8, 8}, NEAREST);
    printf("lhs_bits,rhs_bits,rule,median_size,largest,median,mean,accumulator_rms,accumulator_mean,passes\n");
    for (int b = 0; b < LENGTH(bits_of_layer); b++)
        for (enum rule rule = 0; rule < RULES; rule++) {
            int32_t *accumulators = accumulators_of(&layer, bits_of_layer[b], rule);
            printf("%d,%d,%s,", bits_of_layer[b].lhs, bits_of_layer[b].rhs, rule_names[rule]);
            print_layer_row(accumulators, exact);
            free(accumulators);
        }
    free(exact);
    free_problem(&layer);
}

// Over several draws.
static struct error mean_error(enum data data, struct bits bits, enum rule rule, int depth) {
    struct error sum = {0, 0};
    for (int draw = 0; draw < DRAWS; draw++) {
        struct problem problem = make_problem(data, LINES, LINES, depth, draw);
        int32_t *exact = accumulators_of(&problem, (struct bits){8, 8}, NEAREST);
        int32_t *accumulators = accumulators_of(&problem, bits, rule);
        struct error error = error_of(accumulators, exact, LINES * LINES);
        sum.mean += error.mean / DRAWS;
        sum.square += error.square / DRAWS;
        free(accumulators);
        free(exact);
        free_problem(&problem);
    }
    return sum;
}

static struct drift prediction(enum data data, struct bits bits, enum rule rule) {
    struct problem problem = make_problem(data, LAYER_ROWS, LAYER_COLUMNS, LAYER_DEPTH, 0);
    struct drift drift = predict(&problem, bits, rule);
    free_problem(&problem);
    return drift;
}

static double predicted_rms(struct drift drift, int depth) {
    return sqrt(depth * drift.variance + (double)depth * depth * drift.always * drift.always);
}

static void print_depths(void) {
    printf("data,lhs_bits,rhs_bits,rule,depth,rms,mean,predicted_rms\n");
    for (enum data data = 0; data < DATA; data++)
        for (int b = 0; b < LENGTH(bits_of_depths); b++)
            for (enum rule rule = 0; rule < RULES; rule++) {
                struct drift drift = prediction(data, bits_of_depths[b], rule);
                for (int d = 0; d < LENGTH(depths); d++) {
                    struct error error = mean_error(data, bits_of_depths[b], rule, depths[d]);
                    printf("%s,%d,%d,%s,%d,%.2f,%.2f,%.2f\n", data_names[data], bits_of_depths[b].lhs,
                           bits_of_depths[b].rhs, rule_names[rule], depths[d], sqrt(error.square), error.mean,
                           predicted_rms(drift, depths[d]));
                }
            }
}

// The first of the depths from which on add-mod is better; 0 if there is none.
static int measured_crossing(enum data data, struct bits bits) {
    int crossing = 0;
    for (int d = LENGTH(depths) - 1; d >= 0; d--) {
        double nearest = mean_error(data, bits, NEAREST, depths[d]).square;
        if (mean_error(data, bits, ADD_MOD, depths[d]).square >= nearest)
            break;
        crossing = depths[d];
    }
    return crossing;
}

// Where what nearest gains at random is what it loses always; 0 if that is far beyond any depth.
static double predicted_crossing(enum data data, struct bits bits) {
    struct drift nearest = prediction(data, bits, NEAREST), add_mod = prediction(data, bits, ADD_MOD);
    double crossing = (add_mod.variance - nearest.variance) / (nearest.always * nearest.always);
    return crossing < 65536 ? crossing : 0;
}

static void print_crossings(void) {
    printf("data,lhs_bits,rhs_bits,measured,predicted\n");
    for (enum data data = REAL; data <= RECTIFIED; data++)
        for (int b = 0; b < LENGTH(bits_of_depths); b++)
            printf("%s,%d,%d,%d,%.0f\n", data_names[data], bits_of_depths[b].lhs, bits_of_depths[b].rhs,
                   measured_crossing(data, bits_of_depths[b]), predicted_crossing(data, bits_of_depths[b]));
}

int main(int argc, char **argv) {
    const char *what = argc == 3 ? argv[1] : "";
    if (argc == 3)
        read_layer(argv[2]);
    if (strcmp(what, "layer") == 0)
        print_layer();
    else if (strcmp(what, "depths") == 0)
        print_depths();
    else if (strcmp(what, "crossings") == 0)
        print_crossings();
    else
        return fprintf(stderr, "usage: bit_depths layer|depths|crossings DIRECTORY\n"), 2;
    return 0;
}
