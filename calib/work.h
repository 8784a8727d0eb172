/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * work.h - FLOPs and bytes of a kernel from its name and shape, for all backends
 *
 * A multiply-add is 2 FLOPs. Bytes are the minimum traffic: each operand read once, each
 * result written once, in the kernel's precision (docs/models/calibration.md, "What a kernel does").
 */
#ifndef ORR_CALIB_WORK_H
#define ORR_CALIB_WORK_H

#include "calib/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in flops, bytes and size from family, op, precision, variant and d; returns false for an unknown kernel. */
bool kernel_work(struct kernel *k);
double precision_bytes(const char *precision); /* returns the bytes of an element; 4 if the name is empty */

/* Return the output side and the stride of a convolution. Padding is (r - 1) / 2; variant "strided" has stride 2, other variants
 * have 1. */
double conv_stride(const struct kernel *k);
double conv_out(const struct kernel *k, double side);

/* Formats "gemm 512x512x64x1 fp32 nn cold", for messages and as a key. */
enum { KERNEL_NAME_MAX = 256 };
void kernel_name(const struct kernel *k, char out[KERNEL_NAME_MAX]);

#ifdef __cplusplus
}
#endif
#endif
