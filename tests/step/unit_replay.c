/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Execution traces by ASTRA-sim's rules (sim/step/replay.h), against times computed by hand from docs/models/step-traces.md. A network of
 * 1 byte/ns is written as 1e9 / 2^30 GB/s; latency 100 ns; endpoint delay 10 ns; memory 1 byte/ns.
 */
#include "step/replay.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* A trace in a folder, written node by node. */
struct made {
	char dir[32];
	struct sbuf rank[8];
	uint32_t n;
};

static struct made made(uint32_t n)
{
	struct made m = { .dir = "/tmp/orr-replay-XXXXXX", .n = n };
	if (!mkdtemp(m.dir))
		printf("# no temporary folder\n");
	for (uint32_t i = 0; i < n; i++)
		chakra_put_head(&m.rank[i]);
	return m;
}

struct value {
	const char *name;
	int64_t i;
};
static void node(struct made *m, uint32_t rank, uint64_t id, enum chakra_type type, uint64_t us, const uint64_t *dep, const struct value *v)
{
	struct chakra_attribute a[8];
	size_t n = 0, deps = 0;
	while (dep && dep[deps])
		deps++;
	for (; v && v->name; v++)
		a[n++] = (struct chakra_attribute){
			.name = { v->name, strlen(v->name) }, .kind = strcmp(v->name, "is_cpu_op") ? CHAKRA_SIGNED : CHAKRA_BOOL, .i = v->i
		};
	struct chakra_record r = { .id = id,
		.type = type,
		.duration_us = us,
		.ctrl = (uint64_t *)(uintptr_t)dep,
		.n_ctrl = deps,
		.attribute = a,
		.n_attributes = n };
	chakra_put_node(&m->rank[rank], &r);
}
#define DEPS(...)              \
	(const uint64_t[])     \
	{                      \
		__VA_ARGS__, 0 \
	}
#define WITH(...)               \
	(const struct value[])  \
	{                       \
		__VA_ARGS__,    \
		{               \
			NULL, 0 \
		}               \
	}
#define HOST                   \
	{                      \
		"is_cpu_op", 1 \
	}
#define SEND(to, size, tag) WITH({ "comm_dst", to }, { "comm_size", size }, { "comm_tag", tag })
#define RECEIVE(from, size, tag) WITH({ "comm_src", from }, { "comm_size", size }, { "comm_tag", tag })
#define COLL(type, size) WITH({ "comm_type", type }, { "comm_size", size })

static const char ring[] =
	"topology: [ Ring ]\nbandwidth: [ 0.931322574615478515625 ] # 1e9 / 2^30\nlatency: [ 100 ]\nnpus_count:\n - %u\n";
static const char switched[] = "topology: [ Switch ]\nbandwidth: [ 0.931322574615478515625 ]\nlatency: [ 100 ]\nnpus_count: [ %u ]\n";
static const char plain[] = "{\"endpoint-delay\": 10, \"local-mem-bw\": 1, \"all-reduce-implementation\": [\"ring\"]}";

/* Runs the trace and removes it. Returns whether it ran. */
static bool run(struct made *m, const char *network, const char *system, bool is_aware, struct replay_result *out, struct orr_error *err)
{
	char path[64], text[300];
	struct astra_network net;
	struct astra_system sys;
	for (uint32_t i = 0; i < m->n; i++) {
		snprintf(path, sizeof path, "%s/t.%u.et", m->dir, i);
		FILE *f = fopen(path, "wb");
		if (f) {
			fwrite(m->rank[i].text, 1, m->rank[i].len, f);
			fclose(f);
		}
		sbuf_free(&m->rank[i]);
	}
	*err = (struct orr_error){ 0 };
	*out = (struct replay_result){ 0 };
	snprintf(text, sizeof text, network, m->n);
	struct chakra *t = chakra_load(m->dir, NULL, err);
	bool good = t && !astra_network_parse("net", text, &net, err) && !astra_system_parse("sys", system, strlen(system), &sys, err) &&
		    !replay_run(&(struct replay_config){ .trace = t, .network = &net, .system = &sys, .is_aware = is_aware, .check = true },
			    out, err);
	chakra_free(t);
	for (uint32_t i = 0; i < m->n; i++) {
		snprintf(path, sizeof path, "%s/t.%u.et", m->dir, i);
		unlink(path);
	}
	rmdir(m->dir);
	return good;
}

static void ends(struct made *m, const char *network, const char *system, bool is_aware, const int64_t *want, const char *what)
{
	struct replay_result r;
	struct orr_error err;
	bool good = run(m, network, system, is_aware, &r, &err);
	for (uint32_t i = 0; i < m->n && good; i++)
		if (r.rank[i].finish_ns != want[i]) {
			printf("# rank %u: got %" PRId64 ", want %" PRId64 "\n", i, r.rank[i].finish_ns, want[i]);
			good = false;
		}
	ok(good, "%s (%s)", what, err.text);
	replay_result_free(&r);
}
#define ENDS(m, network, system, is_aware, what, ...) ends(m, network, system, is_aware, (const int64_t[]){ __VA_ARGS__ }, what)

static void fails(struct made *m, const char *want, const char *what)
{
	struct replay_result r;
	struct orr_error err;
	bool good = !run(m, ring, plain, false, &r, &err) && err.code == ORR_EINPUT && strstr(err.text, want);
	if (!good)
		printf("# got \"%s\"\n", err.text);
	ok(good, "%s: %s", what, want);
	replay_result_free(&r);
}

/* Slots: one node of the host, one of the accelerator; ready nodes by ascending id. */
static void slots(void)
{
	struct made m = made(1);
	node(&m, 0, 3, CHAKRA_COMPUTE, 5, NULL, NULL);
	node(&m, 0, 1, CHAKRA_COMPUTE, 2, NULL, NULL);
	node(&m, 0, 2, CHAKRA_COMPUTE, 3, NULL, WITH(HOST));
	node(&m, 0, 4, CHAKRA_COMPUTE, 1, DEPS(2), NULL);
	/* 1: 0-2; 2 on the host: 0-3; 3: 2-7; 4 is ready at 3 and waits for the accelerator: 7-8 */
	ENDS(&m, ring, plain, false, "slots of host and accelerator", 8000);
	m = made(1);
	node(&m, 0, 1, CHAKRA_COMPUTE, 2, NULL, NULL);
	node(&m, 0, 2, CHAKRA_METADATA, 0, NULL, NULL);
	node(&m, 0, 3, CHAKRA_COMPUTE, 3, DEPS(2), WITH(HOST));
	/* Node 2 ends at once; its child is looked at when node 1 ends. */
	ENDS(&m, ring, plain, false, "children of nodes that end at once wait for the next pass", 5000);
	m = made(1);
	node(&m, 0, 1, CHAKRA_METADATA, 0, NULL, NULL);
	node(&m, 0, 2, CHAKRA_INVALID, 0, DEPS(1), NULL);
	node(&m, 0, 3, CHAKRA_COMPUTE, 0, DEPS(2), NULL);
	ENDS(&m, ring, plain, false, "without other nodes in flight there is a next pass; a duration of 0 is 1 ns", 1);
	m = made(1);
	node(&m, 0, 1, CHAKRA_LOAD, 0, NULL, WITH({ "tensor_size", 100 }));
	node(&m, 0, 2, CHAKRA_STORE, 4, NULL, NULL);
	/* One communication slot: 101 ns by the memory's bandwidth, then the duration. */
	ENDS(&m, ring, plain, false, "memory nodes", 4101);
	m = made(1);
	node(&m, 0, 1, CHAKRA_COLLECTIVE, 7, NULL, COLL(CHAKRA_BROADCAST, 1000));
	node(&m, 0, 2, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_BARRIER, 0));
	ENDS(&m, ring, plain, false, "broadcast and barrier take their durations, one after the other", 7001);
}

/* T = hops x 100 + size ns. */
static void messages(void)
{
	struct made m = made(4);
	node(&m, 0, 1, CHAKRA_SEND, 0, NULL, SEND(2, 1000, 5));
	node(&m, 0, 2, CHAKRA_SEND, 0, NULL, SEND(3, 300, 5));
	node(&m, 2, 1, CHAKRA_RECEIVE, 0, NULL, RECEIVE(0, 1000, 5));
	node(&m, 3, 1, CHAKRA_COMPUTE, 3, NULL, NULL);
	node(&m, 3, 2, CHAKRA_RECEIVE, 0, DEPS(1), RECEIVE(0, 300, 5));
	/* To rank 2: two hops, 1200. Then to rank 3: one hop, 400; received when the receive starts. */
	ENDS(&m, ring, plain, false, "sends share one slot; receives wait for message and start", 1600, 0, 1200, 3000);
	m = made(4);
	node(&m, 0, 1, CHAKRA_SEND, 0, NULL, SEND(2, 1000, 5));
	node(&m, 1, 1, CHAKRA_SEND, 0, NULL, SEND(2, 1000, 5));
	node(&m, 2, 1, CHAKRA_RECEIVE, 0, NULL, RECEIVE(0, 1000, 5));
	node(&m, 2, 2, CHAKRA_RECEIVE, 0, NULL, RECEIVE(1, 1000, 5));
	/* Store and forward: rank 1's message has link 1-2 until 1000; rank 0's arrives at rank 1 at 1100, and at rank 2 at 2200. */
	ENDS(&m, ring, plain, true, "store and forward on a ring", 2200, 1100, 2200, 0);
	m = made(4);
	for (uint32_t i = 0; i < 2; i++)
		node(&m, i, 1, CHAKRA_SEND, 0, NULL, SEND(2, 1000, 5));
	/* Both reach the switch at 1100; its link to rank 2 sends one after the other. */
	ENDS(&m, switched, plain, true, "two messages into one link of a switch", 2200, 3200, 0, 0);
}

/* chunk = d + K (T + d) + R 3 msg: reduce-scatter of 400 bytes on 4 ranks: 10 + 3 (200 + 10) + 3 x 300 */
static void collectives(void)
{
	static const char split[] = "{\"endpoint-delay\": 10, \"local-mem-bw\": 1, \"preferred-dataset-splits\": 2}";
	static const char direct[] = "{\"endpoint-delay\": 10, \"local-mem-bw\": 1, \"all-reduce-implementation\": [\"direct\"]}";
	static const char halving[] = "{\"endpoint-delay\": 10, \"local-mem-bw\": 1, \"all-reduce-implementation\": \"halvingDoubling\"}";
	struct made m = made(4);
	for (uint32_t i = 0; i < 4; i++)
		node(&m, i, 1, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_REDUCE_SCATTER, 400));
	ENDS(&m, ring, plain, false, "reduce-scatter on a ring", 1540, 1540, 1540, 1540);
	m = made(4);
	for (uint32_t i = 0; i < 4; i++)
		node(&m, i, 1, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_ALL_GATHER, 101));
	/* 101 bytes in two splits: chunks of 50, 50 and 1 bytes: 10 + 3 (T + 10) each, T = 150, 150, 101 */
	ENDS(&m, ring, split, false, "a rest makes a chunk more", 490 + 490 + 343, 1323, 1323, 1323);
	m = made(4);
	for (uint32_t i = 0; i < 4; i++)
		node(&m, i, 1, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_ALL_REDUCE, 400));
	/* reduce-scatter, then all-gather: 10 + (100 + 2 x 100 + 10 + 300) + (300 + 10) */
	ENDS(&m, ring, direct, false, "direct all-reduce: the farthest of three messages", 930, 930, 930, 930);
	m = made(4);
	for (uint32_t i = 0; i < 4; i++)
		node(&m, i, 1, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_ALL_REDUCE, 400));
	/* 10 + (200 + 100 + 10 + 300) + (100 + 200 + 10) + (100 + 200 + 10) + (200 + 100 + 10) */
	ENDS(&m, ring, halving, false, "halving-doubling all-reduce", 1550, 1550, 1550, 1550);
	m = made(2);
	node(&m, 0, 1, CHAKRA_COMPUTE, 1, NULL, NULL);
	node(&m, 0, 2, CHAKRA_COLLECTIVE, 0, DEPS(1), COLL(CHAKRA_ALL_TO_ALL, 200));
	node(&m, 1, 2, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_ALL_TO_ALL, 200));
	/* One step of 100 bytes: rank 0 sends at 1010 and has had rank 1's message since 210; rank 1 gets it at 1210. */
	ENDS(&m, ring, plain, false, "no barrier: ranks leave a collective at their own times", 1020, 1220);
}

/* Runs that cannot end, and ranks that disagree. */
static void stuck(void)
{
	struct made m = made(2);
	node(&m, 1, 7, CHAKRA_RECEIVE, 0, NULL, RECEIVE(0, 10, 5));
	node(&m, 0, 1, CHAKRA_SEND, 0, NULL, SEND(1, 11, 5));
	fails(&m, "t.1.et: rank 1: node 7: waits forever for a message of rank 0 (tag 5, 10 bytes)", "a receive of another size");
	m = made(2);
	node(&m, 0, 3, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_ALL_REDUCE, 10));
	fails(&m, "t.0.et: rank 0: node 3: waits forever: rank 1 never begins this all-reduce, collective 0", "a collective of one rank");
	m = made(2);
	node(&m, 0, 3, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_ALL_REDUCE, 10));
	node(&m, 1, 4, CHAKRA_COLLECTIVE, 0, NULL, COLL(CHAKRA_ALL_GATHER, 10));
	fails(&m, "t.1.et: rank 1: node 4: all-gather of 10 bytes, collective 0 of its group, where node 3 of rank 0 is all-reduce",
		"two collectives");
}

static void inputs(void)
{
	static const struct {
		const char *text, *want;
	} networks[] = {
		{ "topology: [ Ring ]\nnpus: [ 4 ]\n", "net:2: unknown key \"npus\"" },
		{ "topology: [ Mesh ]\n", "net:1: expected Ring, Switch or FullyConnected, found \"Mesh\"" },
		{ "topology: [ Ring\n", "net:1: expected a list that ends on the same line" },
		{ "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\n", "net: \"latency\" has 0 values" },
		{ "npus_count: [ 0 ]\n", "net:1: expected a number of NPUs" },
		{ "bandwidth: [ 0 ]\n", "net:1: expected a bandwidth" },
		{ "latency: [ nan ]\n", "net:1: expected a latency" },
		{ "latency: 1\nlatency: 2\n", "net:2: duplicate key \"latency\": expected it once" },
		{ "just text\n", "net:1: expected KEY: VALUE" },
	};
	static const struct {
		const char *text, *want;
	} systems[] = {
		{ "[]", "sys: expected a JSON object" },
		{ "{}", "sys: expected \"local-mem-bw\"" },
		{ "{\"local-mem-bw\": -1}", "$.\"local-mem-bw\": expected a number" },
		{ "{\"local-mem-bx\": 1}", "unknown key \"local-mem-bx\": did you mean \"local-mem-bw\"?" },
		{ "{\"local-mem-bw\": 1, \"all-reduce-implementation\": [\"tree\"]}", "$.\"all-reduce-implementation\": expected ring" },
		{ "{\"local-mem-bw\": 1, \"roofline-enabled\": 1}", "expected \"peak-perf\"" },
		{ "{\"local-mem-bw\": 1, \"replay-only\": 1}", "$.\"replay-only\": expected 0" },
	};
	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
		struct orr_error err = { 0 };
		struct astra_network net;
		bool good = astra_network_parse("net", networks[i].text, &net, &err) == ORR_EINPUT && strstr(err.text, networks[i].want);
		ok(good, "network: %s", err.text);
	}
	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
		struct orr_error err = { 0 };
		struct astra_system sys;
		bool good = astra_system_parse("sys", systems[i].text, strlen(systems[i].text), &sys, &err) == ORR_EINPUT &&
			    strstr(err.text, systems[i].want);
		ok(good, "system: %s", err.text);
	}
}

int main(void)
{
	slots();
	messages();
	collectives();
	stuck();
	inputs();
	return done();
}
