/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of a search: budget, best plans, Ctrl-C. */
#include "plan/world.h"

#include "base/mem.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Ctrl-C ---- */

/* Set by the signal handler of Ctrl-C; the search then ends with the best plan so far. */
static volatile sig_atomic_t is_interrupted;
static struct sigaction before;
static volatile sig_atomic_t searches;

static void on_interrupt(int sig)
{
	is_interrupted = 1;
	sigaction(sig, &before, NULL); /* a second Ctrl-C ends the program */
}

void interrupt_begin(void)
{
#pragma omp critical(orr_plan_interrupt)
	if (!searches++) {
		struct sigaction a = { .sa_handler = on_interrupt };
		sigemptyset(&a.sa_mask);
		sigaction(SIGINT, NULL, &before);
		if (before.sa_handler != SIG_IGN) /* ignored under nohup and in background jobs of scripts */
			sigaction(SIGINT, &a, NULL);
	}
}

void interrupt_end(void)
{
#pragma omp critical(orr_plan_interrupt)
	if (!--searches)
		sigaction(SIGINT, &before, NULL);
}

bool search_is_interrupted(void)
{
	return is_interrupted != 0;
}

const volatile sig_atomic_t *search_interrupt(void)
{
	return &is_interrupted;
}

/* ---- errors ---- */

void search_fail(struct orr_plan *p, int code, const char *format, ...)
{
	char text[512];
	va_list ap;
	if (p->error.code)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	orr_fail(&p->error, code, "policy %.100s: %s", p->label, text);
}

/* Returns whether a call may proceed. Each call resets the watchdog. */
static bool is_open(struct orr_plan *p, const char *what, const void *draft)
{
	if (p->error.code)
		return false;
	if (p->is_ended || !draft) {
		search_fail(p, ORR_EFAIL, "%s: %s", what,
			draft ? "expected calls only before search() returns" : "a pointer is NULL: expected an object");
		return false;
	}
	if (p->watch)
		watch_again(p->watch);
	return true;
}

/* ---- the best plans ---- */

static void note_improvement(struct orr_plan *p, double iteration_s)
{
	MEM_GROW(p->improved_s, p->n_improved, p->cap_improved);
	MEM_GROW(p->improved_at, p->n_improved, p->cap_improved_at);
	p->improved_s[p->n_improved] = iteration_s;
	p->improved_at[p->n_improved++] = p->used;
}

/* Keeps the plan if it is among the best; of equal plans, the first is kept. */
static void keep(struct orr_plan *p, const struct orr_plan_draft *d, const struct orr_plan_value *v)
{
	uint32_t at = p->n_best;
	if (!v->fits || (p->n_best == p->cap_best && v->iteration_s >= p->best[p->n_best - 1].value.iteration_s))
		return;
	while (at && v->iteration_s < p->best[at - 1].value.iteration_s)
		at--;
	for (uint32_t i = 0; i < at; i++)
		if (draft_is_equal(&p->best[i].d, d))
			return;
	if (p->n_best == p->cap_best)
		plan_copy_free(&p->best[--p->n_best]);
	memmove(p->best + at + 1, p->best + at, (p->n_best - at) * sizeof *p->best);
	p->best[at] = (struct plan_copy){ 0 };
	p->n_best++;
	plan_copy(&p->best[at], d, v);
	if (!at)
		note_improvement(p, v->iteration_s);
}

/* ---- the interface ---- */

void orr_plan_facts(const struct orr_plan *p, struct orr_plan_facts *out)
{
	*out = p->facts;
}

bool orr_plan_goes_on(const struct orr_plan *p)
{
	bool is_used_up = p->used >= p->facts.budget;
	*p->uses |= is_used_up ? PLAN_USED_BUDGET : 0;
	return !p->error.code && !p->is_ended && !is_used_up && !is_interrupted;
}

void orr_plan_progress(struct orr_plan *p, double done)
{
	p->done = fmin(1, fmax(p->done, done));
	if (p->watch && !p->is_ended)
		watch_again(p->watch);
	if (p->progress)
		p->progress(p->progress_ctx, p->done);
}

double orr_plan_uniform(struct orr_plan *p)
{
	*p->uses |= PLAN_USED_RANDOM;
	return rng_uniform(&p->rng);
}

void orr_plan_put(struct orr_plan *p, const char *name, double value)
{
	if (!name || !*name || strlen(name) > 60 || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
		search_fail(p, ORR_EFAIL, "orr_plan_put: expected a name of 1 to 60 lower-case letters, digits and '_', found \"%.70s\"",
			name ? name : "");
	else if (!result_find(p->result, name))
		result_metric(p->result, name, value, NAN, NAN);
}

static bool accept(struct orr_plan *p, const char *what, const struct orr_plan_draft *d)
{
	struct orr_error why = { 0 };
	if (!is_open(p, what, d))
		return false;
	if (!draft_check(p, d, &why))
		return true;
	search_fail(p, why.code, "%s", why.text);
	return false;
}

void orr_plan_evaluate(struct orr_plan *p, const struct orr_plan_draft *d, struct orr_plan_value *out)
{
	*out = (struct orr_plan_value){ .iteration_s = INFINITY };
	if (!accept(p, "orr_plan_evaluate", d))
		return;
	p->used++;
	closed_form(p, d, out, NULL);
	p->unfit += !out->fits;
	keep(p, d, out);
}

void orr_plan_execute(struct orr_plan *p, const struct orr_plan_draft *d, struct orr_plan_value *out)
{
	struct step_result r = { 0 };
	struct orr_error why = { 0 };
	*out = (struct orr_plan_value){ .iteration_s = INFINITY };
	if (!accept(p, "orr_plan_execute", d))
		return;
	p->used++;
	closed_form(p, d, out, NULL);
	if (out->fits && lower_run(p, d, &r, &why))
		*out = (struct orr_plan_value){ .iteration_s = INFINITY };
	else if (out->fits)
		out->iteration_s = r.iteration_s;
	step_result_free(&r);
	p->unfit += !out->fits;
	keep(p, d, out);
}

void orr_plan_choose(struct orr_plan *p, const struct orr_plan_draft *d, double own_s)
{
	struct orr_plan_value value;
	struct orr_error why = { 0 };
	if (!accept(p, "orr_plan_choose", d))
		return;
	closed_form(p, d, &value, &why);
	if (!value.fits) {
		search_fail(p, ORR_EFAIL, "the plan does not fit into memory: %s%s", why.text,
			p->facts.micro_batch > 1 ? "; a smaller --micro-batch needs less" : "");
		return;
	}
	plan_copy(&p->chosen, d, &value);
	p->has_chosen = true;
	p->own_s = own_s;
}
