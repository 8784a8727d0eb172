/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/depend.h"

#include "base/mem.h"
#include "base/num.h"
#include "jobs/life.h"
#include "jobs/world.h"

/* Returns row + 1 of the preceding job; 0: none. of_id: by number of the id's text, row + 1 of the latest row before this one. */
static uint32_t before(const struct job_rec *r, const uint32_t *of_id)
{
	return r->preceding ? of_id[r->preceding] : 0;
}

int depend_check(const struct jobset *s, struct orr_error *err)
{
	uint32_t *of_id = mem_zalloc(strtab_count(jobset_strings(s)) + 1, sizeof *of_id);
	uint64_t n = jobset_count(s);
	int rc = ORR_OK;
	for (uint64_t i = 0; i < n; i++)
		of_id[jobset_at(s, i)->id] = (uint32_t)i + 1;
	for (uint64_t i = 0; i < n && !rc; i++) {
		const struct job_rec *r = jobset_at(s, i);
		if (r->preceding && of_id[r->preceding] > i)
			rc = orr_fail(err, ORR_EINPUT, "%s:%llu: preceding job %s: expected the number of an earlier job, or -1",
				jobset_source(s), (unsigned long long)r->line, strtab_text(jobset_strings(s), r->preceding));
	}
	mem_free(of_id);
	return rc;
}

void depend_begin(struct orr_jobs *w)
{
	const struct jobset *s = w->config->jobs;
	if (!w->config->dependencies)
		return;
	uint64_t n = jobset_count(s);
	struct depend *d = w->depend = mem_zalloc(1, sizeof *d);
	uint32_t *of_id = mem_zalloc(strtab_count(w->strings) + 1, sizeof *of_id), *last = mem_zalloc(n + 1, sizeof *last);
	d->first = mem_zalloc(n + 1, sizeof *d->first);
	d->next = mem_zalloc(n + 1, sizeof *d->next);
	d->waits = mem_zalloc(n + 1, sizeof *d->waits);
	for (uint64_t i = 0; i < n; i++) {
		const struct job_rec *r = jobset_at(s, i);
		uint32_t b = before(r, of_id);
		of_id[r->id] = (uint32_t)i + 1;
		if (!b)
			continue;
		*(last[b - 1] ? &d->next[last[b - 1] - 1] : &d->first[b - 1]) = (uint32_t)i + 1;
		last[b - 1] = (uint32_t)i + 1;
		d->waits[i] = true;
		d->n_held++;
	}
	mem_free(of_id);
	mem_free(last);
}

void depend_free(struct orr_jobs *w)
{
	struct depend *d = w->depend;
	if (!d)
		return;
	mem_free(d->first);
	mem_free(d->next);
	mem_free(d->waits);
	mem_free(d);
}

bool depend_holds(const struct orr_jobs *w, const struct job_rec *row)
{
	return w->depend && w->depend->waits[row->number];
}

static void on_submit(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_jobs *w = ctx;
	struct job_rec r = *jobset_at(w->config->jobs, subject);
	uint64_t live = w->slots.live;
	w->depend->n_held--;
	w->totals.used |= r.submit_ns != eng_now(w->engine) ? JOBS_USED_DEPENDENCIES : 0;
	r.submit_ns = eng_now(w->engine);
	life_arrive(w, &r);
	w->is_over |= w->error.code != 0;
	if (w->slots.live > live)
		calls_submit(w, &w->slots.job[w->slots.last_live]);
	else
		depend_ended(w, subject);
}

void depend_ended(struct orr_jobs *w, uint64_t number)
{
	const struct depend *d = w->depend;
	for (uint32_t i = d->first[number]; i; i = d->next[i - 1]) {
		int64_t at = num_add_sat(eng_now(w->engine), jobset_at(w->config->jobs, i - 1)->think_ns);
		eng_at(w->engine, at < INT64_MAX / 2 ? at : INT64_MAX / 2, PRIO_ARRIVAL, on_submit, w, i - 1, 0);
	}
}
