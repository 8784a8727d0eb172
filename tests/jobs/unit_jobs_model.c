/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares policies with a naive implementation of their rules on thousands of small random workloads: integer times, many ties, jobs
 * of zero length, jobs without GPUs. Start, end and number of preemptions of each job must be equal, to the nanosecond.
 *
 * The naive implementation keeps one list of unfinished jobs. At every event it sorts the list stably and reallocates all GPUs. The
 * rules are those of Tiresias' simulator, as stated in its README in the oracles (fifo, fjf, smallest-gpu = its sjf, srtf = shortest,
 * srtf-gpu = shortest-gpu, las = dlas), and of HeliosArtifact for sjf.
 *
 * The last part checks that greedy policies are greedy under every placement: after a decision no waiting job fits.
 */
#include "base/mem.h"
#include "base/param.h"
#include "base/rng.h"
#include "jobs/jobs.h"
#include "results/result.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_fifo, orr_policy_fjf, orr_policy_sjf, orr_policy_smallest_gpu, orr_policy_srtf,
	orr_policy_srtf_gpu, orr_policy_las, orr_policy_las_gpu, orr_policy_gittins;

enum { MAX_JOBS = 40, QUEUES = 3 };

/* ---- a workload ---- */

struct asked {
	int submit, duration, gpus; /* seconds */
};

struct workload {
	struct asked job[MAX_JOBS];
	int n, nodes, per_node;
};

static struct rng rng;

static int between(int low, int high)
{
	return low + (int)rng_below(&rng, (uint64_t)(high - low + 1));
}

static void draw_workload(struct workload *w)
{
	static const int sizes[] = { 1, 1, 1, 2, 2, 3, 4, 8 };
	w->nodes = between(1, 3);
	w->per_node = between(1, 4);
	w->n = between(1, MAX_JOBS);
	int longest = between(1, 30), spread = between(0, 3 * w->n), t = 0;
	for (int i = 0; i < w->n; i++) {
		t += between(0, 2) ? 0 : between(0, spread / 8 + 1);
		int gpus = sizes[between(0, 7)], all = w->nodes * w->per_node;
		w->job[i] = (struct asked){ t, between(0, 9) ? between(0, longest) : 0, gpus < all ? gpus : all };
		if (!between(0, 15))
			w->job[i].gpus = 0;
	}
}

/* ---- the naive implementation ---- */

struct state {
	int left, attained, queue;
	int start, end, stops; /* -1: never */
	bool runs, is_there, is_done;
};

enum rule { FIFO, FJF, SJF, SMALLEST, SRTF, SRTF_GPU, LAS };

struct naive {
	const struct workload *w;
	enum rule rule;
	struct state s[MAX_JOBS];
	int order[MAX_JOBS], n; /* unfinished jobs that have arrived */
	int limit[QUEUES - 1];
};

static long key(const struct naive *m, int j)
{
	switch (m->rule) {
	case SJF:
		return m->w->job[j].duration;
	case SMALLEST:
		return m->w->job[j].gpus;
	case SRTF:
		return m->s[j].left;
	case SRTF_GPU:
		return (long)m->s[j].left * m->w->job[j].gpus;
	case LAS:
		return m->s[j].queue;
	default:
		return 0; /* in order of arrival */
	}
}

/* Sorts stably (bubble sort). */
static void sort(struct naive *m)
{
	for (int pass = 0; pass < m->n; pass++)
		for (int i = 1; i < m->n; i++)
			if (key(m, m->order[i - 1]) > key(m, m->order[i])) {
				int x = m->order[i];
				m->order[i] = m->order[i - 1];
				m->order[i - 1] = x;
			}
}

static void start(struct naive *m, int j, int now)
{
	m->s[j].runs = true;
	if (m->s[j].start < 0)
		m->s[j].start = now;
}

static void pass_without_preemption(struct naive *m, int now)
{
	int free = m->w->nodes * m->w->per_node;
	for (int i = 0; i < m->n; i++)
		free -= m->s[m->order[i]].runs ? m->w->job[m->order[i]].gpus : 0;
	for (int i = 0; i < m->n; i++) {
		int j = m->order[i];
		if (m->s[j].runs)
			continue;
		if (m->w->job[j].gpus <= free) {
			free -= m->w->job[j].gpus;
			start(m, j, now);
		} else if (m->rule != FJF) {
			break; /* strict */
		}
	}
}

static void pass_with_preemption(struct naive *m, int now)
{
	int free = m->w->nodes * m->w->per_node;
	for (int i = 0; i < m->n; i++) {
		int j = m->order[i];
		if (m->w->job[j].gpus <= free) {
			free -= m->w->job[j].gpus;
			start(m, j, now);
		} else if (m->s[j].runs) {
			m->s[j].runs = false;
			m->s[j].stops++;
		}
	}
}

static void to_tail(struct naive *m, int j)
{
	int i = 0;
	while (m->order[i] != j)
		i++;
	for (; i + 1 < m->n; i++)
		m->order[i] = m->order[i + 1];
	m->order[m->n - 1] = j;
}

/* Moves jobs down by at most one queue, in order of arrival. */
static void demote(struct naive *m)
{
	for (int j = 0; j < m->w->n; j++)
		if (m->s[j].is_there && !m->s[j].is_done && m->s[j].queue < QUEUES - 1 && m->s[j].attained >= m->limit[m->s[j].queue]) {
			m->s[j].queue++;
			to_tail(m, j);
		}
}

/* Moves the waiting jobs of each queue behind its running jobs. */
static void waiting_last(struct naive *m)
{
	int again[MAX_JOBS], n = 0;
	for (int q = 0; q < QUEUES; q++)
		for (int runs = 1; runs >= 0; runs--)
			for (int i = 0; i < m->n; i++)
				if (m->s[m->order[i]].queue == q && m->s[m->order[i]].runs == runs)
					again[n++] = m->order[i];
	memcpy(m->order, again, sizeof *again * (size_t)n);
}

static void decide(struct naive *m, int now)
{
	if (m->rule == LAS)
		demote(m);
	sort(m);
	if (m->rule <= SJF)
		pass_without_preemption(m, now);
	else
		pass_with_preemption(m, now);
	if (m->rule == LAS)
		waiting_last(m);
}

static bool end_jobs(struct naive *m, int now)
{
	int kept = 0, before = m->n;
	for (int i = 0; i < before; i++) {
		struct state *s = &m->s[m->order[i]];
		if (s->runs && !s->left) {
			s->is_done = true;
			s->runs = false;
			s->end = now;
		} else {
			m->order[kept++] = m->order[i];
		}
	}
	m->n = kept;
	return kept < before;
}

/* Returns the time of the next event; -1: none. */
static int next_instant(const struct naive *m, int now)
{
	int next = -1;
	for (int j = 0; j < m->w->n; j++) {
		const struct state *s = &m->s[j];
		int t = -1;
		if (!s->is_there)
			t = m->w->job[j].submit;
		else if (s->runs)
			t = now + s->left;
		if (t >= 0 && (next < 0 || t < next))
			next = t;
		if (m->rule == LAS && s->runs && s->queue < QUEUES - 1 && s->attained < m->limit[s->queue]) {
			t = now + m->limit[s->queue] - s->attained;
			next = t < next ? t : next;
		}
	}
	return next;
}

static void advance(struct naive *m, int dt)
{
	for (int i = 0; i < m->n; i++) {
		struct state *s = &m->s[m->order[i]];
		if (s->runs) {
			s->left -= dt;
			s->attained += dt;
		}
	}
}

static void restate(struct naive *m)
{
	int now = 0, next;
	for (int j = 0; j < m->w->n; j++)
		m->s[j] = (struct state){ .left = m->w->job[j].duration, .start = -1, .end = -1 };
	while ((next = next_instant(m, now)) >= 0) {
		advance(m, next - now);
		now = next;
		end_jobs(m, now);
		for (int j = 0; j < m->w->n; j++)
			if (!m->s[j].is_there && m->w->job[j].submit == now) {
				m->s[j].is_there = true;
				m->order[m->n++] = j;
			}
		do
			decide(m, now);
		while (end_jobs(m, now)); /* ends jobs of zero length */
	}
}

/* ---- the program ---- */

static char path[] = "/tmp/orrery-model.XXXXXX";

static struct orr_args *defaults(const struct orr_param *table)
{
	struct orr_error err;
	return args_new(table, "test", &err);
}

static struct run_result *replay(
	const char *cluster_spec, const char *placement, const struct orr_policy *policy, const char *set, struct orr_error *err)
{
	static struct jobs_blocks blocks;
	struct run_result *r = result_new();
	struct orr_args *options = defaults(jobs_options), *args = defaults(policy->params);
	struct cluster *c = cluster_load(cluster_spec, err);
	struct jobset *jobs = jobset_load(path, "orrery", NULL, 1, err);
	struct jobs_config config = { .jobs = jobs,
		.cluster = c,
		.placement = placement_find(placement),
		.options = options,
		.until_ns = ORR_NEVER,
		.drop_unfit = true,
		.check = true,
		.record_jobs = true,
		.max_rows = 1000,
		.policy_timeout_s = 60 };
	if (set)
		args_set_pair(args, set, err);
	int rc = c && jobs ? jobs_run(&config, policy, args, "tested", r, &blocks, err) : ORR_EINPUT;
	for (size_t i = 0; i < r->n_jobs; i++) /* names belong to the jobset */
		r->jobs[i].job_id = r->jobs[i].user = r->jobs[i].queue = r->jobs[i].model = NULL;
	jobset_free(jobs);
	cluster_free(c);
	args_free(options);
	args_free(args);
	if (!rc)
		return r;
	printf("# %s\n", err->text);
	result_free(r);
	return NULL;
}

static void write_workload(const struct workload *w)
{
	unlink(path); /* unlinks the file, because some file systems sync to disk when a file is truncated */
	FILE *f = fopen(path, "w");
	fputs("submit_s,duration_s,gpus\n", f);
	for (int i = 0; i < w->n; i++)
		fprintf(f, "%d,%d,%d\n", w->job[i].submit, w->job[i].duration, w->job[i].gpus);
	fclose(f);
}

static bool agree(const struct naive *m, const struct run_result *r)
{
	if (!r || r->n_jobs != (size_t)m->w->n)
		return false;
	for (int j = 0; j < m->w->n; j++) {
		const struct job_row *x = &r->jobs[j];
		const struct state *s = &m->s[j];
		if (x->start_ns == s->start * ORR_SECOND && x->end_ns == s->end * ORR_SECOND && x->preemptions == (uint32_t)s->stops)
			continue;
		printf("# job %d of %d on %dx%d: start %.9g, end %.9g, %u stops; restated %d, %d, %d\n", j, m->w->n, m->w->nodes,
			m->w->per_node, (double)x->start_ns / 1e9, (double)x->end_ns / 1e9, x->preemptions, s->start, s->end, s->stops);
		return false;
	}
	return true;
}

static bool one_workload(const struct workload *w, enum rule rule, const struct orr_policy *policy)
{
	struct naive m = { .w = w, .rule = rule, .limit = { between(1, 9), 0 } };
	struct orr_error err = { 0 };
	char cluster[32], set[64];
	m.limit[1] = m.limit[0] + between(1, 9);
	snprintf(cluster, sizeof cluster, "%dx%d", w->nodes, w->per_node);
	snprintf(set, sizeof set, "limits=%ds,%ds", m.limit[0], m.limit[1]);
	restate(&m);
	struct run_result *r = replay(cluster, "count", policy, rule == LAS ? set : NULL, &err);
	bool good = agree(&m, r);
	if (!good)
		for (int i = 0; i < w->n; i++)
			printf("# %d,%d,%d\n", w->job[i].submit, w->job[i].duration, w->job[i].gpus);
	result_free(r);
	return good;
}

static void test_restated(int workloads)
{
	static const struct {
		enum rule rule;
		const struct orr_policy *policy;
	} cases[] = { { FIFO, &orr_policy_fifo }, { FJF, &orr_policy_fjf }, { SJF, &orr_policy_sjf },
		{ SMALLEST, &orr_policy_smallest_gpu }, { SRTF, &orr_policy_srtf }, { SRTF_GPU, &orr_policy_srtf_gpu },
		{ LAS, &orr_policy_las } };
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		int good = 0;
		rng_init(&rng, 1, "model", c);
		for (; good < workloads; good++) {
			struct workload w;
			draw_workload(&w);
			write_workload(&w);
			if (!one_workload(&w, cases[c].rule, cases[c].policy))
				break;
		}
		ok(good == workloads, "%s agrees with its naive implementation on %d of %d workloads", cases[c].policy->name, good,
			workloads);
	}
}

/* ---- greedy: no job that fits waits ---- */

static const struct orr_jobs_ops *inner;
static int idle_gpus; /* number of decisions after which a waiting job fits */

static void watched_schedule(void *self, struct orr_jobs *w)
{
	struct orr_job_info info;
	inner->schedule(self, w);
	for (orr_job j = orr_job_first(w); j; j = orr_job_next(w, j))
		if (orr_job_get(w, j, &info) && info.state == ORR_JOB_WAITING && orr_fits(w, j)) {
			idle_gpus++;
			return;
		}
}

static void write_demanding(void)
{
	static const char *const types[] = { "", "a", "b", "a|b", "b|c" };
	unlink(path); /* unlinks the file, because some file systems sync to disk when a file is truncated */
	FILE *f = fopen(path, "w");
	int t = 0;
	fputs("submit_s,duration_s,gpus,gpu_milli,cpus,mem_mib,gpu_types\n", f);
	for (int i = between(1, MAX_JOBS); i > 0; i--) {
		int gpus = between(0, 3) ? between(1, 2) : between(0, 4);
		int milli = gpus == 1 && !between(0, 2) ? 100 * between(1, 10) : 1000;
		t += between(0, 1) ? 0 : between(0, 6);
		fprintf(f, "%d,%d,%d,%d,%d,%d,%s\n", t, between(0, 20), gpus, gpus ? milli : 0, between(0, 2) * (gpus ? gpus : 1),
			1024 * between(0, 2), gpus ? types[between(0, 4)] : "");
	}
	fclose(f);
}

static void test_greedy(int workloads)
{
	static const struct orr_policy *const greedy[] = { &orr_policy_fjf, &orr_policy_smallest_gpu, &orr_policy_srtf,
		&orr_policy_srtf_gpu, &orr_policy_las, &orr_policy_las_gpu, &orr_policy_gittins };
	for (size_t c = 0; c < sizeof greedy / sizeof *greedy; c++)
		for (size_t k = 0; placements[k]; k++) {
			struct orr_policy watched = *greedy[c];
			struct orr_jobs_ops ops;
			int failed = 0;
			inner = greedy[c]->ops;
			ops = *inner;
			ops.schedule = watched_schedule;
			watched.ops = &ops;
			idle_gpus = 0;
			rng_init(&rng, 2, "greedy", c);
			for (int i = 0; i < workloads && !failed; i++) {
				struct orr_error err = { 0 };
				write_demanding();
				struct run_result *r =
					replay("2x4:a:cpus=8:mem=16,1x2:b:cpus=4,2x1:c", placements[k]->name, &watched, NULL, &err);
				failed += !r;
				result_free(r);
			}
			ok(!failed && !idle_gpus, "%s leaves no job waiting that fits, placement %s (%d times)", greedy[c]->name,
				placements[k]->name, idle_gpus);
		}
}

int main(void)
{
	bool is_slow = getenv("ORR_SANITIZED") != NULL;
	int fd = mkstemp(path);
	if (fd < 0)
		return 2;
	close(fd);
	test_restated(is_slow ? 500 : 5000);
	test_greedy(is_slow ? 20 : 100);
	unlink(path);
	return done();
}
