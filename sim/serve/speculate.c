/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/speculate.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"
#include "serve/metrics.h"

#include <string.h>

/* ---- options ---- */

/* Reads "0.8,0.7": rates by position. */
static int read_rates(struct speculation *s, const char *text, struct orr_error *err)
{
	struct acceptance *a = &s->acceptance;
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, ",");
		double x;
		if (a->n == SPECULATION_MOST || !num_real(at, n, &x) || !(x >= 0 && x <= 1))
			return orr_fail(err, ORR_EINPUT,
				"serve.draft_acceptance: expected 1 to %d probabilities from 0 to 1, separated by commas, or a .txt file, "
				"found "
				"\"%.60s\"",
				SPECULATION_MOST, text);
		a->rate[a->n++] = x;
		at += n + (at[n] == ',');
	}
	if (!a->n)
		return orr_fail(err, ORR_EINPUT,
			"serve.draft_tokens=%u: expected serve.draft_acceptance=PROBABILITY, with which the target accepts a draft token",
			s->most);
	return 0;
}

/* Reads the results of tests, one '0' or '1' each. The mean is the rate of the closed forms. */
static int read_pattern(struct speculation *s, const char *text, size_t n, struct orr_error *err)
{
	s->pattern = mem_alloc(n + 1);
	double accepted = 0;
	for (size_t i = 0; i < n; i++) {
		if (strchr(" \t\r\n", text[i]))
			continue;
		if (text[i] != '0' && text[i] != '1')
			return orr_fail(err, ORR_EINPUT,
				"serve.draft_acceptance: byte %zu of the file: expected 1 (accepted), 0 (rejected) or blanks", i + 1);
		s->pattern[s->n_pattern++] = text[i];
		accepted += text[i] == '1';
	}
	if (!s->n_pattern)
		return orr_fail(err, ORR_EINPUT, "serve.draft_acceptance: the file is empty: expected digits 0 and 1, one per test");
	s->acceptance = (struct acceptance){ { accepted / (double)s->n_pattern }, 1 };
	return 0;
}

struct speculation *speculation_new(const struct serve_config *c, struct orr_error *err)
{
	const struct orr_args *o = c->options;
	struct speculation *s = mem_zalloc(1, sizeof *s);
	size_t n = 0;
	const char *file = orr_arg_file(o, "draft_acceptance", &n);
	s->most = (uint32_t)orr_arg_int(o, "draft_tokens");
	s->check = (uint32_t)orr_arg_int(o, "draft_check");
	s->most_decodes = (uint32_t)orr_arg_int(o, "draft_most_decodes");
	s->cost = orr_arg_real(o, "draft_cost");
	s->adapts = orr_arg_bool(o, "draft_adapt");
	int rc = 0;
	if (s->most && strcmp(orr_arg_text(o, "pipeline"), "serial") != 0)
		rc = orr_fail(err, ORR_EINPUT, "serve.draft_tokens: expected serve.pipeline=serial");
	if (!rc && s->most)
		rc = file ? read_pattern(s, file, n, err) : read_rates(s, orr_arg_text(o, "draft_acceptance"), err);
	if (!rc)
		return s;
	speculation_free(s);
	return NULL;
}

void speculation_free(struct speculation *s)
{
	if (!s)
		return;
	mem_free(s->pattern);
	mem_free(s);
}

/* ---- before the pass ---- */

/* Returns the number of blocks that hold g drafts of each decode, beyond those that the next plain iteration holds. */
static uint64_t blocks_for(const struct orr_serve *w, const struct lane *l, uint32_t g)
{
	uint64_t blocks = 0;
	for (uint32_t s = l->first; s != NONE; s = w->req[s].res_next) {
		if (w->req[s].heap_at == NONE)
			continue;
		struct req q = w->req[s];
		decodes_settle(l, &q);
		uint64_t now = kv_blocks_for(l, q.done), holds = kv_holds(l, &q), then = kv_blocks_for(l, q.done + g);
		holds = now > holds ? now : holds;
		blocks += then > holds ? then - holds : 0;
	}
	return blocks;
}

double speculate_s(struct orr_serve *w, struct lane *l, const struct llm_load *x, uint32_t need)
{
	const struct speculation *s = w->set->speculation;
	bool is_off = !x->decodes || (s->most_decodes && x->decodes > s->most_decodes);
	uint32_t g = is_off ? 0 : s->adapts ? speculation_best_for(l->on, x, &s->acceptance, s->most, s->check, s->cost) : s->most;
	uint64_t blocks = g ? blocks_for(w, l, g) : 0;
	if (need + blocks > l->avail)
		g = 0;
	l->drafts = g;
	l->reserved = g ? (uint32_t)blocks : 0;
	if (l->reserved)
		kv_spend(w, l, l->reserved);
	return speculation_s(l->on, x, g, s->check, s->cost);
}

/* ---- after it ---- */

void speculate_drop(struct orr_serve *w, struct lane *l)
{
	kv_free(w, l, l->reserved);
	l->reserved = l->drafts = 0;
}

/* Returns whether the target accepts draft token `position`. The draw depends only on the seed, the request and the number of its test,
 * so it is the same under all policies. */
static bool is_accepted(const struct orr_serve *w, const struct speculation *s, struct req *q, uint32_t position)
{
	uint64_t test = q->tests++;
	if (s->pattern)
		return s->pattern[test % s->n_pattern] == '1';
	uint64_t h = hash_mix(hash_mix(w->draft_seed ^ hash_mix(q->number)) ^ hash_mix(~test));
	return (double)(h >> 11) * 0x1p-53 < acceptance_rate(&s->acceptance, position);
}

/* Counts a pass over the drafts of a decode, and adds the accepted tokens that its output has room for. */
static void check(struct orr_serve *w, struct lane *l, struct req *q, uint32_t drafts)
{
	struct speculated *m = &w->metrics->speculated;
	const struct speculation *s = w->set->speculation;
	uint32_t accepted = 0;
	while (accepted < drafts && is_accepted(w, s, q, accepted))
		accepted++;
	m->passes++;
	m->drafted += drafts;
	m->accepted += accepted;
	for (uint32_t i = accepted; i < drafts; i++)
		m->rejected++;
	decodes_settle(l, q);
	uint32_t room = q->output_asked - q->outputs, used = accepted < room ? accepted : room;
	m->dropped += accepted - used;
	if (used)
		kv_spend(w, l, decodes_jump(w, l, q, used));
	serve_metrics_gap(w, 0, used);
}

void speculate_land(struct orr_serve *w, struct lane *l, uint32_t decodes)
{
	uint32_t drafts = l->drafts;
	speculate_drop(w, l);
	if (!drafts || !decodes)
		return;
	w->metrics->speculated.iterations++;
	for (uint32_t slot = l->first; slot != NONE; slot = w->req[slot].res_next) {
		struct req *q = &w->req[slot];
		if (q->heap_at != NONE && q->joined < l->clock)
			check(w, l, q, drafts);
	}
}
