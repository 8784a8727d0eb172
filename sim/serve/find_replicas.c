/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/find_replicas.h"
#include "serve/find_fleet.h"

#include "base/limits.h"
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
}

static void show_found(const struct scenario *s, const char *slo, const struct slo *limits, double enough, const struct fleet_found *found,
	struct sbuf *out)
{
	size_t n = s->n_policies;
	if (s->output->json) {
		sbuf_printf(out, "{\n\t\"slo\": \"%s\",\n\t\"enough\": %.17g,\n\t\"fleets\": [\n", slo, enough);
		for (size_t i = 0; i < n; i++)
			put_json(out, s, s->policy[i].label, limits, &found[i], i + 1 == n);
		sbuf_puts(out, "\t]\n}\n");
	} else if (!s->output->quiet) {
		for (size_t i = 0; i < n; i++)
			put_line(out, s, s->policy[i].label, limits, &found[i], enough);
	}
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

static int search_all(const struct scenario *s, const struct slo *slo, double enough, struct fleet_found *found, struct orr_error *err)
{
	const struct serve_config *c = &((const struct serve_state *)s->state)->config;
	long n = (long)s->n_policies;
	struct orr_error *e = mem_zalloc((size_t)n, sizeof *e);
	int rc = ORR_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(limits_threads(world_threads(s->output), (size_t)n))
	for (long i = 0; i < n; i++) {
		struct slo_attempt a = { s, (size_t)i, *slo, flag };
		fleet_search(try_fleet, &a, c->deployment->replicas, enough, &found[i], &e[i]);
	}
	for (long i = 0; i < n && !rc; i++)
		if (e[i].code)
			rc = orr_fail(err, e[i].code, "%s", e[i].text);
	mem_free(e);
	return rc;
}

int find_replicas(const struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err)
{
	struct slo limits;
	double enough;
	int rc = slo_parse(flag, slo, &limits, err);
	if (!rc)
		rc = slo_parse_share(attainment, &enough, err);
	if (!rc)
		rc = slo_check_scenario(s, flag, err);
	if (!rc)
		rc = check_deployment(s, err);
	if (rc)
		return rc;
	if (((const struct serve_state *)s->state)->config.n_deployments > 1)
		return find_fleet(s, slo, &limits, enough, out, err);
	struct fleet_found *found = mem_zalloc(s->n_policies, sizeof *found);
	rc = search_all(s, &limits, enough, found, err);
	if (!rc)
		show_found(s, slo, &limits, enough, found, out);
	mem_free(found);
	return rc;
}
