/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Graphs from JSON. Times are computed by hand: links have 8 Gb/s = 1e9 B/s without latency, compute takes whole milliseconds, and a
 * ring all-reduce of n takes 2 (n-1)/n M/B. The graph of policy allreduce takes the same time when it is read from a file.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "policies/step/graph_read.h"

#include <stdlib.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_graph, orr_policy_allreduce;

static const char *const layer[] = { "conv1", "relu", "conv2", "fc", NULL };
static const double params[] = { 10, 0, 20, 30 };
static const struct graph_facts facts = { .gpus = 4, .endpoints = 8, .layers = 4, .layer = layer, .params = params };

static char path[] = "/tmp/orrery-graph-XXXXXX";

static void write_graph(const char *text)
{
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(1);
}

/* Runs a graph on four V100s; the caller frees the result. options: of the step world. */
static struct step_result run(const char *text, const char *model, const char *options)
{
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	struct fixture *f = fixture_new("4x1:v100", "star:bw=8Gbps,lat=0", model, 32);
	char set[64];
	write_graph(text);
	snprintf(set, sizeof set, "file=%s", path);
	if (*options)
		fixture_set(f, options);
	if (fixture_run(f, &orr_policy_graph, set, &r, &e)) {
		printf("# %s\n", e.text);
		r.iteration_s = NAN;
	}
	fixture_free(f);
	return r;
}

static void takes(const char *ops, double seconds, const char *what)
{
	struct step_result r = run(ops, "lenet5", "");
	near_to(r.iteration_s, seconds, 1e-12, what);
	step_result_free(&r);
}

#define OPS(ops) "{ \"ops\": [" ops "] }"
#define BARRIER(ops) "{ \"barrier\": true, \"ops\": [" ops "] }"
#define WORK(id, device, seconds, rest) "{\"id\":\"" id "\",\"compute\":{\"device\":" #device ",\"seconds\":" #seconds "}" rest "}"
#define SEND(id, from, to, bytes, rest) "{\"id\":\"" id "\",\"transfer\":{\"from\":" #from ",\"to\":" #to ",\"bytes\":" #bytes "}" rest "}"
#define AFTER(id) ",\"after\":[\"" id "\"]"

static void test_times(void)
{
	takes(BARRIER(WORK("a", 0, 0.010, "") "," SEND("t", 0, 1, 1e6, AFTER("a")) "," WORK("b", 1, 0.005, AFTER("t"))), 0.016,
		"a chain takes the sum: 10 + 1 + 5 ms");
	takes(OPS(WORK("a", 0, 0.010, "") "," SEND("t", 0, 1, 1e6, AFTER("a")) "," WORK("b", 1, 0.005, AFTER("t"))), 0.010,
		"without a barrier iterations overlap: 10 ms, the longest op");
	takes(OPS(WORK("b", 1, 0.005, AFTER("t")) "," SEND("t", 0, 1, 1e6, AFTER("a")) "," WORK(
		      "a", 0, 0.010, ",\"after_previous\":[\"b\"]")),
		0.016, "after_previous holds an iteration back, and ops stand in any order");
	takes(OPS(WORK("a", 0, 0.010, "") "," SEND("t", 0, 1, 12e6, AFTER("a") ",\"stream\":1")), 0.012,
		"a stream carries one transfer at a time: 12 ms");
	takes(BARRIER(SEND("s", 0, 2, 1e6, "") "," SEND("t", 1, 2, 1e6, "")), 0.002, "two transfers share the link into a device: 2 ms");
	takes(BARRIER(SEND("s", 0, 1, 1e6, "") "," SEND("t", 0, 2, 1e6, "") "," WORK("b", 2, 0.005, AFTER("t"))), 0.007,
		"two transfers share the link out of a device: both end at 2 ms");
	takes(BARRIER(SEND("s", 0, 1, 1e6, ",\"stream\":1") "," SEND("t", 0, 2, 1e6, ",\"stream\":1") "," WORK("b", 2, 0.005, AFTER("t"))),
		0.007, "transfers of one stream run in the order of the file: t ends at 2 ms");
	takes(BARRIER(SEND("s", 0, 1, 1e6, ",\"stream\":1") "," SEND("t", 0, 2, 1e6, ",\"stream\":1,\"priority\":-1") "," WORK(
		      "b", 2, 0.005, AFTER("t"))),
		0.006, "the lowest priority value runs first on a stream: t ends at 1 ms");
	takes(BARRIER(WORK("a", 0, 0.003, "") "," WORK("b", 0, 0.004, "") "," SEND("t", 0, 1, 6e6, AFTER("a"))), 0.009,
		"compute on a device: 3 ms, then 6 ms of transfer beside 4 ms of compute");
	takes(BARRIER(WORK("a", 0, 0.010, "") ","
					      "{\"id\":\"d\",\"delay\":{\"seconds\":0.05},\"detach\":true}"),
		0.010, "a detached op delays nothing");
	takes(BARRIER(WORK("a", 0, 0.010, "") ","
					      "{\"id\":\"d\",\"delay\":{\"seconds\":0.05}}"
					      ","
					      "{\"id\":\"m\",\"mark\":{},\"after\":[\"a\",\"d\"]}"
					      "," WORK("b", 0, 0.001, AFTER("m"))),
		0.051, "delays and marks");
	takes(BARRIER("{\"id\":\"c\",\"collective\":{\"op\":\"all-reduce\",\"group\":[0,2],\"bytes\":4e6,\"algorithm\":\"ring\"}}"), 0.004,
		"a ring of two: 2 x 1/2 x 4 MB at 1 GB/s");
	takes(BARRIER("{\"id\":\"c\",\"collective\":{\"op\":\"all-reduce\",\"group\":\"all\",\"bytes\":4e6,\"repeat\":3}}"), 0.018,
		"three rings of all four GPUs: 3 x 2 x 3/4 x 4 ms");
	takes("{ \"groups\": { \"all\": [1, 3] }, \"barrier\": true, \"ops\": ["
	      "{\"id\":\"c\",\"collective\":{\"op\":\"all-gather\",\"group\":\"all\",\"bytes\":4e6}}] }",
		0.002, "a group named in the file: 1/2 x 4 ms");
}

static void test_books(void)
{
	struct step_result r =
		run("{ \"samples\": 7, \"barrier\": true, \"holds\": [{ \"device\": 0, \"kind\": \"weights\", \"bytes\": 2e9 }],"
		    "\"ops\": [{ \"id\": \"a\", \"compute\": { \"device\": 0, \"seconds\": 0.01, \"work\": \"forward\" },"
		    "\"takes\": { \"device\": 0, \"bytes\": 1e9 }, \"gives\": [{ \"device\": 0, \"bytes\": 1e9 }] },"
		    "{ \"id\": \"u\", \"compute\": { \"device\": 0, \"seconds\": 0.03, \"work\": \"optimizer\" }, \"after\": [\"a\"] }] }",
			"lenet5", "");
	near_to(r.samples_per_s, 7 / 0.04, 1e-12, "samples per iteration are the file's: 7 in 40 ms");
	ok(r.n_devices > 0, "devices are reported");
	if (r.n_devices) {
		near_to(r.device[0].peak_memory_bytes, 3e9, 1e-12, "memory held and taken: 2 + 1 GB");
		near_to(r.device[0].compute_s, 0.01, 1e-12, "compute: 10 ms");
		near_to(r.device[0].optimizer_s, 0.03, 1e-12, "the optimizer takes 30 ms");
	}
	step_result_free(&r);
}

/* Tests that one pass over all layers costs the sum of passes over the single layers, and that lists equal ranges. */
static void test_layers(void)
{
	double t[4];
	char text[600];
	struct fixture *f = fixture_new("4x1:v100", "star", "lenet5", 32);
	uint32_t n = f->dnn->n_layers;
	double want = cost_range_s(f->cost[0], 0, n, DNN_FORWARD, 32, 1, false);
	const char *first = f->dnn->layer[0].name, *second = f->dnn->layer[1].name, *last = f->dnn->layer[n - 1].name;
	for (int i = 0; i < 4; i++) {
		if (i == 0)
			snprintf(text, sizeof text,
				BARRIER("{\"id\":\"a\",\"compute\":{\"device\":0,\"layers\":\"all\",\"pass\":\"forward\"}}"));
		else if (i == 1)
			snprintf(text, sizeof text,
				BARRIER("{\"id\":\"a\",\"compute\":{\"device\":0,\"layers\":[\"%s\"],\"pass\":\"forward\"}},"
					"{\"id\":\"b\",\"compute\":{\"device\":0,\"layers\":{\"first\":\"%s\",\"last\":\"%s\"},\"pass\":"
					"\"forward\"}}"),
				first, second, last);
		else if (i == 2)
			snprintf(text, sizeof text,
				BARRIER("{\"id\":\"a\",\"compute\":{\"device\":0,\"layers\":[\"%s\",\"%s\"],\"pass\":\"forward\"}}"), last,
				first);
		else
			snprintf(text, sizeof text,
				BARRIER("{\"id\":\"a\",\"compute\":{\"device\":0,\"layers\":\"all\",\"pass\":\"forward\",\"batch\":64,"
					"\"shards\":2}}"));
		struct step_result r = run(text, "lenet5", "");
		t[i] = r.iteration_s;
		step_result_free(&r);
	}
	near_to(t[0] / want, 1, 1e-12, "layers have the costs of the cost model");
	near_to(t[1] / want, 1, 1e-12, "layers listed in parts cost as much as all layers at once");
	near_to(t[2] / (cost_range_s(f->cost[0], 0, 1, DNN_FORWARD, 32, 1, false) +
			       cost_range_s(f->cost[0], n - 1, 1, DNN_FORWARD, 32, 1, false)),
		1, 1e-12, "a list of layers costs their sum in any order");
	near_to(t[3] / cost_range_s(f->cost[0], 0, n, DNN_FORWARD, 64, 2, false), 1, 1e-12,
		"an op with its own batch is split over shards");
	fixture_free(f);
}

/* Returns the graph of allreduce without fusion and overlap as a file; the ops can be in reverse order. */
static char *bsp_graph(bool is_backwards)
{
	enum { COUNT = 13, ROOM = 4000 };
	char op[COUNT][280], *text = malloc(ROOM);
	int n = 0;
	for (int d = 0; d < 4; d++) {
		snprintf(op[n++], 280,
			"{\"id\":\"f%d\",\"compute\":{\"device\":%d,\"layers\":\"all\",\"pass\":\"forward\"},\"after_previous\":[\"u%d\"]}",
			d, d, d);
		snprintf(op[n++], 280,
			"{\"id\":\"b%d\",\"compute\":{\"device\":%d,\"layers\":\"all\",\"pass\":\"backward\"},\"after\":[\"f%d\"]}", d, d,
			d);
	}
	snprintf(op[n++], 280,
		"{\"id\":\"sum\",\"collective\":{\"op\":\"all-reduce\",\"group\":\"all\",\"layers\":\"all\",\"algorithm\":\"ring\"},"
		"\"after\":[\"b0\",\"b1\",\"b2\",\"b3\"],\"stream\":1}");
	for (int d = 0; d < 4; d++)
		snprintf(op[n++], 280,
			"{\"id\":\"u%d\",\"compute\":{\"device\":%d,\"layers\":\"all\",\"pass\":\"update\"},\"after\":[\"sum\"]}", d, d);
	int at = snprintf(text, ROOM, "{ \"ops\": [");
	for (int i = 0; i < n; i++)
		at += snprintf(text + at, (size_t)(ROOM - at), "%s%s", i ? "," : "", op[is_backwards ? n - 1 - i : i]);
	snprintf(text + at, (size_t)(ROOM - at), "] }");
	return text;
}

static void test_same_as_allreduce(void)
{
	static const char *const models[] = { "lenet5", "vgg16", "resnet50" }, *const options[] = { "", "compression=topk:density=0.01" };
	for (int i = 0; i < 6; i++) {
		struct step_result r = { 0 };
		struct orr_error e = { 0 };
		struct fixture *f = fixture_new("4x1:v100", "star:bw=8Gbps,lat=0", models[i / 2], 32);
		if (*options[i % 2])
			fixture_set(f, options[i % 2]);
		if (fixture_run(f, &orr_policy_allreduce, "algorithm=ring overlap=false fusion=none", &r, &e))
			printf("# %s\n", e.text);
		fixture_free(f);
		for (int k = 0; k < 2; k++) {
			char *text = bsp_graph(k == 1);
			struct step_result g = run(text, models[i / 2], options[i % 2]);
			ok(fabs(g.iteration_s / r.iteration_s - 1) <= 1e-12, "%s %s: the graph takes as long as allreduce, %.6g s%s",
				models[i / 2], options[i % 2], r.iteration_s, k ? ", and with its ops in reverse order" : "");
			step_result_free(&g);
			free(text);
		}
		step_result_free(&r);
	}
}

/* Tests the order in which the reader creates ops. */
static void test_order(void)
{
	struct orr_error e = { 0 };
	const char *text =
		"{\"ops\":[{\"id\":\"d\",\"delay\":{\"seconds\":1}},{\"id\":\"c\",\"delay\":{\"seconds\":1},\"after\":[\"a\",\"b\"]},"
		"{\"id\":\"b\",\"delay\":{\"seconds\":1}},{\"id\":\"a\",\"delay\":{\"seconds\":1},\"after_previous\":[\"c\"]}]}";
	struct graph *g = graph_file_read("g.json", text, strlen(text), &facts, &e);
	ok(g && g->n == 4, "four ops are read");
	if (g) {
		char order[5] = { g->op[0].id[0], g->op[1].id[0], g->op[2].id[0], g->op[3].id[0], '\0' };
		same_text(order, "dabc", "ops are in file order with dependencies first");
		ok(g->op[1].previous[0] == 3 && g->op[3].after[0] == 1 && g->op[3].after[1] == 2 && g->op[1].at == 3, "indices follow");
	}
	graph_file_free(g);
	/* A long chain in reverse order: a recursion would overflow the stack. */
	enum { LONG = 20000 };
	char *long_text = malloc(LONG * 80), *at = long_text;
	at += sprintf(at, "{\"ops\":[");
	for (int i = 0; i < LONG; i++)
		at += i + 1 < LONG ? sprintf(at, "{\"id\":\"o%d\",\"delay\":{\"seconds\":1},\"after\":[\"o%d\"]},", i, i + 1)
				   : sprintf(at, "{\"id\":\"o%d\",\"delay\":{\"seconds\":1}}]}", i);
	g = graph_file_read("g.json", long_text, strlen(long_text), &facts, &e);
	ok(g && !strcmp(g->op[0].id, "o19999") && !strcmp(g->op[LONG - 1].id, "o0"), "a chain of 20,000 in reverse order");
	graph_file_free(g);
	free(long_text);
}

static void refused(const char *text, const char *want)
{
	struct orr_error e = { 0 };
	struct graph *g = graph_file_read("g.json", text, strlen(text), &facts, &e);
	if (!ok(!g && e.code == ORR_EINPUT && !strcmp(e.text, want), "%s", want))
		printf("# got %s\n", g ? "a graph" : e.text);
	graph_file_free(g);
}

#define ONE(op) "{\"ops\":[{\"id\":\"a\"," op "}]}"
#define COMPUTE(c) ONE("\"compute\":{" c "}")
#define COLLECTIVE(c) ONE("\"collective\":{\"op\":" c "}")

static void test_refused(void)
{
	refused("{\"ops\":\n [{} {}]}", "g.json:2:6: invalid JSON: expected an object");
	refused("[1]", "g.json: $: expected an object");
	refused("{}", "g.json: $.ops: expected a list of ops, found nothing");
	refused("{\"ops\":[]}", "g.json: $.ops: expected a list with at least one op, found an empty list");
	refused("{\"opps\":[]}", "g.json: $: unknown key \"opps\": did you mean \"ops\"?");
	refused("{\"ops\":[7]}", "g.json: $.ops[0]: expected an object");
	refused("{\"ops\":[{}]}", "g.json: $.ops[0].id: expected a string of 1 to 200 bytes on one line, found nothing");
	refused("{\"ops\":[{\"id\":\"a\"}]}", "g.json: $.ops[0]: has no work: expected one of the keys \"compute\", \"transfer\", "
					      "\"collective\", \"delay\" and \"mark\"");
	refused(ONE("\"mark\":{},\"delay\":{\"seconds\":1}"),
		"g.json: $.ops[0]: has both \"delay\" and \"mark\": expected only one of them");
	refused(ONE("\"mark\":{}"), "g.json: $.ops: all ops are marks: expected an op that takes time");
	refused(ONE("\"delay\":{\"seconds\":1},\"detach\":true"),
		"g.json: $.ops: all ops are detached: expected an attached op, which ends the iteration");
	refused(ONE("\"delay\":{\"seconds\":-1}"), "g.json: $.ops[0].delay.seconds: expected a number from 0 to 1000000000, found -1");
	refused(ONE("\"delay\":{\"seconds\":1e999}"), "g.json: $.ops[0].delay.seconds: expected a number from 0 to 1000000000, found inf");
	refused(ONE("\"delay\":{\"seconds\":\"1\"}"),
		"g.json: $.ops[0].delay.seconds: expected a number from 0 to 1000000000, found \"1\"");
	refused(ONE("\"delay\":{\"second\":1}"), "g.json: $.ops[0].delay: unknown key \"second\": did you mean \"seconds\"?");
	refused(ONE("\"delay\":{\"seconds\":1,\"seconds\":2}"), "g.json: $.ops[0].delay: duplicate key \"seconds\": expected it once");
	refused(ONE("\"delay\":{\"seconds\":1},\"stream\":1"),
		"g.json: $.ops[0].stream: expected a transfer or collective: compute is on stream 0, delays and marks on none");
	refused(ONE("\"delay\":{\"seconds\":1},\"takes\":{\"device\":0,\"bytes\":-5}"),
		"g.json: $.ops[0].takes.bytes: expected a number from 0 to 1e+18, found -5");
	refused(ONE("\"delay\":{\"seconds\":1},\"gives\":[{\"device\":8,\"bytes\":5}]"),
		"g.json: $.ops[0].gives[0].device: expected a whole number from 0 to 7, found 8");
	refused("{\"ops\":[{\"id\":\"a\",\"mark\":{}},{\"id\":\"a\",\"mark\":{}}]}",
		"g.json: $.ops[1]: duplicate id \"a\" (of $.ops[0]): expected a unique id");
	refused("{\"ops\":[{\"id\":\"alpha\",\"mark\":{},\"after\":[\"alhpa\"]}]}",
		"g.json: $.ops[0].after[0]: unknown op id \"alhpa\": did you mean \"alpha\"?");
	refused("{\"ops\":[{\"id\":\"a\",\"mark\":{}},{\"id\":\"b\",\"mark\":{},\"after\":[\"c\"]},{\"id\":\"c\",\"mark\":{},\"after\":["
		"\"a\",\"d\"]},"
		"{\"id\":\"d\",\"delay\":{\"seconds\":0},\"after\":[\"b\"]}]}",
		"g.json: $.ops[1].after: the graph has a cycle of length 3: b waits for c, c waits for d, d waits for b");
	refused(ONE("\"delay\":{\"seconds\":1},\"after\":[\"a\"]"),
		"g.json: $.ops[0].after: the graph has a cycle of length 1: a waits for a");
	refused(ONE("\"transfer\":{\"from\":0,\"to\":1,\"bytes\":-3}"),
		"g.json: $.ops[0].transfer.bytes: expected a number from 0 to 1e+18, found -3");
	refused(ONE("\"transfer\":{\"from\":0,\"to\":8,\"bytes\":3}"),
		"g.json: $.ops[0].transfer.to: expected a whole number from 0 to 7, found 8");
	refused(ONE("\"transfer\":{\"from\":0.5,\"to\":1,\"bytes\":3}"),
		"g.json: $.ops[0].transfer.from: expected a whole number from 0 to 7, found 0.5");
	refused(ONE("\"transfer\":{\"from\":2,\"to\":2,\"bytes\":3}"),
		"g.json: $.ops[0].transfer.to: is the sender: expected another device");
	refused(ONE("\"transfer\":{\"from\":2,\"to\":1,\"layers\":[\"conv1\",\"fc\"]}"),
		"g.json: $.ops[0].transfer.layers: layer \"conv2\", which has parameters, is missing: expected consecutive layers");
	refused(COMPUTE("\"device\":0"), "g.json: $.ops[0].compute: has neither \"seconds\" nor \"layers\": expected one of them");
	refused(COMPUTE("\"device\":0,\"seconds\":1,\"batch\":2"),
		"g.json: $.ops[0].compute: batch: expected this key only together with \"layers\"");
	refused(COMPUTE("\"device\":5,\"layers\":\"all\",\"pass\":\"forward\""),
		"g.json: $.ops[0].compute.device: is a host, for which layers have no cost: expected a GPU, 0..3, or \"seconds\"");
	refused(COMPUTE("\"device\":0,\"layers\":[\"conv3\"],\"pass\":\"forward\""),
		"g.json: $.ops[0].compute.layers[0]: unknown layer \"conv3\": did you mean \"conv1\"?");
	refused(COMPUTE("\"device\":0,\"layers\":[\"fc\",\"fc\"],\"pass\":\"forward\""),
		"g.json: $.ops[0].compute.layers[1]: duplicate layer \"fc\": expected it once");
	refused(COMPUTE("\"device\":0,\"layers\":{\"first\":\"fc\",\"last\":\"conv1\"},\"pass\":\"forward\""),
		"g.json: $.ops[0].compute.layers: layer \"conv1\" comes before \"fc\" in the model: expected the layers in the order of "
		"the model");
	refused(COMPUTE("\"device\":0,\"layers\":\"all\",\"pass\":\"backwards\""),
		"g.json: $.ops[0].compute.pass: found \"backwards\": did you mean \"backward\"?");
	refused(COMPUTE("\"device\":0,\"seconds\":1,\"work\":\"zzz\""),
		"g.json: $.ops[0].compute.work: expected one of forward, backward, recompute, optimizer, codec, other, weight-gradient, "
		"found \"zzz\"");
	refused(COLLECTIVE("\"all-reduce\",\"group\":[0,2,0],\"bytes\":1"),
		"g.json: $.ops[0].collective.group[2]: duplicate device 0 in the group: expected it once");
	refused(COLLECTIVE("\"all-reduce\",\"group\":\"al\",\"bytes\":1"),
		"g.json: $.ops[0].collective.group: unknown group \"al\": did you mean \"all\"?");
	refused(COLLECTIVE("\"all-reduce\",\"group\":[],\"bytes\":1"),
		"g.json: $.ops[0].collective.group: expected a list with at least one device, found an empty list");
	refused(COLLECTIVE("\"all-reduce\",\"group\":\"all\",\"bytes\":1,\"layers\":\"all\""),
		"g.json: $.ops[0].collective: has both \"bytes\" and \"layers\": expected only one of them");
	refused(COLLECTIVE("\"all-to-all\",\"group\":\"all\",\"bytes\":1,\"algorithm\":\"hierarchical\""),
		"g.json: $.ops[0].collective.algorithm: hierarchical does not support all-to-all: expected ring or direct");
	refused(COLLECTIVE("\"all-gather\",\"group\":[0,1,2],\"bytes\":1,\"algorithm\":\"halving-doubling\""),
		"g.json: $.ops[0].collective.group: has 3 members: expected a power of two for all-gather by halving-doubling");
	refused(COLLECTIVE("\"all-reduce\",\"group\":\"all\",\"bytes\":1,\"algorithm\":\"hierarchical\",\"inner\":3"),
		"g.json: $.ops[0].collective.inner: expected a divisor of the group's 4 members, found 3");
	refused(COLLECTIVE("\"all-reduce\",\"group\":\"all\",\"bytes\":1,\"inner\":2"),
		"g.json: $.ops[0].collective.inner: expected this key only for hierarchical algorithms");
	refused(COLLECTIVE("\"broadcast\",\"group\":\"all\",\"bytes\":1,\"root\":4"),
		"g.json: $.ops[0].collective.root: expected a rank of the group, 0..3, found 4");
	refused(COLLECTIVE("\"all-reduce\",\"group\":\"all\",\"bytes\":1,\"root\":1"),
		"g.json: $.ops[0].collective.root: expected this key only for broadcast and reduce");
	refused(COLLECTIVE("\"all-reduce\",\"group\":\"all\",\"bytes\":1,\"repeat\":0"),
		"g.json: $.ops[0].collective.repeat: expected a whole number from 1 to 1000000, found 0");
	refused("{\"groups\":{\"g\":[1,1]},\"ops\":[]}", "g.json: $.groups.g[1]: duplicate device 1 in the group: expected it once");
	refused("{\"groups\":[1],\"ops\":[]}", "g.json: $.groups: expected an object of lists of devices");
	refused("{\"samples\":0,\"ops\":[]}", "g.json: $.samples: expected a number from 1e-09 to 1e+15, found 0");
	refused("{\"holds\":[{\"device\":0,\"bytes\":1,\"kind\":\"weight\"}],\"ops\":[]}",
		"g.json: $.holds[0].kind: found \"weight\": did you mean \"weights\"?");
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	test_times();
	test_books();
	test_layers();
	test_same_as_allreduce();
	test_order();
	test_refused();
	unlink(path);
	return done();
}
