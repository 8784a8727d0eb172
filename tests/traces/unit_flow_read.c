/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_flow_read.c - flows from JSON and from the generator: every field, the derived scopes, orders, sources and positions, work with and
 * without sharing, and refusals; expected values are derived by hand from docs/models/jobs-flows.md
 */
#include "base/mem.h"
#include "tests/tap.h"
#include "traces/flow.h"
#include "traces/trace.h"

static struct orr_error err;

static struct flowset *read_flows(const char *text)
{
	err = (struct orr_error){ 0 };
	return flowset_read("f.json", text, strlen(text), &err);
}

/* ---- a nested flow ---- */

/* p and side have no inputs. Explore e (two values) contains a, the inner explore f (three values) with x and its choose d, and y,
 * which reads d and p. c chooses among the outputs of y; z reads c. */
static const char nested[] =
	"{\"name\":\"n\",\"user\":\"ann\",\"submit_s\":2.5,\"operators\":["
	"{\"name\":\"p\",\"work_s\":20,\"gpus\":2,\"output_bytes\":100,\"limit_s\":30},"
	"{\"name\":\"side\",\"work_s\":3},"
	"{\"name\":\"e\",\"inputs\":[\"p\"],\"explore\":[0.5,0.25]},"
	"{\"name\":\"a\",\"inputs\":[\"e\",\"side\"],\"work_s\":[1,2],\"output_bytes\":10},"
	"{\"name\":\"f\",\"inputs\":[\"a\"],\"explore\":3},"
	"{\"name\":\"x\",\"inputs\":[\"f\"],\"work_s\":[1,2,3,4,5,6],\"scaling\":\"none\",\"gpus\":3,\"evaluate_s\":0.5,"
	"\"score\":{\"values\":[7,8,9]}},"
	"{\"name\":\"d\",\"inputs\":[\"x\"],\"choose\":{\"keep\":1,\"stop\":\"satisfied\",\"threshold\":4.5,\"better\":\"lower\","
	"\"incremental\":false}},"
	"{\"name\":\"y\",\"inputs\":[\"d\",\"p\"],\"work_s\":1,\"score\":{\"law\":\"quadratic\",\"best\":0.3,\"slope\":2,\"noise\":0.1}},"
	"{\"name\":\"c\",\"inputs\":[\"y\"],\"choose\":{\"of\":\"e\",\"score\":\"y\",\"keep\":5,\"stop\":\"improving\",\"order\":"
	"\"convex\"}},"
	"{\"name\":\"z\",\"inputs\":[\"c\"],\"work_s\":4}]}";
enum { P, SIDE, E, A, F, X, D, Y, C, Z, ALL };

static void test_fields(const struct flow *f)
{
	const struct flow_op *o = f->op;
	ok(f->n_ops == ALL && !strcmp(f->name, "n") && !strcmp(f->user, "ann") && f->submit_ns == 2500000000, "the flow");
	ok(o[P].kind == FLOW_WORK && o[P].gpus == 2 && o[P].work_s.n == 1 && o[P].work_s.v[0] == 20 && o[P].bytes.v[0] == 100 &&
			o[P].limit_ns == 30000000000 && o[P].scaling == FLOW_LINEAR && o[P].score.how == FLOW_NO_SCORE,
		"work with a limit");
	ok(o[SIDE].gpus == 1 && o[SIDE].limit_ns == -1 && !o[SIDE].bytes.n && !o[SIDE].scratch.n, "defaults of work");
	ok(o[E].kind == FLOW_EXPLORE && o[E].value.n == 2 && o[E].value.v[0] == 0.5 && o[E].value.v[1] == 0.25, "an explore by values");
	ok(o[F].value.n == 3 && o[F].value.v[0] == 0 && o[F].value.v[2] == 2, "an explore by their number");
	ok(o[X].scaling == FLOW_FIXED && o[X].gpus == 3 && o[X].work_s.n == 6 && o[X].work_s.v[0] == 1.5 && o[X].work_s.v[5] == 6.5,
		"the evaluator's time is part of the work");
	ok(o[X].score.how == FLOW_SCORE_VALUES && o[X].score.values.n == 3 && o[X].score.values.v[1] == 8, "scores from the file");
	ok(o[Y].score.how == FLOW_SCORE_QUADRATIC && o[Y].score.best == 0.3 && o[Y].score.slope == 2 && o[Y].score.noise == 0.1,
		"scores by a law");
	ok(o[D].kind == FLOW_CHOOSE && o[D].keep == 1 && o[D].stop == FLOW_SATISFIED && o[D].threshold == 4.5 && o[D].is_lower_better &&
			!o[D].is_incremental && o[D].order == FLOW_UNORDERED,
		"a choose by a threshold");
	ok(o[C].keep == 2 && o[C].stop == FLOW_IMPROVING && o[C].order == FLOW_CONVEX && isnan(o[C].threshold) && !o[C].is_lower_better &&
			o[C].is_incremental,
		"a choose keeps at most the number of branches");
}

static void test_scopes(const struct flow *f)
{
	static const uint32_t scope[] = { FLOW_ROOT, FLOW_ROOT, FLOW_ROOT, E, E, F, E, E, FLOW_ROOT, FLOW_ROOT };
	static const uint64_t instances[] = { 1, 1, 1, 2, 2, 6, 2, 2, 1, 1 };
	static const uint32_t depth[] = { 0, 0, 0, 1, 1, 2, 1, 1, 0, 0 };
	bool good = true;
	for (uint32_t i = 0; i < ALL; i++)
		good &= f->op[i].scope == scope[i] && f->op[i].instances == instances[i] && f->op[i].depth == depth[i];
	ok(good, "scopes, depths and numbers of branches");
	ok(f->op[E].choose == C && f->op[F].choose == D && f->op[C].explore == E && f->op[D].explore == F && f->op[C].scorer == Y &&
			f->op[D].scorer == X,
		"explores and their chooses");
	ok(flow_paths(f, E) == 2 && flow_paths(f, F) == 6 && flow_paths(f, FLOW_ROOT) == 1 && flow_branches(f, F) == 3, "numbers of paths");
}

static void test_order(const struct flow *f)
{
	/* Order of the root scope, from the sink z: z needs c, c its explore e, e needs p and side. In the scope of e, y needs d, d
	 * its explore f, and f needs a. */
	static const uint32_t root[] = { P, SIDE, E, C, Z }, in_e[] = { A, F, D, Y };
	static const uint64_t position[] = { 0, 1, 2, 0, 1, 0, 4, 4, 12, 12 };
	static const uint32_t before[] = { 0, 0, 2, 0, 1, 0, 1, 1, 1, 1 };
	bool good = f->n_items == 5 && f->op[E].n_items == 4 && f->op[F].n_items == 1;
	ok(good && !memcmp(f->item, root, sizeof root) && !memcmp(f->op[E].item, in_e, sizeof in_e) && f->op[F].item[0] == X,
		"items of each scope in the order of the walk");
	for (uint32_t i = 0; i < ALL; i++) {
		good &= f->op[i].position == position[i] && f->op[i].n_before == before[i];
		if (f->op[i].position != position[i] || f->op[i].n_before != before[i])
			printf("# %s: %d, %u\n", f->op[i].name, (int)f->op[i].position, f->op[i].n_before);
	}
	ok(good, "positions, and the numbers of items that each waits for");
	ok(f->op[E].stages == 5 && f->op[F].stages == 1 && f->stages == 13, "stages: two, five in each of two branches, and one");
	ok(f->op[Z].local == 4 && f->op[D].local == 2 && f->op[X].local == 0, "indices in the lists");
	ok(f->op[P].n_after == 1 && f->op[P].after[0] == E && f->op[D].n_after == 1 && f->op[D].after[0] == Y && !f->op[X].n_after,
		"each operator that waits for another");
}

static bool is_source(const struct flow_source *s, uint32_t op, uint32_t up)
{
	return s->op == op && s->up == up;
}

static void test_sources(const struct flow *f)
{
	const struct flow_op *o = f->op;
	ok(o[A].n_sources == 2 && is_source(&o[A].source[0], P, 1) && is_source(&o[A].source[1], SIDE, 1), "a reads p through e, and side");
	ok(o[X].n_sources == 1 && is_source(&o[X].source[0], A, 1), "x reads a through f");
	ok(o[Y].n_sources == 2 && is_source(&o[Y].source[0], D, 0) && is_source(&o[Y].source[1], P, 1), "y reads the result of d, and p");
	ok(o[Z].n_sources == 1 && is_source(&o[Z].source[0], C, 0) && !o[P].n_sources, "z reads the result of c");
	/* Numbers of readers: p is read by a and y in two branches, side by a, a by three x, and x through d by y. */
	ok(o[P].uses == 4 && o[SIDE].uses == 2 && o[A].uses == 3 && o[X].uses == 1 && o[Y].uses == 1 && o[Z].uses == 0,
		"numbers of readers");
	ok(o[X].is_result && o[Y].is_result && !o[A].is_result && !o[Z].is_result, "results of chooses");
	ok(o[E].n_imports == 2 && o[E].import[0].op == P && o[E].import[0].up == 1 && o[E].import[0].uses == 2 &&
			o[E].import[1].op == SIDE && o[E].import[1].uses == 1 && o[F].n_imports == 1 && o[F].import[0].op == A &&
			o[F].import[0].uses == 1,
		"operators outside that a branch reads");
	ok(o[A].source[0].import == 0 && o[A].source[1].import == 1 && o[Y].source[1].import == 0, "and their numbers");
}

static void test_nested(void)
{
	struct flowset *s = read_flows(nested);
	if (!ok(s && s->n == 1, "a nested flow")) {
		printf("# %s\n", err.text);
		return;
	}
	const struct flow *f = s->flow[0];
	test_fields(f);
	test_scopes(f);
	test_order(f);
	test_sources(f);
	/* Shared work: 20 x 2, 3, 1 + 2, (21 + 3) x 3, 2 and 4. Without sharing, six branches have their own p and side, and three of
	 * them share the same a. */
	near_to(flow_work_shared(f), 40 + 3 + 3 + 72 + 2 + 4, 1e-12, "work of all stages");
	near_to(flow_work_unshared(f), 6 * 40 + 6 * 3 + 3 * 3 + 72 + 3 * 2 + 4, 1e-12, "work with separate prefixes");
	struct flow *own = flow_unshared(f, "f.json", &err);
	ok(!own && strstr(err.text, "f.json: jobs.unshared: the branches below \"c\" fork"), "y is beside the inner branches: %s",
		err.text);
	flow_free(own);
	flowset_free(s);
}

/* Tests imports: an operator two scopes up is imported through both scopes. The rung of an operator is the number of scored operators
 * before it. */
static void test_imports(void)
{
	struct flowset *s = read_flows(
		"{\"operators\":[{\"name\":\"p\",\"work_s\":1},{\"name\":\"e\",\"explore\":2},{\"name\":\"a\",\"inputs\":[\"e\"],\"work_"
		"s\":1,"
		"\"score\":{\"law\":\"random\"}},{\"name\":\"b\",\"inputs\":[\"a\"],\"work_s\":1,\"score\":{\"law\":\"linear\"}},"
		"{\"name\":\"f\",\"inputs\":[\"b\"],\"explore\":3},{\"name\":\"x\",\"inputs\":[\"f\",\"p\"],\"work_s\":1,\"score\":{"
		"\"law\":\"linear\"}},"
		"{\"name\":\"w\",\"inputs\":[\"x\",\"p\"],\"work_s\":1,\"score\":{\"law\":\"linear\"}},{\"name\":\"d\",\"inputs\":[\"w\"],"
		"\"choose\":{}},"
		"{\"name\":\"c\",\"inputs\":[\"d\"],\"choose\":{}}]}");
	if (!ok(s != NULL, "explores without inputs"))
		return;
	const struct flow_op *o = s->flow[0]->op;
	ok(o[2].rung == 0 && o[3].rung == 1 && o[5].rung == 0 && o[6].rung == 1, "rungs within a scope");
	ok(o[5].source[1].op == 0 && o[5].source[1].up == 2 && o[0].uses == 12, "p is read by twelve stages, two scopes up");
	ok(o[4].n_imports == 2 && o[4].import[1].op == 0 && o[4].import[1].up == 2 && o[4].import[1].uses == 2 && o[1].n_imports == 1 &&
			o[1].import[0].op == 0 && o[1].import[0].up == 1 && o[1].import[0].uses == 6 && o[4].import[1].parent == 0,
		"the inner branches import it twice each, the outer ones six times");
	ok(o[7].keep == 2 && o[8].keep == 2 && o[8].scorer == 7, "by default two branches are kept, by the first input");
	ok(o[0].n_after == 1 && o[0].after[0] == 1 && o[1].n_before == 1, "the outer explore waits for p");
	flowset_free(s);
}

/* ---- without sharing, and the generator ---- */

static void test_unshared(void)
{
	err = (struct orr_error){ 0 };
	struct jobset *jobs =
		jobset_load("explore:n=2,every=7,f=2,f2=3,prefix=20,branch=1,branch2=2,evaluate=0.5,stages=2,gpus=4,prefix_bytes=8,"
			    "branch_bytes=5,keep=1,order=monotone,stop=improving,score=quadratic,best=0.25,noise=3,incremental=false",
			"auto", NULL, 1, &err);
	if (!ok(jobs != NULL, "the generator of flows")) {
		printf("# %s\n", err.text);
		return;
	}
	const struct flow *f = jobset_flows(jobs)->flow[0];
	static const char *const names[] = { "prefix", "explore", "branch", "branch-2", "explore2", "branch2", "choose2", "choose" };
	bool good = f->n_ops == 8;
	for (uint32_t i = 0; good && i < 8; i++)
		good = !strcmp(f->op[i].name, names[i]);
	ok(good && f->op[1].value.n == 2 && f->op[4].value.n == 3 && f->op[4].value.v[2] == 2, "its operators");
	ok(f->op[2].work_s.v[0] == 0.5 && f->op[3].work_s.v[0] == 0.5 && f->op[5].work_s.v[0] == 2.5 && f->op[5].gpus == 4 &&
			f->op[0].bytes.v[0] == 8 && f->op[2].bytes.v[0] == 5 && f->op[5].bytes.v[0] == 5 && f->op[0].work_s.v[0] == 20,
		"a branch in two stages of equal work");
	ok(f->op[5].score.how == FLOW_SCORE_QUADRATIC && f->op[5].score.best == 0.25 && f->op[5].score.noise == 3 &&
			f->op[5].score.slope == 1 && f->op[7].keep == 1 && f->op[7].order == FLOW_MONOTONE &&
			f->op[7].stop == FLOW_IMPROVING && !f->op[6].is_incremental,
		"its scores and chooses");
	near_to(flow_work_shared(f), 4 * (20 + 2 * 1 + 6 * 2.5), 1e-12, "work with a shared prefix");
	near_to(flow_work_unshared(f), 4 * 6 * (20 + 1 + 2.5), 1e-12, "work of six separate branches");
	struct flow *own = flow_unshared(f, "x", &err);
	ok(own && own->n_ops == 3 && !strcmp(own->op[0].name, "choose explore") && !strcmp(own->op[1].name, "choose branch") &&
			!strcmp(own->op[2].name, "choose"),
		"one job per branch");
	if (own) {
		const struct flow_op *b = &own->op[1];
		good = own->op[0].value.n == 6 && b->work_s.n == 6;
		for (uint32_t i = 0; good && i < 6; i++)
			good = own->op[0].value.v[i] == i % 3 && b->work_s.v[i] == 23.5 && b->bytes.v[i] == 5 &&
			       b->scratch.v[i] == 8 + 5 + 5;
		ok(good && b->gpus == 4 && b->scaling == FLOW_LINEAR && b->score.how == FLOW_SCORE_QUADRATIC && own->op[2].keep == 1 &&
				own->op[2].stop == FLOW_IMPROVING && own->stages == 6,
			"each with its prefix, its result and the memory of the other outputs");
		near_to(flow_work_shared(own), flow_work_unshared(f), 1e-12, "its work is that without sharing");
	}
	flow_free(own);
	struct jobcursor *c = jobset_open(jobs, 0);
	struct job_rec r[3];
	good = jobcursor_next(c, &r[0]) && jobcursor_next(c, &r[1]) && !jobcursor_next(c, &r[2]);
	ok(good && r[0].submit_ns == 0 && r[1].submit_ns == 7000000000 && r[1].gpus == 4 && r[1].duration_ns == 37000000000 &&
			r[1].flow == 1,
		"two flows, 7 s apart");
	jobcursor_close(c);
	jobset_free(jobs);
	static const struct {
		const char *source, *says;
	} bad[] = { { "explore:stop=improving", "stop=improving: expected order=monotone or order=convex" },
		{ "explore:f=0", "f: expected" }, { "explore:f=1000000,f2=1000000,stages=3", "has too many branches" },
		{ "explore:keep=0", "keep: expected" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		err = (struct orr_error){ 0 };
		jobs = jobset_load(bad[i].source, "auto", NULL, 1, &err);
		ok(!jobs && strstr(err.text, bad[i].says), "%s: %s", bad[i].source, err.text);
		jobset_free(jobs);
	}
}

/* Tests rows of flows: a row has the largest request of the flow, and the time of all stages on this request. Rows are in order of
 * submission. */
static void test_rows(void)
{
	static const char text[] =
		"{\"flows\":[{\"name\":\"late\",\"submit_s\":9,\"operators\":[{\"name\":\"u\",\"work_s\":6,\"gpus\":2},"
		"{\"name\":\"v\",\"work_s\":4,\"gpus\":4}]},{\"submit_s\":1,\"user\":\"bob\",\"operators\":[{\"name\":\"u\","
		"\"work_s\":5,\"gpus\":0}]},{\"submit_s\":1,\"operators\":[{\"name\":\"u\",\"work_s\":4e9},{\"name\":\"v\","
		"\"work_s\":4e9}]}]}";
	struct trace *t = trace_open_memory("flow.json", text, strlen(text), "auto", NULL, &err);
	struct jobset *jobs = t ? jobset_from(t, "flow.json", &err) : NULL;
	if (!ok(jobs && jobset_flows(jobs)->n == 3, "three flows"))
		return;
	struct jobcursor *c = jobset_open(jobs, 0);
	struct job_rec r[3];
	bool good = jobcursor_next(c, &r[0]) && jobcursor_next(c, &r[1]) && jobcursor_next(c, &r[2]);
	ok(good && r[0].submit_ns == 1000000000 && r[0].gpus == 0 && r[0].flow == 1 && r[2].submit_ns == 9000000000 && r[2].gpus == 4 &&
			r[2].duration_ns == 7000000000 && r[2].flow == 3,
		"(6 x 2 + 4 x 4) / 4 = 7 s");
	ok(good && r[1].flow == 2 && r[1].gpus == 1 && r[1].duration_ns == 4000000000000000000, "a duration beyond the limit");
	ok(jobset_flows(jobs)->flow[0]->line == 1 && jobset_flows(jobs)->flow[2]->line == 0,
		"flows of one instant keep the order of the file");
	jobcursor_close(c);
	jobset_free(jobs);
}

/* ---- refusals ---- */

static void refused(const char *text, const char *says)
{
	struct flowset *s = read_flows(text);
	if (!ok(!s && err.code == ORR_EINPUT && strstr(err.text, says), "%s", says))
		printf("# %s\n", s ? "accepted" : err.text);
	flowset_free(s);
}

static void accepted(const char *text, const char *what)
{
	struct flowset *s = read_flows(text);
	if (!ok(s != NULL, "accepted: %s", what))
		printf("# %s\n", err.text);
	flowset_free(s);
}

#define WORK(rest) "{\"operators\":[{\"name\":\"a\"," rest "}]}"
#define FAN "{\"name\":\"e\",\"explore\":3},{\"name\":\"b\",\"inputs\":[\"e\"],\"work_s\":1,\"score\":{\"law\":\"linear\"}}"
#define CHOOSE(rest) "{\"operators\":[" FAN ",{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{" rest "}}]}"

static void test_refusals(void)
{
	refused("{\"operators\":[]}", "f.json: $.operators: the list is empty");
	refused("{\"operators\":3}", "f.json: $.operators: expected a list of at most 1000 operators, found 3");
	refused("{\"flows\":[]}", "f.json: $.flows: expected a list of at least one flow, found []");
	refused("{\"flows\":[{\"operators\":[{\"name\":\"a\",\"work_s\":1}]},{\"operators\":[{\"name\":\"b\"}]}]}",
		"f.json: $.flows[1].operators[0].work_s: expected the work in seconds, or one of the keys \"explore\" and \"choose\", "
		"found nothing");
	refused("{\"flows\":[{\"operators\":[{\"name\":\"a\",\"work_s\":1}]}],\"x\":1}", "f.json: $: unknown key \"x\"");
	refused("{\"submit_s\":-1,\"operators\":[{\"name\":\"a\",\"work_s\":1}]}",
		"f.json: $.submit_s: expected a number from 0 to 4e+09, found -1");
	refused("{\"name\":\"\",\"operators\":[{\"name\":\"a\",\"work_s\":1}]}",
		"f.json: $.name: expected a text of 1 to 100 bytes, found \"\"");
	refused("{\"operators\":[{\"name\":\"a\",\"work_s\":1},{\"name\":\"a\",\"work_s\":1}]}",
		"f.json: $.operators[1].name: expected a name that no other operator has, found \"a\"");
	refused("{\"operators\":[7]}", "f.json: $.operators[0]: expected an object, found 7");
	refused("{\"operators\":[{\"work_s\":1}]}", "f.json: $.operators[0].name: expected the name of the operator, found nothing");
	refused(WORK("\"work_s\":1,\"work_s\":2"), "duplicate key \"work_s\" (first on line 1): expected it once");
	refused(WORK("\"work\":1"), "unknown key \"work\": did you mean \"work_s\"?");
	refused(WORK("\"work_s\":[]"), "work_s: expected a number, or a list of numbers, from 0 to 4e+09, found []");
	refused(WORK("\"work_s\":[1,-1]"), "work_s: expected a number, or a list of numbers, from 0 to 4e+09, found -1");
	refused(WORK("\"work_s\":4.1e9"), "from 0 to 4e+09");
	accepted(WORK("\"work_s\":4e9,\"gpus\":1000000,\"output_bytes\":9e18,\"limit_s\":4e9"), "the largest numbers");
	accepted(WORK("\"work_s\":0,\"gpus\":0,\"output_bytes\":0,\"limit_s\":0"), "the smallest numbers");
	refused(WORK("\"work_s\":1,\"gpus\":1000001"), "gpus: expected a number from 0 to 1000000, found 1000001");
	refused(WORK("\"work_s\":1,\"gpus\":1.5"), "gpus: expected a whole number, found 1.5");
	refused(WORK("\"work_s\":1,\"output_bytes\":1e19"), "output_bytes: expected");
	refused(WORK("\"work_s\":1,\"limit_s\":-1"), "limit_s: expected a number from 0 to 4e+09, found -1");
	refused(WORK("\"work_s\":1,\"scaling\":\"log\""), "scaling: expected one of linear|none, found \"log\"");
	refused(WORK("\"work_s\":1,\"evaluate_s\":1"), "evaluate_s: expected also the key \"score\", found 1");
	refused(WORK("\"work_s\":1,\"inputs\":\"b\""), "inputs: expected a list of names of operators, found \"b\"");
	refused(WORK("\"work_s\":1,\"inputs\":[3]"), "inputs: expected the name of an operator of this flow, found 3");
	refused(WORK("\"work_s\":1,\"inputs\":[\"a\"]"), "inputs: expected another operator, found \"a\"");
	refused(WORK("\"work_s\":1,\"score\":5"), "score: expected an object with \"values\", \"law\" or \"sgd\", found 5");
	refused(WORK("\"work_s\":1,\"score\":{\"law\":\"linear\",\"values\":[1]}"),
		"score: expected only one of the keys \"values\", \"law\" and \"sgd\"");
	refused(WORK("\"work_s\":1,\"score\":{}"), "score: expected only one of the keys \"values\", \"law\" and \"sgd\"");
	refused(WORK("\"work_s\":1,\"score\":{\"law\":\"cubic\"}"), "score.law: expected one of linear|quadratic|random, found \"cubic\"");
	refused(WORK("\"work_s\":1,\"score\":{\"law\":\"linear\",\"noise\":-1}"), "score.noise: expected");
	refused(WORK("\"work_s\":1,\"score\":{\"sgd\":{},\"best\":1}"), "score.sgd: expected no other key together with \"sgd\"");
	refused(WORK("\"work_s\":1,\"score\":{\"sgd\":{\"steps\":0}}"), "score.sgd.steps: expected a number from 1 to 1000000, found 0");
	refused(WORK("\"work_s\":1,\"score\":{\"sgd\":{\"problem\":\"x\"}}"), "problem: expected one of logistic|mlp|least-squares");
	refused(WORK("\"explore\":3,\"choose\":{}"), "choose: expected either \"explore\" or \"choose\", found {}");
	refused(WORK("\"explore\":3,\"gpus\":1"), "gpus: expected no such key together with \"explore\", found 1");
	refused(WORK("\"choose\":{},\"score\":{}"), "score: expected no such key together with \"choose\", found {}");
	refused(WORK("\"explore\":0"), "explore: expected a number from 1 to 10000000, found 0");
	refused(WORK("\"explore\":3"),
		"f.json: $.operators[0]: operator \"a\" is an explore without a choose: expected one choose of its branches");
	refused(WORK("\"choose\":{}"), "operator \"a\" reads no branch of an explore");
	accepted(CHOOSE(""), "a choose by default");
	accepted(CHOOSE("\"stop\":\"improving\",\"order\":\"monotone\""), "a choose of a monotone order");
	refused(CHOOSE("\"keep\":0"), "choose.keep: expected a number from 1 to 1000000, found 0");
	refused(CHOOSE("\"keep\":1.5"), "choose.keep: expected a whole number, found 1.5");
	refused(CHOOSE("\"stop\":\"improving\""),
		"choose.order: expected monotone or convex, because \"stop\" is improving, found nothing");
	refused(CHOOSE("\"threshold\":1"),
		"choose.threshold: expected \"stop\" to be satisfied, the only rule that reads this key, found 1");
	refused(CHOOSE("\"incremental\":1"), "choose.incremental: expected true or false, found 1");
	refused(CHOOSE("\"better\":\"best\""), "choose.better: expected one of higher|lower, found \"best\"");
	refused(CHOOSE("\"of\":\"x\""), "choose.of: expected the name of an operator of this flow, found \"x\"");
	refused(CHOOSE("\"of\":\"b\""), "choose.of: expected the name of an explore, found \"b\"");
	refused(CHOOSE("\"score\":\"x\""), "choose.score: expected the name of an operator of this flow, found \"x\"");
	refused(CHOOSE("\"score\":\"e\""), "has no evaluator in the branches");
	refused("{\"operators\":[{\"name\":\"a\",\"inputs\":[\"b\"],\"work_s\":1},{\"name\":\"b\",\"inputs\":[\"a\"],\"work_s\":1}]}",
		"operator \"a\" waits for itself or for a cycle of operators");
	refused("{\"operators\":[" FAN "]}", "operator \"e\" is an explore without a choose");
	refused("{\"operators\":[" FAN
		",{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{}},{\"name\":\"d\",\"inputs\":[\"b\"],\"choose\":{}}]}",
		"operator \"d\" is the second choose of one explore");
	refused("{\"operators\":[" FAN
		",{\"name\":\"s\",\"inputs\":[\"e\"],\"work_s\":1},{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{}}]}",
		"operator \"s\" has no reader in its branch");
	refused("{\"operators\":[" FAN ",{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{}},{\"name\":\"g\",\"explore\":2},{\"name\":\"x\","
		"\"inputs\":[\"g\",\"b\"],\"work_s\":1}]}",
		"operator \"x\" reads branches of two explores");
	refused("{\"operators\":[{\"name\":\"e\",\"explore\":3},{\"name\":\"b\",\"inputs\":[\"e\"],\"work_s\":1},{\"name\":\"c\","
		"\"inputs\":[\"b\"],"
		"\"choose\":{}}]}",
		"operator \"c\" chooses by an operator without a score");
	refused("{\"operators\":[{\"name\":\"e\",\"explore\":3},{\"name\":\"b\",\"inputs\":[\"e\"],\"work_s\":[1,2],\"score\":{\"law\":"
		"\"linear\"}},"
		"{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{}}]}",
		"operator \"b\" has a list of work_s that fits no explore: expected one number, or one per value of the explores around "
		"it");
	refused("{\"operators\":[", "f.json:1: invalid JSON from this line on");
	refused("{\"operators\":[{\"name\":\"a\",\"work_s\":1}]}\n\nx", "f.json:3: invalid JSON from this line on");
	accepted("{\"operators\":[{\"name\":\"a\",\"work_s\":1}]}\n\t \r\n", "blanks after the flow");
}

int main(void)
{
	test_nested();
	test_imports();
	test_unshared();
	test_rows();
	test_refusals();
	return done();
}
