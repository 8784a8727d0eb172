/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands on availability traces that differ from those on jobs. */
#include "cli/cmd_trace.h"
#include "base/utf8.h"

#include "traces/generator.h"
#include "traces/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool trace_wants_avail(const char *source, const char *format)
{
	bool is_other = format && *format && strcmp(format, "auto") && !trace_kind_knows(TRACE_AVAIL, format);
	return !is_other && (generator_find(TRACE_AVAIL, source) || !strncmp(source, "zones:", 6));
}

static int write_rows(const struct availset *s, int64_t end_ns, struct writer *w, int64_t *kept, struct orr_error *err)
{
	struct avail_rec r;
	int64_t last_ns = 0;
	int rc = ORR_OK;
	struct availcursor *c = availset_open(s, 0);
	while (!rc && availcursor_next(c, &r) && (r.t_ns < end_ns || (r.t_ns == end_ns && end_ns == availset_end_ns(s)))) {
		rc = writer_avail(w, s, &r, 0, err);
		last_ns = r.t_ns;
		++*kept;
	}
	availcursor_close(c);
	if (!rc && last_ns < end_ns)
		rc = writer_avail(w, s, NULL, end_ns, err);
	return rc;
}

static void tell_repairs(const struct availset *s)
{
	const struct avail_repairs *repairs = availset_repairs(s);
	for (int i = 0; i < AVAIL_REPAIRS; i++)
		if (repairs->rows[i])
			fprintf(stderr, "orrery: %s: %s: %" PRIu64 ", the first on line %" PRIu64 "\n", utf8_shown(availset_source(s)),
				avail_repair_name((enum avail_repair)i), repairs->rows[i], repairs->first_line[i]);
}

int trace_write_avail(struct availset *s, const struct trace_cut *cut, struct orr_error *err)
{
	const char *to = cut->to ? cut->to : "availability";
	int64_t kept = 0, end_ns = cut->until_ns;
	struct avail_shift from = { .stretch = 1, .scale = 1 };
	if (strcmp(to, "availability"))
		return orr_fail(err, ORR_EINPUT, "--to: expected \"availability\", the only format for instances, found \"%.60s\"", to);
	if (cut->count < INT64_MAX || cut->sample < 1)
		return orr_fail(err, ORR_EINPUT,
			"%s: the rows of one instance depend on one another: expected a selection by time only (--from and --until)",
			availset_source(s));
	if (cut->from_ns > 0) {
		from.start_ns = cut->from_ns;
		int rc = availset_shift(s, &from, err);
		if (rc)
			return rc;
		end_ns -= end_ns < INT64_MAX ? cut->from_ns : 0;
	}
	end_ns = end_ns < 0 ? 0 : end_ns;
	if (end_ns > availset_end_ns(s))
		end_ns = availset_end_ns(s);
	if (end_ns == ORR_NEVER)
		return orr_fail(err, ORR_EINPUT, "%s: this generator has no end: expected its parameter \"length\"", availset_source(s));
	struct writer *w = writer_open(cut->out, to, err);
	if (!w)
		return err->code;
	int rc = write_rows(s, end_ns, w, &kept, err);
	if (rc) {
		writer_discard(w);
		return rc;
	}
	rc = writer_close(w, err);
	if (!rc && strcmp(cut->out, "-"))
		fprintf(stderr, "%s: %" PRId64 " rows\n", cut->out, kept);
	if (!rc)
		tell_repairs(s);
	return rc;
}
