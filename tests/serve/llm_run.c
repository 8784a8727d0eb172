/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/serve/llm_run.h"

#include "base/param.h"
#include "cluster/failures.h"
#include "net/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char llm_vidur_model[] =
	"{\"name\":\"vidur-oracle\",\"source\":\"microsoft/vidur\",\"kind\":\"llm\",\"weight_bytes\":16e9,"
	"\"kv_bytes_per_token\":131072,\"closed\":{\"constant_ms\":5,\"token_ms\":0.05,\"context_ms\":1e-4,\"pair_ms\":1e-6}}";

static struct reqset *load_text(const char *text, const char *format, const char *const *options, struct orr_error *err)
{
	char path[] = "/tmp/orrery-llm.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NULL;
	fputs(text, f);
	fclose(f);
	struct reqset *set = reqset_load(path, format, options, 1, err);
	unlink(path);
	return set;
}

struct reqset *llm_requests(const char *text, struct orr_error *err)
{
	return load_text(text, NULL, NULL, err);
}

struct reqset *llm_hashed_requests(const char *text, uint32_t tokens, struct orr_error *err)
{
	char option[40];
	snprintf(option, sizeof option, "block_tokens=%u", tokens);
	return load_text(text, "mooncake", (const char *const[]){ option, NULL }, err);
}

FILE *llm_oracle_file(const char *name)
{
	const char *data = getenv("ORRERY_DATA_PATH");
	char path[1024];
	snprintf(path, sizeof path, "%s/oracles/vidur/%s", data ? data : ".", name);
	return fopen(path, "r");
}

/* Reads the requests of the Vidur oracle and clips their numbers of tokens as the oracle's README states: at least one token of each
 * kind, at most 4,096 in total. Long prompts are shortened. */
struct reqset *llm_vidur_requests(void)
{
	return llm_vidur_requests_at(1);
}

struct reqset *llm_vidur_requests_at(double scale)
{
	enum { ROWS = 2000, LIMIT = 4096 };
	FILE *f = llm_oracle_file("conv2000.csv");
	if (!f)
		return NULL;
	static char text[(ROWS + 1) * 64];
	char arrived[40], head[200];
	int prompt, output;
	size_t at = (size_t)snprintf(text, sizeof text, "arrived_at,num_prefill_tokens,num_decode_tokens\n");
	if (!fgets(head, sizeof head, f))
		head[0] = 0;
	while (at + 64 < sizeof text && fscanf(f, "%39[^,],%d,%d\n", arrived, &prompt, &output) == 3) {
		prompt = prompt < 1 ? 1 : prompt;
		output = output < 1 ? 1 : output;
		prompt -= prompt + output > LIMIT ? prompt + output - LIMIT : 0;
		if (scale < 1 || scale > 1)
			snprintf(arrived, sizeof arrived, "%.12f", atof(arrived) * scale);
		at += (size_t)snprintf(text + at, sizeof text - at, "%s,%d,%d\n", arrived, prompt, output);
	}
	fclose(f);
	struct orr_error err = { 0 };
	struct reqset *set = llm_requests(text, &err);
	if (!set)
		printf("# %s\n", err.text);
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

/* Runs the world on a caller's clock, as with several worlds. */
static int serve_as_guest(
	const struct serve_config *c, const struct llm_run *x, const struct orr_args *args, struct run_result *r, struct orr_error *err)
{
	struct serve_host host = { .engine = eng_new(), .pool = pool_new(c->cluster, c->placement) };
	struct orr_serve *w = serve_begin(c, &host, x->policy, args, x->policy->name, r, err);
	while (w && !serve_is_over(w)) {
		int64_t now, next;
		if (!eng_next_time(host.engine, &now))
			break;
		while (eng_next_time(host.engine, &next) && next == now)
			eng_step(host.engine);
		while (serve_instant(w))
			eng_step(host.engine);
	}
	int rc = w ? serve_end(w, err) : ORR_EFAIL;
	pool_free(host.pool);
	eng_free(host.engine);
	return rc;
}

struct run_result *llm_serve(const struct llm_run *x, struct orr_error *err)
{
	uint32_t replicas = x->replicas ? x->replicas : 1, pp = x->pp ? x->pp : 1;
	char nodes[32];
	snprintf(nodes, sizeof nodes, "%ux%u", replicas, pp);
	const char *json = x->model ? x->model : llm_vidur_model;
	struct served *model = *json == '{' ? served_parse("model", json, strlen(json), err) : served_load(json, err);
	struct device *device = x->device ? device_load(x->device, err) : NULL;
	struct cluster *cluster = cluster_load(x->cluster ? x->cluster : nodes, err);
	struct topo *topo = x->topology && cluster ? topo_load(cluster, x->topology, 1, err) : NULL;
	struct serve_deployment deployment = { .replicas = replicas, .tp = 1, .pp = pp, .kv_blocks = x->kv_blocks };
	struct orr_args *options = args_new(serve_options, "serve", err), *args = args_new(x->policy->params, "policy", err);
	struct failures *failures = x->failures && cluster ? failures_from_text("failures", x->failures, cluster, err) : NULL;
	struct serve_config config = { .requests = x->requests,
		.cluster = cluster,
		.placement = placement_find("count"),
		.topo = topo,
		.failures = failures,
		.model = &model,
		.precision = PRECISION_FP16,
		.device = device ? (const struct device *const[]){ device } : NULL,
		.n_models = 1,
		.deployment = x->deployments ? x->deployments : &deployment,
		.n_deployments = x->deployments ? x->n_deployments : 1,
		.options = options,
		.seed = 1,
		.until_ns = ORR_NEVER,
		.check = !x->is_quick,
		.record_requests = !x->is_quick,
		.explain = !x->is_quick || x->explains,
		.max_rows = 1000000,
		.policy_timeout_s = 60 };
	struct run_result *r = result_new();
	bool is_good =
		model && cluster && (topo || !x->topology) && set_all(args, x->settings, err) && set_all(options, x->options, err) &&
		(failures || !x->failures) &&
		!(x->is_guest ? serve_as_guest(&config, x, args, r, err) : serve_run(&config, x->policy, args, x->policy->name, r, err));
	for (size_t i = 0; i < r->n_requests; i++)
		r->requests[i].request_id = r->requests[i].model = NULL;
	args_free(args);
	args_free(options);
	failures_free(failures);
	topo_free(topo);
	cluster_free(cluster);
	served_free(model);
	device_free(device);
	if (is_good)
		return r;
	result_free(r);
	return NULL;
}

const struct orr_param llm_no_params[] = { ORR_PARAM_END };

void *llm_no_state(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	static char none;
	(void)w, (void)args, (void)err;
	return &none;
}

void llm_no_end(void *self)
{
	(void)self;
}

double llm_metric(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}
