// Matrices to be packed, and the forms in which packed operands are kept.

#ifndef WEIGHTS_H
#define WEIGHTS_H

#include "random.h"

#include <qgemm/qgemm.h>
#include <stddef.h>

// A matrix, and the options that it is packed with.
struct weights {
    uint8_t *data;
    int32_t *offsets;
    qgemm_operand operand;
    qgemm_pack_options options;
};

// A matrix of random elements, type, order, stride and offsets, to be packed for random products.
struct weights make_weights(struct seed *seed, uint32_t side, int rows, int cols);
void free_weights(struct weights *w);
qgemm_packed *pack(const struct weights *w);

// What packed operands are saved as, at an address that is aligned.
struct form {
    uint8_t *bytes;
    size_t size;
};

struct form packed_form(const qgemm_packed *packed);
struct form portable_form(const qgemm_packed *packed);
int same_form(struct form one, struct form other);

// Whether two operands are the same in both forms.
int alike(const qgemm_packed *one, const qgemm_packed *other);

// At least one byte.
void *allocate(size_t size);
void *allocate_aligned(size_t size);

// Whether all bytes are those that memory is filled with to see whether it is written.
enum { FILLED = 0x5A };
int is_filled(const void *memory, size_t size);

#endif
