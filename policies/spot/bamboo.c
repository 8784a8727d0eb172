/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bamboo.c - Bamboo: pipelines in which each node can take over its successor (Thorpe et al., NSDI 2023; uclasystem/bamboo)
 *
 * There are D pipelines of P stages. Each node also holds the layers and optimiser state of the next stage (the last node: of
 * stage 0) and computes that stage's forward pass in its bubbles. The shadow of a lost node, the node before it, takes over the
 * lost stage. A loss that leaves a stage without a holder is fatal: all nodes join a new rendezvous, and training restarts from
 * the last checkpoint. At the end of a step the nodes regroup if the reconfiguration rule requires it.
 *
 * rules=authors: the simulator published with Bamboo, in whole milliseconds, without checkpoints; each of its deviations is an
 * option (compat_timers, stale_steps, keep_waiting, ignore_orphans, slowdown_any). rules=clean: the same with slowdown_any as
 * the only deviation. rules=event: step times (redundant, degraded) and failover times of the job, checkpoints and rollback.
 * docs/models/spot-bamboo.md.
 */
#include "bamboo.h"

enum { TAG_CHECKPOINT = 1, TAG_SAFE, TAG_RESUME, OWN_RANK = 2 };

/* ---- the artifact's book-keeping ---- */

static void book_steps(struct bamboo *b, struct orr_spot *w)
{
	uint64_t begun = orr_steps_done(w) - b->book.done_before + b->book.goes_on;
	if (begun <= b->book.counted)
		return;
	b->book.steps_ns += (double)(begun - b->book.counted) * (double)b->step_ns;
	b->book.counted = begun;
}

static void book_pause(struct bamboo *b, enum rdv_kind kind)
{
	*(kind == RDV_LOCAL ? &b->book.local_ns : &b->book.global_ns) += (double)b->r.length_ns[kind];
}

static void report_book(const struct bamboo *b, struct orr_spot *w)
{
	const struct book *k = &b->book;
	double sum = k->steps_ns + k->local_ns + k->global_ns + k->fallback_ns;
	if (sum <= 0)
		return;
	orr_spot_report(w, "booked_effective", k->steps_ns * (1 - b->redundant) / sum);
	orr_spot_report(w, "booked_redundant", k->steps_ns * b->redundant / sum);
	orr_spot_report(w, "booked_rebalance", k->local_ns / sum);
	orr_spot_report(w, "booked_restart", k->global_ns / sum);
	orr_spot_report(w, "booked_fallback", k->fallback_ns / sum);
}

/* ---- running ---- */

static void run_on(struct bamboo *b, struct orr_spot *w)
{
	double redundant = b->redundant;
	if (redundant <= 0 && b->curve < 0)
		redundant = orr_step_redundant(w, b->r.pipelines, b->depth);
	b->book.done_before = orr_steps_done(w);
	b->book.counted = 0;
	b->book.goes_on = true;
	orr_steps_run(w,
		&(struct orr_steps){ .step_ns = b->step_ns, .redundant = redundant, .flags = b->has_stale_steps ? ORR_STEPS_ORPHANED : 0 });
	if (b->curve >= 0)
		book_steps(b, w);
}

static void stop_steps(struct bamboo *b, struct orr_spot *w)
{
	if (b->curve >= 0)
		book_steps(b, w);
	b->book.goes_on = false;
	orr_steps_stop(w);
}

static void meet(struct bamboo *b, struct orr_spot *w, enum rdv_kind kind)
{
	if (kind == RDV_GLOBAL) {
		b->r.length_ns[kind] = b->global_ns;
		if (b->is_restarting && b->rolls_back)
			b->r.length_ns[kind] += b->restart_ns + orr_checkpoint_time(w, orr_inst_ready(w));
	}
	book_pause(b, kind);
	b->count.reconfigurations += kind == RDV_LOCAL;
	orr_pause_as(w, b->is_restarting ? ORR_RESTART : ORR_RECONFIGURE);
	rdv_start(&b->r, w, kind);
}

/* Schedules a check after a change of instances: the rule is applied at the end of the step in flight. */
static void judge_soon(struct bamboo *b, struct orr_spot *w)
{
	if (orr_steps_in_flight(w, NULL, NULL) && (b->is_pause_due || bamboo_should_regroup(b, w)))
		orr_steps_last(w);
}

static void lay_out(struct bamboo *b, struct orr_spot *w, uint32_t d)
{
	uint32_t n = d * b->depth;
	if (b->per_node > 1 && n > b->cap_owner) {
		b->owner = orr_realloc(b->owner, n, sizeof *b->owner);
		b->cap_owner = n;
	}
	for (uint32_t i = 0; b->per_node > 1 && i < n; i++)
		b->owner[i] = b->r.holder[i / b->per_node];
	b->is_laid_out = n > 0;
	orr_layout(w, d, n ? b->depth : 0, !n ? NULL : b->per_node > 1 ? b->owner : b->r.holder);
	orr_spot_event(w, "layout", "%u pipelines of %u stages, %u waiting", d, b->depth, b->r.n_members - d * b->r.depth);
}

/* Handles the loss of a step at whose end a checkpoint was due: the checkpoint becomes due as soon as training continues. */
static void repeat_checkpoint(struct bamboo *b, struct orr_spot *w)
{
	if (b->is_pause_due)
		b->checkpoint_timer = orr_spot_timer(w, orr_spot_now(w), OWN_RANK, TAG_CHECKPOINT);
	b->is_pause_due = false;
}

/* Loses the steps since the last checkpoint, from which training restarts. */
static void roll_back(struct bamboo *b, struct orr_spot *w)
{
	repeat_checkpoint(b, w);
	if (!b->rolls_back)
		return;
	orr_lose(w, orr_steps_uncommitted(w));
	b->is_writing = false;
	b->is_restarting = b->step_ns > 0;
}

/* Forms as many pipelines as possible from the members. The step in flight is lost. */
static void assemble(struct bamboo *b, struct orr_spot *w)
{
	stop_steps(b, w);
	b->is_slow = b->shadow_noticed = false;
	uint32_t d = bamboo_pipelines(b, w, b->r.n_members), waiting = b->r.n_members - d * b->r.depth;
	placement_sort(w, b->r.member, b->r.n_members, b->r.depth, b->placement);
	rdv_assign(&b->r, w, d);
	lay_out(b, w, d);
	rdv_settle(&b->r, w, d > 0, waiting);
	if (!d) {
		roll_back(b, w);
		return;
	}
	b->is_restarting = false;
	if (b->rolls_back && !b->step_ns)
		orr_spot_timer(w, orr_spot_now(w) + b->every_ns, OWN_RANK, TAG_CHECKPOINT);
	b->step_ns = bamboo_step_time(b, w, d, ORR_STEP_REDUNDANT);
	run_on(b, w);
	repeat_checkpoint(b, w);
}

/* ---- losses ---- */

/* Slows the steps to the pace of a pipeline in which one node computes two stages. With rules=event, a failover precedes the slower
 * steps. */
static void slow_down(struct bamboo *b, struct orr_spot *w, bool had_notice)
{
	int64_t ends = 0, now = orr_spot_now(w), rest = 0, pace = b->step_ns, stretch = 0;
	uint32_t d = b->r.pipelines;
	if (b->curve >= 0)
		book_steps(b, w);
	if (orr_steps_in_flight(w, NULL, &ends))
		rest = ends - now;
	if (!b->is_slow && b->is_event) {
		int64_t degraded = b->curve < 0 ? bamboo_step_time(b, w, d, ORR_STEP_DEGRADED) : 0;
		double factor = degraded > 0 ? (double)degraded / (double)b->step_ns : b->slowdown;
		stretch = (int64_t)((factor - 1) * (double)rest);
		pace = (int64_t)(factor * (double)b->step_ns);
	} else if (!b->is_slow) {
		stretch = whole_ms((b->slowdown - 1) * (double)(rest / MS));
		pace = whole_ms(b->slowdown * (double)(b->step_ns / MS));
	}
	if (b->is_event && !had_notice) {
		int64_t failover = orr_step_failover(w, d, b->depth);
		stretch += failover;
		b->count.failover_ns += failover;
	}
	b->is_slow = true;
	b->step_ns = pace;
	if (!orr_steps_in_flight(w, NULL, NULL))
		return;
	orr_steps_stretch(w, stretch > 0 ? stretch : 0);
	orr_steps_pace(w, pace);
}

static void fail(struct bamboo *b, struct orr_spot *w)
{
	b->count.fatal++;
	orr_spot_event(w, "fatal", "no live node holds a stage");
	if (!b->has_stale_steps)
		stop_steps(b, w);
	roll_back(b, w);
	b->is_restarting = true;
	meet(b, w, RDV_GLOBAL);
}

static void take_over(struct bamboo *b, struct orr_spot *w, uint32_t at, orr_inst heir)
{
	b->count.takeovers++;
	uint32_t d = at / b->r.depth, first = at % b->r.depth * b->per_node;
	for (uint32_t s = 0; b->is_laid_out && s < b->per_node; s++)
		orr_own(w, d, first + s, heir);
}

static void lost(struct bamboo *b, struct orr_spot *w, orr_inst i)
{
	bool was_running = b->r.state == RDV_RUNNING;
	orr_inst heir = 0;
	uint32_t at = 0;
	enum rdv_loss loss = RDV_NO_PART;
	b->book.fallback_ns += (double)b->step_ns;
	/* With rules=event, nodes that restart from a checkpoint hold no stage yet. */
	if (!(b->is_event && b->is_restarting))
		loss = rdv_lose(&b->r, w, i, &at, &heir);
	rdv_gone(&b->r, i);
	if (loss == RDV_TAKEN_OVER)
		take_over(b, w, at, heir);
	if (loss == RDV_FATAL)
		fail(b, w);
	else if (was_running && (loss == RDV_TAKEN_OVER || b->slows_for_any) && (!b->is_slow || b->is_event))
		slow_down(b, w, orr_inst_is_noticed(w, i));
	judge_soon(b, w);
}

static void instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct bamboo *b = self;
	switch (event) {
	case ORR_INST_ADDED:
		break;
	case ORR_INST_READY:
		if (rdv_ready(&b->r, w, i))
			meet(b, w, RDV_GLOBAL);
		else
			judge_soon(b, w);
		break;
	case ORR_INST_NOTICE:
		b->shadow_noticed |= rdv_is_shadow(&b->r, i);
		judge_soon(b, w);
		break;
	case ORR_INST_GONE:
		lost(b, w, i);
		break;
	}
}

/* ---- checkpoints: written during training, valid when complete ---- */

static int64_t write_time(const struct bamboo *b, const struct orr_spot *w)
{
	return b->write_ns ? b->write_ns : orr_checkpoint_time(w, orr_inst_ready(w));
}

static void write_checkpoint(struct bamboo *b, struct orr_spot *w)
{
	if (b->is_writing)
		return;
	int64_t took = write_time(b, w);
	b->is_writing = true;
	b->writing = orr_steps_uncommitted(w);
	b->began_write_ns = orr_spot_now(w);
	orr_spot_cancel(w, b->checkpoint_timer);
	b->checkpoint_timer = orr_spot_timer(w, b->began_write_ns + took, OWN_RANK, TAG_SAFE);
	b->count.checkpoints++;
}

static void next_checkpoint(struct bamboo *b, struct orr_spot *w)
{
	int64_t at = b->began_write_ns + b->every_ns, now = orr_spot_now(w);
	b->checkpoint_timer = orr_spot_timer(w, at > now ? at : now, OWN_RANK, TAG_CHECKPOINT);
}

static bool has_done_all(const struct bamboo *b, const struct orr_spot *w)
{
	return b->job_steps && orr_steps_done(w) >= b->job_steps && orr_steps_uncommitted(w);
}

static void checkpoint(struct bamboo *b, struct orr_spot *w, uint64_t tag)
{
	switch (tag) {
	case TAG_CHECKPOINT:
		if (!orr_steps_uncommitted(w)) {
			b->began_write_ns = orr_spot_now(w);
			next_checkpoint(b, w);
		} else if ((b->pause_ns || b->is_sync) && orr_steps_in_flight(w, NULL, NULL)) {
			b->is_pause_due = true;
			orr_steps_last(w);
		} else {
			write_checkpoint(b, w);
		}
		break;
	case TAG_SAFE:
		if (b->is_writing) {
			b->is_writing = false;
			orr_commit(w, b->writing);
		}
		if (has_done_all(b, w))
			write_checkpoint(b, w);
		else
			next_checkpoint(b, w);
		break;
	case TAG_RESUME:
		if (b->r.state != RDV_RUNNING || orr_steps_in_flight(w, NULL, NULL))
			break;
		if (bamboo_should_regroup(b, w))
			meet(b, w, RDV_LOCAL);
		else
			run_on(b, w);
		break;
	}
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	struct bamboo *b = self;
	if (!rdv_is_timer(tag))
		checkpoint(b, w, tag);
	else if (rdv_fires(&b->r, w, tag))
		assemble(b, w);
	else
		book_pause(b, b->r.kind);
}

static void steps(void *self, struct orr_spot *w)
{
	struct bamboo *b = self;
	b->book.goes_on = false;
	if (b->curve >= 0)
		book_steps(b, w);
	if (has_done_all(b, w)) {
		orr_pause_as(w, ORR_CHECKPOINT); /* the job ends when this checkpoint is complete */
		write_checkpoint(b, w);
		return;
	}
	if (b->is_pause_due) {
		b->is_pause_due = false;
		orr_pause_as(w, ORR_CHECKPOINT);
		write_checkpoint(b, w);
		orr_spot_timer(w, orr_spot_now(w) + (b->is_sync ? write_time(b, w) : b->pause_ns), OWN_RANK, TAG_RESUME);
		return;
	}
	if (bamboo_should_regroup(b, w))
		meet(b, w, RDV_LOCAL);
	else
		run_on(b, w);
}

static void end(void *self, struct orr_spot *w)
{
	struct bamboo *b = self;
	orr_spot_report(w, "fatal", (double)b->count.fatal);
	orr_spot_report(w, "takeovers", (double)b->count.takeovers);
	orr_spot_report(w, "reconfigurations", (double)b->count.reconfigurations);
	orr_spot_report(w, "rendezvous", (double)b->r.version);
	if (b->is_event)
		orr_spot_report(w, "failover_s", (double)b->count.failover_ns / 1e9);
	if (b->rolls_back)
		orr_spot_report(w, "checkpoints", (double)b->count.checkpoints);
	if (b->curve < 0)
		return;
	book_steps(b, w);
	report_book(b, w);
}

/* ---- begin and end ---- */

static void destroy(void *self)
{
	struct bamboo *b = self;
	rdv_free(&b->r);
	orr_free(b->owner);
	orr_free(b);
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct bamboo *b = orr_alloc(1, sizeof *b);
	if (!bamboo_read(b, w, args, err)) {
		destroy(b);
		return NULL;
	}
	orr_state_from_peers(w, b->per_node);
	if (b->rolls_back)
		orr_steps_are_provisional(w);
	return b;
}

static const struct orr_spot_ops ops = {
	.create = create, .destroy = destroy, .instance = instance, .timer = timer, .steps = steps, .end = end
};

ORR_POLICY_SPOT(bamboo, "pipelines whose nodes also store and partly compute their successor's stage", bamboo_settings, ops);
