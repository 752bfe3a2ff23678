#include "golden.h"

#include "check.h"
#include "pipeline.h"

#include <math.h>
#include <string.h>

const uint64_t hash_of_nothing = UINT64_C(14695981039346656037);

uint64_t with_bytes(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

// From the lowest byte on, in every byte order.
static uint64_t with_word(uint64_t hash, uint32_t word) {
    const uint8_t bytes[] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    return with_bytes(hash, bytes, sizeof bytes);
}

static uint32_t bits_of(struct number x) {
    uint32_t bits = (uint32_t)x.integer;
    if (x.is_float)
        memcpy(&bits, &x.real, sizeof bits);
    return x.is_float && isnan(x.real) ? UINT32_C(0x7FC00000) : bits;
}

uint64_t with_result(uint64_t hash, const qgemm_result *result) {
    for (int64_t i = 0; i < result->rows; i++)
        for (int64_t j = 0; j < result->cols; j++) {
            struct place place = {i, j, result->rows, result->cols};
            int64_t index = distance_to(place, result->order, result->stride);
            hash = with_word(hash, bits_of(read_number(result->data, result->type, index)));
        }
    return hash;
}

enum { LONGEST = 400 };

static FILE *file;
static int is_written, wrong;

void open_golden(const char *path) {
    const char *bless = getenv("QGEMM_BLESS");
    is_written = bless != NULL && *bless != 0;
    file = fopen(path, is_written ? "w" : "r");
    CHECK(file != NULL);
}

void golden(const char *name, uint64_t hash) {
    char line[LONGEST], expected[LONGEST] = "nothing\n";
    int length = snprintf(line, sizeof line, "%016llx %s\n", (unsigned long long)hash, name);
    CHECK(0 < length && length < LONGEST);
    if (is_written) {
        CHECK(fputs(line, file) >= 0);
        return;
    }
    if (fgets(expected, sizeof expected, file) == NULL || strcmp(line, expected) != 0) {
        fprintf(stderr, "%sinstead of\n%s", line, expected);
        wrong++;
    }
}

int close_golden(void) {
    if (!is_written && fgetc(file) != EOF) {
        fprintf(stderr, "there are more lines in the file\n");
        wrong++;
    }
    CHECK(fclose(file) == 0);
    return wrong;
}
