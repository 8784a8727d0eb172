/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The future, for policies that declare the oracle: a second pass over the trace, up to the time that the policy requests. */
#include "spot/world.h"

#include "base/mem.h"

struct event {
	int64_t t;
	uint32_t zone, instance;
	int32_t change;
};

struct future {
	struct availcursor *cursor;
	struct event *event;
	size_t n, cap, passed; /* passed: number of events before the present time */
	bool has_ended;
	int64_t *end; /* end of each instance of the trace; 0: unknown */
	uint32_t cap_end;
};

static void set_end(struct future *f, uint32_t instance, int64_t t)
{
	if (instance >= f->cap_end) {
		uint32_t more = instance + instance / 2 + 64;
		f->end = mem_realloc(f->end, more, sizeof *f->end);
		for (uint32_t i = f->cap_end; i < more; i++)
			f->end[i] = 0;
		f->cap_end = more;
	}
	f->end[instance] = t ? t : 1;
}

/* Reads events up to and including t. Returns false if the policy may not see them. */
static bool read_to(struct orr_spot *w, int64_t t, const char *what)
{
	if (w->error.code)
		return false;
	if (!w->may_see) {
		spot_fail(w, ORR_EFAIL, NULL,
			"%s: this function reads the future: expected a policy that declares ORR_NEEDS_ORACLE or ORR_MAY_ORACLE", what);
		return false;
	}
	if (t > INT64_MAX / 2 && w->until == ORR_NEVER && !availset_has_end(w->config->capacity)) {
		spot_fail(w, ORR_EFAIL, NULL,
			"%s: this function reads the whole future, and the trace has no end: expected length=.. or --until", what);
		return false;
	}
	w->saw_future = true;
	if (!w->future) {
		w->future = mem_zalloc(1, sizeof *w->future);
		w->future->cursor = availset_open(w->config->capacity, w->config->replication);
	}
	struct future *f = w->future;
	struct avail_rec r;
	while (!f->has_ended && (!f->n || f->event[f->n - 1].t <= t)) {
		if (!availcursor_next(f->cursor, &r) || r.t_ns >= w->until) {
			f->has_ended = true;
			break;
		}
		if (r.kind == AVAIL_PRICE)
			continue;
		MEM_GROW(f->event, f->n, f->cap);
		uint32_t zone = spot_capacity_zone(w, source_name(&w->source, SOURCE_INSTANCES, r.zone));
		f->event[f->n++] = (struct event){ r.t_ns, zone, r.instance, r.kind == AVAIL_ADD ? 1 : -1 };
		if (r.kind == AVAIL_REMOVE)
			set_end(f, r.instance, r.t_ns);
	}
	while (f->passed < f->n && f->event[f->passed].t <= w->now)
		f->passed++;
	return true;
}

size_t orr_spot_future(struct orr_spot *w, int64_t until, struct orr_future *out, size_t cap)
{
	size_t n = 0;
	if (!read_to(w, until, "orr_spot_future()"))
		return 0;
	const struct future *f = w->future;
	for (size_t i = f->passed; i < f->n && f->event[i].t <= until; i++, n++)
		if (n < cap)
			out[n] = (struct orr_future){ f->event[i].t, f->event[i].zone, f->event[i].change };
	return n;
}

static int64_t end_of(struct orr_spot *w, uint32_t instance)
{
	const struct future *f = w->future;
	/* Lifetimes have no bound, so reading continues until the end of the instance is found. */
	while (!(instance < f->cap_end && f->end[instance]) && !f->has_ended) {
		int64_t t = f->n ? f->event[f->n - 1].t : 0;
		read_to(w, t, "orr_inst_true_end()");
	}
	return instance < f->cap_end && f->end[instance] ? f->end[instance] : ORR_NEVER;
}

int64_t orr_inst_true_end(struct orr_spot *w, orr_inst i)
{
	const struct slot *s = slot_of_handle(w, i, "orr_inst_true_end()");
	if (!s || !read_to(w, w->now, "orr_inst_true_end()"))
		return ORR_NEVER;
	return s->is_on_demand ? ORR_NEVER : end_of(w, s->instance);
}

int64_t orr_offer_true_end(struct orr_spot *w, uint32_t zone)
{
	if (!read_to(w, w->now, "orr_offer_true_end()"))
		return w->now;
	for (uint32_t z = 0; z < w->n_zones; z++)
		if ((zone == ORR_ANY_ZONE || zone == z) && w->zone[z].first != NONE)
			return end_of(w, w->slot[w->zone[z].first].instance);
	return w->now;
}

void future_free(struct orr_spot *w)
{
	struct future *f = w->future;
	if (!f)
		return;
	availcursor_close(f->cursor);
	mem_free(f->event);
	mem_free(f->end);
	mem_free(f);
}
