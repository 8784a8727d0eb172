/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tap.h - the Test Anything Protocol for tests in C
 *
 * A test is a main() with ok() calls that ends with `return done();`. Each ok()
 * names the behaviour that it checks; the comment above it names the source of the
 * expected value.
 */
#ifndef ORR_TESTS_TAP_H
#define ORR_TESTS_TAP_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static bool ok(bool is_good, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	printf("%sok %d - ", is_good ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	fflush(stdout);
	tap_failed += !is_good;
	return is_good;
}

/* Returns whether |got - want| <= tolerance * max(1, |want|). */
__attribute__((unused)) static bool near_to(double got, double want, double tolerance, const char *what)
{
	double scale = fabs(want) > 1 ? fabs(want) : 1;
	bool good = fabs(got - want) <= tolerance * scale;
	if (!good)
		printf("# got %.17g, want %.17g\n", got, want);
	return ok(good, "%s", what);
}

__attribute__((unused)) static bool same_text(const char *got, const char *want, const char *what)
{
	bool good = got && !strcmp(got, want);
	if (!good)
		printf("# got  \"%s\"\n# want \"%s\"\n", got ? got : "(null)", want);
	return ok(good, "%s", what);
}

__attribute__((unused)) static void skip(const char *why)
{
	printf("ok %d # SKIP %s\n", ++tap_count, why);
	fflush(stdout);
}

__attribute__((unused)) static int done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

#endif
