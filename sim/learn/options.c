/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of `--set learn.NAME=VALUE`. */
#include "base/param.h"
#include "learn/learn.h"

#include <math.h>
#include <string.h>

static const char problems[] = "least-squares|logistic|mlp|noise|none|gcn", samplings[] = "replace|shuffle|cycle",
		  splits[] = "none|even|label", schedules[] = "constant|step|inverse|inverse-sqrt|cosine", activations[] = "tanh|relu",
		  models[] = "auto|mean|server", optimizers[] = "adam|sgd";

const struct orr_param learn_options[] = {
	ORR_PARAM_CHOICE("problem", "logistic", problems,
		"the problem; noise: Gaussian gradients; none: gradients of 0; gcn: a graph neural network"),
	ORR_PARAM_INT("rows", "4096", 1, 1e9, "samples in the generated data"),
	ORR_PARAM_INT("inputs", "32", 1, 1e8, "numbers per sample or vertex; for noise and none: parameters"),
	ORR_PARAM_INT("hidden", "16", 1, 1e8, "mlp, gcn: units of the hidden layer"),
	ORR_PARAM_INT("classes", "4", 2, 1e6, "mlp: number of classes"),
	ORR_PARAM_CHOICE("activation", "tanh", activations, "mlp: activation of the hidden layer"),
	ORR_PARAM_REAL("condition", "10", 1, 1e12, "linear problems: variance of the first input / variance of the last"),
	ORR_PARAM_REAL("noise", "0.5", 0, 1e9, "standard deviation of the noise in targets, margins (relative), inputs (mlp) or gradients"),
	ORR_PARAM_REAL("l2", "0", 0, 1e9, "adds l2/2 |x|^2 to the loss"),
	ORR_PARAM_REAL("init_spread", "0", 0, 1e9, "standard deviation of the replicas' initial parameters, per coordinate"),
	ORR_PARAM_INT("data_seed", "1", 0, 9e15, "seed of the data; all seeds of the run use the same data"),
	ORR_PARAM_INT("batch", "32", 1, 1e8, "samples of one gradient"),
	ORR_PARAM_CHOICE("sampling", "shuffle", samplings,
		"order of a device's rows: drawn with replacement, in a new random order per pass, in order"),
	ORR_PARAM_CHOICE("split", "none", splits, "rows that a device sees: all, an equal share, a share of the labels"),
	ORR_PARAM_INT("shards", "0", 0, 1e8, "number of shards; device d has d mod shards (0: the number of GPUs)"),
	ORR_PARAM_REAL("lr", "0.1", 0, 1e9, "learning rate"),
	ORR_PARAM_REAL("momentum", "0", 0, 0.999999, "heavy-ball momentum; with pushes, applied by the worker"),
	ORR_PARAM_CHOICE("schedule", "constant", schedules, "factor of lr, a function of u = samples / decay_samples"),
	ORR_PARAM_REAL("decay", "0.1", 0, 1, "schedule=step: factor per decay_samples"),
	ORR_PARAM_REAL("decay_samples", "100000", 1e-9, 1e18, "samples per unit of u in the schedule"),
	ORR_PARAM_REAL("warmup_samples", "0", 0, 1e18, "number of samples over which lr rises linearly"),
	ORR_PARAM_CHOICE("model", "auto", models,
		"parameters at which the loss is evaluated; auto: the server's after the first push, else the mean of the replicas"),
	ORR_PARAM_INT(
		"eval_updates", "0", 0, 9e15, "updates between two evaluations of the loss (0: evaluation does not depend on updates)"),
	ORR_PARAM_REAL(
		"eval_samples", "1024", 0, 1e18, "samples between two evaluations of the loss (0: evaluation does not depend on samples)"),
	ORR_PARAM_INT("history", "8", 1, 1e6, "older gradients kept per device for messages that start late"),
	ORR_PARAM_BOOL("eval_worst", false, "also evaluate the worst replica's loss"),
	ORR_PARAM_REAL("target", "0", 0, 1e18, "loss to reach (0: none)"),
	ORR_PARAM_INT("seeds", "5", 1, 10000, "runs with different seeds, for intervals"),
	ORR_PARAM_REAL("max_samples", "200000", 1, 1e18, "limit on the samples of a run"),
	ORR_PARAM_INT("vertices", "4000", 4, 1e8, "gcn: vertices of the generated graph"),
	ORR_PARAM_INT("communities", "6", 2, 1e6, "gcn: communities of the graph, which are the classes"),
	ORR_PARAM_REAL("degree_in", "8", 0, 1e6, "gcn: mean number of neighbours of a vertex in its community"),
	ORR_PARAM_REAL("degree_out", "4", 0, 1e6, "gcn: mean number of neighbours of a vertex in other communities"),
	ORR_PARAM_REAL("feature_noise", "4", 0, 1e9, "gcn: standard deviation of the features around the centre of their class"),
	ORR_PARAM_REAL("train_share", "0.66", 0, 1, "gcn: share of the vertices to train on; accuracy is measured on the others"),
	ORR_PARAM_CHOICE("optimizer", "adam", optimizers, "gcn: update rule of the weight servers; sgd: learn.lr, learn.momentum"),
	ORR_PARAM_REAL("adam_lr", "0.01", 0, 1e9, "gcn: learning rate of adam"),
	ORR_PARAM_INT("epochs", "100", 1, 1e7, "gcn: weight updates in a run"),
	ORR_PARAM_REAL("target_accuracy", "0", 0, 1, "gcn: accuracy that ends a run (0: none)"),
	ORR_PARAM_REAL("ci_level", "0.95", 0.5, 0.999999, "level of the intervals over seeds"), ORR_PARAM_END
};

/* Returns the index of the option's text among its choices. */
static int choice(const struct orr_args *a, const char *name, const char *choices)
{
	const char *text = orr_arg_text(a, name);
	size_t n = strlen(text);
	for (int i = 0;; i++) {
		size_t len = strcspn(choices, "|");
		if (len == n && !memcmp(choices, text, n))
			return i;
		if (!choices[len])
			return 0;
		choices += len + 1;
	}
}

static uint32_t whole(const struct orr_args *a, const char *name)
{
	return (uint32_t)orr_arg_int(a, name);
}

void learn_config_read(struct learn_config *c, const struct orr_args *a)
{
	double target = orr_arg_real(a, "target"), target_accuracy = orr_arg_real(a, "target_accuracy");
	*c = (struct learn_config){
		.problem = (enum learn_problem)choice(a, "problem", problems),
		.rows = whole(a, "rows"),
		.inputs = whole(a, "inputs"),
		.hidden = whole(a, "hidden"),
		.classes = whole(a, "classes"),
		.activation = (enum learn_activation)choice(a, "activation", activations),
		.condition = orr_arg_real(a, "condition"),
		.noise = orr_arg_real(a, "noise"),
		.l2 = orr_arg_real(a, "l2"),
		.init_spread = orr_arg_real(a, "init_spread"),
		.data_seed = (uint64_t)orr_arg_int(a, "data_seed"),
		.seed = 1,
		.batch = whole(a, "batch"),
		.sampling = (enum learn_sampling)choice(a, "sampling", samplings),
		.split = (enum learn_split)choice(a, "split", splits),
		.shards = whole(a, "shards"),
		.lr = orr_arg_real(a, "lr"),
		.momentum = orr_arg_real(a, "momentum"),
		.schedule = (enum learn_schedule)choice(a, "schedule", schedules),
		.decay = orr_arg_real(a, "decay"),
		.decay_samples = orr_arg_real(a, "decay_samples"),
		.warmup_samples = orr_arg_real(a, "warmup_samples"),
		.model = (enum learn_model)choice(a, "model", models),
		.eval_updates = (uint64_t)orr_arg_int(a, "eval_updates"),
		.eval_samples = orr_arg_real(a, "eval_samples"),
		.history = whole(a, "history"),
		.eval_worst = orr_arg_bool(a, "eval_worst"),
		.target = target > 0 ? target : NAN,
		.vertices = whole(a, "vertices"),
		.communities = whole(a, "communities"),
		.degree_in = orr_arg_real(a, "degree_in"),
		.degree_out = orr_arg_real(a, "degree_out"),
		.feature_noise = orr_arg_real(a, "feature_noise"),
		.train_share = orr_arg_real(a, "train_share"),
		.optimizer = (enum learn_optimizer)choice(a, "optimizer", optimizers),
		.adam_lr = orr_arg_real(a, "adam_lr"),
		.epochs = (uint64_t)orr_arg_int(a, "epochs"),
		.target_accuracy = target_accuracy > 0 ? target_accuracy : NAN,
	};
}
