/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/format.h"

#include "base/sbuf.h"

#include <string.h>

#define FORMAT(name) extern const struct trace_format format_##name;
#include "traces/formats.def"
#undef FORMAT

const struct trace_format *const trace_formats[] = {
#define FORMAT(name) &format_##name,
#include "traces/formats.def"
	NULL,
};

bool trace_format_exists(enum trace_kind kind, const char *name)
{
	for (size_t i = 0; name && trace_formats[i]; i++)
		if (trace_formats[i]->kind == kind && !strcmp(trace_formats[i]->name, name))
			return true;
	return false;
}

void trace_format_names(enum trace_kind kind, struct sbuf *out)
{
	enum { WIDTH = 66 };
	size_t line = out->len;
	for (const struct trace_format *const *f = trace_formats; *f; f++) {
		if ((*f)->kind != kind)
			continue;
		if (out->len - line + strlen((*f)->name) > WIDTH) {
			out->text[out->len - 1] = '\n'; /* the blank after the comma */
			line = out->len;
		}
		sbuf_printf(out, "%s, ", (*f)->name);
	}
	out->len -= 2;
	sbuf_puts(out, " or auto");
}
