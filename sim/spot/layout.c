/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stages of the job and their owners. */
#include "spot/world.h"

#include "base/mem.h"

enum { MAX_STAGES = 1 << 24 };

/* ---- one stage ---- */

static void give(struct orr_spot *w, uint32_t stage, uint32_t slot)
{
	struct slot *s = &w->slot[slot];
	w->has_moved = true;
	w->stage[stage] = (struct stage){ .owner = slot, .next = s->first_stage };
	s->first_stage = stage;
	if (!s->stages++ && s->role != ROLE_OWNER)
		spot_inst_set_role(w, s, ROLE_OWNER);
}

static void take_away(struct orr_spot *w, uint32_t stage)
{
	struct slot *s = &w->slot[w->stage[stage].owner];
	uint32_t *at = &s->first_stage;
	w->has_moved = true;
	while (*at != stage)
		at = &w->stage[*at].next;
	*at = w->stage[stage].next;
	w->stage[stage].owner = NONE;
	if (!--s->stages && s->state == SLOT_READY)
		spot_inst_set_role(w, s, ROLE_IDLE);
}

void layout_forget(struct orr_spot *w, uint32_t slot)
{
	struct slot *s = &w->slot[slot];
	for (uint32_t i = s->first_stage; i != NONE; i = w->stage[i].next) {
		w->stage[i].owner = NONE;
		w->ownerless++;
	}
	s->first_stage = NONE;
	s->stages = 0;
	w->has_moved = true;
}

void layout_free(struct orr_spot *w)
{
	mem_free(w->stage);
	mem_free(w->spare);
	mem_free(w->is_dropped);
}

/* ---- actions ---- */

/* Returns whether instance i can own a stage now; if not, fails the run. */
static bool can_own(struct orr_spot *w, orr_inst i, const char *what, uint32_t pipeline, uint32_t stage)
{
	const struct slot *s = slot_of_handle(w, i, what);
	if (s && s->state == SLOT_READY)
		return true;
	if (s)
		spot_fail(w, ORR_EFAIL, s, "%s: the owner of stage %u of pipeline %u is still starting: expected an instance that is ready",
			what, stage, pipeline);
	return false;
}

/* Swaps the two layouts. Returns the stages of the old layout, which stay valid until the next swap. */
static const struct stage *put_aside(struct orr_spot *w, uint32_t pipelines, uint32_t stages)
{
	struct stage *old = w->stage;
	if (stages > w->cap_spare) {
		w->spare = mem_realloc(w->spare, stages, sizeof *w->spare);
		w->cap_spare = stages;
	}
	if (pipelines > w->cap_pipelines) {
		w->is_dropped = mem_realloc(w->is_dropped, pipelines, sizeof *w->is_dropped);
		w->cap_pipelines = pipelines;
	}
	uint32_t cap = w->cap_stages;
	w->stage = w->spare;
	w->cap_stages = w->cap_spare;
	w->spare = old;
	w->cap_spare = cap;
	return old;
}

/* Handles an owner that has no stage in the new layout. */
static void stand_by(struct orr_spot *w, struct slot *s)
{
	if (!s->stages)
		return;
	s->stages = 0;
	s->first_stage = NONE;
	spot_inst_set_role(w, s, ROLE_IDLE);
}

void orr_layout(struct orr_spot *w, uint32_t pipelines, uint32_t depth, const orr_inst *owner)
{
	if (!spot_may_act(w, "orr_layout()"))
		return;
	if ((uint64_t)pipelines * depth > MAX_STAGES) {
		spot_fail(w, ORR_EFAIL, NULL, "orr_layout(): %u x %u stages: expected at most %d", pipelines, depth, MAX_STAGES);
		return;
	}
	if (pipelines && depth && !owner) {
		spot_fail(w, ORR_EFAIL, NULL, "orr_layout(): owners is NULL: expected owners of %u x %u stages", pipelines, depth);
		return;
	}
	if (w->steps.is_in_flight && !(w->steps.flags & ORR_STEPS_ORPHANED)) {
		spot_fail(w, ORR_EFAIL, NULL, "orr_layout() while a step is in flight: expected orr_steps_stop() before");
		return;
	}
	uint32_t n = pipelines * depth, n_old = w->n_stages, epoch = ++w->layouts;
	if (!n)
		pipelines = depth = 0;
	const struct stage *old = put_aside(w, pipelines, n);
	w->n_stages = w->ownerless = w->n_dropped = 0;
	w->has_moved = true;
	struct slot *slots = w->slot;
	struct stage *stage = w->stage;
	const uint32_t n_slots = w->n_slots;
	uint32_t i = 0;
	for (; i < n; i++) {
		uint32_t slot = orr_inst_slot(owner[i]);
		bool is_ready = slot < n_slots && slots[slot].state == SLOT_READY && slots[slot].generation == (uint32_t)(owner[i] >> 32);
		if (!is_ready && !can_own(w, owner[i], "orr_layout()", i / depth, i % depth))
			break;
		struct slot *s = &slots[slot];
		if (s->layout != epoch) { /* first stage of the owner */
			s->layout = epoch;
			s->stages = 0;
			s->first_stage = NONE;
			if (s->role != ROLE_OWNER)
				spot_inst_set_role(w, s, ROLE_OWNER);
		}
		stage[i] = (struct stage){ slot, s->first_stage };
		s->first_stage = i;
		s->stages++;
	}
	w->n_stages = i;
	for (i = 0; i < n_old; i++)
		if (old[i].owner != NONE && slots[old[i].owner].layout != epoch)
			stand_by(w, &slots[old[i].owner]);
	for (uint32_t d = 0; d < pipelines; d++)
		w->is_dropped[d] = false;
	/* After an error the policy may still query owners: no stage has an owner. */
	w->pipelines = w->n_stages == n ? pipelines : 0;
	w->depth = w->n_stages == n ? depth : 0;
}

static bool check_stage(struct orr_spot *w, uint32_t pipeline, uint32_t stage, const char *what)
{
	if (pipeline < w->pipelines && stage < w->depth && !w->is_dropped[pipeline])
		return true;
	if (pipeline < w->pipelines && stage < w->depth)
		spot_fail(w, ORR_EFAIL, NULL, "%s: pipeline %u was dropped: expected a remaining pipeline of the layout", what, pipeline);
	else
		spot_fail(w, ORR_EFAIL, NULL, "%s: stage %u of pipeline %u: expected one of the layout's %u x %u", what, stage, pipeline,
			w->pipelines, w->depth);
	return false;
}

void orr_own(struct orr_spot *w, uint32_t pipeline, uint32_t stage, orr_inst i)
{
	char name[AVAIL_NAME_MAX];
	if (!spot_may_act(w, "orr_own()") || !check_stage(w, pipeline, stage, "orr_own()") || !can_own(w, i, "orr_own()", pipeline, stage))
		return;
	uint32_t at = pipeline * w->depth + stage;
	if (w->stage[at].owner != NONE) {
		spot_fail(w, ORR_EFAIL, &w->slot[orr_inst_slot(i)],
			"orr_own(): stage %u of pipeline %u has an owner, %s: expected orr_disown() before", stage, pipeline,
			slot_name(w, &w->slot[w->stage[at].owner], name));
		return;
	}
	give(w, at, orr_inst_slot(i));
	w->ownerless--;
}

void orr_disown(struct orr_spot *w, uint32_t pipeline, uint32_t stage, orr_inst to)
{
	if (!spot_may_act(w, "orr_disown()") || !check_stage(w, pipeline, stage, "orr_disown()"))
		return;
	if (to && !can_own(w, to, "orr_disown()", pipeline, stage))
		return;
	uint32_t at = pipeline * w->depth + stage;
	if (w->stage[at].owner == NONE) {
		spot_fail(w, ORR_EFAIL, NULL, "orr_disown(): stage %u of pipeline %u has no owner: expected orr_own() before", stage,
			pipeline);
		return;
	}
	take_away(w, at);
	w->ownerless++;
	if (to)
		orr_own(w, pipeline, stage, to);
}

void orr_drop_pipeline(struct orr_spot *w, uint32_t pipeline)
{
	if (!spot_may_act(w, "orr_drop_pipeline()") || !check_stage(w, pipeline, 0, "orr_drop_pipeline()"))
		return;
	for (uint32_t s = 0; s < w->depth; s++) {
		uint32_t at = pipeline * w->depth + s;
		if (w->stage[at].owner != NONE)
			take_away(w, at);
		else
			w->ownerless--;
	}
	w->is_dropped[pipeline] = w->has_moved = true;
	w->n_dropped++;
}

/* ---- queries ---- */

orr_inst orr_owner(const struct orr_spot *w, uint32_t pipeline, uint32_t stage)
{
	if (pipeline >= w->pipelines || stage >= w->depth)
		return 0;
	uint32_t slot = w->stage[pipeline * w->depth + stage].owner;
	return slot == NONE ? 0 : slot_handle(w, slot);
}

void orr_shape(const struct orr_spot *w, uint32_t *pipelines, uint32_t *depth)
{
	*pipelines = w->pipelines;
	*depth = w->depth;
}

uint32_t orr_ownerless(const struct orr_spot *w)
{
	return w->ownerless;
}
