// Hashes of results, in a file: a line for each, with a name. What is hashed is the same on every machine.

#ifndef GOLDEN_H
#define GOLDEN_H

#include <qgemm/qgemm.h>
#include <stddef.h>
#include <stdint.h>

// FNV-1a of 64 bits. A hash begins as hash_of_nothing.
extern const uint64_t hash_of_nothing;
uint64_t with_bytes(uint64_t hash, const void *bytes, size_t count);
// The elements of a result row by row, whatever its order and stride. All NaN are one.
uint64_t with_result(uint64_t hash, const qgemm_result *result);

// Opens the file, to compare with what it says; with QGEMM_BLESS in the environment to write it.
void open_golden(const char *path);
// One line. The names follow in the order of the file.
void golden(const char *name, uint64_t hash);
// How many lines are not as in the file, each of which is reported. Ends with the file.
int close_golden(void);

#endif
