/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/expr.h"

#include "base/num.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 100 };

/* Parses and evaluates in one pass. The body of an axis function is parsed once per value of the axis. */
struct parser {
	const char *text, *at, *end;
	const struct expr_env *env;
	struct orr_error *err;
	int code, depth;
	unsigned unused; /* depth of operands whose value has no effect: the other branch of ?:, && and || */
};

static double condition(struct parser *p);

static double fail(struct parser *p, const char *what)
{
	if (!p->code)
		p->code = orr_fail(p->err, ORR_EINPUT, "expression \"%.*s\": %s at \"%.*s\"",
			(int)(p->end - p->text < 200 ? p->end - p->text : 200), p->text, what,
			(int)(p->end - p->at < 30 ? p->end - p->at : 30), p->at);
	p->at = p->end;
	return NAN;
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
}

/* Consumes the token if it is the next one. */
static bool take(struct parser *p, const char *mark)
{
	size_t n = strlen(mark);
	skip_blanks(p);
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, mark, n))
		return false;
	p->at += n;
	return true;
}

static size_t name_length(const struct parser *p)
{
	size_t n = 0;
	while (p->at + n < p->end && (isalnum((unsigned char)p->at[n]) || p->at[n] == '_'))
		n++;
	return n && !isdigit((unsigned char)*p->at) ? n : 0;
}

static double number(struct parser *p)
{
	const char *s = p->at;
	while (s < p->end &&
		(isdigit((unsigned char)*s) || *s == '.' ||
			((*s == 'e' || *s == 'E') && s + 1 < p->end && (isdigit((unsigned char)s[1]) || s[1] == '-' || s[1] == '+')) ||
			((*s == '-' || *s == '+') && s > p->at && (s[-1] == 'e' || s[-1] == 'E'))))
		s++;
	double v = 0;
	if (!num_real(p->at, (size_t)(s - p->at), &v))
		return fail(p, "expected a number");
	p->at = s;
	return v;
}

const char *expr_closing(const char *s, const char *end)
{
	for (int depth = 1; s < end; s++) {
		depth += (*s == '{') - (*s == '}');
		if (!depth)
			return s;
	}
	return NULL;
}

static double reference(struct parser *p)
{
	const char *end = expr_closing(p->at, p->end);
	double v = NAN;
	if (!end)
		return fail(p, "expected \"}\" for this \"{\"");
	if (!p->env->reference)
		return fail(p, "expected an expression without references in \"{ }\"");
	if (!p->code)
		p->code = p->env->reference(p->env->ctx, p->at, (size_t)(end - p->at), &v, p->err);
	p->at = end + 1;
	return v;
}

static bool is_name(const char *name, size_t n, const char *wanted)
{
	return strlen(wanted) == n && !memcmp(name, wanted, n);
}

/* ---- functions ---- */

static const struct function {
	const char *name;
	double (*of)(double);
} functions[] = { { "sqrt", sqrt }, { "exp", exp }, { "log", log }, { "log2", log2 }, { "floor", floor }, { "ceil", ceil },
	{ "round", round }, { "abs", fabs } };

struct fold {
	double best, at, sum, count;
};

static void fold_in(struct fold *f, double v, double at, bool is_min)
{
	if (isnan(v))
		return;
	if (isnan(f->best) || (is_min ? v < f->best : v > f->best)) {
		f->best = v;
		f->at = at;
	}
	f->sum += v;
	f->count++;
}

static double folded(const struct fold *f, const char *name, size_t n)
{
	if (is_name(name, n, "sum"))
		return f->sum;
	if (is_name(name, n, "mean"))
		return f->sum / f->count;
	return !strncmp(name, "arg", 3) ? f->at : f->best;
}

/* Evaluates the rest of "name(axis: ..)" for the values of the axis, in order. */
static double over_axis(struct parser *p, const char *name, size_t n, const char *axis, size_t axis_n, size_t values)
{
	struct fold f = { NAN, NAN, 0, 0 };
	const char *body = p->at;
	bool is_min = is_name(name, n, "min") || is_name(name, n, "argmin");
	for (size_t i = 0; i < values && !p->code; i++) {
		double at = NAN;
		p->at = body;
		if (p->env->spend && !p->env->spend(p->env->ctx))
			return fail(p, "too many values of axes");
		size_t before = p->env->bind(p->env->ctx, axis, axis_n, i);
		if (!p->env->name(p->env->ctx, axis, axis_n, &at))
			at = (double)i;
		double v = condition(p);
		fold_in(&f, v, at, is_min);
		p->env->bind(p->env->ctx, axis, axis_n, before);
	}
	if (!take(p, ")"))
		return fail(p, "expected )");
	return folded(&f, name, n);
}

static bool is_fold(const char *name, size_t n)
{
	static const char *const folds[] = { "max", "min", "sum", "mean", "argmax", "argmin" };
	for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
		if (is_name(name, n, folds[i]))
			return true;
	return false;
}

/* Evaluates the rest of "max(..)", "sqrt(..)" and so on. */
static double call_fold(struct parser *p, const char *name, size_t n)
{
	const char *before = p->at;
	skip_blanks(p);
	size_t axis_n = name_length(p);
	const char *axis = p->at;
	p->at += axis_n;
	if (axis_n && take(p, ":")) {
		size_t values = p->env->axis ? p->env->axis(p->env->ctx, axis, axis_n) : SIZE_MAX;
		p->at = values == SIZE_MAX ? axis : p->at;
		return values == SIZE_MAX ? fail(p, "expected the name of an axis") : over_axis(p, name, n, axis, axis_n, values);
	}
	p->at = before;
	struct fold f = { NAN, NAN, 0, 0 };
	do
		fold_in(&f, condition(p), f.count, is_name(name, n, "min") || is_name(name, n, "argmin"));
	while (take(p, ","));
	return take(p, ")") ? folded(&f, name, n) : fail(p, "expected \",\" or \")\"");
}

static double call(struct parser *p, const char *name, size_t n)
{
	if (is_fold(name, n))
		return call_fold(p, name, n);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (is_name(name, n, functions[i].name)) {
			double v = condition(p);
			return take(p, ")") ? functions[i].of(v) : fail(p, "expected )");
		}
	p->at = name;
	return fail(p, "expected a known function (min, max, sum, mean, sqrt, ..)");
}

/* ---- operators, by precedence ---- */

static double primary(struct parser *p)
{
	skip_blanks(p);
	if (p->at == p->end)
		return fail(p, "expected a value");
	if (take(p, "(")) {
		double v = condition(p);
		return take(p, ")") ? v : fail(p, "expected )");
	}
	if (take(p, "{"))
		return reference(p);
	size_t n = name_length(p);
	if (!n)
		return number(p);
	const char *name = p->at;
	p->at += n;
	if (take(p, "("))
		return call(p, name, n);
	double v = NAN;
	if (!p->env->name(p->env->ctx, name, n, p->unused ? NULL : &v) && !is_name(name, n, "none")) {
		p->at = name;
		return fail(p, "expected a known name");
	}
	return v;
}

static double unary(struct parser *p);

static double power(struct parser *p)
{
	double v = primary(p);
	return take(p, "^") ? pow(v, unary(p)) : v;
}

static double negation(double v)
{
	return isnan(v) ? v : v == 0;
}

static double unary(struct parser *p)
{
	double v;
	if (++p->depth > MAX_DEPTH)
		v = fail(p, "expected fewer nested operators and parentheses");
	else if (take(p, "-"))
		v = -unary(p);
	else if (take(p, "!"))
		v = negation(unary(p));
	else
		v = power(p);
	p->depth--;
	return v;
}

/* Divides v by the next operand. A divisor of 0 is an error, because a gap in a figure would hide it; a missing value divided stays
 * missing. */
static double quotient(struct parser *p, double v)
{
	skip_blanks(p);
	const char *at = p->at;
	double w = unary(p);
	if (w != 0 || isnan(v) || p->unused || p->code)
		return v / w;
	p->at = at;
	return fail(p, v != 0 ? "expected a divisor other than 0 (D != 0 ? .. / D : none leaves a gap)"
			      : "found 0/0, expected a divisor other than 0 (D != 0 ? .. / D : none leaves a gap)");
}

static double product(struct parser *p)
{
	double v = unary(p);
	for (;;) {
		if (take(p, "*"))
			v *= unary(p);
		else if (take(p, "/"))
			v = quotient(p, v);
		else
			return v;
	}
}

static double sum(struct parser *p)
{
	double v = product(p);
	for (;;) {
		if (take(p, "+"))
			v += product(p);
		else if (take(p, "-"))
			v -= product(p);
		else
			return v;
	}
}

static double comparison(struct parser *p)
{
	static const char *const marks[] = { "<=", ">=", "==", "!=", "<", ">" };
	double v = sum(p);
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (take(p, marks[i])) {
			double w = sum(p);
			const bool holds[] = { v <= w, v >= w, v == w, v != w, v<w, v> w };
			return isnan(v) || isnan(w) ? NAN : holds[i];
		}
	return v;
}

static bool is_true(double v)
{
	return v != 0 && !isnan(v);
}

static double conjunction(struct parser *p)
{
	double v = comparison(p);
	while (take(p, "&&")) {
		p->unused += v == 0;
		double w = comparison(p);
		p->unused -= v == 0;
		v = v == 0 || w == 0 ? 0 : isnan(v) || isnan(w) ? NAN : 1;
	}
	return v;
}

static double disjunction(struct parser *p)
{
	double v = conjunction(p);
	while (take(p, "||")) {
		p->unused += is_true(v);
		double w = conjunction(p);
		p->unused -= is_true(v);
		v = is_true(v) || is_true(w) ? 1 : isnan(v) || isnan(w) ? NAN : 0;
	}
	return v;
}

static double condition(struct parser *p)
{
	if (++p->depth > MAX_DEPTH)
		return fail(p, "expected fewer nested operators and parentheses");
	double v = disjunction(p);
	if (take(p, "?")) {
		p->unused += !is_true(v);
		double yes = condition(p);
		p->unused -= !is_true(v);
		if (!take(p, ":"))
			return fail(p, "expected :");
		p->unused += v != 0;
		double no = condition(p);
		p->unused -= v != 0;
		v = isnan(v) ? NAN : v != 0 ? yes : no;
	}
	p->depth--;
	return v;
}

int expr_eval(const char *text, size_t n, const struct expr_env *env, double *out, struct orr_error *err)
{
	struct parser p = { .text = text, .at = text, .end = text + n, .env = env, .err = err };
	*out = condition(&p);
	skip_blanks(&p);
	if (!p.code && p.at != p.end)
		fail(&p, "expected an operator or the end");
	return p.code;
}
