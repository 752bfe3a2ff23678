// For programs that get pthreads from gemmlowp. Where the system has none, there are none here either.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_PTHREAD_EVERYWHERE_H
#define QGEMM_GEMMLOWP_PTHREAD_EVERYWHERE_H

#ifndef _WIN32
#include <pthread.h>
#endif

#endif
