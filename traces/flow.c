/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/flow.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct flow *flow_new(void)
{
	return mem_zalloc(1, sizeof(struct flow));
}

struct flow_op *flow_add(struct flow *f, const char *name, enum flow_kind kind)
{
	f->op = mem_realloc(f->op, f->n_ops + 1u, sizeof *f->op);
	f->op[f->n_ops] = (struct flow_op){ .name = mem_strdup(name),
		.kind = kind,
		.scope = FLOW_ROOT,
		.gpus = 1,
		.limit_ns = -1,
		.choose = FLOW_ROOT,
		.explore = FLOW_ROOT,
		.scorer = FLOW_ROOT,
		.keep = 2,
		.threshold = NAN,
		.is_incremental = true };
	return &f->op[f->n_ops++];
}

static void append(uint32_t **list, uint32_t *n, uint32_t x)
{
	*list = mem_realloc(*list, *n + 1u, sizeof **list);
	(*list)[(*n)++] = x;
}

static bool append_once(uint32_t **list, uint32_t *n, uint32_t x)
{
	for (uint32_t i = 0; i < *n; i++)
		if ((*list)[i] == x)
			return false;
	append(list, n, x);
	return true;
}

void flow_input(struct flow_op *op, uint32_t input)
{
	append_once(&op->input, &op->n_inputs, input);
}

uint32_t flow_find(const struct flow *f, const char *name)
{
	for (uint32_t i = 0; i < f->n_ops; i++)
		if (!strcmp(f->op[i].name, name))
			return i;
	return FLOW_ROOT;
}

void flow_free(struct flow *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n_ops; i++) {
		struct flow_op *o = &f->op[i];
		mem_free(o->name);
		mem_free(o->input);
		mem_free(o->after);
		mem_free(o->work_s.v);
		mem_free(o->bytes.v);
		mem_free(o->scratch.v);
		mem_free(o->source);
		mem_free(o->score.values.v);
		mem_free(o->value.v);
		mem_free(o->item);
		mem_free(o->import);
	}
	mem_free(f->op);
	mem_free(f->item);
	mem_free(f->ordered);
	mem_free(f->name);
	mem_free(f->user);
	mem_free(f);
}

void flowset_free(struct flowset *s)
{
	for (uint32_t i = 0; s && i < s->n; i++)
		flow_free(s->flow[i]);
	if (s)
		mem_free(s->flow);
	mem_free(s);
}

void flowset_add(struct flowset *s, struct flow *f)
{
	MEM_GROW(s->flow, s->n, s->cap);
	s->flow[s->n++] = f;
}

/* ---- scopes ---- */

struct checker {
	struct flow *f;
	const char *where;
	struct orr_error *err;
};

static int refuse(const struct checker *c, uint32_t op, const char *what, const char *expected)
{
	return orr_fail(c->err, ORR_EINPUT, "%s.operators[%u]: operator \"%.60s\" %s: expected %s", c->where, op, c->f->op[op].name, what,
		expected);
}

/* Kahn's algorithm. Operators that are ready at the same time keep the order of the file. */
static int sort(const struct checker *c)
{
	struct flow *f = c->f;
	uint32_t done = 0, *missing = mem_zalloc(f->n_ops + 1u, sizeof *missing);
	f->ordered = mem_zalloc(f->n_ops + 1u, sizeof *f->ordered);
	bool *is_done = mem_zalloc(f->n_ops + 1u, sizeof *is_done);
	for (bool goes_on = true; goes_on;) {
		goes_on = false;
		for (uint32_t i = 0; i < f->n_ops; i++) {
			bool is_ready = !is_done[i];
			for (uint32_t k = 0; is_ready && k < f->op[i].n_inputs; k++)
				is_ready = is_done[f->op[i].input[k]];
			uint32_t s = f->op[i].scorer;
			if (!is_ready || (s != FLOW_ROOT && !is_done[s]))
				continue;
			is_done[i] = goes_on = true;
			f->ordered[done++] = i;
		}
	}
	uint32_t in_cycle = 0;
	while (in_cycle < f->n_ops && is_done[in_cycle])
		in_cycle++;
	mem_free(missing);
	mem_free(is_done);
	return done == f->n_ops ? ORR_OK : refuse(c, in_cycle, "waits for itself or for a cycle of operators", "inputs without a cycle");
}

static uint32_t depth_of(const struct flow *f, uint32_t scope)
{
	return scope == FLOW_ROOT ? 0 : f->op[scope].depth + 1;
}

/* Returns the scope of the operators that read this operator. */
static uint32_t scope_of_readers(const struct flow *f, uint32_t op)
{
	return f->op[op].kind == FLOW_EXPLORE ? op : f->op[op].scope;
}

static bool is_around(const struct flow *f, uint32_t outer, uint32_t scope)
{
	while (scope != outer && scope != FLOW_ROOT)
		scope = f->op[scope].scope;
	return scope == outer;
}

/* Sets *out to the innermost scope of the inputs. All scopes of the inputs must lie around it. */
static int scope_of_inputs(const struct checker *c, uint32_t i, uint32_t *out)
{
	struct flow *f = c->f;
	const struct flow_op *o = &f->op[i];
	*out = FLOW_ROOT;
	for (uint32_t k = 0; k < o->n_inputs; k++) {
		uint32_t s = scope_of_readers(f, o->input[k]);
		if (depth_of(f, s) > depth_of(f, *out))
			*out = s;
	}
	for (uint32_t k = 0; k < o->n_inputs; k++)
		if (!is_around(f, scope_of_readers(f, o->input[k]), *out))
			return refuse(c, i, "reads branches of two explores", "inputs of one branch, or a choose between them");
	return ORR_OK;
}

static int close_explore(const struct checker *c, uint32_t i)
{
	struct flow *f = c->f;
	struct flow_op *o = &f->op[i];
	uint32_t e = o->scope;
	if (o->explore != FLOW_ROOT && o->explore != e)
		return refuse(c, i, "does not read the branches of the explore that it names",
			"inputs that are operators of the branches of that explore");
	if (e == FLOW_ROOT)
		return refuse(c, i, "reads no branch of an explore", "inputs that are operators of the branches");
	for (uint32_t k = 0; k < o->n_inputs; k++)
		if (f->op[o->input[k]].kind == FLOW_EXPLORE || f->op[o->input[k]].scope != e)
			return refuse(c, i, "chooses from an input outside the branches", "inputs that are operators of the branches");
	if (f->op[e].choose != FLOW_ROOT)
		return refuse(c, i, "is the second choose of one explore", "one choose per explore");
	uint32_t s = o->scorer != FLOW_ROOT ? o->scorer : o->n_inputs ? o->input[0] : FLOW_ROOT;
	if (s == FLOW_ROOT || f->op[s].scope != e || f->op[s].kind == FLOW_EXPLORE)
		return refuse(c, i, "has no evaluator in the branches", "score: the name of an operator of the branches that has a score");
	if (f->op[s].kind == FLOW_WORK && f->op[s].score.how == FLOW_NO_SCORE)
		return refuse(c, i, "chooses by an operator without a score", "an operator that has \"score\"");
	if (o->keep > f->op[e].value.n)
		o->keep = f->op[e].value.n;
	o->scorer = s;
	o->explore = e;
	f->op[e].choose = i;
	o->scope = f->op[e].scope;
	return ORR_OK;
}

/* A list of values is valid if its length is a product of the numbers of branches of the innermost explores. */
static int check_values(const struct checker *c, uint32_t i, const struct flow_values *x, const char *what)
{
	struct flow *f = c->f;
	uint64_t n = 1;
	uint32_t s = f->op[i].scope;
	while (x->n > n && s != FLOW_ROOT) {
		n *= f->op[s].value.n;
		s = f->op[s].scope;
	}
	return x->n <= 1 || x->n == n ? ORR_OK : refuse(c, i, what, "one number, or one per value of the explores around it");
}

static int set_scopes(const struct checker *c)
{
	struct flow *f = c->f;
	int rc = ORR_OK;
	for (uint32_t k = 0; !rc && k < f->n_ops; k++) {
		uint32_t i = f->ordered[k];
		struct flow_op *o = &f->op[i];
		rc = scope_of_inputs(c, i, &o->scope);
		if (!rc && o->kind == FLOW_CHOOSE)
			rc = close_explore(c, i);
		o->depth = depth_of(f, o->scope);
		o->instances = flow_paths(f, o->scope);
		if (!rc && (o->depth > 16 || (double)o->instances * (o->value.n ? o->value.n : 1) > (double)FLOW_MAX_STAGES))
			rc = refuse(c, i, "has too many branches", "at most 1e12 stages, and 16 nested explores");
		if (!rc)
			rc = check_values(c, i, &o->work_s, "has a list of work_s that fits no explore");
		if (!rc)
			rc = check_values(c, i, &o->bytes, "has a list of output_bytes that fits no explore");
		if (!rc)
			rc = check_values(c, i, &o->score.values, "has a list of scores that fits no explore");
	}
	for (uint32_t i = 0; !rc && i < f->n_ops; i++)
		if (f->op[i].kind == FLOW_EXPLORE && f->op[i].choose == FLOW_ROOT)
			rc = refuse(c, i, "is an explore without a choose", "one choose of its branches");
	return rc;
}

/* ---- items and the walk ---- */

static void wait_for(struct flow *f, uint32_t item, uint32_t on)
{
	if (append_once(&f->op[on].after, &f->op[on].n_after, item))
		f->op[item].n_before++;
}

/* Makes the items around operator i that share a scope with x wait for x. */
static void wait_in_scope(struct flow *f, uint32_t i, uint32_t x)
{
	uint32_t item = i, home = f->op[x].scope;
	while (item != FLOW_ROOT && f->op[item].scope != home)
		item = f->op[item].scope;
	if (item != FLOW_ROOT && item != x)
		wait_for(f, item, x);
}

static void link_items(struct flow *f)
{
	for (uint32_t k = 0; k < f->n_ops; k++) {
		uint32_t i = f->ordered[k];
		const struct flow_op *o = &f->op[i];
		for (uint32_t j = 0; j < o->n_inputs && o->kind != FLOW_CHOOSE; j++)
			wait_in_scope(f, i, o->input[j]);
		if (o->kind == FLOW_CHOOSE)
			wait_for(f, i, o->explore);
	}
}

static void list_of_scope(struct flow *f, uint32_t scope, uint32_t ***list, uint32_t **n)
{
	*list = scope == FLOW_ROOT ? &f->item : &f->op[scope].item;
	*n = scope == FLOW_ROOT ? &f->n_items : &f->op[scope].n_items;
}

/* Adds the operators that x needs and then x to the list of x's scope: a depth-first walk from the sink, with inputs in the order of
 * the file. */
static void walk(struct flow *f, uint32_t x, bool *is_listed)
{
	uint32_t **list, *n;
	const struct flow_op *o = &f->op[x];
	if (is_listed[x])
		return;
	is_listed[x] = true;
	if (o->kind == FLOW_CHOOSE) {
		walk(f, o->explore, is_listed);
	} else {
		for (uint32_t j = 0; j < o->n_inputs; j++)
			if (f->op[o->input[j]].scope == o->scope)
				walk(f, o->input[j], is_listed);
		for (uint32_t i = 0; i < f->n_ops; i++) /* inputs of the branches of an explore */
			for (uint32_t k = 0; o->kind == FLOW_EXPLORE && k < f->op[i].n_after; k++)
				if (f->op[i].after[k] == x)
					walk(f, i, is_listed);
	}
	list_of_scope(f, o->scope, &list, &n);
	append(list, n, x);
}

static int list_items(const struct checker *c)
{
	struct flow *f = c->f;
	bool *is_listed = mem_zalloc(f->n_ops + 1u, sizeof *is_listed), *is_read = mem_zalloc(f->n_ops + 1u, sizeof *is_read);
	int rc = ORR_OK;
	for (uint32_t i = 0; i < f->n_ops; i++) {
		const struct flow_op *o = &f->op[i];
		for (uint32_t j = 0; j < o->n_inputs; j++)
			is_read[o->input[j]] = true;
		if (o->kind == FLOW_CHOOSE)
			is_read[o->scorer] = is_read[o->explore] = true;
	}
	for (uint32_t k = 0; !rc && k < f->n_ops; k++) {
		uint32_t i = f->ordered[k];
		if (!is_read[i] && f->op[i].scope != FLOW_ROOT)
			rc = refuse(c, i, "has no reader in its branch", "a reader, or a choose that has it as an input");
		else if (!is_read[i])
			walk(f, i, is_listed);
		if (f->op[i].kind == FLOW_CHOOSE) {
			for (uint32_t j = 0; j < f->op[i].n_inputs; j++)
				walk(f, f->op[i].input[j], is_listed);
			walk(f, f->op[i].scorer, is_listed);
		}
	}
	mem_free(is_listed);
	mem_free(is_read);
	return rc;
}

/* Sets positions within each scope, innermost scopes first: an operator's branches are known before the operator. */
static int set_positions(const struct checker *c)
{
	struct flow *f = c->f;
	double most = 0;
	for (uint32_t k = f->n_ops + 1u; k-- > 0;) {
		uint32_t scope = k ? f->ordered[k - 1] : FLOW_ROOT, **list, *n;
		if (scope != FLOW_ROOT && f->op[scope].kind != FLOW_EXPLORE)
			continue;
		list_of_scope(f, scope, &list, &n);
		uint64_t at = 0;
		for (uint32_t i = 0; i < *n; i++) {
			struct flow_op *o = &f->op[(*list)[i]];
			o->position = at;
			o->local = i;
			most += o->kind == FLOW_EXPLORE ? (double)o->stages * o->value.n : 0;
			if (most > (double)FLOW_MAX_STAGES)
				return refuse(c, (*list)[i], "has too many branches", "at most 1e12 stages");
			at += o->kind == FLOW_WORK ? 1 : o->kind == FLOW_EXPLORE ? o->stages * o->value.n : 0;
		}
		if (scope == FLOW_ROOT)
			f->stages = at;
		else
			f->op[scope].stages = at;
	}
	return ORR_OK;
}

/* ---- sources ---- */

/* Returns the index of the import of `op` in the scope. If it is new, adds it to this scope and to the scopes between it and the operator.
 */
static uint32_t import_of(struct flow *f, uint32_t scope, uint32_t op, uint32_t up, uint64_t uses)
{
	struct flow_op *e = &f->op[scope];
	uint32_t i = 0;
	while (i < e->n_imports && e->import[i].op != op)
		i++;
	uint64_t above = uses * (uint64_t)e->value.n;
	if (i == e->n_imports) {
		e->import = mem_realloc(e->import, i + 1u, sizeof *e->import);
		e->import[i] = (struct flow_import){ .op = op, .up = up };
		e->n_imports++;
	}
	e->import[i].uses += uses;
	uint32_t parent = up > 1 ? import_of(f, e->scope, op, up - 1, above) : 0;
	e->import[i].parent = parent;
	return i;
}

static void add_source(struct flow *f, uint32_t reader, uint32_t op)
{
	struct flow_op *r = &f->op[reader];
	if (f->op[op].kind == FLOW_EXPLORE) { /* a reader of an explore reads the inputs of the explore */
		for (uint32_t i = 0; i < f->op[op].n_inputs; i++)
			add_source(f, reader, f->op[op].input[i]);
		return;
	}
	for (uint32_t i = 0; i < r->n_sources; i++)
		if (r->source[i].op == op)
			return;
	uint32_t up = r->depth - f->op[op].depth;
	uint64_t uses = 1;
	for (uint32_t s = r->scope; s != f->op[op].scope; s = f->op[s].scope)
		uses *= f->op[s].value.n;
	f->op[op].uses += uses;
	r->source = mem_realloc(r->source, r->n_sources + 1u, sizeof *r->source);
	r->source[r->n_sources++] = (struct flow_source){ op, up, up ? import_of(f, r->scope, op, up, 1) : 0 };
}

static void set_sources(struct flow *f)
{
	for (uint32_t k = 0; k < f->n_ops; k++) {
		uint32_t i = f->ordered[k];
		for (uint32_t j = 0; j < f->op[i].n_inputs && f->op[i].kind == FLOW_WORK; j++)
			add_source(f, i, f->op[i].input[j]);
	}
	/* Kept results have the readers of their choose. A result without a reader is freed at the end of the flow. */
	for (uint32_t k = f->n_ops; k-- > 0;) {
		const struct flow_op *o = &f->op[f->ordered[k]];
		for (uint32_t j = 0; o->kind == FLOW_CHOOSE && j < o->n_inputs; j++) {
			f->op[o->input[j]].uses += o->uses ? o->uses : 1;
			f->op[o->input[j]].is_result = true;
		}
	}
	for (uint32_t k = 0; k < f->n_ops; k++) {
		struct flow_op *o = &f->op[f->ordered[k]];
		for (uint32_t j = 0; j < o->n_inputs; j++) {
			const struct flow_op *x = &f->op[o->input[j]];
			uint32_t rung = x->rung + (x->score.how != FLOW_NO_SCORE);
			if (x->scope == o->scope && o->kind == FLOW_WORK && rung > o->rung)
				o->rung = rung;
		}
	}
}

int flow_finish(struct flow *f, const char *where, struct orr_error *err)
{
	struct checker c = { f, where, err };
	int rc = f->n_ops ? ORR_OK : orr_fail(err, ORR_EINPUT, "%s.operators: the list is empty: expected at least one operator", where);
	if (!rc)
		rc = sort(&c);
	if (!rc)
		rc = set_scopes(&c);
	if (rc)
		return rc;
	link_items(f);
	rc = list_items(&c);
	if (!rc)
		rc = set_positions(&c);
	if (!rc)
		set_sources(f);
	if (!rc && !f->stages)
		rc = orr_fail(err, ORR_EINPUT, "%s: the flow has no stage: expected an operator with work_s", where);
	return rc;
}
