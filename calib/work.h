/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * work.h - FLOPs and bytes of a kernel from its name and shape, counted once for all backends
 *
 * A multiply-add is 2 FLOPs. Bytes are the fewest that must move: each operand read once, each
 * result written once, in the kernel's precision (docs/models.md, "Calibration: what a kernel does").
 */
#ifndef ORR_CALIB_WORK_H
#define ORR_CALIB_WORK_H

#include "calib/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in flops, bytes and size from family, op, precision, variant and d; false if it does not know the kernel. */
bool kernel_work(struct kernel *k);
double precision_bytes(const char *precision); /* of an element; 4 where the name is empty */

/* A convolution's output side and stride; padding is (r - 1) / 2. variant "strided" means stride 2, all else 1. */
double conv_stride(const struct kernel *k);
double conv_out(const struct kernel *k, double side);

/* "gemm 512x512x64x1 fp32 nn cold", for messages and as a key. */
enum { KERNEL_NAME_MAX = 256 };
void kernel_name(const struct kernel *k, char out[KERNEL_NAME_MAX]);

#ifdef __cplusplus
}
#endif
#endif
