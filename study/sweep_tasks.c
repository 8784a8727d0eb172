/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/sweep_tasks.h"

#include "base/mem.h"

bool tasks_next(const struct tasks *w, struct task_cursor *c, struct task *out)
{
	for (; c->group < w->book->n_runs; c->group++, c->at = 0) {
		const struct task_group *g = &w->group[c->group];
		while (g->policies && c->at < g->run->n_points && !g->policies[c->at])
			c->at++;
		if (c->at == (g->policies ? g->run->n_points : g->n))
			continue;
		*out = g->policies ? (struct task){ .run = g->run, .point = c->at, .policies = g->policies[c->at], .policy = -1 }
				   : g->search[c->at];
		out->number = c->number++;
		c->at++;
		return true;
	}
	return false;
}

static void add_search(struct task_group *g, struct task t)
{
	MEM_GROW(g->search, g->n, g->cap);
	g->search[g->n++] = t;
}

static struct search *new_search(const struct tasks *w, const struct book_run *r)
{
	const struct book_search *s = &r->search;
	const struct search_axis *axis = &w->book->axis[s->axis].range;
	return s->kind == BOOK_FIND ? search_find(axis, s->tolerance, s->limit, s->is_below) : search_refine(axis, s->start, s->most);
}

/* Adds the tasks of a run: its points or, for a search, its points and policies. */
static int add_tasks(struct tasks *w, struct task_group *g, struct book_run *r, struct orr_error *err)
{
	*g = (struct task_group){ .run = r, .policies = r->search.kind ? NULL : mem_zalloc(r->n_points + 1, sizeof *g->policies) };
	for (size_t point = 0; point < r->n_points; point++) {
		char where[160];
		cJSON *scenario;
		book_bind(w->book, r, point);
		book_describe_point(w->book, r, where, sizeof where);
		int rc = book_scenario(w->book, r, where, &scenario, err);
		if (rc)
			return rc;
		int policies = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(scenario, "policies")), runs = policies ? policies : 1;
		bool is_wanted = scenario != NULL;
		cJSON_Delete(scenario);
		if (!is_wanted)
			continue;
		if (g->policies)
			g->policies[point] = (uint16_t)(runs < UINT16_MAX ? runs : UINT16_MAX);
		for (int p = 0; !g->policies && p < runs; p++)
			add_search(
				g, (struct task){
					   .run = r, .point = point, .policies = 1, .policy = policies ? p : -1, .s = new_search(w, r) });
		w->n += g->policies ? 1 : (size_t)runs;
	}
	book_unbind(w->book, r);
	return ORR_OK;
}

int tasks_make(struct tasks *w, struct book *b, struct orr_error *err)
{
	int rc = ORR_OK;
	w->book = b;
	w->group = mem_zalloc(w->book->n_runs + 1, sizeof *w->group);
	for (size_t i = 0; i < w->book->n_runs && !rc; i++)
		rc = add_tasks(w, &w->group[i], &w->book->run[i], err);
	return rc || w->n ? rc : book_fail(w->book, "$.runs", err, "expected a run with at least one point");
}

void tasks_free(struct tasks *w)
{
	for (size_t i = 0; w->group && i < w->book->n_runs; i++) {
		for (size_t k = 0; k < w->group[i].n; k++)
			search_free(w->group[i].search[k].s);
		mem_free(w->group[i].search);
		mem_free(w->group[i].policies);
	}
	mem_free(w->group);
}

size_t tasks_searches(const struct tasks *w)
{
	size_t n = 0;
	for (size_t i = 0; i < w->book->n_runs; i++)
		n += w->group[i].n;
	return n;
}

void tasks_restart(struct tasks *w)
{
	for (size_t i = 0; i < w->book->n_runs; i++)
		for (size_t k = 0; k < w->group[i].n; k++) {
			search_free(w->group[i].search[k].s);
			w->group[i].search[k].s = new_search(w, w->group[i].run);
		}
}
