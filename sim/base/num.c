/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/num.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool num_int(const char *s, size_t n, int64_t *out)
{
	size_t i = 0;
	bool negative = false;
	if (n && (s[0] == '-' || s[0] == '+'))
		negative = s[i++] == '-';
	if (i == n)
		return false;
	uint64_t v = 0;
	for (; i < n; i++) {
		if (!is_digit(s[i]))
			return false;
		unsigned d = (unsigned)(s[i] - '0');
		if (v > (UINT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
	}
	if (v > (uint64_t)INT64_MAX + (negative ? 1 : 0))
		return false;
	*out = negative ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

/* Checks the shape [+-]digits[.digits][(e|E)[+-]digits] and, where the number
 * has at most 18 digits and no exponent, gives mantissa and decimals. */
struct decimal {
	bool negative, is_short;
	uint64_t mantissa;
	int decimals;
};

static bool scan(const char *s, size_t n, struct decimal *d)
{
	size_t i = 0;
	int digits = 0, significant = 0;
	*d = (struct decimal){ .is_short = true };
	if (n && (s[0] == '-' || s[0] == '+'))
		d->negative = s[i++] == '-';
	bool point = false;
	for (; i < n; i++) {
		if (s[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (!is_digit(s[i]))
			break;
		digits++;
		if (significant || s[i] != '0')
			significant++;
		if (significant <= 18)
			d->mantissa = d->mantissa * 10 + (uint64_t)(s[i] - '0');
		else
			d->is_short = false;
		d->decimals += point;
	}
	if (!digits)
		return false;
	if (i == n)
		return true;
	if (s[i] != 'e' && s[i] != 'E')
		return false;
	d->is_short = false;
	i++;
	if (i < n && (s[i] == '-' || s[i] == '+'))
		i++;
	if (i == n)
		return false;
	for (; i < n; i++)
		if (!is_digit(s[i]))
			return false;
	return true;
}

static const uint64_t pow10_u64[19] = { 1u,
	10u,
	100u,
	1000u,
	10000u,
	100000u,
	1000000u,
	10000000u,
	100000000u,
	1000000000u,
	10000000000u,
	100000000000u,
	1000000000000u,
	10000000000000u,
	100000000000000u,
	1000000000000000u,
	10000000000000000u,
	100000000000000000u,
	1000000000000000000u };

static bool slow_real(const char *s, size_t n, double *out)
{
	char buf[128];
	char *end;
	if (n >= sizeof buf)
		return false;
	memcpy(buf, s, n);
	buf[n] = '\0';
	errno = 0;
	double v = strtod(buf, &end); /* the program never leaves the C locale */
	if (end != buf + n || !isfinite(v))
		return false;
	*out = v;
	return true;
}

bool num_real(const char *s, size_t n, double *out)
{
	struct decimal d;
	if (!scan(s, n, &d))
		return false;
	/* Both operands exact in binary64: one rounding (Clinger 1990, fast path). */
	if (!d.is_short || d.mantissa > (UINT64_C(1) << 53) || d.decimals > 18)
		return slow_real(s, n, out);
	double v = (double)d.mantissa;
	if (d.decimals)
		v /= (double)pow10_u64[d.decimals];
	*out = d.negative ? -v : v;
	return true;
}

static bool scale_ns(const char *s, size_t n, uint64_t unit_ns, int64_t *out)
{
	struct decimal d;
	if (!scan(s, n, &d))
		return false;
	if (d.is_short && d.decimals <= 18) {
		unsigned __int128 v = (unsigned __int128)d.mantissa * unit_ns;
		uint64_t p = pow10_u64[d.decimals];
		v = (v + p / 2) / p;
		if (v > (unsigned __int128)INT64_MAX)
			return false;
		*out = d.negative ? -(int64_t)v : (int64_t)v;
		return true;
	}
	double v;
	if (!slow_real(s, n, &v))
		return false;
	v *= (double)unit_ns;
	if (!(fabs(v) < 9.2e18))
		return false;
	*out = (int64_t)llround(v);
	return true;
}

bool num_seconds_ns(const char *s, size_t n, int64_t *out_ns)
{
	return scale_ns(s, n, UINT64_C(1000000000), out_ns);
}

bool num_duration_ns(const char *s, size_t n, int64_t *out_ns)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} unit[] = { { "ns", 1u }, { "us", 1000u }, { "ms", 1000000u }, { "s", 1000000000u },
		{ "m", 60000000000u }, { "h", 3600000000000u }, { "d", 86400000000000u } };
	for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
		size_t len = strlen(unit[i].suffix);
		if (n > len && !memcmp(s + n - len, unit[i].suffix, len) &&
			(is_digit(s[n - len - 1]) || s[n - len - 1] == '.'))
			return scale_ns(s, n - len, unit[i].ns, out_ns);
	}
	return num_seconds_ns(s, n, out_ns);
}

size_t num_put_seconds(char out[NUM_SECONDS_MAX], int64_t t_ns)
{
	char digits[20];
	size_t n = 0, len = 0;
	uint64_t v = t_ns < 0 ? 0 - (uint64_t)t_ns : (uint64_t)t_ns;
	while (v || n < 10) {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	}
	if (t_ns < 0)
		out[len++] = '-';
	while (n) {
		if (n == 9)
			out[len++] = '.';
		out[len++] = digits[--n];
	}
	out[len] = '\0';
	return len;
}

int64_t num_add_sat(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}
