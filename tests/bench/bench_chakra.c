/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_chakra.c - an execution trace of 64 ranks x 100,000 nodes, read and run without congestion
 *
 * usage: bench_chakra [RANKS [NODES [DIR]]]. Of 20 nodes 16 compute, one sends, one receives, two are all-reduces, over 8 ranks and over
 * all. DIR: the files are left there, with network.yml and system.json, for orrery step --graph; else they are removed. Prints CPU seconds
 * and the largest memory.
 */
#include "base/mem.h"
#include "step/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct chakra_text text_of(const char *s)
{
	return (struct chakra_text){ s, strlen(s) };
}

static struct chakra_attribute number(const char *name, int64_t v)
{
	return (struct chakra_attribute){ .name = text_of(name), .kind = CHAKRA_SIGNED, .i = v };
}

/* Appends node i of a rank. Each node waits for the one before, except that messages and collectives wait only for the computation before
 * them, and the next computation after a round of 20 for all of it. */
static void put_node(struct sbuf *out, uint32_t rank, uint32_t ranks, uint32_t i)
{
	char group[16];
	uint64_t dep[4] = { i, 0, 0, 0 };
	struct chakra_attribute a[6] = { { .name = text_of("is_cpu_op"), .kind = CHAKRA_BOOL } };
	struct chakra_record r = { .id = i + 1,
		.name = text_of("kernel"),
		.type = CHAKRA_COMPUTE,
		.duration_us = 20 + (i * 7 + rank * 13) % 31,
		.data = dep,
		.n_data = i > 0,
		.attribute = a,
		.n_attributes = 1 };
	uint32_t k = i % 20, round = i / 20;
	bool is_coll = k == 9 || k == 19, is_send = k == 8, is_receive = k == 18;
	if (is_send || is_receive) {
		r.type = is_send ? CHAKRA_SEND : CHAKRA_RECEIVE;
		a[r.n_attributes++] = number("comm_src", is_send ? rank : (rank + ranks - 1) % ranks);
		a[r.n_attributes++] = number("comm_dst", is_send ? (rank + 1) % ranks : rank);
		a[r.n_attributes++] = number("comm_tag", round);
		a[r.n_attributes++] = number("comm_size", 262144);
		r.duration_us = 0;
	} else if (is_coll) {
		r.type = CHAKRA_COLLECTIVE;
		a[r.n_attributes++] = number("comm_type", CHAKRA_ALL_REDUCE);
		a[r.n_attributes++] = number("comm_size", 1048576);
		if (k == 9) {
			snprintf(group, sizeof group, "%u", rank / 8 + 1);
			a[r.n_attributes++] =
				(struct chakra_attribute){ .name = text_of("pg_name"), .kind = CHAKRA_TEXT, .text = text_of(group) };
		}
		r.duration_us = 0;
		dep[0] = i - 1;
	} else if (k == 10) {
		dep[0] = i - 2;
	} else if (k == 0 && i) {
		dep[1] = i - 10;
		r.n_data = 2;
	}
	chakra_put_node(out, &r);
}

static bool write_file(const char *dir, const char *name, const struct sbuf *b)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "wb");
	bool good = f && fwrite(sbuf_text(b), 1, b->len, f) == b->len;
	return f && !fclose(f) && good;
}

static bool generate(const char *dir, uint32_t ranks, uint32_t nodes)
{
	struct sbuf b = { 0 };
	char name[64];
	bool good = true;
	for (uint32_t r = 0; r < ranks && good; r++) {
		sbuf_clear(&b);
		chakra_put_head(&b);
		for (uint32_t i = 0; i < nodes; i++)
			put_node(&b, r, ranks, i);
		snprintf(name, sizeof name, "bench.%u.et", r);
		good = write_file(dir, name, &b);
	}
	sbuf_clear(&b);
	for (uint32_t r = 0; r < ranks; r++) {
		if (r % 8 == 0)
			sbuf_printf(&b, "%s\"%u\": [", r ? "], " : "{", r / 8 + 1);
		sbuf_printf(&b, "%s%u", r % 8 ? ", " : "", r);
	}
	sbuf_puts(&b, "]}\n");
	good = good && write_file(dir, "groups.json", &b);
	sbuf_clear(&b);
	sbuf_printf(&b, "topology: [ Switch ]\nnpus_count: [ %u ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n", ranks);
	good = good && write_file(dir, "network.yml", &b);
	sbuf_clear(&b);
	sbuf_puts(&b, "{\"endpoint-delay\": 10, \"preferred-dataset-splits\": 4, \"local-mem-bw\": 1600}\n");
	good = good && write_file(dir, "system.json", &b);
	sbuf_free(&b);
	return good;
}

static void remove_files(const char *dir, uint32_t ranks)
{
	char path[1024];
	static const char *const names[] = { "groups.json", "network.yml", "system.json" };
	for (uint32_t r = 0; r < ranks; r++) {
		snprintf(path, sizeof path, "%s/bench.%u.et", dir, r);
		unlink(path);
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

int main(int argc, char **argv)
{
	uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 64,
		 nodes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100000;
	char made[] = "/tmp/orr-bench-XXXXXX", path[1024];
	const char *dir = argc > 3 ? argv[3] : mkdtemp(made);
	struct orr_error err = { 0 };
	struct astra_network net;
	struct astra_system sys;
	struct replay_result out;
	struct rusage use;
	if (!ranks || ranks % 8 || !nodes || !dir || !generate(dir, ranks, nodes)) {
		fprintf(stderr, "bench_chakra: expected a multiple of 8 ranks, nodes, and a folder that can be written\n");
		return 2;
	}
	double begin = cpu_s();
	struct chakra *t = chakra_load(dir, NULL, &err);
	double loaded = cpu_s();
	snprintf(path, sizeof path, "%s/network.yml", dir);
	int rc = !t || astra_network_load(path, &net, &err);
	snprintf(path, sizeof path, "%s/system.json", dir);
	rc = rc || astra_system_load(path, &sys, &err);
	rc = rc || replay_run(&(struct replay_config){ .trace = t, .network = &net, .system = &sys }, &out, &err);
	double ended = cpu_s();
	if (argc <= 3)
		remove_files(dir, ranks);
	if (rc) {
		fprintf(stderr, "bench_chakra: %s\n", err.text);
		return 1;
	}
	getrusage(RUSAGE_SELF, &use);
	printf("%u ranks x %u nodes: read %.2f CPU s, run %.2f CPU s; %llu messages, rank 0 ends at %lld ns; %.2f GiB\n", ranks, nodes,
		loaded - begin, ended - loaded, (unsigned long long)out.messages, (long long)out.rank[0].finish_ns,
		(double)use.ru_maxrss / 1048576);
	replay_result_free(&out);
	chakra_free(t);
	return 0;
}
