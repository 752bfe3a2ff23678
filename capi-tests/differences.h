// How far results are off, as gemmlowp's tests looked at it.

#ifndef DIFFERENCES_H
#define DIFFERENCES_H

#include <stddef.h>
#include <stdint.h>

// Of found - expected; the magnitudes without their sign. A median is the greater of two.
struct differences {
    int median_magnitude, greatest_magnitude, median;
    double mean;
};

struct differences differences_of(const uint8_t *found, const uint8_t *expected, size_t count);

void print_differences(const struct differences *d);

#endif
