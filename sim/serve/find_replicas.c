/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/find_replicas.h"
#include "serve/find_fleet.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <math.h>
#include <string.h>

static const char flag[] = "find-replicas";

/* ---- the search ---- */

int fleet_search(fleet_try try, void *ctx, uint32_t most, double enough, struct fleet_found *out, struct orr_error *err)
{
	struct slo_tried t;
	int rc = ORR_OK;
	*out = (struct fleet_found){ .most = most };
	for (uint32_t n = 1; n <= most && !rc && !out->replicas && !out->is_never; n++) {
		rc = try(ctx, n, &t, err);
		if (rc)
			return rc;
		out->runs++;
		if (t.attainment >= enough) {
			out->replicas = n;
			out->at = t;
		} else {
			out->below = t;
			out->is_never = 1 - slo_never(&t.misses) < enough;
		}
	}
	for (uint32_t n = out->replicas + 1; out->replicas && n <= most && n <= out->replicas + FIND_REPLICAS_ABOVE; n++) {
		rc = try(ctx, n, &t, err);
		if (rc)
			return rc;
		out->runs++;
		if (!(t.attainment >= enough))
			out->missing[out->n_missing++] = n;
	}
	return ORR_OK;
}

/* ---- output ---- */

/* Costs of a fleet. */
struct fleet_cost {
	double gpus, usd_per_hour, good_per_gpu;
};

static struct fleet_cost cost_of(const struct scenario *s, const struct fleet_found *f)
{
	const struct serve_deployment *d = ((const struct serve_state *)s->state)->config.deployment;
	struct fleet_cost c = { .gpus = (double)f->replicas * d->tp * d->pp };
	c.usd_per_hour = f->at.gpu_hours > 0 ? f->at.usd / f->at.gpu_hours * c.gpus : NAN;
	c.good_per_gpu = f->at.good_rate / c.gpus;
	return c;
}

static const char *bound_of(const struct fleet_found *f)
{
	return f->is_never ? "refused" : slo_bound(&f->below.misses);
}

static void put_json(
	struct sbuf *b, const struct scenario *s, const char *label, const struct slo *slo, const struct fleet_found *f, bool is_last)
{
	struct fleet_cost c = cost_of(s, f);
	const char *before = "";
	bool has = f->replicas, has_below = f->replicas != 1;
	cJSON *name = cJSON_CreateString(label);
	char *text = cJSON_PrintUnformatted(name);
	sbuf_printf(b, "\t\t{\"policy\": %s, ", text);
	cJSON_free(text);
	cJSON_Delete(name);
	slo_put_number(b, "replicas", has ? (double)f->replicas : (double)NAN, ", ");
	slo_put_number(b, "gpus", has ? c.gpus : NAN, ", ");
	slo_put_number(b, "attainment", has ? f->at.attainment : NAN, ", ");
	slo_put_number(b, "goodput_per_gpu_per_s", has ? c.good_per_gpu : NAN, ", ");
	slo_put_number(b, "usd_per_hour", has ? c.usd_per_hour : NAN, ", ");
	slo_put_number(b, "usd_per_million_tokens", has ? f->at.usd_per_million_tokens : NAN, ", ");
	slo_put_number(b, "arrivals_span_latencies", has ? f->at.arrivals_span : NAN, ", ");
	slo_put_number(b, "idle_before_s", has ? f->at.begin_s : NAN, ", ");
	slo_put_number(b, "most_replicas", f->most, ", ");
	slo_put_number(b, "below_attainment", has_below ? f->below.attainment : NAN, ", ");
	slo_put_bound_json(b, slo, &f->below.misses, has_below ? bound_of(f) : NULL, "below");
	sbuf_puts(b, "\"larger_insufficient\": [");
	for (uint32_t i = 0; i < f->n_missing; i++) {
		sbuf_printf(b, "%s%u", before, f->missing[i]);
		before = ", ";
	}
	sbuf_printf(b, "], \"runs\": %u}%s\n", f->runs, is_last ? "" : ",");
}

static void put_found(struct sbuf *b, const struct scenario *s, const struct slo *slo, const struct fleet_found *f)
{
	struct fleet_cost c = cost_of(s, f);
	sbuf_printf(b, "%u replica%s on %g GPU%s", f->replicas, f->replicas == 1 ? "" : "s", c.gpus, c.gpus == 1 ? "" : "s");
	if (isfinite(c.usd_per_hour))
		sbuf_printf(b, " at %.4g USD per hour", c.usd_per_hour);
	if (isfinite(f->at.usd_per_million_tokens))
		sbuf_printf(b, " and %.4g USD per million output tokens", f->at.usd_per_million_tokens);
	sbuf_printf(b, ": %.4g %% of the requests meet the SLO, %.4g per second and GPU", 100 * f->at.attainment, c.good_per_gpu);
	if (f->replicas > 1) {
		sbuf_printf(b, "; with one replica less %.4g %%", 100 * f->below.attainment);
		slo_put_bound(b, slo, &f->below.misses, bound_of(f));
	}
	for (uint32_t i = 0; i < f->n_missing; i++)
		sbuf_printf(b, "; but %u replicas do not suffice", f->missing[i]);
}

static void put_line(
	struct sbuf *b, const struct scenario *s, const char *label, const struct slo *slo, const struct fleet_found *f, double enough)
{
	sbuf_printf(b, "%s: ", label);
	if (f->replicas) {
		put_found(b, s, slo, f);
	} else {
		sbuf_printf(b, "no number of replicas %s at which %.4g %% of the requests meet the SLO (%.4g %% with %u",
			f->is_never ? "exists" : "was found", 100 * enough, 100 * f->below.attainment, f->is_never ? 1 : f->most);
		if (!f->is_never)
			sbuf_puts(b, f->most == 1 ? ", the only number tried" : ", the largest number tried");
		slo_put_bound(b, slo, &f->below.misses, bound_of(f));
		sbuf_puts(b, ")");
	}
	sbuf_printf(b, " (%u run%s)\n", f->runs, f->runs == 1 ? "" : "s");
	if (!f->replicas)
		return;
	slo_put_span(b, label, f->at.arrivals_span, "with these replicas",
		isfinite(f->at.usd_per_million_tokens) ? "may need more of them, at a lower cost per token" : "may need more of them");
	slo_put_begin(b, label, &f->at);
}

static void show_found(const struct scenario *s, const char *slo, const struct slo_search *of, const struct fleet_found *found,
	const bool *is_found, struct sbuf *out)
{
	bool is_json = s->output->json;
	size_t last = slo_last_found(s, is_found);
	if (is_json)
		sbuf_printf(out, "{\n\t\"slo\": \"%s\",\n\t\"enough\": %.17g,\n\t\"fleets\": [\n", slo, of->enough);
	for (size_t i = 0; i < s->n_policies; i++)
		if (is_found[i] && is_json)
			put_json(out, s, s->policy[i].label, &of->slo, &found[i], i == last);
		else if (is_found[i] && !s->output->quiet)
			put_line(out, s, s->policy[i].label, &of->slo, &found[i], of->enough);
	if (is_json)
		sbuf_puts(out, "\t]\n}\n");
}

/* ---- the policies of a scenario ---- */

static int try_fleet(void *ctx, uint32_t replicas, struct slo_tried *out, struct orr_error *err)
{
	return slo_run(ctx, 1, &replicas, out, err);
}

static int check_deployment(const struct scenario *s, struct orr_error *err)
{
	const struct serve_config *c = &((const struct serve_state *)s->state)->config;
	for (uint32_t d = 0; d < c->n_deployments; d++)
		if (c->deployment[d].most)
			return orr_fail(
				err, ORR_EINPUT, "--find-replicas: expected no autoscaler, which changes the number of replicas itself");
	return ORR_OK;
}

static int search_policy(struct scenario *s, size_t i, const void *in, void *out, struct orr_error *err)
{
	const struct slo_search *of = in;
	struct slo_attempt a = { s, i, of->slo, flag };
	return fleet_search(try_fleet, &a, ((const struct serve_state *)s->state)->config.deployment->replicas, of->enough, out, err);
}

int find_replicas(struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err)
{
	struct slo_search of = { 0 };
	int rc = slo_parse(flag, slo, &of.slo, err);
	if (!rc)
		rc = slo_parse_share(attainment, &of.enough, err);
	if (!rc)
		rc = slo_check_scenario(s, flag, err);
	if (!rc)
		rc = check_deployment(s, err);
	if (rc)
		return rc;
	if (((const struct serve_state *)s->state)->config.n_deployments > 1)
		return find_fleet(s, slo, &of, out, err);
	struct fleet_found *found = mem_zalloc(s->n_policies, sizeof *found);
	bool *is_found = mem_zalloc(s->n_policies, sizeof *is_found);
	rc = slo_search_all(s, search_policy, &of, found, sizeof *found, is_found, err);
	show_found(s, slo, &of, found, is_found, out);
	mem_free(found);
	mem_free(is_found);
	return rc;
}
