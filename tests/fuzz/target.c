/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/fuzz/target.h"

#include "hwmodel/throughput.h"
#include "traces/profile.h"
#include "traces/trace.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 20000 }; /* a small packed input may hold a great many */

const char *const fuzz_parsers[] = { "auto", "philly", "tiresias", "muri", "gavel", "openb",
	"openb-nodes", "swf", "orrery", "throughput", NULL };

static void require(int is_true)
{
	if (!is_true)
		abort();
}

static void read_rows(struct trace *t, struct orr_error *err)
{
	struct orr_trace_job row;
	double values[TRACE_MAX_EXTRAS];
	int rc = 1;
	for (int i = 0; i < MAX_ROWS && rc == 1; i++) {
		rc = trace_next(t, &row, err);
		if (rc != 1)
			break;
		require(row.submit_ns >= 0 && row.duration_ns >= -1 && row.gpu_milli <= 1000 && row.id);
		trace_get_extras(t, values);
	}
	require(rc != -1 || err->text[0]);
	struct trace_fact fact;
	for (size_t i = 0; trace_fact(t, i, &fact); i++)
		require(fact.name && memchr(fact.value, '\0', sizeof fact.value));
}

static void describe(struct trace *t, struct orr_error *err)
{
	struct profile *p = profile_new();
	require(!trace_describe(t, p, err) || err->text[0]);
	profile_free(p);
}

static void throughput(const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	struct throughput *t = throughput_parse("input", (const char *)data, n, &err);
	require(t || err.text[0]);
	if (t)
		throughput_lookup(t, "v100", "A3C", 1);
	throughput_free(t);
}

void fuzz_one(const char *parser, const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	if (!strcmp(parser, "throughput")) {
		throughput(data, n);
		return;
	}
	struct trace *t = trace_open_memory("input", data, n, parser, NULL, &err);
	require(t || err.text[0]);
	if (t && !strcmp(trace_format(t), "openb-nodes"))
		describe(t, &err);
	else if (t)
		read_rows(t, &err);
	trace_close(t);
}
