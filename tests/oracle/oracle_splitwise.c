/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policies splitwise and orca against splitwise-sim (Mutinifni/splitwise-sim 8f99e7d) on its own traces: the times of every request
 * are compared. The model is bloom-176b on servers of 8 H100 with 80 GiB. Iteration times are the medians of the performance model of
 * splitwise-sim.
 *
 * Expected values: $ORRERY_DATA_PATH/oracles/splitwise-sim/RUN/0.csv.
 */
#include "tests/tap.h"

#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "cluster/placement.h"
#include "serve/serve.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_splitwise;

enum { MOST = 4096, KNOTS = 9, KV_TOKENS = 89234 };

static char folder[512];

static FILE *open_file(const char *name)
{
	char path[700];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return fopen(path, "r");
}

/* ---- the performance model ---- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_size);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct knots {
	double x[64];
	double *prompt[64], *token[64];
	size_t rows[64], n;
};

static void add_row(struct knots *k, double x, double prompt_s, double token_s)
{
	size_t i = 0;
	while (i < k->n && k->x[i] != x)
		i++;
	if (i == k->n) {
		k->x[k->n++] = x;
		k->prompt[i] = mem_zalloc(MOST, sizeof(double));
		k->token[i] = mem_zalloc(MOST, sizeof(double));
	}
	k->prompt[i][k->rows[i]] = prompt_s;
	k->token[i][k->rows[i]++] = token_s;
}

static void print_list(struct sbuf *out, const char *key, const double *v, size_t n)
{
	sbuf_printf(out, "\"%s\": [", key);
	for (size_t i = 0; i < n; i++)
		sbuf_printf(out, "%s%.17g", i ? ", " : "", v[i]);
	sbuf_printf(out, "]");
}

/* Returns the same model as a model file would define. */
static struct served *model(void)
{
	FILE *f = open_file("perf_model.csv");
	char line[1024];
	struct knots k = { .n = 0 };
	if (!f)
		return NULL;
	while (fgets(line, sizeof line, f)) {
		double size, batch, prompt_ms, token_ms, tp;
		char name[64], hardware[64];
		if (sscanf(line, "%63[^,],%63[^,],%lf,%lf,%*f,%*f,%*f,%lf,%lf,%*f,%lf", name, hardware, &size, &batch, &prompt_ms,
			    &token_ms, &tp) == 7 &&
			!strcmp(name, "bloom-176b") && !strcmp(hardware, "h100-80gb") && tp == 8)
			add_row(&k, size * batch, prompt_ms / 1000, token_ms / 1000);
	}
	fclose(f);
	double x[64], prompt[64], token[64];
	memcpy(x, k.x, sizeof x);
	qsort(x, k.n, sizeof *x, by_size);
	for (size_t i = 0; i < k.n; i++) {
		size_t at = 0;
		while (k.x[at] != x[i])
			at++;
		prompt[i] = median(k.prompt[at], k.rows[at]);
		token[i] = median(k.token[at], k.rows[at]);
		mem_free(k.prompt[at]);
		mem_free(k.token[at]);
	}
	ok(k.n == KNOTS, "the performance model has %d knots for bloom-176b on 8 H100", KNOTS);
	struct sbuf text = { 0 };
	sbuf_printf(&text, "{\"name\": \"bloom-176b\", \"kind\": \"llm\", \"title\": \"BLOOM 176B\", \"source\": \"splitwise-sim\", "
			   "\"weight_bytes\": 329e9, \"kv_bytes_per_token\": 4014080, \"curves\": {");
	print_list(&text, "prompt_tokens", x, k.n);
	sbuf_printf(&text, ", ");
	print_list(&text, "prompt_s", prompt, k.n);
	sbuf_printf(&text, ", ");
	print_list(&text, "decodes", x, k.n);
	sbuf_printf(&text, ", ");
	print_list(&text, "decode_s", token, k.n);
	sbuf_printf(&text, ", \"mixed_factor\": 1.1}}");
	struct orr_error err = { 0 };
	struct served *m = served_parse("bloom", sbuf_text(&text), strlen(sbuf_text(&text)), &err);
	if (!m)
		printf("# %s\n", err.text);
	sbuf_free(&text);
	return m;
}

/* ---- one run ---- */

static double worst_relative(double got, double want)
{
	if (want == 0)
		return fabs(got) <= 1e-12 ? 0 : INFINITY;
	return fabs(got - want) / fabs(want);
}

/* Compares the rows of 0.csv with those of the result; the outcome is the largest relative difference. */
static void compare(const char *run, const struct run_result *r)
{
	char name[128], line[1024];
	double worst[4] = { 0 };
	size_t rows = 0;
	snprintf(name, sizeof name, "%s/0.csv", run);
	FILE *f = open_file(name);
	while (f && fgets(line, sizeof line, f)) {
		double id, response, queue, ttft, tbt, tokens;
		if (sscanf(line, "%lf,%lf,%lf,%lf,%lf,%*f,%*f,%lf", &id, &response, &queue, &ttft, &tbt, &tokens) != 6)
			continue;
		if (id >= (double)r->n_requests)
			break;
		const struct request_row *q = &r->requests[(size_t)id];
		double got[4] = { q->completed_s - q->arrival_s, q->queue_s, q->first_token_s - q->arrival_s,
			(q->completed_s - q->first_token_s) / tokens };
		double want[4] = { response, queue, ttft, tbt };
		for (int i = 0; i < 4; i++)
			worst[i] = fmax(worst[i], worst_relative(got[i], want[i]));
		rows++;
	}
	if (f)
		fclose(f);
	printf("# %s: %zu requests; largest relative difference: response %.2g, queue %.2g, first token %.2g, between tokens %.2g\n", run,
		rows, worst[0], worst[1], worst[2], worst[3]);
	ok(rows == r->n_requests && rows > 0, "%s: every request is there", run);
	static const char *const what[] = { "response", "queue", "first token", "time between tokens" };
	for (int i = 0; i < 4; i++)
		ok(worst[i] <= 1e-9, "%s: %s of every request within 1e-9", run, what[i]);
}

static void one_run(struct served *m, const char *run, const char *trace, uint32_t servers, const char *router)
{
	struct orr_error err = { 0 };
	char path[700], spec[64];
	snprintf(path, sizeof path, "%s/%s", folder, trace);
	snprintf(spec, sizeof spec, "%ux8:h100", servers);
	struct reqset *requests = reqset_load(path, "splitwise", NULL, 1, &err);
	struct cluster *cluster = cluster_load(spec, &err);
	struct orr_args *options = args_new(serve_options, "serve", &err);
	struct orr_args *args = args_new(orr_policy_serve_splitwise.params, "splitwise", &err);
	if (!requests || !cluster || !options || !args || args_set(options, "kv_block", "1", &err) ||
		args_set(args, "router", router, &err)) {
		ok(false, "%s: set up: %s", run, err.text);
		return;
	}
	struct serve_deployment d = { .replicas = servers, .model = 0, .tp = 8, .pp = 1, .kv_blocks = KV_TOKENS };
	struct served *models[] = { m };
	struct serve_config c = { .requests = requests,
		.cluster = cluster,
		.placement = placement_find("consolidate"),
		.model = models,
		.n_models = 1,
		.deployment = &d,
		.n_deployments = 1,
		.options = options,
		.seed = 1,
		.until_ns = ORR_NEVER,
		.check = true,
		.record_requests = true,
		.max_rows = 1000000 };
	struct run_result *r = result_new();
	if (serve_run(&c, &orr_policy_serve_splitwise, args, "splitwise", r, &err))
		ok(false, "%s: %s", run, err.text);
	else
		compare(run, r);
	result_free(r);
	args_free(args);
	args_free(options);
	cluster_free(cluster);
	reqset_free(requests);
}

int main(void)
{
	const char *data = getenv("ORRERY_DATA_PATH");
	snprintf(folder, sizeof folder, "%s/oracles/splitwise-sim", data ? data : "../shared");
	struct served *m = model();
	if (!m) {
		skip("no data: ORRERY_DATA_PATH/oracles/splitwise-sim/perf_model.csv does not exist");
		return done();
	}
	one_run(m, "test_base_1h", "test_trace.csv", 1, "round-robin");
	one_run(m, "conv2000_base_2h_tjsq", "conv2000.csv", 2, "token-jsq");
	one_run(m, "conv2000_base_2h_rr", "conv2000.csv", 2, "round-robin");
	one_run(m, "conv2000_base_1h_rr", "conv2000.csv", 1, "round-robin");
	served_free(m);
	return done();
}
