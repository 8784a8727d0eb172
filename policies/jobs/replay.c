/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Another scheduler's decisions, replayed from a file with the rows
 *
 *	time_s,job,nodes[,cost_s]
 *
 * in order of time, as --decisions writes them. From that time on, the job runs on these nodes: one number (from 0) per GPU, separated by
 * blanks, equal numbers together; an empty field: the job waits; "beside JOB": on the GPUs of that job; "kill": the job is killed. job: its
 * name, or #NUMBER in order of submission. cost_s: work that is added to the job. `nodes_one_per_gpu` is another name of the third column.
 * All rows of an instant are one decision: first all their jobs stop, then they start on nodes, then beside others. Rows of jobs that have
 * ended are skipped; a row that starts a job that was not submitted yet is an error. A job that no row starts never runs.
 */
#include <orrery/jobs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_FILE("decisions", "CSV file with columns time_s, job and nodes"), ORR_PARAM_END };

struct row {
	int64_t at_ns, cost_ns;
	const char *job, *nodes; /* in text */
	size_t line;
};

struct name {
	const char *text;
	orr_job job; /* 0: not live */
	bool was_submitted;
};

struct replay {
	char *text;
	bool has_costs; /* the file has the column cost_s */
	struct row *row;
	size_t n, cap, at;
	struct name *name; /* job names of the file, sorted */
	size_t n_names;
	uint32_t *node, *gpus; /* scratch */
};

static void destroy(void *self)
{
	struct replay *r = self;
	orr_free(r->text);
	orr_free(r->row);
	orr_free(r->name);
	orr_free(r->node);
	orr_free(r->gpus);
	orr_free(r);
}

static int by_text(const void *x, const void *y)
{
	const struct name *a = x, *b = y;
	return strcmp(a->text, b->text);
}

static struct name *find(struct replay *r, const char *text)
{
	struct name key = { .text = text };
	return r->n_names ? bsearch(&key, r->name, r->n_names, sizeof key, by_text) : NULL;
}

/* Splits off the text up to a separator; returns NULL at the end. */
static char *part(char **rest, char separator)
{
	char *start = *rest, *end = start ? strchr(start, separator) : NULL;
	*rest = end ? end + 1 : NULL;
	if (end)
		*end = 0;
	return start;
}

/* Reads a time in seconds. Numbers with at most nine decimals are exact; others are rounded like a double. */
static bool read_time(const char *text, int64_t *ns)
{
	char *end;
	int64_t whole = 0, part = 0, unit = ORR_SECOND;
	const char *at = text;
	for (; *at >= '0' && *at <= '9' && at - text < 9; at++)
		whole = 10 * whole + (*at - '0');
	if (at > text && *at == '.')
		for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
			part += (unit /= 10) * (*at - '0');
	if (at > text && !*at) {
		*ns = whole * ORR_SECOND + part;
		return whole < INT64_C(4000000000);
	}
	double s = strtod(text, &end);
	*ns = s >= 0 && s < 4e9 ? llrint(s * 1e9) : 0;
	return *text && !*end && s >= 0 && s < 4e9;
}

static bool is_beside(const char *nodes)
{
	return !strncmp(nodes, "beside ", 7);
}

static int read_row(struct replay *r, char *text, size_t line, struct orr_error *err)
{
	char *rest = text;
	const char *time = part(&rest, ','), *job = part(&rest, ','), *nodes = part(&rest, ','), *cost = r->has_costs ? rest : NULL;
	int64_t at_ns, cost_ns = 0;
	if (!read_time(time, &at_ns))
		return orr_fail(err, ORR_EINPUT, "time_s: expected a number of seconds from 0, found \"%.60s\"", time);
	if (!job || !*job || !nodes)
		return orr_fail(err, ORR_EINPUT, "expected three columns: time_s, job, nodes");
	if (!r->has_costs && rest) /* puts the comma back, so that the next check refuses these nodes */
		rest[-1] = ',';
	if (nodes[strspn(nodes, "0123456789 ")] && strcmp(nodes, "kill") && !is_beside(nodes))
		return orr_fail(err, ORR_EINPUT,
			"nodes: expected numbers of nodes separated by blanks, beside JOB, or kill, found \"%.60s\"", nodes);
	if (cost && *cost && !read_time(cost, &cost_ns))
		return orr_fail(err, ORR_EINPUT, "cost_s: expected a number of seconds from 0, found \"%.60s\"", cost);
	if (r->n && at_ns < r->row[r->n - 1].at_ns)
		return orr_fail(err, ORR_EINPUT, "time_s: expected a time of at least that of the previous row");
	ORR_GROW(r->row, r->n, r->cap);
	r->row[r->n++] = (struct row){ at_ns, cost_ns, job, nodes, line };
	return ORR_OK;
}

static int read_rows(struct replay *r, const char *file, struct orr_error *err)
{
	struct orr_error why = { 0 };
	char *rest = r->text;
	size_t line = 0;
	for (char *text; (text = part(&rest, '\n'));) {
		size_t len = strlen(text);
		if (len && text[len - 1] == '\r')
			text[len - 1] = 0;
		if (!line++) {
			r->has_costs = !strcmp(text, "time_s,job,nodes,cost_s");
			if (!r->has_costs && strcmp(text, "time_s,job,nodes") && strcmp(text, "time_s,job,nodes_one_per_gpu"))
				return orr_fail(err, ORR_EINPUT, "%.200s:1: expected the header time_s,job,nodes", file);
		} else if (*text && read_row(r, text, line, &why)) {
			return orr_fail(err, ORR_EINPUT, "%.200s:%zu: %.300s", file, line, why.text);
		}
	}
	return ORR_OK;
}

static void list_names(struct replay *r)
{
	size_t n = 0;
	r->name = orr_alloc(2 * r->n + 1, sizeof *r->name);
	for (size_t i = 0; i < r->n; i++) {
		r->name[n++].text = r->row[i].job;
		if (is_beside(r->row[i].nodes))
			r->name[n++].text = r->row[i].nodes + 7;
	}
	if (n)
		qsort(r->name, n, sizeof *r->name, by_text);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(r->name[i].text, r->name[r->n_names - 1].text))
			r->name[r->n_names++] = r->name[i];
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	size_t n = 0;
	const char *text = orr_arg_file(args, "decisions", &n);
	if (!text) {
		orr_fail(err, ORR_EINPUT, "replay: expected policy.replay.decisions=FILE, a CSV file with columns time_s, job and nodes");
		return NULL;
	}
	struct replay *r = orr_alloc(1, sizeof *r);
	r->text = orr_alloc(n + 1, 1);
	memcpy(r->text, text, n);
	r->node = orr_alloc(orr_nodes(w) + 1u, sizeof *r->node);
	r->gpus = orr_alloc(orr_nodes(w) + 1u, sizeof *r->gpus);
	if (read_rows(r, orr_arg_text(args, "decisions"), err)) {
		destroy(r);
		return NULL;
	}
	list_names(r);
	if (r->n)
		orr_timer(w, r->row[0].at_ns);
	return r;
}

/* Rows name a job by #NUMBER or by its name. */
static void know(struct replay *r, struct orr_jobs *w, orr_job j, orr_job value)
{
	struct orr_error number;
	orr_fail(&number, ORR_OK, "#%llu", (unsigned long long)orr_job_number(w, j));
	struct name *by_number = find(r, number.text), *by_name = find(r, orr_job_name(w, j));
	for (int i = 0; i < 2; i++) {
		struct name *to = i ? by_number : by_name && *by_name->text != '#' ? by_name : NULL;
		if (!to)
			continue;
		to->job = value;
		to->was_submitted = true;
	}
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	know(self, w, j, j);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)how;
	know(self, w, j, 0);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self;
	orr_give_up(w, j, "replay: the job lost its node: expected a run without failures and without lent nodes");
}

static void give_up(struct orr_jobs *w, const struct row *row, const char *what)
{
	struct orr_error text;
	orr_fail(&text, ORR_EINPUT, "decisions:%zu: job %.100s: %s", row->line, row->job, what);
	orr_give_up(w, 0, text.text);
}

/* Starts the job of a row on its nodes. */
static void start(struct replay *r, struct orr_jobs *w, const struct row *row, orr_job j)
{
	size_t n = 0;
	for (const char *at = row->nodes; *at;) {
		char *end;
		unsigned long node = strtoul(at, &end, 10);
		if (node >= orr_nodes(w)) {
			give_up(w, row, "expected numbers of nodes of the cluster");
			return;
		}
		if (!n || r->node[n - 1] != node) {
			if (n == orr_nodes(w)) {
				give_up(w, row, "expected the GPUs of a node together");
				return;
			}
			r->node[n] = (uint32_t)node;
			r->gpus[n++] = 0;
		}
		r->gpus[n - 1] += orr_job_gpus(w, j) > 0;
		at = end + strspn(end, " ");
	}
	orr_start_at(w, j, r->node, r->gpus, n);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct replay *r = self;
	size_t first = r->at;
	int64_t now = orr_now(w);
	while (r->at < r->n && r->row[r->at].at_ns <= now)
		r->at++;
	for (size_t i = first; i < r->at; i++) {
		const struct name *of = find(r, r->row[i].job);
		orr_job j = of->job;
		if (!of->was_submitted && *r->row[i].nodes)
			give_up(w, &r->row[i],
				"not submitted: expected a job of the trace, by its name or #NUMBER, from its submission on");
		if (!j)
			continue;
		if (!strcmp(r->row[i].nodes, "kill"))
			orr_kill(w, j);
		else if (orr_job_is_running(w, j))
			orr_stop_with_cost(w, j, r->row[i].cost_ns);
		else if (r->row[i].cost_ns)
			orr_add_work(w, j, r->row[i].cost_ns);
	}
	for (size_t i = first; i < r->at; i++) {
		orr_job j = find(r, r->row[i].job)->job;
		if (j && *r->row[i].nodes && *r->row[i].nodes != 'k' && !is_beside(r->row[i].nodes))
			start(r, w, &r->row[i], j);
	}
	for (size_t i = first; i < r->at; i++) {
		orr_job j = find(r, r->row[i].job)->job;
		if (j && is_beside(r->row[i].nodes))
			orr_start_beside(w, j, find(r, r->row[i].nodes + 7)->job);
	}
	if (r->at > first && r->at < r->n)
		orr_timer(w, r->row[r->at].at_ns);
	orr_why(w, ORR_WHY_HELD, 0, "next decision of the file");
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS_FLAGS(replay, "decisions from a file: which nodes each job has from which time on", ORR_JOBS_WHOLE, params, ops);
