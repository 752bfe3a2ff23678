// How these headers fail: gemmlowp's functions return nothing and abort. So do these, once they have said why.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_ABORT_H
#define QGEMM_GEMMLOWP_ABORT_H

#include <cstdio>
#include <cstdlib>

#include <qgemm/qgemm.h>

namespace libqgemm {

// Ends the program, with the library's own sentence, unless `status` is QGEMM_STATUS_OK.
inline void AbortOnError(qgemm_status status) {
  if (status != QGEMM_STATUS_OK) {
    std::fprintf(stderr, "libqgemm: %s\n", qgemm_last_error());
    std::abort();
  }
}

// Ends the program, with `sentence`, unless `condition` holds: for what the C interface cannot be asked.
inline void AbortUnless(bool condition, const char* sentence) {
  if (!condition) {
    std::fprintf(stderr, "libqgemm: %s\n", sentence);
    std::abort();
  }
}

}  // namespace libqgemm

#endif
