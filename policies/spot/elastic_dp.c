/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic data parallelism: each ready instance is a worker that holds the whole state and computes its share of the batch.
 *
 * If a worker ends, the step in flight is lost. The other workers, which all have the result of the previous step, form a new
 * all-reduce group and repeat the step. With loss=drop the step continues without the lost worker's samples (elastic batching;
 * Bamboo's strawman of sample dropping). With loss=redundant, the data-parallel variant of Bamboo (Thorpe et al., NSDI 2023),
 * each worker also computes the part f of the share of the next worker in the group, so a step needs 1 + f times the workers.
 * After a loss the peer computes the rest of the share; a step is lost only if both workers of a pair are lost during the step.
 *
 * A joining instance copies the state while the others train, and joins after the step in flight. A worker with notice leaves after
 * its last complete step. When the last worker ends, the state is lost and the job restarts from its last checkpoint. Checkpoints are
 * copied in the background, the last one at the end of the job.
 */
#include "shapes.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("rebuild", "10s", "time to form a new all-reduce group"),
	ORR_PARAM_LIST("copy", "", "time for a joining instance to copy the state; empty: time for one node to read a checkpoint"),
	ORR_PARAM_CHOICE(
		"loss", "redo", "redo|drop|redundant", "the step is repeated, continues without the lost samples, or a peer computes them"),
	ORR_PARAM_REAL("part", "0.5", 0.01, 1, "loss=redundant: part of its peer's share that each worker computes"),
	ORR_PARAM_TIME("every", "10m", "time between background checkpoints; 0: only one, at the end"),
	ORR_PARAM_LIST("cost", "", "time to write a checkpoint; empty: from the size of the state"),
	ORR_PARAM_LIST("restart", "", "time to restart from a checkpoint; empty: time to read the state"),
	ORR_PARAM_BOOL("notice", true, "a worker given notice leaves at the end of the step"), ORR_PARAM_END };

enum state { WAITING, RESTARTING, REBUILDING, TRAINING, SAVING };
enum loss { REDO, DROP, REDUNDANT };

/* Tags of timers; all other tags are handles of instances that have copied the state. */
#define TAG_STATE UINT64_MAX
#define TAG_CHECKPOINT (UINT64_MAX - 1)
#define TAG_SAFE (UINT64_MAX - 2)

/* Marks of instances; a worker's mark is MARK_WORKER plus its place in the group. */
enum { MARK_NEW, MARK_COPYING, MARK_HOLDER, MARK_WORKER };

struct elastic_dp {
	struct shapes shapes; /* shapes of depth 1 */
	orr_inst *list;       /* room for most */
	bool *is_lost;        /* lost in this step, by place */
	uint32_t most;        /* usable workers */
	uint64_t steps;
	double samples;
	enum loss loss;
	double part;
	int64_t rebuild_ns, copy_ns, every_ns, cost_ns, restart_ns; /* times; -1: derived from the size of the state */
	bool heeds_notice;

	enum state state;
	bool is_broken;   /* the group has lost workers, so a new group is needed */
	uint32_t holders; /* number of instances that hold the state, including workers */
	uint32_t workers; /* number of workers in the group */
	uint32_t lost;    /* number of workers lost in this step */
	int64_t step_ns;
	int64_t whole_ns; /* end of the step in flight if no worker were lost */
	bool has_begun;   /* training has begun, so a later start is a restart */
	uint64_t timer, checkpoint_timer;
	uint64_t saving; /* number of steps in the checkpoint that is being written */
};

static bool one_time(const struct orr_args *args, const char *name, int64_t *ns, struct orr_error *err)
{
	size_t n;
	const double *s = orr_arg_list(args, name, &n);
	*ns = -1;
	if (!n)
		return true;
	if (n > 1 || !(s[0] >= 0 && s[0] < 4e9))
		return !orr_fail(err, ORR_EINPUT, "%s: expected one time of at least 0, or an empty value", name);
	*ns = (int64_t)llround(s[0] * 1e9);
	return true;
}

static void destroy(void *self)
{
	struct elastic_dp *s = self;
	shapes_end(&s->shapes);
	orr_free(s->list);
	orr_free(s->is_lost);
	orr_free(s);
}

static bool read_args(struct elastic_dp *s, const struct orr_args *args, struct orr_error *err)
{
	const char *loss = orr_arg_text(args, "loss");
	s->loss = !strcmp(loss, "drop") ? DROP : !strcmp(loss, "redundant") ? REDUNDANT : REDO;
	s->part = orr_arg_real(args, "part");
	s->rebuild_ns = orr_arg_time_ns(args, "rebuild");
	s->every_ns = orr_arg_time_ns(args, "every");
	s->heeds_notice = orr_arg_bool(args, "notice");
	if (s->every_ns && s->every_ns < ORR_SECOND)
		return !orr_fail(err, ORR_EINPUT, "every: expected 0 or at least 1s");
	return one_time(args, "copy", &s->copy_ns, err) && one_time(args, "cost", &s->cost_ns, err) &&
	       one_time(args, "restart", &s->restart_ns, err);
}

static bool make_room(struct elastic_dp *s, struct orr_spot *w, struct orr_error *err)
{
	struct orr_elastic_info job;
	struct shape_choice choice = { .depth = 1, .takes_most = true };
	orr_elastic_get(w, &job);
	s->steps = job.steps;
	s->samples = job.samples_per_step;
	shapes_begin(&s->shapes, w, &choice);
	if (!s->shapes.most)
		return !orr_fail(err, ORR_EINPUT, "job %s: expected a step time of depth 1", job.name);
	s->most = s->loss == REDUNDANT ? (uint32_t)(s->shapes.most * (1 + s->part)) : s->shapes.most;
	s->list = orr_alloc(s->most, sizeof *s->list);
	s->is_lost = orr_alloc(s->most, sizeof *s->is_lost);
	return true;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	orr_state_from_peers(w, 0);
	static const char *const counts[] = { "losses", "rebuilds", "restarts", "steps_redone" };
	struct elastic_dp *s = orr_alloc(1, sizeof *s);
	if (!read_args(s, args, err) || !make_room(s, w, err)) {
		destroy(s);
		return NULL;
	}
	orr_steps_are_provisional(w);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		orr_spot_count(w, counts[i], 0);
	return s;
}

/* ---- workers and their speed ---- */

/* Returns the step time of n workers. With redundancy they do the work of n / (1 + part) workers; interpolates linearly between step
 * times. */
static int64_t step_time(const struct elastic_dp *s, uint32_t n)
{
	double x = s->loss == REDUNDANT ? n / (1 + s->part) : n;
	const struct shape *low = shape_for(&s->shapes, (uint32_t)x), *high = shape_for(&s->shapes, (uint32_t)ceil(x));
	double t = (double)high->step_ns;
	if (!low->nodes)
		t *= high->nodes / x;
	else if (high->nodes > low->nodes)
		t = (double)low->step_ns + (t - (double)low->step_ns) * (x - low->nodes) / (high->nodes - low->nodes);
	return llround(t);
}

/* Returns how many of n workers can be used. */
static uint32_t usable(const struct elastic_dp *s, uint32_t n)
{
	uint32_t least = n < s->most ? n : s->most;
	if (s->loss != REDUNDANT)
		return shape_for(&s->shapes, least)->nodes;
	return shape_for(&s->shapes, (uint32_t)ceil(n / (1 + s->part)))->nodes ? least : 0;
}

/* Returns whether the instance ends before another step can complete. */
static bool leaves(const struct elastic_dp *s, const struct orr_spot *w, orr_inst i)
{
	struct orr_inst_info info;
	return orr_inst_is_noticed(w, i) && orr_inst_get(w, i, &info) && info.goes_ns <= orr_spot_now(w) + s->rebuild_ns + s->step_ns;
}

/* Lists the holders of the state in s->list, up to its capacity: all holders, or only those that stay. Returns their number. for_group:
 * former workers become holders without a place. */
static uint32_t holders(struct elastic_dp *s, struct orr_spot *w, bool takes_all, bool for_group)
{
	uint32_t n = 0;
	bool may_leave = !takes_all && s->heeds_notice && orr_notice_time(w) > 0;
	for (orr_inst i = orr_inst_first(w); i; i = orr_inst_next(w, i)) {
		uint64_t mark = orr_inst_mark(w, i);
		if (for_group && mark > MARK_HOLDER)
			orr_inst_set_mark(w, i, MARK_HOLDER);
		if (mark < MARK_HOLDER || (may_leave && leaves(s, w, i)))
			continue;
		if (n < s->most)
			s->list[n] = i;
		n++;
	}
	return n;
}

static bool has_joiners(struct elastic_dp *s, struct orr_spot *w)
{
	return s->holders > s->workers && usable(s, holders(s, w, false, false)) > s->workers;
}

static void pause_for(struct elastic_dp *s, struct orr_spot *w, enum state state, enum orr_account account, int64_t wait_ns)
{
	s->state = state;
	orr_pause_as(w, account);
	s->timer = orr_spot_timer(w, orr_spot_now(w) + wait_ns, 0, TAG_STATE);
}

static int64_t or_from_state(const struct orr_spot *w, int64_t given_ns, uint32_t nodes)
{
	return given_ns >= 0 ? given_ns : orr_checkpoint_time(w, nodes);
}

static void start_copy(struct elastic_dp *s, struct orr_spot *w, orr_inst i)
{
	orr_inst_set_mark(w, i, MARK_COPYING);
	orr_spot_timer(w, orr_spot_now(w) + or_from_state(w, s->copy_ns, 1), 1, i);
}

/* Starts the copies when training starts: earlier joiners copy the state, and the first checkpoint is scheduled. */
static void start_copies(struct elastic_dp *s, struct orr_spot *w)
{
	for (orr_inst i = orr_inst_ready(w) > s->workers ? orr_inst_first(w) : 0; i; i = orr_inst_next(w, i))
		if (orr_inst_is_ready(w, i) && orr_inst_mark(w, i) == MARK_NEW)
			start_copy(s, w, i);
	if (!s->checkpoint_timer && s->every_ns)
		s->checkpoint_timer = orr_spot_timer(w, orr_spot_now(w) + s->every_ns, 2, TAG_CHECKPOINT);
}

/* ---- steps ---- */

/* Returns the number of steps that end before the first worker with notice is removed; UINT64_MAX: no worker has notice. */
static uint64_t steps_left(const struct elastic_dp *s, const struct orr_spot *w)
{
	int64_t now = orr_spot_now(w), first = ORR_NEVER;
	struct orr_inst_info info;
	for (orr_inst i = s->heeds_notice && orr_notice_time(w) > 0 ? orr_inst_first(w) : 0; i; i = orr_inst_next(w, i))
		if (orr_inst_is_noticed(w, i) && orr_inst_get(w, i, &info) && info.stages && info.goes_ns < first)
			first = info.goes_ns;
	return first == ORR_NEVER ? UINT64_MAX : (uint64_t)((first - now - 1) / s->step_ns);
}

static void train(struct elastic_dp *s, struct orr_spot *w)
{
	uint64_t most = has_joiners(s, w) ? 1 : steps_left(s, w);
	s->state = TRAINING;
	s->has_begun = true;
	start_copies(s, w);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = s->step_ns,
				 .most = most == UINT64_MAX ? 0
					 : most             ? most
							    : 1,
				 .redundant = s->loss == REDUNDANT ? s->part / (1 + s->part) : 0 });
}

/* Forms a group of the holders of the state. Returns false if the job cannot run on them. */
static bool form_group(struct elastic_dp *s, struct orr_spot *w)
{
	uint32_t n = usable(s, holders(s, w, false, true));
	if (!n)
		n = usable(s, holders(s, w, true, true));
	s->is_broken = false;
	s->workers = n;
	s->lost = 0;
	memset(s->is_lost, 0, s->most * sizeof *s->is_lost);
	if (!n) {
		orr_layout(w, 0, 0, NULL);
		return false;
	}
	for (uint32_t d = 0; d < n; d++)
		orr_inst_set_mark(w, s->list[d], MARK_WORKER + (uint64_t)d);
	s->step_ns = step_time(s, n);
	orr_layout(w, n, 1, s->list);
	orr_spot_event(w, "layout", "%u x 1", n);
	return true;
}

static void rebuild(struct elastic_dp *s, struct orr_spot *w)
{
	if (!form_group(s, w)) {
		s->state = WAITING;
		return;
	}
	orr_spot_count(w, "rebuilds", 1);
	pause_for(s, w, REBUILDING, ORR_RECONFIGURE, s->rebuild_ns);
}

/* Starts without holders of the state: all ready instances read the last checkpoint; the first start has no state. */
static void start(struct elastic_dp *s, struct orr_spot *w)
{
	for (orr_inst i = orr_inst_first(w); i; i = orr_inst_next(w, i))
		orr_inst_set_mark(w, i, orr_inst_is_ready(w, i) ? MARK_HOLDER : MARK_NEW);
	s->holders = orr_inst_ready(w);
	if (!form_group(s, w)) {
		s->state = WAITING;
		for (orr_inst i = orr_inst_first(w); i; i = orr_inst_next(w, i))
			orr_inst_set_mark(w, i, MARK_NEW);
		s->holders = 0;
		return;
	}
	if (!s->has_begun) {
		train(s, w);
		return;
	}
	orr_spot_count(w, "restarts", 1);
	pause_for(s, w, RESTARTING, ORR_RESTART, or_from_state(w, s->restart_ns, s->workers));
}

static void steps(void *self, struct orr_spot *w)
{
	struct elastic_dp *s = self;
	if (s->steps && orr_steps_done(w) >= s->steps)
		pause_for(s, w, SAVING, ORR_CHECKPOINT, or_from_state(w, s->cost_ns, s->workers));
	else if (s->lost || has_joiners(s, w) || (!steps_left(s, w) && usable(s, holders(s, w, false, false))))
		rebuild(s, w);
	else
		train(s, w);
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	struct elastic_dp *s = self;
	if (tag == TAG_STATE) {
		s->timer = 0;
		if (s->state == SAVING)
			orr_commit(w, orr_steps_uncommitted(w));
		else
			train(s, w);
	} else if (tag == TAG_CHECKPOINT) {
		s->saving = orr_steps_uncommitted(w);
		s->checkpoint_timer = orr_spot_timer(w, orr_spot_now(w) + or_from_state(w, s->cost_ns, s->workers), 2, TAG_SAFE);
	} else if (tag == TAG_SAFE) {
		orr_commit(w, s->saving);
		s->checkpoint_timer = orr_spot_timer(w, orr_spot_now(w) + s->every_ns, 2, TAG_CHECKPOINT);
	} else if (orr_inst_is_live(w, tag) && orr_inst_mark(w, tag) == MARK_COPYING) {
		orr_inst_set_mark(w, tag, MARK_HOLDER);
		s->holders++;
		if (s->state == WAITING)
			rebuild(s, w);
		else if (s->state == TRAINING && has_joiners(s, w))
			orr_steps_last(w);
	}
}

/* ---- losses ---- */

static void state_lost(struct elastic_dp *s, struct orr_spot *w)
{
	orr_steps_stop(w);
	orr_lose(w, orr_steps_uncommitted(w));
	if (s->checkpoint_timer)
		orr_spot_cancel(w, s->checkpoint_timer);
	if (s->timer)
		orr_spot_cancel(w, s->timer);
	s->timer = s->checkpoint_timer = 0;
	s->is_broken = false;
	s->workers = 0;
	s->state = WAITING;
	orr_layout(w, 0, 0, NULL);
}

/* Loses the step in flight; the rest of the group forms a new one in decide(). */
static void break_group(struct elastic_dp *s, struct orr_spot *w)
{
	if (s->state == TRAINING)
		orr_spot_count(w, "steps_redone", 1);
	if (s->timer)
		orr_spot_cancel(w, s->timer);
	s->timer = 0;
	s->state = s->state == RESTARTING ? RESTARTING : REBUILDING;
	s->is_broken = true;
	orr_steps_stop(w);
}

/* Makes the peer of `place` (the previous place) compute the rest of its share after its own. */
static void take_over(struct elastic_dp *s, struct orr_spot *w, uint32_t place)
{
	uint32_t n = s->workers;
	int64_t ends_ns, now = orr_spot_now(w);
	if (s->is_lost[(place + n - 1) % n] || s->is_lost[(place + 1) % n] || !orr_steps_in_flight(w, NULL, &ends_ns)) {
		break_group(s, w);
		return;
	}
	if (s->lost == 1)
		s->whole_ns = ends_ns;
	int64_t rest_ns = llround((double)s->step_ns * (1 - s->part) / (1 + s->part));
	int64_t until_ns = (now > s->whole_ns ? now : s->whole_ns) + rest_ns;
	if (until_ns > ends_ns)
		orr_steps_stretch(w, until_ns - ends_ns);
	orr_drop_pipeline(w, place);
	orr_steps_last(w);
}

static void worker_lost(struct elastic_dp *s, struct orr_spot *w, uint32_t place)
{
	s->lost++;
	s->is_lost[place] = true;
	orr_spot_count(w, "losses", 1);
	if (s->state == SAVING) {
		orr_drop_pipeline(w, place);
	} else if (s->state != TRAINING || s->loss == REDO || s->lost == s->workers) {
		break_group(s, w);
	} else if (s->loss == DROP) {
		orr_steps_samples(w, s->samples * (s->workers - s->lost) / s->workers);
		orr_drop_pipeline(w, place);
		orr_steps_last(w);
	} else {
		take_over(s, w, place);
	}
}

static void instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct elastic_dp *s = self;
	int64_t ends_ns;
	struct orr_inst_info info;
	uint64_t mark = orr_inst_mark(w, i);
	if (event == ORR_INST_READY && (s->state == TRAINING || s->state == REBUILDING || (s->state == WAITING && s->holders))) {
		start_copy(s, w, i);
	} else if (event == ORR_INST_NOTICE && s->heeds_notice && mark >= MARK_WORKER) {
		if (orr_steps_in_flight(w, NULL, &ends_ns) && orr_inst_get(w, i, &info) && ends_ns < info.goes_ns)
			orr_steps_last(w);
	} else if (event == ORR_INST_GONE && mark >= MARK_HOLDER) {
		if (!--s->holders)
			state_lost(s, w);
		else if (mark >= MARK_WORKER)
			worker_lost(s, w, (uint32_t)(mark - MARK_WORKER));
	}
}

static void decide(void *self, struct orr_spot *w)
{
	struct elastic_dp *s = self;
	bool must_start = s->state == WAITING ? !s->holders : s->is_broken && s->state == RESTARTING;
	if (must_start)
		start(s, w);
	else if (s->is_broken)
		rebuild(s, w);
}

static const struct orr_spot_ops ops = {
	.create = create, .destroy = destroy, .instance = instance, .timer = timer, .steps = steps, .decide = decide
};

ORR_POLICY_SPOT(elastic_dp, "elastic data parallelism; after a loss, samples are repeated, dropped or computed by a peer", params, ops);
