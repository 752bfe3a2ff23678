// What a product with a pipeline is by definition: written from qgemm.h alone, and without a thought of speed.

#ifndef PIPELINE_H
#define PIPELINE_H

#include <qgemm/qgemm.h>
#include <stdint.h>

// An element on its way from the sum to the result.
struct number {
    int is_float;
    int32_t integer;
    float real;
};

struct number integer_number(int32_t x);
struct number real_number(float x);

// An element's row and column, and how many there are of both.
struct place {
    int64_t row, col, rows, cols;
};

// How many elements it is from the first element of a matrix to this one. A stride of 0 stands for no gaps.
int64_t distance_to(struct place place, uint32_t order, int64_t stride);

// Bytes that an element takes.
size_t size_of_type(uint32_t type);
int is_float_type(uint32_t type);

// What a stage takes and gives.
int takes_floats(uint32_t kind);
int gives_floats(uint32_t kind);

// The float that one of 32 bits becomes where the result is of fewer.
float rounded_to_type(float x, uint32_t type);

struct number read_number(const void *elements, uint32_t type, int64_t index);
void write_number(void *elements, uint32_t type, int64_t index, struct number x);

// sum(i,j), of operands that are not packed.
int32_t defined_sum(const qgemm_operand *lhs, const qgemm_operand *rhs, int64_t i, int64_t j);

// What a stage makes of `x`, if it is not approximate. Casts are to `type`.
struct number after_stage(const qgemm_stage *stage, struct number x, struct place place, uint32_t type);

// Some functions are approximations: what the real one gives, and whether what was found is near enough.
int is_approximate(const qgemm_stage *stage);
double real_function(const qgemm_stage *stage, struct number x);
int is_near(const qgemm_stage *stage, struct number found, double real);

// Whether both are the same, bit by bit; but one NaN is as good as another.
int is_same(struct number x, struct number y);

#endif
