/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/avail_profile.h"

#include "traces/avail_format.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct sums {
	uint64_t adds, removals, prices, instants, crossing;
	uint32_t live, most, least, largest, bulk, first_zone;
	bool crosses;
	int64_t last_ns, end_ns, instant_ns;
	double live_s, life_removed_s, life_s;
	int64_t *added_ns; /* time of addition by instance; -1: removed */
	size_t n, cap;
};

static void end_instant(struct sums *s, struct trace_profile *p)
{
	char size[16];
	if (!s->bulk)
		return;
	snprintf(size, sizeof size, "%" PRIu32, s->bulk);
	trace_profile_count(p, "removed at once", NULL, size, 1, 0);
	s->largest = s->bulk > s->largest ? s->bulk : s->largest;
	s->crossing += s->crosses;
	s->bulk = 0;
}

static void note_removal(struct sums *s, const struct avail_rec *r, struct trace_profile *p)
{
	bool is_new = !s->removals || r->t_ns != s->instant_ns;
	if (is_new)
		end_instant(s, p);
	if (is_new && s->instants)
		trace_profile_value(p, "gap between removal instants s", (double)(r->t_ns - s->instant_ns) / 1e9);
	s->instants += is_new;
	s->crosses = !is_new && (s->crosses || r->zone != s->first_zone);
	s->first_zone = is_new ? r->zone : s->first_zone;
	s->instant_ns = r->t_ns;
	s->bulk++;
	s->removals++;
	double life_s = (double)(r->t_ns - s->added_ns[r->instance]) / 1e9;
	s->added_ns[r->instance] = -1;
	s->life_removed_s += life_s;
	trace_profile_value(p, "life of removed h", life_s / 3600);
}

static void pass_time(struct sums *s, int64_t to_ns)
{
	s->live_s += (double)s->live * ((double)(to_ns - s->last_ns) / 1e9);
	s->last_ns = to_ns;
}

static void add_row(struct sums *s, const struct avail_rec *r, const struct availset *set, struct trace_profile *p)
{
	pass_time(s, r->t_ns);
	if (r->kind == AVAIL_PRICE) {
		s->prices++;
		trace_profile_value(p, "price USD/h", r->usd_per_hour);
		return;
	}
	if (r->kind == AVAIL_ADD) {
		s->adds++;
		MEM_GROW(s->added_ns, s->n, s->cap);
		s->added_ns[s->n++] = r->t_ns;
	} else {
		note_removal(s, r, p);
	}
	if (r->zone)
		trace_profile_count(p, "zone", NULL, strtab_text(availset_strings(set), r->zone), r->kind == AVAIL_ADD, 0);
	s->live = r->live;
	s->most = r->live > s->most ? r->live : s->most;
	if (s->removals && r->live < s->least)
		s->least = r->live;
}

static void add_repairs(const struct availset *set, struct trace_profile *p)
{
	const struct avail_repairs *repairs = availset_repairs(set);
	char text[80];
	for (int i = 0; i < AVAIL_REPAIRS; i++) {
		if (!repairs->rows[i])
			continue;
		snprintf(text, sizeof text, "%" PRIu64 ", the first on line %" PRIu64, repairs->rows[i], repairs->first_line[i]);
		trace_profile_fact_text(p, avail_repair_name((enum avail_repair)i), text);
	}
}

static void add_facts(struct sums *s, const struct availset *set, struct trace_profile *p)
{
	double span_h = (double)s->end_ns / 3600e9;
	trace_profile_fact_number(p, "span h", span_h);
	add_repairs(set, p);
	if (s->prices)
		trace_profile_fact_number(p, "prices", (double)s->prices);
	if (!s->adds)
		return;
	trace_profile_fact_number(p, "events", (double)(s->adds + s->removals));
	trace_profile_fact_number(p, "additions", (double)s->adds);
	trace_profile_fact_number(p, "removals", (double)s->removals);
	trace_profile_fact_number(p, "most live", s->most);
	if (s->removals)
		trace_profile_fact_number(p, "minimum live from the first removal on", s->least);
	if (s->end_ns > 0)
		trace_profile_fact_number(p, "mean live", s->live_s / ((double)s->end_ns / 1e9));
	trace_profile_fact_number(p, "mean life h, of all until the end", s->life_s / (double)s->adds / 3600);
	if (!s->removals)
		return;
	if (s->end_ns > 0) {
		trace_profile_fact_number(p, "removals per hour", (double)s->removals / span_h);
		trace_profile_fact_number(p, "removals per instance and hour", (double)s->removals / (s->live_s / 3600));
	}
	trace_profile_fact_number(p, "instants of removal", (double)s->instants);
	trace_profile_fact_number(p, "mean number removed at once", (double)s->removals / (double)s->instants);
	trace_profile_fact_number(p, "largest number removed at once", s->largest);
	trace_profile_fact_number(p, "instants with removals in several zones", (double)s->crossing);
	trace_profile_fact_number(p, "mean life h of removed", s->life_removed_s / (double)s->removals / 3600);
}

void avail_profile(const struct availset *set, struct trace_profile *p)
{
	struct sums s = { .least = UINT32_MAX, .end_ns = availset_end_ns(set) };
	struct avail_rec row;
	struct availcursor *c = availset_open(set, 0);
	while (availcursor_next(c, &row))
		add_row(&s, &row, set, p);
	availcursor_close(c);
	end_instant(&s, p);
	pass_time(&s, s.end_ns);
	s.life_s = s.life_removed_s;
	for (size_t i = 0; i < s.n; i++)
		if (s.added_ns[i] >= 0)
			s.life_s += (double)(s.end_ns - s.added_ns[i]) / 1e9;
	add_facts(&s, set, p);
	mem_free(s.added_ns);
	trace_profile_close_lists(p);
}

int avail_profile_trace(struct trace *t, struct trace_profile *p, struct orr_error *err)
{
	struct availset *s = availset_read(t, trace_name(t), err);
	if (!s)
		return -1;
	avail_profile(s, p);
	availset_free(s);
	return 0;
}
