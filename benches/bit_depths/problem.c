#include "problem.h"

#include "../../capi-tests/random.h"

#include <stdio.h>
#include <stdlib.h>

const char *const data_names[DATA] = {"real", "uniform", "gaussian", "rectified", "constant_lines", "two_levels"};

static uint8_t weights[LAYER_ROWS * LAYER_DEPTH], activations[LAYER_COLUMNS * LAYER_DEPTH];

static void read_file(const char *directory, const char *name, uint8_t *bytes, size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(bytes, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
}

void read_layer(const char *directory) {
    read_file(directory, "a.u8", weights, sizeof weights);
    read_file(directory, "b.u8", activations, sizeof activations);
}

// Lines of the layer, from another place for each draw. Where one ends, another goes on.
static void cut(const uint8_t *layer, int layer_lines, uint8_t *to, int lines, int depth, int draw) {
    for (int i = 0; i < lines; i++)
        for (int d = 0; d < depth; d++) {
            int from = d + 331 * draw, line = (i + 67 * draw + 61 * (from / LAYER_DEPTH)) % layer_lines;
            *to++ = layer[line * LAYER_DEPTH + from % LAYER_DEPTH];
        }
}

// A bell of so wide a standard deviation, cut off where a byte ends. Of integers, so that it is the same everywhere.
static uint8_t bell(struct seed *seed, int middle, int deviation) {
    int sum = -6 * 65536;
    for (int i = 0; i < 12; i++)
        sum += below(seed, 65536);
    int value = middle + sum * deviation / 65536;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

struct spread {
    int middle, deviation;
};

static void fill_with_bells(uint8_t *bytes, int count, struct spread spread, struct seed *seed) {
    for (int i = 0; i < count; i++)
        bytes[i] = bell(seed, spread.middle, spread.deviation);
}

static void fill_uniformly(uint8_t *bytes, int count, struct seed *seed) {
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)below(seed, 256);
}

static void fill_lines(uint8_t *bytes, int lines, int depth, struct seed *seed) {
    for (int i = 0; i < lines; i++) {
        uint8_t value = (uint8_t)below(seed, 256);
        for (int d = 0; d < depth; d++)
            *bytes++ = value;
    }
}

static void fill_halves(uint8_t *bytes, int lines, int depth, struct seed *seed) {
    for (int i = 0; i < lines; i++) {
        uint8_t values[] = {(uint8_t)below(seed, 256), (uint8_t)below(seed, 256)};
        for (int d = 0; d < depth; d++)
            *bytes++ = values[d >= depth / 2];
    }
}

static uint8_t *allocate(int count) {
    uint8_t *bytes = malloc((size_t)count);
    if (bytes == NULL)
        exit(1);
    return bytes;
}

struct problem make_problem(enum data data, int rows, int columns, int depth, int draw) {
    struct problem p = {rows, columns, depth, allocate(rows * depth), allocate(columns * depth), -128, -128};
    struct seed seed = {UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(draw + 1)};
    switch (data) {
        case REAL:
            cut(weights, LAYER_ROWS, p.lhs, rows, depth, draw);
            cut(activations, LAYER_COLUMNS, p.rhs, columns, depth, draw);
            p.lhs_offset = -84, p.rhs_offset = 0;
            break;
        case UNIFORM:
            fill_uniformly(p.lhs, rows * depth, &seed);
            fill_uniformly(p.rhs, columns * depth, &seed);
            break;
        case GAUSSIAN:
            fill_with_bells(p.lhs, rows * depth, (struct spread){128, 12}, &seed);
            fill_with_bells(p.rhs, columns * depth, (struct spread){128, 40}, &seed);
            break;
        case RECTIFIED:
            fill_with_bells(p.lhs, rows * depth, (struct spread){128, 20}, &seed);
            fill_with_bells(p.rhs, columns * depth, (struct spread){0, 30}, &seed);
            p.rhs_offset = 0;
            break;
        case CONSTANT_LINES:
            fill_lines(p.lhs, rows, depth, &seed);
            fill_lines(p.rhs, columns, depth, &seed);
            break;
        default:
            fill_halves(p.lhs, rows, depth, &seed);
            fill_halves(p.rhs, columns, depth, &seed);
    }
    return p;
}

void free_problem(const struct problem *problem) {
    free(problem->lhs);
    free(problem->rhs);
}
