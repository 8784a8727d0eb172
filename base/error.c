/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/api.h>

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int orr_fail(struct orr_error *e, int code, const char *fmt, ...)
{
	if (!e)
		return code;
	e->code = code;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	/*
	 * Messages can quote input. They are therefore reduced to one line in UTF-8, without control characters that a terminal
	 * would interpret.
	 */
	for (size_t i = 0, n = strlen(e->text), len; i < n; i += len ? len : 1) {
		len = utf8_length(e->text + i, n - i);
		bool is_control = len == 1 ? (unsigned char)e->text[i] < 0x20 || e->text[i] == 0x7f
					   : len == 2 && e->text[i] == '\xc2' && (unsigned char)e->text[i + 1] < 0xa0;
		if (!len || is_control)
			memset(e->text + i, '?', len ? len : 1);
	}
	return code;
}
