/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_irina.c - periodic monitoring and ad-hoc queries (Wu, Xu and Wang, "Irina", APNet 2020, section 5)
 *
 * Each query is ad-hoc with probability p, otherwise regular. Regular ones ask for one model, ad-hoc ones for one of
 * several, drawn with equal chance (or by weight). The paper gives neither arrival process nor rate nor the number of
 * queries: mean, arrivals and n are parameters. Each query brings the number of samples that stands behind its model.
 */
#include "traces/req_content.h"

#include "base/mem.h"

#include <string.h>

struct plan {
	struct req_mix regular, adhoc;
	double p, gap_ns;
	bool is_periodic;
	int64_t slo_ns;
};

struct state {
	const struct plan *plan;
	struct rng gaps, kinds, models;
	int64_t now_ns;
};

static const struct orr_param params[] = { ORR_PARAM_REAL("p", "0.5", 0, 1, "probability of an ad-hoc query"),
	REQUEST_PARAM_N("200"), ORR_PARAM_TIME("mean", "13ms", "mean gap between arrivals"),
	ORR_PARAM_CHOICE("arrivals", "poisson", "poisson|periodic", "gaps exponential, or all the same"),
	ORR_PARAM_TEXT("regular", "irina-yolov3:8", "model of regular queries : samples of each"),
	ORR_PARAM_TEXT("adhoc", "irina-alexnet:128|irina-googlenet:32|irina-vgg16:8", "models of ad-hoc queries : samples, perhaps *WEIGHT"),
	ORR_PARAM_TIME("slo", "0", "from arrival to completion; 0: the model's"), ORR_PARAM_END };

static int make_plan(void *plan, const struct orr_args *args, struct reqset *set, struct orr_error *err)
{
	struct plan *p = plan;
	p->p = orr_arg_real(args, "p");
	p->gap_ns = (double)orr_arg_time_ns(args, "mean");
	p->is_periodic = !strcmp(orr_arg_text(args, "arrivals"), "periodic");
	p->slo_ns = orr_arg_time_ns(args, "slo") > 0 ? orr_arg_time_ns(args, "slo") : -1;
	if (!(p->gap_ns > 0))
		return orr_fail(err, ORR_EINPUT, "generator irina: mean: expected a time above 0, found \"0\"");
	int rc = req_mix_parse(&p->regular, "irina", "regular", orr_arg_text(args, "regular"), true, set, err);
	if (!rc)
		rc = req_mix_parse(&p->adhoc, "irina", "adhoc", orr_arg_text(args, "adhoc"), true, set, err);
	if (!rc && (!p->regular.n || !p->adhoc.n))
		return orr_fail(err, ORR_EINPUT, "generator irina: %s: expected a model, found nothing", p->regular.n ? "adhoc" : "regular");
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
}

static bool next(void *state, struct request_rec *row)
{
	struct state *s = state;
	const struct plan *p = s->plan;
	double gap_ns = p->is_periodic ? p->gap_ns : rng_exponential(&s->gaps, p->gap_ns);
	bool is_adhoc = rng_uniform(&s->kinds) < p->p;
	const struct req_mix *mix = is_adhoc ? &p->adhoc : &p->regular;
	uint32_t i = req_mix_draw(mix, &s->models);
	int64_t room = INT64_C(4000000000000000000) - s->now_ns;
	s->now_ns += gap_ns < (double)room ? (int64_t)(gap_ns + 0.5) : room;
	row->arrival_ns = s->now_ns;
	row->model = mix->model[i];
	row->samples = mix->samples[i];
	row->slo_ns = p->slo_ns;
	return true;
}

const struct req_generator req_generator_irina = {
	.name = "irina",
	.doc = "regular queries of one model and ad-hoc ones of others (Irina's simulation)",
	.params = params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = make_plan,
	.unplan = unplan,
	.start = start,
	.next = next,
};
