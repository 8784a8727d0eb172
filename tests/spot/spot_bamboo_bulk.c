/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_bamboo_bulk.c - Bamboo under rules=authors on random traces with simultaneous removals, against a restatement of the
 * rules of its authors' simulator that shares no code with the policy
 *
 * Times are whole milliseconds. Events of one instant are processed in this order: additions, removals, instances that become
 * ready, global timers, local timers, steps; events of one kind in the order of their creation. The job is BERT: 12 stages,
 * steps of 4310, 2390, 1805 and 1450 ms with 1 to 4 pipelines, a local rendezvous of 20 s and a global one of 30 s.
 *
 * The tested rule: the stage of a removed node moves to the live node that holds the stage before it. If this node already
 * holds two stages, the loss is fatal. If no live node holds that stage, for example because its node was removed in the same
 * bulk, the loss has no effect.
 */
#include "base/rng.h"
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_spot_bamboo;

enum { DEPTH = 12, MOST = 4, STARTUP_MS = 45000, MAX_NODES = 3000, MAX_EVENTS = 60000 };
static const int64_t length_ms = 4 * 3600000, until_ms = 4 * 3600000 + 500; /* the run ends at an instant without rows of a trace */
static const int64_t step_ms[MOST + 1] = { 0, 4310, 2390, 1805, 1450 };

enum kind { ADD, REMOVE, READY, GLOBAL, LOCAL, STEP };

struct event {
	int64_t at;
	enum kind kind;
	int order, what; /* what: index of a node, or version of a step */
};

struct node {
	bool is_live, is_ready;
	int n, coordinate[2];
};

struct sim {
	struct event event[MAX_EVENTS]; /* a binary heap */
	int n_events, made;
	struct node node[MAX_NODES];
	int n_nodes, member[MAX_NODES], n_members;
	enum { STOPPED, GATHERING, RUNNING } state;
	int64_t now, step, failed_at; /* failed_at: time of the failure that stretches the step in flight; -1: none */
	bool is_slow;
	int version, pipelines, waiting;
	int steps, fatal, takeovers, orphans; /* orphans: number of losses for which no live node holds the stage before */
};

static bool is_before(const struct event *a, const struct event *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	return a->kind != b->kind ? a->kind < b->kind : a->order < b->order;
}

static void post(struct sim *s, int64_t at, enum kind kind, int what)
{
	int i = s->n_events++;
	struct event e = { at, kind, s->made++, what };
	for (; i && is_before(&e, &s->event[(i - 1) / 2]); i = (i - 1) / 2)
		s->event[i] = s->event[(i - 1) / 2];
	s->event[i] = e;
}

static struct event next_event(struct sim *s)
{
	struct event first = s->event[0], last = s->event[--s->n_events];
	int i = 0;
	for (int k; (k = 2 * i + 1) < s->n_events; i = k) {
		k += k + 1 < s->n_events && is_before(&s->event[k + 1], &s->event[k]);
		if (is_before(&last, &s->event[k]))
			break;
		s->event[i] = s->event[k];
	}
	s->event[i] = last;
	return first;
}

/* ---- the rules ---- */

static void gather(struct sim *s, enum kind kind)
{
	s->state = GATHERING;
	s->n_members = 0;
	for (int i = 0; i < s->n_nodes; i++)
		if (s->node[i].is_live && s->node[i].is_ready)
			s->member[s->n_members++] = i;
	post(s, s->now + (kind == GLOBAL ? 30000 : 20000), kind, 0);
}

static void gets_ready(struct sim *s, int i)
{
	if (!s->node[i].is_live)
		return;
	s->node[i].is_ready = true;
	if (s->state == STOPPED)
		gather(s, GLOBAL);
	else if (s->state == GATHERING)
		s->member[s->n_members++] = i;
	else
		s->waiting++;
}

static void timer(struct sim *s, enum kind kind)
{
	for (int i = 0; i < s->n_members; i++)
		if (!s->node[s->member[i]].is_live) {
			gather(s, kind);
			return;
		}
	s->pipelines = s->n_members / DEPTH;
	for (int i = 0; i < s->n_members; i++)
		s->node[s->member[i]] = (struct node){ true, true, i < s->pipelines * DEPTH, { i, 0 } };
	s->waiting = s->n_members - s->pipelines * DEPTH;
	s->n_members = 0;
	s->version++;
	s->is_slow = false;
	s->failed_at = -1;
	s->state = s->pipelines ? RUNNING : STOPPED;
	s->step = step_ms[s->pipelines];
	if (s->pipelines)
		post(s, s->now + s->step, STEP, s->version);
}

static struct node *holder_of(struct sim *s, int coordinate)
{
	for (int i = 0; i < s->n_nodes; i++)
		for (int k = 0; s->node[i].is_live && k < s->node[i].n; k++)
			if (s->node[i].coordinate[k] == coordinate)
				return &s->node[i];
	return NULL;
}

/* Moves the stage of a lost node to the node before it. Returns whether the loss is fatal. */
static bool takes_over(struct sim *s, const struct node *lost)
{
	int at = lost->coordinate[0], stage = at % DEPTH;
	if (lost->n == 2)
		return true;
	if (!lost->n || (!stage && !s->pipelines))
		return false;
	struct node *before = holder_of(s, stage ? at - 1 : at + DEPTH - 1);
	if (!before) {
		s->orphans++;
		return false;
	}
	if (before->n == 2)
		return true;
	before->coordinate[before->n++] = at;
	s->takeovers++;
	return false;
}

static void removal(struct sim *s, int i)
{
	s->node[i].is_live = false;
	if (takes_over(s, &s->node[i])) {
		s->fatal++;
		gather(s, GLOBAL);
	} else if (s->state == RUNNING && !s->is_slow) {
		s->is_slow = true;
		s->step = s->step * 3 / 2;
		s->failed_at = s->now;
	}
}

static bool should_regroup(const struct sim *s)
{
	int shadows = 0;
	for (int i = 0; i < s->n_nodes; i++)
		shadows += s->node[i].is_live && s->node[i].n == 2;
	int active = s->pipelines * DEPTH - shadows;
	return (shadows && (s->waiting >= shadows || 2. * shadows / active > 0.05)) || (active + s->waiting) / DEPTH > s->pipelines;
}

static void step_ends(struct sim *s, int version)
{
	if (version != s->version)
		return;
	if (s->failed_at >= 0) {
		int64_t stretch = (s->now - s->failed_at) / 2;
		s->failed_at = -1;
		post(s, s->now + stretch, STEP, version);
		return;
	}
	s->steps++;
	if (should_regroup(s))
		gather(s, LOCAL);
	else
		post(s, s->now + s->step, STEP, version);
}

static void simulate(struct sim *s, int64_t until)
{
	s->failed_at = -1;
	while (s->n_events && s->event[0].at <= until && s->n_events < MAX_EVENTS - 2) {
		struct event e = next_event(s);
		s->now = e.at;
		if (e.kind == ADD) {
			s->node[e.what] = (struct node){ .is_live = true };
			post(s, s->now + STARTUP_MS, READY, e.what);
		} else if (e.kind == REMOVE) {
			removal(s, e.what);
		} else if (e.kind == READY) {
			gets_ready(s, e.what);
		} else if (e.kind == STEP) {
			step_ends(s, e.what);
		} else {
			timer(s, e.kind);
		}
	}
}

/* ---- random traces ---- */

struct text {
	char rows[1 << 17];
	int n;
};

static void row(struct text *t, struct sim *s, int64_t at, bool is_add, int node)
{
	t->n += snprintf(t->rows + t->n, sizeof t->rows - (size_t)t->n, "%lld,%s,n%d\n", (long long)at, is_add ? "add" : "remove", node);
	post(s, at, is_add ? ADD : REMOVE, node);
}

/* Draws bulks of 1 to 12 removals and, some time later, as many additions. Half of the removals are of neighbours in order of
 * creation. At most 48 nodes are live. */
static void draw(struct rng *r, struct text *t, struct sim *s, int64_t until)
{
	int live[64], n_live = 0;
	*t = (struct text){ .n = 0 };
	*s = (struct sim){ .n_nodes = 0 };
	for (; n_live < 48; n_live++) {
		live[n_live] = s->n_nodes;
		row(t, s, 0, true, s->n_nodes++);
	}
	for (int64_t at = 60000; s->n_nodes < MAX_NODES - 64;) {
		at += 1000 * (int64_t)(1 + rng_below(r, rng_below(r, 2) ? 40 : 600));
		if (at > until)
			return;
		for (int more = (int)rng_below(r, 13); more-- && n_live < 48;) {
			live[n_live++] = s->n_nodes;
			row(t, s, at, true, s->n_nodes++);
		}
		at += 1000 * (int64_t)rng_below(r, 100);
		bool is_block = rng_below(r, 2);
		for (int bulk = (int)rng_below(r, 13), k = 0; bulk-- && n_live > 4;) {
			k = is_block && k ? (k < n_live ? k : 0) : (int)rng_below(r, (uint64_t)n_live);
			row(t, s, at, false, live[k]);
			memmove(live + k, live + k + 1, (size_t)(--n_live - k) * sizeof *live);
		}
	}
}

int main(void)
{
	static struct sim sim;
	static struct text text;
	struct orr_error err = { 0 };
	struct rng r;
	int traces = getenv("ORR_SANITIZED") ? 40 : 200, equal = 0, orphans = 0, fatal = 0;
	rng_init(&r, 1, "bulks", 0);
	for (int i = 0; i < traces; i++) {
		struct spot_runs s;
		draw(&r, &text, &sim, length_ms);
		bool good =
			spot_runs_open(&s, NULL, text.rows, "bamboo-bert", &orr_policy_spot_bamboo, "rules=authors", "startup=45s", &err);
		s.config.until_ns = until_ms * 1000000;
		struct run_result *a = good ? spot_runs_run(&s, 0, &err) : NULL;
		simulate(&sim, until_ms);
		bool same = a && spot_runs_metric(a, "steps") == sim.steps && spot_runs_metric(a, "fatal") == sim.fatal &&
			    spot_runs_metric(a, "takeovers") == sim.takeovers;
		if (!same)
			printf("# trace %d: %g steps (%d), %g fatal (%d), %g takeovers (%d) %s\n", i, spot_runs_metric(a, "steps"),
				sim.steps, spot_runs_metric(a, "fatal"), sim.fatal, spot_runs_metric(a, "takeovers"), sim.takeovers,
				err.text);
		equal += same;
		orphans += sim.orphans;
		fatal += sim.fatal;
		result_free(a);
		spot_runs_close(&s);
	}
	ok(equal == traces, "%d of %d traces with bulk removals: steps, fatal failures and takeovers equal those of the restated rules",
		equal, traces);
	ok(orphans > traces && fatal > traces, "the traces have %d losses without a live holder and %d fatal failures", orphans, fatal);
	return done();
}
