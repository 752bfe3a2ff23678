// A matrix in memory of its own, whose surroundings must not be touched: inaccessible pages before, behind and between
// its runs, and bytes that must stay what they are.

#ifndef PLOT_H
#define PLOT_H

#include <stddef.h>
#include <stdint.h>

// Where the runs of a matrix lie.
enum placement {
    BEHIND_A_FENCE,    // the matrix begins where an inaccessible page ends
    BEFORE_A_FENCE,    // it ends where one begins
    RUNS_BEHIND_ONE,   // each of its runs begins so
    RUNS_BEFORE_ONE,   // each of its runs ends so
    PLACEMENTS,
    IN_THE_OPEN = PLACEMENTS  // there are no such pages, only a few bytes around it: cheap, even if it is large
};

// All sizes are in bytes.
struct plot {
    enum placement placement;
    uint8_t *memory;
    size_t size;
    uint8_t *data;
    size_t runs, len, stride;
};

// A matrix of so many runs of `len` bytes, with `gap` bytes between them, or more where there are fences. Its runs are
// aligned as `len` and `gap` are: to multiples of every power of two up to 64 that divides both.
struct plot make_plot(size_t runs, size_t len, size_t gap, enum placement placement);
void free_plot(const struct plot *plot);

// Gives every byte that is accessible a value of its own, or most of them.
void fill_with_canaries(const struct plot *plot);
// Whether every byte outside of the runs has it still.
int canaries_live(const struct plot *plot);

// Lets the program end with a report, "inaccessible memory was touched", once that has happened.
void report_faults(void (*report)(const char *what));

#endif
