/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/format.h"

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
