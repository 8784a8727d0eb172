/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/civil.h"

#include <orrery/api.h>

/* Returns the number in two digits; -1 if a character is no digit. */
static int pair(const char *s)
{
	unsigned a = (unsigned)(s[0] - '0'), b = (unsigned)(s[1] - '0');
	return a > 9 || b > 9 ? -1 : (int)(a * 10 + b);
}

/* Returns the days from 1970-01-01 in the proleptic Gregorian calendar. Years begin on March 1, so the leap day is the last day of
 * its year. An era is 400 years or 146097 days. */
static int64_t days_from_civil(int year, int month, int day)
{
	int y = year - (month <= 2);
	int era = y / 400, year_of_era = y % 400;
	int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return (int64_t)era * 146097 + day_of_era - 719468;
}

static int days_in_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return days[month - 1] + (month == 2 && is_leap);
}

int64_t civil_ns(const char *s, size_t n)
{
	if (n != 19 || s[4] != '-' || s[7] != '-' || (s[10] != ' ' && s[10] != 'T') || s[13] != ':' || s[16] != ':')
		return -1;
	int century = pair(s), year = pair(s + 2), month = pair(s + 5), day = pair(s + 8);
	int hour = pair(s + 11), minute = pair(s + 14), second = pair(s + 17);
	if (century < 0 || year < 0)
		return -1;
	year += century * 100;
	if (year < 1970 || year > 2199 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
		return -1;
	if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
		return -1;
	return (days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second) * ORR_SECOND;
}
