/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of the policy's functions, each under the watchdog. */
#include "step/checkpoint.h"
#include "step/exec.h"
#include "step/path.h"

#include "base/mem.h"

#include <string.h>

enum { MOST_LIVE = 1 << 16 }; /* limit on live iterations: a policy that exceeds it never synchronises */

static uint64_t enter(struct orr_step *s, const char *what, uint64_t iteration)
{
	double now_ns = fmin(fmax(s->now_s, 0) * 1e9, 9e18);
	return s->watch ? watch_enter(s->watch, what, (int64_t)now_ns, iteration) : 0;
}

static void leave(struct orr_step *s, uint64_t call)
{
	if (s->watch)
		watch_leave(s->watch, call);
}

void policy_destroy(struct orr_step *s)
{
	uint64_t call = enter(s, "destroy", UINT64_MAX);
	s->ops->destroy(s->self);
	leave(s, call);
}

void policy_create(struct orr_step *s, const struct orr_args *args)
{
	struct orr_error e = { 0 };
	if (s->config->policy_timeout_s > 0) {
		s->watch = watch_new(s->label, s->config->policy_timeout_s);
		watch_noun(s->watch, "iteration");
	}
	uint64_t call = enter(s, "create", UINT64_MAX);
	s->self = s->ops->create(s, args, &e);
	leave(s, call);
	if (!s->self && !s->error.code)
		step_fail(s, e.code ? e.code : ORR_EFAIL, "%s",
			e.text[0] ? e.text : "create() failed without a message: expected a message in *err");
}

int policy_build(struct orr_step *s)
{
	if (s->n_live == MOST_LIVE) {
		step_fail(s, ORR_EFAIL, "%d iterations are in flight at %.9g s: expected iterations that wait for earlier ones (orr_after)",
			MOST_LIVE, fmax(s->now_s, 0));
		return s->error.code;
	}
	struct iteration *k = graph_begin(s, s->built);
	struct orr_error e = { 0 };
	MEM_GROW(s->live, s->n_live, s->cap_live);
	s->live[s->n_live++] = k;
	s->building = k;
	s->built++;
	uint64_t call = enter(s, "build", k->number);
	int rc = s->ops->build(s->self, s, k->number, &e);
	leave(s, call);
	if (e.code)
		step_fail(s, e.code, "%s", e.text);
	else if (rc)
		step_fail(s, ORR_EFAIL, "build() returned %d without a message: expected a message in *err", rc);
	if (!s->error.code && !expand(s, k)) {
		path_built(s, k, 0);
		checkpoint_built(s, k);
		if (s->config->built)
			s->config->built(s->config->built_ctx, s, k);
	}
	s->building = NULL;
	return s->error.code;
}

uint32_t policy_ended(struct orr_step *s, struct iteration *k, uint32_t op)
{
	uint32_t instances = k->n_instances;
	struct orr_error e = { 0 };
	s->grown = (struct grown){ k->n_ops, k->n_deps, k->n_memory };
	s->building = s->reacting = k;
	uint64_t call = enter(s, "ended", k->number);
	s->ops->ended(s->self, s, (orr_op)(k->number + 1) << 32 | (op + 1), &e);
	leave(s, call);
	if (e.code)
		step_fail(s, e.code, "%s", e.text);
	if (!s->error.code && !expand_grown(s, k, &s->grown))
		path_built(s, k, instances);
	s->building = s->reacting = NULL;
	return instances;
}

void policy_describe(struct orr_step *s, char *out, size_t size)
{
	if (!s->ops->describe)
		return;
	uint64_t call = enter(s, "describe", UINT64_MAX);
	s->ops->describe(s->self, out, size);
	leave(s, call);
	out[size - 1] = '\0';
	/* A description that fills the buffer may have been cut inside a number, which would be read as another number. */
	char *space = strlen(out) == size - 1 ? strrchr(out, ' ') : NULL;
	if (space)
		*space = '\0';
}

/* ---- actions in ended() ---- */

double orr_step_now(const struct orr_step *s)
{
	return fmax(s->now_s, 0);
}

void orr_cancel(struct orr_step *s, orr_op op)
{
	if (!op || s->error.code)
		return;
	struct iteration *k = s->reacting && op_iteration(op) < s->built ? iteration_live(s, op_iteration(op)) : NULL;
	if (!s->reacting)
		step_fail(s, ORR_EFAIL, "orr_cancel: called outside ended(): expected a call in ended()");
	else if (op_iteration(op) >= s->built || (k && op_index(op) >= (k == s->reacting ? s->grown.ops : k->n_ops)))
		step_fail(s, ORR_EFAIL, "orr_cancel: %llx: expected an op of a built iteration", (unsigned long long)op);
	else if (!k || k->instance[k->op[op_index(op)].first_instance].state == ENDED)
		step_fail(s, ORR_EFAIL, "orr_cancel: op %u of iteration %llu has ended: expected an op that has not started", op_index(op),
			(unsigned long long)op_iteration(op));
	else if (k->instance[k->op[op_index(op)].first_instance].state == GOING)
		step_fail(s, ORR_EFAIL, "orr_cancel: op %u of iteration %llu is running: expected an op that has not started", op_index(op),
			(unsigned long long)op_iteration(op));
	else
		k->op[op_index(op)].is_cancelled = true;
}

void orr_open(struct orr_step *s, orr_op gate, orr_op dep)
{
	if (!gate || s->error.code)
		return;
	struct iteration *k = op_iteration(gate) < s->built ? iteration_live(s, op_iteration(gate)) : NULL;
	struct op *o = k && op_index(gate) < k->n_ops ? &k->op[op_index(gate)] : NULL;
	const struct iteration *of = dep ? iteration_live(s, op_iteration(dep)) : NULL;
	if (!s->reacting)
		step_fail(s, ORR_EFAIL, "orr_open: called outside ended(): expected a call in ended()");
	else if (!o || !o->is_gate)
		step_fail(s, ORR_EFAIL, "orr_open: %llx: expected a gate of a live iteration", (unsigned long long)gate);
	else if (o->is_open)
		step_fail(s, ORR_EFAIL, "orr_open: gate %u of iteration %llu is open already: expected a closed gate", op_index(gate),
			(unsigned long long)k->number);
	else if (dep && (of ? op_index(dep) >= of->n_ops : op_iteration(dep) >= s->first_live))
		step_fail(s, ORR_EFAIL, "orr_open: gate %u waits for %llx: expected an op of a built iteration", op_index(gate),
			(unsigned long long)dep);
	else {
		o->is_open = true;
		MEM_GROW(s->opened, s->n_opened, s->cap_opened);
		s->opened[s->n_opened++] = (struct dependency){ dep, gate };
	}
}
