/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/stamp.h"

#include "base/num.h"
#include "traces/civil.h"

#include <orrery/api.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MOST_S 4e9 /* 127 years */

enum stamp_unit stamp_unit_of(const char *word)
{
	static const char *const words[] = { "auto", "s", "ms", "us", "ns" };
	int i = STAMP_NS;
	while (i > 0 && strcmp(word, words[i]))
		i--;
	return (enum stamp_unit)i;
}

enum stamp_unit stamp_unit(double number)
{
	return number < 1e11 ? STAMP_S : number < 1e14 ? STAMP_MS : number < 1e17 ? STAMP_US : STAMP_NS;
}

bool stamp_is_unknown(const char *s, size_t n)
{
	static const char *const words[] = { "null", "none", "nan", "nat", "n/a", "na", "unknown", "undefined", "-", "\\N" };
	if (!n)
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == n && !strncasecmp(s, words[i], n))
			return true;
	return false;
}

/* ---- dates ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads two digits at *s and moves on. */
static bool take_pair(const char **s, const char *end, int *out)
{
	if (end - *s < 2 || !is_digit(**s) || !is_digit((*s)[1]))
		return false;
	*out = ((*s)[0] - '0') * 10 + (*s)[1] - '0';
	*s += 2;
	return true;
}

/* Reads ".25" or nothing. */
static bool take_fraction(const char **s, const char *end, int64_t *out_ns)
{
	*out_ns = 0;
	if (*s == end || (**s != '.' && **s != ','))
		return true;
	const char *digit = ++*s;
	for (int64_t unit = ORR_SECOND / 10; *s < end && is_digit(**s); ++*s, unit /= 10)
		*out_ns += (**s - '0') * unit;
	return *s > digit && *s - digit <= 9;
}

/* Reads a zone, or nothing; offset from UTC. */
static bool take_zone(const char **s, const char *end, int64_t *offset_ns)
{
	int hours, minutes = 0;
	*offset_ns = 0;
	if (*s < end && **s == ' ')
		++*s;
	if (*s == end)
		return true;
	if (**s == 'Z' || **s == 'z') {
		++*s;
		return true;
	}
	if (end - *s == 3 && (!memcmp(*s, "UTC", 3) || !memcmp(*s, "GMT", 3))) {
		*s += 3;
		return true;
	}
	if (**s != '+' && **s != '-')
		return false;
	bool is_west = *(*s)++ == '-';
	if (!take_pair(s, end, &hours))
		return false;
	if (*s < end && **s == ':')
		++*s;
	if (*s < end && !take_pair(s, end, &minutes))
		return false;
	if (hours > 15 || minutes > 59)
		return false;
	*offset_ns = (int64_t)(hours * 60 + minutes) * 60 * ORR_SECOND * (is_west ? -1 : 1);
	return true;
}

bool stamp_date_ns(const char *s, size_t n, int64_t *out_ns)
{
	enum { DATE = 10, MINUTES = 16 };
	char whole[20];
	const char *end = s + n;
	int64_t fraction, offset;
	if (n < MINUTES || (s[DATE] != ' ' && s[DATE] != 'T') || s[13] != ':')
		return false;
	memcpy(whole, s, MINUTES);
	memcpy(whole + MINUTES, ":00", 4);
	s += MINUTES;
	if (s < end && *s == ':') {
		if (end - s < 3)
			return false;
		memcpy(whole + MINUTES, s, 3);
		s += 3;
	}
	int64_t t = civil_ns(whole, 19);
	if (t < 0 || !take_fraction(&s, end, &fraction) || !take_zone(&s, end, &offset) || s != end)
		return false;
	*out_ns = t + fraction - offset;
	return *out_ns >= 0;
}

/* ---- numbers ---- */

static bool scaled(const char *s, size_t n, enum stamp_unit unit, int64_t *out_ns)
{
	static const int64_t ns[] = { ORR_SECOND, ORR_SECOND, 1000000, 1000, 1 };
	int64_t whole;
	double v;
	if (unit <= STAMP_S)
		return num_seconds_ns(s, n, out_ns) && *out_ns >= 0 && (double)*out_ns <= MOST_S * 1e9;
	if (!num_real(s, n, &v) || !(v >= 0 && v * (double)ns[unit] <= MOST_S * 1e9))
		return false;
	*out_ns = num_int(s, n, &whole) ? whole * ns[unit] : (int64_t)llround(v * (double)ns[unit]);
	return true;
}

bool stamp_ns(const char *s, size_t n, enum stamp_unit unit, int64_t *out_ns)
{
	return scaled(s, n, unit, out_ns) || stamp_date_ns(s, n, out_ns);
}

/* ---- durations ---- */

/* Reads the digits at *s and moves on. */
static bool take_count(const char **s, const char *end, int64_t *out)
{
	size_t n = 0;
	while (*s + n < end && is_digit((*s)[n]))
		n++;
	bool good = n && n < 10 && num_int(*s, n, out);
	*s += n;
	return good;
}

/* Reads the days of "1-02:03:04" or "1 days 02:03:04", if the text has any. */
static bool take_days(const char **s, const char *end, int64_t *days)
{
	const char *at = *s;
	*days = 0;
	if (!take_count(&at, end, days))
		return false;
	if (at < end && *at == '-') {
		*s = at + 1;
		return true;
	}
	size_t left = (size_t)(end - at);
	size_t word = left >= 5 && !memcmp(at, " days", 5) ? 5 : left >= 4 && !memcmp(at, " day", 4) ? 4 : 0;
	if (!word) {
		*days = 0;
		return true;
	}
	at += word;
	at += at < end && *at == ',';
	while (at < end && *at == ' ')
		at++;
	*s = at;
	return true;
}

static bool clock_ns(const char *s, size_t n, int64_t *out_ns)
{
	const char *end = s + n;
	int64_t days, part[3], fraction, parts = 0, seconds = 0;
	if (!take_days(&s, end, &days))
		return false;
	bool has_days = s > end - n;
	do {
		if (parts == 3 || !take_count(&s, end, &part[parts]))
			return false;
		parts++;
	} while (s < end && *s == ':' && s++);
	if (parts < (has_days ? 3 : 2) || !take_fraction(&s, end, &fraction) || s != end)
		return false;
	for (int64_t i = 0; i < parts; i++) {
		if (i && part[i] > 59)
			return false;
		seconds = seconds * 60 + part[i];
	}
	seconds += days * 86400;
	if ((double)seconds > MOST_S)
		return false;
	*out_ns = seconds * ORR_SECOND + fraction;
	return true;
}

bool stamp_duration_ns(const char *s, size_t n, enum stamp_unit unit, int64_t *out_ns)
{
	if (scaled(s, n, unit, out_ns) || clock_ns(s, n, out_ns))
		return true;
	return num_duration_ns(s, n, out_ns) && *out_ns >= 0 && (double)*out_ns <= MOST_S * 1e9;
}
