// Is the definition the right one? gemmlowp's, as it was when it had fewer than 8 bits.

#include "bit_depth_reference.h"
#include "check.h"

#include <string.h>

enum { ROWS = 192, COLUMNS = 256, STRIDE = 1152, DEPTH = 383 };

static uint8_t a[ROWS * STRIDE], b[COLUMNS * STRIDE];

static void read_file(const char *path, uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fread(bytes, 1, size, file) == size && fgetc(file) == EOF);
    fclose(file);
}

static void check_sequences(void) {
    static const int xorshift[] = {127, 163, 168, 103, 50, 5, 53, 142, 118, 111, 234, 39};
    static const int add_mod[] = {98, 195, 37, 134, 231, 73, 170, 12, 109, 206};
    for (int d = 0; d < 12; d++) {
        CHECK(reference_rounding_offset(REFERENCE_NEAREST, REFERENCE_RHS, 3, d) == 127);
        CHECK(reference_rounding_offset(REFERENCE_XORSHIFT, REFERENCE_LHS, 0, d) == xorshift[d]);
        CHECK(reference_rounding_offset(REFERENCE_XORSHIFT, REFERENCE_LHS, 255, d + 255) == xorshift[d]);
    }
    for (int d = 0; d < 10; d++)
        CHECK(reference_rounding_offset(REFERENCE_ADD_MOD, REFERENCE_LHS, 0, d) == add_mod[d]);
    // By hand.
    CHECK(reference_rounding_offset(REFERENCE_XORSHIFT, REFERENCE_LHS, 3, 5) == 125);
    CHECK(reference_rounding_offset(REFERENCE_XORSHIFT, REFERENCE_RHS, 3, 5) == 195);
    CHECK(reference_rounding_offset(REFERENCE_ADD_MOD, REFERENCE_LHS, 3, 5) == 34);
    CHECK(reference_rounding_offset(REFERENCE_ADD_MOD, REFERENCE_RHS, 3, 5) == 208);
}

// With 17 and -1038559529 / 2^31, as gemmlowp splits 65025 / 3937; 16 and the rest would give one less.
static void check_fractions(void) {
    CHECK(reference_times_fraction(20198275, 255 * 255, 127 * 31) == 333602447);
    CHECK(reference_times_fraction(-20198275, 255 * 255, 127 * 31) == -333602447);
    CHECK(reference_times_fraction(-7, 255 * 255, 255 * 255) == -7);
}

// Over a period of the sequences each value rounds up and down as often as makes up for it.
static void check_balance(enum reference_rounding rounding, enum reference_side side, int along_depth) {
    for (int bits = 1; bits <= 8; bits++)
        for (int value = 0; value < 256; value++) {
            int sum = 0;
            for (int i = 0; i < 255; i++) {
                int line = along_depth ? 7 : i, depth = along_depth ? i : 7;
                int offset = reference_rounding_offset(rounding, side, line, depth);
                sum += reference_requantized((uint8_t)value, bits, offset);
            }
            CHECK(sum == value * (bits == 8 ? 255 : (1 << bits) - 1));
        }
}

// FNV-1a, but for its basis, which lacks the last digit: so the hash was made.
static uint64_t hashed(uint64_t hash, float value) {
    uint8_t bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    for (size_t i = 0; i < sizeof bytes; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

// The floats that gemmlowp made of real data, column by column.
static void check_hash(void) {
    static const struct reference_depth l7r5 = {7, 5, REFERENCE_NEAREST};
    uint64_t hash = UINT64_C(1469598103934665603);
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++) {
            struct reference_line row = {a + i * STRIDE, 1, i, -84};
            struct reference_line column = {b + j * STRIDE, 1, j, -13};
            hash = hashed(hash, (float)reference_accumulator(&l7r5, &row, &column, DEPTH));
        }
    CHECK(hash == UINT64_C(0xa939618a802516f7));
}

int main(void) {
    read_file(GOOGLENET_DATA "/a.u8", a, sizeof a);
    read_file(GOOGLENET_DATA "/b.u8", b, sizeof b);
    check_sequences();
    check_fractions();
    for (int along_depth = 0; along_depth < 2; along_depth++)
        for (int side = 0; side < 2; side++) {
            check_balance(REFERENCE_XORSHIFT, side ? REFERENCE_RHS : REFERENCE_LHS, along_depth);
            check_balance(REFERENCE_ADD_MOD, side ? REFERENCE_RHS : REFERENCE_LHS, along_depth);
        }
    check_hash();
    return 0;
}
