/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the graph of one iteration: the functions of orrery/step.h that build() calls. */
#include "step/world.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct iteration *graph_begin(struct orr_step *s, uint64_t number)
{
	struct iteration *k = s->free_iteration;
	if (k) {
		s->free_iteration = k->next;
		k->n_ops = k->n_colls = k->n_kind_plans = k->n_group = k->n_deps = k->n_memory = k->n_updates = k->n_entries =
			k->n_counters = k->n_text = 0;
		k->n_edges = k->n_instances = 0;
	} else {
		k = mem_zalloc(1, sizeof *k);
		k->usage = mem_alloc(s->endpoints * sizeof *k->usage);
	}
	memset(k->usage, 0, s->endpoints * sizeof *k->usage);
	k->next = NULL;
	k->number = number;
	k->start_s = k->end_s = 0;
	k->ends_s = 0;
	k->has_begun = k->has_row = false;
	k->builder = NULL;
	k->samples = s->samples;
	return k;
}

void iteration_free(struct iteration *k)
{
	if (!k)
		return;
	mem_free(k->op);
	mem_free(k->coll);
	mem_free(k->kind_plan);
	mem_free(k->group);
	mem_free(k->dep);
	mem_free(k->memory);
	mem_free(k->memory_of);
	mem_free(k->update);
	mem_free(k->entry);
	mem_free(k->text);
	mem_free(k->instance);
	mem_free(k->edge);
	mem_free(k->usage);
	mem_free(k->trail);
	mem_free(k);
}

/* ---- ops ---- */

static bool may_build(struct orr_step *s, const char *what)
{
	if (s->error.code)
		return false;
	if (!s->building)
		step_fail(s, ORR_EFAIL, "%s: called outside build(): expected a call in build()", what);
	else if (s->building->n_ops >= UINT32_C(0xfffffff0))
		step_fail(s, ORR_EFAIL, "too many ops: expected at most 4 billion in one iteration");
	return !s->error.code;
}

static bool is_given(struct orr_step *s, const void *p, const char *what)
{
	if (!p)
		step_fail(s, ORR_EFAIL, "%s: a pointer is NULL: expected an object", what);
	return p != NULL;
}

static orr_op op_new(struct orr_step *s, struct op o)
{
	struct iteration *k = s->building;
	struct orr_error err = { 0 };
	o.label = o.entry_first = NONE;
	if (k->n_ops == k->cap_ops && limits_claim(2.0 * k->cap_ops * sizeof *k->op, "a graph of so many ops", &err)) {
		step_fail(s, err.code, "%s", err.text);
		return 0;
	}
	MEM_GROW(k->op, k->n_ops, k->cap_ops);
	k->op[k->n_ops++] = o;
	return (orr_op)(k->number + 1) << 32 | k->n_ops;
}

static struct op *op_of(struct orr_step *s, orr_op op, const char *what)
{
	if (!op || !may_build(s, what))
		return NULL;
	if (op_iteration(op) == s->building->number && op_index(op) < s->building->n_ops) {
		if (!s->reacting || op_index(op) >= s->grown.ops)
			return &s->building->op[op_index(op)];
		step_fail(s, ORR_EFAIL, "%s: op %u: expected an op that this call of ended() has added", what, op_index(op));
		return NULL;
	}
	step_fail(s, ORR_EFAIL, "%s: op %llx: expected an op of this iteration", what, (unsigned long long)op);
	return NULL;
}

static bool is_place(struct orr_step *s, uint32_t device, const char *what)
{
	uint32_t n = s->map ? s->positions : s->endpoints;
	if (device < n)
		return true;
	step_fail(s, ORR_EFAIL, "%s: device %u: expected 0..%u", what, device, n - 1);
	return false;
}

static bool is_amount(struct orr_step *s, double x, const char *what, const char *unit)
{
	if (x >= 0 && isfinite(x))
		return true;
	step_fail(s, ORR_EFAIL, "%s: expected %s of at least 0, found %g", what, unit, x);
	return false;
}

orr_op orr_compute(struct orr_step *s, uint32_t device, enum orr_work work, double seconds)
{
	if (!may_build(s, "orr_compute") || !is_place(s, device, "orr_compute") || !is_amount(s, seconds, "orr_compute", "seconds"))
		return 0;
	if ((unsigned)work >= ORR_WORK_KINDS) {
		step_fail(s, ORR_EFAIL, "orr_compute: unknown kind of work %d: expected a value of enum orr_work", (int)work);
		return 0;
	}
	return op_new(s,
		(struct op){
			.type = OP_COMPUTE, .work = (uint8_t)work, .device = device, .peer = NONE, .amount = seconds, .collective = NONE });
}

orr_op orr_transfer(struct orr_step *s, uint32_t from, uint32_t to, double bytes)
{
	if (!may_build(s, "orr_transfer") || !is_place(s, from, "orr_transfer: from") || !is_place(s, to, "orr_transfer: to") ||
		!is_amount(s, bytes, "orr_transfer", "bytes"))
		return 0;
	return op_new(s,
		(struct op){ .type = OP_TRANSFER, .stream = NO_STREAM, .device = from, .peer = to, .amount = bytes, .collective = NONE });
}

orr_op orr_delay(struct orr_step *s, double seconds)
{
	if (!may_build(s, "orr_delay") || !is_amount(s, seconds, "orr_delay", "seconds"))
		return 0;
	return op_new(s,
		(struct op){ .type = OP_DELAY, .stream = NO_STREAM, .device = NONE, .peer = NONE, .amount = seconds, .collective = NONE });
}

static bool takes_function(struct orr_step *s, uint32_t function, const char *what)
{
	if (s->error.code || is_function(s, function))
		return !s->error.code;
	if (s->functions)
		step_fail(
			s, ORR_EFAIL, "%s: endpoint %u: expected a function, %u..%u", what, function, s->first_function, s->endpoints - 1);
	else
		step_fail(s, ORR_EFAIL, "%s: endpoint %u: there are no functions: expected orr_functions() in create()", what, function);
	return false;
}

orr_op orr_invoke(struct orr_step *s, uint32_t function)
{
	orr_op op = takes_function(s, function, "orr_invoke") ? orr_delay(s, 0) : 0;
	if (op) {
		s->building->op[op_index(op)].function = function + 1;
		s->building->op[op_index(op)].is_invoke = true;
	}
	return op;
}

orr_op orr_mark(struct orr_step *s)
{
	if (!may_build(s, "orr_mark"))
		return 0;
	return op_new(s, (struct op){ .type = OP_MARK, .stream = NO_STREAM, .device = NONE, .peer = NONE, .collective = NONE });
}

orr_op orr_gate(struct orr_step *s)
{
	orr_op op = orr_mark(s);
	if (!op)
		return 0;
	if (!s->is_reacting)
		step_fail(s, ORR_EFAIL, "orr_gate: expected a policy with a function ended(), which opens it");
	s->building->op[op_index(op)].is_gate = true;
	return op;
}

/* ---- collectives ---- */

static orr_op coll_new(struct orr_step *s, struct coll c, uint32_t position)
{
	struct iteration *k = s->building;
	if (!c.what.repeat)
		c.what.repeat = 1;
	if (!plans_choose(s, k, &c))
		return 0;
	MEM_GROW(k->coll, k->n_colls, k->cap_colls);
	k->coll[k->n_colls++] = c;
	return op_new(s, (struct op){ .type = OP_COLLECTIVE,
				 .stream = NO_STREAM,
				 .device = position,
				 .peer = NONE,
				 .amount = c.what.bytes,
				 .collective = k->n_colls - 1 });
}

static bool is_collective(struct orr_step *s, const struct orr_collective *c, uint32_t n, const char *what)
{
	if (!is_given(s, c, what) || !is_amount(s, c->bytes, what, "bytes"))
		return false;
	if ((unsigned)c->op > ORR_ALL_TO_ALL || (unsigned)c->algorithm > ORR_NVLS_TREE)
		step_fail(s, ORR_EFAIL, "%s: unknown operation %d or algorithm %d: expected values of their enums", what, (int)c->op,
			(int)c->algorithm);
	else if (c->root >= n)
		step_fail(s, ORR_EFAIL, "%s: root %u: expected a rank of the group of %u", what, c->root, n);
	else if (c->n_layers && ((uint64_t)c->first_layer + c->n_layers > s->facts.layers))
		step_fail(s, ORR_EFAIL, "%s: layers %u..%llu: expected layers below %u", what, c->first_layer,
			(unsigned long long)c->first_layer + c->n_layers - 1, s->facts.layers);
	return !s->error.code;
}

static bool is_group(struct orr_step *s, const struct orr_group *g)
{
	uint32_t places = s->map ? s->positions : s->endpoints;
	if (!is_given(s, g, "orr_collective") || !is_given(s, g->device, "orr_collective: group"))
		return false;
	if (!g->n || g->n > places) {
		step_fail(s, ORR_EFAIL,
			g->n ? "orr_collective: a group of %u: expected at most %u, the number of devices"
			     : "orr_collective: the group is empty: expected at least one device",
			g->n, places);
		return false;
	}
	for (uint32_t i = 0; i < g->n; i++)
		if (!is_place(s, g->device[i], "orr_collective: group"))
			return false;
	uint32_t *seen = mem_zalloc(places / 32 + 1, sizeof *seen);
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t d = g->device[i];
		if (seen[d / 32] >> d % 32 & 1)
			step_fail(s, ORR_EFAIL, "orr_collective: device %u is in the group twice: expected it once", d);
		seen[d / 32] |= UINT32_C(1) << d % 32;
	}
	mem_free(seen);
	return !s->error.code;
}

/* Adds a collective of gradients under step.compression: encode on each device, send less, decode. */
static orr_op compressed(
	struct orr_step *s, const struct orr_group *g, uint32_t position, uint32_t size, uint32_t stride, const struct orr_collective *c);

static orr_op plain(
	struct orr_step *s, const struct orr_group *g, uint32_t position, uint32_t size, uint32_t stride, const struct orr_collective *c)
{
	struct iteration *k = s->building;
	struct coll x = { .what = *c, .size = size, .stride = stride, .n = size ? size : g->n, .group_first = k->n_group };
	for (uint32_t i = 0; i < (size ? 1 : x.n); i++) {
		MEM_GROW(k->group, k->n_group, k->cap_group);
		k->group[k->n_group++] = size ? position : g->device[i];
	}
	return coll_new(s, x, size ? position : g->device[0]);
}

static orr_op any(
	struct orr_step *s, const struct orr_group *g, uint32_t position, uint32_t size, uint32_t stride, const struct orr_collective *c)
{
	bool is_coded = c->n_layers && s->compression.method != COMPRESSION_NONE;
	if (is_coded && c->op == ORR_ALL_REDUCE)
		return compressed(s, g, position, size, stride, c);
	if (is_coded && c->op == ORR_REDUCE_SCATTER) {
		step_fail(s, ORR_EINPUT,
			"step.compression: expected none: it supports all-reduce and messages to servers, not the reduce-scatter "
			"of sharded state");
		return 0;
	}
	return plain(s, g, position, size, stride, c);
}

orr_op orr_collective(struct orr_step *s, const struct orr_group *g, const struct orr_collective *c)
{
	if (!may_build(s, "orr_collective") || !is_group(s, g) || !is_collective(s, c, g->n, "orr_collective"))
		return 0;
	return any(s, g, 0, 0, 0, c);
}

orr_op orr_collective_lanes(struct orr_step *s, uint32_t position, uint32_t size, uint32_t stride, const struct orr_collective *c)
{
	if (!may_build(s, "orr_collective_lanes") || !is_place(s, position, "orr_collective_lanes"))
		return 0;
	if (!s->map || !size || !stride || (uint64_t)size * stride > s->lanes || s->lanes % (size * stride)) {
		step_fail(s, ORR_EFAIL, "orr_collective_lanes: groups of %u lanes at stride %u: expected a divisor of the %u lanes", size,
			stride, s->map ? s->lanes : 0);
		return 0;
	}
	if (!is_collective(s, c, size, "orr_collective_lanes"))
		return 0;
	return any(s, NULL, position, size, stride, c);
}

/* ---- compression ---- */

static void bind_entry(struct iteration *k, orr_op entry)
{
	MEM_GROW(k->entry, k->n_entries, k->cap_entries);
	k->entry[k->n_entries++] = op_index(entry);
}

static orr_op compressed(
	struct orr_step *s, const struct orr_group *g, uint32_t position, uint32_t size, uint32_t stride, const struct orr_collective *c)
{
	struct iteration *k = s->building;
	uint32_t n = size ? size : g->n, members = size ? 1 : n;
	struct compressed_shape z;
	*s->uses |= STEP_USED_COMPRESSION;
	compression_shape(
		&s->compression, s->config->dnn, c->first_layer, c->n_layers, n, k->number, s->facts.gradient_bytes, c->bytes, &z);
	orr_op *encode = mem_zalloc(members, sizeof *encode), send = 0;
	for (uint32_t i = 0; i < members; i++)
		encode[i] = compression_encode(s, size ? position : g->device[i], z.encode_s);
	for (uint32_t r = 0; r < z.n_rounds; r++) {
		struct orr_collective x = *c;
		x.n_layers = 0;
		x.op = z.round[r].op;
		x.bytes = z.round[r].bytes;
		if (x.op != ORR_ALL_REDUCE)
			x.algorithm = ORR_RING;
		orr_op next = plain(s, g, position, size, stride, &x);
		for (uint32_t i = 0; !r && i < members; i++)
			orr_after(s, next, encode[i]);
		orr_after(s, next, send);
		send = next;
	}
	orr_op *decode = mem_zalloc(members, sizeof *decode);
	for (uint32_t i = 0; i < members; i++) {
		decode[i] = orr_compute(s, size ? position : g->device[i], ORR_CODEC, z.decode_s);
		orr_after(s, decode[i], send);
	}
	orr_op out = orr_mark(s);
	for (uint32_t i = 0; i < members; i++)
		orr_after(s, out, decode[i]);
	mem_free(decode);
	if (!s->error.code) {
		struct op *o = &k->op[op_index(out)];
		o->entry_first = k->n_entries;
		o->entry_count = members;
		for (uint32_t i = 0; i < members; i++)
			bind_entry(k, encode[i]);
	}
	mem_free(encode);
	return s->error.code ? 0 : out;
}

/* ---- dependencies and attributes ---- */

static void add_dependency(struct iteration *k, orr_op before, orr_op after)
{
	MEM_GROW(k->dep, k->n_deps, k->cap_deps);
	k->dep[k->n_deps++] = (struct dependency){ before, after };
}

/* Returns whether the handle is of an op. The number of ops of a retired iteration is unknown. */
static bool is_op(const struct orr_step *s, orr_op op)
{
	const struct iteration *k = iteration_live(s, op_iteration(op));
	return k ? op_index(op) < k->n_ops : op_iteration(op) < s->first_live && (uint32_t)op;
}

void orr_after(struct orr_step *s, orr_op op, orr_op dep)
{
	if (!op || !dep || !may_build(s, "orr_after"))
		return;
	struct iteration *k = s->building;
	if (s->reacting && op_iteration(op) == k->number && op_index(op) < s->grown.ops) {
		step_fail(s, ORR_EFAIL, "orr_after: op %u: expected an op that this call of ended() has added", op_index(op));
		return;
	}
	if (op_iteration(op) != k->number || op_index(op) >= k->n_ops) {
		step_fail(s, ORR_EFAIL, "orr_after: op %llx: expected an op of this iteration", (unsigned long long)op);
		return;
	}
	if (!is_op(s, dep)) {
		step_fail(s, ORR_EFAIL, "orr_after: op %u waits for %llx: expected an op of this or an earlier iteration", op_index(op),
			(unsigned long long)dep);
		return;
	}
	if (op_iteration(dep) == k->number && dep >= op) {
		step_fail(s, ORR_EFAIL, "orr_after: op %u waits for op %u: expected an op created before it (no cycles)", op_index(op),
			op_index(dep));
		return;
	}
	const struct op *o = &k->op[op_index(op)];
	if (o->entry_first == NONE || o->entry_first + o->entry_count > k->n_entries) {
		add_dependency(k, dep, op);
		return;
	}
	/* Under compression, the encoding on a device waits only for the work of that device. */
	bool same = op_iteration(dep) == k->number && k->op[op_index(dep)].type == OP_COMPUTE;
	bool is_bound = false;
	for (uint32_t i = 0; i < o->entry_count; i++) {
		uint32_t e = k->entry[o->entry_first + i];
		if (same && k->op[e].device == k->op[op_index(dep)].device) {
			add_dependency(k, dep, (orr_op)(k->number + 1) << 32 | (e + 1));
			is_bound = true;
		}
	}
	for (uint32_t i = 0; !is_bound && i < o->entry_count; i++)
		add_dependency(k, dep, (orr_op)(k->number + 1) << 32 | (k->entry[o->entry_first + i] + 1));
}

/* Returns the rounds of a compressed collective, created between its encodings and decodings; n is 0 if the op is no such
 * collective. */
static struct op *rounds_of(struct orr_step *s, const struct op *o, uint32_t *n)
{
	struct iteration *k = s->building;
	*n = 0;
	if (o->type != OP_MARK || o->entry_first == NONE)
		return NULL;
	struct op *first = &k->op[k->entry[o->entry_first + o->entry_count - 1] + 1];
	while (first[*n].type == OP_COLLECTIVE)
		++*n;
	return first;
}

void orr_on_stream(struct orr_step *s, orr_op op, uint32_t stream)
{
	struct op *o = op_of(s, op, "orr_on_stream");
	if (!o)
		return;
	if (o->type == OP_COMPUTE && stream < STEP_STREAMS && s->corun)
		o->stream = (uint8_t)stream;
	else if (stream >= STEP_STREAMS || !stream != (o->type == OP_COMPUTE))
		step_fail(s, ORR_EFAIL, "orr_on_stream: stream %u: expected 1..%d (compute ops: 0, without orr_step_co_run())", stream,
			STEP_STREAMS - 1);
	else if (o->type == OP_TRANSFER || o->type == OP_COLLECTIVE)
		o->stream = (uint8_t)stream;
	uint32_t n;
	struct op *round = rounds_of(s, o, &n);
	for (uint32_t i = 0; i < n && !s->error.code; i++)
		round[i].stream = (uint8_t)stream;
}

void orr_priority(struct orr_step *s, orr_op op, int32_t priority)
{
	struct op *o = op_of(s, op, "orr_priority");
	if (!o)
		return;
	o->priority = priority;
	uint32_t n;
	struct op *round = rounds_of(s, o, &n);
	for (uint32_t i = 0; i < n; i++)
		round[i].priority = priority;
}

void orr_detach(struct orr_step *s, orr_op op)
{
	struct op *o = op_of(s, op, "orr_detach");
	if (o)
		o->is_detached = 1;
}

void orr_returns(struct orr_step *s, orr_op op, uint32_t function)
{
	struct op *o = takes_function(s, function, "orr_returns") ? op_of(s, op, "orr_returns") : NULL;
	if (o && o->function)
		step_fail(s, ORR_EFAIL, "orr_returns: op %u: expected an op without an invocation, called once", op_index(op));
	else if (o)
		o->function = function + 1;
}

void orr_counts(struct orr_step *s, orr_op op, double samples)
{
	struct op *o = op_of(s, op, "orr_counts");
	if (!o || !is_amount(s, samples, "orr_counts", "samples"))
		return;
	if (!(o->counts > 0))
		o->counter = s->building->n_counters++;
	s->has_workers |= samples > 0;
	o->counts = samples;
}

static void memory_use(struct orr_step *s, orr_op op, uint32_t device, double bytes, double sign, const char *what)
{
	struct iteration *k = s->building;
	if (!op_of(s, op, what) || !is_place(s, device, what) || !is_amount(s, bytes, what, "bytes") || bytes == 0)
		return;
	MEM_GROW(k->memory, k->n_memory, k->cap_memory);
	k->memory[k->n_memory++] = (struct memory_use){ op_index(op), device, sign * bytes };
}

void orr_takes(struct orr_step *s, orr_op op, uint32_t device, double bytes)
{
	memory_use(s, op, device, bytes, 1, "orr_takes");
}

void orr_gives(struct orr_step *s, orr_op op, uint32_t device, double bytes)
{
	memory_use(s, op, device, bytes, -1, "orr_gives");
}

void orr_label(struct orr_step *s, orr_op op, const char *format, ...)
{
	struct op *o = s->config->spans || s->path ? op_of(s, op, "orr_label") : NULL;
	char text[128];
	va_list ap;
	if (!o || !is_given(s, format, "orr_label"))
		return;
	va_start(ap, format);
	int n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	struct iteration *k = s->building;
	o->label = k->n_text;
	for (const char *c = text;; c++) {
		MEM_GROW(k->text, k->n_text, k->cap_text);
		k->text[k->n_text++] = *c;
		if (!*c)
			break;
	}
}

void orr_carries(struct orr_step *s, orr_op op, uint32_t first_layer, uint32_t n_layers)
{
	struct op *o = op_of(s, op, "orr_carries");
	if (!o)
		return;
	if (o->type != OP_TRANSFER || (uint64_t)first_layer + n_layers > s->facts.layers) {
		step_fail(s, ORR_EFAIL, "orr_carries: expected a transfer, and layers below %u", s->facts.layers);
		return;
	}
	if (s->compression.method == COMPRESSION_NONE)
		return;
	*s->uses |= STEP_USED_COMPRESSION;
	/* Point to point, no data are gathered: the volume is that of one worker. */
	struct compressed_shape z;
	compression_shape(
		&s->compression, s->config->dnn, first_layer, n_layers, 1, s->building->number, s->facts.gradient_bytes, o->amount, &z);
	o->amount = z.sent_bytes;
	/* Both encoding and decoding count as work of the sender, before it sends. */
	uint32_t from = o->device;
	if (z.encode_s + z.decode_s > 0) {
		orr_op encode = compression_encode(s, from, z.encode_s + z.decode_s);
		struct iteration *k = s->building;
		add_dependency(k, encode, op);
		struct op *again = &k->op[op_index(op)];
		again->entry_first = k->n_entries;
		again->entry_count = 1;
		bind_entry(k, encode);
	}
}

void orr_updates(struct orr_step *s, orr_op op, const struct orr_update *u)
{
	struct op *o = op_of(s, op, "orr_updates");
	if (!o || !is_given(s, u, "orr_updates"))
		return;
	s->has_own_parameters |= u->kind == ORR_AVERAGE_PARAMETERS || u->kind == ORR_SEND_SLICE || u->kind == ORR_CORRECT;
	if (!s->config->hook)
		return;
	struct iteration *k = s->building;
	uint32_t n;
	struct op *round = rounds_of(s, o, &n);
	if (n)
		o = &round[n - 1]; /* the last round, which has a group */
	if (o->type == OP_MARK || o->type == OP_DELAY) {
		step_fail(s, ORR_EFAIL, "orr_updates: op %u is a mark or a delay: expected an op on a device", op_index(op));
		return;
	}
	if (o->n_updates && o->first_update + o->n_updates != k->n_updates) {
		step_fail(s, ORR_EFAIL, "orr_updates: op out of order: expected all updates of one op before those of the next op");
		return;
	}
	if (!o->n_updates)
		o->first_update = k->n_updates;
	o->n_updates++;
	MEM_GROW(k->update, k->n_updates, k->cap_updates);
	k->update[k->n_updates++] = (struct update_use){ (uint32_t)(o - k->op), *u };
}

/* ---- co-running work, policies that react ---- */

void orr_occupies(struct orr_step *s, orr_op op, double share)
{
	struct op *o = op_of(s, op, "orr_occupies");
	if (!o)
		return;
	if (o->type != OP_COMPUTE || !(share > 0 && share <= 1))
		step_fail(s, ORR_EFAIL, "orr_occupies: op %u, share %g: expected a compute op and a share above 0, at most 1", op_index(op),
			share);
	o->occupancy = share;
}

void orr_watch(struct orr_step *s, orr_op op)
{
	struct op *o = op_of(s, op, "orr_watch");
	if (!o)
		return;
	if (!s->is_reacting)
		step_fail(s, ORR_EFAIL, "orr_watch: op %u: expected a policy with a function ended()", op_index(op));
	if (o->is_watched)
		step_fail(s, ORR_EFAIL, "orr_watch: op %u: expected one call per op", op_index(op));
	o->is_watched = s->has_watched = true;
}
