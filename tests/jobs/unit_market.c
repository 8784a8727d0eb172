/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_market.c - lent nodes as visible to a policy, and the policy's actions on a node given notice */
#include "tests/jobs/bare_policy.h"
#include "tests/tap.h"

#include <orrery/jobs.h>

#include "base/mem.h"
#include "base/param.h"
#include "cluster/capacity.h"
#include "cluster/pool.h"
#include "jobs/jobs.h"
#include "traces/trace.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Two nodes of 4 GPUs, of instances a and b. a costs 2 USD/h; b costs 3 USD/h until 60 s, then 5. b is removed at 100 s, with 30 s of
 * notice. */
static const char rows[] = "time_s,event,node,zone,price\n0,price,,,3\n0,add,a,,2\n0,add,b,,\n60,price,,,5\n100,remove,b,,\n";
static const char jobs_text[] = "submit_s,duration_s,gpus\n0,200,2\n0,40,4\n";

static struct orr_error err;

/* Log with an entry per schedule() call: time; numbers of GPUs in total, free, given notice, and given notice of the first job; USD
 * per GPU-hour; state of n1. */
static char seen[2048];
static bool is_type_unknown;
static bool is_bold; /* whether the policy tries to start a job on the node given notice */

static void schedule(void *self, struct orr_jobs *w)
{
	const uint32_t node[] = { 1 }, gpus[] = { 2 }, all[] = { 4 }, first[] = { 0 };
	struct orr_node_info info;
	size_t at = strlen(seen);
	(void)self;
	orr_job a = orr_job_first(w), b = orr_job_next(w, a);
	if (!orr_now(w)) {
		orr_start_at(w, a, node, gpus, 1);
		orr_start_at(w, b, first, all, 1);
	}
	is_type_unknown = isnan(orr_gpu_usd_per_hour(w, 1)) && isnan(orr_gpu_usd_per_hour(w, UINT32_MAX));
	int64_t goes = orr_node_goes_ns(w, 1);
	orr_node_get(w, 1, &info);
	snprintf(seen + at, sizeof seen - at, "%g:%u/%u/%u/%u %.4g %g%s%u|", (double)orr_now(w) / 1e9, orr_total_gpus(w), orr_free_gpus(w),
		orr_going_gpus(w), orr_job_going_gpus(w, a), orr_gpu_usd_per_hour(w, 0), goes == ORR_NEVER ? -1 : (double)goes / 1e9,
		info.is_up ? "+" : "-", info.gpus_free);
	if (orr_going_gpus(w) && is_bold) {
		orr_stop(w, a);
		orr_start_at(w, a, node, gpus, 1);
	} else if (a && !orr_job_is_running(w, a)) {
		orr_try_start(w, a);
	}
}

static const struct orr_jobs_ops ops = { BARE_POLICY, .evict = bare_job, .schedule = schedule };
static const struct orr_policy policy = { .abi_version = ORR_ABI_VERSION, .kind = "jobs", .name = "watcher", .doc = "", .ops = &ops };

static void put_file(char *path, const char *text)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f && fputs(text, f) >= 0)
		fclose(f);
}

static int run(bool is_lent)
{
	static struct jobs_blocks blocks;
	char capacity_path[] = "/tmp/orrery-market.XXXXXX", jobs_path[] = "/tmp/orrery-market.XXXXXX";
	put_file(capacity_path, rows);
	put_file(jobs_path, jobs_text);
	struct availset *set = availset_load(capacity_path, "availability", NULL, 1, &err);
	struct capacity_config capacity = { .set = set, .notice_ns = 30000000000, .usd_per_hour = 1 };
	struct orr_args *options = args_new(jobs_options, "jobs", &err);
	struct cluster *cluster = cluster_load("2x4:v100", &err);
	struct jobset *jobs = jobset_load(jobs_path, "orrery", NULL, 1, &err);
	struct jobs_config config = { .jobs = jobs,
		.cluster = cluster,
		.placement = placement_find("consolidate"),
		.options = options,
		.capacity = is_lent ? &capacity : NULL,
		.until_ns = ORR_NEVER,
		.check = true,
		.policy_timeout_s = 60 };
	struct run_result *r = result_new();
	seen[0] = '\0';
	err = (struct orr_error){ 0 };
	int rc = jobs_run(&config, &policy, NULL, "watcher", r, &blocks, &err);
	result_free(r);
	jobset_free(jobs);
	cluster_free(cluster);
	args_free(options);
	availset_free(set);
	unlink(capacity_path);
	unlink(jobs_path);
	return rc;
}

int main(void)
{
	/* The first job is on n1, the other one on all of n0 until 40 s. At 60 s the price changes. At 70 s n1 is given notice, and
	 * its 2 free GPUs no longer count as free. At 100 s n1 is removed: the first job loses its work and runs on n0 until 300 s.
	 * The mean price per GPU-hour is (2 + 3) / 8 USD, then (2 + 5) / 8, then 2 / 4. */
	is_bold = false;
	ok(!run(true), "a policy runs on lent nodes");
	same_text(seen,
		"0:8/2/0/0 0.625 -1+2|40:8/6/0/0 0.625 -1+2|60:8/6/0/0 0.875 -1+2|70:8/4/4/2 0.875 100+0|100:4/4/0/0 0.5 -1-0|300:4/4/0/0 "
		"0.5 -1-0|",
		"it sees GPUs present, GPUs that will leave, and prices");
	is_bold = true;
	ok(run(true) && strstr(err.text, "policy watcher: job 0 at 70.000000000 s: start: a node that was given notice was requested"),
		"starting a job on a node given notice ends the run");
	is_bold = false;
	ok(is_type_unknown, "a GPU type that the cluster lacks has no price");
	ok(!run(false), "a policy that reads the market runs on a fixed cluster");
	same_text(seen, "0:8/2/0/0 nan -1+2|40:8/6/0/0 nan -1+2|200:8/8/0/0 nan -1+4|", "no GPU will leave there, and prices are unknown");
	return done();
}
