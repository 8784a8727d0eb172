/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/decisions.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/outfile.h"
#include "base/sbuf.h"
#include "jobs/group.h"
#include "jobs/world.h"

/* What the policy decided about a job at this instant. */
struct decision {
	uint32_t slot;
	uint64_t number;
	int64_t cost_ns;
	bool is_killed;
	struct sbuf nodes; /* where it starts */
};

struct decisions {
	struct outfile out;
	struct decision *row;
	size_t n, cap;
};

struct decisions *decisions_new(const char *path, struct orr_error *err)
{
	struct decisions *d = mem_zalloc(1, sizeof *d);
	if (!outfile_open_path(&d->out, path, err)) {
		fprintf(d->out.file, "time_s,job,nodes,cost_s\n");
		return d;
	}
	mem_free(d);
	return NULL;
}

int decisions_end(struct decisions *d, bool has_failed, struct orr_error *err)
{
	int rc = outfile_close(&d->out, has_failed, err);
	for (size_t i = 0; i < d->cap; i++)
		sbuf_free(&d->row[i].nodes);
	mem_free(d->row);
	mem_free(d);
	return rc;
}

/* Returns the row of a job at this instant; NULL: decisions are not recorded. */
static struct decision *row_of(struct orr_jobs *w, struct job *job)
{
	struct decisions *d = w->decisions;
	if (!d)
		return NULL;
	if (job->decision < d->n && d->row[job->decision].number == job->number)
		return &d->row[job->decision];
	if (d->n == d->cap) {
		size_t cap = d->cap ? 2 * d->cap : 16;
		d->row = mem_realloc(d->row, cap, sizeof *d->row);
		for (size_t i = d->cap; i < cap; i++)
			d->row[i].nodes = (struct sbuf){ 0 };
		d->cap = cap;
	}
	struct decision *row = &d->row[d->n];
	*row = (struct decision){ .slot = slot_of(w, job), .number = job->number, .nodes = row->nodes };
	row->nodes.len = 0;
	job->decision = (uint32_t)d->n++;
	return row;
}

void decisions_start(struct orr_jobs *w, struct job *job)
{
	struct decision *row = row_of(w, job);
	if (!row)
		return;
	row->nodes.len = 0;
	if (w->shapes.shape[job->shape].request.gpu_milli < 1000 && job->gpus)
		world_fail(
			w, ORR_EINPUT, job, "--decisions: expected jobs that request whole GPUs: the file names nodes, not parts of GPUs");
	const struct pool_piece *x = pool_pieces(&job->alloc);
	for (uint32_t i = 0; i < job->alloc.n; i++)
		for (uint32_t k = 0; k < x[i].gpus || !k; k++)
			sbuf_printf(&row->nodes, "%s%u", row->nodes.len ? " " : "", x[i].node);
}

void decisions_stop(struct orr_jobs *w, struct job *job, int64_t cost_ns)
{
	struct decision *row = row_of(w, job);
	if (!row)
		return;
	row->nodes.len = 0;
	row->cost_ns = num_add_sat(row->cost_ns, cost_ns);
}

void decisions_kill(struct orr_jobs *w, struct job *job)
{
	struct decision *row = row_of(w, job);
	if (row)
		row->is_killed = true;
}

void decisions_work(struct orr_jobs *w, struct job *job, int64_t work_ns)
{
	struct decision *row = row_of(w, job);
	if (row)
		row->cost_ns = num_add_sat(row->cost_ns, work_ns);
}

/* Returns whether the job starts in one of the first n rows. */
static bool starts_in(const struct decisions *d, const struct job *job, size_t n)
{
	return job->decision < n && d->row[job->decision].number == job->number && d->row[job->decision].nodes.len;
}

/* Of jobs that share GPUs, the first to start names the nodes; the others start beside it, or beside one that runs already. */
static const struct job *starts_beside(struct orr_jobs *w, const struct decisions *d, size_t row)
{
	struct job *job = &w->slots.job[d->row[row].slot], *member[ORR_MOST_SHARING], *with = NULL;
	uint32_t n = job->state == ORR_JOB_RUNNING && d->row[row].nodes.len ? group_of(w, job, member) : 0;
	for (uint32_t i = 1; i < n; i++) {
		if (!starts_in(d, member[i], d->n))
			return member[i];
		if (starts_in(d, member[i], row) && (!with || member[i]->decision < with->decision))
			with = member[i];
	}
	return with;
}

void decisions_instant(struct orr_jobs *w)
{
	struct decisions *d = w->decisions;
	char time[NUM_SECONDS_MAX], cost[NUM_SECONDS_MAX];
	for (size_t i = 0; d && i < d->n; i++) {
		const struct decision *row = &d->row[i];
		num_put_seconds(time, eng_now(w->engine));
		num_put_seconds(cost, row->cost_ns);
		const struct job *with = starts_beside(w, d, i);
		if (with) {
			d->row[i].nodes.len = 0;
			sbuf_printf(&d->row[i].nodes, "beside #%llu", (unsigned long long)with->number);
		}
		fprintf(d->out.file, "%s,#%llu,%s,%s\n", time, (unsigned long long)row->number,
			row->is_killed   ? "kill"
			: row->nodes.len ? row->nodes.text
					 : "",
			row->cost_ns ? cost : "");
	}
	if (d)
		d->n = 0;
}
