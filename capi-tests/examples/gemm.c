// A fully connected layer of a quantized network: bytes in, bytes out.
//
//     output = max(0, input * weights + bias)
//
// When the network is loaded, once:
//   1. turn the scales into integers, and describe what becomes of the sums;
//   2. pack the weights.
// Then for each batch of inputs:
//   3. one call, from the inputs' bytes to the outputs'.
//
//     cc gemm.c $(pkg-config --cflags --libs qgemm)
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <qgemm/qgemm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 8, OUTPUTS = 3 };

// What a file with a trained network holds. The byte x stands for the real number scale * (x - zero_point).
//
// Inputs and outputs are unsigned. Weights are signed, with a scale for each output and zero point 0; those of one output
// lie together, so that the matrix of INPUTS rows and OUTPUTS columns is column-major. A bias is in units of
// input_scale * weight_scale.
static const float input_scale = 0.02f, output_scale = 0.07f;
static const int32_t input_zero_point = 128, output_zero_point = 10;
static const float weight_scales[OUTPUTS] = {0.01f, 0.004f, 0.03f};
static const int8_t weights[OUTPUTS][INPUTS] = {
    {127, -35, 60, 2, -90, 11, 73, -8},
    {-127, 96, 14, -77, 51, 120, -3, 33},
    {25, 127, -64, 49, -18, -101, 5, 86},
};
static const int32_t biases[OUTPUTS] = {2500, -1200, 300};

static void check(qgemm_status status) {
    if (status != QGEMM_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", qgemm_status_message(status), qgemm_last_error());
        exit(1);
    }
}

enum { STAGES = 4 };

struct layer {
    qgemm_packed *weights;
    qgemm_stage stages[STAGES];
    // What the stages point at: for each output, multiplier * 2^(exponent - 31) is its scale of the sums over the scale of
    // the outputs.
    int32_t multipliers[OUTPUTS], exponents[OUTPUTS];
};

// 1. From sums to bytes: each stage takes what the one before it gives.
static void describe_stages(struct layer *layer) {
    for (int j = 0; j < OUTPUTS; j++)
        check(qgemm_multiplier_from_scales(QGEMM_DERIVE_TFLITE, input_scale, weight_scales[j], output_scale,
                                           &layer->multipliers[j], &layer->exponents[j], NULL));
    // Each column of the result is an output.
    const qgemm_i32_values bias = {.data = biases, .len = OUTPUTS, .axis = QGEMM_PER_COL};
    const qgemm_i32_values multiplier = {.data = layer->multipliers, .len = OUTPUTS, .axis = QGEMM_PER_COL};
    const qgemm_i32_values exponent = {.data = layer->exponents, .len = OUTPUTS, .axis = QGEMM_PER_COL};

    memset(layer->stages, 0, sizeof layer->stages);
    layer->stages[0].kind = QGEMM_STAGE_BIAS;
    layer->stages[0].u.bias.bias = bias;
    layer->stages[1].kind = QGEMM_STAGE_SCALE;
    layer->stages[1].u.scale.multiplier = multiplier;
    layer->stages[1].u.scale.exponent = exponent;
    layer->stages[1].u.scale.offset_after = output_zero_point;
    layer->stages[1].u.scale.rounding = QGEMM_ROUND_TWICE;  // as TFLite
    layer->stages[2].kind = QGEMM_STAGE_CLAMP;              // max(0, ...), for the zero point stands for 0
    layer->stages[2].u.clamp.min = output_zero_point;
    layer->stages[2].u.clamp.max = 255;
    layer->stages[3].kind = QGEMM_STAGE_CAST_SATURATING;    // to the type of the result, u8
}

// 2. The packed weights are a copy: those in the file are not needed any more.
static void pack_weights(struct layer *layer) {
    qgemm_operand operand = QGEMM_OPERAND_INIT;
    operand.data = weights;
    operand.rows = INPUTS;
    operand.cols = OUTPUTS;
    operand.type = QGEMM_TYPE_S8;
    operand.order = QGEMM_COL_MAJOR;
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_RHS;
    check(qgemm_pack(&operand, &options, &layer->weights));
}

// 3. Each row of the inputs is one item of the batch, and so is each row of the outputs. Any number of threads may do this
// with the same layer at once.
static void run(const struct layer *layer, const uint8_t *inputs, int batch, uint8_t *outputs) {
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = inputs;
    lhs.rows = batch;
    lhs.cols = INPUTS;
    lhs.type = QGEMM_TYPE_U8;
    lhs.offset.value = -input_zero_point;
    rhs.packed = layer->weights;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = outputs;
    result.rows = batch;
    result.cols = OUTPUTS;
    result.type = QGEMM_TYPE_U8;
    check(qgemm_gemm(NULL, &lhs, &rhs, &result, layer->stages, STAGES, NULL));
}

// The same in real numbers, to compare with.
static float real_output(const uint8_t *input, int j) {
    float sum = input_scale * weight_scales[j] * (float)biases[j];
    for (int l = 0; l < INPUTS; l++)
        sum += input_scale * (float)(input[l] - input_zero_point) * weight_scales[j] * (float)weights[j][l];
    return sum > 0 ? sum : 0;
}

static void print(const uint8_t *inputs, int batch, const uint8_t *outputs) {
    for (int i = 0; i < batch; i++)
        for (int j = 0; j < OUTPUTS; j++) {
            uint8_t byte = outputs[i * OUTPUTS + j];
            float found = output_scale * (float)(byte - output_zero_point);
            printf("%5d %6d %5d %11.2f %11.3f\n", i, j, byte, found, real_output(inputs + i * INPUTS, j));
        }
}

int main(void) {
    static const uint8_t first[3][INPUTS] = {
        {140, 200, 90, 128, 17, 255, 131, 64},
        {128, 128, 128, 128, 128, 128, 128, 128},  // all stand for 0
        {0, 255, 0, 255, 0, 255, 0, 255},
    };
    static const uint8_t second[1][INPUTS] = {{250, 3, 188, 99, 141, 76, 205, 130}};
    uint8_t outputs[3 * OUTPUTS];

    struct layer layer;
    describe_stages(&layer);
    pack_weights(&layer);

    printf(" item output  byte  stands for  real output\n");
    run(&layer, first[0], 3, outputs);
    print(first[0], 3, outputs);
    run(&layer, second[0], 1, outputs);
    print(second[0], 1, outputs);

    qgemm_packed_free(layer.weights);
    return 0;
}
