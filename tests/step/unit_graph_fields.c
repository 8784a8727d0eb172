/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_graph_fields.c - every field of a graph's JSON form, the ends of its ranges, and the algorithms of each collective; the two forms
 * of a list of partitions
 */
#include "tests/tap.h"

#include "policies/step/graph_read.h"
#include "policies/step/partitions.h"

static const char *const layer[] = { "conv1", "relu", "conv2", "pool", "fc", NULL };
static const double params[] = { 10, 0, 20, 0, 30 };
static const struct graph_facts facts = { .gpus = 4, .endpoints = 6, .layers = 5, .layer = layer, .params = params };

static struct orr_error err;

/* Reads a graph; the caller frees it. Prints the error if it is not accepted. */
static struct graph *read_graph(const char *text)
{
	err = (struct orr_error){ 0 };
	return graph_file_read("g.json", text, strlen(text), &facts, &err);
}

static bool same_numbers(const uint32_t *v, uint32_t n, const uint32_t *want, uint32_t n_want)
{
	return n == n_want && (!n || !memcmp(v, want, n * sizeof *v));
}

#define NUMBERS(...) (const uint32_t[]){ __VA_ARGS__ }, sizeof(const uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t)

/* ---- fields ---- */

static const char whole[] =
	"{\"title\":\"t\",\"samples\":12.5,\"barrier\":true,\"groups\":{\"odd\":[3,1],\"hosts\":[4,5]},"
	"\"holds\":[{\"device\":5,\"bytes\":7,\"kind\":\"gradients\"},{\"device\":0,\"bytes\":1e18,\"kind\":\"activations\"}],\"ops\":["
	"{\"id\":\"c\",\"label\":\"first "
	"op\",\"compute\":{\"device\":3,\"layers\":[\"fc\",\"conv1\",\"relu\"],\"pass\":\"backward-weight\","
	"\"batch\":2.5,\"shards\":8},\"priority\":-7,\"samples\":3},"
	"{\"id\":\"u\",\"compute\":{\"device\":0,\"layers\":\"all\",\"pass\":\"update\",\"work\":\"codec\"},\"after\":[\"c\"],\"detach\":"
	"true},"
	"{\"id\":\"s\",\"compute\":{\"device\":5,\"seconds\":1e9},\"takes\":{\"device\":5,\"bytes\":3},\"gives\":[{\"device\":1,\"bytes\":"
	"4},"
	"{\"device\":2,\"bytes\":5}]},"
	"{\"id\":\"t\",\"transfer\":{\"from\":4,\"to\":0,\"bytes\":99},\"stream\":7,\"priority\":2147483647,\"after_previous\":[\"s\","
	"\"t\"]},"
	"{\"id\":\"m\",\"transfer\":{\"from\":0,\"to\":5,\"layers\":{\"first\":\"relu\",\"last\":\"pool\"}},\"after\":[\"t\",\"u\"]},"
	"{\"id\":\"a\",\"collective\":{\"op\":\"broadcast\",\"group\":\"odd\",\"bytes\":8,\"root\":1,\"repeat\":9,\"chunks\":65536}},"
	"{\"id\":\"h\",\"collective\":{\"op\":\"all-gather\",\"group\":[0,1,2,3],\"layers\":[\"conv1\",\"conv2\"],\"algorithm\":"
	"\"hierarchical\","
	"\"inner\":2},\"stream\":1},"
	"{\"id\":\"r\",\"collective\":{\"op\":\"all-reduce\",\"group\":\"all\",\"bytes\":0}},"
	"{\"id\":\"d\",\"delay\":{\"seconds\":0.25}},{\"id\":\"k\",\"mark\":{}}]}";

static void test_fields(void)
{
	struct graph *g = read_graph(whole);
	if (!ok(g && g->n == 10, "ten ops")) {
		printf("# %s\n", err.text);
		return;
	}
	ok(g->samples == 12.5 && g->is_barrier && g->n_holds == 2 && g->n_groups == 4, "facts of the file");
	ok(g->holds[0].device == 5 && g->holds[0].bytes == 7 && g->holds[0].kind == ORR_MEMORY_GRADIENTS && g->holds[1].device == 0 &&
			g->holds[1].bytes == 1e18 && g->holds[1].kind == ORR_MEMORY_ACTIVATIONS,
		"memory that is held");
	ok(!strcmp(g->group[0].name, "odd") && same_numbers(g->group[0].member, g->group[0].n, NUMBERS(3, 1)) &&
			!strcmp(g->group[1].name, "hosts") && same_numbers(g->group[1].member, g->group[1].n, NUMBERS(4, 5)),
		"named groups");
	ok(!strcmp(g->group[2].name, "all") && same_numbers(g->group[2].member, g->group[2].n, NUMBERS(0, 1, 2, 3)),
		"the group of all GPUs is added");
	ok(!g->group[3].name && same_numbers(g->group[3].member, g->group[3].n, NUMBERS(0, 1, 2, 3)), "the list of one collective");
	const struct graph_op *o = g->op;
	ok(!strcmp(o[0].id, "c") && !strcmp(o[0].label, "first op") && o[0].kind == GRAPH_COMPUTE && o[0].device == 3 &&
			o[0].batch == 2.5 && o[0].shards == 8 && o[0].pass == GRAPH_BACKWARD_WEIGHT && o[0].work == ORR_BACKWARD &&
			o[0].priority == -7 && o[0].samples == 3 && !o[0].is_detached && !o[0].n_after && !o[0].stream,
		"compute by layers");
	ok(o[0].n_ranges == 2 && o[0].range[0].first == 0 && o[0].range[0].count == 2 && o[0].range[1].first == 4 &&
			o[0].range[1].count == 1,
		"its layers are two ranges");
	ok(o[1].pass == GRAPH_UPDATE && o[1].work == ORR_CODEC && o[1].is_detached && same_numbers(o[1].after, o[1].n_after, NUMBERS(0)) &&
			!o[1].label && o[1].n_ranges == 1 && o[1].range[0].first == 0 && o[1].range[0].count == 5 && o[1].batch == 0 &&
			o[1].shards == 1,
		"the update of all layers, as work of a codec");
	ok(o[2].device == 5 && o[2].amount == 1e9 && o[2].work == ORR_OTHER_WORK && !o[2].n_ranges, "compute by seconds");
	ok(o[2].n_takes == 1 && o[2].takes[0].device == 5 && o[2].takes[0].bytes == 3 && o[2].n_gives == 2 && o[2].gives[0].device == 1 &&
			o[2].gives[0].bytes == 4 && o[2].gives[1].device == 2 && o[2].gives[1].bytes == 5 &&
			o[2].gives[1].kind == ORR_MEMORY_BUFFERS,
		"memory that it takes and gives back");
	ok(o[3].kind == GRAPH_TRANSFER && o[3].device == 4 && o[3].peer == 0 && o[3].amount == 99 && o[3].stream == 7 &&
			o[3].priority == 2147483647 && !o[3].n_after && same_numbers(o[3].previous, o[3].n_previous, NUMBERS(2, 3)),
		"a transfer that waits for the previous iteration");
	ok(o[4].device == 0 && o[4].peer == 5 && o[4].n_ranges == 1 && o[4].range[0].first == 1 && o[4].range[0].count == 3 &&
			same_numbers(o[4].after, o[4].n_after, NUMBERS(3, 1)),
		"a transfer of the gradients of a range");
	ok(o[5].kind == GRAPH_COLLECTIVE && o[5].group == 0 && o[5].amount == 8 && o[5].collective.op == ORR_BROADCAST &&
			o[5].collective.root == 1 && o[5].collective.repeat == 9 && o[5].collective.chunks == 65536 &&
			o[5].collective.algorithm == 0 && !o[5].collective.inner,
		"a broadcast");
	ok(o[6].group == 3 && o[6].collective.op == ORR_ALL_GATHER && o[6].collective.algorithm == ORR_HIERARCHICAL &&
			o[6].collective.inner == 2 && o[6].collective.repeat == 1 && !o[6].collective.chunks && o[6].stream == 1,
		"a hierarchical gather");
	ok(o[6].n_ranges == 1 && o[6].range[0].first == 0 && o[6].range[0].count == 3, "a gap without parameters is part of its message");
	ok(o[7].group == 2 && o[7].amount == 0 && o[7].collective.op == ORR_ALL_REDUCE, "an all-reduce over all GPUs");
	ok(o[8].kind == GRAPH_DELAY && o[8].amount == 0.25 && o[9].kind == GRAPH_MARK && !strcmp(o[9].id, "k") && o[9].at == 9,
		"a delay and a mark");
	graph_file_free(g);
	g = read_graph("{\"groups\":{\"all\":[2,0]},\"ops\":[{\"id\":\"r\",\"collective\":{\"op\":\"all-reduce\",\"group\":\"all\","
		       "\"bytes\":1}}]}");
	ok(g && g->n_groups == 1 && g->op[0].group == 0 && same_numbers(g->group[0].member, g->group[0].n, NUMBERS(2, 0)) &&
			!g->is_barrier && g->samples == 0 && !g->n_holds,
		"a file may name the group of all itself");
	graph_file_free(g);
}

/* ---- kinds of work by pass ---- */

static void test_passes(void)
{
	static const struct {
		const char *pass;
		enum graph_pass number;
		enum orr_work work;
	} passes[] = { { "forward", GRAPH_FORWARD, ORR_FORWARD }, { "backward", GRAPH_BACKWARD, ORR_BACKWARD },
		{ "backward-data", GRAPH_BACKWARD_DATA, ORR_BACKWARD }, { "backward-weight", GRAPH_BACKWARD_WEIGHT, ORR_BACKWARD },
		{ "update", GRAPH_UPDATE, ORR_OPTIMIZER } };
	static const struct {
		const char *work;
		enum orr_work number;
	} works[] = { { "forward", ORR_FORWARD }, { "backward", ORR_BACKWARD }, { "recompute", ORR_RECOMPUTE },
		{ "optimizer", ORR_OPTIMIZER }, { "codec", ORR_CODEC }, { "other", ORR_OTHER_WORK } };
	static const char *const kinds[] = { "weights", "gradients", "optimizer", "activations", "buffers" };
	char text[300];
	for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
		snprintf(text, sizeof text, "{\"ops\":[{\"id\":\"a\",\"compute\":{\"device\":0,\"layers\":[\"fc\"],\"pass\":\"%s\"}}]}",
			passes[i].pass);
		struct graph *g = read_graph(text);
		ok(g && g->op[0].pass == passes[i].number && g->op[0].work == passes[i].work, "pass %s", passes[i].pass);
		graph_file_free(g);
	}
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		snprintf(text, sizeof text, "{\"ops\":[{\"id\":\"a\",\"compute\":{\"device\":0,\"seconds\":1,\"work\":\"%s\"}}]}",
			works[i].work);
		struct graph *g = read_graph(text);
		ok(g && g->op[0].work == works[i].number, "work %s", works[i].work);
		graph_file_free(g);
	}
	for (int i = 0; i < ORR_MEMORY_KINDS; i++) {
		snprintf(text, sizeof text,
			"{\"holds\":[{\"device\":0,\"bytes\":1,\"kind\":\"%s\"}],\"ops\":[{\"id\":\"a\",\"delay\":{\"seconds\":1}}]}",
			kinds[i]);
		struct graph *g = read_graph(text);
		ok(g && (int)g->holds[0].kind == i, "memory of %s", kinds[i]);
		graph_file_free(g);
	}
}

/* ---- the ends of ranges ---- */

/* Tests the ends of a range. at: text of a graph with %s for a number. The first two numbers are accepted, the other two are refused. */
static void range(const char *what, const char *at, const char *least, const char *most, const char *below, const char *above)
{
	const char *const number[] = { least, most, below, above };
	for (int i = 0; i < 4; i++) {
		char text[400];
		if (!number[i])
			continue;
		snprintf(text, sizeof text, at, number[i]);
		struct graph *g = read_graph(text);
		ok((g != NULL) == (i < 2) && (g || strstr(err.text, "expected ")), "%s: %s is %s", what, number[i],
			i < 2 ? "accepted" : "refused");
		graph_file_free(g);
	}
}

#define OP(op) "{\"ops\":[{\"id\":\"a\"," op "}]}"

static void test_ranges(void)
{
	range("samples of an iteration", "{\"samples\":%s,\"ops\":[{\"id\":\"a\",\"delay\":{\"seconds\":1}}]}", "1e-9", "1e15", "0.9e-9",
		"1.01e15");
	range("samples of an op", OP("\"delay\":{\"seconds\":1},\"samples\":%s"), "0", "1e15", "-1", "1.01e15");
	range("seconds of a delay", OP("\"delay\":{\"seconds\":%s}"), "0", "1e9", "-1e-9", "1.01e9");
	range("seconds of compute", OP("\"compute\":{\"device\":0,\"seconds\":%s}"), "0", "1e9", "-1", "1.01e9");
	range("device", OP("\"compute\":{\"device\":%s,\"seconds\":1}"), "0", "5", "-1", "6");
	range("GPU", OP("\"compute\":{\"device\":%s,\"layers\":\"all\",\"pass\":\"forward\"}"), "0", "3", "-1", "4");
	range("batch", OP("\"compute\":{\"device\":0,\"layers\":\"all\",\"pass\":\"forward\",\"batch\":%s}"), "1e-9", "1e9", "0.9e-9",
		"1.01e9");
	range("shards", OP("\"compute\":{\"device\":0,\"layers\":\"all\",\"pass\":\"forward\",\"shards\":%s}"), "1", "1000000", "0",
		"1000001");
	range("bytes", OP("\"transfer\":{\"from\":0,\"to\":1,\"bytes\":%s}"), "0", "1e18", "-1", "1.01e18");
	range("receiver", OP("\"transfer\":{\"from\":1,\"to\":%s,\"bytes\":1}"), "0", "5", "-1", "6");
	range("stream", OP("\"transfer\":{\"from\":0,\"to\":1,\"bytes\":1},\"stream\":%s"), "0", "7", "-1", "8");
	range("priority", OP("\"delay\":{\"seconds\":1},\"priority\":%s"), "-2147483647", "2147483647", "-2147483648", "2147483648");
	range("repeat", OP("\"collective\":{\"op\":\"all-reduce\",\"group\":\"all\",\"bytes\":1,\"repeat\":%s}"), "1", "1000000", "0",
		"1000001");
	range("chunks", OP("\"collective\":{\"op\":\"all-reduce\",\"group\":\"all\",\"bytes\":1,\"chunks\":%s}"), "1", "65536", "0",
		"65537");
	range("root", OP("\"collective\":{\"op\":\"reduce\",\"group\":\"all\",\"bytes\":1,\"root\":%s}"), "0", "3", "-1", "4");
	range("inner",
		OP("\"collective\":{\"op\":\"all-reduce\",\"group\":\"all\",\"bytes\":1,\"algorithm\":\"hierarchical\",\"inner\":%s}"), "1",
		"4", "0", "3");
	range("memory of an op", OP("\"delay\":{\"seconds\":1},\"takes\":{\"device\":0,\"bytes\":%s}"), "0", "1e18", "-1", "1.01e18");
	range("device of memory", OP("\"delay\":{\"seconds\":1},\"gives\":{\"device\":%s,\"bytes\":1}"), "0", "5", "-1", "6");
	char text[400], name[240];
	for (int n = 0; n <= 220; n += n < 99 || n > 101 ? 33 : 1) {
		memset(name, 'x', sizeof name);
		name[n] = '\0';
		snprintf(text, sizeof text, "{\"ops\":[{\"id\":\"%s\",\"delay\":{\"seconds\":1}}]}", name);
		struct graph *g = read_graph(text);
		ok((g != NULL) == (n > 0 && n <= 100), "an id of %d bytes", n);
		graph_file_free(g);
	}
}

/* ---- collectives: the operations that each algorithm supports (docs/models/net.md) ---- */

static void test_algorithms(void)
{
	static const char *const ops[] = { "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all" };
	static const struct {
		const char *name, *can; /* can: y yes, 2 for powers of two, n no */
	} algorithms[] = { { "default", "yyyyyy" }, { "ring", "yyyyyy" }, { "halving-doubling", "y2222n" }, { "double-tree", "ynnyyn" },
		{ "hierarchical", "yyynnn" }, { "direct", "yyyyyy" }, { "hierarchical-leader", "yyynnn" }, { "multi-ring", "yyynnn" },
		{ "multi-tree", "ynnnnn" }, { "nvls-tree", "ynnnnn" } };
	static const char *const groups[] = { "[0]", "[0,1]", "[0,1,2]", "[0,1,2,3]", "[0,1,2,3,4]" };
	for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
		bool good = true;
		for (int o = 0; o < 6; o++)
			for (int n = 1; n <= 5; n++) {
				char text[300];
				snprintf(text, sizeof text,
					"{\"ops\":[{\"id\":\"a\",\"collective\":{\"op\":\"%s\",\"group\":%s,\"bytes\":1,\"algorithm\":\"%"
					"s\"}}]}",
					ops[o], groups[n - 1], algorithms[a].name);
				struct graph *g = read_graph(text);
				char can = algorithms[a].can[o];
				bool want = can == 'y' || (can == '2' && n != 3 && n != 5);
				if ((g != NULL) != want ||
					(g && ((int)g->op[0].collective.op != o || (size_t)g->op[0].collective.algorithm != a))) {
					printf("# %s of %d by %s: %s\n", ops[o], n, algorithms[a].name, g ? "accepted" : err.text);
					good = false;
				}
				graph_file_free(g);
			}
		ok(good, "the collectives that %s supports, on one to five devices", algorithms[a].name);
	}
}

/* ---- partitions ---- */

/* Writes a list as text: groups in brackets. */
static const char *as_text(const struct partition_list *l)
{
	static char out[300];
	out[0] = '\0';
	for (uint32_t k = 0; k < l->n; k++)
		for (uint32_t g = 0, at = 0; g < l->item[k].groups; g++) {
			snprintf(out + strlen(out), sizeof out - strlen(out), "%s", !g && k ? ";[" : "[");
			for (; at < l->item[k].end[g]; at++)
				snprintf(out + strlen(out), sizeof out - strlen(out), "%u ", l->item[k].member[at]);
			snprintf(out + strlen(out), sizeof out - strlen(out), "]");
		}
	return out;
}

static void partitions(bool is_json, const char *text, uint32_t n, const char *want)
{
	struct partition_list l = { 0 };
	err = (struct orr_error){ 0 };
	int rc = is_json ? partitions_from_json(&l, "p.json", text, strlen(text), n, &err) : partitions_from_text(&l, text, n, &err);
	same_text(rc ? err.text : as_text(&l), want, text);
	partitions_free(&l);
}

static void test_partitions(void)
{
	partitions(false, "0-1,2-3;0-3,1-2", 4, "[0 1 ][2 3 ];[0 3 ][1 2 ]");
	partitions(false, "10-0-1-2,3-4-5,6-7-8-9", 11, "[10 0 1 2 ][3 4 5 ][6 7 8 9 ]");
	partitions(false, "0", 1, "[0 ]");
	partitions(false, "0-1-2;2,1,0", 3, "[0 1 2 ];[2 ][1 ][0 ]");
	partitions(false, "0-1,1-2", 3, "partitions[0]: duplicate worker 1: expected it once");
	partitions(false, "0-1-2;0-1,3", 3, "partitions[1]: expected members 0..2 as in 0-1,2-3;0-3,1-2, found \"3\"");
	partitions(false, "0-1-2;0-1", 3, "partitions[1]: has 2 workers: expected 3");
	partitions(false, "0-1,", 2, "partitions[0]: expected a member after ','");
	partitions(false, "0-1-", 2, "partitions[0]: expected a member after '-'");
	partitions(false, "0,,1", 2, "partitions[0]: expected members 0..1 as in 0-1,2-3;0-3,1-2, found \",1\"");
	partitions(false, "0/1", 2, "partitions[0]: expected '-', ',' or ';' after a member, found \"/1\"");
	partitions(false, "", 2, "partitions[0]: has 0 workers: expected 2");
	partitions(true, "{\"title\":\"t\",\"partitions\":[[[0,1],[2,3]],[[3,0],[2],[1]]]}", 4, "[0 1 ][2 3 ];[3 0 ][2 ][1 ]");
	partitions(true, "{\"partitions\":[[[0],[2]]]}", 3, "p.json: $.partitions[0]: has 2 of the 3 workers: expected worker 1 as well");
	partitions(true, "{\"partitions\":[[[0,1,2]],[[0,1],[1,2]]]}", 3,
		"p.json: $.partitions[1][1][0]: duplicate worker 1 in the partition: expected it once");
	partitions(true, "{\"partitions\":[[[0,3]]]}", 3, "p.json: $.partitions[0][0][1]: expected a whole number from 0 to 2, found 3");
	partitions(true, "{\"partitions\":[[]]}", 1, "p.json: $.partitions[0]: has 0 of the 1 workers: expected worker 0 as well");
	partitions(true, "{\"partitions\":{}}", 1, "p.json: $.partitions: expected a list of partitions, found an object");
	partitions(true, "{\"partitions\":[[[0]]],\"x\" 1}", 1, "p.json:1:27: invalid JSON: expected an object");
	partitions(true, "{\"partitions\":[[[0]]],\"title\":true}", 1,
		"p.json: $.title: expected a string of 1 to 200 bytes on one line, found a boolean");
}

int main(void)
{
	test_fields();
	test_passes();
	test_ranges();
	test_algorithms();
	test_partitions();
	return done();
}
