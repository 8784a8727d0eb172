/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_derive_jobs.c - derived step times against runs of the step world with the settings of the job; missing values, error
 * messages, and the cache of jobs
 */
#include "spot/derive.h"
#include "spot/elastic_cache.h"
#include "tests/hwmodel/elastic_find.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_bamboo;

#define MODEL "gpt:hidden=256,layers=8,heads=4,seq=64,vocab=1000"
#define JOB_OF(name, model, device)                                                                                                        \
	"{\"name\":\"" name "\",\"source\":\"made up\",\"on_demand\":{\"nodes\":4},\"step\":{\"model\":\"" model "\",\"device\":\"" device \
	"\","
#define SHAPES "\"max_pipelines\":2,\"max_depth\":4,\"max_nodes\":6"
#define SMALL JOB_OF("small", MODEL, "2080ti") "\"batch\":11,\"micro_batch\":2,\"node_Gbps\":10,\"latency_us\":25," SHAPES

static struct elastic *derived(const char *text, struct derive_report *report, struct orr_error *err)
{
	struct elastic *j = elastic_parse("in", text, strlen(text), err);
	struct derive d = { &orr_policy_bamboo, 2, report };
	if (j && !elastic_derive(j, &d, err))
		return j;
	elastic_free(j);
	return NULL;
}

/* ---- against the step world ---- */

struct outcome {
	double step_s, redundant, bubble;
};

/* Runs two iterations of `d` pipelines of `p` stages of one node each; returns the last iteration. The 2080ti has no profile; 11
 * samples are 6 micro-batches of 2. */
static struct outcome direct(uint32_t d, uint32_t p, const char *redundancy, int failed, const char *more)
{
	struct outcome o = { .step_s = NAN };
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	char cluster[32], set[300];
	uint32_t m = d == 1 ? 6 : 3;
	snprintf(cluster, sizeof cluster, "%ux1:2080ti", d * p);
	snprintf(set, sizeof set, "stages=%u micro_batches=%u global_batch=%u redundancy=%s failed=%d %s", p, m, m * d * 2, redundancy,
		failed, more);
	struct fixture *f = fixture_new(cluster, "star:bw=1.25GBps,lat=12.5us", MODEL, 2);
	fixture_set(f, "iterations=2");
	fixture_set(f, "optimizer=adam");
	f->config.spans = 1;
	if (fixture_run(f, &orr_policy_bamboo, set, &r, &e)) {
		printf("# %s\n", e.text);
	} else {
		double busy = 0, extra = 0, nodes = (double)(failed < 0 ? p : p - 1) * (r.was_merged ? 1 : d);
		o.step_s = r.iteration[1].end_s - r.iteration[0].end_s;
		for (size_t i = 0; i < r.n_spans; i++) {
			busy += r.span[i].work < ORR_WORK_KINDS ? r.span[i].end_s - r.span[i].start_s : 0;
			extra += r.span[i].work == ORR_OTHER_WORK ? r.span[i].end_s - r.span[i].start_s : 0;
		}
		o.bubble = fmax(1 - busy / (nodes * o.step_s), 0);
		o.redundant = extra / (nodes * o.step_s);
	}
	step_result_free(&r);
	fixture_free(f);
	return o;
}

static bool is_same(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(b), 1e-3);
}

static void check_settings(const char *keys, const char *settings, const char *redundancy)
{
	struct orr_error e = { 0 };
	struct derive_report r = { 0 };
	char text[1000];
	snprintf(text, sizeof text, "%s,\"redundancy\":\"%s\"%s}}", SMALL, redundancy, keys);
	struct elastic *j = derived(text, &r, &e);
	if (!ok(j && r.n == 7, "seven shapes of at most six nodes are derived%s%s", j ? "" : ": ", j ? "" : e.text))
		return;
	for (size_t i = 0; i < r.n; i++) {
		const struct derive_row *x = &r.row[i];
		uint32_t d = x->pipelines, p = x->depth, lost[3] = { 0, p / 2, p - 1 }, n = 0;
		struct outcome plain = direct(d, p, "none", -1, settings), with = { 0 };
		double degraded = 0;
		for (int k = 0; k < 3; k++)
			if (!n || lost[k] != lost[n - 1])
				lost[n++] = lost[k];
		if (p > 1)
			with = direct(d, p, redundancy, -1, settings);
		for (uint32_t k = 0; p > 1 && k < n; k++)
			degraded += direct(d, p, redundancy, (int)lost[k], settings).step_s / n;
		bool good = is_same(x->kind[ELASTIC_PLAIN].step_s, plain.step_s) && is_same(x->kind[ELASTIC_PLAIN].bubble, plain.bubble) &&
			    is_same(x->kind[ELASTIC_REDUNDANT].step_s, with.step_s) &&
			    is_same(x->kind[ELASTIC_REDUNDANT].redundant, with.redundant) &&
			    is_same(x->kind[ELASTIC_REDUNDANT].bubble, with.bubble) && is_same(x->kind[ELASTIC_DEGRADED].step_s, degraded);
		if (!ok(good, "%u pipelines of depth %u: steps as in the step world with %s redundancy=%s", d, p, settings, redundancy))
			printf("# plain %.12g and %.12g, redundant %.12g and %.12g, degraded %.12g and %.12g, bubble %g and %g, part %g "
			       "and %g\n",
				x->kind[ELASTIC_PLAIN].step_s, plain.step_s, x->kind[ELASTIC_REDUNDANT].step_s, with.step_s,
				x->kind[ELASTIC_DEGRADED].step_s, degraded, x->kind[ELASTIC_PLAIN].bubble, plain.bubble,
				x->kind[ELASTIC_REDUNDANT].redundant, with.redundant);
		const struct elastic_point *point = elastic_find(j, d, p);
		ok(point && fabs((double)point->step_ns[ELASTIC_PLAIN] - 1e9 * x->kind[ELASTIC_PLAIN].step_s) <= 0.5001 &&
				fabs((double)point->step_ns[ELASTIC_DEGRADED] - 1e9 * x->kind[ELASTIC_DEGRADED].step_s) <= 0.5001 &&
				fabs((double)point->failover_ns - 1e9 * x->failover_s) <= 0.5001 &&
				is_same(point->redundant, x->kind[ELASTIC_REDUNDANT].redundant),
			"the point of the job has these times, rounded to ns");
		ok(p == 1 || !strcmp(redundancy, "both") ? x->failover_s == 0
							 : x->failover_s > 0 && x->failover_s < x->kind[ELASTIC_PLAIN].step_s,
			"a failover repeats backward passes of a step, unless both passes are redundant: %g s", x->failover_s);
	}
	derive_report_free(&r);
	elastic_free(j);
}

/* ---- values that the file lacks ---- */

static void check_lacking(void)
{
	/* Bytes per parameter: weights of 4 bytes, or weights of 2 bytes with a master copy of 4 bytes; moments of 4 bytes each. */
	static const struct {
		const char *keys;
		double bytes;
	} rows[] = { { "", 12 }, { ",\"optimizer\":\"adam\"", 12 }, { ",\"optimizer\":\"momentum\"", 8 }, { ",\"optimizer\":\"sgd\"", 4 },
		{ ",\"precision\":\"fp16\"", 14 }, { ",\"precision\":\"bf16\",\"optimizer\":\"sgd\"", 6 },
		{ ",\"precision\":\"tf32\",\"optimizer\":\"momentum\"", 8 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct orr_error e = { 0 };
		char text[1000];
		/* The device is an A100, which has all precisions. */
		snprintf(text, sizeof text, "%s\"batch\":4,\"micro_batch\":2,\"node_Gbps\":10,\"max_pipelines\":1,\"max_depth\":1%s}}",
			JOB_OF("x", MODEL, "a100"), rows[i].keys);
		struct elastic *j = derived(text, NULL, &e);
		if (!ok(j && j->parameters > 8 * 12 * 256.0 * 256 && is_same(j->state_bytes, rows[i].bytes * j->parameters),
			    "%g bytes of state for each parameter%s", rows[i].bytes, rows[i].keys))
			printf("# %s\n", e.text);
		elastic_free(j);
	}
	struct orr_error e = { 0 };
	struct elastic *j = derived("{\"name\":\"x\",\"source\":\"s\",\"state_bytes\":5,\"parameters\":7,\"on_demand\":{\"nodes\":1,"
				    "\"step_s\":3},\"step\":{\"model\":\"" MODEL "\",\"device\":\"v100\",\"batch\":4,\"micro_batch\":2,"
				    "\"node_Gbps\":10,\"max_pipelines\":1,\"max_depth\":2}}",
		NULL, &e);
	ok(j && is_same(j->state_bytes, 5) && is_same(j->parameters, 7) && j->on_demand_step_ns == 3 * ORR_SECOND,
		"values of the file are kept");
	elastic_free(j);
	j = derived(SMALL "}}", NULL, &e);
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; j && i < j->n_points; i++)
		if (j->point[i].pipelines * j->point[i].depth <= 4 && j->point[i].step_ns[ELASTIC_PLAIN] < least)
			least = j->point[i].step_ns[ELASTIC_PLAIN];
	ok(j && j->on_demand_step_ns == least, "the on-demand baseline is the shortest plain step on at most its nodes");
	elastic_free(j);
	j = derived("{\"name\":\"x\",\"source\":\"s\",\"step\":{\"model\":\"" MODEL "\",\"device\":\"v100\",\"batch\":4,\"micro_batch\":2,"
		    "\"node_Gbps\":10,\"max_pipelines\":1,\"max_depth\":2}}",
		NULL, &e);
	ok(j && !j->on_demand_step_ns && j->n_points == 2, "a job without a baseline has none");
	elastic_free(j);
}

/* ---- shapes ---- */

static void check_shapes(void)
{
	/* keys, and the expected shapes as pipelines x depth */
	static const struct {
		const char *keys, *shapes;
	} rows[] = {
		{ "\"batch\":4,\"micro_batch\":2,\"max_pipelines\":3,\"max_depth\":2", "1x1 1x2 2x1 2x2 " },
		{ "\"batch\":5,\"micro_batch\":2,\"max_pipelines\":3,\"max_depth\":1", "1x1 2x1 " },
		{ "\"batch\":6,\"micro_batch\":2,\"max_pipelines\":3,\"max_depth\":1", "1x1 2x1 3x1 " },
		{ "\"batch\":8,\"micro_batch\":2,\"max_pipelines\":2,\"min_depth\":2,\"max_depth\":3,\"max_nodes\":4", "1x2 1x3 2x2 " },
		{ "\"batch\":8,\"micro_batch\":2,\"max_pipelines\":2,\"min_depth\":3,\"max_depth\":3,\"max_nodes\":6", "1x3 2x3 " },
		{ "\"batch\":8,\"micro_batch\":2,\"max_pipelines\":2,\"min_depth\":3,\"max_depth\":3,\"max_nodes\":5", "1x3 " },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct orr_error e = { 0 };
		char text[1000], shapes[200] = "";
		snprintf(text, sizeof text, "%s\"node_Gbps\":10,%s}}", JOB_OF("x", MODEL, "v100"), rows[i].keys);
		struct elastic *j = derived(text, NULL, &e);
		for (uint32_t k = 0; j && k < j->n_points; k++) {
			size_t n = strlen(shapes);
			snprintf(shapes + n, sizeof shapes - n, "%ux%u ", j->point[k].pipelines, j->point[k].depth);
		}
		same_text(shapes, rows[i].shapes, "each pipeline has a micro-batch, and all fit the nodes");
		elastic_free(j);
	}
	/* A stage begins at a layer outside the blocks or at the first layer of a block; the last two layers, the output and its softmax,
	 * are in one stage. */
	struct orr_error e = { 0 };
	struct dnn *dnn = dnn_load(MODEL, &e);
	uint32_t places = 0;
	for (uint32_t l = 0; dnn && l + 1 < dnn->n_layers; l++)
		places += l == 0 || dnn->layer[l].block == DNN_NO_BLOCK || dnn->layer[l].block != dnn->layer[l - 1].block;
	dnn_free(dnn);
	struct elastic *j =
		derived(JOB_OF("x", MODEL, "v100") "\"batch\":2,\"micro_batch\":2,\"node_Gbps\":10,\"max_pipelines\":1,\"min_depth\":8,"
						   "\"max_depth\":64}}",
			NULL, &e);
	ok(j && places > 8 && j->point[j->n_points - 1].depth == places, "the deepest pipeline has a stage at each of %u places", places);
	elastic_free(j);
}

/* Writes a 2080ti with this memory to a file, whose name it returns. */
static const char *device_with(double bytes)
{
	static char path[] = "/tmp/orrery-device.XXXXXX";
	const char *folder = getenv("srcdir"), key[] = "\"memory_GiB\": ";
	char source[1000], line[2000], *at;
	snprintf(source, sizeof source, "%s/hwmodel/devices/2080ti.json", folder ? folder : ".");
	strcpy(path + sizeof path - 7, "XXXXXX");
	FILE *in = fopen(source, "r"), *out = fdopen(mkstemp(path), "w");
	while (in && fgets(line, sizeof line, in))
		if ((at = strstr(line, key)))
			fprintf(out, "\t%s%.17g,\n", key, bytes / 1073741824);
		else
			fputs(line, out);
	if (in)
		fclose(in);
	fclose(out);
	return path;
}

/* A shape fits if its peak is at most the memory of the device. */
static void check_memory(void)
{
	static const char keys[] = "\"batch\":4,\"micro_batch\":2,\"node_Gbps\":10,\"max_pipelines\":1,\"max_depth\":2}}";
	struct orr_error e = { 0 };
	struct derive_report r = { 0 };
	char text[1000];
	snprintf(text, sizeof text, "%s%s", JOB_OF("x", MODEL, "2080ti"), keys);
	elastic_free(derived(text, &r, &e));
	double peak = r.n == 2 ? r.row[0].kind[ELASTIC_PLAIN].peak_bytes : NAN;
	derive_report_free(&r);
	for (int is_less = 0; is_less < 2; is_less++) {
		const char *device = device_with(is_less ? nextafter(peak, 0) : peak);
		snprintf(text, sizeof text, JOB_OF("x", MODEL, "%s") "%s", device, keys);
		struct elastic *j = derived(text, NULL, &e);
		ok(j && (elastic_find(j, 1, 1) != NULL) == !is_less && elastic_find(j, 1, 2), "a memory of %s the peak of one stage: %s",
			is_less ? "less than" : "exactly", j ? "derived" : e.text);
		elastic_free(j);
		unlink(device);
	}
}

/* ---- refusals ---- */

static void check_refusals(void)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ JOB_OF("x", MODEL, "v100") "\"batch\":2,\"micro_batch\":2,\"node_Gbps\":0.001,\"latency_us\":1e9,\"max_pipelines\":1,"
					     "\"min_depth\":8,"
					     "\"max_depth\":8,\"precision\":\"fp8\"}}",
			"$.step.precision" },
		{ JOB_OF("x", "no_model", "v100") "\"batch\":2,\"micro_batch\":2,\"node_Gbps\":1}}", "job x: $.step.model: " },
		{ JOB_OF("x", MODEL, "v1") "\"batch\":2,\"micro_batch\":2,\"node_Gbps\":1}}", "job x: $.step.device: " },
		{ JOB_OF("x", "gpt3_175b", "v100") "\"batch\":2,\"micro_batch\":2,\"node_Gbps\":1,\"max_pipelines\":1,\"max_depth\":2}}",
			"job x: $.step: none of the 2 shapes fits into the memory of v100" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct orr_error e = { 0 };
		struct elastic *j = derived(rows[i].text, NULL, &e);
		ok(!j && e.code == ORR_EINPUT && strstr(e.text, rows[i].message), "refused: %s", e.text);
		elastic_free(j);
	}
}

/* ---- the cache ---- */

static const struct elastic_entry *cached(const char *text, struct orr_error *err)
{
	struct elastic *j = elastic_parse("in", text, strlen(text), err);
	return j ? elastic_cached(j, err) : NULL;
}

static void check_cache(void)
{
	static const char one[] = SMALL "}}", other[] = SMALL ",\"redundancy\":\"none\"}}";
	static const char table[] = "{\"name\":\"x\",\"source\":\"s\",\"samples_per_step\":1,\"points\":[[1,1,5]]}";
	static const char named[] = "{\"name\":\"y\",\"source\":\"s\",\"samples_per_step\":1,\"points\":[[1,1,5]]}";
	struct orr_error e = { 0 };
	const struct elastic_entry *a = cached(one, &e), *b = cached(one, &e), *c = cached(other, &e), *d = cached(table, &e),
				   *f = cached(named, &e);
	ok(a && a == b && a->job->n_points == 7, "a job is derived once");
	ok(c && c != a && strlen(a->steps_hash) == 64 && strlen(c->steps_hash) == 64 && strcmp(a->steps_hash, c->steps_hash),
		"other step times have another hash");
	ok(d && f && d != f && !*d->steps_hash && d == cached(table, &e) && f == cached(named, &e), "jobs with a table are not derived");
	ok(!cached(JOB_OF("bad", "no_model", "v100") "\"batch\":2,\"micro_batch\":2,\"node_Gbps\":1}}", &e) && e.code == ORR_EINPUT &&
			strstr(e.text, "job bad: job bad: $.step.model"),
		"a job that cannot be derived: %s", e.text);
	ok(cached(one, &e) == a, "the cache is unchanged");
}

int main(void)
{
	check_settings("", "recompute=none cut=time", "eager");
	check_settings(",\"recompute\":\"full\",\"cut\":\"memory\"", "recompute=full cut=memory", "lazy");
	check_settings(",\"recompute\":\"selective\",\"cut\":\"blocks\"", "recompute=selective cut=blocks", "both");
	check_lacking();
	check_shapes();
	check_memory();
	check_refusals();
	check_cache();
	return done();
}
