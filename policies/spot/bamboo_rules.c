/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bamboo's settings, step times, and the rule by which nodes regroup. */
#include "bamboo.h"

int64_t bamboo_step_time(const struct bamboo *b, const struct orr_spot *w, uint32_t d, enum orr_step_kind kind)
{
	if (b->curve >= 0) {
		double rate = orr_curve_at(w, b->curve, orr_inst_ready(w));
		return rate > 0 ? whole_ms(1000 * b->samples / rate) : 0;
	}
	double ns = (double)orr_step_time(w, d, b->depth, kind) * (1 + b->rho_frc);
	return b->is_event ? (int64_t)ns : whole_ms(ns / (double)MS);
}

uint32_t bamboo_pipelines(const struct bamboo *b, const struct orr_spot *w, uint32_t nodes)
{
	uint32_t d = nodes / b->r.depth;
	if (d > b->most)
		d = b->most;
	while (d && bamboo_step_time(b, w, d, ORR_STEP_REDUNDANT) <= 0)
		d--;
	return d;
}

bool bamboo_should_regroup(const struct bamboo *b, const struct orr_spot *w)
{
	uint32_t shadows = b->r.shadows, waiting = b->r.waiting;
	uint32_t active = b->r.pipelines * b->r.depth - shadows, nodes = active + waiting;
	uint32_t threshold = (b->r.pipelines + 1) * b->r.depth;
	switch (b->rule) {
	case RECONFIGURE_SIMULATOR:
		if (shadows && (waiting >= shadows || 2.0 * shadows / active > 0.05))
			return true;
		break;
	case RECONFIGURE_PAPER:
		if (shadows)
			return bamboo_pipelines(b, w, nodes) > 0;
		break;
	case RECONFIGURE_AGENT:
		if (b->shadow_noticed)
			return true;
		nodes = nodes > shadows ? nodes - shadows : 0;
		break;
	}
	if (nodes < threshold)
		return false;
	/* In the published simulator, nodes that were lost while they waited still count as waiting, so regrouping may gain no pipeline.
	 * If that many nodes are ready, regrouping must add a pipeline. */
	bool is_phantom = b->r.keeps_waiting && orr_inst_ready(w) < threshold;
	return is_phantom || bamboo_pipelines(b, w, nodes) > b->r.pipelines;
}

/* ---- settings ---- */

/* Returns whether an option is on, by its value or the default of the rules. */
static bool is_on(const struct orr_args *args, const char *name, bool by_rules)
{
	const char *text = orr_arg_text(args, name);
	return !strcmp(text, "rules") ? by_rules : !strcmp(text, "on");
}

static int64_t local_timer(const struct bamboo *b, const struct orr_spot *w, const struct orr_args *args)
{
	static const char *const names[] = { "bamboo.local_timer_s", "bamboo.rebalance_s" };
	int64_t told = orr_arg_time_ns(args, "local_timer");
	bool is_artifact = b->curve >= 0;
	for (int i = 0; !told && i < 2; i++) {
		double s = orr_figure(w, names[is_artifact ? 1 - i : i]);
		if (s > 0)
			told = whole_ms(s * 1000);
	}
	return told ? told : 20 * ORR_SECOND; /* default: the value of BERT, the model in the simulator's table of results */
}

static void read_rules(struct bamboo *b, const struct orr_args *args)
{
	const char *rules = orr_arg_text(args, "rules"), *rule = orr_arg_text(args, "reconfigure");
	bool is_authors = !strcmp(rules, "authors");
	b->is_event = !strcmp(rules, "event");
	b->r.keeps_timers = is_on(args, "compat_timers", is_authors);
	b->has_stale_steps = is_on(args, "stale_steps", is_authors);
	b->r.keeps_waiting = is_on(args, "keep_waiting", is_authors);
	b->r.ignores_orphans = is_on(args, "ignore_orphans", is_authors);
	b->slows_for_any = is_on(args, "slowdown_any", !b->is_event);
	b->rolls_back = is_on(args, "rollback", b->is_event);
	b->rule = !strcmp(rule, "paper") ? RECONFIGURE_PAPER : !strcmp(rule, "agent") ? RECONFIGURE_AGENT : RECONFIGURE_SIMULATOR;
	b->placement = placement_of(orr_arg_text(args, "placement"));
}

/* Returns the largest number of pipelines with a redundant step time. */
static uint32_t largest_measured(const struct bamboo *b, const struct orr_spot *w)
{
	uint32_t most = b->curve >= 0 ? UINT32_MAX : 0, pipelines, depth;
	for (size_t i = 0; orr_step_point(w, i, &pipelines, &depth); i++)
		if (depth == b->depth && pipelines > most && orr_step_time(w, pipelines, depth, ORR_STEP_REDUNDANT) > 0)
			most = pipelines;
	return most;
}

static bool read_numbers(struct bamboo *b, const struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_elastic_info job;
	orr_elastic_get(w, &job);
	const char *curve = orr_arg_text(args, "curve");
	b->curve = *curve ? orr_curve_find(w, curve) : -1;
	b->samples = job.samples_per_step;
	b->job_steps = job.steps;
	b->depth = (uint32_t)orr_arg_int(args, "depth");
	b->most = (uint32_t)orr_arg_int(args, "pipelines");
	b->per_node = (uint32_t)orr_arg_int(args, "stages_per_node");
	if (!b->depth)
		b->depth = job.depth;
	uint32_t largest = largest_measured(b, w);
	if (!b->most)
		b->most = job.pipelines ? job.pipelines : largest;
	b->r.depth = b->depth / b->per_node;
	b->slowdown = orr_arg_real(args, "slowdown");
	b->rho_frc = orr_arg_real(args, "rho_frc");
	b->redundant = orr_arg_real(args, "redundant");
	if (b->redundant <= 0 && orr_figure(w, "bamboo.redundant") > 0)
		b->redundant = orr_figure(w, "bamboo.redundant");
	b->global_ns = orr_arg_time_ns(args, "global_timer");
	b->r.length_ns[RDV_LOCAL] = local_timer(b, w, args);
	b->restart_ns = orr_arg_time_ns(args, "restart_time");
	b->every_ns = orr_arg_time_ns(args, "checkpoint_interval");
	b->pause_ns = orr_arg_time_ns(args, "checkpoint_pause");
	b->write_ns = orr_arg_time_ns(args, "checkpoint_write");
	b->is_sync = !strcmp(orr_arg_text(args, "checkpoint_copy"), "sync");
	if (*curve && b->curve < 0)
		orr_fail(err, ORR_EINPUT, "curve: expected the name of a curve of job %s, found \"%.60s\"", job.name, curve);
	else if (!b->depth)
		orr_fail(err, ORR_EINPUT, "job %s has no default depth of pipelines: expected policy.bamboo.depth", job.name);
	else if (b->depth % b->per_node)
		orr_fail(err, ORR_EINPUT, "depth: expected a multiple of stages_per_node (%u), found %u", b->per_node, b->depth);
	else if (b->rolls_back && b->has_stale_steps)
		orr_fail(err, ORR_EINPUT, "rollback and stale_steps exclude each other: expected at most one of the two");
	else if (b->rolls_back && b->every_ns < ORR_SECOND)
		orr_fail(err, ORR_EINPUT, "checkpoint_interval: expected at least 1s with rollback");
	else if (!largest)
		orr_fail(err, ORR_EINPUT, "job %s has no redundant step time at depth %u: expected another depth, or curve", job.name,
			b->depth);
	else
		return true;
	return false;
}

bool bamboo_read(struct bamboo *b, const struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	read_rules(b, args);
	return read_numbers(b, w, args, err);
}

#define RULES_OR_TOLD "rules|on|off"

const struct orr_param bamboo_settings[] = { ORR_PARAM_CHOICE("rules", "clean", "clean|authors|event",
						     "clean, authors: the simulator of Bamboo's authors without and with its errors; "
						     "event: step times, failover and checkpoints of the job"),
	ORR_PARAM_INT("depth", "0", 0, 10000, "stages of a pipeline; 0: the job's default"),
	ORR_PARAM_INT("pipelines", "0", 0, 10000, "maximum number of pipelines; 0: the job's default, or the largest with a step time"),
	ORR_PARAM_INT("stages_per_node", "1", 1, 64, "consecutive stages on one node"),
	ORR_PARAM_TEXT("curve", "", "name of a curve of the job, throughput by nodes; empty: step times by shape"),
	ORR_PARAM_TIME("global_timer", "30s", "length of the rendezvous at the start and after a fatal failure"),
	ORR_PARAM_TIME("local_timer", "0s",
		"length of the rendezvous of a reconfiguration; 0: the job's bamboo.local_timer_s or bamboo.rebalance_s, or 20 s"),
	ORR_PARAM_CHOICE("reconfigure", "simulator", "simulator|paper|agent", "rule for the regrouping of nodes at the end of a step"),
	ORR_PARAM_CHOICE("placement", "order", PLACEMENT_CHOICES,
		"order in which nodes take stages: by creation, neighbours in different zones, or zone by zone"),
	ORR_PARAM_REAL("rho_frc", "0", 0, 100,
		"relative increase of step times by redundant forward passes, if the step times do not include them"),
	ORR_PARAM_REAL("redundant", "0", 0, 1,
		"share of the nodes' time in the redundant account; 0: the job's bamboo.redundant, or the share of its step times"),
	ORR_PARAM_REAL(
		"slowdown", "1.5", 1, 100, "step time after a takeover / step time before; rules=event: if the job has no degraded step"),
	ORR_PARAM_CHOICE(
		"slowdown_any", "rules", RULES_OR_TOLD, "the loss of a waiting or starting node slows steps too; clean, authors: on"),
	ORR_PARAM_CHOICE("compat_timers", "rules", RULES_OR_TOLD, "timers are never cancelled; authors: on"),
	ORR_PARAM_CHOICE(
		"stale_steps", "rules", RULES_OR_TOLD, "after a fatal failure steps continue until the rendezvous ends; authors: on"),
	ORR_PARAM_CHOICE("keep_waiting", "rules", RULES_OR_TOLD,
		"the loss of a waiting node does not lower the number of waiting nodes; authors: on"),
	ORR_PARAM_CHOICE("ignore_orphans", "rules", RULES_OR_TOLD,
		"the loss of a node has no effect if the node of the previous stage has ended; off: the loss is fatal; authors: on"),
	ORR_PARAM_CHOICE("rollback", "rules", RULES_OR_TOLD, "a fatal failure loses the steps since the last checkpoint; event: on"),
	ORR_PARAM_TIME(
		"restart_time", "0s", "with rollback: time of a restart, in addition to the rendezvous and to reading the checkpoint"),
	ORR_PARAM_TIME("checkpoint_interval", "10m", "with rollback: time from the start of one checkpoint to the start of the next"),
	ORR_PARAM_TIME("checkpoint_pause", "0s", "with rollback: pause of training at each checkpoint (0: written in the background)"),
	ORR_PARAM_TIME(
		"checkpoint_write", "0s", "with rollback: time to write a checkpoint; 0: from the size of the state (spot.storage_Bps)"),
	ORR_PARAM_CHOICE("checkpoint_copy", "async", "async|sync",
		"with rollback: async: training pauses for checkpoint_pause at each checkpoint; sync: until the checkpoint is written"),
	ORR_PARAM_END };
