// The many ways to make one call: in any context, in memory of the library's or of the caller's, with operands as they
// lie or packed. All give the same result.

#ifndef WAY_H
#define WAY_H

#include "call.h"
#include "random.h"

// Contexts to choose from. First and last.
void make_contexts(void);
void free_contexts(void);

// Makes the call in some way, into its own result. Ends the program unless the result is as defined.
void make_in_some_way(const struct call *call, struct seed *seed);

// What is being done, and what went wrong, for the end of the program.
void report_way(const char *what);

#endif
