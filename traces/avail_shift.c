/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * avail_shift.c - transforms of availability: start, wrap, stretch, scale, cap
 *
 * Rows pass four stages: start (and wrap), stretch, scale, cap. Each stage passes rows on immediately, so unlimited generators
 * work too. Each stage renumbers the instances; the last stage numbers them in order of addition.
 */
#include "traces/avail_format.h"

#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"

#include <math.h>
#include <string.h>

#define LATEST_NS INT64_C(4000000000000000000)
#define NONE UINT32_MAX
enum place { UNSEEN, RUNNING, WAITING, GONE };

struct list {
	struct avail_rec *v;
	size_t first, n, cap;
};

struct numbers {
	uint32_t *v;
	size_t n;
};

/* Properties of an instance at its addition; its removal repeats them. */
struct identity {
	uint32_t node, zone, type;
};

struct avail_shifter {
	struct avail_shift spec;
	struct strtab *strings;
	/* start: present instances, with the numbers of this stage, and the last prices. An entry that no longer holds is of kind
	 * AVAIL_REMOVE. */
	bool has_begun;
	struct list held;
	struct numbers held_at; /* index into held + 1, by instance */
	size_t n_stale;
	uint32_t *price; /* indices into held */
	size_t n_prices, cap_prices;
	struct numbers begun; /* instances by number in the input */
	uint32_t n_begun;
	/* cap */
	struct numbers place;
	uint32_t running;
	struct list waiting;
	int64_t now_ns;
	/* out */
	struct numbers final;
	struct identity *identity; /* identity by number in the output */
	size_t n_final, cap_final;
	uint32_t live;
	uint64_t n_out;
	struct list out;
};

static void list_add(struct list *l, const struct avail_rec *r)
{
	if (l->first && l->first == l->n)
		l->first = l->n = 0;
	MEM_GROW(l->v, l->n, l->cap);
	l->v[l->n++] = *r;
}

static uint32_t *number_at(struct numbers *m, uint32_t i, uint32_t otherwise)
{
	if (i >= m->n) {
		size_t n = i < 64 ? 128 : (size_t)i * 2;
		m->v = mem_realloc(m->v, n, sizeof *m->v);
		while (m->n < n)
			m->v[m->n++] = otherwise;
	}
	return &m->v[i];
}

/* ---- output ---- */

static void put_out(struct avail_shifter *s, const struct avail_rec *r)
{
	struct avail_rec out = *r;
	out.number = s->n_out++;
	if (r->kind == AVAIL_ADD) {
		MEM_GROW(s->identity, s->n_final, s->cap_final);
		s->identity[s->n_final] = (struct identity){ r->node, r->zone, r->type };
		out.instance = *number_at(&s->final, r->instance, NONE) = (uint32_t)s->n_final++;
		s->live++;
	} else if (r->kind == AVAIL_REMOVE) {
		out.instance = *number_at(&s->final, r->instance, NONE);
		const struct identity *who = &s->identity[out.instance];
		out.node = who->node;
		out.zone = who->zone;
		out.type = who->type;
		s->live--;
	}
	out.live = s->live;
	list_add(&s->out, &out);
}

/* ---- cap ---- */

/* Admits waiting instances at the end of an instant, so that no instance is added and removed at the same instant. */
static void begin_waiting(struct avail_shifter *s)
{
	while (s->running < s->spec.cap && s->waiting.first < s->waiting.n) {
		struct avail_rec next = s->waiting.v[s->waiting.first++];
		uint32_t *place = number_at(&s->place, next.instance, UNSEEN);
		if (*place != WAITING)
			continue;
		*place = RUNNING;
		s->running++;
		next.t_ns = s->now_ns;
		put_out(s, &next);
	}
}

static void put_capped(struct avail_shifter *s, const struct avail_rec *r)
{
	if (!s->spec.cap) {
		put_out(s, r);
		return;
	}
	if (r->t_ns > s->now_ns)
		begin_waiting(s);
	s->now_ns = r->t_ns;
	if (r->kind == AVAIL_PRICE) {
		put_out(s, r);
		return;
	}
	uint32_t *place = number_at(&s->place, r->instance, UNSEEN);
	if (r->kind == AVAIL_ADD) {
		*place = WAITING;
		list_add(&s->waiting, r);
		return;
	}
	if (*place == RUNNING) {
		s->running--;
		put_out(s, r);
	}
	*place = GONE;
}

/* ---- stretch and scale ---- */

static uint32_t renamed(const struct avail_shifter *s, uint32_t node, const char *mark, uint32_t number)
{
	if (!node || !s->strings)
		return 0;
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s%s%u", strtab_text(s->strings, node), mark, number);
	uint32_t out = strtab_add(s->strings, b.text, b.len);
	sbuf_free(&b);
	return out;
}

static bool is_one(double factor)
{
	return !(factor < 1) && !(factor > 1);
}

static void put_scaled(struct avail_shifter *s, struct avail_rec r)
{
	if (!is_one(s->spec.stretch))
		r.t_ns = (int64_t)fminl(rintl((long double)r.t_ns * s->spec.stretch), (long double)LATEST_NS);
	if (r.kind == AVAIL_PRICE || is_one(s->spec.scale)) {
		put_capped(s, &r);
		return;
	}
	double first = floor((double)r.instance * s->spec.scale), end = floor(((double)r.instance + 1) * s->spec.scale);
	uint32_t node = r.node;
	for (double i = first; i < end && i < (double)AVAIL_NO_INSTANCE - 1; i++) {
		r.instance = (uint32_t)i;
		r.node = i > first ? renamed(s, node, "~", (uint32_t)(i - first) + 1) : node;
		put_capped(s, &r);
	}
}

/* ---- start and wrap ---- */

static bool is_same_price(const struct avail_rec *a, const struct avail_rec *b)
{
	return a->kind == AVAIL_PRICE && b->kind == AVAIL_PRICE && a->zone == b->zone && a->type == b->type;
}

/* Leaves out the entries that no longer hold, and finds the others again. */
static void settle(struct avail_shifter *s)
{
	struct list *l = &s->held;
	size_t n = 0;
	s->n_stale = s->n_prices = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].kind == AVAIL_REMOVE)
			continue;
		l->v[n] = l->v[i];
		if (l->v[n].kind == AVAIL_ADD) {
			*number_at(&s->held_at, l->v[n].instance, 0) = (uint32_t)n + 1;
		} else {
			MEM_GROW(s->price, s->n_prices, s->cap_prices);
			s->price[s->n_prices++] = (uint32_t)n;
		}
		n++;
	}
	l->n = n;
}

static void stop_holding(struct avail_shifter *s, size_t i)
{
	s->held.v[i].kind = AVAIL_REMOVE;
	s->n_stale++;
}

/* Updates the present instances by row r. O(1), of prices O(pairs of zone and type). */
static void hold(struct avail_shifter *s, const struct avail_rec *r)
{
	enum { FEW = 64 };
	struct list *l = &s->held;
	if (r->kind == AVAIL_PRICE) {
		size_t k = 0;
		while (k < s->n_prices && !is_same_price(r, &l->v[s->price[k]]))
			k++;
		if (k < s->n_prices)
			stop_holding(s, s->price[k]);
		else
			MEM_GROW(s->price, s->n_prices, s->cap_prices);
		s->n_prices += k == s->n_prices;
		s->price[k] = (uint32_t)l->n;
		list_add(l, r);
	} else {
		uint32_t *at = number_at(&s->held_at, r->instance, 0);
		if (r->kind == AVAIL_ADD) {
			*at = (uint32_t)l->n + 1;
			list_add(l, r);
		} else if (*at) {
			stop_holding(s, *at - 1);
			*at = 0;
		}
	}
	if (s->n_stale > FEW && s->n_stale > l->n / 2)
		settle(s);
}

static void begin(struct avail_shifter *s)
{
	s->has_begun = true;
	if (s->held_at.n)
		memset(s->held_at.v, 0, s->held_at.n * sizeof *s->held_at.v);
	for (size_t i = 0; i < s->held.n; i++) {
		struct avail_rec *r = &s->held.v[i];
		if (r->kind == AVAIL_REMOVE)
			continue;
		if (r->kind == AVAIL_ADD) {
			*number_at(&s->begun, r->instance, NONE) = s->n_begun;
			r->instance = s->n_begun++;
		}
		r->t_ns = 0;
		put_scaled(s, *r);
	}
	settle(s);
}

void avail_shifter_put(struct avail_shifter *s, const struct avail_rec *r)
{
	const struct avail_shift *spec = &s->spec;
	if (!spec->start_ns) {
		put_scaled(s, *r);
		return;
	}
	if (r->t_ns < spec->start_ns) {
		hold(s, r);
		return;
	}
	if (!s->has_begun)
		begin(s);
	struct avail_rec now = *r;
	now.t_ns -= spec->start_ns;
	if (r->kind != AVAIL_PRICE) {
		uint32_t *number = number_at(&s->begun, r->instance, NONE);
		if (r->kind == AVAIL_ADD)
			*number = s->n_begun++;
		now.instance = *number;
	}
	if (spec->wraps)
		hold(s, &now);
	put_scaled(s, now);
}

struct lap {
	struct avail_shifter *s;
	struct numbers role; /* replacing instance, by number in the file */
	int64_t shift_ns;
	size_t next; /* index into held: next instance added at time 0 of the file */
	bool is_past_zero;
};

/* Removes the instances that are present at the end but not at the beginning. */
static void leave(struct lap *lap)
{
	struct list *held = &lap->s->held;
	lap->is_past_zero = true;
	for (; lap->next < held->n; lap->next++) {
		struct avail_rec r = held->v[lap->next];
		if (r.kind != AVAIL_ADD)
			continue;
		r.kind = AVAIL_REMOVE;
		r.t_ns = lap->shift_ns;
		put_scaled(lap->s, r);
	}
}

static void lap_add(struct lap *lap, struct avail_rec r)
{
	struct avail_shifter *s = lap->s;
	uint32_t *role = number_at(&lap->role, r.instance, NONE);
	while (!lap->is_past_zero && lap->next < s->held.n && s->held.v[lap->next].kind != AVAIL_ADD)
		lap->next++;
	if (!lap->is_past_zero && lap->next < s->held.n) {
		*role = s->held.v[lap->next++].instance;
		return;
	}
	*role = r.instance = s->n_begun++;
	r.node = renamed(s, r.node, "~lap", 2);
	put_scaled(s, r);
}

static void wrap(struct avail_shifter *s, const struct avail_rec *row, size_t n, int64_t end_ns)
{
	struct lap lap = { .s = s, .shift_ns = end_ns - s->spec.start_ns };
	for (size_t i = 0; i < n && row[i].t_ns < s->spec.start_ns; i++) {
		struct avail_rec r = row[i];
		if (r.t_ns > 0 && !lap.is_past_zero)
			leave(&lap);
		r.t_ns += lap.shift_ns;
		if (r.kind == AVAIL_ADD) {
			lap_add(&lap, r);
			continue;
		}
		if (r.kind == AVAIL_REMOVE)
			r.instance = *number_at(&lap.role, r.instance, NONE);
		put_scaled(s, r);
	}
	if (!lap.is_past_zero)
		leave(&lap);
	mem_free(lap.role.v);
}

void avail_shifter_end(struct avail_shifter *s, const struct avail_rec *row, size_t n, int64_t end_ns)
{
	if (s->spec.start_ns && !s->has_begun)
		begin(s);
	if (s->spec.wraps && s->spec.start_ns && s->spec.start_ns < end_ns)
		wrap(s, row, n, end_ns);
	begin_waiting(s);
}

/* ---- interface ---- */

bool avail_shifter_get(struct avail_shifter *s, struct avail_rec *out)
{
	if (s->out.first == s->out.n)
		return false;
	*out = s->out.v[s->out.first++];
	return true;
}

struct avail_shifter *avail_shifter_new(const struct avail_shift *spec, struct strtab *strings)
{
	struct avail_shifter *s = mem_zalloc(1, sizeof *s);
	s->spec = *spec;
	s->strings = strings;
	return s;
}

void avail_shifter_free(struct avail_shifter *s)
{
	if (!s)
		return;
	mem_free(s->held.v);
	mem_free(s->held_at.v);
	mem_free(s->price);
	mem_free(s->begun.v);
	mem_free(s->place.v);
	mem_free(s->waiting.v);
	mem_free(s->final.v);
	mem_free(s->identity);
	mem_free(s->out.v);
	mem_free(s);
}

struct avail_shift avail_shift_of(const struct orr_args *args)
{
	return (struct avail_shift){ .start_ns = orr_arg_time_ns(args, "start"),
		.wraps = orr_arg_bool(args, "wrap"),
		.stretch = orr_arg_real(args, "stretch"),
		.scale = orr_arg_real(args, "scale"),
		.cap = (uint32_t)orr_arg_int(args, "cap") };
}

bool avail_shift_is_none(const struct avail_shift *s)
{
	return !s->start_ns && is_one(s->stretch) && is_one(s->scale) && !s->cap;
}

int64_t avail_shift_end(const struct avail_shift *s, int64_t end_ns)
{
	if (end_ns == ORR_NEVER)
		return end_ns;
	if (!s->wraps)
		end_ns = end_ns > s->start_ns ? end_ns - s->start_ns : 0;
	return (int64_t)fminl(rintl((long double)end_ns * s->stretch), (long double)LATEST_NS);
}
