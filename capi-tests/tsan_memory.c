// What code of a newer LLVM than Clang's calls of ThreadSanitizer, and an older Clang's lacks. The C functions are
// ThreadSanitizer's own: it sees the accesses.

#include <string.h>

#define IF_MISSING __attribute__((weak))

void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int byte, size_t size);

IF_MISSING void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
IF_MISSING void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
IF_MISSING void *__tsan_memset(void *to, int byte, size_t size) { return memset(to, byte, size); }
