/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "late.h"

#include <math.h>

enum tag { TAG_PROBE, TAG_START, TAG_WAKE };

/* ---- the job ---- */

static bool read_shape(struct late *l, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_elastic_info job;
	orr_elastic_get(w, &job);
	uint32_t asked = (uint32_t)orr_arg_int(args, "nodes");
	l->depth = job.depth ? job.depth : 1;
	l->pipelines = job.pipelines ? job.pipelines : 1;
	if (asked && asked % l->depth)
		return orr_fail(err, ORR_EINPUT, "nodes: expected a multiple of the job's depth %u, found %u", l->depth, asked), false;
	if (asked)
		l->pipelines = asked / l->depth;
	l->nodes = l->pipelines * l->depth;
	l->step_ns = orr_step_time(w, l->pipelines, l->depth, ORR_STEP_PLAIN);
	if (!l->step_ns)
		return orr_fail(err, ORR_EINPUT, "job %s has no step of %u x %u (pipelines x depth): expected another number in \"nodes\"",
			       job.name, l->pipelines, l->depth),
		       false;
	if (!job.steps)
		return orr_fail(err, ORR_EINPUT, "job %s has no end: expected a job with \"work\" or \"steps\"", job.name), false;
	double suggested_h = orr_figure(w, "cbl.deadline_h");
	if (job.deadline_ns == ORR_NEVER && suggested_h > 0)
		return orr_fail(err, ORR_EINPUT, "no deadline is given: expected spot.deadline (cbl.deadline_h of the job is %gh)",
			       suggested_h),
		       false;
	if (job.deadline_ns == ORR_NEVER)
		return orr_fail(err, ORR_EINPUT, "no deadline is given: expected spot.deadline"), false;
	if ((double)job.steps * (double)l->step_ns > 4e18)
		return orr_fail(
			       err, ORR_EINPUT, "job %s takes longer than 146 years, the range of the clock: expected less work", job.name),
		       false;
	l->work_ns = (int64_t)job.steps * l->step_ns;
	l->deadline_ns = job.deadline_ns;
	return true;
}

bool late_begin(struct late *l, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	if (!read_shape(l, w, args, err))
		return false;
	l->member = orr_alloc(l->nodes, sizeof *l->member);
	l->restart_ns = orr_arg_time_ns(args, "changeover");
	l->probe_ns = orr_arg_time_ns(args, "probe");
	if (l->probe_ns < ORR_SECOND / 1000)
		return orr_fail(err, ORR_EINPUT, "probe: expected at least 1ms"), false;
	l->spot_changeover_ns = orr_startup_time(w, false) + l->restart_ns;
	l->on_demand_changeover_ns = orr_startup_time(w, true) + l->restart_ns;
	int64_t lost = l->spot_changeover_ns + l->step_ns;
	l->reserve_ns = l->on_demand_changeover_ns + (lost > l->probe_ns ? lost : l->probe_ns);
	l->is_due = true;
	orr_want(w, ORR_ANY_ZONE, 0);
	return true;
}

void late_destroy(void *self)
{
	struct late *l = self;
	if (l && l->free)
		l->free(l);
	if (l)
		orr_free(l->member);
	orr_free(l);
}

int64_t late_done(const struct late *l, const struct orr_spot *w)
{
	return (int64_t)orr_steps_done(w) * l->step_ns;
}

int64_t late_left(const struct late *l, const struct orr_spot *w)
{
	return l->work_ns - late_done(l, w);
}

int64_t late_whole_steps(const struct late *l, double work_ns)
{
	int64_t work = (int64_t)ceil(work_ns / (double)l->step_ns - 1e-9) * l->step_ns;
	return work < l->work_ns ? work : l->work_ns;
}

bool late_is_available(struct late *l, const struct orr_spot *w)
{
	bool is_any = false;
	for (uint32_t z = 0; z < orr_zones(w); z++)
		if (orr_offers(w, z) >= l->nodes && (!is_any || orr_spot_price(w, z) < orr_spot_price(w, l->zone))) {
			l->zone = z;
			is_any = true;
		}
	return is_any;
}

void late_wake(struct orr_spot *w, int64_t at_ns)
{
	orr_spot_timer(w, at_ns, 7, TAG_WAKE);
}

/* ---- changing over ---- */

static void begin_steps(struct late *l, struct orr_spot *w)
{
	l->start_timer = 0;
	l->steps_before = orr_steps_done(w);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = l->step_ns });
}

static void gather(struct late *l, struct orr_spot *w)
{
	orr_layout(w, l->pipelines, l->depth, l->member);
	orr_pause_as(w, ORR_RESTART);
	l->changeovers++;
	if (l->restart_ns)
		l->start_timer = orr_spot_timer(w, orr_spot_now(w) + l->restart_ns, 0, TAG_START);
	else
		begin_steps(l, w);
}

/* Releases all instances. */
static void leave(struct late *l, struct orr_spot *w)
{
	if (orr_steps_in_flight(w, NULL, NULL))
		l->progress_ns[l->state] += (int64_t)(orr_steps_done(w) - l->steps_before) * l->step_ns;
	orr_steps_stop(w);
	orr_layout(w, 0, 0, NULL);
	orr_pause_as(w, ORR_IDLE);
	if (l->start_timer)
		orr_spot_cancel(w, l->start_timer);
	for (uint32_t i = 0; i < l->members; i++)
		orr_release(w, l->member[i]);
	l->start_timer = 0;
	l->members = l->ready = l->awaited = 0;
	l->state = LATE_IDLE;
	l->is_lost = false;
}

static void go(struct late *l, struct orr_spot *w, enum late_state state)
{
	if (state == l->state)
		return;
	leave(l, w);
	if (state == LATE_IDLE)
		return;
	uint32_t got = state == LATE_SPOT ? orr_request(w, l->zone, l->nodes) : orr_request_on_demand(w, l->zone, l->nodes);
	/* An incomplete gang cannot train, so its instances are released as soon as they are reported. */
	l->awaited = got == l->nodes ? got : 0;
	if (l->awaited)
		l->state = state;
	else if (state == LATE_ON_DEMAND)
		orr_spot_give_up(w, "fewer on-demand instances than the job needs: expected a larger spot.on_demand_quota");
}

void late_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct late *l = self;
	if (event == ORR_INST_ADDED) {
		if (l->members < l->awaited)
			l->member[l->members++] = i;
		else
			orr_release(w, i);
	} else if (event == ORR_INST_READY) {
		if (++l->ready == l->nodes && !l->is_lost)
			gather(l, w);
	} else if (event == ORR_INST_GONE) {
		/* A step that ends now still counts; decide() handles the rest. */
		uint32_t k = 0;
		while (k < l->members && l->member[k] != i)
			k++;
		if (k < l->members)
			l->member[k] = l->member[--l->members];
		l->is_lost = l->is_due = true;
	}
}

void late_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	struct late *l = self;
	if (tag != TAG_START) {
		l->is_due = true;
		if (tag == TAG_PROBE)
			l->probe_timer = 0;
	} else if (!l->is_lost) {
		begin_steps(l, w);
	}
}

/* ---- choice of the next state ---- */

static enum late_state wanted(struct late *l, struct orr_spot *w)
{
	if (!l->is_planned && l->state == LATE_SPOT)
		return LATE_SPOT;
	if (!l->is_planned && l->deadline_ns - orr_spot_now(w) < late_left(l, w) + l->reserve_ns)
		return LATE_ON_DEMAND;
	enum late_state state = l->rule(l, w);
	if (state == LATE_SPOT && l->state != LATE_SPOT && !late_is_available(l, w))
		return l->state;
	return state;
}

void late_decide(void *self, struct orr_spot *w)
{
	struct late *l = self;
	if (l->is_lost)
		leave(l, w);
	if (!l->is_due)
		return;
	l->is_due = false;
	go(l, w, wanted(l, w));
	if (l->state == LATE_SPOT || l->is_planned || l->probe_timer)
		return;
	l->probe_timer = orr_spot_timer(w, (orr_spot_now(w) / l->probe_ns + 1) * l->probe_ns, 1, TAG_PROBE);
}

void late_finish(void *self, struct orr_spot *w)
{
	struct late *l = self;
	if (l->state != LATE_IDLE && !l->start_timer && l->ready == l->nodes)
		l->progress_ns[l->state] += (int64_t)(orr_steps_done(w) - l->steps_before) * l->step_ns;
	orr_spot_report(w, "spot_progress_h", (double)l->progress_ns[LATE_SPOT] / 3600e9);
	orr_spot_report(w, "on_demand_progress_h", (double)l->progress_ns[LATE_ON_DEMAND] / 3600e9);
	orr_spot_report(w, "changeovers", (double)l->changeovers);
}

/* ---- greedy in slices ---- */

enum late_state late_in_slices(struct late *l, struct orr_spot *w, struct late_slices *s)
{
	int64_t now = orr_spot_now(w), done = late_done(l, w);
	double slice_ns = (double)(l->deadline_ns - s->start_ns) / s->n, share_ns = (double)(l->work_ns - s->work_before_ns) / s->n;
	int64_t i = (int64_t)((double)(now - s->start_ns) / slice_ns);
	if (i >= s->n)
		i = s->n - 1;
	/* tolerance of 1 ns, so that the start of a slice belongs to the slice */
	int64_t end_ns = s->start_ns + (int64_t)ceil((double)(i + 1) * slice_ns);
	int64_t left = late_whole_steps(l, (double)s->work_before_ns + (double)(i + 1) * share_ns) - done;
	if (i + 1 < s->n)
		late_wake(w, end_ns > now ? end_ns : now + 1);
	bool is_available = late_is_available(l, w);
	if (left <= 0)
		return is_available && s->takes_surplus ? LATE_SPOT : LATE_IDLE;
	bool must = end_ns - now < left + l->reserve_ns || (l->state == LATE_ON_DEMAND && s->on_demand_slice == i);
	if (!must)
		return is_available ? LATE_SPOT : LATE_IDLE;
	s->on_demand_slice = i;
	/* Sets a wake-up at the time at which the slice's share will be complete; exact unless a change-over comes first. */
	late_wake(w, now + left + (l->state == LATE_ON_DEMAND ? 0 : l->on_demand_changeover_ns));
	return LATE_ON_DEMAND;
}
