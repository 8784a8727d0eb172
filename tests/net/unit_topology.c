/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes join their endpoints, D-mod-k separates the flows of a shift, and messages name the errors in descriptions. */
#include "tests/tap.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "net/topology_shape.h"

#include <stdlib.h>
#include <time.h>

static struct topo *network(const char *cluster, const char *spec)
{
	struct orr_error err;
	struct cluster *c = cluster_load(cluster, &err);
	struct topo *t = c ? topo_load(c, spec, 7, &err) : NULL;
	if (!t)
		printf("# %s, %s: %s\n", cluster, spec, err.text);
	cluster_free(c);
	return t;
}

static struct topo *from_json(const char *cluster, const char *text, struct orr_error *err)
{
	struct cluster *c = cluster_load(cluster, err);
	struct topo *t = topo_parse(c, "net.json", text, strlen(text), 7, NULL, err);
	cluster_free(c);
	return t;
}

/* Returns the node that a vertex belongs to; UINT32_MAX for a switch. */
static uint32_t node_of_vertex(const struct topo *t, uint32_t vertex)
{
	if (vertex < topo_endpoints(t))
		return topo_node(t, vertex);
	if (vertex < shape_port(t, 0))
		return vertex - topo_endpoints(t);
	return vertex < shape_switch(t, 0) ? (vertex - shape_port(t, 0)) / t->shape->nics : UINT32_MAX;
}

/* Returns the place of a vertex. All vertices of a node are one place, because its hub joins them without links. */
static uint64_t place(const struct topo *t, uint32_t vertex)
{
	uint32_t node = node_of_vertex(t, vertex);
	return node == UINT32_MAX ? (uint64_t)vertex : (UINT64_C(1) << 32) + node;
}

static bool joins(const struct topo *t, uint32_t src, uint32_t dst, uint64_t key)
{
	uint32_t hop[TOPO_MAX_HOPS], again[TOPO_MAX_HOPS], n = topo_route(t, src, dst, key, hop);
	if (n != topo_route(t, src, dst, key, again) || memcmp(hop, again, n * sizeof *hop) || n > TOPO_MAX_HOPS)
		return false;
	uint64_t at = place(t, src);
	for (uint32_t i = 0; i < n; i++) {
		if (place(t, t->link[hop[i]].from) != at)
			return false;
		at = place(t, t->link[hop[i]].to);
		for (uint32_t j = 0; j < i; j++)
			if (hop[j] == hop[i])
				return false;
	}
	return at == place(t, dst) && (n || topo_node(t, src) == topo_node(t, dst));
}

static void all_routes(const char *cluster, const char *spec)
{
	struct topo *t = network(cluster, spec);
	unsigned bad = 0, n = 0;
	for (uint32_t s = 0; t && s < topo_endpoints(t); s++)
		for (uint32_t d = 0; d < topo_endpoints(t); d++)
			for (uint64_t key = 0; key < 2; key++, n++)
				bad += !joins(t, s, d, key);
	ok(t && n && !bad, "%s, %s: each route leads from end to end and uses no link twice", cluster, spec);
	topo_free(t);
}

static void routes_of_kinds(void)
{
	static const char *const spec[] = { "star", "star:nics=3,gpu_link=pcie,host_bw=20GBps", "racks:hosts=3", "racks",
		"leaf-spine:leaves=4,spines=3", "leaf-spine:leaves=4,spines=3,routing=ecmp,nics=2", "fat-tree:k=4",
		"fat-tree:routing=ecmp,nics=3", "torus:dims=3x2x2", "torus:dims=5x4", "full-mesh", "ring" };
	for (size_t i = 0; i < sizeof spec / sizeof *spec; i++) {
		all_routes("12x1:v100:racks=4", spec[i]);
		all_routes("5x3,4x0,1x1,2x4", spec[i]);
	}
}

/* Returns a route as text: names separated by spaces. */
static const char *route(const struct topo *t, uint32_t s, uint32_t d)
{
	static char text[512];
	uint32_t hop[TOPO_MAX_HOPS], n = topo_route(t, s, d, 0, hop);
	size_t len = 0;
	*text = '\0';
	for (uint32_t i = 0; i < n && len < sizeof text; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "", t->link[hop[i]].name);
	return text;
}

/* Tests routes computed by hand from the description in topology.h. */
static void routes_by_hand(void)
{
	struct topo *t = network("4x1", "star:bw=40Gbps,lat=3us");
	same_text(route(t, 0, 2), "host0.up host2.down", "one GPU per node: a flow crosses the two NICs and nothing else");
	near_to(topo_bandwidth(t, 0, 2), 5e9, 1e-12, "40Gbps are 5e9 bytes/s");
	near_to(topo_latency(t, 0, 2) * 1e6, 6, 1e-12, "latencies add up");
	same_text(route(t, topo_host(t, 1), 3), "host1.up host3.down", "a host is an endpoint");
	same_text(route(t, topo_host(t, 1), 1), "", "a GPU alone in its node is next to its host");
	topo_free(t);
	t = network("2x4", "star:nics=2,gpu_bw=100GBps,gpu_lat=4us,lat=1us");
	ok(topo_nics(t) == 2, "2 NICs per node");
	same_text(route(t, 0, 3), "gpu0.out gpu3.in", "inside a node a flow crosses the GPUs' links");
	near_to(topo_latency(t, 0, 3) * 1e6, 4, 1e-12, "gpu_lat is that of a message from GPU to GPU");
	same_text(route(t, 1, 6), "gpu1.out host0.nic0.up host1.nic1.down gpu6.in", "GPU g of n uses NIC floor(g nics / n)");
	same_text(route(t, 8, 6), "host0.nic1.up host1.nic1.down gpu6.in", "a host uses the NIC of the GPU it talks to");
	topo_free(t);
	t = network("2x4", "star:gpu_link=pcie");
	same_text(route(t, 1, 2), "root0.out root0.in", "PCIe: all cross the root");
	topo_free(t);
	t = network("2x1", "star:gpu_bw=1GBps");
	near_to(topo_bandwidth(t, 0, 1), 1e9, 1e-12, "a GPU alone in its node has a link on request");
	topo_free(t);
	t = network("8x1:v100:racks=2", "racks:oversubscription=8,switch_lat=0");
	same_text(route(t, 0, 5), "host0.up rack0.up rack1.down host5.down", "between racks: the uplinks");
	near_to(topo_bandwidth(t, 0, 5), 4 * 1.25e9 / 8, 1e-12, "an uplink has hosts x bw / oversubscription");
	same_text(route(t, 0, 3), "host0.up host3.down", "within a rack: none");
	topo_free(t);
	t = network("4x1,2x0", "leaf-spine:leaves=3,spines=2,oversubscription=2");
	same_text(route(t, 0, 7), "host0.up leaf0-spine1 spine1-leaf1 host3.down", "a leaf's spine is the destination mod spines");
	near_to(topo_bandwidth(t, 0, 7), 2 * 1.25e9 / 2 / 2, 1e-12, "a leaf's uplinks share hosts x bw / oversubscription");
	topo_free(t);
	t = network("8x1", "leaf-spine:ports=4,spines=1");
	ok(t->n_links == 2 * 8 + 2 * 2, "as many leaves as the NICs fill: 8 NICs on 2 leaves of 4 ports");
	topo_free(t);
	t = network("9x1", "leaf-spine:ports=4,spines=1");
	ok(t->n_links == 2 * 9 + 2 * 3, "a ninth NIC needs one more leaf");
	topo_free(t);
	t = network("12x1", "torus:dims=4x3");
	same_text(route(t, 0, 7), "host0-host3 host3-host7", "a torus: by dimension, the shorter way around");
	same_text(route(t, 0, 6), "host0-host1 host1-host2 host2-host6", "half-way around: forward");
	topo_free(t);
}

/* Returns the number of flows on the busiest link under a shift. By Zahavi 2010 (theorem), no link carries two flows of a shift
 * permutation. */
static unsigned busiest(const struct topo *t, uint32_t shift, uint32_t *count)
{
	unsigned most = 0;
	memset(count, 0, t->n_links * sizeof *count);
	for (uint32_t s = 0; s < t->n_gpus; s++) {
		uint32_t hop[TOPO_MAX_HOPS], n = topo_route(t, s, (s + shift) % t->n_gpus, shift, hop);
		for (uint32_t i = 0; i < n; i++)
			if (++count[hop[i]] > most)
				most = count[hop[i]];
	}
	return most;
}

static void shifts(void)
{
	struct topo *t = network("1024x1", "fat-tree:k=16"), *ecmp = network("1024x1", "fat-tree:k=16,routing=ecmp");
	uint32_t *count = mem_alloc(ecmp->n_links * sizeof *count);
	unsigned bad = 0, clash = 0;
	for (uint32_t shift = 1; shift < 1024; shift += shift < 80 ? 1 : 17) {
		bad += busiest(t, shift, count) != 1;
		clash += busiest(ecmp, shift, count) > 1;
	}
	ok(!bad, "fat tree of k=16, D-mod-k: no two flows of a shift share a link");
	ok(clash > 50, "with ECMP some do (%u of the shifts)", clash);
	uint32_t hop[TOPO_MAX_HOPS];
	unsigned differ = 0;
	uint32_t base[TOPO_MAX_HOPS], n = topo_route(ecmp, 0, 1000, 0, base);
	for (uint64_t key = 1; key < 50; key++)
		differ += topo_route(ecmp, 0, 1000, key, hop) == n && memcmp(hop, base, n * sizeof *hop);
	ok(differ > 30, "keys spread the flows of one pair (%u of 49 go elsewhere)", differ);
	mem_free(count);
	topo_free(t);
	topo_free(ecmp);
}

/* Returns a fat tree as JSON, with cables in the order of the built-in one. */
static char *fat_tree_json(uint32_t k)
{
	struct sbuf b = { 0 };
	uint32_t h = k / 2;
	sbuf_puts(&b, "{\"bw\": \"10Gbps\", \"switches\": [");
	for (uint32_t i = 0; i < k * h; i++)
		sbuf_printf(&b, "\"e%u\", \"a%u\", ", i, i);
	for (uint32_t i = 0; i < h * h; i++)
		sbuf_printf(&b, "%s\"c%u\"", i ? ", " : "", i);
	sbuf_puts(&b, "], \"links\": [");
	for (uint32_t i = 0; i < k * h * h; i++)
		sbuf_printf(&b, "{\"from\": \"node%u\", \"to\": \"e%u\"}, ", i, i / h);
	for (uint32_t e = 0; e < k * h; e++)
		for (uint32_t a = 0; a < h; a++)
			sbuf_printf(&b, "{\"from\": \"e%u\", \"to\": \"a%u\"}, ", e, e / h * h + a);
	for (uint32_t g = 0; g < k * h; g++)
		for (uint32_t i = 0; i < h; i++)
			sbuf_printf(
				&b, "{\"from\": \"a%u\", \"to\": \"c%u\"}%s", g, g % h * h + i, g == k * h - 1 && i == h - 1 ? "]}" : ", ");
	return sbuf_steal(&b);
}

/* Compares routes by the ends of their links, because only the names of switches differ. */
static bool same_route(const struct topo *a, const struct topo *b, uint32_t s, uint32_t d)
{
	uint32_t x[TOPO_MAX_HOPS], y[TOPO_MAX_HOPS], n = topo_route(a, s, d, 0, x);
	if (n != topo_route(b, s, d, 0, y))
		return false;
	for (uint32_t i = 1; i + 1 < n; i++) { /* switches are named "edge3-agg2" in one topology and "e3-a2" in the other */
		const char *p = a->link[x[i]].name, *q = b->link[y[i]].name;
		uint32_t p1 = (uint32_t)strtoul(p + strcspn(p, "0123456789"), NULL, 10),
			 p2 = (uint32_t)strtoul(strrchr(p, '-') + 1 + strcspn(strrchr(p, '-') + 1, "0123456789"), NULL, 10);
		uint32_t q1 = (uint32_t)strtoul(q + 1, NULL, 10), q2 = (uint32_t)strtoul(strrchr(q, '-') + 2, NULL, 10);
		if (p[0] != q[0] || p1 != q1 || p2 != q2)
			return false;
	}
	return true;
}

/* Tests that an explicit fat tree equals the built-in one. */
static void explicit_fat_tree(void)
{
	struct orr_error err = { 0 };
	char *text = fat_tree_json(6);
	struct topo *json = from_json("54x1", text, &err), *own = network("54x1", "fat-tree:k=6");
	unsigned bad = 0;
	if (!json)
		printf("# %s\n", err.text);
	for (uint32_t s = 0; json && s < 54; s++)
		for (uint32_t d = 0; d < 54; d++)
			bad += !same_route(own, json, s, d) || !joins(json, s, d, 0);
	ok(json && !bad, "a fat tree written as JSON has the routes of the built-in one");
	mem_free(text);
	topo_free(json);
	topo_free(own);
}

static void explicit_forms(void)
{
	struct orr_error err = { 0 };
	struct topo *t = from_json("4x1",
		"{\"lat\": \"2us\", \"switches\": [\"a\", \"b\"], \"links\": [{\"from\": \"node0\", \"to\": \"a\"},"
		"{\"from\": \"n1\", \"to\": \"a\"}, {\"from\": \"node2\", \"to\": \"b\"}, {\"from\": \"node3\", \"to\": \"b\", \"bw\": "
		"1e8},"
		"{\"from\": \"a\", \"to\": \"b\", \"bw\": \"40Gbps\", \"lat\": 1e-6, \"name\": \"trunk\"}]}",
		&err);
	ok(t, "an explicit network %s", err.text);
	if (!t)
		return;
	same_text(route(t, 1, 2), "n1-a trunk b-node2", "its links have the names given");
	same_text(route(t, 3, 1), "node3-b trunk.back a-n1", "a cable has two directions");
	near_to(topo_bandwidth(t, 3, 1), 1e8, 1e-12, "a bandwidth without a unit is in bytes/s");
	near_to(topo_latency(t, 0, 2) * 1e6, 5, 1e-12, "a latency without a unit is in seconds");
	topo_free(t);
	const char *dual =
		"{\"switches\": [\"a\", \"b\", \"s\", \"r\"], \"links\": [{\"from\": \"node0\", \"to\": \"a\"},"
		"{\"from\": \"node1\", \"to\": \"b\"}, {\"from\": \"node2\", \"to\": \"a\"}, {\"from\": \"node2\", \"to\": \"b\"},"
		"{\"from\": \"a\", \"to\": \"s\"}, {\"from\": \"s\", \"to\": \"r\"}, {\"from\": \"r\", \"to\": \"b\"}]}";
	t = from_json("3x1", dual, &err);
	same_text(t ? route(t, 0, 1) : NULL, "node0-a a-s s-r r-b b-node1",
		"a node with two cables forwards nothing, even on a shorter path");
	topo_free(t);
	t = from_json("3x1",
		"{\"forward\": true, \"links\": [{\"from\": \"node0\", \"to\": \"node1\"}, {\"from\": \"node1\", \"to\": \"node2\"}]}",
		&err);
	same_text(t ? route(t, 0, 2) : NULL, "node0-node1 node1-node2", "a node with two cables forwards messages if \"forward\" is true");
	topo_free(t);
}

static void refusals_of_options(void)
{
	static const struct {
		const char *cluster, *spec, *says;
	} bad[] = {
		{ "4x1", "stra", "star" },
		{ "4x1", "star:bw=fast", "bw: expected a positive rate" },
		{ "4x1", "star:bw=-1Gbps", "bw" },
		{ "4x1", "star:bw=0Gbps", "bw" },
		{ "4x1", "star:lat=-1us", "lat" },
		{ "4x1", "star:k=4", "unknown parameter \"k\"" },
		{ "4x1", "star:bw=1Gbps,", "comma" },
		{ "4x1", "star:nics=0", "nics" },
		{ "17x1", "fat-tree:k=4", "expected at least 17" },
		{ "4x1", "fat-tree:k=5", "even" },
		{ "9x1", "leaf-spine:leaves=2,ports=4", "room for 9 NICs" },
		{ "9x1", "torus:dims=2x4", "expected at least 9" },
		{ "9x1", "torus:dims=3y3", "dims" },
		{ "9x1", "torus", "dims" },
		{ "9x1", "torus:dims=3x3,nics=2", "nics" },
		{ "200x1", "ring", "links" },
		{ "3000x1", "full-mesh", "at most 2048" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct orr_error err = { 0 };
		struct cluster *c = cluster_load(bad[i].cluster, &err);
		struct topo *t = topo_load(c, bad[i].spec, 1, &err);
		ok(!t && err.code == ORR_EINPUT && strstr(err.text, bad[i].says), "refused: %s", err.text);
		topo_free(t);
		cluster_free(c);
	}
}

static void refusals_of_json(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{\"links\": [", ":1:11: invalid JSON: expected an object" },
		{ "[]", "$: expected an object" },
		{ "{}", "$.links: expected a list" },
		{ "{\"links\": [], \"color\": 1}", "color" },
		{ "{\"links\": [], \"bw\": \"1\"}", "bw" },
		{ "{\"links\": [], \"bw\": []}", "$.bw" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"nodeX\"}]}", "$.links[0].to: unknown vertex \"nodeX\"" },
		{ "{\"links\": [{\"to\": \"node0\"}]}", "$.links[0].from" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"node0\"}]}", "$.links[0].to: equal to \"from\"" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"node1\", \"bw\": -1}]}", "$.links[0].bw" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"node1\", \"bw\": \"-1Gbps\"}]}", "$.links[0].bw" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"node1\", \"lat\": \"soon\"}]}", "$.links[0].lat" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"node1\", \"both\": 1}]}", "$.links[0].both" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"node1\", \"cap\": 1}]}", "unknown key \"cap\"" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"node1\"}, {\"from\": \"node1\", \"to\": \"node0\"}]}",
			"$.links[1]: duplicate link" },
		{ "{\"links\": [{\"from\": \"node0\", \"to\": \"node1\", \"both\": false}]}", "no path from \"n1\"" },
		{ "{\"switches\": [\"a\", \"a\"], \"links\": []}", "$.switches[1]: duplicate name \"a\"" },
		{ "{\"switches\": [\"node1\"], \"links\": []}", "$.switches[0]" },
		{ "{\"switches\": {}, \"links\": []}", "$.switches: expected a list" },
		{ "{\"switches\": [\"a\"], \"links\": [{\"from\": \"node0\", \"to\": \"a\"}]}", "$.links: no path" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct orr_error err = { 0 };
		struct topo *t = from_json("2x1", bad[i].text, &err);
		ok(!t && err.code == ORR_EINPUT && strstr(err.text, bad[i].says) && strstr(err.text, "net.json"), "refused: %s", err.text);
		topo_free(t);
	}
}

static void rates(void)
{
	double v = 0;
	ok(topo_rate("10Gbps", 6, &v) && v == 1.25e9, "10Gbps are bits");
	ok(topo_rate("12.5GBps", 8, &v) && v == 12.5e9, "12.5GBps are bytes");
	ok(topo_rate("1e9Bps", 6, &v) && v == 1e9 && topo_rate("100Mbps", 7, &v) && v == 12.5e6, "prefixes and exponents");
	ok(!topo_rate("10", 2, &v) && !topo_rate("10Gb", 4, &v) && !topo_rate("Gbps", 4, &v) && !topo_rate("", 0, &v) &&
			!topo_rate("10 bps", 6, &v) && !topo_rate("10Xbps", 6, &v),
		"no unit, no rate");
}

static void hashes(void)
{
	struct topo *a = network("4x1", "star"), *b = network("4x1", "star:bw=10000Mbps"), *c = network("4x1", "star:lat=6us");
	struct topo *d = network("4x1", "star:lat=5000ns"), *e = network("3x1,1x0", "star");
	ok(strlen(a->hash) == 64 && strcmp(a->hash, c->hash) && strcmp(a->hash, e->hash), "the hash tells topologies apart");
	ok(!strcmp(a->hash, d->hash) && !strcmp(a->hash, b->hash), "spellings of one time or rate have the same hash");
	topo_free(a);
	topo_free(b);
	topo_free(c);
	topo_free(d);
	topo_free(e);
}

/* Tests that 1,280 nodes of 8 GPUs and 8 NICs take a small fraction of a second, because every run builds its topology. */
static void large(void)
{
	struct orr_error err;
	struct cluster *c = cluster_load("1280x8", &err);
	clock_t start = clock();
	struct topo *t = topo_load(c, "fat-tree:k=48,nics=8", 1, &err);
	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	ok(t && t->n_gpus == 10240 && joins(t, 0, 10239, 0) && joins(t, 5000, 4999, 0), "10,240 GPUs on a fat tree of k=48");
	const char *sanitized = getenv("ORR_SANITIZED");
	if (sanitized && *sanitized == '1')
		skip("a sanitized build takes another time");
	else
		ok(seconds < 0.5, "the fat tree of 10,240 GPUs is built in less than half a second (%.3f s, %u links)", seconds,
			t ? t->n_links : 0);
	topo_free(t);
	cluster_free(c);
}

/* Returns the names of the links from an endpoint to the top, which must be joined. */
static const char *way_up(const struct topo *t, uint32_t endpoint)
{
	static char text[200];
	uint32_t up[TOPO_MAX_UP], n = topo_up(t, endpoint, up);
	text[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (i && t->link[up[i]].from != t->link[up[i - 1]].to)
			return "a gap";
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", t->link[up[i]].name);
	}
	return text;
}

static void test_up(void)
{
	static const struct {
		const char *cluster, *network, *way;
		uint32_t endpoint;
	} cases[] = { { "2x4", "star:nics=2", "host0.nic1.up", 3 },
		{ "8x1:v100:racks=2", "racks:oversubscription=8", "host5.up rack1.up", 5 },
		{ "4x1,2x0", "leaf-spine:leaves=3,spines=2", "host3.up leaf1-spine1", 3 },
		{ "6x1", "leaf-spine:leaves=2,spines=2", "host3.up", 3 },
		{ "6x1", "leaf-spine:leaves=2,spines=2,oversubscription=2", "host3.up leaf1-spine1", 3 },
		{ "4x2", "leaf-spine:nics=2,rails=true,spines=2", "host2.nic1.up leaf1-spine0", 5 },
		{ "16x1", "fat-tree:k=4", "host6.up edge3-agg2 agg2-core1", 6 }, { "4x1", "full-mesh", "", 1 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct topo *t = network(cases[i].cluster, cases[i].network);
		same_text(way_up(t, cases[i].endpoint), cases[i].way, cases[i].network);
		topo_free(t);
	}
	/* Fat tree: the 16 NICs use all 16 links to core switches. */
	struct topo *t = network("16x1", "fat-tree:k=4");
	uint32_t up[TOPO_MAX_UP], used = 0;
	bool *is_used = mem_zalloc(t->n_links, 1);
	for (uint32_t e = 0; e < 16; e++) {
		topo_up(t, e, up);
		used += !is_used[up[2]];
		is_used[up[2]] = true;
	}
	ok(used == 16, "NICs of a fat tree have different ways up: %u", used);
	mem_free(is_used);
	topo_free(t);
}

int main(void)
{
	rates();
	routes_by_hand();
	routes_of_kinds();
	shifts();
	explicit_fat_tree();
	explicit_forms();
	refusals_of_options();
	refusals_of_json();
	hashes();
	large();
	test_up();
	return done();
}
