/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of the job and of instances (--record explain). For runs of every policy: the job's parts cover the run; parts of instances
 * cover their lives; and the time of the owners in the job's parts of a kind is that of the account of this name. Causes: sentences of
 * runs known by hand, and reruns without the blamed preemption.
 */
#include "results/parts.h"
#include "tests/spot/spot_runs.h"
#include "tests/spot/spot_trial.h"
#include "tests/tap.h"

#include <orrery/spot.h>

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/spot/policies.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const policies[] = {
#include "policies/spot/policies.def"
	NULL
};

static unsigned complaints;

static void complain(const char *of, const char *what, double got, double want)
{
	if (complaints++ < 5)
		printf("# %s: %s: %.12g, expected %.12g\n", of, what, got, want);
}

static bool is_entity(const struct part_row *p, const char *entity)
{
	return !strcmp(p->entity, entity);
}

/* Returns the instance-ns during which the job is in parts of this kind and instances are in use. */
static double overlap(const struct run_result *r, const char *kind)
{
	double sum = 0;
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct part_row *job = &r->parts[i];
		if (!is_entity(job, "job") || strcmp(job->kind, kind) != 0)
			continue;
		for (size_t j = 0; j < r->n_parts; j++) {
			const struct part_row *x = &r->parts[j];
			if (!is_entity(x, "node") || strcmp(x->kind, "in use") != 0)
				continue;
			int64_t begin = x->begin_ns > job->begin_ns ? x->begin_ns : job->begin_ns;
			int64_t end = x->end_ns < job->end_ns ? x->end_ns : job->end_ns;
			sum += end > begin ? (double)(end - begin) : 0;
		}
	}
	return sum;
}

static double time_of(const struct run_result *r, const char *entity, const char *kind)
{
	double sum = 0;
	for (size_t i = 0; i < r->n_parts; i++)
		if (is_entity(&r->parts[i], entity) && (!*kind || !strcmp(r->parts[i].kind, kind)))
			sum += (double)(r->parts[i].end_ns - r->parts[i].begin_ns);
	return sum;
}

static void check_order(const char *of, const struct run_result *r, int64_t end)
{
	int64_t now = 0;
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct part_row *x = &r->parts[i], *before = i ? x - 1 : NULL;
		if (is_entity(x, "job")) {
			if (x->begin_ns != now || x->end_ns <= now)
				complain(of, "a gap in the job's parts", (double)x->begin_ns, (double)now);
			now = x->end_ns;
		} else if (before && is_entity(before, "node") && before->subject == x->subject && before->end_ns != x->begin_ns) {
			complain(of, "a gap in an instance's parts", (double)x->begin_ns, (double)before->end_ns);
		}
	}
	if (now != end)
		complain(of, "the end of the job's parts", (double)now, (double)end);
}

static void check_accounts(const char *of, const struct run_result *r)
{
	static const char *const kinds[] = { "wasted", "checkpoint", "restart", "reconfigure" };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (fabs(overlap(r, kinds[i]) - spot_account(r, kinds[i]) * 1e9) > 1)
			complain(of, kinds[i], overlap(r, kinds[i]), spot_account(r, kinds[i]) * 1e9);
	double steps = overlap(r, "useful") + overlap(r, "redundant"),
	       want = (spot_account(r, "useful") + spot_account(r, "redundant")) * 1e9;
	if (fabs(steps - want) > 1e-12 * want + 1)
		complain(of, "useful and redundant", steps, want);
	if (time_of(r, "node", "starting") != round(spot_account(r, "starting") * 1e9))
		complain(of, "starting", time_of(r, "node", "starting"), spot_account(r, "starting") * 1e9);
	double idle = time_of(r, "node", "idle") + overlap(r, "waiting");
	if (fabs(idle - spot_account(r, "idle") * 1e9) > 1)
		complain(of, "idle", idle, spot_account(r, "idle") * 1e9);
}

/* ---- every policy ---- */

/* Returns whether all metrics of a are those of b. */
static bool same_metrics(const struct run_result *a, const struct run_result *b)
{
	bool same = a->n_metrics == b->n_metrics;
	for (size_t i = 0; same && i < a->n_metrics; i++)
		same = !memcmp(&a->metrics[i].value, &b->metrics[i].value, sizeof(double));
	return same;
}

static unsigned runs, parts, trained;

static void try_policy(const struct orr_policy *p, const char *capacity, const char *options, const char *job)
{
	struct orr_error e = { 0 };
	struct spot_runs s = { 0 };
	if (spot_runs_open(&s, capacity, NULL, job, p, "", options, &e)) {
		s.config.check = true;
		s.config.until_ns = 6 * 3600 * ORR_SECOND;
		struct run_result *plain = spot_runs_run(&s, 1, &e);
		s.config.explain = true;
		struct run_result *r = spot_runs_run(&s, 1, &e);
		if (!r != !plain)
			complain(p->name, e.text, 0, 0);
		if (r && plain) {
			part_rows_form(r);
			runs++;
			trained += time_of(r, "job", "useful") > 0;
			parts += (unsigned)r->n_parts;
			if (!same_metrics(r, plain))
				complain(p->name, "another result with parts", 1, 0);
			check_order(p->name, r, llround(spot_metric(r, "makespan_s") * 1e9));
			check_accounts(p->name, r);
		}
		result_free(r);
		result_free(plain);
	}
	spot_runs_close(&s);
}

static void every_policy(void)
{
	static const char *const options[] = { "startup=90s", "startup=30s notice=2m deadline=100h", "deadline=100h target=30" };
	static const char *const capacity[] = { "churn:slots=48,rate=0.6,length=8h", "renewal:nodes=16,up=1h,down=20m,length=8h,cap=1",
		"hazard:p=0.4,slots=32,length=8h" };
	static const char *const jobs[] = { "bamboo-vgg", "oobleck-bert", "cbl-48h", "parcae-bert" };
	for (const struct orr_policy *const *p = policies; *p; p++) {
		runs = parts = trained = complaints = 0;
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 4; j++)
				try_policy(*p, capacity[i], options[i], jobs[j]);
		ok(!complaints && (trained || !runs), "%s: %u runs, %u of them with useful time, %u parts, %u wrong", (*p)->name, runs,
			trained, parts, complaints);
	}
}

/* ---- causes ---- */

static const char two_nodes[] =
	"{\"name\":\"two\",\"source\":\"a test\",\"samples_per_step\":1,\"steps\":100,\"state_bytes\":1e9,\"points\":[[1,2,10000]]}";

/* Appends the sentence of a subject; returns the time of its parts of this kind, in s. */
static double explained(const char *rows, const char *settings, const char *options, const char *entity, uint64_t subject, const char *kind,
	struct sbuf *sentence)
{
	struct orr_error e;
	struct spot_trial t = { .policy = &orr_policy_spot_checkpoint,
		.rows = rows,
		.job = two_nodes,
		.settings = settings,
		.options = options,
		.seed = 1,
		.until_ns = 1000 * ORR_SECOND,
		.check = true,
		.explain = true };
	struct run_result *r = spot_try(&t, &e);
	char name[24];
	double time = 0;
	snprintf(name, sizeof name, "%llu", (unsigned long long)subject);
	if (r)
		part_rows_form(r);
	for (size_t i = 0, n; r && i < r->n_parts; i += n) {
		for (n = 1; i + n < r->n_parts && r->parts[i + n].subject == r->parts[i].subject &&
			    is_entity(&r->parts[i + n], r->parts[i].entity);)
			n++;
		if (!is_entity(&r->parts[i], entity) || r->parts[i].subject != subject)
			continue;
		part_sentence(sentence, name, r->parts + i, n);
		for (size_t j = i; j < i + n; j++)
			time += strcmp(r->parts[j].kind, kind) ? 0 : (double)(r->parts[j].end_ns - r->parts[j].begin_ns) / 1e9;
	}
	if (!r)
		printf("# %s\n", e.text);
	result_free(r);
	return time;
}

static void expect(const char *rows, const char *settings, const char *options, const char *entity, uint64_t subject, const char *want,
	const char *what)
{
	struct sbuf b = { 0 };
	explained(rows, settings, options, entity, subject, "", &b);
	same_text(sbuf_text(&b), want, what);
	sbuf_free(&b);
}

#define STEPS "interval=steps every_steps=5"
#define STARTS "startup=10s storage_Bps=1e9"

/*
 * Steps of 10 s on two instances, which are ready at 10 s; a checkpoint of 1 s after every 5 steps, so at 61, 112 and 163 s. At 205 s,
 * 4 steps and 2 s of the next are lost. A restart reads the state in 1 s. Then 15 times 5 steps and a checkpoint until 971 s, and 2
 * steps until 991 s.
 */
static const char spare[] = "0,add,a\n0,add,b\n0,add,c\n205000,remove,a\n", no_loss[] = "0,add,a\n0,add,b\n0,add,c\n";
/* The same steps, but the job waits for a second instance from 205 to 515 s. */
static const char late[] = "0,add,a\n0,add,b\n205000,remove,a\n505000,add,c\n",
		  early[] = "0,add,a\n0,add,b\n205000,remove,a\n305000,add,c\n";

static void causes(void)
{
	struct sbuf b = { 0 };
	expect(spare, STEPS, STARTS, "job", 0,
		"job 0 waited 10 s: 10 s for instances (0 ready, 2 needed); ran 16 min 30 s: 15 min 20 s useful, 42 s wasted because of "
		"instance 0 "
		"(preempted), 18 s checkpoint, 9 s wasted because of the end of the run, 1 s restart because of instance 0 (preempted)",
		"waiting, useful, wasted, checkpoint, restart");
	expect(spare, STEPS, STARTS, "node", 0, "node 0 lived 3 min 25 s: 3 min 15 s in use (preempted without notice), 10 s starting",
		"an instance that is preempted");
	expect(spare, STEPS, STARTS, "node", 2,
		"node 2 lived 16 min 40 s: 13 min 15 s in use (the run ends), 3 min 15 s idle, 10 s starting", "an instance in reserve");
	expect(spare, STEPS, STARTS " notice=60s", "node", 0,
		"node 0 lived 3 min 25 s: 3 min 14 s in use, 10 s starting, 1 s idle (preempted with notice)",
		"an instance with notice, which leaves the layout after a checkpoint");
	expect(late, STEPS, STARTS, "job", 0,
		"job 0 waited 5 min 20 s: 5 min 20 s for instances (1 ready, 2 needed); ran 11 min 20 s: 10 min 20 s useful, 42 s wasted "
		"because of "
		"instance 0 (preempted), 12 s checkpoint, 5 s wasted because of the end of the run, 1 s restart because of instance 2 "
		"(ready)",
		"waiting for an instance");
	ok(explained(no_loss, STEPS, STARTS, "job", 0, "restart", &b) == 0 &&
			explained(no_loss, STEPS, STARTS, "job", 0, "wasted", &b) < 10,
		"without the blamed preemption there is no restart and no loss");
	ok(explained(late, STEPS, STARTS, "job", 0, "waiting", &b) == 320 &&
			explained(early, STEPS, STARTS, "job", 0, "waiting", &b) == 120,
		"the blamed instances 200 s earlier: the job waits 200 s less");
	sbuf_free(&b);
}

/* Steps of 10 s with one and 8 s with two pipelines of two instances. */
static const char two_pipelines[] = "{\"name\":\"two\",\"source\":\"a test\",\"samples_per_step\":1,\"steps\":1000,\"state_bytes\":1e9,"
				    "\"points\":[[1,2,10000],[2,2,8000]]}";

static void job_of(const struct orr_policy *policy, const char *rows, const char *settings, const char *want, const char *what)
{
	struct orr_error e;
	struct sbuf b = { 0 };
	struct spot_trial t = { .policy = policy,
		.rows = rows,
		.job = two_pipelines,
		.settings = settings,
		.options = "startup=10s",
		.seed = 1,
		.until_ns = 1000 * ORR_SECOND,
		.check = true,
		.explain = true };
	struct run_result *r = spot_try(&t, &e);
	size_t n = 0;
	if (r)
		part_rows_form(r);
	while (r && n < r->n_parts && is_entity(&r->parts[n], "job"))
		n++;
	if (n)
		part_sentence(&b, "0", r->parts, n);
	same_text(sbuf_text(&b), want, what);
	if (!r)
		printf("# %s\n", e.text);
	sbuf_free(&b);
	result_free(r);
}

static void by_other_policies(void)
{
	/* Ready at 10 s, rendezvous until 40 s. 95 steps until 990 s, of which a fifth is redundant; the step in flight at 1000 s is lost.
	 */
	job_of(&orr_policy_spot_bamboo, no_loss, "depth=2 pipelines=1 redundant=0.2 global_timer=30s",
		"job 0 waited 40 s: 30 s for the policy (3 ready, 2 needed), 10 s for instances (0 ready, 2 needed); ran 16 min: 12 min 40 "
		"s "
		"useful, 3 min 10 s redundant, 10 s wasted because of the end of the run",
		"redundant");
	/* Two pipelines of two are configured until 15 s. 23 steps until 199 s; the next is lost at 205 s. Three instances are too few. */
	job_of(&orr_policy_spot_oobleck, "0,add,a\n0,add,b\n0,add,c\n0,add,d\n205000,remove,a\n",
		"f=1 reconfigure_time=5s ckpt_interval=0 min_nodes=2",
		"job 0 waited 13 min 25 s: 13 min 15 s for the policy (3 ready, 2 needed), 10 s for instances (0 ready, 2 needed); ran 3 "
		"min "
		"15 s: 3 min 04 s useful, 6 s wasted because of instance 0 (preempted), 5 s reconfiguration because of instance 3 (ready)",
		"reconfigure");
}

int main(void)
{
	every_policy();
	causes();
	by_other_policies();
	return done();
}
