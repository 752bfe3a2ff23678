// Calls of qgemm_gemm without fault, to be given one, and what is expected of them then.

#ifndef FAULTLESS_H
#define FAULTLESS_H

#include "pipeline.h"

enum { M = 5, N = 7, K = 6, MOST_STAGES = 4 };

// Room for the matrices, in which any byte that changes is noticed; but from VECTORS on the tests write what they like.
enum { ROOM = 8192, LHS = 64, RHS = 1024, RESULT = 2048, RESIDUAL = 4096, VECTORS = 6144 };
union room {
    uint8_t bytes[ROOM];
    int32_t integers[ROOM / 4];
};
extern union room memory;
void fill_memory(void);
int memory_is_as_filled(void);

// The last kind of stages.
enum { LAST_KIND = QGEMM_STAGE_TABLE };

struct call {
    qgemm_operand lhs, rhs;
    qgemm_result result;
    qgemm_stage stages[MOST_STAGES];
    size_t stage_count;
    qgemm_gemm_options options;
};

// u8 times s8 gives s32, without stages. All matrices are row-major with gaps.
struct call sums(void);
// As sums(), with an offset for each row of lhs and each column of rhs.
struct call sums_with_offsets(void);
// A stage of this kind.
qgemm_stage stage_of(uint32_t kind);
void add_stage(struct call *c, uint32_t kind);
// A call whose stages[1] is of this kind, with a stage before it, if need be, that gives what it takes.
struct call call_with(uint32_t kind);

int is_cast(uint32_t kind);

// How many bytes there are from the first element of the result to the last.
size_t extent_of_result(const struct call *c);

qgemm_status make(const struct call *c);
// It is prepared, and then run.
qgemm_status make_prepared(const struct call *c);

// The program ends unless the call gives what is defined, and so does a prepared one.
void works(const struct call *c);
// The program ends unless the call fails so, with an error that has `name` in it and `why` behind that, and a prepared one with
// the same status, and they write nothing.
void fails(const struct call *c, qgemm_status status, const char *name, const char *why);
// As fails(), and so does the question for the workspace.
void shape_fails(const struct call *c, qgemm_status status, const char *name, const char *why);
int last_error_says(const char *name, const char *why);

// Where a stage has a value for all, or for each row or column: integers, or the bits of floats.
struct values {
    uint32_t kind;
    const char *name;
    size_t at;
    // One that is right, and four that are wrong, if any are.
    int32_t right;
    const int32_t *wrong;
    // What is said of those.
    qgemm_status status;
    const char *why;
};
enum { VALUES = 12 };
extern const struct values all_values[VALUES];
// Gives stages[1] these values. Those of integers and of floats lie alike.
void put(struct call *c, const struct values *values, qgemm_i32_values given);

#endif
