/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/api.h>

#include <stdarg.h>
#include <stdio.h>

int orr_fail(struct orr_error *e, int code, const char *fmt, ...)
{
	if (!e)
		return code;
	e->code = code;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	/* Messages can quote input, so they are reduced to one line without control characters: a terminal would interpret such
	 * characters. */
	for (char *c = e->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return code;
}
