/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expert parallelism: routing, costs and ops of a pass (experts.h). */
#include "experts.h"

#include <math.h>
#include <string.h>

/* ---- routing ---- */

static int choice_of(const char *text, const char *const *names)
{
	int i = 0;
	while (names[i] && strcmp(names[i], text))
		i++;
	return i;
}

/* Returns the number of consecutive GPUs of a node, if it is the same for all nodes; else 0. */
static uint32_t per_node(const struct orr_step *s, const uint32_t *device, uint32_t n)
{
	uint32_t run = 1;
	while (run < n && orr_node_of(s, device[run]) == orr_node_of(s, device[0]))
		run++;
	for (uint32_t i = 0; i < n; i++)
		if (n % run || orr_node_of(s, device[i]) != orr_node_of(s, device[i - i % run]) ||
			(i % run == 0 && i && orr_node_of(s, device[i]) == orr_node_of(s, device[i - 1])))
			return 0;
	return run;
}

/* Returns the index of the first GPU of a group that is spread over nodes differently from the first group; n: none. */
static uint32_t other_group(const struct orr_step *s, const uint32_t *device, uint32_t n, uint32_t ep)
{
	for (uint32_t i = ep; i < n; i++) {
		uint32_t k = i % ep;
		bool is_beside = k && orr_node_of(s, device[i]) == orr_node_of(s, device[i - 1]);
		bool is_first_beside = k && orr_node_of(s, device[k]) == orr_node_of(s, device[k - 1]);
		if (is_beside != is_first_beside)
			return i - k;
	}
	return n;
}

static int read_loads(const struct orr_args *args, uint32_t experts, double **out, struct orr_error *err)
{
	size_t n;
	const char *text = orr_arg_file(args, "expert_load", &n);
	*out = text ? orr_alloc(experts, sizeof **out) : NULL;
	return text ? orr_routing_loads(orr_arg_text(args, "expert_load"), text, n, experts, *out, err) : ORR_OK;
}

static int route(struct experts *x, struct orr_step *s, const struct orr_args *args, uint32_t node, struct orr_error *err)
{
	static const char *const placements[] = { "auto", "contiguous", "balanced", NULL };
	const struct orr_step_experts *m = &x->model;
	uint32_t groups = (uint32_t)orr_arg_int(args, "expert_groups"), top = (uint32_t)orr_arg_int(args, "top_groups");
	double *load;
	int rc = read_loads(args, m->experts, &load, err);
	struct orr_routing_terms t = { .experts = m->experts,
		.top_k = m->top_k,
		.groups = groups ? groups : m->groups,
		.top_groups = top      ? top
			      : groups ? groups
				       : m->top_groups,
		.load = load,
		.skew = orr_arg_real(args, "expert_skew"),
		.ranks = x->ep,
		.per_node = node,
		.copies = (uint32_t)orr_arg_int(args, "expert_copies"),
		.placement = (enum orr_expert_placement)choice_of(orr_arg_text(args, "expert_placement"), placements),
		.capacity = orr_arg_real(args, "capacity") };
	if (!rc)
		rc = orr_step_route(s, &t, &x->routing, err);
	orr_free(load);
	return rc;
}

int experts_init(struct experts *x, struct orr_step *s, const struct orr_args *args, const uint32_t *device, uint32_t n, uint32_t ep,
	double tokens, const double bytes[2], struct orr_error *err)
{
	static const char *const modes[] = { "per-expert", "per-rank", "per-node", NULL };
	double dispatch = orr_arg_real(args, "dispatch_bytes"), combine = orr_arg_real(args, "combine_bytes");
	double sms = orr_device_sms(s, device[0]), used = (double)orr_arg_int(args, "comm_sms"), alpha = orr_arg_real(args, "ep_alpha");
	enum orr_expert_mode mode = (enum orr_expert_mode)choice_of(orr_arg_text(args, "ep_mode"), modes);
	uint32_t node = per_node(s, device, ep), other = other_group(s, device, n, ep);
	x->ep = ep;
	x->batches = strcmp(orr_arg_text(args, "ep_overlap"), "none") ? 2 : 1;
	x->tokens = tokens / x->batches;
	x->slowdown = 1;
	if (!orr_step_experts(s, &x->model))
		return orr_fail(err, ORR_EINPUT, "expert parallelism: expected a model with routed experts");
	if (!node)
		return orr_fail(err, ORR_EINPUT,
			"ep=%u: the nodes have different numbers of GPUs of the group: expected equal numbers of neighbours", ep);
	if (other < n)
		return orr_fail(err, ORR_EINPUT,
			"ep=%u: GPUs %u..%u are spread over nodes differently from the first group: expected the same spread for every "
			"group",
			ep, device[other], device[other + ep - 1]);
	if (x->batches > 1 && sms > 0 && used >= sms)
		return orr_fail(err, ORR_EINPUT, "comm_sms=%g: expected less than the %g multiprocessors of the device", used, sms);
	if (x->batches > 1 && sms > 0 && ep > 1)
		x->slowdown = sms / (sms - used);
	if (route(x, s, args, node, err))
		return ORR_EINPUT;
	x->dispatch_bytes = dispatch >= 0 ? dispatch : bytes[0];
	x->combine_bytes = combine >= 0 ? combine : bytes[1];
	x->dispatch = orr_routing_messages(s, x->routing.number, mode, x->tokens * x->dispatch_bytes, false, alpha);
	x->combine = orr_routing_messages(s, x->routing.number, mode, x->tokens * x->combine_bytes, true, alpha);
	return ORR_OK;
}

void experts_free(struct experts *x)
{
	orr_free(x->known);
	orr_free(x->known_number);
}

/* ---- costs ---- */

double experts_params(const struct orr_step *s, uint32_t first, uint32_t count)
{
	double sum = 0;
	for (uint32_t l = first; l < first + count; l++)
		sum += orr_layer_experts(s, l) ? orr_step_params(s, l, 1) : 0;
	return sum;
}

static int first_pass(int pass)
{
	return pass == EXPERTS_BACKWARD ? ORR_PASS_BACKWARD_DATA : ORR_PASS_FORWARD;
}

static int last_pass(int pass)
{
	return pass == EXPERTS_BACKWARD ? ORR_PASS_BACKWARD_WEIGHT : ORR_PASS_FORWARD;
}

/* Returns the seconds of dense layers first..end-1. */
static double dense_s(const struct orr_step *s, uint32_t device, uint32_t first, uint32_t end, double samples, uint32_t shards,
	bool sequence_parallel, int pass)
{
	double sum = 0;
	for (int k = first_pass(pass); k <= last_pass(pass) && first < end; k++)
		sum += sequence_parallel ? orr_cost_sequence_parallel(s, device, (enum orr_pass)k, first, end - first, samples, shards)
					 : orr_cost(s, device, (enum orr_pass)k, first, end - first, samples, shards);
	return sum;
}

/* Adds the times of a routed layer, by rank: a rank computes the pairs of the tokens of all ranks. */
static void add_routed(const struct experts *x, const struct orr_step *s, uint32_t device, uint32_t layer, int pass, double *out)
{
	for (uint32_t r = 0; r < x->ep; r++) {
		double pairs = x->routing.rank_pairs[r] * x->tokens * x->ep, n = x->routing.rank_experts[r];
		for (int k = first_pass(pass); k <= last_pass(pass); k++)
			out[r] += x->slowdown * orr_cost_experts(s, device, (enum orr_pass)k, layer, pairs, n, 1);
	}
}

void experts_measure(const struct experts *x, const struct orr_step *s, uint32_t device, uint32_t first, uint32_t count, double samples,
	uint32_t shards, bool sequence_parallel, struct segments *out)
{
	uint32_t end = first + count, n = 1;
	for (uint32_t l = first; l < end; l++)
		n += orr_layer_experts(s, l) && (l == first || !orr_layer_experts(s, l - 1));
	*out = (struct segments){ orr_alloc(n, sizeof *out->of), 0 };
	for (uint32_t l = first; l < end || out->n < n;) {
		struct segment *g = &out->of[out->n++];
		uint32_t from = l, routed;
		for (; l < end && !orr_layer_experts(s, l); l++)
			;
		for (routed = l; l < end && orr_layer_experts(s, l); l++)
			;
		for (int pass = 0; pass < EXPERTS_PASSES; pass++) {
			g->dense_s[pass] =
				x->slowdown * dense_s(s, device, from, routed, samples / x->batches, shards, sequence_parallel, pass);
			g->routed_s[pass] = l > routed ? orr_alloc(x->ep, sizeof(double)) : NULL;
			for (uint32_t i = routed; i < l; i++)
				add_routed(x, s, device, i, pass, g->routed_s[pass]);
		}
	}
}

void segments_free(struct segments *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		for (int pass = 0; pass < EXPERTS_PASSES; pass++)
			orr_free(g->of[i].routed_s[pass]);
	orr_free(g->of);
}

double segments_seconds(const struct experts *x, const struct segments *g, int pass)
{
	double sum = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		sum += g->of[i].dense_s[pass];
		for (uint32_t r = 0; r < x->ep && g->of[i].routed_s[pass]; r++)
			sum += g->of[i].routed_s[pass][r] / x->ep;
	}
	return sum * x->batches;
}

void segments_scale(const struct experts *x, struct segments *g, int pass, double factor)
{
	for (uint32_t i = 0; i < g->n; i++) {
		g->of[i].dense_s[pass] *= factor;
		for (uint32_t r = 0; r < x->ep && g->of[i].routed_s[pass]; r++)
			g->of[i].routed_s[pass][r] *= factor;
	}
}

void segments_declare(struct experts *x, struct orr_step *s, struct segments *g, uint32_t lanes)
{
	double *by_lane = orr_alloc(lanes, sizeof *by_lane);
	for (uint32_t i = 0; i < g->n; i++)
		for (int pass = 0; pass < EXPERTS_PASSES; pass++) {
			const double *t = g->of[i].routed_s[pass];
			uint32_t k = 0;
			while (t && k < x->n_known && memcmp(x->known[k], t, x->ep * sizeof *t) != 0)
				k++;
			if (t && k == x->n_known) {
				for (uint32_t l = 0; l < lanes; l++)
					by_lane[l] = t[l % x->ep];
				x->known = orr_realloc(x->known, k + 1, sizeof *x->known);
				x->known_number = orr_realloc(x->known_number, k + 1, sizeof *x->known_number);
				x->known[k] = t;
				x->known_number[k] = orr_step_lane_seconds(s, by_lane);
				x->n_known++;
			}
			g->of[i].number[pass] = t ? x->known_number[k] : 0;
		}
	orr_free(by_lane);
}

/* ---- ops ---- */

static orr_op exchange(
	const struct experts *x, struct orr_step *s, uint32_t position, uint32_t messages, uint32_t stream, orr_op after, const char *label)
{
	if (x->ep == 1)
		return after;
	orr_op op = orr_exchange_lanes(s, position, x->ep, 1, messages);
	orr_after(s, op, after);
	if (x->batches > 1)
		orr_on_stream(s, op, stream);
	orr_label(s, op, "%s", label);
	return op;
}

/* Backward: the combine's gradients are dispatched, computed with, and combined. */
static orr_op routed(const struct experts *x, struct orr_step *s, uint32_t position, const struct segment *g, int pass, enum orr_work work,
	uint32_t stream, orr_op before)
{
	bool is_backward = pass == EXPERTS_BACKWARD;
	if (!g->routed_s[pass])
		return before;
	before = exchange(x, s, position, x->dispatch, stream, before, is_backward ? "dispatch of gradients" : "dispatch");
	orr_op op = orr_compute_lanes(s, position, work, g->number[pass]);
	orr_after(s, op, before);
	orr_label(s, op, "experts");
	return exchange(x, s, position, x->combine, stream, op, is_backward ? "combine of gradients" : "combine");
}

/* Segments forward: dense, routed, dense, .., dense. Backward: the other way round. The batches take turns. */
orr_op experts_build(const struct experts *x, struct orr_step *s, uint32_t position, const struct segments *g, int pass, enum orr_work work,
	const orr_op after[2], uint32_t stream, orr_op *first)
{
	orr_op tail[2] = { 0, 0 };
	bool is_backward = pass == EXPERTS_BACKWARD;
	*first = 0;
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t b = 0; b < x->batches; b++) {
			const struct segment *at = &g->of[is_backward ? g->n - 1 - i : i];
			if (is_backward && i)
				tail[b] = routed(x, s, position, at, pass, work, stream, tail[b]);
			orr_op op = orr_compute(s, position, work, at->dense_s[pass]);
			if (!i)
				for (int k = 0; k < 2; k++)
					orr_after(s, op, after[k]);
			orr_after(s, op, tail[b]);
			*first = *first ? *first : op;
			tail[b] = is_backward ? op : routed(x, s, position, at, pass, work, stream, op);
		}
	if (x->batches == 1)
		return tail[0];
	orr_op both = orr_mark(s);
	orr_after(s, both, tail[0]);
	orr_after(s, both, tail[1]);
	return both;
}
