// Packing, saving and comparing.

#define _GNU_SOURCE  // posix_memalign
#include "weights.h"

#include "check.h"

#include <string.h>

void *allocate(size_t size) {
    void *memory = malloc(size + 1);
    CHECK(memory != NULL);
    return memory;
}

void *allocate_aligned(size_t size) {
    void *memory = NULL;
    CHECK(posix_memalign(&memory, QGEMM_PACKED_ALIGNMENT, size + 1) == 0);
    return memory;
}

struct weights make_weights(struct seed *seed, uint32_t side, int rows, int cols) {
    struct weights w = {.operand = QGEMM_OPERAND_INIT, .options = QGEMM_PACK_OPTIONS_INIT};
    w.options.side = side;
    w.options.result_order = (uint32_t)below(seed, 2);
    w.options.other_type = (uint32_t)below(seed, 3);
    w.operand.rows = rows;
    w.operand.cols = cols;
    w.operand.type = below(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    w.operand.order = (uint32_t)below(seed, 2);
    int runs = w.operand.order == QGEMM_ROW_MAJOR ? rows : cols, len = rows + cols - runs, gap = 3 * below(seed, 2);
    w.operand.stride = gap == 0 ? 0 : len + gap;
    size_t size = (size_t)runs * (size_t)(len + gap);
    w.operand.data = w.data = allocate(size);
    w.options.bits = (uint32_t)below(seed, 9);
    int bits = w.options.bits == 0 ? 8 : (int)w.options.bits;
    for (size_t i = 0; i < size; i++) {
        int element = below(seed, 1 << bits);
        w.data[i] = (uint8_t)(w.operand.type == QGEMM_TYPE_U8 ? element : element - (1 << bits) / 2);
    }
    int lines = side == QGEMM_LHS ? rows : cols;
    w.offsets = allocate((size_t)lines * sizeof(int32_t));
    for (int i = 0; i < lines; i++)
        w.offsets[i] = -below(seed, 256);
    if (below(seed, 2)) {
        w.operand.offset.axis = side == QGEMM_LHS ? QGEMM_PER_ROW : QGEMM_PER_COL;
        w.operand.offset.data = w.offsets;
        w.operand.offset.len = lines;
    } else {
        w.operand.offset.value = -below(seed, 256);
    }
    return w;
}

void free_weights(struct weights *w) {
    free(w->data);
    free(w->offsets);
}

qgemm_packed *pack(const struct weights *w) {
    qgemm_packed *packed = NULL;
    CHECK(qgemm_pack(&w->operand, &w->options, &packed) == QGEMM_STATUS_OK && packed != NULL);
    return packed;
}

static struct form aligned_copy(const void *bytes, size_t size) {
    struct form copy = {allocate_aligned(size), size};
    memcpy(copy.bytes, bytes, size);
    return copy;
}

int is_filled(const void *memory, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const uint8_t *)memory)[i] != FILLED)
            return 0;
    return 1;
}

struct form packed_form(const qgemm_packed *packed) {
    const void *bytes = NULL;
    size_t size = 0;
    CHECK(qgemm_packed_bytes(packed, &bytes, &size) == QGEMM_STATUS_OK);
    CHECK((uintptr_t)bytes % QGEMM_PACKED_ALIGNMENT == 0);
    return aligned_copy(bytes, size);
}

struct form portable_form(const qgemm_packed *packed) {
    size_t size = 0;
    CHECK(qgemm_packed_portable_size(packed, &size) == QGEMM_STATUS_OK);
    uint8_t *bytes = allocate(size + 64);
    memset(bytes, FILLED, size + 64);
    CHECK(qgemm_packed_save_portable(packed, bytes + 1, size + 63) == QGEMM_STATUS_OK);
    CHECK(is_filled(bytes, 1) && is_filled(bytes + 1 + size, 63));
    struct form form = aligned_copy(bytes + 1, size);
    free(bytes);
    return form;
}

int same_form(struct form one, struct form other) {
    return one.size == other.size && memcmp(one.bytes, other.bytes, one.size) == 0;
}

int alike(const qgemm_packed *one, const qgemm_packed *other) {
    struct form forms[] = {packed_form(one), packed_form(other), portable_form(one), portable_form(other)};
    int alike = same_form(forms[0], forms[1]) && same_form(forms[2], forms[3]);
    for (int i = 0; i < 4; i++)
        free(forms[i].bytes);
    return alike;
}
