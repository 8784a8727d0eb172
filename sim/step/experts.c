/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of orrery/step.h for mixtures of experts: facts, routings, exchanges, times by lane. */
#include "step/experts.h"

#include "base/mem.h"
#include "hwmodel/routing.h"

#include <string.h>

enum { MOST_RANKS = 8192 };

bool orr_step_experts(const struct orr_step *s, struct orr_step_experts *out)
{
	const struct dnn_experts *e = &s->config->dnn->moe;
	*out = (struct orr_step_experts){ e->experts, e->top_k, e->shared, e->width, e->groups, e->top_groups };
	return e->experts > 0;
}

uint32_t orr_layer_experts(const struct orr_step *s, uint32_t layer)
{
	return layer < s->facts.layers ? (uint32_t)s->config->dnn->layer[layer].experts : 0;
}

enum orr_split orr_layer_split(const struct orr_step *s, uint32_t layer)
{
	static const enum orr_split of[] = { [DNN_SPLIT_AUTO] = ORR_SPLIT_AUTO,
		[DNN_SPLIT_NONE] = ORR_SPLIT_NONE,
		[DNN_SPLIT_COLUMNS] = ORR_SPLIT_COLUMNS,
		[DNN_SPLIT_ROWS] = ORR_SPLIT_ROWS };
	return layer < s->facts.layers ? of[s->config->dnn->layer[layer].split] : ORR_SPLIT_AUTO;
}

void orr_step_attention(const struct orr_step *s, struct orr_step_attention *out)
{
	const struct dnn *d = s->config->dnn;
	*out = (struct orr_step_attention){ d->attention.head_dim, d->attention.v_dim, d->kv_heads, d->attention.cached };
}

double orr_cost_experts(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t layer, double pairs, double experts, uint32_t shards)
{
	static const enum dnn_pass passes[] = { DNN_FORWARD, DNN_BACKWARD_DATA, DNN_BACKWARD_WEIGHT };
	if (device >= s->facts.gpus || layer >= s->facts.layers || (unsigned)pass > ORR_PASS_BACKWARD_WEIGHT)
		return 0;
	double seconds = cost_experts_s(s->config->cost[s->type_of[device]], layer, passes[pass], pairs, experts, shards ? shards : 1);
	/* step.compute_s multiplies the cost model's time of every layer, this one included, by the same factor. */
	return s->is_scaled ? s->scale_conv * seconds : seconds;
}

double orr_device_sms(const struct orr_step *s, uint32_t device)
{
	return device < s->facts.gpus ? s->config->device[s->type_of[device]]->sms : 0;
}

/* ---- declarations, in create() ---- */

static struct experts *declared(struct orr_step *s, const char *what)
{
	if (s->error.code)
		return NULL;
	if (s->built || s->building) {
		step_fail(s, ORR_EFAIL, "%s: called outside create(): expected a call in create()", what);
		return NULL;
	}
	if (!s->experts)
		s->experts = mem_zalloc(1, sizeof *s->experts);
	return s->experts;
}

int orr_routing_loads(const char *file, const char *text, size_t size, uint32_t n, double *out, struct orr_error *err)
{
	return routing_read_loads(file, text, size, n, out, err);
}

int orr_step_route(struct orr_step *s, const struct orr_routing_terms *t, struct orr_routing *out, struct orr_error *err)
{
	struct experts *x = declared(s, "orr_step_route");
	if (out)
		*out = (struct orr_routing){ .number = UINT32_MAX };
	if (x && (!t || !out))
		step_fail(s, ORR_EFAIL, "orr_step_route: a pointer is NULL: expected terms and a result");
	if (s->error.code) {
		if (err)
			*err = s->error;
		return s->error.code;
	}
	if (t->ranks > MOST_RANKS)
		return orr_fail(err, ORR_EINPUT, "%u GPUs share the experts: expected at most %d", t->ranks, MOST_RANKS);
	MEM_GROW(x->routing, x->n_routings, x->cap_routings);
	struct routing *r = &x->routing[x->n_routings];
	int rc = routing_new(t, r, err);
	if (rc)
		return rc;
	*out = (struct orr_routing){ x->n_routings++, r->rank_pairs, r->rank_visits, r->rank_slots, r->distinct_ranks, r->distinct_nodes,
		r->imbalance, r->dropped };
	return ORR_OK;
}

static uint32_t messages_add(struct experts *x, uint32_t n, double *bytes, double start_s)
{
	struct coll_messages *m = mem_alloc(sizeof *m);
	*m = (struct coll_messages){ n, bytes, start_s };
	MEM_GROW(x->messages, x->n_messages, x->cap_messages);
	x->messages[x->n_messages] = m;
	return x->n_messages++;
}

static bool is_time(struct orr_step *s, double seconds, const char *what)
{
	if (seconds >= 0 && isfinite(seconds))
		return true;
	step_fail(s, ORR_EFAIL, "%s: expected seconds of at least 0, found %g", what, seconds);
	return false;
}

uint32_t orr_routing_messages(
	struct orr_step *s, uint32_t routing, enum orr_expert_mode mode, double bytes, bool is_combine, double start_s)
{
	struct experts *x = declared(s, "orr_routing_messages");
	if (!x || !is_time(s, start_s, "orr_routing_messages"))
		return UINT32_MAX;
	if (routing >= x->n_routings || !(bytes >= 0) || isinf(bytes) || (unsigned)mode > ORR_EXPERT_PER_NODE) {
		step_fail(s, ORR_EFAIL, "orr_routing_messages: expected a routing, a mode and at least 0 bytes, found %u, %d, %g", routing,
			(int)mode, bytes);
		return UINT32_MAX;
	}
	const struct routing *r = &x->routing[routing];
	double *out = mem_alloc((size_t)r->ranks * r->ranks * sizeof *out);
	routing_messages(r, mode, bytes, is_combine, out);
	return messages_add(x, r->ranks, out, start_s);
}

uint32_t orr_step_messages(struct orr_step *s, uint32_t n, const double *bytes, double start_s)
{
	struct experts *x = declared(s, "orr_step_messages");
	if (!x || !is_time(s, start_s, "orr_step_messages"))
		return UINT32_MAX;
	if (!n || n > MOST_RANKS || !bytes) {
		step_fail(s, ORR_EFAIL, "orr_step_messages: expected the bytes of 1 to %d ranks, found %u", MOST_RANKS, bytes ? n : 0);
		return UINT32_MAX;
	}
	for (size_t i = 0; i < (size_t)n * n; i++)
		if (!(bytes[i] >= 0) || isinf(bytes[i])) {
			step_fail(s, ORR_EFAIL, "orr_step_messages: from %zu to %zu: expected at least 0 bytes, found %g", i / n, i % n,
				bytes[i]);
			return UINT32_MAX;
		}
	double *copy = mem_alloc((size_t)n * n * sizeof *copy);
	memcpy(copy, bytes, (size_t)n * n * sizeof *copy);
	return messages_add(x, n, copy, start_s);
}

uint32_t orr_step_lane_seconds(struct orr_step *s, const double *seconds)
{
	struct experts *x = declared(s, "orr_step_lane_seconds");
	if (!x)
		return UINT32_MAX;
	if (!s->map || !seconds) {
		step_fail(s, ORR_EFAIL, "orr_step_lane_seconds: expected %s",
			s->map ? "a time for each lane" : "a call after orr_step_lanes()");
		return UINT32_MAX;
	}
	for (uint32_t l = 0; l < s->lanes; l++)
		if (!is_time(s, seconds[l], "orr_step_lane_seconds"))
			return UINT32_MAX;
	double *copy = mem_alloc(s->lanes * sizeof *copy);
	memcpy(copy, seconds, s->lanes * sizeof *copy);
	for (uint32_t l = 1; l < s->lanes; l++)
		s->have_other_times = s->have_other_times || copy[l] < copy[0] || copy[l] > copy[0];
	MEM_GROW(x->seconds, x->n_seconds, x->cap_seconds);
	x->seconds[x->n_seconds] = copy;
	return x->n_seconds++;
}

bool experts_differ(struct orr_step *s)
{
	if (s->have_other_times)
		step_fail(s, ORR_EINPUT, "step.merge=on: lanes compute for different times: expected step.merge=auto or off");
	return s->have_other_times;
}

void step_experts_free(struct orr_step *s)
{
	struct experts *x = s->experts;
	if (!x)
		return;
	for (uint32_t i = 0; i < x->n_routings; i++)
		routing_free(&x->routing[i]);
	for (uint32_t i = 0; i < x->n_messages; i++) {
		mem_free(x->messages[i]->bytes);
		mem_free(x->messages[i]);
	}
	for (uint32_t i = 0; i < x->n_seconds; i++)
		mem_free(x->seconds[i]);
	mem_free(x->routing);
	mem_free(x->messages);
	mem_free(x->seconds);
	mem_free(x);
	s->experts = NULL;
}

/* ---- ops, in build() ---- */

/* Returns the messages of this number. If there are none, or not of n ranks, fails the run and returns NULL. */
static const struct coll_messages *messages_of(struct orr_step *s, uint32_t number, uint32_t n, const char *what)
{
	if (s->error.code)
		return NULL;
	if (!s->experts || number >= s->experts->n_messages) {
		step_fail(
			s, ORR_EFAIL, "%s: messages %u: expected a number of orr_step_messages() or orr_routing_messages()", what, number);
		return NULL;
	}
	const struct coll_messages *m = s->experts->messages[number];
	if (m->n == n)
		return m;
	step_fail(s, ORR_EFAIL, "%s: a group of %u: expected %u ranks, those of the messages", what, n, m->n);
	return NULL;
}

/* Returns the collective of an exchange: an all-to-all, whose bytes are those of equal messages with the same sum. */
static struct orr_collective collective_of(const struct coll_messages *m)
{
	double sum = 0;
	for (size_t i = 0; i < (size_t)m->n * m->n; i++)
		sum += i / m->n == i % m->n ? 0 : m->bytes[i];
	return (struct orr_collective){ .op = ORR_ALL_TO_ALL, .algorithm = ORR_DIRECT, .bytes = m->n > 1 ? sum / (m->n - 1) : 0 };
}

orr_op orr_exchange(struct orr_step *s, const struct orr_group *g, uint32_t messages)
{
	const struct coll_messages *m = messages_of(s, messages, g ? g->n : 0, "orr_exchange");
	if (!m)
		return 0;
	struct orr_collective c = collective_of(m);
	s->exchange = m;
	orr_op op = orr_collective(s, g, &c);
	s->exchange = NULL;
	return op;
}

orr_op orr_exchange_lanes(struct orr_step *s, uint32_t position, uint32_t size, uint32_t stride, uint32_t messages)
{
	const struct coll_messages *m = messages_of(s, messages, size, "orr_exchange_lanes");
	if (!m)
		return 0;
	struct orr_collective c = collective_of(m);
	s->exchange = m;
	orr_op op = orr_collective_lanes(s, position, size, stride, &c);
	s->exchange = NULL;
	return op;
}

orr_op orr_compute_lanes(struct orr_step *s, uint32_t position, enum orr_work work, uint32_t lane_seconds)
{
	if (s->error.code)
		return 0;
	if (!s->experts || lane_seconds >= s->experts->n_seconds) {
		step_fail(s, ORR_EFAIL, "orr_compute_lanes: times %u: expected a number of orr_step_lane_seconds()", lane_seconds);
		return 0;
	}
	const double *seconds = s->experts->seconds[lane_seconds];
	orr_op op = orr_compute(s, position, work, seconds[0]);
	if (op)
		s->building->op[op_index(op)].lane_seconds = lane_seconds + 1;
	return op;
}
