/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checkpoint and restart: the loss of a working instance loses the steps since the last checkpoint.
 *
 * The job runs at the best (pipelines, depth) for the ready instances. After each interval of training (useful time) its state
 * is written: training pauses (copy=sync), or continues while the copy is written (copy=async; the checkpoint is safe at the
 * end of the copy, and the next one starts no earlier). When an owner of a stage ends, the uncommitted steps are lost. The job
 * restarts at the best shape for the remaining instances as soon as a shape fits. A loss during a restart begins a new restart.
 * New instances are included after a checkpoint, at the cost of a restart. Before an instance with notice ends, a checkpoint is
 * written if time allows; then the job moves to the other instances. The job ends when its last checkpoint is written.
 *
 * The interval is given, or is Young's or Daly's (daly.h) for the pause of a checkpoint and the mean time M between losses of
 * the job. M is the mean time of one instance divided by the number of working instances.
 */
#include "daly.h"
#include "shapes.h"

#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_INT("depth", "0", 0, 100000,
		"stages of a pipeline, with as many pipelines as fit; 0: pipelines and depth of the shortest step"),
	ORR_PARAM_INT("pipelines", "0", 0, 100000, "exact number of pipelines; 0: as many as fit"),
	ORR_PARAM_CHOICE("interval", "daly", "time|steps|young|daly|never",
		"interval between checkpoints: every, every_steps, by formula, or checkpoints only at notices and at the end"),
	ORR_PARAM_TIME("every", "15m", "interval=time: training between checkpoints, to the nearest step"),
	ORR_PARAM_INT("every_steps", "100", 1, 1e15, "interval=steps: steps between checkpoints"),
	ORR_PARAM_LIST("mtbf", "", "young, daly: mean time between losses of one instance; empty: estimated from the losses so far"),
	ORR_PARAM_TIME("mtbf_guess", "10h", "mtbf empty: initial estimate of the time between losses, with the weight of one loss"),
	ORR_PARAM_LIST("cost", "", "time to write a checkpoint; empty: from the size of the state"),
	ORR_PARAM_LIST("restart", "", "time to restart from a checkpoint; empty: time to read the state"),
	ORR_PARAM_TIME("refit", "0s",
		"time of a restart or a move in addition to `restart`: start of processes, set-up of groups, change of shape"),
	ORR_PARAM_CHOICE("copy", "sync", "sync|async", "training pauses for the cost, or continues while the copy is written"),
	ORR_PARAM_TIME("snapshot", "0", "copy=async: pause of training before the copy"),
	ORR_PARAM_CHOICE(
		"join", "checkpoint", "checkpoint|never", "new instances are included after a checkpoint, or only at the next restart"),
	ORR_PARAM_REAL("gain", "0", 0, 1, "minimum relative decrease of the step time for which new instances are included"),
	ORR_PARAM_BOOL("notice", true, "write a checkpoint before an instance with notice ends"), ORR_PARAM_END
};

enum interval { BY_TIME, BY_STEPS, BY_YOUNG, BY_DALY, NEVER };

enum state {
	WAITING,    /* waits for instances: no shape fits */
	RESTARTING, /* until the timer */
	TRAINING,   /* steps run */
	WRITING,    /* writes until the timer; then all steps done are committed */
	SNAPSHOT    /* takes a snapshot until the timer; then the copy starts */
};

enum { TAG_STATE, TAG_COPY };

struct checkpoint {
	struct shapes shapes;
	orr_inst *ready; /* room for shapes.most */
	uint64_t steps;  /* number of steps of the job; 0: unlimited */
	enum interval interval;
	int64_t every_ns, cost_ns, restart_ns, refit_ns; /* cost, restart: -1: derived from the size of the state */
	uint64_t every_steps;
	double mtbf_ns; /* mean time between losses of one instance; 0: estimated */
	double guess_ns;
	bool is_async, takes_joiners, heeds_notice;
	int64_t snapshot_ns;
	double gain;

	enum state state;
	struct shape shape; /* present shape; nodes = 0: no layout */
	bool owes_restart;  /* the job has not trained since a loss or a move */
	uint64_t timer, copy_timer;
	uint64_t copying;    /* number of steps in the copy that is being written; 0: no copy */
	bool is_due;         /* a checkpoint follows the copy */
	int64_t interval_ns; /* interval used last */
	/* Inputs of the estimate: working time of instances, and number of instants with a loss. */
	double worked_ns;
	int64_t since_ns;
	uint64_t losses;
	int64_t last_loss_ns;
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

static enum interval read_interval(const char *text)
{
	static const char *const names[] = { "time", "steps", "young", "daly" };
	unsigned i = 0;
	while (i < NEVER && strcmp(text, names[i]))
		i++;
	return (enum interval)i;
}

static void destroy(void *self)
{
	struct checkpoint *s = self;
	shapes_end(&s->shapes);
	orr_free(s->ready);
	orr_free(s);
}

static bool read_args(struct checkpoint *s, const struct orr_args *args, struct orr_error *err)
{
	int64_t mtbf_ns;
	s->interval = read_interval(orr_arg_text(args, "interval"));
	s->every_ns = orr_arg_time_ns(args, "every");
	s->every_steps = (uint64_t)orr_arg_int(args, "every_steps");
	s->guess_ns = (double)orr_arg_time_ns(args, "mtbf_guess");
	s->is_async = !strcmp(orr_arg_text(args, "copy"), "async");
	s->refit_ns = orr_arg_time_ns(args, "refit");
	s->snapshot_ns = orr_arg_time_ns(args, "snapshot");
	s->takes_joiners = !strcmp(orr_arg_text(args, "join"), "checkpoint");
	s->gain = orr_arg_real(args, "gain");
	s->heeds_notice = orr_arg_bool(args, "notice");
	if (!one_time(args, "mtbf", &mtbf_ns, err) || !one_time(args, "cost", &s->cost_ns, err) ||
		!one_time(args, "restart", &s->restart_ns, err))
		return false;
	if (mtbf_ns == 0 || s->guess_ns <= 0)
		return !orr_fail(err, ORR_EINPUT, "%s: expected a time above 0", mtbf_ns == 0 ? "mtbf" : "mtbf_guess");
	s->mtbf_ns = mtbf_ns > 0 ? (double)mtbf_ns : 0;
	return true;
}

static bool choose_shapes(struct checkpoint *s, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_elastic_info job;
	struct shape_choice choice = { .depth = (uint32_t)orr_arg_int(args, "depth"),
		.pipelines = (uint32_t)orr_arg_int(args, "pipelines") };
	choice.takes_most = choice.depth > 0;
	orr_elastic_get(w, &job);
	s->steps = job.steps;
	shapes_begin(&s->shapes, w, &choice);
	s->ready = orr_alloc((size_t)s->shapes.most + 1, sizeof *s->ready);
	if (!s->shapes.most)
		return !orr_fail(err, ORR_EINPUT, "job %s has no step time for %s", job.name,
			choice.depth || choice.pipelines ? "the requested pipelines and depth: expected a shape of the job, or 0 for any"
							 : "any number of pipelines");
	return true;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	static const char *const counts[] = { "checkpoints", "checkpoints_on_notice", "losses", "restarts", "moves" };
	struct checkpoint *s = orr_alloc(1, sizeof *s);
	if (!choose_shapes(s, w, args, err) || !read_args(s, args, err)) {
		destroy(s);
		return NULL;
	}
	s->last_loss_ns = -1;
	orr_steps_are_provisional(w);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		orr_spot_count(w, counts[i], 0);
	return s;
}

/* ---- the interval ---- */

static int64_t cost_ns(const struct checkpoint *s, const struct orr_spot *w)
{
	return s->cost_ns >= 0 ? s->cost_ns : orr_checkpoint_time(w, s->shape.nodes);
}

static void count_work(struct checkpoint *s, const struct orr_spot *w)
{
	int64_t now = orr_spot_now(w);
	s->worked_ns += (double)(now - s->since_ns) * s->shape.nodes;
	s->since_ns = now;
}

/* Returns the mean time between losses of one instance. */
static double mtbf_ns(const struct checkpoint *s)
{
	return s->mtbf_ns > 0 ? s->mtbf_ns : (s->worked_ns + s->guess_ns) / ((double)s->losses + 1);
}

/* Returns the number of steps from one checkpoint to the next, at least one; UINT64_MAX: no next one. */
static uint64_t interval_steps(struct checkpoint *s, struct orr_spot *w)
{
	double standstill = (double)(s->is_async ? s->snapshot_ns : cost_ns(s, w)), t = (double)s->every_ns;
	if (s->interval == NEVER)
		return UINT64_MAX;
	if (s->interval == BY_STEPS)
		return s->every_steps;
	if (s->interval != BY_TIME) {
		count_work(s, w);
		double m = mtbf_ns(s) / s->shape.nodes;
		t = s->interval == BY_YOUNG ? young_interval(standstill, m) : daly_interval(standstill, m);
	}
	s->interval_ns = (int64_t)llround(fmin(t, 9e18));
	double k = round(t / (double)s->shape.step_ns);
	return k < 1 ? 1 : k < 1e18 ? (uint64_t)k : UINT64_MAX;
}

/* ---- working instances ---- */

/* Lists the ready instances without notice in s->ready, at most as many as can be used; returns their number. */
static uint32_t lasting(struct checkpoint *s, const struct orr_spot *w)
{
	uint32_t n = 0;
	if (!s->heeds_notice || !orr_notice_time(w)) {
		n = orr_inst_ready_list(w, s->ready, s->shapes.most);
		return n < s->shapes.most ? n : s->shapes.most;
	}
	for (orr_inst i = orr_inst_first(w); i && n < s->shapes.most; i = orr_inst_next(w, i))
		if (orr_inst_is_ready(w, i) && !orr_inst_is_noticed(w, i))
			s->ready[n++] = i;
	return n;
}

/* Returns the time at which the first owner with notice ends; ORR_NEVER: no owner has notice. */
static int64_t owner_goes_ns(const struct checkpoint *s, const struct orr_spot *w)
{
	int64_t first = ORR_NEVER;
	struct orr_inst_info info;
	for (orr_inst i = s->heeds_notice && orr_notice_time(w) > 0 ? orr_inst_first(w) : 0; i; i = orr_inst_next(w, i))
		if (orr_inst_is_noticed(w, i) && orr_inst_get(w, i, &info) && info.stages && info.goes_ns < first)
			first = info.goes_ns;
	return first;
}

static void pause_for(struct checkpoint *s, struct orr_spot *w, enum state state, enum orr_account account, int64_t wait_ns)
{
	s->state = state;
	orr_pause_as(w, account);
	s->timer = orr_spot_timer(w, orr_spot_now(w) + wait_ns, 0, TAG_STATE);
}

static void forget_copy(struct checkpoint *s, struct orr_spot *w)
{
	if (s->copying)
		orr_spot_cancel(w, s->copy_timer);
	s->copying = 0;
	s->is_due = false;
}

/* Stops all work. set_up() replaces the layout within this instant. */
static void stand_down(struct checkpoint *s, struct orr_spot *w)
{
	count_work(s, w);
	forget_copy(s, w);
	if (s->timer)
		orr_spot_cancel(w, s->timer);
	s->timer = 0;
	s->shape = (struct shape){ 0 };
	s->state = WAITING;
}

static void train(struct checkpoint *s, struct orr_spot *w);

/*
 * Lays out the shape for the ready instances, if they suffice. The first start takes no time. A later start is a restart after
 * a loss, or a move that adds or removes instances.
 */
static void set_up(struct checkpoint *s, struct orr_spot *w, bool is_move)
{
	const struct shape *shape = shape_for(&s->shapes, lasting(s, w));
	if (!shape->nodes) {
		s->owes_restart = s->owes_restart || is_move;
		orr_layout(w, 0, 0, NULL);
		return;
	}
	s->shape = *shape;
	s->since_ns = orr_spot_now(w);
	orr_layout(w, shape->pipelines, shape->depth, s->ready);
	orr_spot_event(w, "layout", "%u x %u", shape->pipelines, shape->depth);
	if (!s->owes_restart && !is_move) {
		train(s, w);
		return;
	}
	orr_spot_count(w, s->owes_restart ? "restarts" : "moves", 1);
	pause_for(s, w, RESTARTING, s->owes_restart ? ORR_RESTART : ORR_RECONFIGURE,
		s->refit_ns + (s->restart_ns >= 0 ? s->restart_ns : orr_checkpoint_time(w, shape->nodes)));
}

static void move(struct checkpoint *s, struct orr_spot *w)
{
	stand_down(s, w);
	set_up(s, w, true);
}

/* ---- training and checkpoints; no step is in flight ---- */

static void write_checkpoint(struct checkpoint *s, struct orr_spot *w, const char *counted)
{
	forget_copy(s, w);
	orr_spot_count(w, counted, 1);
	pause_for(s, w, WRITING, ORR_CHECKPOINT, cost_ns(s, w));
}

static bool joiners_help(struct checkpoint *s, const struct orr_spot *w)
{
	if (!s->takes_joiners || orr_inst_ready(w) <= s->shape.nodes)
		return false;
	const struct shape *better = shape_for(&s->shapes, lasting(s, w));
	return better->nodes && (double)better->step_ns < (double)s->shape.step_ns * (1 - s->gain);
}

/* Called when the interval between checkpoints has ended. */
static void checkpoint(struct checkpoint *s, struct orr_spot *w)
{
	if (!s->is_async || joiners_help(s, w)) {
		write_checkpoint(s, w, "checkpoints");
	} else if (s->copying) {
		s->is_due = true;
		train(s, w);
	} else {
		orr_spot_count(w, "checkpoints", 1);
		pause_for(s, w, SNAPSHOT, ORR_CHECKPOINT, s->snapshot_ns);
	}
}

/* Returns the number of steps that can still be done and written before an owner ends. A removal precedes timers of its instant. */
static uint64_t steps_before(const struct checkpoint *s, const struct orr_spot *w, int64_t goes_ns)
{
	int64_t left_ns = goes_ns - orr_spot_now(w) - cost_ns(s, w);
	return left_ns > 0 ? (uint64_t)((left_ns - 1) / s->shape.step_ns) : 0;
}

/* Runs the steps until the next checkpoint, which the interval or a notice makes due. */
static void train(struct checkpoint *s, struct orr_spot *w)
{
	uint64_t uncommitted = orr_steps_uncommitted(w), done = uncommitted - s->copying, left = UINT64_MAX;
	int64_t goes_ns = owner_goes_ns(s, w);
	s->owes_restart = false;
	if (!s->is_due) {
		uint64_t interval = interval_steps(s, w);
		left = interval == UINT64_MAX ? interval : interval > done ? interval - done : 0;
	}
	if (goes_ns < ORR_NEVER) {
		uint64_t room = steps_before(s, w, goes_ns);
		if (!room && uncommitted && orr_spot_now(w) + cost_ns(s, w) < goes_ns) {
			write_checkpoint(s, w, "checkpoints_on_notice");
			return;
		}
		left = room && room < left ? room : left;
	}
	if (!left) {
		checkpoint(s, w);
		return;
	}
	s->state = TRAINING;
	orr_steps_run(w, &(struct orr_steps){ .step_ns = s->shape.step_ns, .most = left == UINT64_MAX ? 0 : left });
}

/* Called when a checkpoint has committed all steps done. */
static void written(struct checkpoint *s, struct orr_spot *w)
{
	orr_commit(w, orr_steps_uncommitted(w));
	int64_t goes_ns = owner_goes_ns(s, w);
	if ((goes_ns < ORR_NEVER && !steps_before(s, w, goes_ns)) || joiners_help(s, w))
		move(s, w);
	else
		train(s, w);
}

static void copied(struct checkpoint *s, struct orr_spot *w)
{
	orr_commit(w, s->copying);
	s->copying = 0;
	if (s->is_due)
		orr_steps_last(w);
	s->is_due = false;
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	struct checkpoint *s = self;
	if (tag == TAG_COPY) {
		copied(s, w);
		return;
	}
	s->timer = 0;
	if (s->state == RESTARTING) {
		train(s, w);
	} else if (s->state == WRITING) {
		written(s, w);
	} else {
		s->copying = orr_steps_uncommitted(w);
		s->copy_timer = orr_spot_timer(w, orr_spot_now(w) + cost_ns(s, w), 1, TAG_COPY);
		train(s, w);
	}
}

static void steps(void *self, struct orr_spot *w)
{
	struct checkpoint *s = self;
	if (s->steps && orr_steps_done(w) >= s->steps)
		write_checkpoint(s, w, "checkpoints");
	else
		train(s, w);
}

/* ---- instances ---- */

static void lost(struct checkpoint *s, struct orr_spot *w)
{
	orr_steps_stop(w);
	orr_lose(w, orr_steps_uncommitted(w));
	if (s->last_loss_ns != orr_spot_now(w)) {
		s->losses++;
		s->last_loss_ns = orr_spot_now(w);
		orr_spot_count(w, "losses", 1);
	}
	s->owes_restart = true;
	stand_down(s, w);
}

/* Handles a notice to an owner: completes and writes the steps that fit before the owner is removed. If nothing can be saved, the job moves
 * immediately. */
static void take_notice(struct checkpoint *s, struct orr_spot *w, orr_inst i)
{
	struct orr_inst_info info;
	int64_t ends_ns = 0, cost = cost_ns(s, w);
	bool is_training = orr_steps_in_flight(w, NULL, &ends_ns), others_do;
	if (!orr_inst_get(w, i, &info) || !info.stages)
		return;
	others_do = shape_for(&s->shapes, lasting(s, w))->nodes > 0;
	if (is_training && ends_ns + cost < info.goes_ns) {
		orr_steps_last(w);
	} else if (is_training && orr_steps_uncommitted(w) && orr_spot_now(w) + cost < info.goes_ns) {
		orr_steps_stop(w);
		write_checkpoint(s, w, "checkpoints_on_notice");
	} else if (others_do && ((is_training && !orr_steps_uncommitted(w)) || s->state == RESTARTING)) {
		orr_steps_stop(w);
		move(s, w);
	}
}

static void instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct checkpoint *s = self;
	if (event == ORR_INST_NOTICE && s->heeds_notice)
		take_notice(s, w, i);
	else if (event == ORR_INST_GONE && orr_ownerless(w))
		lost(s, w);
}

static void decide(void *self, struct orr_spot *w)
{
	struct checkpoint *s = self;
	if (s->state == WAITING)
		set_up(s, w, false);
}

static void end(void *self, struct orr_spot *w)
{
	struct checkpoint *s = self;
	if (s->interval_ns)
		orr_spot_report(w, "checkpoint_interval_s", (double)s->interval_ns / 1e9);
	count_work(s, w);
	if (s->mtbf_ns <= 0)
		orr_spot_report(w, "mtbf_seen_s", mtbf_ns(s) / 1e9);
}

static const struct orr_spot_ops ops = {
	.create = create, .destroy = destroy, .instance = instance, .timer = timer, .steps = steps, .decide = decide, .end = end
};

ORR_POLICY_SPOT(checkpoint, "checkpoint and restart at given intervals, or Young's or Daly's", params, ops);
