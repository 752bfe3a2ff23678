// Operands of floats: quantized line by line as tensors are, packed, and multiplied.

#define _GNU_SOURCE  // posix_memalign

#include "check.h"
#include "plot.h"
#include "random.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROWS = 40, COLS = 90, MOST = ROWS * COLS };

static qgemm_context *context;

struct matrix {
    qgemm_floats floats;
    struct plot plot;
    int64_t lines, depth;
};

static struct matrix random_matrix(struct seed *seed, int64_t rows, int64_t cols, uint32_t side) {
    struct matrix m = {.floats = QGEMM_FLOATS_INIT};
    m.floats.rows = rows, m.floats.cols = cols, m.floats.side = side;
    m.floats.order = (uint32_t)below(seed, 2);
    int64_t runs = m.floats.order == QGEMM_ROW_MAJOR ? rows : cols, len = rows + cols - runs;
    m.plot = make_plot((size_t)runs, (size_t)len * 4, (size_t)below(seed, 4) * 4, (enum placement)below(seed, PLACEMENTS));
    m.floats.data = (const float *)(const void *)m.plot.data;
    m.floats.stride = (int64_t)(m.plot.stride / 4);
    for (int64_t run = 0; run < runs; run++)
        for (int64_t i = 0; i < len; i++) {
            float x = (float)between(seed, -3, 4) * (float)(1 + (run + i) % 7);
            ((float *)(void *)m.plot.data)[run * m.floats.stride + i] = x;
        }
    m.lines = side == QGEMM_LHS ? rows : cols;
    m.depth = rows + cols - m.lines;
    return m;
}

static int line_is_contiguous(const struct matrix *m) {
    return (m->floats.side == QGEMM_LHS) == (m->floats.order == QGEMM_ROW_MAJOR);
}

static float at(const struct matrix *m, int64_t line, int64_t d) {
    int64_t stride = m->floats.stride;
    return m->floats.data[line_is_contiguous(m) ? line * stride + d : d * stride + line];
}

// Each line by the functions of tensors.
static void lines_are_tensors(struct seed *seed) {
    struct matrix m = random_matrix(seed, 1 + below(seed, ROWS), 1 + below(seed, COLS), 1 + (uint32_t)below(seed, 2));
    float scales[COLS], line_scale, line[COLS];
    int32_t offsets[COLS], zero_point;
    qgemm_line_quantization q = QGEMM_LINE_QUANTIZATION_INIT;
    q.type = below(seed, 2) ? QGEMM_TYPE_S8 : QGEMM_TYPE_U8;
    q.scheme = (uint32_t)below(seed, 3), q.rounding = (uint32_t)below(seed, 3);
    q.scales = scales, q.offsets = offsets;
    if (one_in(seed, 3))
        q.greatest = 100;
    size_t count = (size_t)(m.lines * m.depth);
    struct plot to = make_plot(1, count, 0, (enum placement)below(seed, 2));
    fill_with_canaries(&to);
    CHECK(qgemm_quantize_lines_f32(context, &m.floats, &q, to.data) == QGEMM_STATUS_OK);
    CHECK(canaries_live(&to));
    qgemm_channels all = {1, 1, m.depth};
    qgemm_quantization one = QGEMM_QUANTIZATION_INIT;
    one.type = q.type, one.rounding = q.rounding, one.least = q.least, one.greatest = q.greatest;
    one.scales = &line_scale, one.zero_points = &zero_point;
    for (int64_t l = 0; l < m.lines; l++) {
        uint8_t want[COLS];
        for (int64_t d = 0; d < m.depth; d++)
            line[d] = at(&m, l, d);
        CHECK(qgemm_choose_quantization_of(context, line, &all, q.scheme, q.type, q.least, q.greatest, &line_scale,
                                           &zero_point) == QGEMM_STATUS_OK);
        CHECK(scales[l] == line_scale && offsets[l] == -zero_point);
        CHECK(qgemm_quantize_f32(context, line, want, &all, &one) == QGEMM_STATUS_OK);
        for (int64_t d = 0; d < m.depth; d++)
            CHECK(to.data[line_is_contiguous(&m) ? l * m.depth + d : d * m.lines + l] == want[d]);
    }
    // The same, given.
    uint8_t again[MOST];
    q.scheme = QGEMM_SCHEME_GIVEN;
    CHECK(qgemm_quantize_lines_f32(context, &m.floats, &q, again) == QGEMM_STATUS_OK);
    CHECK(memcmp(again, to.data, count) == 0);
    free_plot(&m.plot);
    free_plot(&to);
}

// A packed operand unpacked again, by a product with the unit matrix: depth x lines bytes, as numbers less zero points, times
// scales if there are groups.
static void packed_is_quantized(struct seed *seed) {
    uint32_t side = 1 + (uint32_t)below(seed, 2);
    struct matrix m = random_matrix(seed, 1 + below(seed, ROWS), 1 + below(seed, ROWS), side);
    static float scales[MOST], found[MOST];
    static int32_t offsets[MOST];
    static uint8_t unit[MOST];
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = side;
    options.bits = (uint32_t)below(seed, 9);
    options.group_size = one_in(seed, 2) ? 1 + (size_t)below(seed, 20) : 0;
    qgemm_line_quantization q = QGEMM_LINE_QUANTIZATION_INIT;
    q.type = below(seed, 2) ? QGEMM_TYPE_S8 : QGEMM_TYPE_U8;
    q.scheme = (uint32_t)below(seed, 3);
    q.scales = scales, q.offsets = offsets;
    if (q.scheme == QGEMM_SCHEME_SYMMETRIC && q.type == QGEMM_TYPE_S8 && below(seed, 2))
        q.offsets = NULL;

    qgemm_operand shape = QGEMM_OPERAND_INIT;
    shape.data = unit, shape.rows = m.floats.rows, shape.cols = m.floats.cols, shape.type = q.type;
    qgemm_pack_options size_options = options;
    size_options.group_size = 0;
    size_t size = 0;
    CHECK(qgemm_pack_size(&shape, &size_options, &size) == QGEMM_STATUS_OK);
    void *memory = NULL;
    if (options.group_size == 0 && below(seed, 2)) {
        CHECK(posix_memalign(&memory, QGEMM_PACKED_ALIGNMENT, size) == 0);
        options.memory = memory, options.memory_size = size;
    }
    qgemm_packed *packed = NULL;
    CHECK(qgemm_pack_f32(context, &m.floats, &q, &options, &packed) == QGEMM_STATUS_OK);
    if (memory != NULL) {
        const void *form;
        CHECK(qgemm_packed_bytes(packed, &form, &size) == QGEMM_STATUS_OK && form == memory);
    }

    // The unit matrix on the other side.
    memset(unit, 0, sizeof unit);
    for (int64_t d = 0; d < m.depth; d++)
        unit[d * m.depth + d] = 1;
    qgemm_operand other = QGEMM_OPERAND_INIT, self = QGEMM_OPERAND_INIT;
    other.data = unit, other.rows = other.cols = m.depth, other.type = QGEMM_TYPE_U8;
    self.packed = packed;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = found, result.rows = m.floats.rows, result.cols = m.floats.cols, result.type = QGEMM_TYPE_F32;
    qgemm_stage stage = {.kind = QGEMM_STAGE_DEQUANTIZE};
    stage.u.dequantize.scale.value = 1;
    size_t groups = options.group_size == 0 ? 1 : ((size_t)m.depth + options.group_size - 1) / options.group_size;
    if (options.group_size == 0 && q.offsets != NULL) {
        self.offset.axis = side == QGEMM_LHS ? QGEMM_PER_ROW : QGEMM_PER_COL;
        self.offset.data = offsets, self.offset.len = m.lines;
    }
    const qgemm_operand *sides[] = {side == QGEMM_LHS ? &self : &other, side == QGEMM_LHS ? &other : &self};
    CHECK(qgemm_gemm(context, sides[0], sides[1], &result, &stage, options.group_size == 0, NULL) == QGEMM_STATUS_OK);

    int bits = options.bits == 0 ? 8 : (int)options.bits;
    int32_t least = q.type == QGEMM_TYPE_S8 ? -(1 << (bits - 1)) : 0, greatest = least + (1 << bits) - 1;
    for (int64_t l = 0; l < m.lines; l++)
        for (int64_t d = 0; d < m.depth; d++) {
            size_t len = options.group_size == 0 ? (size_t)m.depth : options.group_size;
            size_t group = (size_t)d / len, place = (size_t)l * groups + group;
            int64_t first = (int64_t)(group * len), end = first + (int64_t)len;
            float min = 0, max = 0, x = at(&m, l, d), scale;
            for (int64_t i = first; i < end && i < m.depth; i++)
                min = fminf(min, at(&m, l, i)), max = fmaxf(max, at(&m, l, i));
            int32_t zero = q.offsets == NULL ? 0 : options.group_size == 0 ? -offsets[place] : offsets[place];
            scale = scales[place];
            if (q.scheme == QGEMM_SCHEME_SYMMETRIC && q.type == QGEMM_TYPE_S8 && bits > 1)
                CHECK(scale == fmaxf(fmaxf(max, -min) / (float)greatest, FLT_MIN) && zero == 0);
            CHECK(zero >= least && zero <= greatest);
            volatile float quotient = x / scale;
            float integer = fminf(fmaxf(rintf(quotient) + (float)zero, (float)least), (float)greatest);
            volatile float want = integer - (float)zero;
            if (options.group_size > 0)
                want = want * scale;
            float got = found[side == QGEMM_LHS ? l * m.depth + d : d * m.lines + l];
            if (got != want) {
                fprintf(stderr, "%g, scale %g, zero point %d, came out as %g, not %g\n", x, scale, (int)zero, got, want);
                exit(1);
            }
            // All that is not confined is near.
            if (bits > 1)
                CHECK(fabsf(want * (options.group_size > 0 ? 1 : scale) - x) <= 1.01f * scale);
        }
    qgemm_packed_free(packed);
    free(memory);
    free_plot(&m.plot);
}

// Floats in, floats out: rows quantized as they come, weights packed with a scale for each column.
static void dynamic_products(struct seed *seed) {
    enum { M = 17, N = 23, K = 64 };
    struct matrix a = random_matrix(seed, M, K, QGEMM_LHS), b = random_matrix(seed, K, N, QGEMM_RHS);
    float row_scales[M], col_scales[N], found[M * N];
    int32_t row_offsets[M];
    uint8_t bytes[M * K];
    qgemm_line_quantization rows = QGEMM_LINE_QUANTIZATION_INIT, cols = QGEMM_LINE_QUANTIZATION_INIT;
    rows.type = QGEMM_TYPE_U8, rows.scales = row_scales, rows.offsets = row_offsets;
    cols.type = QGEMM_TYPE_S8, cols.scheme = QGEMM_SCHEME_SYMMETRIC, cols.scales = col_scales;
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_RHS;
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    qgemm_packed *weights = NULL;
    CHECK(qgemm_pack_f32(context, &b.floats, &cols, &options, &weights) == QGEMM_STATUS_OK);
    CHECK(qgemm_quantize_lines_f32(context, &a.floats, &rows, bytes) == QGEMM_STATUS_OK);
    lhs.data = bytes, lhs.rows = M, lhs.cols = K, lhs.type = QGEMM_TYPE_U8, lhs.order = a.floats.order;
    lhs.offset.axis = QGEMM_PER_ROW, lhs.offset.data = row_offsets, lhs.offset.len = M;
    rhs.packed = weights;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = found, result.rows = M, result.cols = N, result.type = QGEMM_TYPE_F32;
    qgemm_stage stages[] = {{.kind = QGEMM_STAGE_DEQUANTIZE}};
    stages[0].u.dequantize.scale.axis = QGEMM_PER_COL;
    stages[0].u.dequantize.scale.data = col_scales, stages[0].u.dequantize.scale.len = N;
    CHECK(qgemm_gemm(context, &lhs, &rhs, &result, stages, 1, NULL) == QGEMM_STATUS_OK);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double want = 0, error = 1e-5;
            for (int k = 0; k < K; k++) {
                double x = at(&a, i, k), y = at(&b, j, k), dx = 1.01 * row_scales[i], dy = 0.51 * col_scales[j];
                want += x * y;
                error += fabs(x) * dy + fabs(y) * dx + dx * dy;
            }
            CHECK(fabs((double)found[i * N + j] * row_scales[i] - want) <= error * 1.001);
        }
    qgemm_packed_free(weights);
    free_plot(&a.plot);
    free_plot(&b.plot);
}

static void fails(qgemm_status found, qgemm_status status, const char *text) {
    if (found != status || strcmp(qgemm_last_error(), text) != 0) {
        fprintf(stderr, "status %d, \"%s\" instead of %d, \"%s\"\n", (int)found, qgemm_last_error(), (int)status, text);
        exit(1);
    }
}

static float some[64], some_scales[64];
static int32_t some_offsets[8];
static uint8_t some_bytes[64];

static void line_fails(const qgemm_floats *f, const qgemm_line_quantization *q, qgemm_status status, const char *text) {
    fails(qgemm_quantize_lines_f32(context, f, q, some_bytes), status, text);
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_LHS;
    qgemm_packed *packed = NULL;
    fails(qgemm_pack_f32(context, f, q, &options, &packed), status, text);
    CHECK(packed == NULL && some_bytes[0] == 9 && some_scales[0] == 7 && some_offsets[0] == 8);
}

static void errors(void) {
    some_bytes[0] = 9, some_scales[0] = 7, some_offsets[0] = 8;
    const qgemm_floats good = {sizeof good, some, 8, 8, 0, QGEMM_ROW_MAJOR, QGEMM_LHS};
    qgemm_line_quantization line = QGEMM_LINE_QUANTIZATION_INIT;
    line.type = QGEMM_TYPE_U8, line.scales = some_scales, line.offsets = some_offsets;
    qgemm_floats f = good;
    f.data = NULL;
    line_fails(&f, &line, QGEMM_STATUS_NULL_POINTER, "floats->data is null, but must not be");
    f = good, f.data = (const float *)(const void *)((const char *)some + 1);
    line_fails(&f, &line, QGEMM_STATUS_ALIGNMENT, "floats->data is not aligned: its address must be a multiple of 4");
    f = good, f.rows = -1;
    line_fails(&f, &line, QGEMM_STATUS_SHAPE, "floats->rows is -1, but must not be negative");
    f = good, f.stride = -3;
    line_fails(&f, &line, QGEMM_STATUS_STRIDE, "floats->stride is -3, but must be at least 1");
    f = good, f.order = 2;
    line_fails(&f, &line, QGEMM_STATUS_OPTION, "floats->order is 2, which this libqgemm does not know");
    f = good, f.side = 0;
    line_fails(&f, &line, QGEMM_STATUS_OPTION, "floats->side is 0, which this libqgemm does not know");
    f = good, f.rows = f.cols = INT64_MAX / 2;
    line_fails(&f, &line, QGEMM_STATUS_TOO_LARGE,
               "floats->data reaches beyond the address space with these sizes and this stride");
    qgemm_line_quantization q = line;
    q.type = QGEMM_TYPE_S16;
    line_fails(&good, &q, QGEMM_STATUS_TYPE, "quantization->type is 3, but must be QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    q = line, q.scheme = 4;
    line_fails(&good, &q, QGEMM_STATUS_OPTION, "quantization->scheme is 4, which this libqgemm does not know");
    q = line, q.rounding = 3;
    line_fails(&good, &q, QGEMM_STATUS_OPTION, "quantization->rounding is 3, which this libqgemm does not know");
    q = line, q.reserved = 1;
    line_fails(&good, &q, QGEMM_STATUS_OPTION, "quantization->reserved is reserved and must be 0");
    q = line, q.greatest = 256;
    line_fails(&good, &q, QGEMM_STATUS_PARAMETER,
               "quantization->greatest is 256, but must be among the integers of the type");
    q = line, q.least = 5, q.greatest = 5;
    line_fails(&good, &q, QGEMM_STATUS_PARAMETER, "quantization->greatest is 5, but must be more than least is");
    q = line, q.scales = NULL;
    line_fails(&good, &q, QGEMM_STATUS_NULL_POINTER, "quantization->scales is null, but must not be");
    q = line, q.offsets = NULL;
    line_fails(&good, &q, QGEMM_STATUS_NULL_POINTER, "quantization->offsets is null, but must not be");
    q = line, q.scheme = QGEMM_SCHEME_GIVEN;
    line_fails(&good, &q, QGEMM_STATUS_PARAMETER, "quantization->scales is 0, but must be finite and at least FLT_MIN");
    for (int i = 0; i < 8; i++)
        some_scales[i] = 7;
    line_fails(&good, &q, QGEMM_STATUS_PARAMETER, "quantization->offsets is -8, but must be among the integers of the type");
    fails(qgemm_quantize_lines_f32(context, &good, &line, some), QGEMM_STATUS_OVERLAP,
          "what is written overlaps floats, which is still to be read");
    fails(qgemm_quantize_lines_f32(context, &good, &line, some_scales), QGEMM_STATUS_OVERLAP,
          "what is written overlaps something else that is written, which is still to be read");

    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    qgemm_packed *packed = NULL;
    options.side = QGEMM_RHS;
    fails(qgemm_pack_f32(context, &good, &line, &options, &packed), QGEMM_STATUS_OPTION,
          "options->side is 2, which this libqgemm does not know");
    options.side = QGEMM_LHS, options.scales = some_scales, options.group_size = 8;
    fails(qgemm_pack_f32(context, &good, &line, &options, &packed), QGEMM_STATUS_OPTION,
          "options->scales must be null here");
    options.scales = NULL, options.group_size = 0, options.bits = 4, q = line, q.greatest = 16;
    fails(qgemm_pack_f32(context, &good, &q, &options, &packed), QGEMM_STATUS_PARAMETER,
          "quantization->greatest is 16, but must be no more, and least no less, than options->bits allow");
    options.bits = 0, options.memory = some_bytes, options.memory_size = 1;
    qgemm_status status = qgemm_pack_f32(context, &good, &line, &options, &packed);
    CHECK(status == QGEMM_STATUS_WORKSPACE || status == QGEMM_STATUS_ALIGNMENT);
    fails(qgemm_pack_f32(context, &good, &line, &options, NULL), QGEMM_STATUS_NULL_POINTER,
          "packed is null, but must not be");
    CHECK(packed == NULL && some_bytes[0] == 9 && some_scales[0] == 7 && some_offsets[0] == 8);
}

static void report(const char *what) {
    fprintf(stderr, "%s\n", what);
}

int main(void) {
    skip_unless_supported();
    report_faults(report);
    for (int threads = 1; threads <= 3; threads += 2) {
        qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
        options.threads = threads;
        CHECK(qgemm_context_create(&options, &context) == QGEMM_STATUS_OK);
        struct seed seed = {(uint64_t)threads + 6};
        for (int round = 0; round < 150; round++) {
            lines_are_tensors(&seed);
            packed_is_quantized(&seed);
        }
        for (int round = 0; round < 10; round++)
            dynamic_products(&seed);
        qgemm_context_free(context);
    }
    context = NULL;
    errors();
    printf("lines are quantized as defined\n");
    return 0;
}
