/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_stamp.c - dates, epochs, durations and sizes as other programs write them. Dates in seconds are from date(1) of coreutils. */
#include "tests/tap.h"

#include "traces/quantity.h"
#include "traces/stamp.h"

#include <orrery/api.h>

#include <string.h>

/* Returns the time in ms; -1: refused. */
static long long date_ms(const char *s)
{
	int64_t t;
	return stamp_date_ns(s, strlen(s), &t) ? t / 1000000 : -1;
}

static long long duration_ms(const char *s, enum stamp_unit unit)
{
	int64_t t;
	return stamp_duration_ns(s, strlen(s), unit, &t) ? t / 1000000 : -1;
}

static void dates(void)
{
	static const struct {
		const char *text;
		long long ms;
	} cases[] = { { "2025-03-01T10:00:00Z", 1740823200000 }, { "2025-03-01 10:00:00", 1740823200000 },
		{ "2025-03-01T10:00:00+08:00", 1740794400000 }, { "2025-03-01T10:00:00-0530", 1740843000000 },
		{ "2025-03-01 10:00:00 +01", 1740819600000 }, { "2025-03-01 10:00:00.25 UTC", 1740823200250 },
		{ "2025-03-01T10:00:00,125Z", 1740823200125 }, { "2025-03-01T10:00:00.123456789Z", 1740823200123 },
		{ "2025-03-01T10:00", 1740823200000 }, { "2024-02-29 23:59:59", 1709251199000 }, { "1970-01-01 00:00:00", 0 },
		{ "2025-02-29 00:00:00", -1 }, { "2025-03-01", -1 }, { "2025-03-01T10:00:00.", -1 },
		{ "2025-03-01T10:00:00.1234567890Z", -1 }, { "2025-03-01T10:00:00+1", -1 }, { "2025-03-01T10:00:00+08:61", -1 },
		{ "2025-03-01T10:00:00Zx", -1 }, { "2025-03-01T24:00:00", -1 }, { "2025-03-01T10:00:0", -1 },
		{ "1970-01-01T00:00:00+01:00", -1 }, { "", -1 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ok(date_ms(cases[i].text) == cases[i].ms, "date \"%s\": %lld ms", cases[i].text, date_ms(cases[i].text));
}

static void epochs(void)
{
	int64_t t;
	ok(stamp_unit(1740823200) == STAMP_S && stamp_unit(1740823200e3) == STAMP_MS && stamp_unit(1740823200e6) == STAMP_US &&
			stamp_unit(1740823200e9) == STAMP_NS && stamp_unit(0) == STAMP_S,
		"the unit of an epoch follows from its magnitude");
	ok(stamp_ns("1740823200250", 13, STAMP_MS, &t) && t == 1740823200250 * 1000000, "milliseconds are exact");
	ok(stamp_ns("1740823200.25", 13, STAMP_S, &t) && t == 1740823200250 * 1000000, "seconds keep decimals");
	ok(!stamp_ns("1740823200250", 13, STAMP_S, &t), "milliseconds are no seconds");
	ok(!stamp_ns("-1", 2, STAMP_S, &t) && !stamp_ns("-1", 2, STAMP_MS, &t) && !stamp_ns("1e", 2, STAMP_MS, &t), "wrong numbers");
	ok(stamp_unit_of("auto") == STAMP_AUTO && stamp_unit_of("s") == STAMP_S && stamp_unit_of("ms") == STAMP_MS &&
			stamp_unit_of("us") == STAMP_US && stamp_unit_of("ns") == STAMP_NS,
		"words of units");
}

static void durations(void)
{
	static const struct {
		const char *text;
		enum stamp_unit unit;
		long long ms;
	} cases[] = { { "3600", STAMP_AUTO, 3600000 }, { "2.5", STAMP_AUTO, 2500 }, { "2500", STAMP_MS, 2500 },
		{ "90m", STAMP_AUTO, 5400000 }, { "1-02:03:04", STAMP_AUTO, 93784000 }, { "02:03", STAMP_AUTO, 123000 },
		{ "01:00:00.5", STAMP_AUTO, 3600500 }, { "100:00:00", STAMP_AUTO, 360000000 }, { "1 days 02:03:04", STAMP_AUTO, 93784000 },
		{ "2 days, 00:00:01", STAMP_AUTO, 172801000 }, { "1 day 00:00:00", STAMP_AUTO, 86400000 }, { "0", STAMP_AUTO, 0 },
		{ "01:60:00", STAMP_AUTO, -1 }, { "1:2:3:4", STAMP_AUTO, -1 }, { "-5", STAMP_AUTO, -1 }, { "1-5", STAMP_AUTO, -1 },
		{ "1-02:03", STAMP_AUTO, -1 }, { "1-", STAMP_AUTO, -1 }, { ":", STAMP_AUTO, -1 }, { "UNLIMITED", STAMP_AUTO, -1 },
		{ "1e30", STAMP_AUTO, -1 }, { "99999-00:00:00", STAMP_AUTO, -1 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ok(duration_ms(cases[i].text, cases[i].unit) == cases[i].ms, "duration \"%s\": %lld ms", cases[i].text,
			duration_ms(cases[i].text, cases[i].unit));
}

static double size_of(const char *s, enum quantity_kind kind)
{
	double v;
	return quantity(s, strlen(s), kind, &v) ? v : -1;
}

static void sizes(void)
{
	static const struct {
		const char *text;
		enum quantity_kind kind;
		double value;
	} cases[] = { { "64G", QUANTITY_SLURM, 68719476736.0 }, { "64000M", QUANTITY_SLURM, 67108864000.0 }, { "2K", QUANTITY_SLURM, 2048 },
		{ "64Gi", QUANTITY_KUBERNETES, 68719476736.0 }, { "64G", QUANTITY_KUBERNETES, 64e9 }, { "500m", QUANTITY_KUBERNETES, 0.5 },
		{ "1e3", QUANTITY_KUBERNETES, 1000 }, { "128974848", QUANTITY_KUBERNETES, 128974848 }, { "1k", QUANTITY_KUBERNETES, 1000 },
		{ "", QUANTITY_SLURM, -1 }, { "G", QUANTITY_SLURM, -1 }, { "-1", QUANTITY_SLURM, -1 }, { "1X", QUANTITY_SLURM, -1 },
		{ "5m", QUANTITY_SLURM, -1 }, { "1i", QUANTITY_KUBERNETES, -1 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double v = size_of(cases[i].text, cases[i].kind);
		ok(v <= cases[i].value && v >= cases[i].value, "size \"%s\": %g", cases[i].text, v);
	}
}

int main(void)
{
	dates();
	epochs();
	durations();
	sizes();
	ok(stamp_is_unknown("", 0) && stamp_is_unknown("NULL", 4) && stamp_is_unknown("nan", 3) && !stamp_is_unknown("0", 1),
		"words for unknown values");
	return done();
}
