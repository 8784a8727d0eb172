/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thousands of random actions on one replica, compared with a naive model. The naive model keeps time in whole ms, checks memory in
 * each ms, and scans arrays of runs and requests.
 *
 * The policy starts batches (also of running requests), aborts, suspends and resumes at random, as memory allows. Memory in use, least
 * delays, exits and ends of runs, and states of requests must equal those of the naive model.
 */
#include "tests/serve/serve_script.h"
#include "tests/tap.h"

#include "base/sbuf.h"

#include <stdlib.h>

enum { MODELS = 3, MOST = 1000, MOST_RUNS = 1000, CAPACITY = 100, HORIZON = 400 };

static const struct kind {
	int latency[2], before[2], peak[2], peak_from[2]; /* latency, bytes before the peak, bytes at the peak and start of the peak, for
							     runs with one sample and with two */
} kinds[MODELS] = { { { 40, 60 }, { 10, 15 }, { 45, 60 }, { 20, 35 } }, { { 9, 12 }, { 5, 5 }, { 30, 55 }, { 4, 3 } },
	{ { 90, 131 }, { 20, 20 }, { 20, 35 }, { 0, 100 } } };

struct naive_req {
	orr_req handle;
	int runs;
	bool is_live;
};
enum naive_state { GONE, RUNS, HELD };
struct naive_run {
	orr_run handle;
	enum naive_state state;
	int latency, before, peak, peak_from;
	int done, since; /* done: progress at the time `since` */
	int leaves, how; /* leaves: time at which the run leaves the replica; -1: none */
	int n, member[3];
};

static struct naive_req req[MOST];
static struct naive_run run[MOST_RUNS];
static int n_runs, interval;
static long actions, mistakes, suspended, restarted, delayed, refused;
static uint64_t dice;

static unsigned roll(unsigned sides)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(dice >> 33) % sides;
}

static void check(bool is_good, const char *what, int now)
{
	if (!is_good && mistakes++ < 10)
		printf("# at %d ms: %s\n", now, what);
}

/* ---- the naive model ---- */

static int progress(const struct naive_run *x, int now)
{
	return x->state == RUNS ? x->done + now - x->since : x->done;
}

static int bytes_at(const struct naive_run *x, int now, int later)
{
	int d = progress(x, now) + (x->state == RUNS ? later : 0);
	if (x->state == RUNS && x->leaves >= 0 && now + later >= x->leaves) {
		if (x->how == ORR_ABORT_RESTART)
			return 0;
		d = progress(x, x->leaves);
	}
	return d >= x->latency ? 0 : d >= x->peak_from ? x->peak : x->before;
}

static int in_use(int now, int later)
{
	int sum = 0;
	for (int i = 0; i < n_runs; i++)
		if (run[i].state != GONE)
			sum += bytes_at(&run[i], now, later);
	return sum;
}

static bool naive_fits(const struct naive_run *x, int now, int delay)
{
	struct naive_run y = *x;
	y.since = now;
	for (int t = delay; t < delay + y.latency; t++)
		if (in_use(now, t) + bytes_at(&y, now, t - delay) > CAPACITY)
			return false;
	return true;
}

static int naive_fits_after(const struct naive_run *x, int now)
{
	for (int delay = 0; delay < HORIZON; delay++)
		if (naive_fits(x, now, delay))
			return delay;
	return -1;
}

static struct naive_run *find(orr_run handle)
{
	for (int i = n_runs; i-- > 0;)
		if (run[i].handle == handle && run[i].state != GONE)
			return &run[i];
	return NULL;
}

static void naive_leave(struct naive_run *x, int now)
{
	if (x->how == ORR_ABORT_SAVE) {
		x->done = progress(x, now);
		x->state = HELD;
		suspended++;
	} else {
		x->state = GONE;
		restarted++;
		for (int i = 0; i < x->n; i++)
			req[x->member[i]].runs--;
	}
	x->leaves = -1;
}

/* ---- the policy ---- */

static int ms(double s)
{
	return (int)(s * 1000 + 0.5);
}

static void compare(struct orr_serve *w, int now)
{
	struct orr_replica_info replica;
	struct orr_run_info i;
	double scale = 10737418.24;
	orr_replica_get(w, 0, &replica);
	check(fabs(replica.memory_free_bytes - (CAPACITY - in_use(now, 0)) * scale) < 1e-3 * scale, "memory in use", now);
	uint32_t running = 0, listed = 0;
	for (orr_run r = orr_run_first(w, 0); r; r = orr_run_next(w, r))
		listed++;
	for (int k = 0; k < n_runs; k++) {
		const struct naive_run *x = &run[k];
		if (x->state == GONE)
			continue;
		running += x->state == RUNS;
		listed--;
		bool is_known = orr_run_get(w, x->handle, &i);
		check(is_known && i.is_suspended == (x->state == HELD), "state of a run", now);
		check(is_known && fabs(i.part_done - (double)progress(x, now) / x->latency) < 1e-9, "progress of a run", now);
		if (x->state == RUNS && is_known)
			check(fabs(i.ends_s * 1000 - (x->since + x->latency - x->done)) < 1e-6, "end of a run", now);
	}
	check(!listed && replica.runs == running, "number of runs", now);
}

static int pick(bool is_running)
{
	for (int tries = 0; tries < 20; tries++) {
		int k = (int)roll(MOST);
		if (req[k].is_live && (req[k].runs > 0) == is_running)
			return k;
	}
	for (int k = 0; k < MOST; k++)
		if (req[k].is_live && (req[k].runs > 0) == is_running)
			return k;
	return -1;
}

static void try_start(struct orr_serve *w, int now)
{
	int n = 1 + (int)roll(2), model = (int)roll(MODELS), first = pick(roll(10) == 0);
	const struct kind *k = &kinds[model];
	if (first < 0)
		return;
	int second = n == 2 ? pick(false) : -1;
	if (second == first || second < 0)
		n = 1;
	struct naive_run x = { .state = RUNS,
		.latency = k->latency[n - 1],
		.before = k->before[n - 1],
		.peak = k->peak[n - 1],
		.peak_from = k->peak_from[n - 1],
		.since = now,
		.leaves = -1,
		.n = n,
		.member = { first, second } };
	orr_req two[] = { req[first].handle, n == 2 ? req[second].handle : 0 };
	struct orr_batch b = { .model = (uint32_t)model, .req = two, .n = (size_t)n };
	bool fits = orr_run_fits(w, 0, &b, 0);
	check(fits == naive_fits(&x, now, 0), "whether a batch fits", now);
	double after = orr_run_fits_after(w, 0, &b);
	int want = naive_fits_after(&x, now);
	check(want < 0 ? after == INFINITY || after >= 0.001 * HORIZON : fabs(after * 1000 - want) < 1e-6, "when a batch fits", now);
	delayed += want > 0;
	int delay = (int)roll(50);
	check(orr_run_fits(w, 0, &b, delay / 1000.0) == naive_fits(&x, now, delay), "whether a batch fits later", now);
	if (!fits || n_runs == MOST_RUNS)
		return;
	x.handle = orr_run_start(w, 0, &b);
	for (int i = 0; i < n; i++)
		req[x.member[i]].runs++;
	run[n_runs++] = x;
}

static struct naive_run *any_run(enum naive_state state)
{
	struct naive_run *found = NULL;
	unsigned n = 0;
	for (int i = n_runs; i-- > 0;)
		if (run[i].state == state && run[i].leaves < 0 && roll(++n) == 0)
			found = &run[i];
	return found;
}

static void try_abort(struct orr_serve *w, int now)
{
	struct naive_run *x = any_run(RUNS);
	if (!x)
		return;
	x->how = roll(2) ? ORR_ABORT_SAVE : ORR_ABORT_RESTART;
	int d = progress(x, now), at = interval ? (d + interval - 1) / interval * interval : d;
	x->leaves = at < x->latency ? now + at - d : INT32_MAX;
	bool fits = true;
	for (int t = 0; t < HORIZON; t++)
		fits &= in_use(now, t) <= CAPACITY;
	if (x->how == ORR_ABORT_SAVE) {
		check(orr_run_can_save(w, x->handle) == fits, "whether a run can be held", now);
		refused += !fits;
	}
	if (x->how == ORR_ABORT_SAVE && !fits) {
		x->leaves = -1;
		return;
	}
	orr_run_abort(w, x->handle, (enum orr_abort_how)x->how);
	if (x->leaves == now)
		naive_leave(x, now);
}

static void try_resume(struct orr_serve *w, int now)
{
	struct naive_run *x = any_run(HELD);
	if (!x)
		return;
	struct naive_run goes_on = *x;
	bool fits = true;
	goes_on.state = RUNS;
	goes_on.since = now;
	x->state = GONE;
	for (int t = 0; t < goes_on.latency - goes_on.done; t++)
		fits &= in_use(now, t) + bytes_at(&goes_on, now, t) <= CAPACITY;
	x->state = HELD;
	/* The memory in use includes the other runs. */
	check(orr_run_can_resume(w, x->handle) == fits, "whether a run can go on", now);
	if (!fits) {
		orr_run_abort(w, x->handle, ORR_ABORT_RESTART);
		x->how = ORR_ABORT_RESTART;
		naive_leave(x, now);
		return;
	}
	orr_run_resume(w, x->handle);
	*x = goes_on;
}

/* Ends the runs that reach an exit point now, before the policy is called. */
static void leave_now(struct orr_serve *w, int now)
{
	for (int i = 0; i < n_runs; i++)
		if (run[i].state == RUNS && run[i].leaves == now) {
			struct orr_run_info gone;
			bool is_there = orr_run_get(w, run[i].handle, &gone);
			check(run[i].how == ORR_ABORT_SAVE ? is_there && gone.is_suspended : !is_there, "a run leaves at its exit point",
				now);
			naive_leave(&run[i], now);
		}
}

static void forget_gone(void)
{
	int kept = 0;
	for (int i = 0; i < n_runs; i++)
		if (run[i].state != GONE)
			run[kept++] = run[i];
	n_runs = kept;
}

static void random_schedule(struct orr_serve *w, uint32_t replica)
{
	int now = ms(orr_serve_now(w));
	leave_now(w, now);
	forget_gone();
	compare(w, now);
	for (unsigned n = 1 + roll(3); n; n--, actions++) {
		unsigned what = roll(10);
		if (what < 6)
			try_start(w, now);
		else if (what < 8)
			try_abort(w, now);
		else
			try_resume(w, now);
	}
	compare(w, now);
	if (script.seen)
		orr_serve_timer(w, replica, (now + 1 + (int)roll(7)) / 1000.0);
	script.seen = pick(false) >= 0 || any_run(HELD) || any_run(RUNS);
	if (script.seen)
		orr_serve_timer(w, replica, (now + 20) / 1000.0);
}

static void random_arrive(struct orr_serve *w, orr_req r)
{
	req[orr_req_number(w, r)] = (struct naive_req){ .handle = r, .is_live = true };
}

static void random_run_end(struct orr_serve *w, orr_run r)
{
	int now = ms(orr_serve_now(w));
	leave_now(w, now);
	struct naive_run *x = find(r);
	check(x && x->state == RUNS && now == x->since + x->latency - x->done && fabs(orr_serve_now(w) - now / 1000.0) < 1e-9,
		"a run ends in time", now);
	if (!x)
		return;
	x->state = GONE;
	for (int i = 0; i < x->n; i++)
		req[x->member[i]].runs--;
}

static void random_finish(struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	struct naive_req *x = &req[orr_req_number(w, r)];
	check(x->is_live && x->runs == 0 && how == ORR_REQ_COMPLETED, "a request ends with the last of its runs", ms(orr_serve_now(w)));
	x->is_live = false;
}

static const char *make_model(struct sbuf *out, const char *name, const struct kind *k)
{
	sbuf_printf(out,
		"{\"name\":\"%s\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1,2],\"latency_ms\":[%d,%d],"
		"\"memory_unit_bytes\":10737418.24,\"memory\":[",
		name, k->latency[0], k->latency[1]);
	for (int i = 0; i < 2; i++)
		sbuf_printf(
			out, "%s{\"before\":%d,\"peak\":%d,\"peak_from_ms\":%d}", i ? "," : "", k->before[i], k->peak[i], k->peak_from[i]);
	sbuf_puts(out, "]}");
	return sbuf_text(out);
}

static void random_case(uint64_t seed, int exit_interval, int n)
{
	struct sbuf text[MODELS] = { 0 }, rows = { 0 };
	const char *models[MODELS + 1] = { NULL };
	char options[64];
	dice = seed;
	interval = exit_interval;
	n_runs = 0;
	actions = mistakes = suspended = restarted = delayed = refused = 0;
	memset(req, 0, sizeof req);
	for (int m = 0; m < MODELS; m++)
		models[m] = make_model(&text[m], (const char *[]){ "a", "b", "c" }[m], &kinds[m]);
	sbuf_puts(&rows, "arrival_s,model\n");
	for (int i = 0, t = 0; i < n; i++, t += (int)roll(60))
		sbuf_printf(&rows, "%.3f,a\n", t / 1000.0);
	script_set((struct script){
		.arrive = random_arrive, .schedule = random_schedule, .run_end = random_run_end, .finish = random_finish });
	script.models = models;
	script.memory_GiB = 1;
	snprintf(options, sizeof options, "exit_interval=%dms", exit_interval);
	struct run_result *r = script_run(NULL, sbuf_text(&rows), options);
	printf("# %ld actions, %ld suspended, %ld dropped, %ld batches without memory, %ld runs that could not be suspended\n", actions,
		suspended, restarted, delayed, refused);
	ok(r && mistakes == 0, "seed %llu, exit points every %d ms: equal to the naive model", (unsigned long long)seed, exit_interval);
	ok(r && serve_metric(r, "requests_completed") == n && actions > n && suspended > n / 20 && restarted > n / 20 && delayed > n / 20,
		"all requests end, all kinds of actions occur");
	result_free(r);
	for (int m = 0; m < MODELS; m++)
		sbuf_free(&text[m]);
	sbuf_free(&rows);
}

int main(void)
{
	int n = getenv("ORR_SANITIZED") ? 100 : 1000;
	random_case(1, 0, n);
	random_case(2, 7, n);
	random_case(3, 1, n);
	random_case(4, 30, n);
	return done();
}
