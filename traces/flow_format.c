/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow_format.c - files of flows (traces/flow.h); one row per flow
 *
 * A row has the largest request of the operators. Its duration is the sum of the times of all stages on that request.
 */
#include "traces/flow.h"
#include "traces/format.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct state {
	struct lines *in;
	struct flowset *set;
	uint32_t next;
};

static bool has_key(const struct trace_head *head, const char *key)
{
	size_t n = strlen(key);
	for (size_t i = 0; i + n <= head->n; i++)
		if (!memcmp(head->text + i, key, n))
			return true;
	return false;
}

static bool sniff(const struct trace_head *head)
{
	return *head->line == '{' && (has_key(head, "\"operators\"") || has_key(head, "\"flows\""));
}

static int by_time(const void *a, const void *b)
{
	const struct flow *const *x = a, *const *y = b;
	if ((*x)->submit_ns != (*y)->submit_ns)
		return (*x)->submit_ns < (*y)->submit_ns ? -1 : 1;
	return (*x)->line < (*y)->line ? -1 : (*x)->line > (*y)->line;
}

static void *open_flow(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct sbuf all = { 0 };
	char *text;
	size_t n;
	int rc;
	(void)args;
	while ((rc = lines_next(in, &text, &n, err)) == 1) {
		sbuf_add(&all, text, n);
		sbuf_add(&all, "\n", 1);
	}
	struct flowset *set = rc < 0 ? NULL : flowset_read(lines_name(in), all.len ? sbuf_text(&all) : "", all.len, err);
	sbuf_free(&all);
	if (!set)
		return NULL;
	for (uint32_t i = 0; i < set->n; i++)
		set->flow[i]->line = i;
	qsort(set->flow, set->n, sizeof(struct flow *), by_time);
	struct state *s = mem_zalloc(1, sizeof *s);
	s->in = in;
	s->set = set;
	return s;
}

static int next_flow(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct state *s = state;
	(void)err;
	if (s->next == s->set->n)
		return 0;
	const struct flow *f = s->set->flow[s->next++];
	row->id = f->name;
	row->user = f->user;
	row->submit_ns = f->submit_ns;
	for (uint32_t i = 0; i < f->n_ops; i++)
		if (f->op[i].kind == FLOW_WORK && f->op[i].gpus > row->gpus)
			row->gpus = f->op[i].gpus;
	double s_all = flow_work_shared(f) / (row->gpus ? row->gpus : 1);
	row->duration_ns = s_all < TRACE_MAX_SECONDS ? llrint(s_all * 1e9) : llrint(TRACE_MAX_SECONDS * 1e9);
	return 1;
}

static struct flowset *take(void *state)
{
	struct state *s = state;
	struct flowset *set = s->set;
	s->set = NULL;
	return set;
}

static void close_flow(void *state)
{
	struct state *s = state;
	flowset_free(s->set);
	mem_free(s);
}

const struct trace_format format_flow = {
	.name = "flow",
	.doc = "workflows of operators that explore and choose, JSON (docs/flow.schema.json)",
	.sniff = sniff,
	.open = open_flow,
	.next = next_flow,
	.take_flows = take,
	.close = close_flow,
};
