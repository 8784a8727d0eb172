/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * expr.h - arithmetic expressions in scenario books: "2 * (N - 1) / N * W / B"
 *
 * Numbers; + - * / ^ (right to left) and unary -; < <= > >= == != giving 1 or 0; !; && before ||; a ? b : c; parentheses; names;
 * none, a missing value; {text} with paired braces, which the caller resolves; the functions sqrt exp log log2 floor ceil round abs, min
 * and max of several values; and over an axis
 *
 *	max(N: ..)  min(N: ..)  sum(N: ..)  mean(N: ..)  argmax(N: ..)  argmin(N: ..)
 *
 * evaluate the expression for each value of N and ignore NaN results; argmax and argmin return the N. A
 * divisor of 0 is an error, unless its value is not used ("d != 0 ? 1 / d : none") or the dividend is missing. Logarithms of
 * numbers <= 0 give NaN or infinity as in C: a plot has a gap there. A missing value is a NaN. Comparisons and conditions of NaN give
 * NaN; && and || do so unless the other operand decides.
 */
#ifndef ORR_BASE_EXPR_H
#define ORR_BASE_EXPR_H

#include <orrery/api.h>

struct expr_env {
	void *ctx;
	/* Sets *out to the value of a name. Returns false if the name is unknown. out NULL: the value is not used. */
	bool (*name)(void *ctx, const char *name, size_t n, double *out);
	/* Sets *out to the value of the text between braces. May be NULL. */
	int (*reference)(void *ctx, const char *text, size_t n, double *out, struct orr_error *err);
	/* Returns the number of values of axis `name`; SIZE_MAX: not an axis. May be NULL. */
	size_t (*axis)(void *ctx, const char *name, size_t n);
	/* Sets the axis to its i-th value (SIZE_MAX: none). Returns the previous index. */
	size_t (*bind)(void *ctx, const char *name, size_t n, size_t i);
	/* Called for each value of an axis. false: too many, which ends the evaluation with an error. May be NULL. */
	bool (*spend)(void *ctx);
};

/* Returns the closing brace that matches the opening brace before s; NULL: no such brace before end. */
const char *expr_closing(const char *s, const char *end);

/* Evaluates text[0..n). On ORR_EINPUT the error quotes the expression. */
int expr_eval(const char *text, size_t n, const struct expr_env *env, double *out, struct orr_error *err);

#endif
