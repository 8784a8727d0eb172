/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/serve/serve_replay.h"

#include "base/param.h"
#include "cluster/placement.h"
#include "serve/serve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_MODELS = 16 };

static struct reqset *load(const struct serve_case *c, struct orr_error *err)
{
	char path[] = "/tmp/orrery-serve.XXXXXX";
	if (!strchr(c->requests, '\n'))
		return reqset_load(c->requests, NULL, NULL, c->seed, err);
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NULL;
	fputs(c->requests, f);
	fclose(f);
	struct reqset *set = reqset_load(path, "requests", NULL, 1, err);
	unlink(path);
	return set;
}

static bool set_all(struct orr_args *args, const char *settings, struct orr_error *err)
{
	char text[512], *save = NULL;
	snprintf(text, sizeof text, "%s", settings ? settings : "");
	for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save))
		if (args_set_pair(args, pair, err))
			return false;
	return true;
}

static void forget_names(struct run_result *r)
{
	for (size_t i = 0; i < r->n_requests; i++)
		r->requests[i].request_id = r->requests[i].model = NULL;
}

static bool run(const struct serve_case *c, struct served **model, uint32_t n_models, struct run_result *r, struct orr_error *err)
{
	char spec[32];
	uint32_t replicas = c->replicas ? c->replicas : 1;
	snprintf(spec, sizeof spec, "%ux1", replicas);
	struct device device = { .memory_bytes = c->memory_GiB * 1073741824.0 };
	const struct device *devices[CLUSTER_MAX_TYPES];
	for (size_t i = 0; i < CLUSTER_MAX_TYPES; i++)
		devices[i] = &device;
	struct serve_deployment deployment = { .replicas = replicas, .model = UINT32_MAX, .tp = 1, .pp = 1 };
	struct orr_args *options = args_new(serve_options, "serve", err), *args = args_new(c->policy->params, "policy", err);
	struct cluster *cluster = cluster_load(spec, err);
	struct reqset *requests = load(c, err);
	struct serve_config config = { .requests = requests,
		.replication = c->replication,
		.cluster = cluster,
		.placement = placement_find("count"),
		.model = model,
		.n_models = n_models,
		.device = c->memory_GiB > 0 ? devices : NULL,
		.deployment = &deployment,
		.n_deployments = 1,
		.options = options,
		.seed = c->seed,
		.until_ns = c->until_s > 0 ? llrint(c->until_s * 1e9) : ORR_NEVER,
		.check = true,
		.record_requests = true,
		.explain = true,
		.max_rows = 1000000,
		.policy_timeout_s = 60 };
	bool is_good = cluster && requests && options && args && set_all(args, c->settings, err) && set_all(options, c->options, err) &&
		       !serve_run(&config, c->policy, args, "tested", r, err);
	forget_names(r);
	reqset_free(requests);
	cluster_free(cluster);
	args_free(options);
	args_free(args);
	return is_good;
}

struct run_result *serve_replay(const struct serve_case *c, struct orr_error *err)
{
	struct run_result *r = result_new();
	struct served *model[MOST_MODELS];
	uint32_t n = 0;
	bool is_good = true;
	for (; is_good && c->models[n] && n < MOST_MODELS; n++) {
		const char *m = c->models[n];
		model[n] = *m == '{' ? served_parse("test", m, strlen(m), err) : served_load(m, err);
		is_good = model[n] != NULL;
	}
	is_good = is_good && run(c, model, n, r, err);
	for (uint32_t i = 0; i < n; i++)
		served_free(model[i]);
	if (is_good)
		return r;
	result_free(r);
	return NULL;
}

bool serve_ends_at(const struct run_result *r, const double *end_s, size_t n)
{
	bool is_good = r && r->n_requests == n;
	if (r && !is_good)
		printf("# %zu requests, expected %zu\n", r->n_requests, n);
	for (size_t i = 0; r && i < r->n_requests && i < n; i++) {
		double end = r->requests[i].status == REQUEST_COMPLETED ? r->requests[i].completed_s : NAN;
		if ((isnan(end) && isnan(end_s[i])) || fabs(end - end_s[i]) <= 1e-9)
			continue;
		if (is_good) /* only the first failure is printed */
			printf("# request %zu ends at %.12g, expected %.12g\n", i, end, end_s[i]);
		is_good = false;
	}
	return is_good;
}

double serve_mean_per_sample(const struct run_result *r)
{
	double sum = 0, weight = 0;
	for (size_t i = 0; r && i < r->n_requests; i++) {
		const struct request_row *q = &r->requests[i];
		if (q->status != REQUEST_COMPLETED)
			continue;
		sum += q->prompt_tokens * (q->completed_s - q->arrival_s);
		weight += q->prompt_tokens;
	}
	return sum / weight;
}

double serve_metric(const struct run_result *r, const char *name)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	return m ? m->value : NAN;
}
