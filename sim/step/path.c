/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/path.h"

#include "step/checkpoint.h"
#include "step/wire.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sbuf.h"
#include "results/parts.h"

#include <math.h>
#include <string.h>

/* Number of parts beyond which extrapolated iterations get none. */
enum { MOST_REPEATED = 10000 };

/* The values on which a text depends. Unused members are 0. */
struct text_key {
	uint32_t type; /* enum op_type: the text is a cause; DETAIL: a detail */
	uint32_t what; /* kind of work, or collective operation */
	uint32_t device, peer, n, link;
	uint32_t iteration;     /* enum relation */
	uint32_t stream, flows; /* details: stream for which another op waits (NONE: no stream), and number of flows on the link */
};
enum { DETAIL = OP_MARK + 1 };
enum relation { OWN, PREVIOUS, EARLIER, LATER };

struct text {
	struct text_key key;
	char *label; /* details: label of the op; "": none */
	char *text;
};

struct piece {
	double begin_s, end_s;
	struct part what;
	/* Values of the detail of the part, during the walk. */
	const char *first_label, *last_label; /* labels of the first and the last op; "": none */
	uint32_t flows, stream;               /* the same as in struct text_key */
};
struct pieces {
	struct piece *v; /* backwards: the last piece first */
	size_t n, cap;
};

struct path_log {
	struct partlog *parts;
	uint64_t n_parts, first_without; /* first_without: first iteration without parts; UINT64_MAX: all have parts */
	bool has_gaps;                   /* iterations between checkpoints have no parts */
	struct text *text;
	uint32_t n_texts, cap_texts, *slot, n_slots; /* slot: hash table of text[]; NONE: free */
	struct pieces recent[STEP_MAX_PERIOD];       /* paths of the last iterations, [k % STEP_MAX_PERIOD] */
};

void path_new(struct orr_step *s)
{
	struct path *p = s->path = mem_zalloc(1, sizeof *p);
	p->holder = mem_zalloc((size_t)s->endpoints * STEP_STREAMS, sizeof *p->holder);
	p->kept_end = &p->kept;
	p->log = mem_zalloc(1, sizeof *p->log);
	p->log->parts = partlog_new("iteration", STEP_MAX_ROWS);
	p->log->first_without = UINT64_MAX;
}

void path_log_free(struct path_log *l)
{
	if (!l)
		return;
	partlog_free(l->parts);
	for (uint32_t i = 0; i < l->n_texts; i++) {
		mem_free(l->text[i].label);
		mem_free(l->text[i].text);
	}
	for (uint32_t i = 0; i < STEP_MAX_PERIOD; i++)
		mem_free(l->recent[i].v);
	mem_free(l->text);
	mem_free(l->slot);
	mem_free(l);
}

void path_free(struct orr_step *s)
{
	struct path *p = s->path;
	if (!p)
		return;
	while (p->kept) {
		struct iteration *k = p->kept;
		p->kept = k->next;
		iteration_free(k);
	}
	path_log_free(p->log);
	mem_free(p->holder);
	mem_free(p->load);
	mem_free(p->flows_on);
	mem_free(p->change);
	mem_free(p);
	s->path = NULL;
}

void path_reserve(struct orr_step *s, uint32_t link)
{
	struct path *p = s->path;
	if (link < p->n_links)
		return;
	uint32_t n = 2 * link + 64;
	p->load = mem_realloc(p->load, n, sizeof *p->load);
	p->flows_on = mem_realloc(p->flows_on, n, sizeof *p->flows_on);
	for (uint32_t i = p->n_links; i < n; i++) {
		p->load[i] = 0;
		p->flows_on[i] = 0;
	}
	p->n_links = n;
}

void path_flow(struct orr_step *s, const double *capacity, const uint32_t *link, uint32_t n, bool starts)
{
	struct path *p = s->path;
	double least = INFINITY;
	if (s->now_s > p->changed_s * (1 + 1e-11)) { /* the tolerance of exec.c */
		for (uint32_t i = 0; i < p->n_changes; i++)
			p->flows_on[p->change[i].link] += p->change[i].starts ? 1 : UINT32_MAX;
		p->n_changes = 0;
	}
	p->changed_s = s->now_s;
	p->link = NONE;
	for (uint32_t h = 0; h < n; h++) {
		path_reserve(s, link[h]);
		MEM_GROW(p->change, p->n_changes, p->cap_changes);
		p->change[p->n_changes++] = (struct flow_change){ link[h], starts };
		uint32_t flows = p->flows_on[link[h]] ? p->flows_on[link[h]] : 1;
		if (capacity[link[h]] / flows >= least)
			continue;
		least = capacity[link[h]] / flows;
		p->link = link[h];
		p->flows = flows;
	}
}

void path_built(struct orr_step *s, struct iteration *k, uint32_t first)
{
	if (!s->path)
		return;
	if (k->cap_trail < k->n_instances) {
		k->cap_trail = first ? 2 * k->n_instances : k->n_instances;
		k->trail = mem_realloc(k->trail, k->cap_trail, sizeof *k->trail);
	}
	for (uint32_t i = first; i < k->n_instances; i++)
		k->trail[i] = (struct trail){ .stream = NONE, .link = NONE };
	if (first)
		return;
	k->builder = s->path->builder;
	k->builder_instance = s->path->builder_instance;
}

/* ---- iterations that have retired ---- */

/* Returns the earliest start of a live iteration that has begun and has not ended. */
static double earliest(const struct orr_step *s)
{
	double least = INFINITY;
	for (uint64_t i = 0; i < s->n_live; i++) {
		const struct iteration *k = s->live[i];
		if (k->has_begun && !k->has_row)
			least = fmin(least, k->start_s);
	}
	return least;
}

static void iteration_reuse(struct orr_step *s, struct iteration *k)
{
	k->next = s->free_iteration;
	s->free_iteration = k;
}

void path_retire(struct orr_step *s, struct iteration *k)
{
	struct path *p = s->path;
	if (!p) {
		iteration_reuse(s, k);
		return;
	}
	k->retired_s = s->now_s;
	k->next = NULL;
	*p->kept_end = k;
	p->kept_end = &k->next;
	for (double start_s = earliest(s); p->kept && p->kept->retired_s <= start_s;) {
		struct iteration *gone = p->kept;
		p->kept = gone->next;
		iteration_reuse(s, gone);
	}
	if (!p->kept)
		p->kept_end = &p->kept;
}

/* ---- texts ---- */

static void put_device(const struct orr_step *s, uint32_t endpoint, struct sbuf *b)
{
	if (s->device[endpoint].name)
		sbuf_puts(b, s->device[endpoint].name);
	else if (is_function(s, endpoint))
		sbuf_printf(b, "function %u", endpoint - s->first_function);
	else if (endpoint < s->facts.gpus)
		sbuf_printf(b, "GPU %u", endpoint);
	else
		sbuf_printf(b, "host %u", s->node_of[endpoint]);
}

/* In a merged run, names the first link of the class. */
static void put_link(const struct orr_step *s, uint32_t link, struct sbuf *b)
{
	const struct topo *t = s->config->topo;
	uint32_t of = link;
	if (s->is_merged)
		for (of = 0; of < t->n_links && wire_link(s, of) != link;)
			of++;
	if (of < t->n_links)
		sbuf_printf(b, " over %s", t->link[of].name);
	else if (!s->is_merged)
		sbuf_printf(b, " over the link %s function %u", (of - t->n_links) % 2 ? "to" : "of", (of - t->n_links) / 2);
}

static void put_cause(const struct orr_step *s, const struct text_key *c, struct sbuf *b)
{
	static const char *const relation[] = { "", " of the previous iteration", " of an earlier iteration", " of a later iteration" };
	if (c->type == OP_COMPUTE) {
		sbuf_printf(b, "%s on ", step_work_name(c->what));
		put_device(s, c->device, b);
	} else if (c->type == OP_TRANSFER) {
		sbuf_puts(b, "message from ");
		put_device(s, c->device, b);
		sbuf_puts(b, " to ");
		put_device(s, c->peer, b);
	} else if (c->type == OP_COLLECTIVE) {
		sbuf_printf(b, "%s among %u devices", coll_op_name(c->what), c->n);
	} else if (c->n) {
		sbuf_puts(b, "of ");
		put_device(s, c->device, b);
	} else {
		sbuf_puts(b, "of the policy");
	}
	if (c->link != NONE)
		put_link(s, c->link, b);
	sbuf_puts(b, relation[c->iteration]);
}

/* A % in a detail stands for a number (results/parts.h). */
static void put_detail(const struct text_key *c, const char *label, struct sbuf *b)
{
	for (const char *p = label; *p; p++)
		sbuf_putc(b, *p == '%' ? ' ' : *p);
	if (c->flows)
		sbuf_printf(b, "%s%u flows on the link", b->len ? "; " : "", c->flows);
	if (c->stream != NONE)
		sbuf_printf(b, "%san op waits for stream %u of device %u", b->len ? "; " : "", c->stream % STEP_STREAMS,
			c->stream / STEP_STREAMS);
}

static uint32_t *text_slot(const struct path_log *l, const struct text_key *key, const char *label)
{
	uint32_t mask = l->n_slots - 1, i = hash_spread(hash_text(hash_bytes(0, key, sizeof *key), label)) & mask;
	while (l->slot[i] != NONE &&
		(memcmp(&l->text[l->slot[i]].key, key, sizeof *key) != 0 || strcmp(l->text[l->slot[i]].label, label) != 0))
		i = (i + 1) & mask;
	return &l->slot[i];
}

/* Returns the same pointer for equal keys and labels. */
static const char *text_of(const struct orr_step *s, const struct text_key *key, const char *label)
{
	struct path_log *l = s->path->log;
	if (2 * l->n_texts >= l->n_slots) {
		l->n_slots = l->n_slots ? 2 * l->n_slots : 64;
		l->slot = mem_realloc(l->slot, l->n_slots, sizeof *l->slot);
		memset(l->slot, 0xff, l->n_slots * sizeof *l->slot);
		for (uint32_t i = 0; i < l->n_texts; i++)
			*text_slot(l, &l->text[i].key, l->text[i].label) = i;
	}
	uint32_t *slot = text_slot(l, key, label);
	if (*slot == NONE) {
		struct sbuf b = { 0 };
		if (key->type == DETAIL)
			put_detail(key, label, &b);
		else
			put_cause(s, key, &b);
		MEM_GROW(l->text, l->n_texts, l->cap_texts);
		l->text[l->n_texts] = (struct text){ *key, mem_strdup(label), sbuf_steal(&b) };
		*slot = l->n_texts++;
	}
	return l->text[*slot].text;
}

/* ---- the walk ---- */

static enum relation relation_of(const struct iteration *of, const struct iteration *k)
{
	if (of->number == k->number)
		return OWN;
	return of->number > k->number ? LATER : of->number + 1 == k->number ? PREVIOUS : EARLIER;
}

/* Describes instance i of `of` on the path of k. stream: the stream for which the next op on the path waited; NONE: none. */
static struct piece describe(const struct orr_step *s, const struct iteration *k, const struct iteration *of, uint32_t i, uint32_t stream)
{
	const struct instance *x = &of->instance[i];
	const struct trail *t = &of->trail[i];
	const struct op *o = &of->op[x->op];
	struct text_key key = { .type = o->type, .link = NONE, .iteration = relation_of(of, k) };
	struct part what = { .kind = PART_COMMUNICATION, .number = PART_ALONE };
	if (o->type == OP_COMPUTE) {
		what.kind = PART_COMPUTE;
		key.what = o->work;
		key.device = real_device(s, x->lane, o->device);
	} else if (o->type == OP_TRANSFER) {
		key.device = real_device(s, x->lane, o->device);
		key.peer = real_device(s, x->lane, o->peer);
		key.link = t->link;
	} else if (o->type == OP_COLLECTIVE) {
		key.what = of->coll[o->collective].what.op;
		key.n = of->coll[o->collective].n;
		key.link = t->link;
	} else {
		what.kind = o->is_invoke ? PART_START : PART_DELAY;
		key.n = o->is_invoke;
		key.device = o->is_invoke ? o->function - 1 : 0;
	}
	what.cause = text_of(s, &key, "");
	const char *label = o->label == NONE ? "" : of->text + o->label;
	return (struct piece){ .what = what,
		.first_label = label,
		.last_label = label,
		.flows = key.link != NONE && t->flows > 1 ? t->flows : 0,
		.stream = stream };
}

/* Adds a piece before the last one. Neighbours with equal causes become one piece; messages only if their labels are equal too. */
static void add_piece(struct pieces *p, const struct piece *x)
{
	struct piece *next = p->n ? &p->v[p->n - 1] : NULL;
	bool is_like = next && next->what.kind == x->what.kind && next->what.cause == x->what.cause;
	if (is_like && (x->what.kind == PART_COMPUTE || !strcmp(next->first_label, x->last_label))) {
		next->begin_s = x->begin_s;
		next->first_label = x->first_label;
		next->flows = next->flows > x->flows ? next->flows : x->flows;
		next->stream = next->stream == NONE ? x->stream : next->stream;
		return;
	}
	MEM_GROW(p->v, p->n, p->cap);
	p->v[p->n++] = *x;
}

static void add_details(const struct orr_step *s, struct pieces *p)
{
	char range[300];
	for (size_t i = 0; i < p->n; i++) {
		struct piece *x = &p->v[i];
		struct text_key key = { .type = DETAIL, .stream = x->stream, .flows = x->flows };
		const char *label = x->first_label;
		if (strcmp(label, x->last_label) != 0) {
			snprintf(range, sizeof range, "%s to %s", label, x->last_label);
			label = range;
		}
		if (*label || x->flows || x->stream != NONE)
			x->what.detail = text_of(s, &key, label);
	}
}

/* Replaces *of and *i by the instance whose end let them start. An instance that waited only for the build of its iteration is first
 * replaced by the instance whose start led to the build. Returns false if there is none. */
static bool step_back(const struct iteration **of, uint32_t *i, uint32_t *stream)
{
	const struct trail *t = &(*of)->trail[*i];
	while (!t->of && (*of)->builder) {
		*i = (*of)->builder_instance;
		*of = (*of)->builder;
		t = &(*of)->trail[*i];
	}
	if (!t->of)
		return false;
	*stream = t->stream;
	*i = t->instance;
	*of = t->of;
	return true;
}

/* Adds the pause for a checkpoint and returns its begin. */
static double add_pause(const struct orr_step *s, const struct iteration *k, struct pieces *out)
{
	const struct checkpoint *c = s->checkpoint;
	const char *cause = c->is_async ? "is copied to host memory" : "is written to the storage";
	struct piece x = { c->copy_s, k->end_s, { .kind = PART_CHECKPOINT, .cause = cause, .number = PART_ALONE }, .first_label = "",
		.last_label = "", .stream = NONE };
	if (x.end_s > x.begin_s)
		add_piece(out, &x);
	x.begin_s = c->due_s;
	x.end_s = c->copy_s;
	x.what.cause = "waits for the write of the previous one";
	if (x.end_s > x.begin_s)
		add_piece(out, &x);
	return c->due_s;
}

static void walk(const struct orr_step *s, const struct iteration *k, uint32_t i, struct pieces *out)
{
	const struct iteration *of = k;
	uint32_t stream = NONE;
	double at = k->has_checkpoint ? add_pause(s, k, out) : k->end_s;
	do {
		const struct instance *x = &of->instance[i];
		double from = fmax(x->start_s, k->start_s);
		/* Marks take no time; the tolerance of simultaneous events (exec.c) may lie between them. */
		if (of->op[x->op].type == OP_MARK || of->op[x->op].is_cancelled || from >= at)
			continue;
		struct piece piece = describe(s, k, of, i, stream);
		piece.begin_s = from;
		piece.end_s = at;
		add_piece(out, &piece);
		at = from;
	} while (at > k->start_s && step_back(&of, &i, &stream));
	if (at > k->start_s)
		add_piece(out, &(struct piece){ k->start_s, at, { .kind = PART_UNNAMED, .number = PART_ALONE }, .first_label = "",
				       .last_label = "", .stream = NONE });
	add_details(s, out);
}

static int64_t nanoseconds(double t)
{
	return llround(t * 1e9);
}

/* Adds a path, moved so that it begins at begin_s and ends at end_s. Each boundary is rounded once, so the parts add up. */
static void add_parts(struct path_log *l, uint64_t number, const struct pieces *p, double begin_s, double end_s)
{
	double shift = p->n ? begin_s - p->v[p->n - 1].begin_s : 0;
	int64_t at = nanoseconds(begin_s), last = nanoseconds(end_s);
	for (size_t i = p->n; i--;) {
		int64_t end = i ? nanoseconds(p->v[i].end_s + shift) : last;
		end = end < at ? at : end > last ? last : end;
		partlog_add(l->parts, number, at, end, &p->v[i].what);
		at = end;
	}
	l->n_parts += p->n;
}

void path_iteration(struct orr_step *s, struct iteration *k, uint32_t i)
{
	if (!s->path || s->period) /* once iterations repeat, path_end() adds the others */
		return;
	struct path_log *l = s->path->log;
	struct pieces *p = &l->recent[k->number % STEP_MAX_PERIOD];
	p->n = 0;
	if (k->has_begun)
		walk(s, k, i, p);
	uint64_t skipped_n = s->checkpoint ? s->checkpoint->skipped_n : 0;
	double skipped_s = s->checkpoint ? s->checkpoint->skipped_s : 0;
	add_parts(l, k->number + skipped_n, p, k->start_s + skipped_s, k->end_s + skipped_s);
}

void path_skip(struct orr_step *s, uint64_t n, uint32_t period, uint64_t count)
{
	const struct checkpoint *c = s->checkpoint;
	if (!s->path)
		return;
	struct path_log *l = s->path->log;
	double period_s = s->row[n - 1].end_s - s->row[n - 1 - period].end_s;
	for (uint64_t j = 0; j < count; j++) {
		const struct step_iteration *like = &s->row[n - period + j % period];
		const struct pieces *p = &l->recent[like->number % STEP_MAX_PERIOD];
		double shift_s = c->skipped_s + period_s * (double)(j / period + 1);
		if (l->n_parts + p->n > MOST_REPEATED) {
			l->has_gaps = true;
			return;
		}
		add_parts(l, n + c->skipped_n + j, p, like->start_s + shift_s, like->end_s + shift_s);
	}
}

void path_end(struct orr_step *s, const struct step_iteration *row, size_t simulated, size_t n, struct path_log **out)
{
	if (!s->path)
		return;
	struct path_log *l = *out = s->path->log;
	s->path->log = NULL;
	if (s->checkpoint) { /* path_skip() has added those between checkpoints */
		l->first_without = s->period && s->checkpoint->end + s->checkpoint->skipped_n < n
					   ? s->checkpoint->end + s->checkpoint->skipped_n
					   : UINT64_MAX;
		return;
	}
	for (size_t k = simulated; s->period && k < n; k++) {
		const struct pieces *p = &l->recent[(simulated - s->period + (k - simulated) % s->period) % STEP_MAX_PERIOD];
		if (l->n_parts + p->n > MOST_REPEATED) {
			l->first_without = k;
			return;
		}
		add_parts(l, k, p, row[k].start_s, row[k].end_s);
	}
}

void path_parts(struct path_log *l, struct run_result *r)
{
	struct sbuf b = { 0 };
	if (!l)
		return;
	if (l->first_without < UINT64_MAX) {
		sbuf_printf(&b, "iterations from %llu on repeat earlier ones and have no parts", (unsigned long long)l->first_without);
		result_note(r, "remark", sbuf_text(&b));
	}
	if (l->has_gaps)
		result_note(r, "remark", "some iterations between checkpoints repeat earlier ones and have no parts");
	partlog_finish(l->parts, r, 0, NULL, NULL);
	l->parts = NULL;
	sbuf_free(&b);
}
