// What another engine computed, as engines/recorded.py writes it: cases, and their words, numbers and tensors.

#ifndef RECORDED_H
#define RECORDED_H

#include <stddef.h>
#include <stdint.h>

struct recorded {
    char *words;       // the index, and where the next case begins in it
    char *next;
    uint8_t *numbers;  // the tensors, little-endian
    size_t size;
};

enum { MOST_FIELDS = 40 };

struct field {
    const char *name, *value;
    void *data;  // the tensor, once it was asked for
};

struct recorded_case {
    const struct recorded *recorded;
    const char *operation;
    struct field fields[MOST_FIELDS];
    int count;
};

// No elements and NULL if there is none. The numbers can be used until close_case().
struct tensor {
    uint32_t type;
    size_t count;
    void *data;
};

struct recorded open_recorded(const char *directory, const char *engine);
void close_recorded(struct recorded *recorded);

// False if there is none.
int next_case(struct recorded *recorded, struct recorded_case *c);
void close_case(struct recorded_case *c);

// NULL if there is none.
const char *find_text(const struct recorded_case *c, const char *name);
struct tensor find_tensor(struct recorded_case *c, const char *name);
// These end the program if there is none.
double number(const struct recorded_case *c, const char *name);
int32_t integer(const struct recorded_case *c, const char *name);
const char *text(const struct recorded_case *c, const char *name);
struct tensor tensor(struct recorded_case *c, const char *name);

size_t size_of_type(uint32_t type);

#endif
