/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups from a file, with one row per decision and running job:
 *
 *	event,time_s,job,group,..
 *
 * `group` names the members, separated by '+'. Rows are in order of time; further columns are ignored. Instants without rows run no job.
 */
#include "csv_rows.h"
#include "muri.h"

#include <math.h>
#include <string.h>

static const double TIME_TOLERANCE_S = 1e-3;

struct row {
	double time_s;
	const char *job, *group; /* in text */
};

struct muri_rows {
	char *text;
	struct row *row;
	size_t n, cap, at;
};

void muri_rows_free(struct muri_rows *r)
{
	if (!r)
		return;
	orr_free(r->text);
	orr_free(r->row);
	orr_free(r);
}

static int read_all(struct muri_rows *r, const char *file, struct orr_error *err)
{
	char *rest = r->text, *text = csv_line(&rest);
	if (!text || strncmp(text, "event,time_s,job,group", 22))
		return orr_fail(err, ORR_EINPUT, "%.200s:1: expected the header event,time_s,job,group", file);
	for (size_t line = 2; (text = csv_line(&rest)); line++) {
		csv_field(&text);
		double time_s;
		if (!csv_number(csv_field(&text), &time_s) || (r->n && time_s < r->row[r->n - 1].time_s))
			return orr_fail(err, ORR_EINPUT,
				"%.200s:%zu: time_s: expected a number of seconds, not below that of the row before", file, line);
		const char *job = csv_field(&text), *group = csv_field(&text);
		if (!job || !*job || !group || !*group)
			return orr_fail(err, ORR_EINPUT, "%.200s:%zu: expected a job and the members of its group, as in 8+36", file, line);
		ORR_GROW(r->row, r->n, r->cap);
		r->row[r->n++] = (struct row){ time_s, job, group };
	}
	return ORR_OK;
}

struct muri_rows *muri_rows_read(const struct orr_args *args, struct orr_error *err)
{
	size_t n = 0;
	const char *text = orr_arg_file(args, "groups", &n);
	struct muri_rows *r = orr_alloc(1, sizeof *r);
	r->text = orr_alloc(n + 1, 1);
	memcpy(r->text, text, n);
	if (!read_all(r, orr_arg_text(args, "groups"), err))
		return r;
	muri_rows_free(r);
	return NULL;
}

static bool give_up(struct orr_jobs *w, orr_job j, const char *what)
{
	struct orr_error text;
	orr_fail(&text, ORR_EINPUT, "groups: %.9f s: %s: expected the file of a run on the same trace and cluster",
		(double)orr_now(w) / 1e9, what);
	orr_give_up(w, j, text.text);
	return false;
}

static struct muri_job *find(struct orr_jobs *w, struct muri_job *job, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(orr_job_name(w, job[i].job), name))
			return &job[i];
	return NULL;
}

bool muri_replay(struct muri_rows *r, struct orr_jobs *w, struct muri_job *job, size_t n, struct muri_list *list)
{
	double now = (double)orr_now(w) / 1e9;
	while (r->at < r->n && r->row[r->at].time_s < now - TIME_TOLERANCE_S)
		r->at++;
	for (size_t i = r->at; i < r->n && r->row[i].time_s <= now + TIME_TOLERANCE_S; i++) {
		size_t at = 0;
		struct muri_job *x = find(w, job, n, r->row[i].job);
		if (!x)
			return give_up(w, 0, "a job of the file is not live");
		/* Jobs with the same text of members are one group. */
		size_t k = r->at;
		while (strcmp(r->row[k].group, r->row[i].group))
			k++;
		if (k == i) {
			ORR_GROW(list->v, list->n, list->cap);
			list->v[list->n++] = (struct muri_group){ .gpus = x->gpus, .type = ORR_ANY_TYPE };
			at = list->n - 1;
		} else {
			struct muri_job *first = find(w, job, n, r->row[k].job);
			while (list->v[at].member[0] != first)
				at++;
		}
		struct muri_group *g = &list->v[at];
		if (g->n == MURI_MOST || g->gpus != x->gpus)
			return give_up(w, x->job, "a group has too many members, or members with different GPUs");
		g->member[g->n++] = x;
	}
	return true;
}
