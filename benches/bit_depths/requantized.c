#include "requantized.h"

#include "../../capi-tests/bit_depth_reference.h"

#include <math.h>
#include <stdlib.h>

const char *const rule_names[RULES] = {"nearest", "xorshift", "add-mod", "compensated"};

static int highest(int bits) {
    return (1 << bits) - 1;
}

static enum reference_rounding rounding_of(enum rule rule) {
    return rule == XORSHIFT ? REFERENCE_XORSHIFT : rule == ADD_MOD ? REFERENCE_ADD_MOD : REFERENCE_NEAREST;
}

// One side of a product: its lines as they are, and requantized.
struct side {
    enum reference_side name;
    const uint8_t *values;
    int lines, depth, bits;
    int32_t offset;
    int16_t *requantized;
};

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL)
        exit(1);
    return memory;
}

static struct side sides(const struct problem *p, struct bits bits, enum reference_side name) {
    if (name == REFERENCE_LHS)
        return (struct side){name, p->lhs, p->rows, p->depth, bits.lhs, p->lhs_offset, NULL};
    return (struct side){name, p->rhs, p->columns, p->depth, bits.rhs, p->rhs_offset, NULL};
}

static void requantize(struct side *side, enum rule rule) {
    side->requantized = allocate((size_t)side->lines * (size_t)side->depth * sizeof *side->requantized);
    for (int i = 0; i < side->lines; i++)
        for (int d = 0; d < side->depth; d++) {
            int at = i * side->depth + d;
            int offset = reference_rounding_offset(rounding_of(rule), side->name, i, d);
            side->requantized[at] = reference_requantized(side->values[at], side->bits, offset);
        }
}

static int32_t dot(const int16_t *x, const int16_t *y, int depth) {
    int32_t sum = 0;
    for (int d = 0; d < depth; d++)
        sum += x[d] * y[d];
    return sum;
}

// What a line gives to the accumulators beside its products.
struct line {
    int32_t with_offset;            // its sum times the offset of the other side, scaled up again
    float middle, error;  // between the exact and the rounded sum, offsets included; what rounding added, on average
};

static struct line line_of(const struct side *side, int number, int32_t other_offset) {
    int64_t sum = 0, requantized_sum = 0;
    for (int d = 0; d < side->depth; d++) {
        sum += side->values[number * side->depth + d];
        requantized_sum += side->requantized[number * side->depth + d];
    }
    int32_t high = highest(side->bits);
    double error = (double)(255 * requantized_sum - high * sum) * (1. / high);
    double exact = (double)(sum + (int64_t)side->offset * side->depth);
    int32_t with_offset = reference_times_fraction((int32_t)requantized_sum * other_offset, 255, high);
    return (struct line){with_offset, (float)(exact + error * 0.5), (float)(error * (1. / side->depth))};
}

static struct line *lines_of(const struct side *side, int32_t other_offset) {
    struct line *lines = allocate((size_t)side->lines * sizeof *lines);
    for (int i = 0; i < side->lines; i++)
        lines[i] = line_of(side, i, other_offset);
    return lines;
}

// The product of the rounded means, less that of the exact ones.
static int32_t error_of_means(const struct line *row, const struct line *column) {
    return (int32_t)lrintf(row->error * column->middle + row->middle * column->error);
}

void multiply(const struct problem *p, struct bits bits, enum rule rule, int32_t *accumulators) {
    struct side lhs = sides(p, bits, REFERENCE_LHS), rhs = sides(p, bits, REFERENCE_RHS);
    requantize(&lhs, rule);
    requantize(&rhs, rule);
    struct line *rows = lines_of(&lhs, p->rhs_offset), *columns = lines_of(&rhs, p->lhs_offset);
    int32_t one = highest(bits.lhs) * highest(bits.rhs), offsets = p->lhs_offset * p->rhs_offset * p->depth;
    for (int j = 0; j < p->columns; j++)
        for (int i = 0; i < p->rows; i++) {
            int32_t products = dot(lhs.requantized + i * p->depth, rhs.requantized + j * p->depth, p->depth);
            int32_t sum = reference_times_fraction(products, 255 * 255, one) + rows[i].with_offset +
                          columns[j].with_offset + offsets;
            accumulators[i + j * p->rows] = rule == COMPENSATED ? sum - error_of_means(&rows[i], &columns[j]) : sum;
        }
    free(rows);
    free(columns);
    free(lhs.requantized);
    free(rhs.requantized);
}

// Of a value and of what it is rounded to, zero points included.
struct moments {
    double value, rounded;                       // means
    double value_value, rounded_rounded, mixed;  // means of products
};

static void add(struct moments *moments, const struct side *side, enum rule rule, uint8_t value, double weight) {
    int random = (rule == XORSHIFT || rule == ADD_MOD) && side->bits < 8;
    double step = 255. / highest(side->bits), x = value + side->offset;
    double rounded = random ? x : reference_requantized(value, side->bits, 127) * step + side->offset;
    double fraction = value / step - floor(value / step);
    double variance = random ? fraction * (1 - fraction) * step * step : 0;
    moments->value += x * weight;
    moments->rounded += rounded * weight;
    moments->value_value += x * x * weight;
    moments->rounded_rounded += (rounded * rounded + variance) * weight;
    moments->mixed += x * rounded * weight;
}

static struct moments moments_of(const struct side *side, enum rule rule, int first_line, int end_line) {
    struct moments moments = {0, 0, 0, 0, 0};
    int from = first_line * side->depth, to = end_line * side->depth;
    for (int i = from; i < to; i++)
        add(&moments, side, rule, side->values[i], 1. / (to - from));
    return moments;
}

static struct moments *moments_of_lines(const struct side *side, enum rule rule) {
    struct moments *moments = allocate((size_t)side->lines * sizeof *moments);
    for (int i = 0; i < side->lines; i++)
        moments[i] = moments_of(side, rule, i, i + 1);
    return moments;
}

static double mean_error(const struct moments *x, const struct moments *y) {
    return x->rounded * y->rounded - x->value * y->value;
}

static double square_error(const struct moments *x, const struct moments *y) {
    return x->rounded_rounded * y->rounded_rounded - 2 * x->mixed * y->mixed + x->value_value * y->value_value;
}

static struct moments centred(const struct moments *m) {
    return (struct moments){0, 0, m->value_value - m->value * m->value,
                            m->rounded_rounded - m->rounded * m->rounded, m->mixed - m->value * m->rounded};
}

// Over all pairs of lines: the mean of the square of what the means of the lines make the product err by.
static double square_error_of_means(const struct side *lhs, const struct side *rhs, enum rule rule) {
    struct moments *rows = moments_of_lines(lhs, rule), *columns = moments_of_lines(rhs, rule);
    double sum = 0;
    for (int i = 0; i < lhs->lines; i++)
        for (int j = 0; j < rhs->lines; j++)
            sum += pow(mean_error(&rows[i], &columns[j]), 2);
    free(rows);
    free(columns);
    return sum / lhs->lines / rhs->lines;
}

struct drift predict(const struct problem *problem, struct bits bits, enum rule rule) {
    struct side lhs = sides(problem, bits, REFERENCE_LHS), rhs = sides(problem, bits, REFERENCE_RHS);
    struct moments x = moments_of(&lhs, rule, 0, lhs.lines), y = moments_of(&rhs, rule, 0, rhs.lines);
    struct moments centred_x = centred(&x), centred_y = centred(&y);
    double always = pow(mean_error(&x, &y), 2), square = square_error(&x, &y) - always;
    double around_means = square_error(&centred_x, &centred_y);
    if (rule == COMPENSATED)
        return (struct drift){0, around_means};
    if (rule != NEAREST)
        return (struct drift){0, square};
    // Lines of one distribution differ in their means too: by what is left when that is subtracted, they differ always.
    double by_chance = (square - around_means) / problem->depth;
    double of_lines = square_error_of_means(&lhs, &rhs, rule) - by_chance;
    return (struct drift){sqrt(fmax(always, of_lines)), square};
}
