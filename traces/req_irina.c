/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_irina.c - periodic monitoring and ad-hoc queries (Wu, Xu and Wang, "Irina", APNet 2020, section 5)
 *
 * A query is ad-hoc with probability p, otherwise regular. Regular queries use one model, ad-hoc queries one of several, drawn
 * with equal probability (or by weight). The paper gives neither arrival process nor rate nor number of queries, so mean,
 * arrivals and n are parameters. The number after a model is the number of samples of its queries.
 *
 * arrivals=cameras: regular queries arrive at fixed intervals of mean/(1 - p), the first after one interval. Ad-hoc queries
 * are Poisson, in bursts of `burst`. Together they have the given mean gap, and p is the long-run share of ad-hoc queries.
 */
#include "traces/req_content.h"

#include <math.h>
#include <string.h>

struct plan {
	struct req_mix regular, adhoc;
	enum { ARRIVALS_POISSON, ARRIVALS_PERIODIC, ARRIVALS_CAMERAS } arrivals;
	double p, gap_ns;
	double regular_ns, burst_ns; /* cameras: mean gaps; INFINITY: no such queries */
	uint64_t burst;
	int64_t slo_ns;
};

struct state {
	const struct plan *plan;
	struct rng gaps, kinds, models;
	int64_t now_ns;
	/* cameras */
	uint64_t regulars, left; /* number of regular queries so far; rest of the burst */
	double burst_at_ns;
};

static const struct orr_param params[] = { ORR_PARAM_REAL("p", "0.5", 0, 1, "probability of an ad-hoc query"), REQUEST_PARAM_N("200"),
	ORR_PARAM_TIME("mean", "13ms", "mean gap between arrivals"),
	ORR_PARAM_CHOICE("arrivals", "poisson", "poisson|periodic|cameras",
		"exponential gaps; constant gaps; or regular queries at intervals, with bursts of ad-hoc queries"),
	ORR_PARAM_INT("burst", "1", 1, 1e6, "cameras: ad-hoc queries per burst"),
	ORR_PARAM_TEXT("regular", "irina-yolov3:8", "model of regular queries, MODEL:SAMPLES"),
	ORR_PARAM_TEXT("adhoc", "irina-alexnet:128|irina-googlenet:32|irina-vgg16:8",
		"models of ad-hoc queries, MODEL:SAMPLES, with optional *WEIGHT"),
	ORR_PARAM_TIME("slo", "0", "deadline after arrival; 0: that of the model"), ORR_PARAM_END };

static int make_plan(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	p->p = orr_arg_real(args, "p");
	p->gap_ns = (double)orr_arg_time_ns(args, "mean");
	const char *arrivals = orr_arg_text(args, "arrivals");
	p->arrivals = !strcmp(arrivals, "periodic")  ? ARRIVALS_PERIODIC
		      : !strcmp(arrivals, "cameras") ? ARRIVALS_CAMERAS
						     : ARRIVALS_POISSON;
	p->burst = (uint64_t)orr_arg_int(args, "burst");
	p->regular_ns = p->p < 1 ? p->gap_ns / (1 - p->p) : INFINITY;
	p->burst_ns = p->p > 0 ? p->gap_ns / p->p * (double)p->burst : INFINITY;
	p->slo_ns = orr_arg_time_ns(args, "slo") > 0 ? orr_arg_time_ns(args, "slo") : -1;
	if (!(p->gap_ns > 0))
		return orr_fail(err, ORR_EINPUT, "generator irina: mean: expected a time above 0, found \"0\"");
	if (p->burst > 1 && p->arrivals != ARRIVALS_CAMERAS)
		return orr_fail(err, ORR_EINPUT, "generator irina: burst: expected arrivals=cameras");
	int rc = req_mix_parse(&p->regular, "irina", "regular", orr_arg_text(args, "regular"), true, set, err);
	if (!rc)
		rc = req_mix_parse(&p->adhoc, "irina", "adhoc", orr_arg_text(args, "adhoc"), true, set, err);
	if (!rc && (!p->regular.n || !p->adhoc.n))
		return orr_fail(
			err, ORR_EINPUT, "generator irina: %s: expected a model, found nothing", p->regular.n ? "adhoc" : "regular");
	return rc;
}

static void unplan(void *plan)
{
	struct plan *p = plan;
	req_mix_free(&p->regular);
	req_mix_free(&p->adhoc);
}

static void start(void *state, const void *plan, uint64_t seed, uint64_t index)
{
	struct state *s = state;
	s->plan = plan;
	rng_init(&s->gaps, seed, "request arrivals", index);
	rng_init(&s->kinds, seed, "request kind", index);
	rng_init(&s->models, seed, "request model", index);
	s->left = s->plan->burst;
	s->burst_at_ns = s->plan->arrivals == ARRIVALS_CAMERAS && s->plan->p > 0 ? rng_exponential(&s->gaps, s->plan->burst_ns) : INFINITY;
}

/* Returns the time of the next query of either kind. */
static double next_of_cameras(struct state *s, bool *is_adhoc)
{
	const struct plan *p = s->plan;
	double regular_at_ns = (double)(s->regulars + 1) * p->regular_ns, at_ns = s->burst_at_ns;
	*is_adhoc = at_ns < regular_at_ns;
	if (!*is_adhoc) {
		s->regulars++;
		return regular_at_ns;
	}
	if (!--s->left) {
		s->left = p->burst;
		s->burst_at_ns += rng_exponential(&s->gaps, p->burst_ns);
	}
	return at_ns;
}

static bool next(void *state, struct request_rec *row)
{
	struct state *s = state;
	const struct plan *p = s->plan;
	bool is_adhoc;
	double gap_ns;
	if (p->arrivals == ARRIVALS_CAMERAS) {
		gap_ns = next_of_cameras(s, &is_adhoc) - (double)s->now_ns;
	} else {
		gap_ns = p->arrivals == ARRIVALS_PERIODIC ? p->gap_ns : rng_exponential(&s->gaps, p->gap_ns);
		is_adhoc = rng_uniform(&s->kinds) < p->p;
	}
	const struct req_mix *mix = is_adhoc ? &p->adhoc : &p->regular;
	uint32_t i = req_mix_draw(mix, &s->models);
	int64_t room = INT64_C(4000000000000000000) - s->now_ns;
	s->now_ns += gap_ns < (double)room ? (int64_t)fmax(gap_ns + 0.5, 0) : room;
	row->arrival_ns = s->now_ns;
	row->model = mix->model[i];
	row->samples = mix->samples[i];
	row->slo_ns = p->slo_ns;
	return true;
}

const struct generator req_generator_irina = {
	.kind = TRACE_REQUESTS,
	.name = "irina",
	.doc = "regular queries of one model and ad-hoc ones of others (Irina's simulation)",
	.params = params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = make_plan,
	.unplan = unplan,
	.start = start,
	.next_request = next,
};
