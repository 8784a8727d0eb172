/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/find_fleet.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIXES_MAX = 100000 };

/* A mix: numbers of replicas by deployment. */
struct mix {
	const uint32_t *replicas;
	double gpus, usd_per_hour, order; /* usd_per_hour NAN: unknown; order: the key by which mixes are sorted */
	uint32_t number;
};

struct mixes {
	struct mix *v;
	uint32_t *replicas, n, deployments;
};

struct answer_of {
	const struct mix *mix; /* NULL: none; processes that search have the list at the same address */
	struct slo_tried at;
	double most; /* largest share tried */
	uint32_t runs;
};

/* ---- mixes ---- */

/* Returns the price of a GPU of the deployment; NAN: unknown, or GPUs of several prices. */
static double price_of(const struct serve_config *c, const struct serve_deployment *d)
{
	double usd = NAN;
	for (uint32_t t = 0; c->usd_per_gpu_hour && t < c->cluster->n_types; t++) {
		if (d->gpu_types && t < 64 && !(d->gpu_types >> t & 1))
			continue;
		if (isfinite(usd) && !(usd == c->usd_per_gpu_hour[t]))
			return NAN;
		usd = c->usd_per_gpu_hour[t];
	}
	return usd;
}

static bool may_share(const struct serve_deployment *a, const struct serve_deployment *b)
{
	return a->model == b->model || a->model == UINT32_MAX || b->model == UINT32_MAX;
}

/* Returns the minimum number of replicas of a deployment: 1 if it has the role prefill or decode, or is the only one with both that may
 * serve its model; else 0. */
static uint32_t least_of(const struct serve_config *c, uint32_t d)
{
	bool has_other = false;
	for (uint32_t i = 0; i < c->n_deployments; i++)
		has_other |= i != d && c->deployment[i].role == ORR_ROLE_BOTH && may_share(&c->deployment[i], &c->deployment[d]);
	return c->deployment[d].role == ORR_ROLE_BOTH && has_other ? 0 : 1;
}

static int by_order(const void *a, const void *b)
{
	const struct mix *x = a, *y = b;
	if (fabs(x->order - y->order) > 1e-9 * fabs(x->order))
		return x->order < y->order ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void measure_mix(const struct serve_config *c, struct mix *m)
{
	m->usd_per_hour = 0;
	for (uint32_t d = 0; d < c->n_deployments; d++) {
		double gpus = (double)m->replicas[d] * c->deployment[d].tp * c->deployment[d].pp;
		m->gpus += gpus;
		m->usd_per_hour += gpus > 0 ? gpus * price_of(c, &c->deployment[d]) : 0;
	}
}

/* Returns whether each deployment, or another one that may serve its model, has a replica. */
static bool serves_all(const struct serve_config *c, const struct mix *m)
{
	for (uint32_t d = 0; d < c->n_deployments; d++) {
		bool has = false;
		for (uint32_t i = 0; i < c->n_deployments; i++)
			has |= m->replicas[i] && may_share(&c->deployment[i], &c->deployment[d]);
		if (!has)
			return false;
	}
	return true;
}

/* Lists all mixes with at least one replica, in order. */
static int list_mixes(const struct serve_config *c, struct mixes *x, struct orr_error *err)
{
	double all = 1;
	uint32_t n = c->n_deployments;
	for (uint32_t d = 0; d < n; d++)
		all *= (double)c->deployment[d].replicas + 1 - least_of(c, d);
	if (!(all <= MIXES_MAX))
		return orr_fail(err, ORR_EINPUT, "--find-replicas: %.0f mixes of replicas: expected at most %d", all, MIXES_MAX);
	x->deployments = n;
	x->v = mem_zalloc((size_t)all + 1, sizeof *x->v);
	x->replicas = mem_alloc(((size_t)all + 1) * n * sizeof *x->replicas);
	uint32_t *at = x->replicas, number = 0;
	for (uint32_t d = 0; d < n; d++)
		at[d] = least_of(c, d);
	bool has_usd = true;
	for (bool is_next = true; is_next;) {
		struct mix *m = &x->v[x->n];
		*m = (struct mix){ .replicas = at, .number = number };
		number++;
		measure_mix(c, m);
		uint32_t *next = at;
		if (serves_all(c, m)) {
			has_usd &= isfinite(m->usd_per_hour);
			x->n++;
			next += n;
			memcpy(next, at, n * sizeof *at);
		}
		uint32_t d = n;
		while (d && next[d - 1] == c->deployment[d - 1].replicas) {
			d--;
			next[d] = least_of(c, d);
		}
		is_next = d > 0;
		if (is_next)
			next[d - 1]++;
		at = next;
	}
	for (uint32_t i = 0; i < x->n; i++)
		x->v[i].order = has_usd ? x->v[i].usd_per_hour : x->v[i].gpus;
	qsort(x->v, x->n, sizeof *x->v, by_order);
	return ORR_OK;
}

/* ---- the search ---- */

static int search(const struct slo_attempt *a, const struct mixes *x, double enough, struct answer_of *out, struct orr_error *err)
{
	*out = (struct answer_of){ 0 };
	for (uint32_t i = 0; i < x->n; i++) {
		const struct mix *m = &x->v[i];
		struct slo_tried t;
		if (out->mix && m->order > out->mix->order * (1 + 1e-9))
			break;
		int rc = slo_run(a, 1, m->replicas, &t, err);
		if (rc)
			return rc;
		out->runs++;
		out->most = fmax(out->most, t.attainment);
		if (t.attainment >= enough && (!out->mix || t.attainment > out->at.attainment)) {
			out->mix = m;
			out->at = t;
		}
	}
	return ORR_OK;
}

/* ---- output ---- */

static void put_numbers(struct sbuf *b, const struct mixes *x, const struct mix *m, const char *between)
{
	for (uint32_t d = 0; d < x->deployments; d++)
		sbuf_printf(b, "%s%u", d ? between : "", m->replicas[d]);
}

static double good_per_usd(const struct answer_of *f)
{
	return f->mix->usd_per_hour > 0 ? f->at.good_rate * 3600 / f->mix->usd_per_hour : NAN;
}

static void put_json(struct sbuf *b, const char *label, const struct mixes *x, const struct answer_of *f, bool is_last)
{
	cJSON *name = cJSON_CreateString(label);
	char *text = cJSON_PrintUnformatted(name);
	bool has = f->mix;
	sbuf_printf(b, "\t\t{\"policy\": %s, \"replicas\": %s", text, has ? "[" : "null");
	cJSON_free(text);
	cJSON_Delete(name);
	if (has) {
		put_numbers(b, x, f->mix, ", ");
		sbuf_puts(b, "]");
	}
	sbuf_puts(b, ", ");
	slo_put_number(b, "gpus", has ? f->mix->gpus : (double)NAN, ", ");
	slo_put_number(b, "attainment", has ? f->at.attainment : (double)NAN, ", ");
	slo_put_number(b, "goodput_per_gpu_per_s", has ? f->at.good_rate / f->mix->gpus : (double)NAN, ", ");
	slo_put_number(b, "usd_per_hour", has ? f->mix->usd_per_hour : (double)NAN, ", ");
	slo_put_number(b, "good_requests_per_usd", has ? good_per_usd(f) : (double)NAN, ", ");
	slo_put_number(b, "usd_per_million_tokens", has ? f->at.usd_per_million_tokens : (double)NAN, ", ");
	slo_put_number(b, "arrivals_span_latencies", has ? f->at.arrivals_span : (double)NAN, ", ");
	slo_put_number(b, "idle_before_s", has ? f->at.begin_s : (double)NAN, ", ");
	slo_put_number(b, "largest_attainment", f->most, ", ");
	sbuf_printf(b, "\"runs\": %u}%s\n", f->runs, is_last ? "" : ",");
}

static void put_line(struct sbuf *b, const char *label, const struct mixes *x, const struct answer_of *f, double enough)
{
	sbuf_printf(b, "%s: ", label);
	if (f->mix) {
		put_numbers(b, x, f->mix, " + ");
		sbuf_printf(b, " replicas on %g GPUs", f->mix->gpus);
		if (isfinite(f->mix->usd_per_hour))
			sbuf_printf(b, " at %.4g USD per hour", f->mix->usd_per_hour);
		if (isfinite(f->at.usd_per_million_tokens))
			sbuf_printf(b, " and %.4g USD per million output tokens", f->at.usd_per_million_tokens);
		sbuf_printf(b, ": %.4g %% of the requests meet the SLO, %.4g per second and GPU", 100 * f->at.attainment,
			f->at.good_rate / f->mix->gpus);
		if (isfinite(good_per_usd(f)))
			sbuf_printf(b, ", %.4g per USD", good_per_usd(f));
	} else {
		sbuf_printf(b, "no mix of replicas was found at which %.4g %% of the requests meet the SLO (%.4g %% at most)", 100 * enough,
			100 * f->most);
	}
	sbuf_printf(b, " (%u run%s)\n", f->runs, f->runs == 1 ? "" : "s");
	if (!f->mix)
		return;
	slo_put_span(b, label, f->at.arrivals_span, "with these replicas",
		isfinite(f->at.usd_per_million_tokens) ? "may need more of them, at a lower cost per token" : "may need more of them");
	slo_put_begin(b, label, &f->at);
}

static void show(const struct scenario *s, const char *slo, const struct mixes *x, const struct answer_of *f, const bool *is_found,
	double enough, struct sbuf *out)
{
	size_t last = slo_last_found(s, is_found);
	if (s->output->json)
		sbuf_printf(out, "{\n\t\"slo\": \"%s\",\n\t\"enough\": %.17g,\n\t\"fleets\": [\n", slo, enough);
	for (size_t i = 0; i < s->n_policies; i++) {
		if (is_found[i] && s->output->json)
			put_json(out, s->policy[i].label, x, &f[i], i == last);
		else if (is_found[i] && !s->output->quiet)
			put_line(out, s->policy[i].label, x, &f[i], enough);
	}
	if (s->output->json)
		sbuf_puts(out, "\t]\n}\n");
}

static int search_policy(struct scenario *s, size_t i, const void *in, void *out, struct orr_error *err)
{
	const struct slo_search *of = in;
	struct slo_attempt a = { s, i, of->slo, "find-replicas" };
	return search(&a, of->space, of->enough, out, err);
}

int find_fleet(struct scenario *s, const char *slo, const struct slo_search *of, struct sbuf *out, struct orr_error *err)
{
	const struct serve_config *c = &((const struct serve_state *)s->state)->config;
	struct mixes x = { 0 };
	struct slo_search own = *of;
	struct answer_of *found = mem_zalloc(s->n_policies, sizeof *found);
	bool *is_found = mem_zalloc(s->n_policies, sizeof *is_found);
	int rc = list_mixes(c, &x, err);
	own.space = &x;
	if (!rc) {
		rc = slo_search_all(s, search_policy, &own, found, sizeof *found, is_found, err);
		show(s, slo, &x, found, is_found, of->enough, out);
	}
	mem_free(is_found);
	mem_free(found);
	mem_free(x.v);
	mem_free(x.replicas);
	return rc;
}
