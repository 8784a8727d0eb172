/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_flow_hand.c - flows on runs computed by hand: spilled data sets and their transfer times, names of stages, scores by law and by
 * SGD, failed flows
 */
#include "tests/jobs/bare_policy.h"
#include "tests/jobs/flow_run.h"

static void expect(const struct run_result *r, const char *name, double want)
{
	double got = flow_metric(r, name);
	ok(fabs(got - want) <= 1e-9 * fmax(1, fabs(want)), "%s is %.10g (%.10g)", name, want, got);
}

/* ---- data sets ---- */

/* Prefix p (100 bytes), three branches b (40 bytes each) with scores 1, 3 and 2, and d, which reads the kept result. Each stage takes
 * 1 s on one GPU. The memory has 150 bytes; the disk has 10 bytes/s. */
static const char branches[] =
	"{\"operators\":[{\"name\":\"p\",\"work_s\":1,\"output_bytes\":100},{\"name\":\"e\",\"inputs\":[\"p\"],\"explore\":3},"
	"{\"name\":\"b\",\"inputs\":[\"e\"],\"work_s\":1,\"output_bytes\":40,\"score\":{\"values\":[1,3,2]}},"
	"{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{\"keep\":1}},{\"name\":\"d\",\"inputs\":[\"c\"],\"work_s\":1}]}";

/*
 * p runs from 0 to 1 s and b[0] to 2 s; the memory then holds 140 bytes. b[1] reads p and needs 40 bytes. The least recently used set,
 * that of b[0], is spilled in 4 s. b[1] ends at 7 s, and b[0] is dropped. b[2] spills the set of b[1] and ends at 12 s; b[2] is
 * dropped, and p has no reader left. d reads the set of b[1] from disk in 4 s and ends at 17 s.
 */
static void test_spills(void)
{
	struct run_result *r = flow_run(branches, "1x1", &orr_policy_fifo, DATASETS_LRU, false, "memory_bytes=150 disk_Bps=10");
	expect(r, "flow_time_mean", 17);
	expect(r, "flow_time_max", 17);
	expect(r, "sets_made", 4);
	expect(r, "sets_spilled", 2);
	expect(r, "bytes_spilled", 80);
	expect(r, "sets_read_from_disk", 1);
	expect(r, "bytes_from_disk", 40);
	expect(r, "bytes_from_memory", 300);
	expect(r, "memory_max", 140);
	expect(r, "memory_mean", (100 * 1 + 140 * 11) / 17.);
	expect(r, "stages", 5);
	expect(r, "stages_run", 5);
	expect(r, "branches", 3);
	expect(r, "branches_run", 3);
	expect(r, "work_done", 5);
	expect(r, "work_shared", 5);
	expect(r, "score_kept", 3);
	expect(r, "branch_kept", 1);
	expect(r, "regret", 0);
	expect(r, "gpu_hours", 17 / 3600.);
	result_free(r);
	/* Two nodes hold half of each set and write in parallel: a spill takes 2 s instead of 4, and each stage half of its time. */
	r = flow_run(branches, "2x1", &orr_policy_mdf, DATASETS_LRU, false, "memory_bytes=75 disk_Bps=10");
	expect(r, "flow_time_mean", 5 * 0.5 + 3 * 2);
	expect(r, "bytes_spilled", 80);
	expect(r, "sets_spilled", 4);
	result_free(r);
	/* Each spilled set moves back once, when it is read. Without a memory limit, no set moves. */
	r = flow_run(branches, "1x1", &orr_policy_fifo, DATASETS_LRU, false, "memory_bytes=150");
	expect(r, "flow_time_mean", 5);
	expect(r, "bytes_spilled", 80);
	result_free(r);
	r = flow_run(branches, "1x1", &orr_policy_fifo, DATASETS_NONE, false, "disk_Bps=10");
	expect(r, "flow_time_mean", 5);
	expect(r, "bytes_spilled", 0);
	expect(r, "memory_max", 180);
	result_free(r);
}

/*
 * p (8 s, 50 bytes) is read by q (30 bytes); s (0.1 s, 50 bytes) is read by r (40 bytes). z reads q and r and needs 150 of 200 bytes,
 * so one of q and r is spilled, at 10 bytes/s. The value in amm is min(bytes, cost of making the set again). It is 30 for q, because p
 * takes 8 s (worth 80 bytes), and 1 for r, because s takes 0.1 s. So r is spilled. The prototype's form adds the 50 bytes of s in
 * memory, which gives 40 for r, so q is spilled.
 */
static void test_amm(void)
{
	static const char json[] =
		"{\"operators\":[{\"name\":\"p\",\"work_s\":8,\"output_bytes\":50},{\"name\":\"q\",\"inputs\":[\"p\"],\"work_s\":1,"
		"\"output_bytes\":30},{\"name\":\"s\",\"work_s\":0.1,\"output_bytes\":50},{\"name\":\"r\",\"inputs\":[\"s\"],\"work_s\":1,"
		"\"output_bytes\":40},{\"name\":\"z\",\"inputs\":[\"q\",\"r\"],\"work_s\":1,\"output_bytes\":150}]}";
	struct run_result *r = flow_run(json, "1x1", &orr_policy_fifo, DATASETS_AMM, false, "memory_bytes=200 disk_Bps=10");
	expect(r, "bytes_spilled", 40);
	expect(r, "flow_time_mean", 8 + 0.1 + 1 + 1 + 4 + 1);
	result_free(r);
	r = flow_run(json, "1x1", &orr_policy_fifo, DATASETS_AMM, false, "memory_bytes=200 disk_Bps=10 amm_recompute=code");
	expect(r, "bytes_spilled", 30);
	expect(r, "flow_time_mean", 8 + 0.1 + 1 + 1 + 3 + 1);
	result_free(r);
	/* Without a disk rate, the value of a set is its bytes. */
	r = flow_run(json, "1x1", &orr_policy_fifo, DATASETS_AMM, false, "memory_bytes=200");
	expect(r, "bytes_spilled", 30);
	result_free(r);
}

/* Separate jobs hold the outputs of all their operators while they run: three jobs of 140 bytes on three GPUs. d starts at 2 s. */
static void test_unshared(void)
{
	struct run_result *r = flow_run(branches, "1x3", &orr_policy_fifo, DATASETS_NONE, true, "");
	expect(r, "memory_max", 420);
	expect(r, "flow_time_mean", 3);
	expect(r, "work_done", 7);
	expect(r, "memory_mean", (420 * 2 + 40 * 1) / 3.);
	result_free(r);
}

/* ---- names ---- */

static void test_names(void)
{
	static const char json[] =
		"{\"flows\":[{\"name\":\"train\",\"operators\":[{\"name\":\"p\",\"work_s\":1},{\"name\":\"e\",\"inputs\":[\"p\"],"
		"\"explore\":2},{\"name\":\"a\",\"inputs\":[\"e\"],\"work_s\":1},{\"name\":\"f\",\"inputs\":[\"a\"],\"explore\":3},"
		"{\"name\":\"x\",\"inputs\":[\"f\"],\"work_s\":1,\"score\":{\"law\":\"linear\"}},{\"name\":\"d\",\"inputs\":[\"x\"],"
		"\"choose\":{}},{\"name\":\"c\",\"inputs\":[\"d\"],\"choose\":{}}]},"
		"{\"operators\":[{\"name\":\"u\",\"work_s\":1},{\"name\":\"v\",\"inputs\":[\"u\"],\"work_s\":1}]}]}";
	char got[300] = "";
	flow_records = true;
	struct run_result *r = flow_run(json, "1x1", &orr_policy_mdf, DATASETS_NONE, false, "");
	flow_records = false;
	for (size_t i = 0; r && i < r->n_jobs; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%llu:%s ", (unsigned long long)r->jobs[i].number, r->jobs[i].job_id);
	same_text(got,
		"0:train.p 1:train.a[0] 2:train.x[0][0] 3:train.x[0][1] 4:train.x[0][2] 5:train.a[1] 6:train.x[1][0] 7:train.x[1][1] "
		"8:train.x[1][2] 9:u 10:v ",
		"stages are named by flow, operator and branches, in the order of a depth-first walk");
	expect(r, "flows", 2);
	expect(r, "stages", 11);
	expect(r, "branches", 2 + 6);
	result_free(r);
}

/* ---- scores ---- */

static struct run_result *scored(int f, const char *score, const char *choose)
{
	char json[600];
	snprintf(json, sizeof json,
		"{\"operators\":[{\"name\":\"e\",\"explore\":%d},{\"name\":\"b\",\"inputs\":[\"e\"],\"work_s\":1,\"score\":{%s}},"
		"{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{\"keep\":1%s}}]}",
		f, score, choose);
	return flow_run(json, "1x1", &orr_policy_fifo, DATASETS_NONE, false, "");
}

static void law(int f, const char *score, double kept, double branch)
{
	struct run_result *r = scored(f, score, "");
	ok(fabs(flow_metric(r, "score_kept") - kept) < 1e-12 && flow_metric(r, "branch_kept") == branch && flow_metric(r, "regret") == 0,
		"%s of %d branches: branch %g with %g (%g, %g)", score, f, branch, kept, flow_metric(r, "branch_kept"),
		flow_metric(r, "score_kept"));
	result_free(r);
}

static void test_laws(void)
{
	law(5, "\"law\":\"linear\",\"slope\":2", 2, 4);
	law(5, "\"law\":\"linear\",\"slope\":-2", 0, 0);
	law(1, "\"law\":\"linear\",\"slope\":2", 0, 0);
	law(5, "\"law\":\"quadratic\",\"slope\":3,\"best\":0.6", -3 * 0.1 * 0.1, 2);
	law(5, "\"law\":\"quadratic\",\"slope\":3,\"best\":2", -3, 4);
	/* The largest of 1,000 uniform numbers is above 0.98 with probability 1 - 2e-9. The largest of 1,000 normal numbers is taken
	 * to lie between 2 and 6. */
	struct run_result *r = scored(1000, "\"law\":\"random\",\"slope\":4", "");
	ok(flow_metric(r, "score_kept") > 3.92 && flow_metric(r, "score_kept") < 4, "random scores (%g)", flow_metric(r, "score_kept"));
	result_free(r);
	r = scored(1000, "\"law\":\"linear\",\"slope\":0,\"noise\":5", "");
	ok(flow_metric(r, "score_kept") > 10 && flow_metric(r, "score_kept") < 30, "noise (%g)", flow_metric(r, "score_kept"));
	result_free(r);
	r = scored(1000, "\"law\":\"linear\",\"slope\":100000,\"noise\":0.001", "");
	ok(fabs(flow_metric(r, "score_kept") - 100000) < 0.01 && flow_metric(r, "score_kept") != 100000, "noise is added to the law (%g)",
		flow_metric(r, "score_kept") - 100000);
	result_free(r);
}

/* Returns the best loss of a problem over the branches' values of a parameter. */
static double best_loss(const char *problem, const char *parameter, const char *values, double lr, double *branch)
{
	char json[700];
	snprintf(json, sizeof json,
		"{\"operators\":[{\"name\":\"e\",\"explore\":[%s]},{\"name\":\"b\",\"inputs\":[\"e\"],\"work_s\":1,\"score\":{\"sgd\":{"
		"\"problem\":\"%s\",\"parameter\":\"%s\",\"steps\":40,\"rows\":64,\"inputs\":4,\"batch\":8,\"hidden\":4,\"lr\":%g}}},"
		"{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{\"keep\":1,\"better\":\"lower\"}}]}",
		values, problem, parameter, lr);
	struct run_result *r = flow_run(json, "1x1", &orr_policy_fifo, DATASETS_NONE, false, "");
	double loss = flow_metric(r, "score_kept");
	*branch = flow_metric(r, "branch_kept");
	result_free(r);
	return loss;
}

/* Branches of one flow share data, start and mini-batches, so the loss depends on the branch's value alone. */
static void test_sgd(void)
{
	static const char *const problems[] = { "logistic", "least-squares", "mlp" };
	double branch, still[3], loss;
	for (size_t i = 0; i < 3; i++) {
		still[i] = best_loss(problems[i], "lr", "0,-1", 9, &branch);
		ok(still[i] > 0 && branch == 0, "%s: rates of 0 and below change nothing (%g)", problems[i], still[i]);
		loss = best_loss(problems[i], "lr", "0,0.05", 9, &branch);
		ok(loss < 0.99 * still[i] && branch == 1, "a rate of 0.05 improves the loss (%g)", loss);
		ok(best_loss(problems[i], "batch", "8,8.5", 0.05, &branch) == loss && branch == 0,
			"as with the rate and a batch of 8 given");
		ok(best_loss(problems[i], "batch", "1,8", 0, &branch) == still[i] && branch == 0, "at rate 0 the batch does not matter");
		double other = best_loss(problems[i], "batch", "4", 0.05, &branch);
		ok(other != loss && other < still[i], "a batch of 4 has another loss (%g)", other);
		other = best_loss(problems[i], "hidden", "4", 0.05, &branch);
		ok(other == loss, "hidden units as given");
		other = best_loss(problems[i], "hidden", "5", 0.05, &branch);
		ok((other != loss) == (i == 2), "their number matters to the mlp only");
	}
	ok(still[0] != still[1] && still[0] != still[2] && still[1] != still[2], "three problems");
	loss = best_loss("least-squares", "lr", "1e6", 1, &branch);
	ok(isinf(loss), "a loss without end counts as infinite (%g)", loss);
}

/* ---- killed stages ---- */

static uint64_t killed[4];
static size_t n_killed;

/* Starts all stages that fit, but kills the stages with certain numbers. */
static void schedule(void *self, struct orr_jobs *w)
{
	(void)self;
	for (orr_job j = orr_job_first(w), next; j; j = next) {
		bool is_killed = false;
		next = orr_job_next(w, j);
		for (size_t i = 0; i < n_killed; i++)
			is_killed |= killed[i] == orr_job_number(w, j);
		if (is_killed && !orr_job_is_running(w, j))
			orr_kill(w, j);
		else if (!orr_job_is_running(w, j))
			orr_try_start(w, j);
	}
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_jobs_ops ops = { BARE_POLICY, .schedule = schedule };
static const struct orr_policy killer = { ORR_ABI_VERSION, sizeof killer, "killer", "of a test", "jobs", 0, no_params, &ops, sizeof ops };

/* Stages have these numbers: p 0; a[0] 1, x[0][..] 2 and 3; a[1] 4, x[1][..] 5 and 6; z 7. Each takes 1 s on its own GPU. */
static const char nested[] = "{\"operators\":[{\"name\":\"p\",\"work_s\":1},{\"name\":\"e\",\"inputs\":[\"p\"],\"explore\":2},{\"name\":"
			     "\"a\",\"inputs\":[\"e\"],"
			     "\"work_s\":1},{\"name\":\"f\",\"inputs\":[\"a\"],\"explore\":2},{\"name\":\"x\",\"inputs\":[\"f\"],\"work_"
			     "s\":1,\"score\":{\"values\":"
			     "[1,2,3,4]}},{\"name\":\"d\",\"inputs\":[\"x\"],\"choose\":{\"keep\":1}},{\"name\":\"c\",\"inputs\":[\"d\"],"
			     "\"choose\":{\"keep\":1}},"
			     "{\"name\":\"z\",\"inputs\":[\"c\"],\"work_s\":1}]}";

static void kills(const uint64_t *number, size_t n, double completed, double stages, double ended, double kept, const char *what)
{
	if (n)
		memcpy(killed, number, n * sizeof *number);
	n_killed = n;
	struct run_result *r = flow_run(nested, "1x8", &killer, DATASETS_NONE, false, "");
	double score = flow_metric(r, "score_kept");
	ok(flow_metric(r, "flows_completed") == completed && flow_metric(r, "flows_failed") == 1 - completed &&
			flow_metric(r, "stages_run") == stages && flow_metric(r, "branches_run") == ended &&
			(completed > 0 ? score == kept : isnan(score)),
		"%s (%g, %g, %g, %g)", what, flow_metric(r, "flows_completed"), flow_metric(r, "stages_run"),
		flow_metric(r, "branches_run"), score);
	result_free(r);
}

static void test_kills(void)
{
	kills(NULL, 0, 1, 8, 6, 4, "no stage is killed: four inner and two outer branches");
	kills((uint64_t[]){ 6 }, 1, 1, 7, 5, 3, "a killed stage prunes its branch: the next best is kept");
	kills((uint64_t[]){ 5, 6 }, 2, 1, 6, 3, 2, "without inner branches the outer branch is pruned");
	kills((uint64_t[]){ 4 }, 1, 1, 5, 3, 2, "a stage before the inner branches prunes the outer branch");
	kills((uint64_t[]){ 2, 3, 5, 6 }, 4, 0, 3, 0, 0, "without any branch the flow fails");
	kills((uint64_t[]){ 0 }, 1, 0, 0, 0, 0, "a killed stage outside explores fails the flow");
	kills((uint64_t[]){ 7 }, 1, 0, 7, 6, 0, "also after the choose");
}

int main(void)
{
	test_spills();
	test_amm();
	test_unshared();
	test_names();
	test_laws();
	test_sgd();
	test_kills();
	return done();
}
