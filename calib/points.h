/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * points.h - measurements of kernels: the output of calib run and the input of calib fit
 *
 * One row is one point: the time of a kernel of one shape. The CSV has a header; columns may
 * be in any order. Columns that a family does not use are empty; an unknown column is an error
 * that names the nearest known one. Units are in the names (us, bytes, flops).
 *
 *	family     launch, gemm, conv, memory, gather, update, attention, copy, collective,
 *	           interference, preemption, learners
 *	op         kernel within the family: "forward", "softmax", "h2d-pinned", "all-reduce", ..
 *	precision  fp32, tf32, fp16, bf16, fp8; empty if it does not apply
 *	variant    distinguishes further laws: "tn", "3x3 s1", "nvlink", "zipf", ..
 *	flops, bytes, size   of one call; size: the message or buffer of copies and collectives
 *	d0..d5     shape (gemm: m n k batch; conv: n c h w k r; attention: batch heads seq dim ..)
 *	ranks, nodes   of collectives
 *	time_us    median; low_us, high_us: its 95 % interval; n: batches; cv: their coefficient of variation
 *	mode       burst or sustained; cache: warm or cold
 *	held_out   1: excluded from the fit, to test it
 *	group      points that cross-validation leaves out at the same time; empty: grouped by shape (d0..d5, size), or
 *	           by flops and bytes if all of these are empty
 */
#ifndef ORR_CALIB_POINTS_H
#define ORR_CALIB_POINTS_H

#include <orrery/api.h>

#include <stdio.h>

enum { POINT_DIMS = 6 };

struct point {
	char family[16], op[32], precision[8], variant[64], group[64];
	double flops, bytes, size;
	double d[POINT_DIMS];
	double ranks, nodes;
	double time_s, low_s, high_s, cv; /* low, high, cv: NAN if unknown */
	uint32_t n;
	bool is_sustained, is_cold, is_held_out;
};

struct points {
	struct point *v;
	size_t n, cap;
};

/* NULL-terminated. */
extern const char *const point_families[];

/* Reads a CSV (also .gz, .zst); errors name FILE:LINE. */
int points_read(const char *path, struct points *out, struct orr_error *err);
int points_parse(const char *path, const char *text, size_t size, struct points *out, struct orr_error *err);
void points_add(struct points *p, const struct point *x);
int points_write(const struct points *p, FILE *out, struct orr_error *err);
/* Parts of points_write(); the caller checks ferror(). */
void points_write_header(FILE *out);
void points_write_row(const struct point *x, FILE *out);
void points_free(struct points *p);

#endif
