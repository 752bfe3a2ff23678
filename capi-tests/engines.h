// What the comparisons with each engine have in common.

#ifndef ENGINES_H
#define ENGINES_H

#include "recorded.h"

#include <qgemm/qgemm.h>

// How far libqgemm's results may be from the engine's.
enum agreement {
    EQUAL,         // bit for bit
    WITHIN_A_UNIT  // integers: by 1 at most; floats: as much as their sums' rounding makes out
};

void compare_with_tflite(struct recorded_case *c);
void compare_with_onnxruntime(struct recorded_case *c);
void compare_with_onednn(struct recorded_case *c);

// Ends the program if the status is not that all is well.
void must(qgemm_status status);

// Room for the numbers of a result.
void *room_for(struct tensor result);

// Counts what agrees under a name, and ends the program where a result is farther away than it may be; frees `found`.
void compare(const struct recorded_case *c, const char *name, enum agreement agreement, struct tensor expected,
             void *found);

#endif
