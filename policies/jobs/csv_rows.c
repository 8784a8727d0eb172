/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "csv_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *csv_field(char **rest)
{
	char *start = *rest;
	if (!start)
		return NULL;
	char *comma = strchr(start, ',');
	*rest = comma ? comma + 1 : NULL;
	if (comma)
		*comma = 0;
	return start;
}

char *csv_line(char **rest)
{
	char *start = *rest;
	if (!*start)
		return NULL;
	char *end = start + strcspn(start, "\n");
	*rest = *end ? end + 1 : end;
	*end = 0;
	if (end > start && end[-1] == '\r')
		end[-1] = 0;
	return start;
}

bool csv_number(const char *text, double *value)
{
	char *end;
	if (!text || !*text)
		return false;
	*value = strtod(text, &end);
	return !*end && isfinite(*value) && *value >= 0;
}
