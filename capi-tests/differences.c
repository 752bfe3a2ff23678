#include "differences.h"

#include <stdio.h>

// The number at place count / 2 of so many of each, the least of which is `least`.
static int median_of(const size_t *counts, int least, size_t count) {
    int number = least;
    for (size_t passed = *counts; passed <= count / 2; passed += *++counts)
        number++;
    return number;
}

struct differences differences_of(const uint8_t *found, const uint8_t *expected, size_t count) {
    size_t counts[511] = {0}, magnitude_counts[256] = {0};
    struct differences d = {0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        int difference = found[i] - expected[i], magnitude = difference < 0 ? -difference : difference;
        counts[difference + 255]++;
        magnitude_counts[magnitude]++;
        d.mean += difference / (double)count;
        d.greatest_magnitude = magnitude > d.greatest_magnitude ? magnitude : d.greatest_magnitude;
    }
    d.median = median_of(counts, -255, count);
    d.median_magnitude = median_of(magnitude_counts, 0, count);
    return d;
}

void print_differences(const struct differences *d) {
    printf("magnitudes: median %d, greatest %d; median %d, mean %+.4f\n", d->median_magnitude, d->greatest_magnitude,
           d->median, d->mean);
}
