/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * simd.h - functions compiled for several processors
 *
 * Clones differ only in the width of their registers. Products and sums are never contracted (-ffp-contract=off) and lanes have
 * a fixed order, so every clone returns the same bits.
 */
#ifndef ORR_BASE_SIMD_H
#define ORR_BASE_SIMD_H

/* Compiles a function for several processors; the loader selects the clone for the present processor. */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && !defined ORR_SANITIZED
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

#endif
