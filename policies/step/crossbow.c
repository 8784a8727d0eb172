/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Crossbow: several learners per GPU, synchronous model averaging (A. Koliousis, P. Watcharapichat, M. Weidlich, L. Mai, P. Costa,
 * P. Pietzuch, "Crossbow: scaling deep learning with small batch sizes on multi-GPU servers", PVLDB 12(11), 2019; order of
 * operations and tuner: its public code).
 *
 * A learner is a replica of the model with its own stream. In each clock it trains on `sync_every` batches. The GPU then
 * corrects it towards the base model, c = alpha (d - Z) with d the parameters before the learner's last update, and releases
 * it. An all-reduce adds the corrections of all learners to the base model while learners already run the next clock.
 *
 * The tuner compares the throughput of a clock with the throughput before the last change. While it increases by more than
 * `threshold`, each GPU gets one more learner; then one is removed and tuning ends. When a clock ends, the graphs of the next
 * two may exist, so a change takes effect later. Clocks before it takes effect, and the first one with the new number, are not
 * measured.
 */
#include <orrery/step.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LEARNERS = 6, SYNC_STREAM = 6, REDUCE_STREAM = 7, MOST_VISITED = 64 };

static const struct orr_param params[] = { ORR_PARAM_INT(
						   "learners", "1", 1, MOST_LEARNERS, "learners per GPU; with the tuner, at the start"),
	ORR_PARAM_BOOL("tune", false, "change the number of learners while throughput grows"),
	ORR_PARAM_REAL("threshold", "0.1", 0, 10, "tuner: relative growth of throughput that justifies one more learner"),
	ORR_PARAM_INT("interval", "1", 1, 1000000, "tuner: clocks that are measured together"),
	ORR_PARAM_REAL("alpha", "0.1", 0, 2, "share of the distance to the base model that a correction removes"),
	ORR_PARAM_REAL("base_momentum", "0", 0, 1, "momentum of the base model"),
	ORR_PARAM_INT("sync_every", "1", 1, 1000000, "batches of a learner between two corrections"),
	ORR_PARAM_LIST("restart_at", "", "clocks (0, 1, ..) after which all learners restart from the base model"),
	ORR_PARAM_REAL("occupancy", "0", 0, 1, "share of a GPU that a learner uses when alone; 0: by the cost model"), ORR_PARAM_END };

struct crossbow {
	struct orr_step_facts f;
	uint32_t *device;
	orr_op *task, *base; /* task: op that releases the learner, [gpu * MOST_LEARNERS + learner]; base: update in the last clock,
			      * by GPU */
	double *occupancy;   /* by GPU */
	bool is_given;       /* the occupancy is a parameter, so the cost model does not give it */
	double alpha, base_momentum, threshold;
	uint32_t sync_every, most;
	uint32_t learners, running; /* number of learners in the next graph, and in the latest graph */
	uint64_t built;             /* clocks */
	const double *restart_at;
	size_t n_restarts;
	/* The tuner. */
	bool is_tuning;
	uint32_t interval, measured;
	uint64_t tuned_from;    /* first clock with the present number of learners */
	double since_s, before; /* start of the measurement; throughput before the last change (0: none) */
	uint32_t visited[MOST_VISITED], n_visited;
};

/* Returns the share of the device that one task uses: its time per sample in a very large batch, relative to that in its own batch. */
static double occupancy_of(const struct orr_step *s, uint32_t device, uint32_t layers, double batch)
{
	const double large = 65536;
	double own = 0, full = 0;
	for (int pass = ORR_PASS_FORWARD; pass <= ORR_PASS_BACKWARD_WEIGHT; pass++) {
		own += orr_cost(s, device, (enum orr_pass)pass, 0, layers, batch, 1);
		full += orr_cost(s, device, (enum orr_pass)pass, 0, layers, large, 1);
	}
	return own > 0 ? fmin(1, full / large * batch / own) : 1;
}

static void hold(struct crossbow *c, struct orr_step *s)
{
	double activations = 0;
	for (uint32_t l = 0; l < c->f.layers; l++) {
		struct orr_layer_info info;
		orr_step_layer(s, l, &info);
		activations += info.saved_elems * c->f.activation_bytes * c->f.batch;
	}
	c->most = c->is_tuning ? 0 : c->learners;
	for (uint32_t g = 0; g < c->f.gpus; g++) {
		/* A tuned run reserves memory for `most` learners, the largest number that fits; the tuner stops at this number. */
		double weights = c->f.params * c->f.weight_bytes;
		double learner = weights + c->f.params * (c->f.gradient_bytes + c->f.optimizer_bytes) + activations;
		double room = (orr_device_memory(s, g) - 2 * weights) / learner;
		uint32_t fits = room >= MOST_LEARNERS ? MOST_LEARNERS : room >= 1 ? (uint32_t)room : 1;
		if (c->is_tuning && (!g || fits < c->most))
			c->most = fits;
	}
	for (uint32_t g = 0; g < c->f.gpus; g++) {
		uint32_t m = c->is_tuning ? c->most : c->learners;
		orr_hold(s, g, ORR_MEMORY_WEIGHTS, (m + 1) * c->f.params * c->f.weight_bytes, "learners and base model");
		orr_hold(s, g, ORR_MEMORY_GRADIENTS, m * c->f.params * c->f.gradient_bytes, NULL);
		orr_hold(s, g, ORR_MEMORY_OPTIMIZER, m * c->f.params * c->f.optimizer_bytes, NULL);
		orr_hold(s, g, ORR_MEMORY_BUFFERS, c->f.params * c->f.weight_bytes, NULL);
		orr_hold(s, g, ORR_MEMORY_ACTIVATIONS, m * activations, NULL);
	}
}

static void destroy(void *self)
{
	struct crossbow *c = self;
	orr_free(c->device);
	orr_free(c->occupancy);
	orr_free(c->task);
	orr_free(c->base);
	orr_free(c);
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct crossbow *c = orr_alloc(1, sizeof *c);
	(void)err;
	orr_step_facts(s, &c->f);
	orr_step_co_run(s);
	c->device = orr_alloc(c->f.gpus, sizeof *c->device);
	c->task = orr_alloc((size_t)c->f.gpus * MOST_LEARNERS, sizeof *c->task);
	c->base = orr_alloc(c->f.gpus, sizeof *c->base);
	for (uint32_t g = 0; g < c->f.gpus; g++)
		c->device[g] = g;
	c->alpha = orr_arg_real(args, "alpha");
	c->base_momentum = orr_arg_real(args, "base_momentum");
	c->threshold = orr_arg_real(args, "threshold");
	c->sync_every = (uint32_t)orr_arg_int(args, "sync_every");
	c->learners = (uint32_t)orr_arg_int(args, "learners");
	c->restart_at = orr_arg_list(args, "restart_at", &c->n_restarts);
	c->is_tuning = orr_arg_bool(args, "tune");
	c->interval = (uint32_t)orr_arg_int(args, "interval");
	c->is_given = orr_arg_real(args, "occupancy") > 0;
	c->occupancy = orr_alloc(c->f.gpus, sizeof *c->occupancy);
	for (uint32_t g = 0; g < c->f.gpus; g++)
		c->occupancy[g] = c->is_given ? orr_arg_real(args, "occupancy") : occupancy_of(s, g, c->f.layers, c->f.batch);
	hold(c, s);
	if (c->is_tuning && c->learners > c->most)
		c->learners = c->most;
	orr_step_samples(s, c->f.batch * c->f.gpus * c->learners * c->sync_every);
	orr_step_period(s, !c->is_tuning && !c->n_restarts);
	return c;
}

/* ---- the graph of a clock ---- */

/* Builds one batch: forward and backward, then the learner's own update. */
static orr_op train(struct crossbow *c, struct orr_step *s, uint32_t gpu, uint32_t learner, orr_op after)
{
	orr_op op[3];
	op[0] = orr_compute(s, gpu, ORR_FORWARD, orr_cost(s, gpu, ORR_PASS_FORWARD, 0, c->f.layers, c->f.batch, 1));
	orr_updates(s, op[0], &(struct orr_update){ .kind = ORR_GRADIENT, .learner = learner });
	op[1] = orr_compute(s, gpu, ORR_BACKWARD,
		orr_cost(s, gpu, ORR_PASS_BACKWARD_DATA, 0, c->f.layers, c->f.batch, 1) +
			orr_cost(s, gpu, ORR_PASS_BACKWARD_WEIGHT, 0, c->f.layers, c->f.batch, 1));
	op[2] = orr_compute(s, gpu, ORR_OPTIMIZER, orr_update_cost(s, gpu, c->f.params));
	orr_updates(s, op[2], &(struct orr_update){ .kind = ORR_REMEMBER, .learner = learner });
	orr_updates(s, op[2], &(struct orr_update){ .kind = ORR_LOCAL_UPDATE, .learner = learner });
	for (int i = 0; i < 3; i++) {
		orr_on_stream(s, op[i], learner);
		orr_occupies(s, op[i], c->occupancy[gpu]);
		orr_after(s, op[i], i ? op[i - 1] : after);
	}
	return op[2];
}

/* Builds a correction. It is a copy and a scaled addition: six passes over the parameters, twice those of an update. */
static orr_op correct(struct crossbow *c, struct orr_step *s, uint32_t gpu, uint32_t learner, orr_op after)
{
	orr_op op = orr_compute(s, gpu, ORR_OTHER_WORK, 2 * orr_update_cost(s, gpu, c->f.params));
	orr_on_stream(s, op, SYNC_STREAM);
	orr_updates(s, op, &(struct orr_update){ .kind = ORR_CORRECT, .learner = learner, .scale = c->alpha });
	orr_after(s, op, after);
	orr_after(s, op, c->base[gpu]);
	return op;
}

static bool restarts(const struct crossbow *c, uint64_t clock)
{
	for (size_t i = 0; i < c->n_restarts; i++)
		if (c->restart_at[i] == (double)clock)
			return true;
	return false;
}

/* Sums the corrections of all GPUs; each GPU adds the sum to its copy of the base model. */
static void update_base(struct crossbow *c, struct orr_step *s, const orr_op *corrected, uint64_t clock)
{
	uint32_t n = c->f.gpus, learners = c->running;
	struct orr_update base = { .kind = ORR_APPLY_BASE, .momentum = c->base_momentum };
	orr_op sum = 0;
	if (n > 1) {
		struct orr_collective all = { .op = ORR_ALL_REDUCE, .bytes = c->f.params * c->f.weight_bytes };
		sum = orr_collective(s, &(struct orr_group){ c->device, n }, &all);
		orr_on_stream(s, sum, REDUCE_STREAM);
		for (uint32_t i = 0; i < n * learners; i++)
			orr_after(s, sum, corrected[i]);
	}
	for (uint32_t g = 0; g < n; g++) {
		orr_op add = orr_compute(s, g, ORR_OTHER_WORK, orr_update_cost(s, g, c->f.params));
		orr_on_stream(s, add, SYNC_STREAM);
		orr_after(s, add, sum);
		for (uint32_t j = 0; n == 1 && j < learners; j++)
			orr_after(s, add, corrected[j]);
		c->base[g] = add;
	}
	orr_op carrier = n > 1 ? sum : c->base[0];
	orr_updates(s, carrier, &base);
	for (uint32_t j = 0; j < learners && restarts(c, clock); j++) {
		orr_updates(s, carrier, &(struct orr_update){ .kind = ORR_RESTART, .learner = j });
		for (uint32_t g = 0; g < n; g++)
			c->task[g * MOST_LEARNERS + j] = c->base[g];
	}
	if (c->is_tuning)
		orr_watch(s, c->base[0]);
}

/* Makes a new learner start with a copy of the base model. */
static orr_op join(struct crossbow *c, struct orr_step *s, uint32_t gpu, uint32_t learner)
{
	orr_op op = orr_compute(s, gpu, ORR_OTHER_WORK, orr_update_cost(s, gpu, c->f.params));
	orr_on_stream(s, op, learner);
	orr_updates(s, op, &(struct orr_update){ .kind = ORR_RESTART, .learner = learner });
	orr_after(s, op, c->base[gpu]);
	return op;
}

static int build(void *self, struct orr_step *s, uint64_t clock, struct orr_error *err)
{
	struct crossbow *c = self;
	orr_op corrected[MOST_LEARNERS], *all = corrected;
	(void)err;
	uint32_t n = c->f.gpus, m = c->learners, before = clock ? c->running : m;
	c->running = m;
	c->built = clock + 1;
	if (n * m > MOST_LEARNERS)
		all = orr_alloc((size_t)n * m, sizeof *all);
	orr_iteration_samples(s, c->f.batch * n * m * c->sync_every);
	for (uint32_t g = 0; g < n; g++)
		for (uint32_t j = 0; j < m; j++) {
			orr_op *tail = &c->task[g * MOST_LEARNERS + j];
			if (j >= before)
				*tail = join(c, s, g, j);
			for (uint32_t i = 0; i < c->sync_every; i++)
				*tail = train(c, s, g, j, *tail);
			*tail = all[g * m + j] = correct(c, s, g, j, *tail);
		}
	update_base(c, s, all, clock);
	if (all != corrected)
		orr_free(all);
	return 0;
}

/* ---- the tuner ---- */

static void change(struct crossbow *c, uint32_t learners)
{
	c->learners = learners;
	c->measured = 0;
	if (c->n_visited < MOST_VISITED)
		c->visited[c->n_visited++] = learners;
}

static void decide(struct crossbow *c, double throughput)
{
	double growth = c->before > 0 ? throughput / c->before - 1 : 1;
	if (growth > c->threshold && c->learners < c->most) {
		c->before = throughput;
		change(c, c->learners + 1);
		return;
	}
	c->is_tuning = false;
	if (growth <= c->threshold && c->learners > 1)
		change(c, c->learners - 1);
}

/* Handles the end of a clock. Clocks with another number of learners, and the first one with the present number, are not measured. */
static void ended(void *self, struct orr_step *s, orr_op op, struct orr_error *err)
{
	struct crossbow *c = self;
	uint64_t clock = (op >> 32) - 1;
	(void)err;
	if (!c->is_tuning || clock < c->tuned_from)
		return;
	if (clock == c->tuned_from) {
		c->since_s = orr_step_now(s);
		return;
	}
	if (++c->measured < c->interval)
		return;
	decide(c, c->f.batch * c->f.gpus * c->learners * c->sync_every * c->measured / (orr_step_now(s) - c->since_s));
	c->tuned_from = c->built;
}

static void describe(void *self, char *out, size_t size)
{
	const struct crossbow *c = self;
	int n = snprintf(out, size, "learners=%u per GPU", c->learners);
	for (uint32_t i = 0; i < c->n_visited && n > 0 && (size_t)n < size; i++)
		n += snprintf(out + n, size - (size_t)n, "%s%u", i ? ", " : " (tuned: ", c->visited[i]);
	if (c->n_visited > 0 && n > 0 && (size_t)n < size)
		n += snprintf(out + n, size - (size_t)n, ")%s", c->is_tuning ? ", not ended" : "");
	if (c->tuned_from && n > 0 && (size_t)n < size)
		n += snprintf(
			out + n, size - (size_t)n, ", means include %llu clocks with other numbers", (unsigned long long)c->tuned_from);
	if (n > 0 && (size_t)n < size)
		n += snprintf(out + n, size - (size_t)n, ", occupancy=%.4g of a GPU by a learner alone (%s)", c->occupancy[0],
			c->is_given ? "given" : "by the cost model");
	/* The difference between learners and base model changes by 1 - alpha (k + 1) per clock (docs/models/step-crossbow.md). */
	double factor = c->alpha * (c->f.gpus * c->learners + 1);
	if (factor >= 2 && n > 0 && (size_t)n < size)
		snprintf(out + n, size - (size_t)n,
			"; alpha (k + 1) = %.4g for k = %u learners: averaging diverges at 2 and above: expected alpha below %.3g", factor,
			c->f.gpus * c->learners, 2.0 / (c->f.gpus * c->learners + 1));
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe, .ended = ended };

ORR_POLICY_STEP(crossbow, "Crossbow: several learners per GPU, synchronous model averaging", params, ops);
