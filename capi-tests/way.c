#include "way.h"

#include "check.h"
#include "draft.h"

#include <pthread.h>
#include <string.h>

/* Contexts */

static void one_after_the_other(void *user, size_t tasks, qgemm_task task, void *argument) {
    CHECK(user == NULL);
    for (size_t i = 0; i < tasks; i++)
        task(argument, tasks - 1 - i);
}

// Leaves out some calls, and makes the others twice.
static void carelessly(void *user, size_t tasks, qgemm_task task, void *argument) {
    CHECK(user == NULL);
    for (size_t i = 1; i < tasks; i += 2) {
        task(argument, i);
        task(argument, i);
    }
}

struct errand {
    qgemm_task task;
    void *argument;
    size_t index;
};

static void *run_errand(void *argument) {
    const struct errand *errand = argument;
    errand->task(errand->argument, errand->index);
    return NULL;
}

enum { MOST_TASKS = 4 };

static void on_threads(void *user, size_t tasks, qgemm_task task, void *argument) {
    CHECK(user == NULL && tasks <= MOST_TASKS);
    pthread_t threads[MOST_TASKS];
    struct errand errands[MOST_TASKS];
    for (size_t i = 0; i < tasks; i++) {
        struct errand errand = {task, argument, i};
        errands[i] = errand;
        CHECK(pthread_create(&threads[i], NULL, run_errand, &errands[i]) == 0);
    }
    for (size_t i = 0; i < tasks; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static const struct {
    const char *name;
    int32_t threads;
    qgemm_parallel_for parallel_for;
} kinds_of_context[] = {
    {"a context of one thread", 1, NULL},
    {"a context of two threads", 2, NULL},
    {"a context of four threads", 4, NULL},
    {"a context with a loop of the host's", 3, one_after_the_other},
    {"a context with a careless loop of the host's", 4, carelessly},
    {"a context with threads of the host's", MOST_TASKS, on_threads},
};

enum { CONTEXTS = sizeof kinds_of_context / sizeof *kinds_of_context };

static qgemm_context *contexts[CONTEXTS];

void make_contexts(void) {
    for (int i = 0; i < CONTEXTS; i++) {
        qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
        options.threads = kinds_of_context[i].threads;
        options.parallel_for = kinds_of_context[i].parallel_for;
        CHECK(qgemm_context_create(&options, &contexts[i]) == QGEMM_STATUS_OK);
    }
}

void free_contexts(void) {
    for (int i = 0; i < CONTEXTS; i++)
        qgemm_context_free(contexts[i]);
}

/* What is being done */

enum form { AS_IT_LIES, PACKED, PACKED_AND_LOADED, PACKED_AND_LOADED_FROM_PORTABLE, FORMS };

// How an operand of a call is passed. What packing needs stays until the end of the call.
struct passed {
    enum form form;
    uint32_t result_order, other_type;
    int is_in_callers_memory;
    struct plot memory, form_memory;
    qgemm_packed *packed;
    qgemm_operand operand;
};

struct way {
    const struct call *call;
    int context;
    struct passed lhs, rhs;
    int has_workspace;
    size_t workspace_size;
    int is_prepared;
};

static struct way current;
static uint64_t last_number;

static void report_passed(const char *name, const struct passed *passed) {
    const char *forms[] = {"as it lies", "packed", "packed and loaded", "packed and loaded from its portable form"};
    fprintf(stderr, "\n    %s %s", name, forms[passed->form]);
    if (passed->form != AS_IT_LIES)
        fprintf(stderr, ", for results %s-major and others of type %u%s",
                passed->result_order == QGEMM_ROW_MAJOR ? "row" : "column", (unsigned)passed->other_type,
                passed->is_in_callers_memory ? ", in the caller's memory" : "");
}

void report_way(const char *what) {
    if (current.call == NULL) {
        fprintf(stderr, "%s while the call after call %llu was made up\n", what, (unsigned long long)last_number);
        return;
    }
    fprintf(stderr, "%s in ", what);
    print_call(stderr, current.call);
    fprintf(stderr, "\n    %s", current.context < 0 ? "no context" : kinds_of_context[current.context].name);
    report_passed("lhs", &current.lhs);
    report_passed("rhs", &current.rhs);
    if (current.has_workspace)
        fprintf(stderr, "\n    a workspace of %llu bytes", (unsigned long long)current.workspace_size);
    if (current.is_prepared)
        fprintf(stderr, "\n    prepared");
    fprintf(stderr, "\n");
}

static void require(int condition, const char *otherwise) {
    if (!condition) {
        report_way(otherwise);
        exit(1);
    }
}

static void require_ok(qgemm_status status) {
    require(status == QGEMM_STATUS_OK, status == QGEMM_STATUS_OK ? "" : qgemm_last_error());
}

static enum placement placement_of_memory(struct seed *seed) {
    if (!current.call->is_fenced)
        return IN_THE_OPEN;
    return one_in(seed, 2) ? BEHIND_A_FENCE : BEFORE_A_FENCE;
}

/* Packed operands */

// Memory that begins at a multiple of QGEMM_PACKED_ALIGNMENT. Behind a fence no byte follows that was not asked for.
static struct plot aligned_memory(size_t size, struct seed *seed) {
    enum placement placement = placement_of_memory(seed);
    size_t whole = (size + QGEMM_PACKED_ALIGNMENT - 1) / QGEMM_PACKED_ALIGNMENT * QGEMM_PACKED_ALIGNMENT;
    struct plot plot = make_plot(1, placement == BEHIND_A_FENCE ? size : whole, 0, placement);
    fill_with_canaries(&plot);
    memset(plot.data, 0xA5, plot.len);
    return plot;
}

static void pack(struct passed *passed, const qgemm_operand *operand, uint32_t side, struct seed *seed) {
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = side;
    options.result_order = passed->result_order;
    options.other_type = passed->other_type;
    qgemm_operand declared = *operand;
    // What is declared as the offset changes no result.
    if (one_in(seed, 3)) {
        qgemm_i32_values other = {NULL, 0, -below(seed, 256), QGEMM_UNIFORM};
        declared.offset = other;
    }
    size_t size;
    require_ok(qgemm_pack_size(&declared, &options, &size));
    if (passed->is_in_callers_memory) {
        passed->memory = aligned_memory(size, seed);
        options.memory = passed->memory.data;
        options.memory_size = size;
    }
    require_ok(qgemm_pack(&declared, &options, &passed->packed));
    const void *bytes;
    size_t byte_count;
    require_ok(qgemm_packed_bytes(passed->packed, &bytes, &byte_count));
    require(byte_count <= size, "the packed operand is larger than was said");
    require(!passed->is_in_callers_memory || bytes == passed->memory.data, "the packed operand is somewhere else");
}

// Replaces a packed operand by what is loaded from its bytes.
static void load(struct passed *passed, struct seed *seed) {
    const void *bytes;
    size_t size;
    if (passed->form == PACKED_AND_LOADED) {
        require_ok(qgemm_packed_bytes(passed->packed, &bytes, &size));
        passed->form_memory = aligned_memory(size, seed);
        memcpy(passed->form_memory.data, bytes, size);
    } else {
        require_ok(qgemm_packed_portable_size(passed->packed, &size));
        passed->form_memory = make_plot(1, size, 0, placement_of_memory(seed));
        fill_with_canaries(&passed->form_memory);
        require_ok(qgemm_packed_save_portable(passed->packed, passed->form_memory.data, size));
    }
    require(canaries_live(&passed->form_memory), "a byte beside the portable form was written");
    qgemm_packed_free(passed->packed);
    require_ok(qgemm_packed_load(passed->form_memory.data, size, &passed->packed));
}

static void pass(struct passed *passed, const qgemm_operand *operand, uint32_t side, struct seed *seed) {
    memset(passed, 0, sizeof *passed);
    passed->operand = *operand;
    // Most packed operands are for the very result to come.
    passed->form = one_in(seed, 2) ? AS_IT_LIES : (enum form)below(seed, FORMS);
    if (passed->form == AS_IT_LIES)
        return;
    const struct call *call = current.call;
    uint32_t other_type = side == QGEMM_LHS ? call->rhs.type : call->lhs.type;
    passed->result_order = one_in(seed, 3) ? any_order(seed) : call->result.order;
    passed->other_type = one_in(seed, 3) ? (uint32_t)below(seed, 3) : other_type;
    passed->is_in_callers_memory = one_in(seed, 2);
    pack(passed, operand, side, seed);
    if (passed->form != PACKED)
        load(passed, seed);
    qgemm_operand packed = QGEMM_OPERAND_INIT;
    packed.packed = passed->packed;
    packed.offset = operand->offset;
    packed.least = operand->least;
    packed.greatest = operand->greatest;
    packed.stride = -7;
    packed.order = 77;
    if (one_in(seed, 2)) {
        packed.rows = operand->rows;
        packed.cols = operand->cols;
        packed.type = operand->type;
    }
    passed->operand = packed;
}

static void free_memory(const struct plot *plot, const char *otherwise) {
    if (plot->memory != NULL) {
        require(canaries_live(plot), otherwise);
        free_plot(plot);
    }
}

static void free_passed(const struct passed *passed) {
    qgemm_packed_free(passed->packed);
    free_memory(&passed->memory, "a byte beside the memory of a packed operand was written");
    free_memory(&passed->form_memory, "a byte beside the form of a packed operand was written");
}

/* The call */

// What the call points at itself, so that it can lie in front of a fence.
struct arguments {
    struct plot lhs, rhs, result, stages, bit_depth, options, workspace;
};

static struct plot copy_of(const void *from, size_t size) {
    struct plot plot = make_plot(1, size, 0, current.call->is_fenced ? BEFORE_A_FENCE : IN_THE_OPEN);
    if (size > 0)
        memcpy(plot.data, from, size);
    return plot;
}

static struct arguments make_arguments(struct seed *seed) {
    const struct call *call = current.call;
    struct arguments arguments = {
        .lhs = copy_of(&current.lhs.operand, sizeof current.lhs.operand),
        .rhs = copy_of(&current.rhs.operand, sizeof current.rhs.operand),
        .result = copy_of(&call->result, sizeof call->result),
        .stages = copy_of(call->stages, call->stage_count * sizeof *call->stages),
    };
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.flags = call->flags;
    arguments.bit_depth = copy_of(&call->bit_depth, sizeof call->bit_depth);
    if (has_fewer_bits(call) || one_in(seed, 2))
        options.bit_depth = (const void *)arguments.bit_depth.data;
    if (current.has_workspace) {
        arguments.workspace = make_plot(1, current.workspace_size, 0, placement_of_memory(seed));
        // At any address: of the margin around it in the open there is enough.
        if (!call->is_fenced)
            arguments.workspace.data += below(seed, 64);
        fill_with_canaries(&arguments.workspace);
        options.workspace = arguments.workspace.data;
        options.workspace_size = current.workspace_size;
    }
    arguments.options = copy_of(&options, sizeof options);
    return arguments;
}

static void free_arguments(const struct arguments *arguments) {
    free_memory(&arguments->workspace, "a byte beside the workspace was written");
    free_plot(&arguments->lhs);
    free_plot(&arguments->rhs);
    free_plot(&arguments->result);
    free_plot(&arguments->stages);
    free_plot(&arguments->bit_depth);
    free_plot(&arguments->options);
}

static qgemm_status workspace_size(const qgemm_context *context) {
    const qgemm_operand *lhs = &current.lhs.operand, *rhs = &current.rhs.operand;
    const qgemm_result *result = &current.call->result;
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.bit_depth = &current.call->bit_depth;
    if (has_fewer_bits(current.call))
        return qgemm_gemm_workspace_size_with(context, lhs, rhs, result, &options, &current.workspace_size);
    return qgemm_gemm_workspace_size(context, lhs, rhs, result, &current.workspace_size);
}

static void *data_of(const struct plot *plot) {
    return plot->data;
}

// Where the elements of a prepared call are: told when it is made, or to each run, or first somewhere else.
static void tell_one(void **at_creation, void **at_run, void *data, struct seed *seed) {
    static int64_t elsewhere[1];
    *at_creation = one_in(seed, 3) ? data : one_in(seed, 2) ? (void *)elsewhere : NULL;
    *at_run = *at_creation == data && one_in(seed, 2) ? NULL : data;
}

// Of what it was told nothing is left when it runs but what is said to be needed.
static void make_prepared(const qgemm_context *context, struct arguments *arguments, const qgemm_stage *stages,
                          const qgemm_gemm_options *options, struct seed *seed) {
    const struct call *call = current.call;
    qgemm_operand *sides[] = {data_of(&arguments->lhs), data_of(&arguments->rhs)};
    qgemm_result *result = data_of(&arguments->result);
    void *run_data[2] = {NULL, NULL}, *run_result, *at_creation;
    for (int i = 0; i < 2; i++)
        if (sides[i]->packed == NULL) {
            tell_one(&at_creation, &run_data[i], (void *)(uintptr_t)sides[i]->data, seed);
            sides[i]->data = at_creation;
        }
    tell_one(&result->data, &run_result, result->data, seed);
    qgemm_prepared *prepared;
    require_ok(qgemm_gemm_prepare(context, sides[0], sides[1], result, stages, call->stage_count, options, &prepared));
    struct plot *told[] = {&arguments->lhs,    &arguments->rhs,       &arguments->result,
                           &arguments->stages, &arguments->bit_depth, &arguments->options};
    for (int i = 0; i < 6; i++)
        memset(told[i]->data, 0x5A, told[i]->len);
    for (int run = 0; run < 2; run++) {
        restore_result(call);
        require_ok(qgemm_prepared_run(prepared, run_data[0], run_data[1], run_result));
        require(result_is_right(call), "the result is wrong");
    }
    qgemm_prepared_free(prepared);
}

void make_in_some_way(const struct call *call, struct seed *seed) {
    memset(&current, 0, sizeof current);
    current.call = call;
    current.context = below(seed, CONTEXTS + 1) - 1;
    const qgemm_context *context = current.context < 0 ? NULL : contexts[current.context];
    pass(&current.lhs, &call->lhs, QGEMM_LHS, seed);
    pass(&current.rhs, &call->rhs, QGEMM_RHS, seed);
    current.has_workspace = one_in(seed, 2);
    if (current.has_workspace)
        require_ok(workspace_size(context));
    struct arguments arguments = make_arguments(seed);
    restore_result(call);
    int needs_options = current.has_workspace || has_fewer_bits(call);
    const void *options = needs_options || one_in(seed, 2) ? data_of(&arguments.options) : NULL;
    const void *stages = call->stage_count == 0 && one_in(seed, 2) ? NULL : data_of(&arguments.stages);
    require_ok(qgemm_gemm(context, data_of(&arguments.lhs), data_of(&arguments.rhs), data_of(&arguments.result), stages,
                          call->stage_count, options));
    require(result_is_right(call), "the result is wrong");
    current.is_prepared = one_in(seed, 2);
    if (current.is_prepared)
        make_prepared(context, &arguments, stages, options, seed);
    free_arguments(&arguments);
    free_passed(&current.lhs);
    free_passed(&current.rhs);
    current.call = NULL;
    last_number = call->number;
}
