/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * expr.h - arithmetic as a user writes it: "2 * (N - 1) / N * W / B"
 *
 * Numbers; + - * / ^ (right to left) and unary -; < <= > >= == != giving 1 or 0; && || !;
 * a ? b : c; brackets; names; {anything}, braces in it paired, which the caller looks up; the functions sqrt exp
 * log log2 floor ceil round abs, min and max of several values; and over an axis
 *
 *	max(N: ..)  min(N: ..)  sum(N: ..)  mean(N: ..)  argmax(N: ..)  argmin(N: ..)
 *
 * the expression for each value of N in turn, where values that are not a number are left
 * out; argmax and argmin give the N. Division by zero and logarithms of what has none give
 * NaN or infinity as in C: a figure has a gap there.
 */
#ifndef ORR_BASE_EXPR_H
#define ORR_BASE_EXPR_H

#include <orrery/api.h>

struct expr_env {
	void *ctx;
	/* The value of a name; false: there is none. */
	bool (*name)(void *ctx, const char *name, size_t n, double *out);
	/* The value of what stands between braces. May be NULL. */
	int (*reference)(void *ctx, const char *text, size_t n, double *out, struct orr_error *err);
	/* How many values axis `name` has; SIZE_MAX: it is no axis. May be NULL. */
	size_t (*axis)(void *ctx, const char *name, size_t n);
	/* From now on the axis has its i-th value (SIZE_MAX: none). Returns which it had. */
	size_t (*bind)(void *ctx, const char *name, size_t n, size_t i);
};

/* The brace that closes the one before s, or NULL; end: of the text. */
const char *expr_closing(const char *s, const char *end);

/* ORR_EINPUT with a text that quotes the expression. */
int expr_eval(const char *text, size_t n, const struct expr_env *env, double *out, struct orr_error *err);

#endif
