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

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Reads one to eight digits without a branch per digit. Loads s[0..n) into one word, first digit lowest, and pads it with '0'. Then
 * combines pairs, fours and eights by multiplication. Returns false if a byte is not a digit. */
static bool few_digits(const char *s, size_t n, uint64_t *out)
{
	const uint64_t zeros = UINT64_C(0x3030303030303030);
	uint64_t x;
	if (n >= 4) {
		uint32_t head, tail;
		memcpy(&head, s, 4);
		memcpy(&tail, s + n - 4, 4);
		x = head | (uint64_t)tail << (8 * (n - 4));
	} else {
		x = (unsigned char)s[0] | (uint64_t)(unsigned char)s[n / 2] << (8 * (n / 2)) |
		    (uint64_t)(unsigned char)s[n - 1] << (8 * (n - 1));
	}
	if (n < 8)
		x = x << (8 * (8 - n)) | zeros >> (8 * n);
	const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
	if ((x & high) != zeros || ((x + UINT64_C(0x0606060606060606)) & high) != zeros)
		return false;
	x = (x & ~high) * (1 + (10 << 8)) >> 8 & UINT64_C(0x00ff00ff00ff00ff);
	x = x * (1 + (UINT64_C(100) << 16)) >> 16 & UINT64_C(0x0000ffff0000ffff);
	*out = x * (1 + (UINT64_C(10000) << 32)) >> 32;
	return true;
}
#else
static bool few_digits(const char *s, size_t n, uint64_t *out)
{
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(s[i]))
			return false;
		v = v * 10 + (uint64_t)(s[i] - '0');
	}
	*out = v;
	return true;
}
#endif

bool num_int(const char *s, size_t n, int64_t *out)
{
	uint64_t few;
	if (n - 1 < 8 && few_digits(s, n, &few)) {
		*out = (int64_t)few;
		return true;
	}
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

/* Checks the form [+-]digits[.digits][(e|E)[+-]digits]. For at most 18 digits and no
 * exponent, also returns mantissa and decimals. */
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

static const uint64_t pow10_u64[19] = { 1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u,
	100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u, 10000000000000000u, 100000000000000000u,
	1000000000000000000u };

/* Fast path for up to 18 digits, with or without a point. If it returns false, the number may still be valid. */
static bool scan_short(const char *s, size_t n, uint64_t *mantissa, unsigned *decimals)
{
	uint64_t m = 0;
	size_t point = n;
	*decimals = 0;
	if (n - 1 < 8 && few_digits(s, n, mantissa))
		return true;
	if (n > 18)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned digit = (unsigned)(s[i] - '0');
		if (digit <= 9) {
			m = m * 10 + digit;
		} else {
			if (s[i] != '.' || point != n)
				return false;
			point = i;
		}
	}
	*mantissa = m;
	*decimals = point == n ? 0 : (unsigned)(n - point - 1);
	return n > (point != n);
}

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
	uint64_t mantissa;
	unsigned decimals;
	if (scan_short(s, n, &mantissa, &decimals) && mantissa <= (UINT64_C(1) << 53)) {
		*out = decimals ? (double)mantissa / (double)pow10_u64[decimals] : (double)mantissa;
		return true;
	}
	if (!scan(s, n, &d))
		return false;
	/* Both operands are exact in binary64, so there is one rounding (Clinger, PLDI 1990, fast path). */
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
	uint64_t mantissa, product;
	unsigned decimals;
	/* Most numbers of a trace are whole seconds with few digits: avoids a division. */
	bool is_plain = scan_short(s, n, &mantissa, &decimals) && (!decimals || (decimals <= 9 && unit_ns == UINT64_C(1000000000)));
	if (is_plain && !__builtin_mul_overflow(mantissa, decimals ? pow10_u64[9 - decimals] : unit_ns, &product) && product <= INT64_MAX) {
		*out = (int64_t)product;
		return true;
	}
	if (!scan(s, n, &d))
		return false;
	if (d.is_short && d.decimals <= 18) {
		__extension__ typedef unsigned __int128 wide;
		wide v = (wide)d.mantissa * unit_ns;
		uint64_t p = pow10_u64[d.decimals];
		v = (v + p / 2) / p;
		if (v > (wide)INT64_MAX)
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
	} unit[] = { { "ns", 1u }, { "us", 1000u }, { "ms", 1000000u }, { "s", 1000000000u }, { "m", 60000000000u },
		{ "h", 3600000000000u }, { "d", 86400000000000u } };
	for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
		size_t len = strlen(unit[i].suffix);
		if (n > len && !memcmp(s + n - len, unit[i].suffix, len) && (is_digit(s[n - len - 1]) || s[n - len - 1] == '.'))
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

static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
			    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/* Writes a number below 10,000. */
static inline size_t put_small(char *out, uint32_t u)
{
	uint32_t high = u / 100, first = u < 100 ? u : high;
	char *at = out;
	if (first >= 10)
		*at++ = pairs[first * 2];
	*at++ = pairs[first * 2 + 1];
	if (u >= 100) {
		memcpy(at, pairs + (u - high * 100) * 2, 2);
		at += 2;
	}
	return (size_t)(at - out);
}

/* Writes four digits. */
static inline void put_four(char *out, uint32_t u)
{
	uint32_t high = u / 100;
	memcpy(out, pairs + high * 2, 2);
	memcpy(out + 2, pairs + (u - high * 100) * 2, 2);
}

/* Writes a number below 100,000,000. */
static inline size_t put_medium(char *out, uint32_t u)
{
	if (u < 10000)
		return put_small(out, u);
	uint32_t high = u / 10000;
	size_t n = put_small(out, high);
	put_four(out + n, u - high * 10000);
	return n + 4;
}

size_t num_put_int(char out[NUM_INT_MAX], int64_t v)
{
	/* 1233 / 4096 is log10(2), so `log` is the number of digits or one less. */
	static const uint64_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
		100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
		1000000000000000000, 10000000000000000000u };
	const int64_t eight = 100000000; /* eight digits */
	size_t n;
	if (v >= 0 && v < eight)
		return put_medium(out, (uint32_t)v);
	if (v >= 0 && v < eight * eight) {
		uint32_t high = (uint32_t)(v / eight), low = (uint32_t)(v - high * eight);
		n = put_medium(out, high);
		put_four(out + n, low / 10000);
		put_four(out + n + 4, low % 10000);
		return n + 8;
	}
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	size_t log = (size_t)(64 - __builtin_clzll(u | 1)) * 1233 >> 12;
	n = log + ((u | 1) >= powers[log]) + (v < 0);
	char *at = out + n;
	for (; u >= 100; u /= 100)
		memcpy(at -= 2, pairs + u % 100 * 2, 2);
	if (u >= 10)
		memcpy(at - 2, pairs + u * 2, 2);
	else
		at[-1] = (char)('0' + u);
	if (v < 0)
		*out = '-';
	return n;
}

int64_t num_add_sat(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

size_t num_put_real(char out[NUM_REAL_MAX], double v)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, NUM_REAL_MAX, "%.*g", digits, v);
		if (strtod(out, NULL) == v)
			break;
	}
	return strlen(out);
}
