/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions against values computed by hand, and the messages for invalid ones. */
#include "base/expr.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

/* The axis N has the values 2, 4 and 8; x is 3. The value of {k:V} is the length of the text V. */
static size_t bound = SIZE_MAX;

static bool name(void *ctx, const char *s, size_t n, double *out)
{
	static const double values[] = { 2, 4, 8 };
	double v = NAN;
	(void)ctx;
	if (n == 1 && *s == 'x')
		v = 3;
	else if (n == 1 && *s == 'N' && bound != SIZE_MAX)
		v = values[bound];
	else
		return false;
	if (out)
		*out = v;
	return true;
}

static int reference(void *ctx, const char *s, size_t n, double *out, struct orr_error *err)
{
	(void)ctx, (void)s;
	*out = n == 3 && bound == 1 ? NAN : (double)n;
	return n ? ORR_OK : orr_fail(err, ORR_EINPUT, "nothing in braces");
}

static size_t axis(void *ctx, const char *s, size_t n)
{
	(void)ctx;
	return n == 1 && *s == 'N' ? 3 : SIZE_MAX;
}

static size_t bind(void *ctx, const char *s, size_t n, size_t i)
{
	size_t before = bound;
	(void)ctx, (void)s, (void)n;
	bound = i;
	return before;
}

static const struct expr_env env = { NULL, name, reference, axis, bind, NULL };

static void gives(const char *text, double expected)
{
	struct orr_error err = { 0 };
	double v = -1;
	int rc = expr_eval(text, strlen(text), &env, &v, &err);
	ok(!rc && (v == expected || (isnan(v) && isnan(expected))) && bound == SIZE_MAX, "%s is %g", text, expected);
	if (rc)
		printf("# %s\n", err.text);
}

static void refuses(const char *text, const char *why)
{
	struct orr_error err = { 0 };
	double v;
	int rc = expr_eval(text, strlen(text), &env, &v, &err);
	if (!ok(rc == ORR_EINPUT && strstr(err.text, why), "%s: %s", text, why))
		printf("# %d %s\n", rc, err.text);
}

int main(void)
{
	gives("1 + 2 * 3 - 4 / 8", 6.5);
	gives("2 ^ 3 ^ 2", 512);
	gives("-2 ^ 2", -4);
	gives("2 * -x", -6);
	gives("(1 + 2) * 3", 9);
	gives("1e-3 * 2.5E+3", 2.5);
	gives("1-1", 0);
	gives("x < 4 && 2 >= 2 || 0", 1);
	gives("!(x == 3)", 0);
	gives("x != 3 ? 1 : x > 2 ? 5 : 6", 5);
	refuses("1 / 0", "expected a divisor other than 0 (D != 0 ? .. / D : none leaves a gap) at \"0\"");
	refuses("x + 0 / 0", "found 0/0, expected a divisor other than 0 (D != 0 ? .. / D : none leaves a gap) at \"0\"");
	refuses("2 / (1 - 1)", "leaves a gap) at \"(1 - 1)\"");
	refuses("1 / (x - 3)", "expected a divisor other than 0 (D != 0 ? .. / D : none leaves a gap) at \"(x - 3)\"");
	refuses("(x - 3) / (x - 3)", "found 0/0, expected a divisor other than 0");
	refuses("2 * {abc} / ({abc} - 3) + 1", "leaves a gap) at \"({abc} - 3) + 1\"");
	gives("x - 3 != 0 ? 1 / (x - 3) : none", NAN);
	gives("1 / none", NAN);
	gives("1 + none", NAN);
	gives("0 ? 1 / 0 : 2", 2);
	gives("x == 3 ? 2 : 1 / (x - 3)", 2);
	gives("none / (x - 3)", NAN);
	gives("1 ? 2 : 1 / 0", 2);
	gives("0 && 1 / 0", 0);
	gives("1 || 1 / 0", 1);
	/* Each comparison with a smaller, an equal and a larger number. */
	gives("(2 < 3) + 10 * (3 < 3) + 100 * (4 < 3)", 1);
	gives("(2 <= 3) + 10 * (3 <= 3) + 100 * (4 <= 3)", 11);
	gives("(2 > 3) + 10 * (3 > 3) + 100 * (4 > 3)", 100);
	gives("(2 >= 3) + 10 * (3 >= 3) + 100 * (4 >= 3)", 110);
	gives("(2 == 3) + 10 * (3 == 3) + 100 * (4 == 3)", 10);
	gives("(2 != 3) + 10 * (3 != 3) + 100 * (4 != 3)", 101);
	gives("(0 && 0) + 10 * (0 && 2) + 100 * (2 && 0) + 1000 * (2 && 2)", 1000);
	gives("(0 || 0) + 10 * (0 || 2) + 100 * (2 || 0) + 1000 * (2 || 2)", 1110);
	gives("!0 + 10 * !2", 1);
	/* As in C, && binds more tightly than ||. */
	gives("1 || 1 && 0", 1);
	gives("0 && 1 || 1", 1);
	gives("0 && (1 || 1)", 0);
	gives("1 || 0 && 1 / 0", 1);
	gives("0 && 1 / 0 || 2", 1);
	/* A missing value gives a missing value, unless the other operand decides. */
	gives("none < 1", NAN);
	gives("1 <= none", NAN);
	gives("none == none", NAN);
	gives("none != 1", NAN);
	gives("!none", NAN);
	gives("none ? 1 : 2", NAN);
	gives("none ? 1 / 0 : 1 / 0", NAN);
	gives("none && 1", NAN);
	gives("1 && none", NAN);
	gives("none && 0", 0);
	gives("0 && none", 0);
	gives("none || 0", NAN);
	gives("0 || none", NAN);
	gives("none || 1", 1);
	gives("1 || none", 1);
	refuses("none && 1 / 0", "expected a divisor other than 0");
	gives("sum(N: {abc} > 1)", 2);
	gives("mean(N: {abc} > 1)", 1);
	gives("0 ? 1 : 2", 2);
	gives("10 - 4 - 3", 3);
	gives("64 / 4 / 2", 8);
	gives(" \t x ", 3);
	gives("1.5e2", 150);
	gives("2e0-1", 1);
	gives("exp(0) + log(1)", 1);
	gives("min(5, 4)", 4);
	gives("argmax(7, 9, 9) + 10 * argmin(7, 3, 3)", 11);
	gives("sum(N: 1)", 3);
	gives("min(N: N * (6 - N))", -16);
	/* The expression ends after n characters; later characters of the text are ignored. */
	struct orr_error err = { 0 };
	double v = 0;
	ok(!expr_eval("x1", 1, &env, &v, &err) && v == 3, "a name ends where the text ends");
	ok(!expr_eval("12", 1, &env, &v, &err) && v == 1, "a number ends where the text ends");
	ok(!expr_eval("x + x^2", 5, &env, &v, &err) && v == 6, "an operator ends where the text ends");
	gives("log(-1)", NAN);
	gives("sqrt(16) + ceil(1.2) + floor(1.8) + round(2.5) + abs(-1) + log2(8)", 14);
	gives("max(1, x, 2) + min(4, 5)", 7);
	gives("{abcd} + {a{b}c}", 9);
	gives("max(N: N * (6 - N))", 8);
	gives("argmax(N: N * (6 - N))", 2);
	gives("argmin(N: N * (6 - N))", 8);
	gives("sum(N: N) / mean(N: 1)", 14);
	gives("sum(N: sum(N: N) + N)", 56);
	/* {abc} is NaN at the second value of N; mean() and max() skip this value. */
	gives("mean(N: {abc} * N)", 15);
	gives("max(N: {abc}) + sum(N: {abc})", 9);
	refuses("", "expected a value at \"\"");
	refuses("sqrt(4", "expected ) at");
	refuses("max(1, 2", "expected \",\" or \")\" at");
	refuses("max(N: 1", "expected ) at");
	refuses("max( M: 1)", "expected the name of an axis at \"M: 1)\"");
	refuses("2 * cosine(1)", "expected a known function (min, max, sum, mean, sqrt, ..) at \"cosine(1)\"");
	refuses("1 + )", "expected a number at \")\"");
	/* The message repeats at most 200 characters of the expression and 30 characters of its unread rest. */
	char text[260], message[300];
	snprintf(text, sizeof text, "x%200s%040d", "", 7);
	snprintf(message, sizeof message, "expression \"x%199s\": expected an operator or the end at \"%030d\"", "", 0);
	refuses(text, message);
	refuses("1 +", "expected a value");
	refuses("1 2", "expected an operator or the end");
	refuses("(1", "expected )");
	refuses("y + 1", "expected a known name at \"y + 1\"");
	refuses("N + 1", "expected a known name");
	refuses("cosine(1)", "expected a known function");
	refuses("max(M: 1)", "expected the name of an axis");
	refuses("{abc", "expected \"}\" for this \"{\"");
	refuses("{}", "nothing in braces");
	refuses("1 ? 2", "expected :");
	refuses("1..2", "expected a number");
	refuses("$", "expected a number");
	char deep[1000];
	memset(deep, '(', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	refuses(deep, "expected fewer nested operators and parentheses");
	memset(deep, '-', sizeof deep - 1);
	refuses(deep, "expected fewer nested operators and parentheses");
	return done();
}
