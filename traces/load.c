/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/load.h"

#include "traces/format.h"

#include "base/mem.h"
#include "base/param.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns ns times factor; -1 stays -1. Clears *fits if the time is too long. */
static int64_t scaled(int64_t ns, double factor, bool *fits)
{
	double t = ns < 0 ? (double)ns : rint((double)ns * factor);
	*fits &= t <= TRACE_MAX_SECONDS * 1e9;
	return ns < 0 ? ns : *fits ? (int64_t)t : 0;
}

static bool scale_times(struct job_rec *row, uint64_t n, double load, bool is_arrivals)
{
	bool fits = true;
	for (uint64_t i = 0; i < n; i++) {
		struct job_rec *r = &row[i];
		r->wait_ns = -1;
		if (is_arrivals) {
			r->submit_ns = scaled(r->submit_ns, 1 / load, &fits);
			r->think_ns = scaled(r->think_ns, 1 / load, &fits);
		} else {
			r->duration_ns = scaled(r->duration_ns, load, &fits);
			r->limit_ns = scaled(r->limit_ns, load, &fits);
			r->iterations *= load;
		}
	}
	return fits;
}

/* A copy gets the id "ID+1", "ID+2", .. */
static uint32_t copy_id(struct rowset *s, const struct job_rec *r, uint64_t copy)
{
	char id[200];
	if (!r->id || !copy)
		return r->id;
	int n = snprintf(id, sizeof id, "%.150s+%llu", strtab_text(s->strings, r->id), (unsigned long long)copy);
	return strtab_add(s->strings, id, (size_t)n);
}

static int copy_rows(struct rowset *s, double load, struct orr_error *err)
{
	const struct job_rec *old = s->row;
	double count = floor((double)s->count * load);
	if (count > 1e9)
		return orr_fail(err, ORR_EINPUT, "%s: load: expected at most 1000000000 jobs, found %.0f", s->source, count);
	struct job_rec *row = mem_alloc((size_t)(count + 2) * sizeof *row);
	uint64_t n = 0;
	for (uint64_t i = 0; i < s->count; i++) {
		uint64_t until = (uint64_t)floor((double)(i + 1) * load), first = n;
		for (; n < until; n++) {
			row[n] = old[i];
			row[n].number = n;
			row[n].wait_ns = -1;
			row[n].id = copy_id(s, &old[i], n - first);
		}
	}
	mem_free(s->row);
	s->row = row;
	s->count = s->cap = n;
	return ORR_OK;
}

int load_scale(struct rowset *s, const struct orr_args *args, struct orr_error *err)
{
	double load = orr_arg_real(args, "load");
	const char *by = orr_arg_text(args, "load_by");
	if (!load_is_scaled(args))
		return ORR_OK;
	if (!strcmp(by, "copies"))
		return copy_rows(s, load, err);
	if (scale_times(s->row, s->count, load, !strcmp(by, "arrivals")))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "%s: load=%.15g: expected times of at most %g s", s->source, load, TRACE_MAX_SECONDS);
}
