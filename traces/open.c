/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/format.h"
#include "traces/generator.h"

static struct trace *open_file(const char *path, const char *format, bool all, const char *const *options, struct orr_error *err)
{
	struct lines *in = generator_suggest(path, err) ? NULL : lines_open(path, err);
	return in ? trace_open_lines(in, format, all, options, err) : NULL;
}

struct trace *trace_open(const char *path, const char *format, const char *const *options, struct orr_error *err)
{
	return open_file(path, format, false, options, err);
}

struct trace *trace_open_all(const char *path, const char *format, const char *const *options, struct orr_error *err)
{
	return open_file(path, format, true, options, err);
}
