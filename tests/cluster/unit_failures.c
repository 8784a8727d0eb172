/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that fail and are repaired: times by hazard and by trace. Effects on jobs are
 * tested in jobs_life.sh. */
#include "base/mem.h"
#include "cluster/failures.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

enum { NODES = 5, CHANGES = 20000 };

struct seen {
	int64_t at[CHANGES];
	uint32_t node[CHANGES];
	bool fails[CHANGES];
};

static void draw(struct seen *s, const struct failures *f, const char *cluster, uint64_t seed)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load(cluster, &err);
	struct failure_run *r = failure_run_new(f, c, seed, 0);
	for (int i = 0; i < CHANGES; i++)
		if (!failure_run_next(r, &s->at[i], &s->node[i], &s->fails[i]))
			s->at[i] = -1;
	failure_run_free(r);
	cluster_free(c);
}

/* Returns the time of the k-th failure or repair of a node. */
static int64_t change_of(const struct seen *s, uint32_t node, int k)
{
	for (int i = 0; i < CHANGES; i++)
		if (s->node[i] == node && !k--)
			return s->at[i];
	return -1;
}

static void hazard(void)
{
	static struct seen five, two, again, other;
	const int64_t mtbf = 1000 * ORR_SECOND, mttr = 100 * ORR_SECOND;
	struct failures *f = failures_from_hazard(mtbf, mttr);
	bool is_down[NODES] = { false }, ordered = true, alternating = true, same = true;
	int64_t since[NODES] = { 0 };
	double up = 0, down = 0;
	int n_up = 0, n_down = 0;
	draw(&five, f, "5x1", 1);
	draw(&two, f, "2x1", 1);
	draw(&again, f, "5x1", 1);
	draw(&other, f, "5x1", 2);
	for (int i = 0; i < CHANGES; i++) {
		uint32_t n = five.node[i];
		ordered = ordered && (!i || five.at[i] >= five.at[i - 1]);
		alternating = alternating && five.fails[i] == !is_down[n];
		is_down[n] = five.fails[i];
		if (five.fails[i]) {
			up += (double)(five.at[i] - since[n]);
			n_up++;
		} else {
			down += (double)(five.at[i] - since[n]);
			n_down++;
		}
		since[n] = five.at[i];
	}
	ok(ordered, "times of failures do not decrease");
	ok(alternating, "a node fails, is repaired, fails, ...");
	/* Tolerance: five standard deviations, mean / sqrt(n) each for n exponential times. */
	near_to(up / n_up / (double)mtbf, 1, 5 / sqrt(n_up), "mean time between failures");
	near_to(down / n_down / (double)mttr, 1, 5 / sqrt(n_down), "mean time to repair");
	for (int k = 0; k < 100; k++)
		same = same && change_of(&five, 0, k) == change_of(&two, 0, k) && change_of(&five, 1, k) == change_of(&two, 1, k);
	ok(same, "a node's failures do not depend on the number of nodes");
	ok(change_of(&five, 0, 0) != change_of(&five, 1, 0), "nodes do not fail together");
	ok(!memcmp(five.at, again.at, sizeof five.at) && !memcmp(five.node, again.node, sizeof five.node),
		"the same seed gives the same failures");
	ok(memcmp(five.at, other.at, sizeof five.at) != 0, "another seed gives other failures");
	failures_free(f);
}

static void some_types(void)
{
	static struct seen all, some;
	char hash[65], other[65];
	struct failures *f = failures_from_hazard(1000 * ORR_SECOND, 100 * ORR_SECOND);
	draw(&all, f, "1x1:a,1x1:b,1x1:c,1x0", 1);
	strcpy(hash, failures_hash(f));
	failures_only_types(f, 0);
	ok(!strcmp(hash, failures_hash(f)), "an empty list of types does not change the hash");
	failures_only_types(f, 1 | 4);
	strcpy(other, failures_hash(f));
	draw(&some, f, "1x1:a,1x1:b,1x1:c,1x0", 1);
	bool is_right = true, has[4] = { false };
	for (int i = 0; i < CHANGES; i++)
		has[some.node[i]] = true;
	ok(has[0] && !has[1] && has[2] && !has[3] && strcmp(hash, other), "only nodes of the given types fail");
	for (int k = 0; k < 100; k++)
		is_right = is_right && change_of(&all, 0, k) == change_of(&some, 0, k) && change_of(&all, 2, k) == change_of(&some, 2, k);
	ok(is_right, "a restriction by type does not change the times of failures");
	failures_only_types(f, 8);
	ok(strcmp(other, failures_hash(f)), "other types have another hash");
	draw(&some, f, "1x1:a,1x1:b,1x1:c,1x0", 1);
	ok(some.at[0] == -1, "no node fails if the cluster lacks the given types");
	failures_free(f);
}

static char path[] = "/tmp/orrery-failures.XXXXXX";

static struct failures *from_text(const char *text, struct orr_error *err)
{
	struct cluster *c = cluster_load("3x1", err);
	unlink(path);
	FILE *file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	struct failures *f = failures_from_file(path, c, err);
	cluster_free(c);
	return f;
}

static void trace(void)
{
	static struct seen s;
	struct orr_error err = { 0 };
	struct failures *f = from_text("time_s,node,event\r\n1.5,n2,fail\n\n1.5,0,fail\n2,n2,repair\n", &err);
	draw(&s, f, "3x1", 1);
	ok(s.at[0] == 1500000000 && s.node[0] == 2 && s.fails[0], "the first line, node by name");
	ok(s.at[1] == 1500000000 && s.node[1] == 0 && s.fails[1], "the second, by number");
	ok(s.at[2] == 2 * ORR_SECOND && s.node[2] == 2 && !s.fails[2], "the third, a repair");
	ok(s.at[3] == -1, "the trace has no further row");
	failures_free(f);
	static const struct {
		const char *text, *want;
	} bad[] = { { "1,n0\n", ":1: expected time_s,node,event" }, { "x,n0,fail\n", ":1: expected time_s: a number" },
		{ "-1,n0,fail\n", ":1: expected time_s: a number" }, { "1,n3,fail\n", ":1: expected node" },
		{ "1,3,fail\n", ":1: expected node" }, { "1,-1,fail\n", ":1: expected node" }, { "1,n0,burn\n", ":1: expected event" },
		{ "1,n0,fail,x\n", ":1: expected event" }, { "time_s,node,event\n2,n0,fail\n1,n1,fail\n", ":3: \"time_s\" decreases" },
		{ "1,n0,fail\n2,n0,fail\n", ":2: node n0 is already down" }, { "1,n0,repair\n", ":1: node n0 is already up" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		f = from_text(bad[i].text, &err);
		if (f || !strstr(err.text, bad[i].want))
			printf("# %s\n", f ? "accepted" : err.text);
		ok(!f && err.code == ORR_EINPUT && strstr(err.text, bad[i].want), "refused: %s", bad[i].want);
		failures_free(f);
	}
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 2;
	close(fd);
	hazard();
	some_types();
	trace();
	unlink(path);
	return done();
}
