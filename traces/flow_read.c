/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_read.c - flows in JSON (docs/flow.schema.json)
 *
 *	{ "operators": [ {"name": "prefix", "work_s": 20, "output_bytes": 1e9},
 *	                 {"name": "rate", "inputs": ["prefix"], "explore": [0.1, 0.01, 0.001]},
 *	                 {"name": "train", "inputs": ["rate"], "work_s": 1, "output_bytes": 1e8, "score": {"values": [3, 5, 4]}},
 *	                 {"name": "best", "inputs": ["train"], "choose": {"keep": 1}} ] }
 *
 * or {"flows": [..]} with several such objects.
 */
#include "traces/flow.h"

#include <orrery/param.h>

#include "base/json_text.h"
#include "base/mem.h"
#include "base/num.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPERATORS = 1000, MOST_VALUES = 10000000 };

struct reader {
	const char *file;
	char at[200]; /* JSON path of the present object */
	struct orr_error *err;
};

static int wrong(const struct reader *r, const char *key, const char *expected, const cJSON *found)
{
	char *text = found ? cJSON_PrintUnformatted(found) : NULL;
	orr_fail(r->err, ORR_EINPUT, "%s: %s%s%s: expected %s, found %.60s", r->file, r->at, key ? "." : "", key ? key : "", expected,
		text ? text : "nothing");
	cJSON_free(text);
	return ORR_EINPUT;
}

static int check_keys(const struct reader *r, const cJSON *o, const char *const *keys)
{
	if (!cJSON_IsObject(o))
		return wrong(r, NULL, "an object", o);
	for (const cJSON *m = o->child; m; m = m->next) {
		size_t i = 0;
		while (keys[i] && strcmp(keys[i], m->string))
			i++;
		const char *near = keys[i] ? NULL : orr_nearest_name(m->string, keys);
		if (!keys[i])
			return orr_fail(r->err, ORR_EINPUT, "%s: %s: unknown key \"%.60s\": %s%s%s", r->file, r->at, m->string,
				near ? "did you mean \"" : "expected a key of docs/flow.schema.json", near ? near : "", near ? "\"?" : "");
	}
	return ORR_OK;
}

static const cJSON *item(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

static int get_real(const struct reader *r, const cJSON *o, const char *key, double low, double high, double *out)
{
	const cJSON *x = item(o, key);
	char expected[80];
	if (!x)
		return ORR_OK;
	snprintf(expected, sizeof expected, "a number from %.9g to %.9g", low, high);
	if (!cJSON_IsNumber(x) || !(x->valuedouble >= low && x->valuedouble <= high))
		return wrong(r, key, expected, x);
	*out = x->valuedouble;
	return ORR_OK;
}

static int get_count(const struct reader *r, const cJSON *o, const char *key, double low, double high, uint32_t *out)
{
	double v = *out;
	int rc = get_real(r, o, key, low, high, &v);
	if (!rc && v != floor(v))
		rc = wrong(r, key, "a whole number", item(o, key));
	*out = (uint32_t)v;
	return rc;
}

static int get_bool(const struct reader *r, const cJSON *o, const char *key, bool *out)
{
	const cJSON *x = item(o, key);
	if (x && !cJSON_IsBool(x))
		return wrong(r, key, "true or false", x);
	*out = x ? cJSON_IsTrue(x) : *out;
	return ORR_OK;
}

static int get_text(const struct reader *r, const cJSON *o, const char *key, const char **out)
{
	const cJSON *x = item(o, key);
	if (x && (!cJSON_IsString(x) || !*x->valuestring || strlen(x->valuestring) > 100))
		return wrong(r, key, "a text of 1 to 100 bytes", x);
	*out = x ? x->valuestring : *out;
	return ORR_OK;
}

/* Reads a word and returns its index in "a|b|c". */
static int get_choice(const struct reader *r, const cJSON *o, const char *key, const char *choices, int *out)
{
	const char *text = NULL;
	int rc = get_text(r, o, key, &text);
	if (rc || !text)
		return rc;
	int i = 0;
	for (const char *s = choices; *s; i++) {
		size_t n = strcspn(s, "|");
		if (strlen(text) == n && !strncmp(s, text, n)) {
			*out = i;
			return ORR_OK;
		}
		s += n + (s[n] == '|');
	}
	char expected[120];
	snprintf(expected, sizeof expected, "one of %s", choices);
	return wrong(r, key, expected, item(o, key));
}

/* Reads a number or a list of numbers. */
static int get_values(const struct reader *r, const cJSON *o, const char *key, double low, double high, struct flow_values *out)
{
	const cJSON *x = item(o, key);
	char expected[100];
	if (!x)
		return ORR_OK;
	snprintf(expected, sizeof expected, "a number, or a list of numbers, from %.9g to %.9g", low, high);
	int n = cJSON_IsArray(x) ? cJSON_GetArraySize(x) : 1;
	if (n < 1 || n > MOST_VALUES)
		return wrong(r, key, expected, x);
	out->v = mem_alloc((size_t)n * sizeof *out->v);
	const cJSON *each = cJSON_IsArray(x) ? x->child : x;
	for (out->n = 0; out->n < (uint32_t)n; each = each->next) {
		if (!cJSON_IsNumber(each) || !(each->valuedouble >= low && each->valuedouble <= high))
			return wrong(r, key, expected, each);
		out->v[out->n++] = each->valuedouble;
	}
	return ORR_OK;
}

/* ---- parts of an operator ---- */

static int read_sgd(const struct reader *r, const cJSON *o, struct flow_score *s)
{
	static const char *const keys[] = { "problem", "parameter", "steps", "rows", "inputs", "hidden", "batch", "lr", "seed", NULL };
	static const char *const problems[] = { "logistic", "mlp", "least-squares" }, *const parameters[] = { "lr", "hidden", "batch" };
	int problem = 0, parameter = 0;
	double seed = 1;
	*s = (struct flow_score){ .how = FLOW_SCORE_SGD, .lr = 0.1, .steps = 200, .rows = 1024, .inputs = 16, .hidden = 16, .batch = 32 };
	if (check_keys(r, o, keys) || get_choice(r, o, "problem", "logistic|mlp|least-squares", &problem) ||
		get_choice(r, o, "parameter", "lr|hidden|batch", &parameter) || get_count(r, o, "steps", 1, 1e6, &s->steps) ||
		get_count(r, o, "rows", 1, 1e6, &s->rows) || get_count(r, o, "inputs", 1, 1e5, &s->inputs) ||
		get_count(r, o, "hidden", 1, 1e5, &s->hidden) || get_count(r, o, "batch", 1, 1e5, &s->batch) ||
		get_real(r, o, "lr", 0, 1e9, &s->lr) || get_real(r, o, "seed", 0, 9e15, &seed))
		return ORR_EINPUT;
	s->seed = (uint64_t)seed;
	snprintf(s->problem, sizeof s->problem, "%s", problems[problem]);
	snprintf(s->parameter, sizeof s->parameter, "%s", parameters[parameter]);
	return ORR_OK;
}

static int read_score(struct reader *r, const cJSON *o, struct flow_op *op)
{
	static const char *const keys[] = { "values", "law", "best", "slope", "noise", "sgd", NULL };
	int law = -1;
	struct flow_score *s = &op->score;
	size_t end = strlen(r->at);
	if (cJSON_IsNumber(o) || cJSON_IsArray(o))
		return wrong(r, "score", "an object with \"values\", \"law\" or \"sgd\"", o);
	snprintf(r->at + end, sizeof r->at - end, ".score");
	s->best = 0.5;
	s->slope = 1;
	int rc = check_keys(r, o, keys);
	if (!rc && item(o, "sgd")) {
		snprintf(r->at + end, sizeof r->at - end, ".score.sgd");
		rc = cJSON_GetArraySize(o) == 1 ? read_sgd(r, item(o, "sgd"), s) : wrong(r, NULL, "no other key together with \"sgd\"", o);
	} else if (!rc) {
		rc = get_values(r, o, "values", -1e300, 1e300, &s->values) || get_choice(r, o, "law", "linear|quadratic|random", &law) ||
				     get_real(r, o, "best", -1e6, 1e6, &s->best) || get_real(r, o, "slope", -1e300, 1e300, &s->slope) ||
				     get_real(r, o, "noise", 0, 1e300, &s->noise)
			     ? ORR_EINPUT
			     : ORR_OK;
		if (!rc && (law >= 0) == (s->values.n > 0))
			rc = wrong(r, NULL, "only one of the keys \"values\", \"law\" and \"sgd\"", o);
		s->how = law < 0 ? FLOW_SCORE_VALUES : (enum flow_scorer)(FLOW_SCORE_LINEAR + law);
	}
	r->at[end] = '\0';
	return rc;
}

/* Reads a choose. It refers to other operators by name; the names are resolved when all operators are known. */
static int read_choose(struct reader *r, const cJSON *o, struct flow_op *op)
{
	static const char *const keys[] = { "of", "score", "keep", "incremental", "order", "stop", "threshold", "better", NULL };
	int order = 0, stop = 0, better = 0;
	const char *unused = NULL;
	size_t end = strlen(r->at);
	snprintf(r->at + end, sizeof r->at - end, ".choose");
	int rc = check_keys(r, o, keys) || get_text(r, o, "of", &unused) || get_text(r, o, "score", &unused) ||
				 get_count(r, o, "keep", 1, 1e6, &op->keep) || get_bool(r, o, "incremental", &op->is_incremental) ||
				 get_choice(r, o, "order", "none|monotone|convex", &order) ||
				 get_choice(r, o, "stop", "never|satisfied|improving", &stop) ||
				 get_real(r, o, "threshold", -1e300, 1e300, &op->threshold) ||
				 get_choice(r, o, "better", "higher|lower", &better)
			 ? ORR_EINPUT
			 : ORR_OK;
	op->order = (enum flow_order)order;
	op->stop = (enum flow_stop)stop;
	op->is_lower_better = better;
	if (!rc && op->stop == FLOW_IMPROVING && op->order == FLOW_UNORDERED)
		rc = wrong(r, "order", "monotone or convex, because \"stop\" is improving", item(o, "order"));
	if (!rc && op->stop != FLOW_SATISFIED && item(o, "threshold"))
		rc = wrong(r, "threshold", "\"stop\" to be satisfied, the only rule that reads this key", item(o, "threshold"));
	r->at[end] = '\0';
	return rc;
}

static int read_explore(const struct reader *r, const cJSON *o, struct flow_op *op)
{
	const cJSON *x = item(o, "explore");
	if (cJSON_IsArray(x))
		return get_values(r, o, "explore", -1e300, 1e300, &op->value);
	uint32_t n = 0;
	if (get_count(r, o, "explore", 1, MOST_VALUES, &n))
		return ORR_EINPUT;
	op->value.v = mem_alloc(n * sizeof *op->value.v);
	for (op->value.n = 0; op->value.n < n; op->value.n++)
		op->value.v[op->value.n] = op->value.n;
	return ORR_OK;
}

static int read_work(struct reader *r, const cJSON *o, struct flow_op *op)
{
	int scaling = 0;
	double limit = -1, evaluate = 0;
	if (!item(o, "work_s"))
		return wrong(r, "work_s", "the work in seconds, or one of the keys \"explore\" and \"choose\"", NULL);
	if (get_values(r, o, "work_s", 0, 4e9, &op->work_s) || get_values(r, o, "output_bytes", 0, 9e18, &op->bytes) ||
		get_count(r, o, "gpus", 0, 1e6, &op->gpus) || get_choice(r, o, "scaling", "linear|none", &scaling) ||
		get_real(r, o, "limit_s", 0, 4e9, &limit) || get_real(r, o, "evaluate_s", 0, 4e9, &evaluate) ||
		(item(o, "score") && read_score(r, item(o, "score"), op)))
		return ORR_EINPUT;
	if (item(o, "evaluate_s") && !item(o, "score"))
		return wrong(r, "evaluate_s", "also the key \"score\"", item(o, "evaluate_s"));
	for (uint32_t i = 0; i < op->work_s.n; i++)
		op->work_s.v[i] += evaluate;
	op->scaling = (enum flow_scaling)scaling;
	op->limit_ns = limit < 0 ? -1 : llrint(limit * 1e9);
	return ORR_OK;
}

static int refuse_keys(const struct reader *r, const cJSON *o, const char *kind)
{
	static const char *const work[] = { "work_s", "gpus", "scaling", "output_bytes", "limit_s", "score", "evaluate_s", NULL };
	char expected[80];
	snprintf(expected, sizeof expected, "no such key together with \"%s\"", kind);
	for (size_t i = 0; work[i]; i++)
		if (item(o, work[i]))
			return wrong(r, work[i], expected, item(o, work[i]));
	return ORR_OK;
}

static int read_operator(struct reader *r, const cJSON *o, struct flow *f)
{
	static const char *const keys[] = { "name", "inputs", "work_s", "gpus", "scaling", "output_bytes", "limit_s", "score", "evaluate_s",
		"explore", "choose", NULL };
	const char *name = NULL;
	if (check_keys(r, o, keys) || get_text(r, o, "name", &name))
		return ORR_EINPUT;
	if (!name)
		return wrong(r, "name", "the name of the operator", NULL);
	if (flow_find(f, name) != FLOW_ROOT)
		return wrong(r, "name", "a name that no other operator has", item(o, "name"));
	if (item(o, "explore") && item(o, "choose"))
		return wrong(r, "choose", "either \"explore\" or \"choose\"", item(o, "choose"));
	if (item(o, "choose")) {
		struct flow_op *op = flow_add(f, name, FLOW_CHOOSE);
		return refuse_keys(r, o, "choose") || read_choose(r, item(o, "choose"), op) ? ORR_EINPUT : ORR_OK;
	}
	if (item(o, "explore")) {
		struct flow_op *op = flow_add(f, name, FLOW_EXPLORE);
		return refuse_keys(r, o, "explore") || read_explore(r, o, op) ? ORR_EINPUT : ORR_OK;
	}
	return read_work(r, o, flow_add(f, name, FLOW_WORK));
}

/* ---- references between operators ---- */

static int find_operator(const struct reader *r, const struct flow *f, const char *key, const cJSON *x, uint32_t *out)
{
	*out = cJSON_IsString(x) ? flow_find(f, x->valuestring) : FLOW_ROOT;
	return *out == FLOW_ROOT ? wrong(r, key, "the name of an operator of this flow", x) : ORR_OK;
}

static int link_operator(const struct reader *r, const cJSON *o, struct flow *f, uint32_t i)
{
	const cJSON *inputs = item(o, "inputs"), *choose = item(o, "choose"), *of = item(choose, "of"), *score = item(choose, "score");
	uint32_t at;
	if (inputs && !cJSON_IsArray(inputs))
		return wrong(r, "inputs", "a list of names of operators", inputs);
	for (const cJSON *x = inputs ? inputs->child : NULL; x; x = x->next) {
		if (find_operator(r, f, "inputs", x, &at))
			return ORR_EINPUT;
		if (at == i)
			return wrong(r, "inputs", "another operator", x);
		flow_input(&f->op[i], at);
	}
	if (of && find_operator(r, f, "choose.of", of, &f->op[i].explore))
		return ORR_EINPUT;
	if (of && f->op[f->op[i].explore].kind != FLOW_EXPLORE)
		return wrong(r, "choose.of", "the name of an explore", of);
	if (score && find_operator(r, f, "choose.score", score, &f->op[i].scorer))
		return ORR_EINPUT;
	return ORR_OK;
}

static int read_flow(struct reader *r, const cJSON *o, struct flow *f)
{
	static const char *const keys[] = { "name", "user", "submit_s", "operators", NULL };
	const char *name = NULL, *user = NULL;
	double submit = 0;
	char here[200];
	if (check_keys(r, o, keys) || get_text(r, o, "name", &name) || get_text(r, o, "user", &user) ||
		get_real(r, o, "submit_s", 0, 4e9, &submit))
		return ORR_EINPUT;
	f->name = name ? mem_strdup(name) : NULL;
	f->user = user ? mem_strdup(user) : NULL;
	f->submit_ns = llrint(submit * 1e9);
	const cJSON *list = item(o, "operators");
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > MOST_OPERATORS)
		return wrong(r, "operators", "a list of at most 1000 operators", cJSON_IsArray(list) ? NULL : list);
	snprintf(here, sizeof here, "%s", r->at);
	int rc = ORR_OK;
	uint32_t i = 0;
	uint64_t n_values = 0;
	for (const cJSON *x = list->child; !rc && x; x = x->next) {
		snprintf(r->at, sizeof r->at, "%.100s.operators[%u]", here, i++);
		rc = read_operator(r, x, f);
		n_values += rc ? 0 : f->op[f->n_ops - 1].value.n;
		if (!rc && n_values > MOST_VALUES)
			rc = wrong(r, "explore", "at most 1e7 values over all explores of the flow", NULL);
	}
	i = 0;
	for (const cJSON *x = list->child; !rc && x; x = x->next, i++) {
		snprintf(r->at, sizeof r->at, "%.100s.operators[%u]", here, i);
		rc = link_operator(r, x, f, i);
	}
	snprintf(r->at, sizeof r->at, "%s", here);
	char where[400];
	snprintf(where, sizeof where, "%.200s: %.100s", r->file, here);
	return rc ? rc : flow_finish(f, where, r->err);
}

/* ---- the file ---- */

static cJSON *parse(const char *name, const char *text, size_t n, struct orr_error *err)
{
	const char *end = NULL;
	cJSON *root = cJSON_ParseWithLengthOpts(text, n, &end, false);
	const char *rest = root ? end : NULL;
	while (rest && rest < text + n && strchr(" \t\r\n", *rest) && *rest)
		rest++;
	if (root && rest == text + n) {
		if (!json_text_check(name, text, n, err))
			return root;
		cJSON_Delete(root);
		return NULL;
	}
	size_t line = 1;
	end = root ? rest : end;
	for (const char *s = text; end && s < end && s < text + n; s++)
		line += *s == '\n';
	cJSON_Delete(root);
	orr_fail(err, ORR_EINPUT, "%s:%zu: invalid JSON from this line on: expected an object with \"operators\" or \"flows\"", name, line);
	return NULL;
}

struct flowset *flowset_read(const char *name, const char *text, size_t n, struct orr_error *err)
{
	static const char *const keys[] = { "flows", NULL };
	cJSON *root = parse(name, text, n, err);
	if (!root)
		return NULL;
	struct reader r = { .file = name, .at = "$", .err = err };
	struct flowset *s = mem_zalloc(1, sizeof *s);
	const cJSON *flows = item(root, "flows");
	int rc = flows ? check_keys(&r, root, keys) : ORR_OK;
	if (!rc && flows && (!cJSON_IsArray(flows) || !flows->child))
		rc = wrong(&r, "flows", "a list of at least one flow", flows);
	uint32_t i = 0;
	for (const cJSON *x = flows ? flows->child : root; !rc && x; x = flows ? x->next : NULL) {
		struct flow *f = flow_new();
		flowset_add(s, f);
		if (flows)
			snprintf(r.at, sizeof r.at, "$.flows[%u]", i++);
		rc = read_flow(&r, x, f);
	}
	cJSON_Delete(root);
	if (!rc)
		return s;
	flowset_free(s);
	return NULL;
}
