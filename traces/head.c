/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/format.h"

#include <string.h>

bool trace_head_has_column(const struct trace_head *head, const char *name)
{
	size_t len = strlen(name);
	for (const char *s = head->line; *s;) {
		s += strspn(s, " \t\"");
		size_t n = strcspn(s, ",");
		const char *next = s + n + (s[n] == ',');
		while (n && strchr(" \t\"", s[n - 1]))
			n--;
		if (n == len && !memcmp(s, name, len))
			return true;
		s = next;
	}
	return false;
}
