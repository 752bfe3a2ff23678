// Packed operands: in the library's memory, in the caller's, mapped from a file, and in portable form; and what should not
// be loaded.

#define _GNU_SOURCE  // fileno, setenv
#include "check.h"
#include "weights.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void in_the_callers_memory(const struct weights *w, const qgemm_packed *expected) {
    size_t size = 0;
    CHECK(qgemm_pack_size(&w->operand, &w->options, &size) == QGEMM_STATUS_OK);
    void *memory = allocate_aligned(size + 100);
    memset(memory, FILLED, size + 100);
    struct weights in_memory = *w;
    in_memory.options.memory = memory;
    in_memory.options.memory_size = size + (size % 2) * 100;
    qgemm_packed *packed = pack(&in_memory);
    const void *bytes;
    size_t found;
    CHECK(qgemm_packed_bytes(packed, &bytes, &found) == QGEMM_STATUS_OK && bytes == memory && found <= size);
    CHECK(is_filled((char *)memory + size, 100) && alike(packed, expected));
    qgemm_packed_free(packed);
    // It was the caller's, and still is.
    CHECK(memcmp(memory, "\x89QGEMM", 6) == 0);
    free(memory);
}

// A file that is gone when it is closed.
static FILE *file_of(struct form form) {
    FILE *file = tmpfile();
    CHECK(file != NULL && fwrite(form.bytes, 1, form.size, file) == form.size && fflush(file) == 0);
    return file;
}

static void from_a_mapped_file(const qgemm_packed *expected) {
    struct form form = packed_form(expected);
    FILE *file = file_of(form);
    void *mapped = mmap(NULL, form.size, PROT_READ, MAP_SHARED, fileno(file), 0);
    CHECK(mapped != MAP_FAILED && fclose(file) == 0);
    qgemm_packed *packed = NULL;
    CHECK(qgemm_packed_load(mapped, form.size, &packed) == QGEMM_STATUS_OK);
    const void *bytes;
    size_t size;
    CHECK(qgemm_packed_bytes(packed, &bytes, &size) == QGEMM_STATUS_OK && bytes == mapped && size == form.size);
    CHECK(alike(packed, expected));
    qgemm_packed_free(packed);
    CHECK(munmap(mapped, form.size) == 0);
    free(form.bytes);
}

// From every address, and from memory that is gone afterwards.
static void from_the_portable_form(const qgemm_packed *expected) {
    struct form form = portable_form(expected);
    for (size_t shift = 0; shift < 3; shift++) {
        uint8_t *moved = allocate_aligned(form.size + shift);
        memcpy(moved + shift, form.bytes, form.size);
        qgemm_packed *packed = NULL;
        CHECK(qgemm_packed_load(moved + shift, form.size, &packed) == QGEMM_STATUS_OK);
        memset(moved, FILLED, form.size + shift);
        free(moved);
        CHECK(alike(packed, expected));
        qgemm_packed_free(packed);
    }
    free(form.bytes);
}

static void the_same_wherever_it_lies(struct seed *seed) {
    for (int i = 0; i < 200; i++) {
        struct weights w = make_weights(seed, below(seed, 2) ? QGEMM_LHS : QGEMM_RHS, below(seed, 80), below(seed, 80));
        qgemm_packed *packed = pack(&w);
        in_the_callers_memory(&w, packed);
        from_a_mapped_file(packed);
        from_the_portable_form(packed);
        qgemm_packed_free(packed);
        free_weights(&w);
    }
}

// Loading fails, and leaves the handle alone.
static void is_refused(const void *bytes, size_t size, qgemm_status status) {
    qgemm_packed *const before = (qgemm_packed *)(uintptr_t)0x1234;
    qgemm_packed *packed = before;
    qgemm_status found = qgemm_packed_load(bytes, size, &packed);
    if (found != status) {
        fprintf(stderr, "loading gave %d, not %d; last error: %s\n", (int)found, (int)status, qgemm_last_error());
        exit(1);
    }
    CHECK(packed == before && strlen(qgemm_last_error()) > 10);
}

static void damaged_forms(struct seed *seed) {
    struct weights w = make_weights(seed, QGEMM_RHS, 7, 5);
    qgemm_packed *packed = pack(&w);
    struct form forms[] = {packed_form(packed), portable_form(packed)};
    for (int i = 0; i < 2; i++) {
        uint8_t *bytes = forms[i].bytes;
        size_t size = forms[i].size;
        for (size_t at = 0; at < size; at++) {
            uint8_t bit = (uint8_t)(1 << below(seed, 8));
            bytes[at] ^= bit;
            is_refused(bytes, size, QGEMM_STATUS_PACKED_DAMAGED);
            bytes[at] ^= bit;
        }
        for (size_t less = 0; less < size; less++)
            is_refused(bytes, less, QGEMM_STATUS_PACKED_DAMAGED);
        uint8_t *longer = allocate_aligned(size + 1);
        memcpy(longer, bytes, size);
        longer[size] = 0;
        is_refused(longer, size + 1, QGEMM_STATUS_PACKED_DAMAGED);
        free(longer);
    }
    for (size_t shift = 1; shift < QGEMM_PACKED_ALIGNMENT; shift++) {
        uint8_t *moved = allocate_aligned(forms[0].size + shift);
        memcpy(moved + shift, forms[0].bytes, forms[0].size);
        is_refused(moved + shift, forms[0].size, QGEMM_STATUS_ALIGNMENT);
        free(moved);
    }
    for (int i = 0; i < 2; i++)
        free(forms[i].bytes);
    qgemm_packed_free(packed);
    free_weights(&w);
}

// This program is not one for this system: an emulator runs it, which the system does not know.
enum { NOT_RUN = 126 };

// What the kernel "scalar" makes of a file of this operand in another process: the status of loading it; or NOT_RUN.
static int loaded_by_scalar(const char *program, struct form form) {
    FILE *file = file_of(form);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char size[32];
        snprintf(size, sizeof size, "%zu", form.size);
        if (dup2(fileno(file), STDIN_FILENO) == STDIN_FILENO && setenv("QGEMM_ISA", "scalar", 1) == 0)
            execl(program, program, size, (char *)NULL);
        _exit(errno == ENOEXEC ? NOT_RUN : 127);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && fclose(file) == 0);
    return WEXITSTATUS(status);
}

// That other process. What it has loaded has to have the same portable form, if that is what it was loaded from.
static int load_from_stdin(size_t size) {
    struct form form = {mmap(NULL, size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0), size};
    CHECK(form.bytes != MAP_FAILED);
    qgemm_packed *packed;
    qgemm_status status = qgemm_packed_load(form.bytes, form.size, &packed);
    if (status != QGEMM_STATUS_OK) {
        CHECK(strstr(qgemm_last_error(), "portable") != NULL && strstr(qgemm_last_error(), "scalar") != NULL);
        return (int)status;
    }
    struct form again = portable_form(packed), blob = packed_form(packed);
    CHECK(same_form(form, again) || same_form(form, blob));
    free(again.bytes);
    free(blob.bytes);
    qgemm_packed_free(packed);
    return 0;
}

static void another_kernel_needs_the_portable_form(const char *program, struct seed *seed) {
    for (int i = 0; i < 3; i++) {
        struct weights w = make_weights(seed, QGEMM_RHS, 10 + below(seed, 40), 10 + below(seed, 40));
        w.options.result_order = QGEMM_ROW_MAJOR;
        qgemm_packed *packed = pack(&w);
        struct form blob = packed_form(packed), portable = portable_form(packed);
        int is_scalar = strcmp(qgemm_kernel_name(), "scalar") == 0;
        int status = loaded_by_scalar(program, blob);
        if (status == NOT_RUN) {
            printf("left out: other kernels, for no other process can be started here\n");
        } else {
            CHECK(status == (is_scalar ? QGEMM_STATUS_OK : QGEMM_STATUS_PACKED_LAYOUT));
            CHECK(loaded_by_scalar(program, portable) == QGEMM_STATUS_OK);
        }
        free(blob.bytes);
        free(portable.bytes);
        qgemm_packed_free(packed);
        free_weights(&w);
    }
}

int main(int argc, char **argv) {
    if (argc == 2)
        return load_from_stdin((size_t)strtoull(argv[1], NULL, 10));
    skip_unless_supported();
    struct seed seed = {8086};
    the_same_wherever_it_lies(&seed);
    damaged_forms(&seed);
    another_kernel_needs_the_portable_form(argv[0], &seed);
    return 0;
}
