/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* memmem() */
#include "tests/fuzz/target.h"

#include "base/mem.h"
#include "calib/points.h"
#include "cluster/cluster.h"
#include "cluster/failures.h"
#include "hwmodel/dnn_plan.h"
#include "hwmodel/profile.h"
#include "hwmodel/served.h"
#include "hwmodel/throughput.h"
#include "net/netflows.h"
#include "net/topology.h"
#include "policies/step/graph_read.h"
#include "policies/step/partitions.h"
#include "step/replay.h"
#include "traces/avail.h"
#include "traces/chakra_load.h"
#include "traces/profile.h"
#include "traces/generator.h"
#include "traces/requests.h"
#include "traces/trace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 20000 }; /* a small compressed input may contain many rows */

const char *const fuzz_parsers[] = { "auto", "flow", "philly", "tiresias", "muri", "pollux", "gavel", "openb", "openb-nodes", "swf",
	"orrery", "azure-llm", "mooncake", "burstgpt", "splitwise", "vidur", "requests", "bamboo", "gcp-polls", "step-curve",
	"parcae-counts", "parcae-segment", "skypilot", "availability", "prices", "avail-model", "request-model", "throughput", "cluster",
	"spec", "failures", "model", "model-spec", "topology", "topology-spec", "netflows", "graph", "partitions", "partitions-text",
	"points", "device-profile", "served", "csv", "csv-requests", "acme", "helios", "itp", "dlrm", "spot-gpu", "slurm", "philly-raw",
	"kubernetes", "aws-prices", "bailian", "pai", "shockwave", "chakra", "chakra-groups", "astra-network", "astra-system", NULL };

static void require(int is_true)
{
	if (!is_true)
		abort();
}

static void read_rows(struct trace *t, struct orr_error *err)
{
	struct orr_trace_job row;
	int rc = 1;
	for (int i = 0; i < MAX_ROWS && rc == 1; i++) {
		rc = trace_next(t, &row, err);
		if (rc != 1)
			break;
		require(row.submit_ns >= 0 && row.duration_ns >= -1 && row.gpu_milli <= 1000 && row.id);
	}
	require(rc != -1 || err->text[0]);
	struct trace_fact fact;
	for (size_t i = 0; trace_fact(t, i, &fact); i++)
		require(fact.name && memchr(fact.value, '\0', sizeof fact.value));
}

static void describe(struct trace *t, struct orr_error *err)
{
	struct trace_profile *p = trace_profile_new();
	require(!trace_describe(t, p, err) || err->text[0]);
	trace_profile_free(p);
}

static void throughput(const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	struct throughput *t = throughput_parse("input", (const char *)data, n, &err);
	require(t || err.text[0]);
	if (t)
		throughput_lookup(t, "v100", "A3C", 1);
	throughput_free(t);
}

/* Parses a cluster file, a cluster specification, or a trace of failures on 4x2. */
static void cluster(const char *parser, const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	char *text = mem_strndup((const char *)data, n);
	if (!strcmp(parser, "failures")) {
		struct cluster *c = cluster_load("4x2", &err);
		struct failures *f = failures_from_text("input", text, c, &err);
		require(f || (err.code == ORR_EINPUT && err.text[0]));
		failures_free(f);
		cluster_free(c);
	} else {
		bool is_spec = !strcmp(parser, "spec");
		struct cluster *c = is_spec ? cluster_load(text, &err) : cluster_from_text("input", text, &err);
		require(c ? c->n_nodes > 0 : err.code == ORR_EINPUT && err.text[0]);
		cluster_free(c);
	}
	mem_free(text);
}

/* Parses a model as JSON or by its dimensions. */
static void model(const char *parser, const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	struct dnn *d = NULL;
	if (!strcmp(parser, "model")) {
		d = dnn_parse("input", (const char *)data, n, &err);
	} else {
		char *text = mem_strndup((const char *)data, n);
		struct plan *p = plan_from_spec(text, &err);
		d = p ? plan_expand(p) : NULL;
		mem_free(text);
	}
	require(d || (err.code == ORR_EINPUT && err.text[0]));
	require(!d || (d->n_layers > 0 && d->fc_first <= d->n_layers && d->params >= 0));
	for (uint32_t i = 0; d && i < d->n_layers; i++) {
		const struct dnn_layer *l = &d->layer[i];
		require(l->name && l->params >= 0 && l->fwd_flops >= 0 && l->saved_elems >= 0 && l->m >= 0 &&
			(l->block == DNN_NO_BLOCK || l->block < d->blocks));
	}
	dnn_free(d);
}

/* A topology, as JSON or as text, on a small cluster: every route must be valid. */
static void topology(bool is_spec, const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	char *text = mem_strndup((const char *)data, n);
	struct cluster *c = cluster_load("3x2,1x0,1x1", &err);
	struct topo *t = is_spec ? topo_load(c, text, 1, &err) : topo_parse(c, "input", (const char *)data, n, 1, NULL, &err);
	require(t ? t->n_gpus == 7 : err.code == ORR_EINPUT && err.text[0]);
	for (uint32_t s = 0; t && s < topo_endpoints(t); s++)
		for (uint32_t d = 0; d < topo_endpoints(t); d++) {
			uint32_t hop[TOPO_MAX_HOPS], hops = topo_route(t, s, d, 1, hop);
			require(hops <= TOPO_MAX_HOPS && (hops || topo_node(t, s) == topo_node(t, d)));
			for (uint32_t i = 0; i < hops; i++)
				require(hop[i] < t->n_links && t->link[hop[i]].flow.capacity_Bps >= 0 &&
					t->link[hop[i]].flow.latency_s >= 0);
		}
	topo_free(t);
	cluster_free(c);
	mem_free(text);
}

/* Links, a line "--", flows. Accepted input is run, with the allocation checked at every instant. */
static void netflows(const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	const uint8_t *cut = memmem(data, n, "\n--\n", 4);
	size_t n_links = cut ? (size_t)(cut - data) + 1 : n, skip = cut ? n_links + 3 : n;
	struct lines *links = lines_open_memory("links", data, n_links);
	struct lines *flows = lines_open_memory("flows", data + skip, n - skip);
	struct netflows *f = netflows_read(links, flows, &err);
	require(f || (err.code == ORR_EINPUT && err.text[0]));
	for (int weighted = 0; f && weighted < 2; weighted++) {
		struct netflows_options o = { .fairness = weighted ? FLOW_RTT_WEIGHTED : FLOW_MAX_MIN, .is_checked = true };
		struct netflows_row row;
		int rc = netflows_run(f, &o, &err);
		require(!rc || strstr(err.text, "never end"));
		for (uint32_t i = 0; !rc && i < netflows_count(f); i++) {
			netflows_get(f, i, &row);
			require(row.start_s >= 0 && row.finish_s >= row.start_s && row.id[0]);
		}
	}
	netflows_free(f);
	lines_close(links);
	lines_close(flows);
}

/* An accepted graph can be built: ops wait for earlier ops, and all references exist. */
static void graph(const uint8_t *data, size_t n)
{
	static const char *const layer[] = { "conv1", "relu", "conv2", "fc", NULL };
	static const double params[] = { 10, 0, 20, 30 };
	const struct graph_facts f = { .gpus = 4, .endpoints = 6, .layers = 4, .layer = layer, .params = params };
	struct orr_error err = { 0 };
	struct graph *g = graph_file_read("input", (const char *)data, n, &f, &err);
	require(g || (err.code == ORR_EINPUT && !strncmp(err.text, "input:", 6)));
	require(!g || g->n);
	for (uint32_t i = 0; g && i < g->n; i++) {
		const struct graph_op *o = &g->op[i];
		require(o->id && o->at < g->n && o->amount >= 0 && o->device < f.endpoints && o->peer < f.endpoints);
		for (uint32_t k = 0; k < o->n_after; k++)
			require(o->after[k] < i);
		for (uint32_t k = 0; k < o->n_previous; k++)
			require(o->previous[k] < g->n);
		for (uint32_t k = 0; k < o->n_ranges; k++)
			require(o->range[k].count && o->range[k].first + o->range[k].count <= f.layers);
		require(o->kind != GRAPH_COLLECTIVE || (o->group < g->n_groups && o->collective.root < g->group[o->group].n));
	}
	for (uint32_t i = 0; g && i < g->n_groups; i++)
		for (uint32_t k = 0; k < g->group[i].n; k++)
			require(g->group[i].member[k] < f.endpoints);
	graph_file_free(g);
}

/* Partitions of four workers, as JSON or as text. */
static void partitions(bool is_text, const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	struct partition_list l = { 0 };
	char *text = mem_strndup((const char *)data, n);
	int rc = is_text ? partitions_from_text(&l, text, 4, &err) : partitions_from_json(&l, "input", (const char *)data, n, 4, &err);
	require(rc ? rc == ORR_EINPUT && err.text[0] : l.n > 0);
	for (uint32_t i = 0; !rc && i < l.n; i++) {
		unsigned seen = 0;
		for (int k = 0; k < 4; k++)
			seen |= 1u << l.item[i].member[k];
		require(seen == 15 && l.item[i].groups && l.item[i].end[l.item[i].groups - 1] == 4);
	}
	partitions_free(&l);
	mem_free(text);
}

static void points(const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	struct points p;
	int rc = points_parse("input", (const char *)data, n, &p, &err);
	require(rc ? rc == ORR_EINPUT && err.text[0] && !p.n : true);
	for (size_t i = 0; i < p.n; i++)
		require(p.v[i].time_s > 0 && p.v[i].family[0] && p.v[i].flops >= 0 && !(p.v[i].low_s > p.v[i].time_s));
	points_free(&p);
}

/* An accepted profile has passed its self-check: every law gives a time. */
static void device_profile(const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	struct profile *p = profile_parse("input", (const char *)data, n, &err);
	require(p || (err.code == ORR_EINPUT && err.text[0]));
	for (size_t i = 0; p && i < p->n_laws; i++) {
		static const double z[LAW_PARAMS] = { 1, -1, 1, -1, 1, -1 };
		bool is_inside;
		double t = law_time(&p->law[i], 1e9, 1e6, 1e6, &is_inside);
		require(t >= 0 && law_time_drawn(&p->law[i], z, 1, 1e9, 1e6, 1e6) >= 0);
	}
	if (p)
		mem_free(profile_summary(p));
	profile_free(p);
}

/* An accepted model has times above 0 for each of its sizes. */
static void served(const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	struct served *m = served_parse("input", (const char *)data, n, &err);
	require(m || (err.code == ORR_EINPUT && !strncmp(err.text, "input:", 6)));
	for (uint32_t b = 0; m && b < m->n_batches; b++)
		require(served_latency(m, m->batch[b], m->n_lengths ? m->length[0] : 0) > 0 && served_memory_of(m, m->batch[b]).peak >= 0);
	struct served_place p = { .tp = 1, .pp = 1 };
	struct served_on *x =
		m && m->kind == SERVED_LLM ? served_on_new(m, &p, &err) : NULL; /* models by layers need a device, so they are skipped */
	struct llm_load w = { 3, 1, 9, 70, 90 };
	require(!x || served_iteration(x, &w) > 0);
	served_on_free(x);
	served_free(m);
}

static void require_requests(const struct reqset *s)
{
	struct request_rec r;
	struct reqcursor *c = reqset_open(s, 1);
	int64_t last = 0;
	uint64_t hashes = 0;
	for (uint64_t i = 0; i < MAX_ROWS && reqcursor_next(c, &r); i++) {
		require(r.number == i && r.arrival_ns >= last && r.slo_ns >= -1 && r.samples >= 1 && r.samples <= REQUEST_MAX_SAMPLES);
		require(r.prompt_tokens <= REQUEST_MAX_TOKENS && r.output_tokens <= REQUEST_MAX_TOKENS && (r.block || !r.n_blocks));
		require(!r.max_output || r.output_tokens <= r.max_output);
		for (uint32_t k = 0; k < r.n_blocks; k++)
			hashes ^= r.block[k]; /* lets sanitizers detect reads past the end */
		last = r.arrival_ns;
	}
	require(hashes != 1 || last >= 0);
	reqcursor_close(c);
}

/* Reads the rows of a file or of a generator. */
static void requests(struct trace *t, const uint8_t *data, size_t n, struct orr_error *err)
{
	char *text = mem_strndup((const char *)data, n);
	bool is_text = !t, names_a_file = strstr(text, "lengths") != NULL;
	struct reqset *s = t                                    ? reqset_from(t, "input", err)
			   : names_a_file || !strchr(text, ':') ? NULL
								: reqset_load(text, NULL, NULL, 1, err);
	require(s || err->text[0] || is_text);
	if (s)
		require_requests(s);
	reqset_free(s);
	mem_free(text);
}

static void require_avail(const struct availset *s)
{
	struct avail_rec r;
	struct availcursor *c = availset_open(s, 1);
	int64_t last = 0;
	uint32_t live = 0, added = 0;
	for (uint64_t i = 0; i < MAX_ROWS && availcursor_next(c, &r); i++) {
		require(r.number == i && r.t_ns >= last && r.usd_per_hour >= -1);
		require(r.kind == AVAIL_ADD ? r.instance == added : r.kind == AVAIL_PRICE || r.instance < added);
		added += r.kind == AVAIL_ADD;
		live += r.kind == AVAIL_ADD ? 1 : r.kind == AVAIL_REMOVE ? -1u : 0;
		require(r.live == live);
		last = r.t_ns;
	}
	availcursor_close(c);
}

/* Reads the rows of a file, unchanged or shifted, or of a generator with few slots. */
static void avail(struct trace *t, const uint8_t *data, size_t n, struct orr_error *err)
{
	static const struct avail_shift shift = { .start_ns = 1000000, .wraps = true, .stretch = 2, .scale = 1.5, .cap = 3 };
	char *text = mem_strndup((const char *)data, n);
	bool is_text = !t, is_file = !strchr(text, ':') || !strncmp(text, "zones:", 6) || strstr(text, "slots") || strstr(text, "nodes");
	struct availset *s = t ? availset_from(t, "input", err) : is_file ? NULL : availset_load(text, NULL, NULL, 1, err);
	require(s || err->text[0] || is_text);
	if (s)
		require_avail(s);
	if (s && !is_text && !availset_shift(s, &shift, err))
		require_avail(s);
	availset_free(s);
	mem_free(text);
}

/* The table of jobs, a line "--", the table of tasks, which the reader opens as a file. */
static void pai(const uint8_t *data, size_t n)
{
	struct orr_error err = { 0 };
	const uint8_t *cut = memmem(data, n, "\n--\n", 4);
	size_t n_jobs = cut ? (size_t)(cut - data) + 1 : n, skip = cut ? n_jobs + 3 : n;
	char option[64];
	const char *const options[] = { option, NULL };
	FILE *tasks = tmpfile();
	require(tasks && fwrite(data + skip, 1, n - skip, tasks) == n - skip && !fflush(tasks));
	snprintf(option, sizeof option, "tasks=/dev/fd/%d", fileno(tasks));
	struct trace *t = trace_open_memory("input", data, n_jobs, "pai", options, &err);
	require(t || err.text[0]);
	if (t)
		read_rows(t, &err);
	trace_close(t);
	fclose(tasks);
}

/* An execution trace of rank 0 of 2, run in both modes; a network or a system by which a trace runs. */
static void chakra(const char *parser, const uint8_t *data, size_t n)
{
	static const char plain_network[] = "topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n";
	static const char plain_system[] = "{\"local-mem-bw\": 1600, \"preferred-dataset-splits\": 4, \"endpoint-delay\": 10}";
	static const char plain_trace[] = "\0\x04\x08\x01\x18\x04";
	struct orr_error err = { 0 };
	struct astra_network net;
	struct astra_system sys;
	char *text = mem_strndup((const char *)data, n);
	bool is_trace = !strcmp(parser, "chakra"), is_network = !strcmp(parser, "astra-network"),
	     is_system = !strcmp(parser, "astra-system");
	int rc = astra_network_parse("input", is_network ? text : plain_network, &net, &err);
	if (!rc)
		rc = is_system ? astra_system_parse("input", (const char *)data, n, &sys, &err)
			       : astra_system_parse("input", plain_system, sizeof plain_system - 1, &sys, &err);
	require(!rc || (rc == ORR_EINPUT && err.text[0]));
	struct chakra *t = NULL;
	if (!rc)
		t = is_trace ? chakra_from_memory("input", data, n, 0, 2, &err)
			     : chakra_from_memory("input", plain_trace, sizeof plain_trace - 1, 0, net.npus < 64 ? net.npus : 2, &err);
	require(rc || t || (err.code == ORR_EINPUT && !strncmp(err.text, "input:", 6)));
	if (t && !strcmp(parser, "chakra-groups"))
		require(!chakra_groups_parse(t, "input", text, strlen(text), &err) || !strncmp(err.text, "input:", 6));
	for (int aware = 0; t && aware < 2; aware++) {
		struct replay_result out;
		struct replay_config c = { .trace = t, .network = &net, .system = &sys, .is_aware = aware, .check = true };
		err.code = 0;
		rc = replay_run(&c, &out, &err);
		require(!rc || (rc == ORR_EINPUT && err.text[0]));
		for (uint32_t i = 0; !rc && i < out.n; i++)
			require(out.rank[i].finish_ns >= 0);
		replay_result_free(&out);
	}
	chakra_free(t);
	mem_free(text);
}

void fuzz_one(const char *parser, const uint8_t *data, size_t n)
{
	if (!strncmp(parser, "topology", 8)) {
		topology(parser[8] != '\0', data, n);
		return;
	}
	if (!strcmp(parser, "graph")) {
		graph(data, n);
		return;
	}
	if (!strncmp(parser, "partitions", 10)) {
		partitions(parser[10] != '\0', data, n);
		return;
	}
	if (!strcmp(parser, "throughput")) {
		throughput(data, n);
		return;
	}
	if (!strcmp(parser, "points")) {
		points(data, n);
		return;
	}
	if (!strcmp(parser, "device-profile")) {
		device_profile(data, n);
		return;
	}
	if (!strcmp(parser, "served")) {
		served(data, n);
		return;
	}
	if (!strncmp(parser, "chakra", 6) || !strncmp(parser, "astra", 5)) {
		chakra(parser, data, n);
		return;
	}
	if (!strcmp(parser, "pai")) {
		pai(data, n);
		return;
	}
	if (!strcmp(parser, "netflows")) {
		netflows(data, n);
		return;
	}
	if (!strcmp(parser, "cluster") || !strcmp(parser, "spec") || !strcmp(parser, "failures")) {
		cluster(parser, data, n);
		return;
	}
	if (!strncmp(parser, "model", 5)) {
		model(parser, data, n);
		return;
	}
	struct orr_error err = { 0 };
	if (!strcmp(parser, "request-model")) {
		requests(NULL, data, n, &err);
		return;
	}
	if (!strcmp(parser, "avail-model")) {
		avail(NULL, data, n, &err);
		return;
	}
	static const char *const spread[] = { "spread=true", "tick=1s", "repeat=3", "compress=7", NULL };
	static const char *const jobs[] = { "map=job_id=id,submit=created_at,gpus=num_gpu,duration=elapsed,end=done,mem=ram,user=owner",
		"repair=all", "load=1.2", NULL };
	static const char *const calls[] = { "map=arrival=when,prompt_tokens=in,output_tokens=out,session=chat,slo=within", "repair=all",
		NULL };
	const char *const *options = !strcmp(parser, "mooncake")                                                                  ? spread
				     : !strcmp(parser, "csv")                                                                     ? jobs
				     : !strcmp(parser, "csv-requests")                                                            ? calls
				     : !strcmp(parser, "slurm") || !strcmp(parser, "philly-raw") || !strcmp(parser, "kubernetes") ? jobs + 1
																  : NULL;
	struct trace *t = trace_open_memory("input", data, n, parser, options, &err);
	require(t || err.text[0]);
	if (t && trace_kind(t) == TRACE_REQUESTS) {
		requests(t, data, n, &err);
		return;
	}
	if (t && trace_kind(t) == TRACE_AVAIL) {
		avail(t, data, n, &err);
		return;
	}
	if (t && !strcmp(trace_format(t), "openb-nodes"))
		describe(t, &err);
	else if (t)
		read_rows(t, &err);
	trace_close(t);
}
