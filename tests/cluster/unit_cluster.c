/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions of clusters: the meaning of each format, and hostile input, which is refused
 * without a crash. Each case is data: the text, and the cluster in canonical form, node by
 * node, or the expected message.
 */
#include "base/mem.h"
#include "base/sbuf.h"
#include "cluster/cluster.h"
#include "base/rng.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/orrery-cluster.XXXXXX";

static void write_file(const char *text, size_t n)
{
	unlink(path);
	FILE *f = fopen(path, "w");
	fwrite(text, 1, n, f);
	fclose(f);
}

/* Returns "name:gpus:type:cpus:mem@rack" of each node, with equal consecutive nodes as "3 x ..". */
static char *canonical(const struct cluster *c)
{
	struct sbuf b = { 0 };
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		const struct cluster_node *n = &c->node[i];
		sbuf_printf(&b, "%s%s:%u:%s:%lld:%lld@%u", i ? " " : "", n->name, n->gpus,
			n->type == CLUSTER_NO_TYPE ? "-" : c->type_name[n->type], (long long)n->cpu_milli, (long long)n->mem_mib, n->rack);
	}
	return sbuf_steal(&b);
}

static const struct good {
	const char *text, *want;
} specs[] = {
	{ "2x8", "n0:8:gpu:-1:-1@0 n1:8:gpu:-1:-1@0" },
	{ "1x4:v100", "n0:4:v100:-1:-1@0" },
	{ "1x4:v100:cpus=96:mem=512", "n0:4:v100:96000:524288@0" },
	{ "1x4:cpus=0.5:mem=0.25", "n0:4:gpu:500:256@0" },
	{ "1x0:cpus=64", "n0:0:-:64000:-1@0" },
	{ "1x1:cpus=0:mem=0", "n0:1:gpu:0:0@0" },
	{ "1x1024:cpus=1e9:mem=0.0006", "n0:1024:gpu:1000000000000:1@0" },
	/* node i of n nodes in r racks lies in rack i r / n (rounded down); the racks of the next group have the following numbers */
	{ "3x1:racks=2,1x1:k80", "n0:1:gpu:-1:-1@0 n1:1:gpu:-1:-1@0 n2:1:gpu:-1:-1@1 n3:1:k80:-1:-1@2" },
	{ "1x1:V100,1x2:v100", "n0:1:V100:-1:-1@0 n1:2:V100:-1:-1@1" }, /* case is ignored */
}, files[] = {
	{ "{\"nodes\": [{\"gpus\": 2}]}", "n0:2:gpu:-1:-1@0" },
	{ "\xef\xbb\xbf {\"nodes\": [{\"gpus\": 2, \"type\": \"a\", \"cpus\": 1.5, \"mem_gib\": 0.5, \"name\": \"x\"}]}",
		"x:2:a:1500:512@0" },
	{ "{\"nodes\": [{\"count\": 2, \"gpus\": 1, \"name\": \"x\"}, {\"gpus\": 0, \"cpus\": 4, \"rack\": 5}]}",
		"x-0:1:gpu:-1:-1@0 x-1:1:gpu:-1:-1@0 n2:0:-:4000:-1@5" },
	{ "{\"nodes\": [{\"count\": 4, \"gpus\": 1, \"racks\": 2}]}",
		"n0:1:gpu:-1:-1@0 n1:1:gpu:-1:-1@0 n2:1:gpu:-1:-1@1 n3:1:gpu:-1:-1@1" },
	{ "name,gpus,type,cpus,mem_gib,rack\nx,4,v100,96,512,3\r\n\ny,0,,8,,\n", "x:4:v100:96000:524288@3 y:0:-:8000:-1@0" },
	{ "gpus\n2\n3", "n0:2:gpu:-1:-1@0 n1:3:gpu:-1:-1@0" },
	{ "gpus,type,name\n2\n3,y,x\n", "n0:2:gpu:-1:-1@0 x:3:y:-1:-1@0" },
	{ "gpus,cpus,rack\n3,,4\n", "n0:3:gpu:-1:-1@4" },
	{ "{\"nodes\": [{\"gpus\": 1, \"cpus\": 0, \"mem_gib\": 0}]}", "n0:1:gpu:0:0@0" },
	{ "{\"nodes\": [{\"gpus\": 1, \"rack\": 1}, {\"gpus\": 1}]}", "n0:1:gpu:-1:-1@1 n1:1:gpu:-1:-1@2" },
	/* openb's list: milli-cores and MiB */
	{ "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,64000,262144,2,P100\nopenb-node-0001,96000,393216,0,\n",
		"openb-node-0000:2:P100:64000:262144@0 openb-node-0001:0:-:96000:393216@0" },
	/* Tiresias: switches are racks; memory in GiB */
	{ "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n2,1,4,128,256\n",
		"n0:4:gpu:128000:262144@0 n1:4:gpu:128000:262144@1" },
	{ "num_switch,num_gpu_p_node\n2,4\n", "n0:4:gpu:-1:-1@0 n1:4:gpu:-1:-1@1" },
	{ "num_switch,num_node_p_switch,num_gpu_p_node\n2,2,1\n", "n0:1:gpu:-1:-1@0 n1:1:gpu:-1:-1@0 n2:1:gpu:-1:-1@1 n3:1:gpu:-1:-1@1" },
};

static void good_cases(const struct good *cases, size_t n, bool in_file)
{
	for (size_t i = 0; i < n; i++) {
		struct orr_error err = { 0 };
		if (in_file)
			write_file(cases[i].text, strlen(cases[i].text));
		struct cluster *c = cluster_load(in_file ? path : cases[i].text, &err);
		char *got = c ? canonical(c) : mem_strdup(err.text);
		same_text(got, cases[i].want, "good description");
		mem_free(got);
		cluster_free(c);
	}
}

static const struct bad {
	const char *text, *want; /* want: expected part of the message */
} bad_specs[] = {
	{ "", "NODESxGPUS" }, { "x", "NODESxGPUS" }, { "8", "NODESxGPUS" }, { "1x", "NODESxGPUS" }, { "x1", "NODESxGPUS" },
	{ "1x1,", "NODESxGPUS" }, { ",1x1", "NODESxGPUS" }, { "-1x1", "1 to 1048576 nodes" }, { "0x1", "1 to 1048576 nodes" },
	{ "1048577x1", "1 to 1048576 nodes" }, { "1048576x1,1x1", "too many nodes: expected at most 1048576" },
	{ "99999999999999999999x1", "NODESxGPUS" }, { "1x-1", "0 to 1024 GPUs" }, { "1x1025", "0 to 1024 GPUs" },
	{ "1x1:", "a GPU type after the colon" }, { "2x8:v100+2x8:h100", "a comma between groups" }, { "1x1:cpus=", "NAME=NUMBER" }, { "1x1:cpus=-1", "NAME=NUMBER" },
	{ "1x1:cpus=nan", "NAME=NUMBER" }, { "1x1:cpus=inf", "NAME=NUMBER" }, { "1x1:mem=1e99", "NAME=NUMBER" },
	{ "1x1:racks=0", "racks=N" }, { "1x1:racks=2", "racks=N" }, { "1x1:colour=3", "cpus=CORES" },
	{ "1x1:an-unreasonably-long-name-for-a-type-of-gpu-that-nobody-would-ever-sell-to-anybody", "a GPU type after the colon" },
	{ "/nowhere/at/all.csv", "a file of that name does not exist" },
}, bad_files[] = {
	{ "", "is empty" }, { "\n\n", "is empty" }, { "host,cores\n1,2\n", ":1: expected a column \"gpus\"" },
	{ "gpus\n", "expected at least one node" }, { "gpus\nx\n", ":2: gpus: expected a whole number" }, { "gpus\n1\n-1\n", ":3: gpus" },
	{ "name,gpus\nx\n", ":2: gpus" }, { "gpus\n1e9\n", ":2: gpus" }, { "gpus\n1025\n", ":2: gpus" },
	{ "gpus,cpus\n1,lots\n", ":2: cpus" }, { "gpus,cpus\n1,1e10\n", ":2: cpus" },
	{ "gpus,mem_gib\n1,1e9\n", ":2: mem_gib" }, { "gpus,mem_gib\n1,nan\n", ":2: mem_gib" }, { "gpus,rack\n1,1e7\n", ":2: rack" },
	{ "gpus\n1.5\n", ":2: gpus: expected a whole number" },
	{ "num_switch,num_node_p_switch,num_gpu_p_node\n100000,100000,1\n", "too many nodes: expected at most 1048576" },
	{ "num_switch,num_node_p_switch,num_gpu_p_node\n0,4,1\n", "expected at least one node" },
	{ "{", "invalid JSON" }, { "{}", "$.nodes: expected a list" }, { "[]", "expected a column \"gpus\"" }, { "{\"nodes\": 3}", "$.nodes: expected a list" },
	{ "{\"nodes\": []}", "expected at least one node" }, { "{\"nodes\": [3]}", "$.nodes[0]: expected an object" },
	{ "{\"nodes\": [[]]}", "$.nodes[0]: expected an object" }, { "{\"nodes\": [{\"gpus\": -1}]}", "$.nodes[0].gpus" },
	{ "{\"nodes\": [{\"gpus\": 1}, {\"gpus\": 1e30}]}", "$.nodes[1].gpus" },
	{ "{\"nodes\": [{\"gpus\": 2.5}]}", "$.nodes[0].gpus: expected a whole number" },
	{ "{\"nodes\": [{\"gpus\": 1, \"count\": 1.5}]}", "$.nodes[0].count: expected a whole number" },
	{ "{\"nodes\": [{\"gpus\": 1, \"count\": 0}]}", "expected at least one node" },
	{ "{\"nodes\": [{\"gpus\": 1, \"count\": 4, \"racks\": 5}]}", "$.nodes[0].racks: expected a number from 0 to 4" },
	{ "{\"nodes\": [{\"gpus\": \"1\"}]}", "$.nodes[0].gpus: expected a number" },
	{ "{\"nodes\": [{\"gpus\": 1, \"type\": 7}]}", "$.nodes[0].type: expected a string" },
	{ "{\"nodes\": [{\"gpus\": 1, \"color\": 7}]}", "unknown key \"color\"" },
	{ "{\"nodes\": [{\"gpus\": 1}]} trailing", "invalid JSON" },
	{ "{\"nodes\": [{\"gpus\": 1}], \"node\": []}", "unknown key \"node\"" },
};

static void bad_cases(const struct bad *cases, size_t n, bool in_file)
{
	for (size_t i = 0; i < n; i++) {
		struct orr_error err = { 0 };
		if (in_file)
			write_file(cases[i].text, strlen(cases[i].text));
		struct cluster *c = cluster_load(in_file ? path : cases[i].text, &err);
		bool good = !c && err.code == ORR_EINPUT && strstr(err.text, cases[i].want);
		if (!good)
			printf("# \"%s\": %s\n", cases[i].text, c ? "accepted" : err.text);
		ok(good, "refused: %.40s", cases[i].want);
		cluster_free(c);
	}
}

static void too_many_types(void)
{
	struct sbuf b = { 0 };
	struct orr_error err = { 0 };
	for (int i = 0; i < 65; i++)
		sbuf_printf(&b, "%s1x1:t%d", i ? "," : "", i);
	struct cluster *c = cluster_load(sbuf_text(&b), &err);
	ok(!c && strstr(err.text, "expected at most 64"), "65 types are one too many");
	sbuf_free(&b);
}

static void types(void)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load("1x1:v100,1x1:v100m32,1x1:T4", &err);
	ok(cluster_type(c, "V100M32", 7) == 1 && cluster_type(c, "v100", 4) == 0 && cluster_type(c, "v10", 3) == CLUSTER_NO_TYPE,
		"a type is found by its whole name, whatever the case of letters");
	ok(cluster_type_mask(c, "") == 7 && cluster_type_mask(c, NULL) == 7, "an empty list of types means all types");
	ok(cluster_type_mask(c, "t4|V100") == 5, "some types");
	ok(cluster_type_mask(c, "A100|T4") == 4 && cluster_type_mask(c, "A100") == 0, "types that the cluster lacks are left out");
	ok(c->gpus == 3 && c->max_node_gpus == 1 && c->n_racks == 3, "GPUs, the largest node and the racks are counted");
	cluster_free(c);
	c = cluster_load("2x4:racks=2,1x8,1x2", &err);
	ok(c->gpus == 18 && c->max_node_gpus == 8 && c->n_racks == 4, "counts are right for nodes of several sizes");
	cluster_free(c);
}

/* Bytes of valid files are changed, repeated and removed. Each result must be read or refused without a crash (run under sanitizers
 * and valgrind). */
static void mutations(int rounds)
{
	struct rng r;
	int refused = 0;
	rng_init(&r, 1, "mutations", 0);
	for (int k = 0; k < rounds; k++) {
		char text[512];
		const char *from = files[rng_below(&r, sizeof files / sizeof *files)].text;
		size_t n = strlen(from);
		memcpy(text, from, n);
		for (uint64_t changes = 1 + rng_below(&r, 4); changes && n > 1; changes--) {
			static const char marks[] = "{}[]\",:\\\0\n019.-eEx ";
			size_t at = rng_below(&r, n);
			switch (rng_below(&r, 3)) {
			case 0:
				text[at] = rng_below(&r, 2) ? marks[rng_below(&r, sizeof marks)] : (char)rng_below(&r, 256);
				break;
			case 1:
				memmove(text + at, text + at + 1, --n - at);
				break;
			default:
				if (n < sizeof text)
					memmove(text + at + 1, text + at, n++ - at);
			}
		}
		struct orr_error err = { 0 };
		write_file(text, n);
		struct cluster *c = cluster_load(path, &err);
		refused += !c;
		if (!c && (err.code != ORR_EINPUT || !*err.text)) {
			ok(false, "refused without a message: %.*s", (int)n, text);
			return;
		}
		cluster_free(c);
	}
	ok(refused > rounds / 10 && refused < rounds, "%d damaged files: %d refused, the others read", rounds, refused);
}

#define COUNT(a) (sizeof(a) / sizeof *(a))

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 2;
	close(fd);
	good_cases(specs, COUNT(specs), false);
	good_cases(files, COUNT(files), true);
	bad_cases(bad_specs, COUNT(bad_specs), false);
	bad_cases(bad_files, COUNT(bad_files), true);
	too_many_types();
	types();
	mutations(getenv("ORR_SANITIZED") ? 3000 : 20000);
	unlink(path);
	return done();
}
