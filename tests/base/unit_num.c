/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers and times as text. Expected values come from strtoll() and strtod() of the C library, from exact arithmetic on 128-bit
 * integers, or are written by hand.
 */
#include "base/hash.h"
#include "base/num.h"
#include "tests/tap.h"

#include <inttypes.h>
#include <stdlib.h>

__extension__ typedef __int128 wide;

static uint64_t seed = 11;

/* Fills s with n random digits, the first one not 0. */
static void random_digits(char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s[i] = (char)('0' + hash_next(&seed) % 10);
	if (n && *s == '0')
		*s = '7';
	s[n] = '\0';
}

static void whole_numbers(void)
{
	static const char others[] = { '/', ':', ' ', '.', '-', 'e', '\x01', '\x7f', (char)0xb1 };
	int64_t v;
	for (size_t n = 1; n <= 18; n++) {
		char text[32];
		bool is_same = true, is_refused = true;
		for (int k = 0; k < 100; k++) {
			text[0] = k % 3 == 1 ? '-' : '+';
			random_digits(text + 1, n);
			const char *s = k % 3 ? text : text + 1;
			size_t len = strlen(s);
			is_same = is_same && num_int(s, len, &v) && v == strtoll(s, NULL, 10);
			size_t at = hash_next(&seed) % n + 1;
			text[at] = others[hash_next(&seed) % sizeof others];
			if (at > 1 || s == text || text[at] != '-') /* a leading sign is allowed */
				is_refused = is_refused && !num_int(s, len, &v);
		}
		ok(is_same, "whole numbers of %zu digits as strtoll reads them", n);
		ok(is_refused, "digits with another byte among them are refused");
	}
	ok(num_int("9223372036854775807", 19, &v) && v == INT64_MAX, "the largest int64 is read");
	ok(num_int("-9223372036854775808", 20, &v) && v == INT64_MIN, "the smallest int64 is read");
	ok(!num_int("9223372036854775808", 19, &v) && !num_int("-9223372036854775809", 20, &v), "numbers beyond int64 are refused");
	ok(!num_int("18446744073709551616", 20, &v) && !num_int("18446744073709551617", 20, &v) && !num_int("99999999999999999999", 20, &v),
		"numbers that overflow 64 bits are refused");
	ok(num_int("0", 1, &v) && v == 0 && num_int("0000000000000000000042", 22, &v) && v == 42, "leading zeros do not count");
	ok(!num_int(&"123"[1], 0, &v) && !num_int("-", 1, &v) && !num_int("1 ", 2, &v) && !num_int("0x10", 4, &v) && !num_int("+-1", 3, &v),
		"text that is no whole number is refused");
}

static void reals(void)
{
	static const char *const good[] = { "0.1", "-3.25", "+3.25", "1e3", "1E+3", "5e-1", "123456789012345678901234567890",
		"2.2250738585072011e-308", "9007199254740992", "9007199254740993", "90071992547409.93", "-9007199254740993", ".5", "5.",
		"-.5", "0.000001", "0000000000000000000000.25", "0.0000000000000000001", "-0.000000000000000001", "0.9999999999999999999" };
	static const char *const bad[] = { "", ".", "-", "-.", "1e", "1e+", "e5", "nan", "inf", "1.2.3", "-1.2.3", " 1", "0x1p3", "1e999",
		"1e5x", "1e5.0", "1f3", "--1", "12345678901234567890.1.2" };
	double v;
	for (size_t k = 0; k < sizeof good / sizeof *good; k++)
		ok(num_real(good[k], strlen(good[k]), &v) && v == strtod(good[k], NULL), "%s is read as strtod reads it", good[k]);
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		ok(!num_real(bad[k], strlen(bad[k]), &v), "\"%s\" is no number", bad[k]);
	for (size_t n = 1; n <= 24; n++) {
		bool is_same = true;
		for (int k = 0; k < 200; k++) {
			char digits[32], text[48];
			random_digits(digits, n);
			int whole = (int)(hash_next(&seed) % (n + 1));
			const char *sign = k % 3 == 0 ? "" : k % 3 == 1 ? "-" : "+";
			snprintf(text, sizeof text, "%s%.*s.%s%s", sign, whole, digits, digits + whole, k % 7 == 6 ? "e-3" : "");
			is_same = is_same && num_real(text, strlen(text), &v) && v == strtod(text, NULL);
		}
		ok(is_same, "decimals of %zu digits as strtod reads them", n);
	}
	char longest[129];
	memset(longest, '1', sizeof longest);
	longest[2] = '.';
	ok(num_real(longest, 127, &v) && fabs(v - 11.1111111111111111) < 1e-12, "127 characters are read");
	ok(!num_real(longest, 128, &v), "128 characters are refused");
}

/* Returns the text of mantissa / 10^decimals, and its value in ns rounded half away from zero. */
static wide decimal(char text[48], bool is_negative, uint64_t mantissa, int decimals, uint64_t unit_ns)
{
	uint64_t p = 1;
	for (int i = 0; i < decimals; i++)
		p *= 10;
	int len = snprintf(text, 48, "%s%" PRIu64, is_negative ? "-" : "", mantissa / p);
	if (decimals)
		snprintf(text + len, 48 - (size_t)len, ".%0*" PRIu64, decimals, mantissa % p);
	wide v = ((wide)mantissa * unit_ns * 2 + p) / (2 * (wide)p);
	return is_negative ? -v : v;
}

static void times(void)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "", 1000000000 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
		{ "m", UINT64_C(60000000000) }, { "h", UINT64_C(3600000000000) }, { "d", UINT64_C(86400000000000) } };
	int64_t t;
	for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
		bool is_same = true;
		for (int k = 0; k < 2000; k++) {
			char text[64];
			int decimals = (int)(hash_next(&seed) % 18);
			uint64_t mantissa = hash_next(&seed) % UINT64_C(1000000000000000000) >> (hash_next(&seed) % 50);
			wide want = decimal(text, k & 1, mantissa, decimals, units[u].ns);
			strcat(text, units[u].name);
			bool fits = want >= -(wide)INT64_MAX && want <= INT64_MAX;
			bool is_read = num_duration_ns(text, strlen(text), &t);
			is_same = is_same && is_read == fits && (!fits || t == want);
			if (!*units[u].name)
				is_same = is_same && num_seconds_ns(text, strlen(text), &t) == fits && (!fits || t == want);
		}
		ok(is_same, "times in \"%s\" are exact and rounded half away from zero", units[u].name);
	}
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = { { "1.0000000005", 1000000001 }, { "1.0000000004", 1000000000 }, { "-1.0000000005", -1000000001 },
		{ "-2.5", -2500000000 }, { "9223372036", INT64_C(9223372036000000000) }, { "1e3", INT64_C(1000000000000) },
		{ "-1e3", INT64_C(-1000000000000) }, { "9.1e9", INT64_C(9100000000000000000) }, { "1e-9", 1 }, { "5.s", 5000000000 },
		{ ".5s", 500000000 }, { "0d", 0 }, { "1.5h", INT64_C(5400000000000) }, { "250ms", 250000000 }, { "1e2ms", 100000000 } };
	for (size_t k = 0; k < sizeof good / sizeof *good; k++)
		ok(num_duration_ns(good[k].text, strlen(good[k].text), &t) && t == good[k].ns, "%s is %" PRId64 " ns", good[k].text,
			good[k].ns);
	static const char *const bad[] = { "", "s", "h", "5 s", "1e12", "-1e12", "9.3e9", "9223372037", "106752d", "1sx", "1.2.3s", "x",
		"1e999" };
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		ok(!num_duration_ns(bad[k], strlen(bad[k]), &t), "\"%s\" is no time", bad[k]);
	ok(!num_seconds_ns("5s", 2, &t), "seconds have no unit");
}

/* Tests numbers as text. Expected digits are written by hand; where 15 digits are too few, they are those of Python's repr(). */
static void formats(void)
{
	static const struct {
		int64_t ns;
		const char *text;
	} time[] = { { 0, "0.000000000" }, { 1, "0.000000001" }, { -1, "-0.000000001" }, { 999999999, "0.999999999" },
		{ 1000000000, "1.000000000" }, { -1500000000, "-1.500000000" }, { 10203040506, "10.203040506" },
		{ INT64_MAX, "9223372036.854775807" }, { INT64_MIN, "-9223372036.854775808" } };
	static const struct {
		double v;
		const char *text;
	} real[] = { { 0.1, "0.1" }, { 1.0 / 3, "0.3333333333333333" }, { 0.1 + 0.2, "0.30000000000000004" }, { -2.5e-7, "-2.5e-07" },
		{ 42, "42" }, { 1e23, "1e+23" }, { 5e-324, "4.94065645841247e-324" } };
	for (size_t k = 0; k < sizeof time / sizeof *time; k++) {
		char out[NUM_SECONDS_MAX];
		size_t n = num_put_seconds(out, time[k].ns);
		ok(!strcmp(out, time[k].text) && n == strlen(out), "%s has nine decimals", time[k].text);
	}
	for (size_t k = 0; k < sizeof real / sizeof *real; k++) {
		char out[NUM_REAL_MAX];
		size_t n = num_put_real(out, real[k].v);
		ok(!strcmp(out, real[k].text) && n == strlen(out), "%s is written with the fewest digits that read back", real[k].text);
	}
	ok(num_add_sat(INT64_MAX, 1) == INT64_MAX && num_add_sat(INT64_MIN, -1) == INT64_MIN &&
			num_add_sat(INT64_MAX, -1) == INT64_MAX - 1 && num_add_sat(-5, 3) == -2 && num_add_sat(INT64_MIN, 0) == INT64_MIN,
		"sums are clamped");
}

/* Expected: printf(). */
static void written_numbers(void)
{
	static const int64_t some[] = { 0, 9, 10, 99, 100, 101, -1, -10, -100, 12345, 1000000, INT64_MAX, INT64_MIN, INT64_MIN + 1 };
	for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
		char out[NUM_INT_MAX + 1], want[32];
		out[num_put_int(out, some[k])] = '\0';
		snprintf(want, sizeof want, "%" PRId64, some[k]);
		same_text(out, want, "num_put_int");
	}
	bool is_good = true;
	for (int64_t power = 1;; power *= 10) {
		const int64_t near[] = { power - 1, power, power + 1, -power + 1, -power, -power - 1 };
		for (size_t k = 0; k < sizeof near / sizeof *near; k++) {
			char out[NUM_INT_MAX + 1], want[32];
			out[num_put_int(out, near[k])] = '\0';
			snprintf(want, sizeof want, "%lld", (long long)near[k]);
			is_good = is_good && !strcmp(out, want);
		}
		if (power > INT64_MAX / 10)
			break;
	}
	ok(is_good, "num_put_int: all powers of ten and their neighbours are those of printf()");
}

int main(void)
{
	whole_numbers();
	written_numbers();
	reals();
	times();
	formats();
	return done();
}
