/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of expressions and texts of a book while some of its axes are bound. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NESTING = 32, MOST_EVALUATIONS = 10000000, MOST_POINTS = 1000000 };

/* One evaluation. Constants may refer to constants, up to a depth. */
struct evaluation {
	struct book *b;
	int nesting;
	struct orr_error *err;
	int code;
};

static int evaluate(struct evaluation *e, const char *text, size_t n, double *out, struct orr_error *err);

size_t book_axis(const struct book *b, const char *name, size_t n)
{
	for (size_t i = 0; i < b->n_axes; i++)
		if (strlen(b->axis[i].name) == n && !memcmp(b->axis[i].name, name, n))
			return i;
	return SIZE_MAX;
}

const struct book_published *book_find_published(const struct book *b, const char *id)
{
	for (size_t i = 0; i < b->n_published; i++)
		if (!strcmp(b->published[i].id, id))
			return &b->published[i];
	return NULL;
}

static const struct book_value *bound_value(const struct book *b, size_t axis)
{
	return b->bound[axis] == SIZE_MAX ? NULL : book_value(&b->axis[axis], b->bound[axis]);
}

/* ---- names ---- */

static const char *let_text(const struct book_let *let, size_t n_lets, const char *name, size_t n)
{
	for (size_t i = 0; i < n_lets; i++)
		if (strlen(let[i].name) == n && !memcmp(let[i].name, name, n))
			return let[i].text;
	return NULL;
}

static bool name_value(void *ctx, const char *name, size_t n, double *out)
{
	struct evaluation *e = ctx;
	const struct book *b = e->b;
	const char *text = NULL;
	size_t axis = book_axis(b, name, n);
	if (axis != SIZE_MAX) {
		const struct book_value *v = bound_value(b, axis);
		if (!v || isnan(v->number))
			return false;
		if (out)
			*out = v->number;
		return true;
	}
	const struct book_trace *trace = n > 4 && !memcmp(name, "has_", 4) ? book_trace(b, name + 4, n - 4) : NULL;
	if (trace) {
		if (out)
			*out = trace->is_there;
		return true;
	}
	for (size_t i = 0; i < b->n_axes && !text; i++) {
		const struct book_value *v = bound_value(b, i);
		text = v ? let_text(v->let, v->n_lets, name, n) : NULL;
	}
	if (!text)
		text = let_text(b->constant, b->n_constants, name, n);
	if (!text || e->nesting >= MAX_NESTING)
		return false;
	if (!out)
		return true;
	e->nesting++;
	/* Reports the error inside the expression, instead of the missing value of the name. */
	int rc = evaluate(e, text, strlen(text), out, e->err);
	e->nesting--;
	if (rc && !e->code)
		e->code = rc;
	return true;
}

static size_t axis_size(void *ctx, const char *name, size_t n)
{
	const struct evaluation *e = ctx;
	size_t a = book_axis(e->b, name, n);
	return a == SIZE_MAX ? SIZE_MAX : e->b->axis[a].n;
}

static size_t bind_axis(void *ctx, const char *name, size_t n, size_t i)
{
	const struct evaluation *e = ctx;
	size_t a = book_axis(e->b, name, n), before = e->b->bound[a];
	e->b->bound[a] = i;
	return before;
}

/* ---- results ---- */

/* Finds the axis value that text names: verbatim, or by the number of an expression. */
static int find_value(struct evaluation *e, size_t axis, const char *text, size_t n, size_t *out, struct orr_error *err)
{
	const struct book_axis *a = &e->b->axis[axis];
	double v = NAN;
	for (*out = 0; *out < a->n; ++*out) {
		const char *known = book_value(a, *out)->text;
		if (strlen(known) == n && !memcmp(known, text, n))
			return ORR_OK;
	}
	int rc = evaluate(e, text, n, &v, err);
	for (*out = 0; !rc && *out < a->n; ++*out)
		if (fabs(book_value(a, *out)->number - v) <= 1e-12 * fabs(v))
			return ORR_OK;
	*out = SIZE_MAX; /* the run has no such point */
	return rc;
}

/* Returns the first `mark` before `end` that is outside brackets and braces; NULL: none. */
static const char *find_outside(const char *s, const char *end, char mark)
{
	for (int depth = 0; s < end; s++) {
		if (!depth && *s == mark)
			return s;
		depth += (*s == '(' || *s == '[' || *s == '{') - (*s == ')' || *s == ']' || *s == '}');
	}
	return NULL;
}

/* Binds the axes of "[N=10,B=5]" at *text and advances *text past it. */
static int bind_fixed(struct evaluation *e, const char **text, const char *end, bool *is_there, struct orr_error *err)
{
	const char *s = *text + 1;
	const char *close = find_outside(s, end, ']');
	if (!close)
		return orr_fail(err, ORR_EINPUT, "{%.*s}: expected a \"]\" that closes the \"[\"", (int)(end - *text), *text);
	while (s < close) {
		const char *comma = find_outside(s, close, ','), *stop = comma ? comma : close;
		const char *equals = memchr(s, '=', (size_t)(stop - s));
		size_t axis = equals ? book_axis(e->b, s, (size_t)(equals - s)) : SIZE_MAX, value;
		if (axis == SIZE_MAX)
			return orr_fail(err, ORR_EINPUT, "[%.*s]: expected AXIS=VALUE with the name of one of $.axes", (int)(stop - s), s);
		int rc = find_value(e, axis, equals + 1, (size_t)(stop - equals - 1), &value, err);
		if (rc)
			return rc;
		*is_there &= value != SIZE_MAX;
		e->b->bound[axis] = value;
		s = stop + 1;
	}
	*text = close + 1;
	return ORR_OK;
}

static const struct book_run *find_run(const struct book *b, const char *name, size_t n)
{
	for (size_t i = 0; i < b->n_runs; i++)
		if (strlen(b->run[i].name) == n && !memcmp(b->run[i].name, name, n))
			return &b->run[i];
	return NULL;
}

/* Finds the point of the run at the bound axes. */
static int find_point(const struct book *b, const struct book_run *r, size_t *out, struct orr_error *err)
{
	for (size_t i = 0; i < r->n_axes; i++)
		if (b->bound[r->axis[i]] == SIZE_MAX) {
			const char *name = b->axis[r->axis[i]].name;
			return orr_fail(err, ORR_EINPUT, "{%s..}: axis \"%s\" has no value here: expected {%s[%s=..]..}", r->name, name,
				r->name, name);
		}
	*out = book_point(b, r);
	return ORR_OK;
}

/* Returns whether any point and policy of the run has the metric. A metric that depends on an event (a target met) may be missing at other
 * points. */
static bool is_metric(const struct book *b, const struct book_run *r, const char *name)
{
	for (size_t point = 0; point < r->n_points; point++) {
		size_t n = 0;
		struct run_result *const *runs = r->part[point] == SIZE_MAX ? NULL : study_results(b->study, r->part[point], &n);
		for (size_t i = 0; i < n; i++)
			if (result_find(runs[i], name))
				return true;
	}
	return false;
}

/* Returns the value of the series at that time. A series is constant between its points. */
static double series_at(const struct series *s, double at_s)
{
	double v = NAN;
	for (size_t i = 0; i < s->n && (double)s->time_ns[i] / 1e9 <= at_s; i++)
		v = s->value[i];
	return s->n && at_s <= (double)s->time_ns[s->n - 1] / 1e9 ? v : NAN;
}

/* Reads "SERIES@SECONDS" of a result. */
static int read_series(struct evaluation *e, const struct run_result *r, const char *text, size_t n, double *out, struct orr_error *err)
{
	const char *at = memchr(text, '@', n);
	size_t name = (size_t)(at - text);
	double at_s = NAN;
	for (size_t i = 0; i < r->n_series; i++)
		if (strlen(r->series[i].name) == name && !memcmp(r->series[i].name, text, name)) {
			int rc = evaluate(e, at + 1, n - name - 1, &at_s, err);
			*out = series_at(&r->series[i], at_s);
			return rc;
		}
	return orr_fail(err, ORR_EINPUT, "{..%.*s}: expected a series of this run, found \"%.*s\"", (int)n, text, (int)name, text);
}

/* Returns the policy with the longest label such that text begins with the label and a dot. SIZE_MAX: none. */
static size_t find_label(struct run_result *const *runs, size_t count, const char *text, size_t n)
{
	size_t best = SIZE_MAX, longest = 0;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(runs[i]->label);
		if (len < n && len >= longest && !memcmp(runs[i]->label, text, len) && text[len] == '.') {
			best = i;
			longest = len;
		}
	}
	return best;
}

/* Finds the policy's result for ".LABEL.NAME", and the start of NAME. */
static int find_result(const struct book *b, const struct book_run *r, size_t part, const char *text, const struct run_result **out,
	const char **name, struct orr_error *err)
{
	size_t count, points = 0, n = strlen(text);
	for (size_t i = 0; i < n; i++)
		points += text[i] == '.';
	if (*text != '.' || points < 2)
		return orr_fail(err, ORR_EINPUT, "{%s%s}: expected {RUN.LABEL.METRIC}", r->name, text);
	struct run_result *const *runs = study_results(b->study, part, &count);
	size_t i = find_label(runs, count, text + 1, n - 1);
	if (i == SIZE_MAX) {
		const char *dot = text + n;
		while (dot[-1] != '.')
			dot--;
		return orr_fail(err, ORR_EINPUT, "{%s%s}: expected the label of a policy of this run, found \"%.*s\"", r->name, text,
			(int)(dot - text) - 2, text + 1);
	}
	*out = runs[i];
	*name = text + 2 + strlen(runs[i]->label);
	return ORR_OK;
}

/* Reads "node_hours:ACCOUNT" or "usd:ACCOUNT": the total of that account of the run. */
static int read_account(const struct run_result *r, const char *name, double *out, struct orr_error *err)
{
	const char *account = strchr(name, ':') + 1;
	bool is_money = !strncmp(name, "usd:", 4);
	if (!is_money && strncmp(name, "node_hours:", 11) != 0)
		return orr_fail(err, ORR_EINPUT, "{..%.60s}: expected node_hours:ACCOUNT or usd:ACCOUNT", name);
	for (size_t i = 0; i < r->n_accounts; i++)
		if (!strcmp(r->accounts[i].account, account)) {
			*out = is_money ? r->accounts[i].usd : r->accounts[i].node_s / 3600;
			return ORR_OK;
		}
	return orr_fail(err, ORR_EINPUT, "{..%.60s}: this run has no account \"%.40s\"%s%s", name, account,
		r->n_accounts ? ": expected one of its accounts, such as " : ": expected a run with accounts",
		r->n_accounts ? r->accounts[0].account : "");
}

/* Reads a value of the run's result at that point: ".LABEL.METRIC", optionally with !low or !high, ".LABEL.SERIES@SECONDS", or an
 * account. */
static int read_metric(struct evaluation *e, const struct book_run *r, size_t part, const char *text, double *out, struct orr_error *err)
{
	const struct run_result *of = NULL;
	const char *name = NULL;
	char metric[100];
	int rc = find_result(e->b, r, part, text, &of, &name, err);
	if (rc)
		return rc;
	if (strchr(name, '@'))
		return read_series(e, of, name, strlen(name), out, err);
	if (strchr(name, ':'))
		return read_account(of, name, out, err);
	const char *mark = strchr(name, '!');
	snprintf(metric, sizeof metric, "%.*s", (int)(mark ? mark - name : (ptrdiff_t)strlen(name)), name);
	const struct metric *m = result_find(of, metric);
	if (!m && is_metric(e->b, r, metric))
		return ORR_OK; /* the result has no value at this point */
	if (!m)
		return orr_fail(err, ORR_EINPUT, "{%s%s}: expected a metric of this run, found \"%.60s\"", r->name, text, metric);
	*out = !mark ? m->value : mark[1] == 'l' ? m->ci_low : m->ci_high;
	return ORR_OK;
}

/* Parses "RUN[AXIS=VALUE,..]" at the start of a text without ${..}; leaves the axes bound. *part is SIZE_MAX if that point was left
 * out. */
static int locate(struct evaluation *e, const char *text, const struct book_run **r, size_t *part, const char **rest, struct orr_error *err)
{
	struct book *b = e->b;
	size_t name = strcspn(text, ".["), point = 0;
	bool is_there = true;
	*rest = text + name;
	*part = SIZE_MAX;
	*r = find_run(b, text, name);
	if (!*r)
		return orr_fail(err, ORR_EINPUT, "{%s}: expected the name of a run, found \"%.*s\"", text, (int)name, text);
	if (!b->has_results)
		return orr_fail(err, ORR_EINPUT, "{%s}: results are unknown before the runs: expected an expression without results", text);
	int rc = **rest == '[' ? bind_fixed(e, rest, text + strlen(text), &is_there, err) : ORR_OK;
	if (!rc && is_there)
		rc = find_point(b, *r, &point, err);
	if (!rc && is_there && point != SIZE_MAX)
		*part = (*r)->part[point];
	return rc;
}

static int look_up(struct evaluation *e, const char *text, double *out, struct orr_error *err)
{
	const struct book_run *r = NULL;
	const char *rest = NULL;
	size_t part;
	int rc = locate(e, text, &r, &part, &rest, err);
	return rc || part == SIZE_MAX ? rc : read_metric(e, r, part, rest, out, err);
}

int book_result(
	struct book *b, const char *text, const char *where, const struct run_result **out, const char **name, struct orr_error *err)
{
	struct orr_error inner = { 0 };
	struct evaluation e = { .b = b, .err = &inner };
	size_t bound[BOOK_MAX_AXES], part;
	const struct book_run *r = NULL;
	const char *rest = NULL;
	*out = NULL;
	memcpy(bound, b->bound, sizeof bound);
	int rc = locate(&e, text, &r, &part, &rest, &inner);
	if (!rc && part != SIZE_MAX)
		rc = find_result(b, r, part, rest, out, name, &inner);
	memcpy(b->bound, bound, sizeof bound);
	return rc ? book_fail(b, where, err, "%s", inner.text) : ORR_OK;
}

/* Evaluates a metric of a run, or "published:ID". */
static int reference(void *ctx, const char *text, size_t n, double *out, struct orr_error *err)
{
	struct evaluation *e = ctx;
	size_t bound[BOOK_MAX_AXES];
	char *template = mem_strndup(text, n), *plain = book_text(e->b, template, "{..}", err);
	int rc = plain ? ORR_OK : ORR_EINPUT;
	*out = NAN;
	memcpy(bound, e->b->bound, sizeof bound);
	if (plain && !strncmp(plain, "published:", 10)) {
		const struct book_published *p = book_find_published(e->b, plain + 10);
		*out = p ? p->value : NAN;
	} else if (plain) {
		rc = look_up(e, plain, out, err);
	}
	memcpy(e->b->bound, bound, sizeof bound);
	mem_free(template);
	mem_free(plain);
	return rc;
}

/* Counts an evaluation of a constant, or of an expression for one value of an axis. Returns false past the limit of one expression of
 * the book: constants that refer to constants can double the work with each line. */
static bool spend(void *ctx)
{
	const struct evaluation *e = ctx;
	return ++e->b->evaluations <= MOST_EVALUATIONS;
}

static int evaluate(struct evaluation *e, const char *text, size_t n, double *out, struct orr_error *err)
{
	const struct expr_env env = { e, name_value, reference, axis_size, bind_axis, spend };
	*out = NAN;
	if (!spend(e))
		return orr_fail(err, ORR_EINPUT, "an expression evaluates more than %d constants and values of axes: expected fewer",
			MOST_EVALUATIONS);
	e->b->depth++;
	int rc = expr_eval(text, n, &env, out, err);
	if (!--e->b->depth)
		e->b->evaluations = 0;
	return rc ? rc : e->code;
}

int book_expression(struct book *b, const char *text, const char *where, double *out, struct orr_error *err)
{
	struct orr_error inner = { 0 };
	struct evaluation e = { .b = b, .err = &inner };
	if (!evaluate(&e, text, strlen(text), out, &inner))
		return ORR_OK;
	return book_fail(b, where, err, "%s", inner.text);
}

int book_number(struct book *b, const cJSON *v, const char *where, double *out, struct orr_error *err)
{
	if (cJSON_IsNumber(v)) {
		*out = v->valuedouble;
		return ORR_OK;
	}
	if (!cJSON_IsString(v))
		return book_fail(b, where, err, "expected a number or an expression");
	return book_expression(b, v->valuestring, where, out, err);
}

/* ---- texts ---- */

/* Writes "NAME" or "NAME.note" of $.traces; NAME may be ${AXIS}. */
static int put_trace(struct book *b, const char *s, size_t n, const char *where, struct sbuf *out, struct orr_error *err)
{
	char *template = mem_strndup(s, n), *name = book_text(b, template, where, err);
	mem_free(template);
	if (!name)
		return ORR_EINPUT;
	size_t len = strcspn(name, ".");
	const struct book_trace *t = book_trace(b, name, len);
	int rc = ORR_OK;
	if (!t || (name[len] && strcmp(name + len, ".note")))
		rc = book_fail(b, where, err, "${trace:%.60s}: expected the name of one of $.traces, or NAME.note", name);
	else
		sbuf_puts(out, !name[len] ? t->source : t->is_there ? "" : " (synthetic stand-in)");
	mem_free(name);
	return rc;
}

static int put_field(struct book *b, const char *s, size_t n, const char *where, struct sbuf *out, struct orr_error *err)
{
	if (n > 6 && !memcmp(s, "trace:", 6))
		return put_trace(b, s + 6, n - 6, where, out, err);
	const char *dot = memchr(s, '.', n);
	bool wants_label = dot && n - (size_t)(dot - s) == 6 && !memcmp(dot, ".label", 6);
	size_t axis = book_axis(b, s, wants_label ? (size_t)(dot - s) : n);
	if (n == 3 && !memcmp(s, "dir", 3)) {
		sbuf_puts(out, b->dir);
		return ORR_OK;
	}
	if (axis != SIZE_MAX) {
		const struct book_value *v = bound_value(b, axis);
		if (!v)
			return book_fail(b, where, err, "${%.*s}: expected an axis that has a value here", (int)n, s);
		sbuf_puts(out, wants_label ? v->label : v->text);
		return ORR_OK;
	}
	char *text = mem_strndup(s, n), number[NUM_REAL_MAX];
	double v = NAN;
	int rc = book_expression(b, text, where, &v, err);
	mem_free(text);
	num_put_real(number, v);
	sbuf_puts(out, number);
	return rc;
}

char *book_text(struct book *b, const char *template, const char *where, struct orr_error *err)
{
	struct sbuf out = { 0 };
	int rc = ORR_OK;
	for (const char *s = template; *s && !rc;) {
		const char *end = s[0] == '$' && s[1] == '{' ? expr_closing(s + 2, s + strlen(s)) : NULL;
		if (end) {
			rc = put_field(b, s + 2, (size_t)(end - s) - 2, where, &out, err);
			s = end + 1;
		} else {
			sbuf_putc(&out, *s++);
		}
	}
	if (!rc)
		return out.text ? sbuf_steal(&out) : mem_strdup("");
	sbuf_free(&out);
	return NULL;
}

/* ---- loops ---- */

static int each_from(struct book *b, const cJSON *axis, const char *where, int (*fn)(struct book *b, void *ctx, struct orr_error *err),
	void *ctx, struct orr_error *err)
{
	if (!axis)
		return fn(b, ctx, err);
	size_t a = cJSON_IsString(axis) ? book_axis(b, axis->valuestring, strlen(axis->valuestring)) : SIZE_MAX;
	if (a == SIZE_MAX)
		return book_fail(b, where, err, "\"each\": expected names of $.axes, found \"%.60s\"",
			cJSON_IsString(axis) ? axis->valuestring : "");
	size_t before = b->bound[a];
	int rc = ORR_OK;
	for (size_t i = 0; i < b->axis[a].n && !rc; i++) {
		b->bound[a] = i;
		rc = each_from(b, axis->next, where, fn, ctx, err);
	}
	b->bound[a] = before;
	return rc;
}

int book_each(struct book *b, const cJSON *each, const char *where, int (*fn)(struct book *b, void *ctx, struct orr_error *err), void *ctx,
	struct orr_error *err)
{
	if (each && !cJSON_IsArray(each))
		return book_fail(b, where, err, "\"each\": expected a list of names of $.axes");
	double points = 1;
	for (const cJSON *axis = each ? each->child : NULL; axis; axis = axis->next) {
		size_t a = cJSON_IsString(axis) ? book_axis(b, axis->valuestring, strlen(axis->valuestring)) : SIZE_MAX;
		points *= a == SIZE_MAX ? 1 : (double)b->axis[a].n;
	}
	if (points > MOST_POINTS)
		return book_fail(b, where, err, "\"each\": %.0f points: expected at most %d", points, MOST_POINTS);
	return each_from(b, each ? each->child : NULL, where, fn, ctx, err);
}
