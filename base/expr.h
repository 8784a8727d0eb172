/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * expr.h - arithmetic expressions in scenario books: "2 * (N - 1) / N * W / B"
 *
 * Numbers; + - * / ^ (right to left) and unary -; < <= > >= == != giving 1 or 0; && || !;
 * a ? b : c; parentheses; names; {text} with paired braces, which the caller resolves; the functions sqrt exp
 * log log2 floor ceil round abs, min and max of several values; and over an axis
 *
 *	max(N: ..)  min(N: ..)  sum(N: ..)  mean(N: ..)  argmax(N: ..)  argmin(N: ..)
 *
 * the expression evaluated for each value of N, without results that are NaN; argmax and
 * argmin return the N. Division by zero and logarithms of numbers <= 0 give NaN or infinity
 * as in C: a plot has a gap there.
 */
#ifndef ORR_BASE_EXPR_H
#define ORR_BASE_EXPR_H

#include <orrery/api.h>

struct expr_env {
	void *ctx;
	/* The value of a name; false: unknown name. */
	bool (*name)(void *ctx, const char *name, size_t n, double *out);
	/* The value of the text between braces. May be NULL. */
	int (*reference)(void *ctx, const char *text, size_t n, double *out, struct orr_error *err);
	/* Number of values of axis `name`; SIZE_MAX: not an axis. May be NULL. */
	size_t (*axis)(void *ctx, const char *name, size_t n);
	/* Sets the axis to its i-th value (SIZE_MAX: none). Returns the previous index. */
	size_t (*bind)(void *ctx, const char *name, size_t n, size_t i);
};

/* Returns the brace that closes the one before s; NULL: no such brace before end. */
const char *expr_closing(const char *s, const char *end);

/* Evaluates text[0..n). On ORR_EINPUT the error quotes the expression. */
int expr_eval(const char *text, size_t n, const struct expr_env *env, double *out, struct orr_error *err);

#endif
