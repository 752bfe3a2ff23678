// A product of matrices of real numbers, computed with matrices of bytes.
//
// The way that gemmlowp's doc/quantization_example.cc goes, with its numbers and its result, through libqgemm:
//
//   1. before: choose what the bytes of lhs, rhs and result stand for, and turn the real numbers into bytes;
//   2. where it has to be fast: multiply bytes, with integer arithmetic alone;
//   3. after: turn the bytes of the result into real numbers again, and look how far off they are.
//
//     cc quantization.c $(pkg-config --cflags --libs qgemm) -lm
//
// Exits with 1 if the result is further off than 8 bits explain, or a call fails.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <qgemm/qgemm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2, DEPTH = 4, COLS = 3 };

// All matrices are row-major: the element of row i and column j is the one at i * cols + j.
static const float lhs[ROWS * DEPTH] = {
    0.629447341f,  0.811583877f, -0.746026397f, 0.826751709f,
    -0.729045987f, 0.670017123f, 0.937735558f,  -0.5579319f,
};
static const float rhs[DEPTH * COLS] = {
    0.264718533f,  -0.443003535f, 0.915013671f,
    -0.383665919f, -0.62323606f,  0.992922664f,
    -0.804919183f, 0.0937629938f, 0.929777026f,
    0.0944411755f, 0.985762596f,  0.935389876f,
};

// The byte x stands for the real number scale * (x - zero_point).
struct quantization {
    float scale;
    int32_t zero_point;
};

static void check(qgemm_status status) {
    if (status != QGEMM_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", qgemm_status_message(status), qgemm_last_error());
        exit(1);
    }
}

// ---- Real numbers and bytes ----

static struct quantization choose(const char *name, const float *real, int count) {
    float min = real[0], max = real[0];
    for (int i = 1; i < count; i++) {
        min = fminf(min, real[i]);
        max = fmaxf(max, real[i]);
    }
    struct quantization q;
    check(qgemm_choose_quantization(min, max, 0, 255, &q.scale, &q.zero_point));
    printf("%-7s from %6.3f to %5.3f: scale %.6f, zero point %d\n", name, min, max, q.scale, (int)q.zero_point);
    return q;
}

static void quantize(struct quantization q, const float *real, uint8_t *bytes, int count) {
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)roundf(fminf(fmaxf(real[i] / q.scale + (float)q.zero_point, 0), 255));
}

static float dequantized(struct quantization q, uint8_t byte) {
    return q.scale * (float)(byte - q.zero_point);
}

// ---- The product ----

// What 2. needs to know of real numbers. Nothing of it is real any more, so that it can be stored with the weights.
struct parameters {
    int32_t lhs_offset, rhs_offset;  // what is added to each byte: minus its zero point
    int32_t multiplier, exponent;    // from units of the sums to units of the result: multiplier * 2^(exponent - 31)
    int32_t result_offset;           // the zero point of the result
};

static struct parameters derive(struct quantization lhs_q, struct quantization rhs_q, struct quantization result_q) {
    struct parameters p = {
        .lhs_offset = -lhs_q.zero_point,
        .rhs_offset = -rhs_q.zero_point,
        .result_offset = result_q.zero_point,
    };
    // A sum of products of bytes is in units of lhs_q.scale * rhs_q.scale.
    float real;
    check(qgemm_multiplier_from_scales(QGEMM_DERIVE_QNNPACK, lhs_q.scale, rhs_q.scale, result_q.scale, &p.multiplier,
                                       &p.exponent, &real));
    printf("multiplier %.6f = %d * 2^%d\n\n", real, (int)p.multiplier, (int)p.exponent - 31);
    return p;
}

static void multiply(const struct parameters *p, const uint8_t *lhs_bytes, const uint8_t *rhs_bytes,
                     uint8_t *result_bytes) {
    qgemm_operand a = {
        .struct_size = sizeof a,
        .data = lhs_bytes,
        .rows = ROWS,
        .cols = DEPTH,
        .type = QGEMM_TYPE_U8,
        .order = QGEMM_ROW_MAJOR,
        .offset = {.value = p->lhs_offset},
    };
    qgemm_operand b = {
        .struct_size = sizeof b,
        .data = rhs_bytes,
        .rows = DEPTH,
        .cols = COLS,
        .type = QGEMM_TYPE_U8,
        .order = QGEMM_ROW_MAJOR,
        .offset = {.value = p->rhs_offset},
    };
    qgemm_result c = {
        .struct_size = sizeof c,
        .data = result_bytes,
        .rows = ROWS,
        .cols = COLS,
        .type = QGEMM_TYPE_U8,
        .order = QGEMM_ROW_MAJOR,
    };
    // From 32-bit sums to the bytes of the result: scale, add the zero point, confine to 0..255.
    qgemm_stage stages[2];
    memset(stages, 0, sizeof stages);  // What is not set is 0.
    stages[0].kind = QGEMM_STAGE_SCALE;
    stages[0].u.scale.multiplier.value = p->multiplier;
    stages[0].u.scale.exponent.value = p->exponent;
    stages[0].u.scale.offset_after = p->result_offset;
    stages[0].u.scale.rounding = QGEMM_ROUND_TWICE;  // as gemmlowp
    stages[1].kind = QGEMM_STAGE_CAST_SATURATING;

    check(qgemm_gemm(NULL, &a, &b, &c, stages, 2, NULL));
}

// ---- Real numbers to compare with ----

static void multiply_reals(float *result) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            result[i * COLS + j] = 0;
            for (int l = 0; l < DEPTH; l++)
                result[i * COLS + j] += lhs[i * DEPTH + l] * rhs[l * COLS + j];
        }
}

// How far off an element may be. A byte is off by at most half a scale, so that each product a * b is off by what that
// makes of either factor, and of both. The result is off by another half scale of its own; by up to a quarter more, as
// gemmlowp's scaling rounds twice; and by up to half a one where the range was shifted to have an integer for 0.
static float allowed(int i, int j, struct quantization lhs_q, struct quantization rhs_q, struct quantization result_q) {
    float a_off = lhs_q.scale / 2, b_off = rhs_q.scale / 2, off = result_q.scale * 1.25f;
    for (int l = 0; l < DEPTH; l++)
        off += fabsf(lhs[i * DEPTH + l]) * b_off + fabsf(rhs[l * COLS + j]) * a_off + a_off * b_off;
    return off;
}

int main(void) {
    // 1. Before. What range a result has is usually known from training; here it is taken from the real product.
    float real_result[ROWS * COLS];
    multiply_reals(real_result);
    struct quantization lhs_q = choose("lhs", lhs, ROWS * DEPTH);
    struct quantization rhs_q = choose("rhs", rhs, DEPTH * COLS);
    struct quantization result_q = choose("result", real_result, ROWS * COLS);
    uint8_t lhs_bytes[ROWS * DEPTH], rhs_bytes[DEPTH * COLS], result_bytes[ROWS * COLS];
    quantize(lhs_q, lhs, lhs_bytes, ROWS * DEPTH);
    quantize(rhs_q, rhs, rhs_bytes, DEPTH * COLS);
    struct parameters parameters = derive(lhs_q, rhs_q, result_q);

    // 2. Where it has to be fast.
    multiply(&parameters, lhs_bytes, rhs_bytes, result_bytes);

    // 3. After.
    float most_off = 0;
    int is_near = 1;
    printf("byte  stands for  real result\n");
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            uint8_t byte = result_bytes[i * COLS + j];
            float found = dequantized(result_q, byte), real = real_result[i * COLS + j];
            float off = fabsf(found - real);
            printf("%4d  %10.6f  %11.6f\n", byte, found, real);
            most_off = fmaxf(most_off, off);
            is_near &= off <= allowed(i, j, lhs_q, rhs_q, result_q);
        }
    printf("\nlargest error %.6f: %s\n", most_off, is_near ? "no more than 8 bits explain" : "TOO MUCH");
    return !is_near;
}
