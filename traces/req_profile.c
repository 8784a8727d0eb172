/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/req_profile.h"

#include "traces/profile.h"
#include "traces/req_format.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>

/* A set of 64-bit numbers: open addressing, at most half full. */
struct seen {
	uint64_t *slot; /* number + 1; 0: free slot */
	size_t mask, n;
	bool has_last; /* the set contains UINT64_MAX, which the table cannot store (number + 1 overflows) */
};

static size_t place(const struct seen *s, uint64_t v)
{
	size_t at = hash_spread(v) & s->mask;
	while (s->slot[at] && s->slot[at] != v + 1)
		at = (at + 1) & s->mask;
	return at;
}

static void grow(struct seen *s)
{
	struct seen old = *s;
	s->mask = old.slot ? old.mask * 2 + 1 : 1023;
	s->slot = mem_zalloc(s->mask + 1, sizeof *s->slot);
	for (size_t i = 0; old.slot && i <= old.mask; i++)
		if (old.slot[i])
			s->slot[place(s, old.slot[i] - 1)] = old.slot[i];
	mem_free(old.slot);
}

/* Adds v; returns whether v was new. */
static bool add(struct seen *s, uint64_t v)
{
	if (v == UINT64_MAX) {
		bool is_new = !s->has_last;
		s->has_last = true;
		s->n += is_new;
		return is_new;
	}
	if (!s->slot || s->n * 2 > s->mask)
		grow(s);
	size_t at = place(s, v);
	if (s->slot[at])
		return false;
	s->slot[at] = v + 1;
	s->n++;
	return true;
}

struct sums {
	uint64_t n, times, prompt, output, samples, references, reused, leading, shared_sessions;
	int64_t first_ns, last_ns;
	double gap_mean, gap_squares; /* Welford's recurrence */
	struct seen blocks, sessions;
};

static void add_gap(struct sums *s, double gap)
{
	double before = gap - s->gap_mean;
	s->gap_mean += before / (double)(s->n - 1);
	s->gap_squares += before * (gap - s->gap_mean);
}

/* Counts the hits of an unbounded cache: all hits, and the leading hits of each prompt. */
static void add_blocks(struct sums *s, const struct request_rec *r)
{
	bool is_leading = true;
	for (uint32_t i = 0; i < r->n_blocks; i++) {
		bool is_new = add(&s->blocks, r->block[i]);
		is_leading = is_leading && !is_new;
		s->reused += !is_new;
		s->leading += is_leading;
	}
	s->references += r->n_blocks;
}

static void add_row(struct sums *s, const struct request_rec *r, const struct reqset *set, struct trace_profile *p)
{
	s->times += !s->n || r->arrival_ns != s->last_ns;
	if (!s->n++) {
		s->first_ns = r->arrival_ns;
	} else {
		double gap = (double)(r->arrival_ns - s->last_ns) / 1e9;
		add_gap(s, gap);
		trace_profile_value(p, "gap s", gap);
	}
	s->last_ns = r->arrival_ns;
	s->prompt += r->prompt_tokens;
	s->output += r->output_tokens;
	s->samples += r->samples;
	if (r->session)
		s->shared_sessions += !add(&s->sessions, r->session);
	add_blocks(s, r);
	trace_profile_value(p, "prompt tokens", r->prompt_tokens);
	trace_profile_value(p, "output tokens", r->output_tokens);
	trace_profile_value(p, "samples", r->samples);
	trace_profile_value(p, "blocks", r->n_blocks);
	if (r->slo_ns >= 0)
		trace_profile_value(p, "slo s", (double)r->slo_ns / 1e9);
	if (r->max_output)
		trace_profile_value(p, "max output tokens", r->max_output);
	trace_profile_count(p, "model", NULL, r->model ? strtab_text(reqset_strings(set), r->model) : "(none)", 1, 0);
}

static void add_facts(const struct sums *s, const struct reqset *set, struct trace_profile *p)
{
	double span = s->n ? (double)(s->last_ns - s->first_ns) / 1e9 : 0;
	trace_profile_fact_number(p, "requests", (double)s->n);
	if (reqset_left_out(set))
		trace_profile_fact_number(p, "rows left out", (double)reqset_left_out(set));
	if (!s->n)
		return;
	trace_profile_fact_number(p, "first arrival s", (double)s->first_ns / 1e9);
	trace_profile_fact_number(p, "span s", span);
	trace_profile_fact_number(p, "distinct arrival times", (double)s->times);
	if (span > 0) {
		double rate = (double)(s->n - 1) / span; /* n requests have n - 1 gaps, also in rates of tokens */
		trace_profile_fact_number(p, "rate requests/s", rate);
		trace_profile_fact_number(p, "rate prompt tokens/s", rate * ((double)s->prompt / (double)s->n));
		trace_profile_fact_number(p, "rate output tokens/s", rate * ((double)s->output / (double)s->n));
		trace_profile_fact_number(p, "coefficient of variation of gaps", sqrt(s->gap_squares / (double)(s->n - 1)) / s->gap_mean);
	}
	trace_profile_fact_number(p, "prompt tokens", (double)s->prompt);
	trace_profile_fact_number(p, "output tokens", (double)s->output);
	if (s->samples != s->n)
		trace_profile_fact_number(p, "samples", (double)s->samples);
	if (s->sessions.n) {
		trace_profile_fact_number(p, "sessions", (double)s->sessions.n);
		trace_profile_fact_number(p, "requests that continue a session", (double)s->shared_sessions);
	}
	if (!s->references)
		return;
	trace_profile_fact_number(p, "tokens of a block", reqset_block_tokens(set));
	trace_profile_fact_number(p, "block references", (double)s->references);
	trace_profile_fact_number(p, "distinct blocks", (double)s->blocks.n);
	trace_profile_fact_number(p, "share of references seen before", (double)s->reused / (double)s->references);
	trace_profile_fact_number(p, "share seen before, as an unbroken prefix", (double)s->leading / (double)s->references);
}

void req_profile(const struct reqset *set, struct trace_profile *p)
{
	struct sums s = { 0 };
	struct request_rec row;
	struct reqcursor *c = reqset_open(set, 0);
	while (reqcursor_next(c, &row))
		add_row(&s, &row, set, p);
	reqcursor_close(c);
	add_facts(&s, set, p);
	mem_free(s.blocks.slot);
	mem_free(s.sessions.slot);
	trace_profile_close_lists(p);
}

int req_profile_trace(struct trace *t, struct trace_profile *p, struct orr_error *err)
{
	struct reqset *s = reqset_read(t, "", err);
	if (!s)
		return -1;
	req_profile(s, p);
	reqset_free(s);
	return 0;
}
