// Linked to a program that knows of gemmlowp alone: before it begins, it is skipped if this processor does not run the
// kernel that QGEMM_ISA names.

#include "check.h"

__attribute__((constructor)) static void before_main(void) { skip_unless_supported(); }
