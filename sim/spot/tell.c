/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls to the policy. */
#include "spot/world.h"

#define CALL(w, number, what, ...)                                                \
	do {                                                                      \
		uint64_t call = watch_enter((w)->watch, #what, (w)->now, number); \
		(w)->is_acting = true;                                            \
		(w)->ops->what(__VA_ARGS__);                                      \
		(w)->is_acting = false;                                           \
		watch_leave((w)->watch, call);                                    \
	} while (0)

void tell_create(struct orr_spot *w, const struct orr_args *args)
{
	struct orr_error err = { 0 };
	uint64_t call = watch_enter(w->watch, "create", w->now, UINT64_MAX);
	w->is_acting = true;
	w->self = w->ops->create(w, args, &err);
	w->is_acting = false;
	watch_leave(w->watch, call);
	if (w->self || w->error.code)
		return;
	orr_fail(&w->error, err.code ? err.code : ORR_EINPUT, "policy %.100s: %s", w->label,
		err.text[0] ? err.text : "create() returned NULL without an error message: expected an object, or *err filled in");
	w->is_over = true;
}

void tell_instance(struct orr_spot *w, uint32_t slot, enum orr_inst_event event)
{
	if (!w->ops->instance || w->is_over)
		return;
	w->is_noticing = event == ORR_INST_NOTICE;
	CALL(w, w->slot[slot].number, instance, w->self, w, slot_handle(w, slot), event);
	w->is_noticing = false;
}

void tell_added(struct orr_spot *w)
{
	while (w->added_told < w->n_added && !w->is_over) {
		orr_inst i = w->added[w->added_told++];
		uint32_t slot = orr_inst_slot(i);
		if (!orr_inst_is_live(w, i))
			continue;
		w->has_happened = true;
		tell_instance(w, slot, ORR_INST_ADDED);
		/* The removal of an instance may already be known when its offer is taken. */
		if (w->slot[slot].goes < ORR_NEVER && orr_inst_is_live(w, i)) {
			w->slot[slot].has_notice = true;
			tell_instance(w, slot, ORR_INST_NOTICE);
		}
	}
	w->n_added = w->added_told = 0;
}

void plan_timers(struct orr_spot *w)
{
	w->timer_at = ORR_NEVER;
	if (eng_pending(w->engine))
		eng_next_time(w->engine, &w->timer_at);
}

void on_timer(struct engine *e, void *ctx, uint64_t tag, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_spot *w = ctx;
	plan_timers(w);
	if (w->is_over)
		return;
	w->has_happened = true;
	if (w->ops->timer)
		CALL(w, UINT64_MAX, timer, w->self, w, tag);
	tell_added(w);
}

void tell_steps(struct orr_spot *w)
{
	if (!w->steps.has_ended || w->is_over)
		return;
	w->steps.has_ended = false;
	w->has_happened = true;
	if (w->ops->steps)
		CALL(w, UINT64_MAX, steps, w->self, w);
	tell_added(w);
}

void tell_decide(struct orr_spot *w)
{
	w->has_happened = false;
	if (w->ops->decide && !w->is_over)
		CALL(w, UINT64_MAX, decide, w->self, w);
	tell_added(w);
}

void tell_destroy(struct orr_spot *w)
{
	if (!w->self)
		return;
	uint64_t call = watch_enter(w->watch, "destroy", w->now, UINT64_MAX);
	w->ops->destroy(w->self);
	watch_leave(w->watch, call);
}

void tell_end(struct orr_spot *w)
{
	w->is_ending = true;
	if (w->ops->end && !w->error.code)
		CALL(w, UINT64_MAX, end, w->self, w);
}
