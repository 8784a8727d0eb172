/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/serve/fleet_run.h"

#include "base/mem.h"
#include "cluster/failures.h"
#include "cluster/placement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct probe probe;

/* ---- the policy ---- */

struct queues {
	uint32_t n;
	struct orr_fifo q[];
};

static void note(struct probe_event e)
{
	MEM_GROW(probe.event, probe.n, probe.cap);
	probe.event[probe.n++] = e;
}

static void *probe_create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	uint32_t n = orr_replicas(w);
	struct queues *x = calloc(1, sizeof *x + n * sizeof x->q[0]);
	x->n = n;
	probe.n = 0;
	return x;
}

static void probe_destroy(void *self)
{
	free(self);
}

static void probe_arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct queues *x = self;
	uint32_t replica = orr_req_replica(w, r);
	note((struct probe_event){ .what = 'a', .at_s = orr_serve_now(w), .number = orr_req_number(w, r), .replica = replica });
	if (replica != ORR_NO_REPLICA)
		orr_fifo_push(w, &x->q[replica], r);
	if (probe.seen)
		probe.seen(w, 'a', r);
}

static void probe_finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)self;
	note((struct probe_event){
		.what = 'f', .at_s = orr_serve_now(w), .number = orr_req_number(w, r), .replica = orr_req_replica(w, r), .how = (int)how });
}

static void probe_schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct queues *x = self;
	orr_req r;
	if (probe.sleeps)
		return;
	if (probe.naps && fmod(orr_serve_now(w), 10) < 1) {
		orr_serve_timer(w, replica, orr_serve_now(w) + 1);
		return;
	}
	if (orr_replica_is_idle(w, replica) && (r = orr_fifo_pop(w, &x->q[replica]))) {
		struct orr_batch b = { .model = orr_req_model(w, r), .req = &r, .n = 1 };
		b.samples = orr_model_batch_for(w, b.model, orr_req_samples(w, r));
		orr_run_start(w, replica, &b);
	}
	if (probe.seen)
		probe.seen(w, 's', replica);
}

static void probe_replica(void *self, struct orr_serve *w, uint32_t replica, enum orr_replica_event event)
{
	(void)self;
	static const char letter[] = { 'u', 'd', 'x' };
	note((struct probe_event){ .what = letter[event], .at_s = orr_serve_now(w), .replica = replica });
}

static const struct orr_serve_ops probe_ops = { .create = probe_create,
	.destroy = probe_destroy,
	.arrive = probe_arrive,
	.finish = probe_finish,
	.schedule = probe_schedule,
	.replica = probe_replica };
static const struct orr_param no_params[] = { ORR_PARAM_END };
const struct orr_policy fleet_probe_policy = { ORR_ABI_VERSION, sizeof(struct orr_policy), "probe", "keeps a log", "serve", 0, no_params,
	&probe_ops };
const struct orr_policy fleet_probe_busy_policy = { ORR_ABI_VERSION, sizeof(struct orr_policy), "probe", "keeps a log", "serve",
	ORR_WORK_CONSERVING, no_params, &probe_ops, sizeof probe_ops };

/* ---- the run ---- */

static struct reqset *load_requests(const struct fleet_case *c, struct orr_error *err)
{
	char path[] = "/tmp/orrery-fleet.XXXXXX";
	if (!strchr(c->requests, '\n'))
		return reqset_load(c->requests, NULL, NULL, c->seed, err);
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NULL;
	fputs(c->requests, f);
	fclose(f);
	struct reqset *set = reqset_load(path, c->requests[0] == '{' ? "mooncake" : "requests", NULL, 1, err);
	unlink(path);
	return set;
}

static bool set_all(struct orr_args *args, const char *settings, struct orr_error *err)
{
	char text[1024], *save = NULL;
	snprintf(text, sizeof text, "%s", settings ? settings : "");
	for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save))
		if (args_set_pair(args, pair, err))
			return false;
	return true;
}

static struct failures *load_failures(const struct fleet_case *c, const struct cluster *cluster, struct orr_error *err)
{
	if (c->failures)
		return failures_from_text("failures", c->failures, cluster, err);
	return c->mtbf_s > 0 ? failures_from_hazard((int64_t)(c->mtbf_s * 1e9), (int64_t)(c->mttr_s * 1e9)) : NULL;
}

static void run(const struct fleet_case *c, struct serve_config *config, struct run_result *r, struct orr_error *err)
{
	const struct orr_policy *policy = c->policy ? c->policy : &fleet_probe_policy;
	struct orr_args *options = args_new(serve_options, "serve", err), *args = args_new(policy->params, "policy", err);
	struct cluster *cluster = cluster_load(c->cluster, err);
	struct reqset *requests = load_requests(c, err);
	struct failures *failures = cluster ? load_failures(c, cluster, err) : NULL;
	config->requests = requests;
	config->cluster = cluster;
	config->placement = placement_find("consolidate");
	config->failures = failures;
	config->options = options;
	if (!err->code && requests && cluster && set_all(options, c->options, err) && set_all(args, c->settings, err))
		c->drive ? c->drive(config, policy, args, r, err) : serve_run(config, policy, args, policy->name, r, err);
	for (size_t i = 0; i < r->n_requests; i++)
		r->requests[i].request_id = r->requests[i].model = NULL;
	failures_free(failures);
	reqset_free(requests);
	cluster_free(cluster);
	args_free(args);
	args_free(options);
}

struct run_result *fleet_run(const struct fleet_case *c, struct orr_error *err)
{
	struct served *model[4] = { 0 };
	struct device device = { .memory_bytes = c->memory_bytes };
	const struct device *devices[CLUSTER_MAX_TYPES];
	for (size_t i = 0; i < CLUSTER_MAX_TYPES; i++)
		devices[i] = &device;
	struct run_result *r = result_new();
	struct serve_config config = { .replication = c->replication,
		.model = model,
		.device = c->memory_bytes > 0 ? devices : NULL,
		.deployment = c->deployment,
		.usd_per_gpu_hour = c->usd_per_gpu_hour,
		.seed = c->seed,
		.until_ns = c->until_s > 0 ? (int64_t)(c->until_s * 1e9) : ORR_NEVER,
		.check = !c->no_check,
		.record_requests = c->max_rows > 0,
		.explain = c->max_rows > 0,
		.max_rows = c->max_rows,
		.policy_timeout_s = 60 };
	*err = (struct orr_error){ 0 };
	for (; config.n_models < 4 && c->models[config.n_models]; config.n_models++)
		if (!(model[config.n_models] = served_parse("model", c->models[config.n_models], strlen(c->models[config.n_models]), err)))
			break;
	while (config.n_deployments < 4 && c->deployment[config.n_deployments].tp)
		config.n_deployments++;
	if (!err->code)
		run(c, &config, r, err);
	for (uint32_t i = 0; i < 4; i++)
		served_free(model[i]);
	if (!err->code)
		return r;
	result_free(r);
	return NULL;
}

double fleet_metric(const struct run_result *r, const char *name)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	return m ? m->value : NAN;
}
