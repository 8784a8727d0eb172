/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands on traces of requests that differ from those on jobs. */
#include "cli/cmd_trace.h"

#include "base/rng.h"
#include "traces/generator.h"
#include "traces/requests.h"
#include "traces/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool trace_wants_requests(const char *source, const char *format)
{
	return generator_find(TRACE_REQUESTS, source) && (!generator_find(TRACE_JOBS, source) || trace_kind_knows(TRACE_REQUESTS, format));
}

static int write_rows(const struct reqset *s, const struct trace_cut *cut, struct writer *w, int64_t *kept, struct orr_error *err)
{
	struct request_rec r;
	struct rng rng;
	int64_t zero_ns = 0;
	int rc = ORR_OK;
	rng_init(&rng, cut->seed, "sample", 0);
	struct reqcursor *c = reqset_open(s, 0);
	while (!rc && *kept < cut->count && reqcursor_next(c, &r) && r.arrival_ns < cut->until_ns) {
		/* Draws once per row, so that other conditions do not change the sample. */
		bool is_drawn = cut->sample >= 1 || rng_uniform(&rng) < cut->sample;
		if (!is_drawn || r.arrival_ns < cut->from_ns)
			continue;
		if (!(*kept)++ && cut->is_rebased)
			zero_ns = r.arrival_ns;
		r.arrival_ns -= zero_ns;
		rc = writer_request(w, s, &r, err);
	}
	reqcursor_close(c);
	return rc;
}

int trace_write_requests(const struct reqset *s, const struct trace_cut *cut, struct orr_error *err)
{
	int64_t kept = 0;
	const char *to = cut->to ? cut->to : "requests";
	if (strcmp(to, "requests"))
		return orr_fail(err, ORR_EINPUT, "--to: expected \"requests\", the only format for requests, found \"%.60s\"", to);
	bool has_end = reqset_count(s) != UINT64_MAX || cut->count < INT64_MAX || cut->until_ns < INT64_MAX;
	if (!has_end)
		return orr_fail(err, ORR_EINPUT, "%s: this generator has no end: expected its parameter \"n\"", reqset_source(s));
	struct writer *w = writer_open(cut->out, to, err);
	if (!w)
		return err->code;
	int rc = write_rows(s, cut, w, &kept, err);
	if (rc) {
		writer_discard(w);
		return rc;
	}
	rc = writer_close(w, err);
	if (!rc && strcmp(cut->out, "-"))
		fprintf(stderr, "%s: %" PRId64 " rows\n", cut->out, kept);
	const char *first;
	uint64_t repaired = reqset_repaired(s, &first);
	if (!rc)
		trace_tell_left_out(reqset_source(s), reqset_left_out(s), repaired, first);
	return rc;
}
