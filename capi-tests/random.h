// Numbers that look random and are the same in every run.

#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

// Where the sequence stands: Marsaglia's xorshift64*. Never 0.
struct seed {
    uint64_t state;
};

static inline uint32_t next_u32(struct seed *seed) {
    seed->state ^= seed->state >> 12;
    seed->state ^= seed->state << 25;
    seed->state ^= seed->state >> 27;
    return (uint32_t)((seed->state * UINT64_C(2685821657736338717)) >> 32);
}

// 0 to end - 1, near enough to uniform.
static inline int below(struct seed *seed, int end) {
    return (int)(((uint64_t)next_u32(seed) * (uint64_t)end) >> 32);
}

// True once in so many times.
static inline int one_in(struct seed *seed, int times) {
    return below(seed, times) == 0;
}

// At least `from`, and less than `to` if that is more.
static inline double between(struct seed *seed, double from, double to) {
    return from + (to - from) * ((double)next_u32(seed) / 4294967296.0);
}

#endif
