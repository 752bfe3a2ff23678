// Two matrices to multiply: real ones, and made ones with values that are spread in some way.

#ifndef PROBLEM_H
#define PROBLEM_H

#include <stdint.h>

enum data {
    REAL,           // a layer of GoogLeNet: weights by activations after a ReLU, half of them zeros
    UNIFORM,        // all values as likely
    GAUSSIAN,       // bells around both zero points
    RECTIFIED,      // a bell by a bell whose lower half became zeros
    CONSTANT_LINES, // each row of lhs and each column of rhs has one value
    TWO_LEVELS,     // halfway along the depth both sides change from one value to another
    DATA
};

extern const char *const data_names[DATA];

// lhs lies row after row, rhs column after column.
struct problem {
    int rows, columns, depth;
    uint8_t *lhs, *rhs;
    int32_t lhs_offset, rhs_offset;
};

enum { LAYER_ROWS = 192, LAYER_COLUMNS = 256, LAYER_DEPTH = 1152 };

// Reads the matrices of the layer from a directory.
void read_layer(const char *directory);

// One of many problems of a kind, the same for the same `draw`.
struct problem make_problem(enum data data, int rows, int columns, int depth, int draw);
void free_problem(const struct problem *problem);

#endif
