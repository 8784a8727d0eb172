/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/find_rate.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "base/search.h"
#include "serve/slo_run.h"

#include <math.h>
#include <string.h>

/* ---- the search ---- */

struct hunt {
	rate_try try;
	void *ctx;
	double enough;
	struct rate_found *out;
};

static int try_at(struct hunt *h, double factor, struct slo_tried *t, struct orr_error *err)
{
	*t = (struct slo_tried){ .attainment = NAN, .rate = NAN };
	int rc = h->try(h->ctx, factor, t, err);
	h->out->runs += !rc;
	return rc;
}

static bool is_enough(const struct hunt *h, const struct slo_tried *t)
{
	return t->attainment >= h->enough;
}

/* Moves the lower or the upper end of the bracket to a factor that was tried. */
static void set_end(struct hunt *h, double factor, const struct slo_tried *t)
{
	struct rate_found *out = h->out;
	if (is_enough(h, t)) {
		out->factor = factor;
		out->rate = t->rate;
		out->arrivals_span = t->arrivals_span;
		out->attainment = t->attainment;
	} else {
		out->above = factor;
		out->above_rate = t->rate;
		out->above_attainment = t->attainment;
		out->above_misses = t->misses;
		out->is_never = 1 - slo_never(&t->misses) < h->enough;
	}
}

static int probe(struct hunt *h, double factor, struct orr_error *err)
{
	struct slo_tried t;
	int rc = try_at(h, factor, &t, err);
	if (!rc)
		set_end(h, factor, &t);
	return rc;
}

static const double most = 0x1p20, least = 0x1p-20, climb_to = 0x1p10;

static int go_up(struct hunt *h, struct orr_error *err)
{
	int rc = ORR_OK;
	while (!rc && isinf(h->out->above) && h->out->factor < most)
		rc = probe(h, h->out->factor * 2, err);
	return rc;
}

/* Tries higher rates if too few requests meet the SLO at the trace's own rate and below it: higher rates may fill batches sooner. */
static int climb(struct hunt *h, struct orr_error *err)
{
	struct rate_found before = *h->out;
	int rc = ORR_OK;
	for (double factor = 2; !rc && factor <= climb_to && !(h->out->factor > 0); factor *= 2)
		rc = probe(h, factor, err);
	if (rc || !(h->out->factor > 0)) {
		before.runs = h->out->runs;
		*h->out = before;
		return rc;
	}
	h->out->above = INFINITY;
	h->out->above_rate = h->out->above_attainment = NAN;
	h->out->above_misses = (struct slo_misses){ 0 };
	return go_up(h, err);
}

/* The factors that search_bracket() tried. */
struct trials {
	struct {
		double factor;
		struct slo_tried result;
	} * v;
	size_t n, cap;
};

/* Sets the ends to the largest sufficient factor and to the next one tried, and missed_rate to the rate of the smallest insufficient one.
 */
static void set_ends(struct hunt *h, const struct trials *t)
{
	double missed = INFINITY;
	for (size_t i = 0; i < t->n; i++)
		if (is_enough(h, &t->v[i].result) && t->v[i].factor > h->out->factor)
			set_end(h, t->v[i].factor, &t->v[i].result);
	for (size_t i = 0; i < t->n; i++) {
		double factor = t->v[i].factor;
		if (is_enough(h, &t->v[i].result))
			continue;
		if (factor > h->out->factor && factor < h->out->above)
			set_end(h, factor, &t->v[i].result);
		if (factor < missed) {
			missed = factor;
			h->out->missed_rate = t->v[i].result.rate;
		}
	}
}

/* Searches between a sufficient factor and its double, on a grid of FIND_RATE_STEPS points. */
static int search_bracket(struct hunt *h, struct orr_error *err)
{
	const struct search_axis axis = { h->out->factor, h->out->above, true };
	struct search *s = search_find(&axis, exp2(1.0 / FIND_RATE_STEPS) - 1, h->enough, false);
	struct trials t = { .v = NULL };
	double factor;
	int rc = ORR_OK;
	while (!rc && search_next(s, &factor)) {
		if (factor == axis.from || factor == axis.to) { /* the ends were tried before */
			search_put(s, factor == axis.from ? h->out->attainment : h->out->above_attainment);
			continue;
		}
		MEM_GROW(t.v, t.n, t.cap);
		t.v[t.n].factor = factor;
		rc = try_at(h, factor, &t.v[t.n].result, err);
		if (!rc)
			search_put(s, t.v[t.n++].result.attainment);
	}
	if (!rc) {
		h->out->is_scanned = search_answer(s).is_scanned;
		set_ends(h, &t);
	}
	mem_free(t.v);
	search_free(s);
	return rc;
}

int rate_search(rate_try try, void *ctx, double enough, struct rate_found *out, struct orr_error *err)
{
	struct hunt h = { try, ctx, enough, out };
	*out = (struct rate_found){
		.above = INFINITY, .rate = NAN, .attainment = NAN, .above_rate = NAN, .above_attainment = NAN, .missed_rate = NAN
	};
	int rc = probe(&h, 1, err);
	if (rc || out->is_never)
		return rc;
	if (out->factor > 0)
		rc = go_up(&h, err);
	while (!rc && !(out->factor > 0) && out->above > least)
		rc = probe(&h, out->above / 2, err);
	if (!rc && !(out->factor > 0))
		rc = climb(&h, err);
	if (!rc && out->factor > 0 && isfinite(out->above))
		rc = search_bracket(&h, err);
	return rc;
}

static int try_factor(void *ctx, double factor, struct slo_tried *out, struct orr_error *err)
{
	return slo_run(ctx, factor, NULL, out, err);
}

static int search_policy(struct scenario *s, size_t i, const void *in, void *out, struct orr_error *err)
{
	const struct slo_search *of = in;
	struct slo_attempt a = { s, i, of->slo, "find-rate" };
	return rate_search(try_factor, &a, of->enough, out, err);
}

/* ---- output ---- */

static const char *bound_of(const struct rate_found *f)
{
	return f->is_never ? "refused" : slo_bound(&f->above_misses);
}

static void put_json(struct sbuf *b, const char *label, const struct slo *slo, const struct rate_found *f, bool is_last)
{
	cJSON *name = cJSON_CreateString(label);
	char *text = cJSON_PrintUnformatted(name);
	sbuf_printf(b, "\t\t{\"policy\": %s, ", text);
	cJSON_free(text);
	cJSON_Delete(name);
	slo_put_number(b, "rate_per_s", f->rate, ", ");
	slo_put_number(b, "factor", f->factor > 0 ? f->factor : NAN, ", ");
	slo_put_number(b, "attainment", f->attainment, ", ");
	slo_put_number(b, "arrivals_span_latencies", f->factor > 0 ? f->arrivals_span : NAN, ", ");
	slo_put_number(b, "above_rate_per_s", f->above_rate, ", ");
	slo_put_number(b, "above_factor", f->above, ", ");
	slo_put_number(b, "above_attainment", f->above_attainment, ", ");
	slo_put_number(b, "lowest_missed_rate_per_s", f->missed_rate, ", ");
	slo_put_bound_json(b, slo, &f->above_misses, bound_of(f), "above");
	sbuf_printf(b, "\"runs\": %u}%s\n", f->runs, is_last ? "" : ",");
}

/* has_turns: arrival times of the trace are those of first turns only (serve.sessions). */
static void put_line(struct sbuf *b, const char *label, const struct slo *slo, const struct rate_found *f, double enough, bool has_turns)
{
	sbuf_printf(b, "%s: ", label);
	if (!(f->factor > 0)) {
		sbuf_printf(b, "no rate was found at which %.4g %% of the requests meet the SLO (%.4g %% at %.4g requests/s, the %s tried",
			100 * enough, 100 * f->above_attainment, f->above_rate, f->is_never ? "only rate" : "lowest");
		slo_put_bound(b, slo, &f->above_misses, bound_of(f));
		sbuf_puts(b, ")");
	} else {
		sbuf_printf(b, "%.4g requests/s, %s%.4g times %s: %.4g %% of the requests meet the SLO", f->rate,
			has_turns ? "sessions begin " : "", f->factor, has_turns ? "as fast as in the trace" : "the trace's rate",
			100 * f->attainment);
		if (isfinite(f->above)) {
			sbuf_printf(b, "; at %.4g requests/s %.4g %%", f->above_rate, 100 * f->above_attainment);
			slo_put_bound(b, slo, &f->above_misses, bound_of(f));
		} else {
			sbuf_puts(b, "; enough requests also meet it at every higher rate tried");
		}
	}
	if (f->is_scanned && f->missed_rate < f->rate)
		sbuf_printf(b, "; the share crosses %.4g %% more than once, from %.4g requests/s on", 100 * enough, f->missed_rate);
	sbuf_printf(b, " (%u run%s)\n", f->runs, f->runs == 1 ? "" : "s");
	if (f->factor > 0)
		slo_put_span(b, label, f->arrivals_span, "at this rate", "may have a lower rate");
}

static void show_found(const struct scenario *s, const char *slo, const struct slo_search *of, const struct rate_found *found,
	const bool *is_found, struct sbuf *out)
{
	bool is_json = s->output->json, has_turns = strcmp(orr_arg_text(s->options, "sessions"), "none") != 0;
	size_t last = slo_last_found(s, is_found);
	if (is_json)
		sbuf_printf(out, "{\n\t\"slo\": \"%s\",\n\t\"enough\": %.17g,\n\t\"rates\": [\n", slo, of->enough);
	for (size_t i = 0; i < s->n_policies; i++)
		if (is_found[i] && is_json)
			put_json(out, s->policy[i].label, &of->slo, &found[i], i == last);
		else if (is_found[i] && !s->output->quiet)
			put_line(out, s->policy[i].label, &of->slo, &found[i], of->enough, has_turns);
	if (is_json)
		sbuf_puts(out, "\t]\n}\n");
}

int find_rate(struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err)
{
	struct slo_search of = { 0 };
	int rc = slo_parse("find-rate", slo, &of.slo, err);
	if (!rc)
		rc = slo_parse_share(attainment, &of.enough, err);
	if (!rc)
		rc = slo_check_scenario(s, "find-rate", err);
	if (rc)
		return rc;
	struct rate_found *found = mem_zalloc(s->n_policies, sizeof *found);
	bool *is_found = mem_zalloc(s->n_policies, sizeof *is_found);
	rc = slo_search_all(s, search_policy, &of, found, sizeof *found, is_found, err);
	show_found(s, slo, &of, found, is_found, out);
	mem_free(found);
	mem_free(is_found);
	return rc;
}
