/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * EASY and conservative backfilling: schedules computed by hand, and a naive implementation of both on random workloads. Every
 * job must start and end at the same nanosecond. The naive implementation advances a clock tick by tick, uses only arrays, and
 * recounts usage for each query. It also keeps the first reservation of each job, to check two guarantees of the literature
 * (Mu'alem and Feitelson 2001): with exact estimates, the head of EASY's queue starts no later than its first reservation;
 * under conservative backfilling no job starts later than its reservation on arrival.
 */
#include "base/rng.h"
#include "tests/jobs/replay.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_easy_backfill, orr_policy_conservative_backfill;

static struct orr_error err;

static void by_hand(const char *what, const char *csv, const char *cluster, const struct orr_policy *policy, const char *settings,
	const double *start, const double *end, size_t n)
{
	struct run_result *r = replay(csv, cluster, "count", policy, settings, &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(replay_matches(r, start, end, n), "%s", what);
	result_free(r);
}
#define BY_HAND(what, csv, cluster, policy, settings, start, end) \
	by_hand(what, csv, cluster, &orr_policy_##policy##_backfill, settings, start, end, sizeof(start) / sizeof *(start))

/* ---- EASY by hand ---- */

/* 8 GPUs; numbers in brackets are GPUs, times are in s. A (5) runs until 100. B (6) waits: its shadow time is 100, and 8 - 6 = 2 GPUs
 * are extra. At 20, C (2, long) takes the extra GPUs. D (1, 70 s) starts at 30, because it ends exactly at 100. E (1) waits: from 100
 * on, B uses 6 and C uses 2 GPUs. B ends at 200. */
static void easy_uses_extra_and_holes(void)
{
	static const double start[] = { 0, 100, 20, 30, 200 }, end[] = { 100, 200, 520, 100, 271 };
	BY_HAND("EASY: extra GPUs for any time, the other free GPUs until the shadow time",
		"submit_s,duration_s,gpus\n0,100,5\n10,100,6\n20,500,2\n30,70,1\n30,71,1\n", "1x8", easy, "estimate=exact", start, end);
}

/* 4 GPUs; numbers in brackets are GPUs, times are in s. A (3) runs until 100. B (4) waits until 100, and no GPU is extra. C (1, 1000
 * s) fits but would end after the shadow time. D, the next job of the same shape, ends in time, at 53. B runs from 100 to 110, then C
 * starts. */
static void long_one_does_not_hide_short_one(void)
{
	static const double start[] = { 0, 100, 110, 3 }, end[] = { 100, 110, 1110, 53 };
	BY_HAND("EASY: a job that is too long does not hide a shorter one of its shape",
		"submit_s,duration_s,gpus\n0,100,3\n1,10,4\n2,1000,1\n3,50,1\n", "1x4", easy, "estimate=exact", start, end);
}

/* A double cannot represent 10^16 + 1 ns; a job of this length must not exceed its estimate. */
static void exact_is_exact(void)
{
	static const double start[] = { 0 }, end[] = { 10000000.000000001 };
	static const char csv[] = "submit_s,duration_s,gpus\n0,10000000.000000001,1\n";
	for (int i = 0; i < 2; i++) {
		struct run_result *r = replay(csv, "1x1", "count", i ? &orr_policy_conservative_backfill : &orr_policy_easy_backfill,
			"estimate=exact overrun=kill", &err);
		ok(replay_matches(r, start, end, 1) && r->jobs[0].status == JOB_COMPLETED, "an exact estimate of a very long job is exact");
		result_free(r);
	}
}

/* The cluster has two types. A holds both GPUs of type a until 100 s, and B may run only on type a. C would end after the shadow
 * time, but it starts on type b, where it delays no job. */
static void other_type_is_free(void)
{
	static const double start[] = { 0, 100, 2 }, end[] = { 100, 150, 1002 };
	BY_HAND("EASY: a job on another GPU type than the head's may end after the shadow time",
		"submit_s,duration_s,gpus,gpu_types\n0,100,2,a\n1,50,2,a\n2,1000,1,\n", "1x2:a,1x2:b", easy, "estimate=exact", start, end);
}

/* A has a limit of 60 s but runs for 100 s; B needs all 4 GPUs. */
static void overruns(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,limit_s\n0,100,4,60\n0,10,4,10\n";
	static const double kill_start[] = { 0, 60 }, kill_end[] = { 60, 70 };
	static const double more_start[] = { 0, 100 }, more_end[] = { 100, 110 };
	BY_HAND("EASY, overrun=kill: killed at the end of its estimate", csv, "1x4", easy, "overrun=kill", kill_start, kill_end);
	BY_HAND("EASY, overrun=extend: it runs to its end", csv, "1x4", easy, "", more_start, more_end);
	BY_HAND("conservative, overrun=kill", csv, "1x4", conservative, "overrun=kill", kill_start, kill_end);
	BY_HAND("conservative, overrun=extend", csv, "1x4", conservative, "", more_start, more_end);
}

/* 4 GPUs; numbers in brackets are GPUs, times are in s. A (3) has a limit of 50 and runs for 300. B (4) waits; its shadow time is 50.
 * C (1, 55 s) waits, because it would end at 65. At 50 the estimate of A grows by a minute, the shadow time becomes 110, and C runs
 * from 50 to 105. */
static void extension_moves_the_shadow(void)
{
	static const double start[] = { 0, 300, 50 }, end[] = { 300, 310, 105 };
	BY_HAND("EASY, overrun=extend: the first extension is a minute",
		"submit_s,duration_s,gpus,limit_s\n0,300,3,50\n1,10,4,10\n10,55,1,55\n", "1x4", easy, "", start, end);
}

/* ---- conservative by hand ---- */

/* 10 GPUs; numbers in brackets are GPUs, times are in s. A (6) runs until 100. The reservation of B (8, 50 s) is at 100; that of C
 * (9, 100 s) is at 150, when B ends. D (2, 300 s) fits together with A and B but would leave only 8 GPUs for C at 150. So the
 * reservation of D is at 250. EASY reserves only for B (2 extra GPUs): D starts at 3, and C waits until D ends at 303. */
static void conservative_keeps_every_promise(void)
{
	static const char csv[] = "submit_s,duration_s,gpus\n0,100,6\n1,50,8\n2,100,9\n3,300,2\n";
	static const double easy_start[] = { 0, 100, 303, 3 }, easy_end[] = { 100, 150, 403, 303 };
	static const double start[] = { 0, 100, 150, 250 }, end[] = { 100, 150, 250, 550 };
	BY_HAND("EASY delays the second job in the queue", csv, "1x10", easy, "estimate=exact", easy_start, easy_end);
	BY_HAND("conservative does not delay the second job in the queue", csv, "1x10", conservative, "estimate=exact", start, end);
}

/* 4 GPUs; numbers in brackets are GPUs, times are in s. A has a limit of 100 and runs for 40. The reservation of B (4) is at 100;
 * those of C (2) and D (2) are at 110. At 40 the reservation of B moves to 40, and those of C and D move to 50. */
static void early_end_compresses(void)
{
	static const double start[] = { 0, 40, 50, 50 }, end[] = { 40, 50, 80, 70 };
	BY_HAND("conservative: an early end moves all reservations forward",
		"submit_s,duration_s,gpus,limit_s\n0,40,4,100\n1,10,4,10\n2,30,2,30\n3,20,2,20\n", "1x4", conservative, "", start, end);
}

/* A job of length zero starts and ends when A ends; the next job starts at the same nanosecond. */
static void zero_length(void)
{
	static const double start[] = { 0, 10, 10 }, end[] = { 10, 10, 15 };
	BY_HAND("conservative: a job of length zero delays no other", "submit_s,duration_s,gpus\n0,10,2\n1,0,2\n1,5,2\n", "1x2",
		conservative, "estimate=exact", start, end);
}

/* Nodes of type a have enough GPUs for B but too few CPUs, so B can only run on type b. Its reservation is on b, where A ends at 50 s. */
static void reserves_where_it_can_run(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,cpus,gpu_types\n0,50,8,8,b\n1,10,2,32,\n2,100,8,8,b\n";
	static const double start[] = { 0, 50, 60 }, end[] = { 50, 60, 160 };
	struct run_result *easy = replay(csv, "4x2:a:cpus=4,1x8:b:cpus=64", "consolidate", &orr_policy_easy_backfill, "", &err);
	ok(replay_matches(easy, start, end, 3), "EASY: the reservation is on a type whose nodes can take the job");
	result_free(easy);
	struct run_result *r = replay(csv, "4x2:a:cpus=4,1x8:b:cpus=64", "consolidate", &orr_policy_conservative_backfill, "", &err);
	ok(replay_matches(r, start, end, 3), "conservative: the reservation is on a type whose nodes can take the job");
	result_free(r);
}

/* ---- the naive implementation ---- */

enum { TICK_S = 20, MINUTE = 60 / TICK_S, MAX_JOBS = 30, HORIZON = 20000, NOW = -1 };

struct asked {
	int submit, duration, limit, gpus, cpus; /* times in ticks */
};

struct seen {
	bool is_there, runs, is_done;
	int start, end, expected_end, overruns; /* -1: never */
	int promised, first_promise;            /* reserved starts; -1: none yet */
};

struct naive {
	struct asked job[MAX_JOBS];
	struct seen s[MAX_JOBS];
	int n, gpus, cpus;
	bool is_easy, is_kill;
};

static struct rng rng;

static int between(int low, int high)
{
	return low + (int)rng_below(&rng, (uint64_t)(high - low + 1));
}

static int estimate(const struct naive *m, int j)
{
	return m->job[j].limit;
}

/* Computes the expected use at tick t by running jobs and, if conservative, by reservations. t = NOW: the present use, including jobs
 * whose estimates end now. */
static void in_use(const struct naive *m, int t, int *gpus, int *cpus)
{
	*gpus = *cpus = 0;
	for (int j = 0; j < m->n; j++) {
		const struct seen *s = &m->s[j];
		bool on = s->runs ? s->expected_end > t || t == NOW
				  : s->is_there && !s->is_done && s->promised >= 0 && s->promised <= t && t < s->promised + estimate(m, j);
		*gpus += on ? m->job[j].gpus : 0;
		*cpus += on ? m->job[j].cpus : 0;
	}
}

static bool has_room(const struct naive *m, int t, int j)
{
	int gpus, cpus;
	in_use(m, t, &gpus, &cpus);
	return gpus + m->job[j].gpus <= m->gpus && cpus + m->job[j].cpus <= m->cpus;
}

static void begin(struct naive *m, int j, int now)
{
	m->s[j].runs = true;
	m->s[j].start = now;
	m->s[j].expected_end = now + estimate(m, j);
}

static bool waits(const struct naive *m, int j)
{
	return m->s[j].is_there && !m->s[j].runs && !m->s[j].is_done;
}

static void easy_pass(struct naive *m, int now)
{
	int head = 0, shadow = now, gpus, cpus;
	for (; head < m->n; head++) {
		if (!waits(m, head))
			continue;
		if (!has_room(m, NOW, head))
			break;
		begin(m, head, now);
	}
	if (head == m->n)
		return;
	while (!has_room(m, shadow, head))
		shadow++;
	if (m->s[head].first_promise < 0)
		m->s[head].first_promise = shadow;
	in_use(m, shadow, &gpus, &cpus);
	int extra_gpus = m->gpus - gpus - m->job[head].gpus, extra_cpus = m->cpus - cpus - m->job[head].cpus;
	for (int j = head + 1; j < m->n; j++) {
		bool ends_in_time = now + estimate(m, j) <= shadow;
		bool in_extra = m->job[j].gpus <= extra_gpus && m->job[j].cpus <= extra_cpus;
		if (!waits(m, j) || !has_room(m, NOW, j) || !(ends_in_time || in_extra))
			continue;
		begin(m, j, now);
		extra_gpus -= ends_in_time ? 0 : m->job[j].gpus;
		extra_cpus -= ends_in_time ? 0 : m->job[j].cpus;
	}
}

static int earliest(const struct naive *m, int j, int now)
{
	int start = now, span = estimate(m, j);
	for (int t = now; t < start + span && t < HORIZON; t++)
		if (!has_room(m, t, j))
			start = t + 1;
	return start;
}

static void conservative_pass(struct naive *m, int now, bool is_early, bool is_broken)
{
	for (int j = 0; j < m->n; j++)
		if (is_broken && waits(m, j))
			m->s[j].promised = -1;
	for (int j = 0; j < m->n; j++) {
		if (!waits(m, j) || (m->s[j].promised >= 0 && !is_early && !is_broken))
			continue;
		m->s[j].promised = -1;
		m->s[j].promised = earliest(m, j, now);
		if (m->s[j].first_promise < 0)
			m->s[j].first_promise = m->s[j].promised;
	}
	for (int j = 0; j < m->n; j++)
		if (waits(m, j) && m->s[j].promised <= now && has_room(m, NOW, j))
			begin(m, j, now);
}

/* Ends jobs; returns true if any ended. *is_early: one of them ended before its estimate. */
static bool end_jobs(struct naive *m, int now, bool *is_early)
{
	bool any = false;
	for (int j = 0; j < m->n; j++) {
		struct seen *s = &m->s[j];
		if (!s->runs || s->start + m->job[j].duration != now)
			continue;
		any = s->is_done = true;
		s->runs = false;
		s->end = now;
		*is_early |= s->expected_end > now;
	}
	return any;
}

/* Kills or extends the jobs whose estimates have ended; returns true if there are any. */
static bool overrun(struct naive *m, int now)
{
	bool any = false;
	for (int j = 0; j < m->n; j++) {
		struct seen *s = &m->s[j];
		if (!s->runs || s->expected_end > now)
			continue;
		any = true;
		if (m->is_kill) {
			s->is_done = true;
			s->runs = false;
			s->end = now;
			continue;
		}
		for (; s->expected_end <= now; s->overruns++)
			s->expected_end += s->overruns ? 15 * MINUTE << (s->overruns - 1) : MINUTE;
	}
	return any;
}

static void run_naive(struct naive *m)
{
	int left = m->n;
	for (int j = 0; j < m->n; j++)
		m->s[j] = (struct seen){ .start = -1, .end = -1, .promised = -1, .first_promise = -1 };
	for (int now = 0; left && now < HORIZON; now++) {
		bool is_early = false;
		end_jobs(m, now, &is_early);
		for (int j = 0; j < m->n; j++)
			if (m->job[j].submit == now)
				m->s[j].is_there = true;
		for (bool again = true; again;) {
			bool is_over = overrun(m, now);
			if (m->is_easy)
				easy_pass(m, now);
			else
				conservative_pass(m, now, is_early, is_over && !m->is_kill);
			is_early = false;
			again = end_jobs(m, now, &is_early); /* ends jobs of length zero */
			for (int j = 0; j < m->n; j++)
				again |= m->s[j].runs && m->s[j].expected_end <= now;
		}
		left = 0;
		for (int j = 0; j < m->n; j++)
			left += !m->s[j].is_done;
	}
}

/* ---- comparing ---- */

/* Conservative: every estimate is above zero, because the policy reserves 1 ns for a job of length zero. */
static void draw(struct naive *m, bool is_exact)
{
	static const int sizes[] = { 1, 1, 1, 2, 2, 3, 4, 8 };
	m->gpus = between(2, 8);
	m->cpus = 2 * m->gpus;
	m->n = between(1, MAX_JOBS);
	int longest = between(1, 90), spread = between(0, 40), t = 0;
	for (int i = 0; i < m->n; i++) {
		t += between(0, 2) ? 0 : between(0, spread);
		struct asked *a = &m->job[i];
		int gpus = sizes[between(0, 7)];
		a->submit = t;
		a->duration = between(0, 9) ? between(1, longest) : 0;
		a->gpus = gpus < m->gpus ? gpus : m->gpus;
		a->cpus = between(0, 3) ? a->gpus : between(0, m->cpus);
		a->duration = a->duration || m->is_easy ? a->duration : !is_exact ? 0 : 1;
		a->limit = is_exact        ? a->duration
			   : between(0, 3) ? a->duration + between(!m->is_easy, longest)
					   : between(!m->is_easy, longest);
	}
}

static char *csv_of(const struct naive *m)
{
	size_t size = 64 + 100 * (size_t)m->n, at = 0;
	char *text = malloc(size);
	at += (size_t)snprintf(text, size, "submit_s,duration_s,gpus,cpus,limit_s\n");
	for (int j = 0; j < m->n; j++)
		at += (size_t)snprintf(text + at, size - at, "%d,%d,%d,%d,%d\n", m->job[j].submit * TICK_S, m->job[j].duration * TICK_S,
			m->job[j].gpus, m->job[j].cpus, m->job[j].limit * TICK_S);
	return text;
}

static bool agrees(const struct naive *m, const char *csv)
{
	double start[MAX_JOBS], end[MAX_JOBS];
	char cluster[64];
	for (int j = 0; j < m->n; j++) {
		start[j] = TICK_S * (double)m->s[j].start;
		end[j] = TICK_S * (double)m->s[j].end;
	}
	snprintf(cluster, sizeof cluster, "1x%d:g:cpus=%d", m->gpus, m->cpus);
	struct run_result *r = replay(csv, cluster, "count", m->is_easy ? &orr_policy_easy_backfill : &orr_policy_conservative_backfill,
		m->is_kill ? "overrun=kill" : "overrun=extend", &err);
	bool is_good = replay_matches(r, start, end, (size_t)m->n);
	if (!is_good)
		printf("# %s on %s\n%s", r ? "" : err.text, cluster, csv);
	result_free(r);
	return is_good;
}

static bool keeps_promises(const struct naive *m)
{
	for (int j = 0; j < m->n; j++)
		if (m->s[j].first_promise >= 0 && m->s[j].start > m->s[j].first_promise)
			return false;
	return true;
}

static void random_workloads(bool is_easy, bool is_exact, bool is_kill, const char *promise)
{
	static struct naive m;
	int rounds = getenv("ORR_SANITIZED") ? 60 : 400, agreed = 0, kept = 0;
	for (int i = 0; i < rounds && agreed == i; i++) {
		m.is_easy = is_easy;
		m.is_kill = is_kill;
		draw(&m, is_exact);
		run_naive(&m);
		char *csv = csv_of(&m);
		agreed += agrees(&m, csv);
		kept += keeps_promises(&m);
		free(csv);
	}
	ok(agreed == rounds, "%s, %s estimates, overrun=%s: %d workloads as the naive implementation, job by job",
		is_easy ? "EASY" : "conservative", is_exact ? "exact" : "wrong", is_kill ? "kill" : "extend", rounds);
	if (promise)
		ok(kept == rounds, "%s", promise);
}

int main(void)
{
	rng_init(&rng, 1, "backfill", 0);
	easy_uses_extra_and_holes();
	long_one_does_not_hide_short_one();
	exact_is_exact();
	other_type_is_free();
	overruns();
	extension_moves_the_shadow();
	conservative_keeps_every_promise();
	early_end_compresses();
	zero_length();
	reserves_where_it_can_run();
	random_workloads(true, true, false, "EASY, exact estimates: the head starts no later than its first reservation");
	random_workloads(true, false, false, NULL);
	random_workloads(true, false, true, NULL);
	random_workloads(false, true, false, "conservative, exact estimates: no job starts later than its reservation on arrival");
	random_workloads(false, false, false, NULL);
	random_workloads(false, false, true, "conservative, early ends and kills: no job starts later than its reservation on arrival");
	return done();
}
