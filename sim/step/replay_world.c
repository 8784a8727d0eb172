/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/replay_world.h"

#include "base/mem.h"
#include "world/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char unaware[] = "congestion-unaware", aware[] = "congestion-aware";

bool replay_is_named(const struct scenario *s)
{
	return *orr_arg_text(s->keys, "graph") != '\0';
}

const char *replay_default_policy(const struct scenario *s)
{
	return replay_is_named(s) ? unaware : NULL;
}

/* ---- inputs ---- */

static int refuse_keys(const struct scenario *s, struct orr_error *err)
{
	static const char *const keys[] = { "model", "cluster", "device", "profile", "precision", "batch", "cost_samples", "record", "step",
		"cost", "learn", "plan", NULL };
	for (const char *const *k = keys; *k; k++)
		if (cJSON_GetObjectItemCaseSensitive(s->given, *k))
			return orr_fail(err, ORR_EINPUT,
				"scenario: $.%s: this key belongs to training iterations: expected \"graph\" (an execution trace), "
				"\"groups\", "
				"\"network\", \"system\" and \"policies\"",
				*k);
	if (world_extra(s->output, "export"))
		return orr_fail(
			err, ORR_EINPUT, "--export: writes what a policy does: expected an iteration of a model, not an execution trace");
	if (world_extra(s->output, "timeline"))
		return orr_fail(err, ORR_EINPUT, "--timeline: execution traces have none: expected an iteration of a model");
	for (size_t i = 0; i < s->n_policies; i++)
		if (strcmp(s->policy[i].entry.name, unaware) != 0 && strcmp(s->policy[i].entry.name, aware) != 0)
			return orr_fail(err, ORR_EINPUT, "policy %.60s: builds its own graph: expected %s or %s with an execution trace",
				s->policy[i].label, unaware, aware);
	return ORR_OK;
}

static int load(const struct scenario *s, struct replay_inputs *x, struct orr_error *err)
{
	const char *network = orr_arg_text(s->keys, "network"), *system = orr_arg_text(s->keys, "system");
	int rc = refuse_keys(s, err);
	if (rc)
		return rc;
	if (!cJSON_GetObjectItemCaseSensitive(s->given, "network"))
		return orr_fail(
			err, ORR_EINPUT, "scenario: expected the network of the execution trace: --network FILE.yml, in ASTRA-sim's form");
	if (!*system)
		return orr_fail(
			err, ORR_EINPUT, "scenario: expected the system of the execution trace: --system FILE.json, in ASTRA-sim's form");
	if ((rc = astra_network_load(network, &x->network, err)) || (rc = astra_system_load(system, &x->system, err)))
		return rc;
	return (x->trace = chakra_load(orr_arg_text(s->keys, "graph"), orr_arg_text(s->keys, "groups"), err)) ? ORR_OK : ORR_EINPUT;
}

static void describe(struct scenario *s, const struct replay_inputs *x)
{
	cJSON *o = s->resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "step");
	cJSON_AddStringToObject(o, "graph", orr_arg_text(s->keys, "graph"));
	cJSON_AddStringToObject(o, "graph_sha256", x->trace->hash);
	cJSON_AddStringToObject(o, "groups", orr_arg_text(s->keys, "groups"));
	cJSON_AddStringToObject(o, "network", orr_arg_text(s->keys, "network"));
	cJSON_AddStringToObject(o, "network_sha256", x->network.hash);
	cJSON_AddStringToObject(o, "system", orr_arg_text(s->keys, "system"));
	cJSON_AddStringToObject(o, "system_sha256", x->system.hash);
	scenario_add_seed(o, s);
}

struct replay_inputs *replay_open(struct scenario *s, struct orr_error *err)
{
	struct replay_inputs *x = mem_zalloc(1, sizeof *x);
	if (load(s, x, err)) {
		replay_close(x);
		return NULL;
	}
	describe(s, x);
	return x;
}

void replay_close(struct replay_inputs *x)
{
	if (!x)
		return;
	chakra_free(x->trace);
	mem_free(x);
}

/* ---- results ---- */

static void put(struct run_result *r, const char *name, double value)
{
	result_metric(r, name, value, NAN, NAN);
}

static void put_rows(const struct replay_inputs *x, const struct replay_result *p, struct run_result *r)
{
	r->rows_total = 0;
	r->ranks = mem_zalloc(p->n + 1u, sizeof *r->ranks);
	r->n_ranks = p->n;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct replay_rank *k = &p->rank[i];
		r->ranks[i] = (struct rank_row){ .rank = i,
			.finish_ns = k->finish_ns,
			.exposed_ns = k->finish_ns - k->compute_ns,
			.compute_ns = k->compute_ns,
			.host_ns = k->host_ns,
			.nodes = x->trace->rank[i].n,
			.sent_bytes = k->sent_bytes };
	}
}

static void put_metrics(const struct replay_inputs *x, const struct replay_result *p, struct run_result *r)
{
	int64_t last = 0, first = INT64_MAX;
	double compute = 0, exposed = 0, sent = 0, most = 0, n = p->n;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct replay_rank *k = &p->rank[i];
		last = k->finish_ns > last ? k->finish_ns : last;
		first = k->finish_ns < first ? k->finish_ns : first;
		compute += (double)k->compute_ns / 1e9;
		exposed += (double)(k->finish_ns - k->compute_ns) / 1e9;
		sent += k->sent_bytes;
		most = fmax(most, k->sent_bytes);
	}
	put(r, "iteration_s", (double)last / 1e9);
	put(r, "first_finish_s", (double)first / 1e9);
	put(r, "compute_s", compute / n);
	put(r, "exposed_s", exposed / n);
	put(r, "sent_bytes", sent);
	put(r, "sent_bytes_max", most);
	put(r, "ranks", n);
	put(r, "nodes", (double)x->trace->nodes);
	put(r, "messages", (double)p->messages);
}

static void put_notes(const struct replay_inputs *x, const struct replay_result *p, struct run_result *r)
{
	char text[400];
	const struct astra_dimension *d = &x->network.dim[0];
	snprintf(text, sizeof text, "times of compute nodes: %s",
		x->system.has_roofline ? "roofline of the system" : "durations of the trace");
	result_note(r, "assumption", text);
	snprintf(text, sizeof text, "%s of %u NPUs, %g GB/s of 2^30 bytes, %g ns; ASTRA-sim's analytical rules",
		astra_topology_name(d->topology), x->network.npus, d->bytes_per_ns * 1e9 / 1073741824.0, d->latency_ns);
	result_note(r, "assumption", text);
	if (*x->system.ignored) {
		snprintf(text, sizeof text, "keys of the system file without effect on these rules: %.300s", x->system.ignored);
		result_note(r, "remark", text);
	}
	if (p->durations) {
		snprintf(text, sizeof text,
			"%llu nodes of collectives without an algorithm (broadcast, reduce, gather, scatter, barrier): the durations of "
			"the trace",
			(unsigned long long)p->durations);
		result_note(r, "remark", text);
	}
	if (p->unread) {
		snprintf(text, sizeof text, "%llu messages have no receive node", (unsigned long long)p->unread);
		result_note(r, "remark", text);
	}
}

int replay_policy(const struct scenario *s, const struct replay_inputs *x, size_t i, struct run_result *r, struct orr_error *err)
{
	struct replay_result p;
	struct replay_config c = { .trace = x->trace,
		.network = &x->network,
		.system = &x->system,
		.is_aware = !strcmp(s->policy[i].entry.name, aware),
		.check = s->output->check };
	int rc = replay_run(&c, &p, err);
	if (rc)
		return rc;
	put_metrics(x, &p, r);
	put_rows(x, &p, r);
	put_notes(x, &p, r);
	replay_result_free(&p);
	return ORR_OK;
}
