// The GEMMLOWP_* macros that say what is compiled for: gemmlowp's internal/detect_platform.h.
//
// Programs test these macros to choose code of their own. In libqgemm's headers they decide one thing: which vector
// types fixedpoint/fixedpoint.h knows. A macro that the program defined itself stays as it is.
//
// GEMMLOWP_ALLOW_SLOW_SCALAR_FALLBACK is accepted and has no effect. GEMMLOWP_MSA and GEMMLOWP_WASMSIMD are never
// defined: there are no vector types for them here.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_DETECT_PLATFORM_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_DETECT_PLATFORM_H
#define QGEMM_GEMMLOWP_DETECT_PLATFORM_H

// Compilers.

#if !defined(GEMMLOWP_ALLOW_INLINE_ASM) && defined(__GNUC__) && !defined(__native_client__)
#define GEMMLOWP_ALLOW_INLINE_ASM
#endif

#ifndef GEMMLOWP_NOINLINE
#ifdef __GNUC__
#define GEMMLOWP_NOINLINE __attribute__((noinline))
#else
#define GEMMLOWP_NOINLINE
#endif
#endif

// Systems.

#if !defined(GEMMLOWP_ANDROID) && (defined(__ANDROID__) || defined(ANDROID))
#define GEMMLOWP_ANDROID
#endif

// Arm.

#if !defined(GEMMLOWP_ARM_32) && defined(__arm__)
#define GEMMLOWP_ARM_32
#endif

#if !defined(GEMMLOWP_ARM_64) && defined(__aarch64__)
#define GEMMLOWP_ARM_64
#endif

#if !defined(GEMMLOWP_ARM) && (defined(GEMMLOWP_ARM_32) || defined(GEMMLOWP_ARM_64))
#define GEMMLOWP_ARM
#endif

#if !defined(GEMMLOWP_NEON) && (defined(__ARM_NEON) || defined(__ARM_NEON__))
#define GEMMLOWP_NEON
#endif

#if !defined(GEMMLOWP_NEON_32) && defined(GEMMLOWP_NEON) && defined(GEMMLOWP_ARM_32)
#define GEMMLOWP_NEON_32
#endif

#if !defined(GEMMLOWP_NEON_64) && defined(GEMMLOWP_NEON) && defined(GEMMLOWP_ARM_64)
#define GEMMLOWP_NEON_64
#endif

// MIPS.

#if !defined(GEMMLOWP_MIPS_32) && defined(__mips) && !defined(__LP64__)
#define GEMMLOWP_MIPS_32
#endif

#if !defined(GEMMLOWP_MIPS_64) && defined(__mips) && defined(__LP64__)
#define GEMMLOWP_MIPS_64
#endif

#if !defined(GEMMLOWP_MIPS) && (defined(GEMMLOWP_MIPS_32) || defined(GEMMLOWP_MIPS_64))
#define GEMMLOWP_MIPS
#endif

// x86.

#if !defined(GEMMLOWP_X86_32) && (defined(__i386__) || defined(_M_IX86))
#define GEMMLOWP_X86_32
#endif

#if !defined(GEMMLOWP_X86_64) && (defined(__x86_64__) || defined(_M_X64))
#define GEMMLOWP_X86_64
#endif

#if !defined(GEMMLOWP_X86) && (defined(GEMMLOWP_X86_32) || defined(GEMMLOWP_X86_64))
#define GEMMLOWP_X86
#endif

// One of the three at most, and AVX2 only for who asks for it.
#if !defined(GEMMLOWP_AVX2) && !defined(GEMMLOWP_SSE4) && !defined(GEMMLOWP_SSE3)
#if defined(__AVX2__) && defined(GEMMLOWP_ENABLE_AVX2)
#define GEMMLOWP_AVX2
#elif defined(__SSE4_1__) || (defined(_MSC_VER) && defined(__AVX__))
#define GEMMLOWP_SSE4
#elif defined(__SSE3__)
#define GEMMLOWP_SSE3
#endif
#endif

#if !defined(GEMMLOWP_AVX2_64) && defined(GEMMLOWP_AVX2) && defined(GEMMLOWP_X86_64)
#define GEMMLOWP_AVX2_64
#endif

#if !defined(GEMMLOWP_SSE4_64) && !defined(GEMMLOWP_DISABLE_SSE4) && defined(GEMMLOWP_SSE4) && defined(GEMMLOWP_X86_64)
#define GEMMLOWP_SSE4_64
#endif

#if !defined(GEMMLOWP_SSE4_32) && !defined(GEMMLOWP_DISABLE_SSE4) && defined(GEMMLOWP_SSE4) && defined(GEMMLOWP_X86_32)
#define GEMMLOWP_SSE4_32
#endif

#if !defined(GEMMLOWP_SSE3_64) && defined(GEMMLOWP_SSE3) && defined(GEMMLOWP_X86_64)
#define GEMMLOWP_SSE3_64
#endif

#if !defined(GEMMLOWP_SSE3_32) && defined(GEMMLOWP_SSE3) && defined(GEMMLOWP_X86_32)
#define GEMMLOWP_SSE3_32
#endif

#endif
