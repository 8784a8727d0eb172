/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accounts of the time and the memory of each device.
 *
 * A device without work waits. The last dependency to end divides the wait before an op. If it was a message, the time since the
 * message was ready is exposed communication, even while earlier messages of its stream are sent. For a chain of messages, the time
 * starts at the first of them. All other waiting is bubble: another device still computes. */
#include "step/checkpoint.h"
#include "step/exec.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"

#include <gsl/gsl_randist.h>
#include <stdlib.h>
#include <string.h>

/* ---- speed of each device ---- */

static int parse_speeds(struct orr_step *s, const char *text)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		const char *colon = memchr(p, ':', n);
		int64_t device;
		double speed;
		if (!colon || !num_int(p, (size_t)(colon - p), &device) || !num_real(colon + 1, n - (size_t)(colon + 1 - p), &speed) ||
			device < 0 || device >= s->endpoints || !(speed > 0) || speed > 1e6) {
			orr_fail(&s->error, ORR_EINPUT,
				"step.speeds: expected DEVICE:SPEED,.. with devices 0..%u (GPUs, then a "
				"host for each node) and speeds above 0, "
				"found \"%.80s\"",
				s->endpoints - 1, p);
			return ORR_EINPUT;
		}
		s->device[device].speed = speed;
		p += n + (p[n] == ',');
	}
	return ORR_OK;
}

static struct spread_law law_named(const char *name, double spread)
{
	enum spread_kind kind = !strcmp(name, "none") ? LAW_NONE : !strcmp(name, "uniform") ? LAW_UNIFORM : LAW_LOGNORMAL;
	return (struct spread_law){ !strcmp(name, "exponential") ? LAW_EXPONENTIAL : kind, spread };
}

int account_options(struct orr_step *s)
{
	const struct orr_args *o = s->config->options;
	s->is_random = step_draws(o);
	s->straggler = law_named(orr_arg_text(o, "stragglers"), orr_arg_real(o, "straggler_spread"));
	s->jitter = law_named(orr_arg_text(o, "jitter"), orr_arg_real(o, "jitter_spread"));
	return corun_options(s) ? s->error.code : parse_speeds(s, orr_arg_text(o, "speeds"));
}

static double draw_factor(struct orr_step *s, const struct spread_law *law, const char *stream, uint64_t index)
{
	struct rng r;
	if (law->kind == LAW_NONE)
		return 1;
	*s->uses |= STEP_USED_RANDOM;
	rng_init(&r, s->config->seed, stream, index);
	if (law->kind == LAW_UNIFORM)
		return 1 + 2 * law->spread * rng_uniform(&r);
	if (law->kind == LAW_EXPONENTIAL)
		return 1 + rng_exponential(&r, law->spread);
	return gsl_ran_lognormal(rng_gsl(&r), 0, law->spread);
}

/* The straggler's factor depends on (seed, device, iteration) only, the jitter's on (seed, device, iteration, op) only. */
double stretch(struct orr_step *s, uint32_t device, uint64_t iteration, uint32_t op)
{
	uint64_t place = iteration << 24 | device, key = place;
	double straggler = draw_factor(s, &s->straggler, "straggler", place);
	return 1 / s->device[device].speed * straggler * draw_factor(s, &s->jitter, "jitter", hash_next(&key) + op);
}

/* ---- memory ---- */

static void does_not_fit(struct orr_step *s, uint32_t device, double bytes, double capacity)
{
	static const char *const kind[] = { "weights", "gradients", "optimizer", "activations", "buffers" };
	const struct device_state *d = &s->device[device];
	uint32_t worst = 0;
	double dynamic = bytes - d->static_bytes;
	for (uint32_t i = 1; i < ORR_MEMORY_KINDS; i++)
		if (d->by_kind[i] > d->by_kind[worst])
			worst = i;
	bool is_dynamic = dynamic > d->by_kind[worst];
	const struct cost *c = device < s->facts.gpus ? s->config->cost[s->type_of[device]] : NULL;
	bool has_scores = (is_dynamic || worst == ORR_MEMORY_ACTIVATIONS) && c && cost_scores_share(c) > 0.5;
	step_fail(s, ORR_EINPUT,
		"%s%sGPU %u needs at least %.4g GiB and has %.4g; the largest part is %s (%.4g GiB): use more devices, a smaller batch, "
		"recomputation or sharding%s, or --set step.ignore_memory=true",
		d->what ? d->what : "", d->what ? ": " : "", device, bytes / 0x1p30, capacity / 0x1p30,
		is_dynamic ? "activations" : kind[worst], (is_dynamic ? dynamic : d->by_kind[worst]) / 0x1p30,
		has_scores ? ", cost.fused_attention=true (most activations are attention scores)" : "");
}

static void memory_grows(struct orr_step *s, uint32_t device)
{
	struct device_state *d = &s->device[device];
	double now = d->static_bytes + d->dynamic_bytes;
	if (now <= d->peak_bytes)
		return;
	d->peak_bytes = now;
	double capacity = orr_device_memory(s, device);
	*s->uses |= now > capacity ? STEP_USED_MEMORY_LIMIT : 0;
	if (now > capacity && !s->ignore_memory)
		does_not_fit(s, device, now, capacity);
}

void orr_hold(struct orr_step *s, uint32_t device, enum orr_memory kind, double bytes, const char *what)
{
	if (s->built || s->building) {
		step_fail(s, ORR_EFAIL,
			"orr_hold: called outside create(): expected a call in create(), or orr_takes() and orr_gives() in build()");
		return;
	}
	if (device >= s->endpoints || (unsigned)kind >= ORR_MEMORY_KINDS || !(bytes >= 0) || isinf(bytes)) {
		step_fail(s, ORR_EFAIL, "orr_hold: device %u, kind %d, %g bytes: expected a device below %u and at least 0 bytes", device,
			(int)kind, bytes, s->endpoints);
		return;
	}
	struct device_state *d = &s->device[device];
	if (what && !d->what)
		d->what = mem_strdup(what);
	d->is_used = true;
	d->by_kind[kind] += bytes;
	d->static_bytes += bytes;
	memory_grows(s, device);
}

void orr_endpoint_name(struct orr_step *s, uint32_t endpoint, const char *name)
{
	if (s->built || s->building)
		step_fail(s, ORR_EFAIL, "orr_endpoint_name: called outside create(): expected a call in create()");
	else if (endpoint >= s->endpoints || !name || !*name)
		step_fail(s, ORR_EFAIL, "orr_endpoint_name: endpoint %u: expected an endpoint below %u and a name", endpoint, s->endpoints);
	if (s->error.code)
		return;
	mem_free(s->device[endpoint].name);
	s->device[endpoint].name = mem_strdup(name);
}

void account_memory(struct orr_step *s, struct iteration *k, uint32_t i, bool takes)
{
	const struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	const struct coll *c = o->type == OP_COLLECTIVE ? &k->coll[o->collective] : NULL;
	uint32_t lanes = c && c->size && s->lanes_run > 1 ? c->n : 1; /* for a collective among lanes: the memory of each member */
	for (uint32_t m = k->memory_of[x->op]; m < k->memory_of[x->op + 1]; m++) {
		if ((k->memory[m].bytes > 0) != takes)
			continue;
		for (uint32_t r = 0; r < lanes; r++) {
			uint32_t lane = c && c->size ? group_lane(c, x->lane, r) : x->lane;
			uint32_t device = real_device(s, lane, k->memory[m].device);
			s->device[device].dynamic_bytes += k->memory[m].bytes;
			memory_grows(s, device);
		}
	}
}

/* ---- ops ---- */

/* Removes the spans of iterations that cannot be among the last ones (give() in run.c). */
static void forget_spans(struct orr_step *s)
{
	size_t ended = s->period ? s->steady_rows : s->n_rows, n = 0;
	for (size_t i = 0; i < s->n_spans; i++) {
		if (s->span[i].iteration + s->config->spans < ended)
			mem_free((void *)(uintptr_t)s->span[i].label);
		else
			s->span[n++] = s->span[i];
	}
	s->n_spans = n;
	s->spans_wanted = 2 * n + 1024;
}

static void span_add(struct orr_step *s, const struct iteration *k, const struct instance *x, const struct op *o)
{
	if (!s->config->spans || o->type == OP_DELAY || (o->type == OP_COMPUTE && s->now_s <= x->start_s))
		return;
	if (s->n_spans >= s->spans_wanted)
		forget_spans(s);
	MEM_GROW(s->span, s->n_spans, s->cap_spans);
	const struct coll *c = o->type == OP_COLLECTIVE ? &k->coll[o->collective] : NULL;
	s->span[s->n_spans++] = (struct step_span){ .start_s = x->start_s,
		.end_s = s->now_s,
		.iteration = k->number,
		.device = c ? rank_device(s, k, c, x->lane, 0) : real_device(s, x->lane, o->device),
		.stream = o->stream == NO_STREAM ? STEP_STREAMS : o->stream,
		.peer = o->type == OP_TRANSFER ? real_device(s, x->lane, o->peer) : NONE,
		.work = o->type == OP_COMPUTE ? o->work : ORR_WORK_KINDS,
		.label = o->label == NONE ? NULL : mem_strdup(k->text + o->label) };
}

static void tell(struct orr_step *s, const struct iteration *k, uint32_t i, bool is_end)
{
	const struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	uint32_t n = o->type == OP_COLLECTIVE ? k->coll[o->collective].n : o->type == OP_TRANSFER ? 2 : 1;
	uint32_t small[2], *group = n > 2 ? mem_alloc(n * sizeof *group) : small;
	struct orr_update *u = mem_alloc(o->n_updates * sizeof *u);
	if (o->type == OP_COLLECTIVE) {
		for (uint32_t r = 0; r < n; r++)
			group[r] = rank_device(s, k, &k->coll[o->collective], x->lane, r);
	} else {
		group[0] = o->device == NONE ? NONE : real_device(s, x->lane, o->device);
		if (n == 2)
			group[1] = real_device(s, x->lane, o->peer);
	}
	for (uint32_t j = 0; j < o->n_updates; j++)
		u[j] = k->update[o->first_update + j].update;
	s->config->hook(s->config->hook_ctx, s->now_s, is_end, (k->number + 1) << 32 | i, u, o->n_updates, group, n);
	mem_free(u);
	if (group != small)
		mem_free(group);
}

int account_start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	const struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	account_memory(s, k, i, true);
	if (o->n_updates && s->config->hook)
		tell(s, k, i, false);
	if (o->type != OP_COMPUTE || s->error.code)
		return s->error.code;
	uint32_t device = real_device(s, x->lane, o->device);
	struct device_state *d = &s->device[device];
	struct usage *u = &k->usage[device];
	if (corun_is_busy(s, device))
		d->busy_until = s->now_s;
	double idle = s->now_s - d->busy_until, measured = fmin(idle, s->now_s - s->measured_s);
	if (isnan(d->first_s))
		d->first_s = s->now_s;
	d->is_used = true;
	if (idle > 0) {
		double message = x->has_comm ? s->now_s - x->comm_start_s : 0, exposed = fmin(idle, message);
		u->exposed += exposed;
		u->bubble += idle - exposed;
		exposed = fmin(measured, message);
		s->total[device].exposed += exposed;
		s->total[device].bubble += measured - exposed;
	}
	return ORR_OK;
}

static void add_sent(struct orr_step *s, struct iteration *k, uint32_t device, double bytes, bool is_alone)
{
	*(is_alone ? &k->usage[device].sent_alone : &k->usage[device].sent) += bytes;
	if (!s->is_measured)
		*(is_alone ? &s->total[device].sent_alone : &s->total[device].sent) += bytes;
}

static void count_sent(struct orr_step *s, struct iteration *k, const struct instance *x, const struct op *o)
{
	if (o->type == OP_TRANSFER) {
		add_sent(s, k, real_device(s, x->lane, o->device), o->amount, false);
		return;
	}
	const struct coll *c = &k->coll[o->collective];
	const struct coll_plan *p = &plan_of(s, k, c, x->lane)->phases;
	/* One group of lanes represents all groups. The bytes of each rank then belong to its lane, unless all ranks send equal
	 * bytes. */
	bool is_alone = c->size && s->lanes_run == 1 && !plan_of(s, k, c, x->lane)->is_even;
	for (uint32_t f = 0; f < p->n_phases; f++)
		for (uint32_t j = 0; j < p->phase[f].count; j++) {
			const struct coll_send *m = &p->send[p->phase[f].first + j];
			double bytes = m->bytes * p->phase[f].repeat * c->what.repeat;
			for (uint32_t g = 0; g < (is_alone ? s->lanes / c->size : 1); g++) {
				uint32_t lane = is_alone ? g / c->stride * c->size * c->stride + g % c->stride : x->lane;
				add_sent(s, k, rank_device(s, k, c, lane, m->from), bytes, is_alone);
			}
		}
}

static void stage_add(struct device_state *d, double start_s, double end_s)
{
	d->stage_from_s = d->stage_busy_s > 0 ? fmin(d->stage_from_s, start_s) : start_s;
	d->stage_to_s = fmax(d->stage_to_s, end_s);
	d->stage_busy_s += end_s - start_s;
}

void account_end(struct orr_step *s, struct iteration *k, uint32_t i)
{
	const struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	account_memory(s, k, i, false);
	if (o->n_updates && s->config->hook)
		tell(s, k, i, true);
	span_add(s, k, x, o);
	if (o->type == OP_COMPUTE) {
		uint32_t device = real_device(s, x->lane, o->device);
		double time = s->now_s - x->start_s;
		s->device[device].busy_until = s->now_s;
		if (s->has_stages && !k->number && o->work != ORR_OPTIMIZER)
			stage_add(&s->device[device], x->start_s, s->now_s);
		k->usage[device].work[o->work] += s->corun ? x->busy_s : time;
		if (!s->corun) /* otherwise corun.c has counted the time */
			s->total[device].work[o->work] += s->now_s - fmax(x->start_s, s->measured_s);
	} else if (o->type != OP_DELAY) {
		count_sent(s, k, x, o);
	}
}

/* ---- iterations ---- */

void usage_add(struct usage *to, const struct usage *u, double times)
{
	for (int w = 0; w < ORR_WORK_KINDS; w++)
		to->work[w] += times * u->work[w];
	to->exposed += times * u->exposed;
	to->bubble += times * u->bubble;
	to->sent += times * u->sent;
	to->sent_alone += times * u->sent_alone;
}

void account_unended(struct orr_step *s, struct iteration *k)
{
	for (uint32_t i = 0; i < k->n_instances && s->period; i++) {
		const struct instance *x = &k->instance[i];
		const struct op *o = &k->op[x->op];
		if (x->state != ENDED && !o->is_cancelled && (o->type == OP_TRANSFER || o->type == OP_COLLECTIVE))
			count_sent(s, k, x, o);
	}
}

void account_retire(struct orr_step *s, struct iteration *k)
{
	if (s->period && k->number >= s->steady_rows)
		return;
	memcpy(s->recent + (k->number % STEP_MAX_PERIOD) * s->endpoints, k->usage, s->endpoints * sizeof *k->usage);
}

/* Counts the wait of idle devices for the message, or chain of messages, that ends the last iteration. In other iterations the next op
 * counts it. */
void account_last(struct orr_step *s, double comm_start_s)
{
	for (uint32_t d = 0; d < s->endpoints; d++) {
		double idle = s->now_s - fmax(s->device[d].busy_until, s->measured_s);
		if (!isnan(s->device[d].first_s) && idle > 0) /* others never compute */
			s->total[d].exposed += fmin(idle, s->now_s - comm_start_s);
	}
}

/* Counts the work so far of compute ops that are running at the end of the run. */
void account_cut(struct orr_step *s)
{
	corun_settle(s);
	for (uint64_t j = 0; j < s->n_live && !s->corun; j++)
		for (uint32_t i = 0; i < s->live[j]->n_instances; i++) {
			const struct instance *x = &s->live[j]->instance[i];
			const struct op *o = &s->live[j]->op[x->op];
			if (x->state == GOING && o->type == OP_COMPUTE)
				s->total[real_device(s, x->lane, o->device)].work[o->work] += s->now_s - fmax(x->start_s, s->measured_s);
		}
}

void account_measure(struct orr_step *s)
{
	corun_settle(s);
	s->measured_s = s->now_s;
	memset(s->total, 0, s->endpoints * sizeof *s->total);
}

/* Returns the sum over the last period in a steady state, else over all iterations that are measured. */
static struct usage usage_of(const struct orr_step *s, uint32_t d, uint64_t iterations)
{
	struct usage u = { 0 };
	if (s->checkpoint && s->checkpoint->cycle)
		return s->checkpoint->usage[d];
	if (!s->period)
		return iterations > 1 ? s->total[d] : s->recent[d];
	for (uint32_t j = 0; j < s->period; j++)
		usage_add(&u, &s->recent[((s->steady_rows - 1 - j) % STEP_MAX_PERIOD) * s->endpoints + d], 1);
	return u;
}

/* Fills in the values of device d; in a merged run, those of the device that represents it. */
static void device_result(
	const struct orr_step *s, uint32_t d, uint32_t stand_in, uint64_t iterations, double iteration_s, struct step_device *out)
{
	struct usage u = usage_of(s, stand_in, iterations);
	double n = s->period ? s->period : (double)(iterations - run_first(s, iterations));
	*out = (struct step_device){ .device = d,
		.node = s->node_of[d],
		.optimizer_s = u.work[ORR_OPTIMIZER] / n,
		.codec_s = u.work[ORR_CODEC] / n,
		.compute_s = (u.work[ORR_FORWARD] + u.work[ORR_BACKWARD] + u.work[ORR_RECOMPUTE] + u.work[ORR_OTHER_WORK] +
				     u.work[ORR_BACKWARD_WEIGHT]) /
			     n,
		.exposed_s = u.exposed / n,
		.bubble_s = u.bubble / n,
		.sent_bytes = (u.sent + usage_of(s, d, iterations).sent_alone) / n,
		.peak_memory_bytes = fmax(s->device[d].peak_bytes, s->device[stand_in].peak_bytes) };
	double rest = iteration_s - out->compute_s - out->optimizer_s - out->codec_s - out->exposed_s - out->bubble_s;
	out->idle_s = rest > 1e-12 * iteration_s ? rest : 0;
}

void orr_step_stages(struct orr_step *s)
{
	if (s->built || s->building)
		step_fail(s, ORR_EFAIL, "orr_step_stages: called outside create(): expected a call in create()");
	s->has_stages = true;
}

/* In a merged run only devices of lane 0 have worked; the others are equal. */
void account_stages(const struct orr_step *s, struct step_stages *out)
{
	double from = INFINITY, to = 0;
	*out = (struct step_stages){ .is_kept = s->has_stages };
	for (uint32_t d = 0; out->is_kept && d < s->endpoints; d++) {
		const struct device_state *x = &s->device[d];
		double waits = x->stage_to_s - x->stage_from_s - x->stage_busy_s;
		if (!(x->stage_busy_s > 0))
			continue;
		from = fmin(from, x->stage_from_s);
		to = fmax(to, x->stage_to_s);
		out->longest_s = fmax(out->longest_s, x->stage_to_s - x->stage_from_s);
		out->peak_bytes = fmax(out->peak_bytes, x->peak_bytes - x->static_bytes);
		if (waits > out->bubble_s || !(out->busy_s > 0)) {
			out->bubble_s = fmax(waits, 0);
			out->busy_s = x->stage_busy_s;
		}
		out->most_busy_s = fmax(out->most_busy_s, x->stage_busy_s);
		out->least_busy_s = out->least_busy_s > 0 ? fmin(out->least_busy_s, x->stage_busy_s) : x->stage_busy_s;
	}
	out->makespan_s = to > from ? to - from : 0;
}

/* In a merged run, the devices of lane 0 represent those of all lanes. */
static void stand_in(const struct orr_step *s, uint32_t *of)
{
	for (uint32_t d = 0; d < s->endpoints; d++)
		of[d] = d;
	if (!s->map || s->lanes_run > 1)
		return;
	for (uint32_t l = 0; l < s->lanes; l++)
		for (uint32_t p = 0; p < s->positions; p++)
			of[s->map[(size_t)l * s->positions + p]] = s->map[p];
}

void account_result(struct orr_step *s, struct step_result *out)
{
	uint32_t *of = mem_alloc(s->endpoints * sizeof *of);
	uint64_t iterations = s->checkpoint ? s->wanted : out->simulated;
	stand_in(s, of);
	out->device = mem_zalloc(s->first_function, sizeof *out->device);
	for (uint32_t d = 0; d < s->first_function; d++) {
		if (!s->device[of[d]].is_used)
			continue;
		device_result(s, d, of[d], iterations, out->iteration_s, &out->device[out->n_devices++]);
	}
	mem_free(of);
	out->name = mem_zalloc(s->endpoints, sizeof *out->name);
	out->n_names = s->endpoints;
	for (uint32_t d = 0; d < s->endpoints; d++) {
		out->name[d] = s->device[d].name;
		s->device[d].name = NULL;
	}
}
