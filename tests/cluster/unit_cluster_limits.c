/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_cluster_limits.c - the largest and smallest value that each description of a cluster accepts, speeds of GPU types, and the
 * fields that enter the hash; the laws of the pool, each violated once; placement rules compared; nodes chosen by hand
 */
#include "base/mem.h"
#include "base/sbuf.h"
#include "cluster/placement.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct orr_error err;

static struct cluster *from(const char *text)
{
	err = (struct orr_error){ 0 };
	bool is_file = strchr(text, '{') || strchr(text, '\n');
	return is_file ? cluster_from_text("c", text, &err) : cluster_load(text, &err);
}

static void refused(const char *text, const char *want)
{
	struct cluster *c = from(text);
	if (c || strcmp(err.text, want))
		printf("# got  %s\n# want %s\n", c ? "accepted" : err.text, want);
	ok(!c && !strcmp(err.text, want), "refused: %.*s", (int)strcspn(text, "\n"), text);
	cluster_free(c);
}

/* ---- limits: the last node of each description ---- */

struct limit {
	const char *text;
	uint32_t nodes, gpus, rack;
	int64_t cpu_milli, mem_mib;
	double speed;
};

static void test_limits(void)
{
	static const struct limit good[] = {
		{ "{\"nodes\": [{\"count\": 1048576, \"gpus\": 1}]}", 1048576, 1, 0, -1, -1, 0 },
		{ "{\"nodes\": [{\"gpus\": 1024}]}", 1, 1024, 0, -1, -1, 0 },
		{ "{\"nodes\": [{\"gpus\": 1, \"cpus\": 1e9, \"mem_gib\": 1e9}]}", 1, 1, 0, INT64_C(1000000000000), INT64_C(1024000000000),
			0 },
		{ "{\"nodes\": [{\"gpus\": 1, \"cpus\": 0.0004, \"mem_gib\": 0.0004}]}", 1, 1, 0, 0, 0, 0 },
		{ "{\"nodes\": [{\"gpus\": 1, \"cpus\": 0.0016, \"mem_gib\": 0.0006}]}", 1, 1, 0, 2, 1, 0 },
		{ "{\"nodes\": [{\"gpus\": 1, \"rack\": 1000000}]}", 1, 1, 1000000, -1, -1, 0 },
		{ "{\"nodes\": [{\"gpus\": 1, \"count\": 3, \"racks\": 3, \"rack\": 2}]}", 3, 1, 4, -1, -1, 0 },
		{ "{\"nodes\": [{\"gpus\": 1, \"count\": 5, \"racks\": 2, \"rack\": 0}]}", 5, 1, 1, -1, -1, 0 },
		{ "{\"nodes\": [{\"gpus\": 1, \"count\": 2, \"racks\": 0, \"rack\": 7}]}", 2, 1, 7, -1, -1, 0 },
		{ "{\"nodes\": [{\"gpus\": 1, \"speed\": 1e6}]}", 1, 1, 0, -1, -1, 1e6 },
		{ "{\"nodes\": [{\"gpus\": 1, \"speed\": 0}]}", 1, 1, 0, -1, -1, 0 },
		{ "gpus\n1024\n", 1, 1024, 0, -1, -1, 0 },
		{ "gpus,cpus,mem_gib,rack\n1,1e9,976562500,1000000\n", 1, 1, 1000000, INT64_C(1000000000000), INT64_C(1000000000000), 0 },
		{ "gpus,cpus,mem_gib\n0,0.0016,0.0006\n", 1, 0, 0, 2, 1, 0 },
		{ "gpus,speed\n1,0.25\n", 1, 1, 0, -1, -1, 0.25 },
		{ "gpus,speed\n1,1000000\n", 1, 1, 0, -1, -1, 1e6 },
		{ "sn,cpu_milli,memory_mib,gpu,model\nx,1000000000000,1000000000000,1,a\n", 1, 1, 0, INT64_C(1000000000000),
			INT64_C(1000000000000), 0 },
		{ "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n3,2,1024,1e6,1e9\n", 6, 1024, 2, 1000000000,
			INT64_C(1024000000000), 0 },
		{ "num_switch,num_node_p_switch,num_gpu_p_node\n100000,1,1\n", 100000, 1, 99999, -1, -1, 0 },
		{ "num_switch,num_node_p_switch,num_gpu_p_node\n1,100000,0\n", 100000, 0, 0, -1, -1, 0 },
		{ "1048576x1", 1048576, 1, 0, -1, -1, 0 },
		{ "1x1024:cpus=1e9:mem=1e9", 1, 1024, 0, INT64_C(1000000000000), INT64_C(1024000000000), 0 },
		{ "7x1:racks=7", 7, 1, 6, -1, -1, 0 },
		{ "1x1:a:speed=1e6", 1, 1, 0, -1, -1, 1e6 },
		{ "1x1:a:speed=0.125", 1, 1, 0, -1, -1, 0.125 },
		{ "1x1:cpus=0.0016:mem=0.0004", 1, 1, 0, 2, 0, 0 },
		{ "1x1:a,1x1:b:speed=3,2x2:a", 4, 2, 2, -1, -1, 0 },
		{ "1x1:a:speed=2,2x2:a", 3, 2, 1, -1, -1, 2 },
		{ "1x1:a:speed=2,2x2:a:speed=2", 3, 2, 1, -1, -1, 2 },
	};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		const struct limit *x = &good[i];
		struct cluster *c = from(x->text);
		const struct cluster_node *n = c ? &c->node[c->n_nodes - 1] : NULL;
		double speed = n && n->gpus ? c->type_speed[n->type] : 0;
		if (!ok(c && c->n_nodes == x->nodes && n->gpus == x->gpus && n->rack == x->rack && n->cpu_milli == x->cpu_milli &&
				    n->mem_mib == x->mem_mib && speed >= x->speed && speed <= x->speed && c->n_racks == x->rack + 1,
			    "%.*s", (int)strcspn(x->text, "\n"), x->text))
			printf("# %s: %u nodes, %u GPUs, rack %u of %u, %lld, %lld, %g\n", c ? "read" : err.text, c ? c->n_nodes : 0,
				n ? n->gpus : 0, n ? n->rack : 0, c ? c->n_racks : 0, n ? (long long)n->cpu_milli : 0,
				n ? (long long)n->mem_mib : 0, speed);
		cluster_free(c);
	}
	refused("{\"nodes\": [{\"count\": 1048577, \"gpus\": 1}]}", "c: $.nodes[0].count: expected a number from 0 to 1048576");
	refused("{\"nodes\": [{\"gpus\": 1025}]}", "c: $.nodes[0].gpus: expected a number from 0 to 1024");
	refused("{\"nodes\": [{\"gpus\": 1, \"cpus\": 1000000001}]}", "c: $.nodes[0].cpus: expected a number from 0 to 1000000000");
	refused("{\"nodes\": [{\"gpus\": 1, \"mem_gib\": 1000000001}]}", "c: $.nodes[0].mem_gib: expected a number from 0 to 1000000000");
	refused("{\"nodes\": [{\"gpus\": 1}, {\"gpus\": 1, \"rack\": 1000001}]}",
		"c: $.nodes[1].rack: expected a number from 0 to 1000000");
	refused("{\"nodes\": [{\"gpus\": 1, \"count\": 2, \"racks\": 3}]}", "c: $.nodes[0].racks: expected a number from 0 to 2");
	refused("{\"nodes\": [{\"gpus\": 1, \"speed\": 1000001}]}", "c: $.nodes[0].speed: expected a number from 0 to 1000000");
	refused("{\"nodes\": [{\"gpus\": 1, \"name\": \"\"}]}", "c: $.nodes[0].name: expected a string");
	refused("{\"nodes\": [{\"gpus\": 1},\n\n{gpus: 2}]}", "c:3: invalid JSON from this line on: expected an object with \"nodes\"");
	refused("{nodes", "c:1: invalid JSON from this line on: expected an object with \"nodes\"");
	refused("{\"nodes\": [{\"gpus\": 1}], \"other\": 3}", "c: unknown key \"other\": expected \"nodes\"");
	refused("{\"nodes\": [{\"gpus\": 1, \"speed\": 2}, {\"gpus\": 1, \"speed\": 3}]}",
		"c: $.nodes[1].speed: type \"gpu\" has the speeds 2 and 3: expected one speed per type");
	refused("{\"nodes\": [{\"gpus\": 1, \"speed\": 3}, {\"gpus\": 1, \"speed\": 2}]}",
		"c: $.nodes[1].speed: type \"gpu\" has the speeds 3 and 2: expected one speed per type");
	refused("{\"nodes\": [{\"speed\": 2}]}",
		"c: $.nodes[0].speed: given for a node without GPUs: expected a speed only for GPUs of a named type");
	refused("gpus,speed\n1,2\n1,0.5\n", "c:3: speed: type \"gpu\" has the speeds 2 and 0.5: expected one speed per type");
	refused("gpus,speed\n1,1000001\n", "c:2: speed: expected a number from 0 to 1000000, found \"1000001\"");
	refused("gpus,cpus\n1,1000000001\n", "c:2: cpus: expected a number from 0 to 1000000000, found \"1000000001\"");
	refused("gpus,mem_gib\n1,976562501\n", "c:2: mem_gib: expected a number from 0 to 976562500, found \"976562501\"");
	refused("gpus,rack\n1,1000001\n", "c:2: rack: expected a whole number from 0 to 1000000, found \"1000001\"");
	refused("gpus,rack\n1,0.5\n", "c:2: rack: expected a whole number from 0 to 1000000, found \"0.5\"");
	refused("gpus\n1025\n", "c:2: gpus: expected a whole number from 0 to 1024, found \"1025\"");
	refused("name,gpus\nx\n", "c:2: gpus: expected a whole number from 0 to 1024, found \"\"");
	refused("sn,gpu,cpu_milli\nx,1,1000000000001\n",
		"c:2: cpu_milli: expected a whole number from 0 to 1000000000000, found \"1000000000001\"");
	refused("num_switch,num_gpu_p_node\n100001,1\n", "c:2: num_switch: expected a whole number from 0 to 100000, found \"100001\"");
	refused("num_switch,num_node_p_switch,num_gpu_p_node\n1,100001,1\n",
		"c:2: num_node_p_switch: expected a whole number from 0 to 100000, found \"100001\"");
	refused("num_switch,num_gpu_p_node,num_cpu_p_node\n1,1,1000001\n",
		"c:2: num_cpu_p_node: expected a number from 0 to 1000000, found \"1000001\"");
	refused("num_switch,num_gpu_p_node,mem_p_node\n1,1,1000000001\n",
		"c:2: mem_p_node: expected a number from 0 to 1000000000, found \"1000000001\"");
	static const char ending[] = " (a file of that name does not exist)";
	static const struct {
		const char *spec, *expected, *found;
	} bad[] = { { "1x1:a:b", "one type of GPU in each group, and a comma between groups (2x8:v100,2x8:h100)", "b" },
		{ "1x1:cpus=1000000001", "NAME=NUMBER", "cpus=1000000001" },
		{ "1x1:speed=1000001", "cpus=CORES, mem=GiB, racks=N (at most the number of nodes) or speed=FACTOR (above 0)",
			"speed=1000001" },
		{ "1x1:speed=0", "cpus=CORES, mem=GiB, racks=N (at most the number of nodes) or speed=FACTOR (above 0)", "speed=0" },
		{ "3x1:racks=4", "cpus=CORES, mem=GiB, racks=N (at most the number of nodes) or speed=FACTOR (above 0)", "racks=4" },
		{ "3x1:racks=0.5", "cpus=CORES, mem=GiB, racks=N (at most the number of nodes) or speed=FACTOR (above 0)", "racks=0.5" },
		{ "1x1:cpu=4", "cpus=CORES, mem=GiB, racks=N (at most the number of nodes) or speed=FACTOR (above 0)", "cpu=4" },
		{ "1x1:memo=4", "cpus=CORES, mem=GiB, racks=N (at most the number of nodes) or speed=FACTOR (above 0)", "memo=4" },
		{ "0x1", "1 to 1048576 nodes", "0x1" }, { "1x1025", "0 to 1024 GPUs on a node", "1x1025" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char want[400];
		snprintf(want, sizeof want, "cluster \"%s\": expected %s, found \"%s\"%s", bad[i].spec, bad[i].expected, bad[i].found,
			ending);
		refused(bad[i].spec, want);
	}
	refused("1x1:a:speed=2,1x1:a:speed=3",
		"cluster \"1x1:a:speed=2,1x1:a:speed=3\": speed: type \"a\" has the speeds 2 and 3: expected one speed per type");
	refused("1x0:speed=2",
		"cluster \"1x0:speed=2\": speed: given for a node without GPUs: expected a speed only for GPUs of a named type");
}

/* ---- the hash: equal for equal clusters, another for any field ---- */

static void hash_of(const char *text, char out[65])
{
	struct cluster *c = from(text);
	snprintf(out, 65, "%s", c ? c->hash : "");
	cluster_free(c);
}

static void test_hash(void)
{
	static const char *const other[] = { "name,gpus,type,cpus,mem_gib,rack,speed\ny,2,a,4,8,1,0.5\n",
		"name,gpus,type,cpus,mem_gib,rack,speed\nx,3,a,4,8,1,0.5\n", "name,gpus,type,cpus,mem_gib,rack,speed\nx,2,b,4,8,1,0.5\n",
		"name,gpus,type,cpus,mem_gib,rack,speed\nx,2,a,5,8,1,0.5\n", "name,gpus,type,cpus,mem_gib,rack,speed\nx,2,a,4,9,1,0.5\n",
		"name,gpus,type,cpus,mem_gib,rack,speed\nx,2,a,4,8,2,0.5\n", "name,gpus,type,cpus,mem_gib,rack,speed\nx,2,a,4,8,1,0.6\n",
		"name,gpus,type,cpus,mem_gib,rack\nx,2,a,4,8,1\n",
		"name,gpus,type,cpus,mem_gib,rack,speed\nx,2,a,4,8,1,0.5\nx,2,a,4,8,1,0.5\n" };
	char one[65], two[65];
	hash_of("name,gpus,type,cpus,mem_gib,rack,speed\nx,2,a,4,8,1,0.5\n", one);
	hash_of("{\"nodes\": [{\"name\": \"x\", \"gpus\": 2, \"type\": \"a\", \"cpus\": 4, \"mem_gib\": 8, \"rack\": 1, \"speed\": 0.5}]}",
		two);
	ok(strlen(one) == 64 && !strcmp(one, two), "equal clusters in two formats have one hash");
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		hash_of(other[i], two);
		ok(strlen(two) == 64 && strcmp(one, two) != 0, "another cluster has another hash");
	}
	struct cluster *c = from("sn,cpu_milli,memory_mib,gpu,model\nx,1,1,1,a\n"), *d = from("gpus\n1\n");
	ok(c && c->is_recorded && d && !d->is_recorded, "a node list of openb is a recorded cluster");
	cluster_free(c);
	cluster_free(d);
	c = from("1x1:a:speed=0.5,1x1:b,1x1:c:speed=2");
	ok(c && c->type_speed[0] >= 0.5 && c->type_speed[0] <= 0.5 && !(c->type_speed[1] > 0) && c->type_speed[2] >= 2 &&
			c->type_speed[2] <= 2,
		"a speed for each type");
	cluster_free(c);
}

/* ---- the laws of the pool ---- */

static void test_laws(void)
{
	static const char sums[] = "free and used GPUs of a node do not sum to its GPUs",
			  cpus[] = "free and used CPUs of a node do not sum to its CPUs";
	static const char mem[] = "free and used memory of a node does not sum to its memory",
			  down[] = "a job holds GPUs of a node that is down";
	static const char used[] = "the count of GPUs in use differs from the sum over nodes", over[] = "a shared GPU is over-allocated";
	static const char bucket[] = "a node is not in the bucket of its free GPUs", closed[] = "a closed node is in a bucket";
	static const char *const want[] = { NULL, sums, sums, cpus, cpus, mem, mem, used, used, over, sums, down, bucket, closed, NULL,
		down, used };
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct cluster *c = from("2x4:cpus=8:mem=1");
		struct pool *p = pool_new(c, placement_find("consolidate"));
		struct pool_request whole = { 2, 1000, 3000, 100, UINT64_MAX }, part = { 1, 400, 500, 20, UINT64_MAX };
		struct pool_alloc a, b;
		const struct pool_alloc *both[] = { &a, &b };
		ok(pool_take(p, &whole, &a) && pool_take(p, &part, &b), "a job of two GPUs and one of a part");
		struct pool_node *s = &p->node[pool_pieces(&a)->node];
		uint16_t *slot = &p->slot_milli[p->slot_base[pool_pieces(&b)->node] + pool_pieces(&b)->slot];
		size_t n = 2;
		int64_t zero = 0;
		switch (i) {
		case 1:
			s->free_gpus++;
			break;
		case 2:
			s->free_gpus--;
			break;
		case 3:
			s->cpu_free++;
			break;
		case 4:
			s->cpu_free -= 20000;
			break;
		case 5:
			s->mem_free--;
			break;
		case 6:
			s->mem_free = -1;
			break;
		case 7:
			p->used_milli += 1;
			break;
		case 8:
			n = 1;
			break;
		case 9:
			*slot = 1001;
			break;
		case 10:
			s->open++;
			break;
		case 11:
			s->is_up = false;
			break;
		case 12:
			bitset_remove(pool_bucket(p, 0, s->free_gpus), pool_pieces(&a)->node);
			break;
		case 13:
			s->is_closed = true;
			break;
		case 14:
			pool_node_close(p, 0);
			break;
		case 15:
			p->node[pool_pieces(&b)->node].is_up = false;
			break;
		case 16:
			p->used_milli = zero;
			break;
		default:
			break;
		}
		const char *got = pool_check(p, both, n);
		ok(want[i] ? got && !strcmp(got, want[i]) : !got, "law %zu: %s (%s)", i, want[i] ? want[i] : "holds", got ? got : "holds");
		pool_free(p);
		cluster_free(c);
	}
}

/* ---- rules compared, queries without some jobs, nodes chosen by hand ---- */

/* Allocates the requests under two rules. Returns whether the rules ever chose different places. */
static bool differs(const char *rule, const char *other, const char *spec, const uint32_t *gpus, int64_t cpu)
{
	struct cluster *c = from(spec);
	struct pool *p = pool_new(c, placement_find(rule));
	struct pool_alloc a[4];
	uint32_t n = 0;
	pool_compare(p, placement_find(other));
	for (; *gpus; gpus++)
		n += pool_take(p, &(struct pool_request){ *gpus, 1000, cpu, 0, UINT64_MAX }, &a[n]);
	bool has = pool_has_differed(p);
	while (n)
		pool_give(p, &a[--n]);
	pool_free(p);
	cluster_free(c);
	return has;
}

static void test_compare(void)
{
	static const uint32_t fitting[] = { 4, 4, 0 }, broken[] = { 3, 2, 0 }, wide[] = { 5, 0 }, one[] = { 1, 0 };
	ok(!differs("count", "consolidate", "2x4", fitting, 0), "whole nodes: both rules choose the same");
	ok(differs("count", "consolidate", "2x4", broken, 0), "a job that one rule splits");
	ok(!differs("consolidate", "consolidate", "2x4", broken, 0), "a rule never differs from itself");
	ok(differs("spread", "consolidate", "2x4", broken, 0), "spread and consolidate choose different nodes");
	ok(!differs("spread", "consolidate", "1x4", broken, 0), "on one node both rules choose the same place, or refuse");
	ok(differs("count", "consolidate", "1x4:a,1x8:b", wide, 0) == false, "a type that only one node has");
	ok(differs("count", "consolidate", "2x4:cpus=8", one, 1000), "count knows no CPUs of nodes, so it may differ");
	ok(!differs("count", "consolidate", "2x4:cpus=8", one, 0), "without a request for CPUs the rules do not differ");
	struct cluster *c = from("1x1");
	struct pool *p = pool_new(c, placement_find("count"));
	ok(pool_has_differed(p), "without a second rule the result is unknown");
	pool_free(p);
	cluster_free(c);
}

static void test_without(void)
{
	struct cluster *c = from("2x4:cpus=8");
	struct pool *p = pool_new(c, placement_find("consolidate"));
	struct pool_request three = { 3, 1000, 3000, 0, UINT64_MAX }, four = { 4, 1000, 0, 0, UINT64_MAX },
			    part = { 1, 600, 0, 0, UINT64_MAX };
	struct pool_alloc a, b, d;
	ok(pool_take(p, &three, &a) && pool_take(p, &three, &b) && pool_take(p, &part, &d), "three jobs");
	struct pool_alloc *first[] = { &a }, *second[] = { &b }, *all[] = { &b, &a, &d };
	int64_t used = p->used_milli;
	ok(!pool_fits(p, &four) && !pool_fits_without(p, &four, NULL, 0), "no node has four GPUs");
	bool with_first = pool_fits_without(p, &four, first, 1), with_second = pool_fits_without(p, &four, second, 1);
	ok(with_first != with_second, "a node has four GPUs without the job that is alone on it");
	ok(pool_fits_without(p, &four, all, 3) && used == p->used_milli && p->used_milli == 6600 && p->node[0].cpu_free == 5000 &&
			p->node[1].cpu_free == 5000,
		"the question changes nothing");
	ok(p->idle_gpus == 0 && p->free_gpus == 1 && p->total_gpus == 8, "GPUs free and idle");
	static const uint32_t node[] = { 0 }, two[] = { 2 }, nowhere[] = { 9 };
	struct pool_request r = { 2, 1000, 0, 0, UINT64_MAX };
	struct pool_alloc x;
	same_text(
		pool_take_at(p, &r, node, two, 1, &x), "over-allocation: the requested GPUs are in use: expected free GPUs", "GPUs in use");
	same_text(pool_take_at(p, &r, nowhere, two, 1, &x), "the node number is out of range: expected a node of the cluster",
		"no such node");
	pool_give(p, &a);
	pool_give(p, &b);
	pool_give(p, &d);
	ok(p->idle_gpus == 8 && !p->used_milli, "all idle");
	pool_node_close(p, 0);
	same_text(pool_take_at(p, &r, node, two, 1, &x), "a node that was given notice was requested: expected a node without notice",
		"a closed node");
	pool_node_down(p, 0);
	same_text(pool_take_at(p, &r, node, two, 1, &x), "a node that is down was requested: expected a node that is up",
		"a node that is down");
	ok(p->total_gpus == 4 && p->free_gpus == 4 && p->total[0] == 4 && p->cpu_free == 8000, "totals exclude a node that is down");
	pool_node_down(p, 0);
	pool_node_up(p, 0);
	pool_node_up(p, 0);
	ok(p->total_gpus == 8 && p->free_gpus == 8 && p->idle_gpus == 8 && p->cpu_free == 16000 && !p->node[0].is_closed &&
			!pool_check(p, NULL, 0),
		"a node that comes up again is open and counts once");
	ok(pool_part(10, 1, 3) == 3 && pool_part(10, 2, 3) == 6 && pool_part(10, 3, 3) == 10 && pool_part(INT64_MAX, 1023, 1024) > 0,
		"parts are rounded down");
	ok(pool_could_ever_fit(c, placement_find("consolidate"), &four) &&
			!pool_could_ever_fit(c, placement_find("consolidate"), &(struct pool_request){ 4, 1000, 8001, 0, UINT64_MAX }) &&
			pool_could_ever_fit(c, placement_find("consolidate"), &(struct pool_request){ 4, 1000, 8000, 0, UINT64_MAX }),
		"what fits an empty cluster");
	pool_free(p);
	cluster_free(c);
}

int main(void)
{
	test_limits();
	test_hash();
	test_laws();
	test_compare();
	test_without();
	return done();
}
