/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic jobs: the published tables of the catalogue against values computed from them elsewhere; lookups; invalid files
 * are refused with their position. Derived steps: unit_derive.c.
 */
#include "hwmodel/elastic.h"

#include "tests/hwmodel/elastic_find.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct elastic *load(const char *name)
{
	struct orr_error err = { 0 };
	struct elastic *j = elastic_load(name, &err);
	if (!j)
		printf("# %s\n", err.text);
	return j;
}

static double figure(const struct elastic *j, const char *name)
{
	for (uint32_t i = 0; i < j->n_figures; i++)
		if (!strcmp(j->figure[i].name, name))
			return j->figure[i].value;
	return NAN;
}

static const struct elastic_curve *curve(const struct elastic *j, const char *name)
{
	for (uint32_t i = 0; i < j->n_curves; i++)
		if (!strcmp(j->curve[i].name, name))
			return &j->curve[i];
	return NULL;
}

static double rate(const struct elastic *j, int64_t step_ns)
{
	return j->samples_per_step * 1e9 / (double)step_ns;
}

/* ---- the catalogue ---- */

static void check_catalogue(void)
{
	uint32_t n = 0, bad = 0, derived = 0;
	for (; elastic_catalogue(n); n++) {
		struct elastic *j = load(elastic_catalogue(n));
		bad += !j || strcmp(j->name, elastic_catalogue(n)) || strlen(j->source) < 10 || strlen(j->hash) != 64;
		derived += j && j->step;
		elastic_free(j);
	}
	ok(n == 26 && !bad && derived == 6, "%u jobs are shipped, %u of them derived, and each names its source", n, derived);
	struct orr_error err = { 0 };
	ok(!elastic_load("bamboo-brt", &err) && strstr(err.text, "did you mean \"bamboo-bert\"?"),
		"an unknown name: the message gives the nearest one");
	ok(!elastic_load("/none/such.json", &err) && strstr(err.text, "/none/such.json"), "a missing file");
}

/* Tests Bamboo's jobs with all nodes up, on spot instances at 0.91 USD/h and on demand at 3.06 USD/h. Samples/s and value (samples/s
 * per USD/h) are computed by hand from the tables of the authors' simulator. */
static void check_bamboo(void)
{
	static const struct {
		const char *name;
		uint32_t depth;
		double on_demand, on_demand_value, all, value;
	} rows[] = { { "bamboo-bert", 12, 105.18, 1.719, 182.07, 4.168 }, { "bamboo-gpt2", 12, 9.50, 0.0970, 31.75, 0.727 },
		{ "bamboo-resnet", 8, 295.38, 4.827, 240.0, 8.24 }, { "bamboo-gnmt", 6, 320.00, 6.536, 303.2, 13.88 },
		{ "bamboo-vgg", 6, 174.55, 3.565, 139.6, 6.39 }, { "bamboo-alexnet", 6, 240.00, 4.902, 247.7, 11.34 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct elastic *j = load(rows[i].name);
		const struct elastic_point *p = j ? elastic_find(j, 4, rows[i].depth) : NULL;
		if (!ok(p && j->depth == rows[i].depth && j->pipelines == 4, "%s: 4 pipelines of %u", rows[i].name, rows[i].depth))
			continue;
		double all = rate(j, p->step_ns[ELASTIC_PLAIN]), on_demand = rate(j, j->on_demand_step_ns);
		ok(p->step_ns[ELASTIC_REDUNDANT] == p->step_ns[ELASTIC_PLAIN] && fabs(all / rows[i].all - 1) < 1e-3 &&
				fabs(all / (4 * rows[i].depth * 0.91) / rows[i].value - 1) < 1e-3,
			"%s: %.2f samples/s with all nodes", rows[i].name, all);
		ok(fabs(on_demand / rows[i].on_demand - 1) < 1e-3 &&
				fabs(on_demand / (j->on_demand_nodes * 3.06) / rows[i].on_demand_value - 1) < 1e-3,
			"%s: %.2f samples/s on %u on demand", rows[i].name, on_demand, j->on_demand_nodes);
		elastic_free(j);
	}
	struct elastic *j = load("bamboo-bert"), *g = load("bamboo-gpt2");
	if (!ok(j && g, "BERT and GPT-2"))
		return;
	ok(fabs((double)j->steps * j->samples_per_step - 5.86e6) < 5e3 && fabs((double)g->steps * g->samples_per_step - 6.04e6) < 5e3,
		"5.86 M and 6.04 M samples");
	ok(elastic_find(j, 4, 8)->step_ns[0] == 1770000000 && elastic_find(j, 1, 15)->step_ns[0] == 12750000000 &&
			!elastic_find(j, 5, 12) && !elastic_find(j, 4, 9) && !elastic_find(j, 0, 0),
		"BERT has exactly the depths 8, 12 and 15");
	ok(figure(j, "bamboo.local_timer_s") == 20 && elastic_find(j, 4, 12)->step_ns[ELASTIC_DEGRADED] == 0,
		"the job has its timer, and values not given are missing");
	elastic_free(j);
	elastic_free(g);
}

static void check_oobleck(void)
{
	struct elastic *b = load("oobleck-bert"), *big = load("oobleck-gpt3-6.7b"), *m = load("oobleck-gpt3-medium");
	if (!ok(b && big && m, "jobs of Oobleck's artifact"))
		return;
	const struct elastic_curve *v = curve(b, "varuna"), *o = curve(big, "oobleck"), *r = curve(b, "varuna.restart_s"),
				   *z = curve(big, "bamboo");
	bool is_whole = v && o && r && z && v->first == 15 && v->n == 16 && r->first == 15 && r->n == 16;
	ok(is_whole && v->value[15] == 343.133 && v->value[0] == 193.361 && o->value[0] == 0 && o->value[15] == 5.5078,
		"curves from 15 to 30 nodes");
	ok(is_whole && r->value[26 - 15] == 112 && r->value[27 - 15] == 49.1 && z->value[15] == 0,
		"restarts by nodes; Bamboo runs out of memory");
	ok(figure(b, "varuna.first_restart_s") == 76 && figure(big, "varuna.checkpoint_s") == 120 &&
			figure(big, "varuna.restart_s") == 701 && figure(m, "batch") == 819 && m->samples_per_step == 819 &&
			figure(big, "oobleck.reconfigure_s") == 10 && figure(b, "bamboo.rebalance_s") == 76,
		"figures");
	ok(b->depth == 12 && b->steps == 0 && isnan(figure(m, "varuna.first_restart_s")), "coordinates of 12 stages; no end");
	elastic_free(b);
	elastic_free(big);
	elastic_free(m);
}

/* Tests that the work, in hours, equals the numbers in the paper's table. */
static void check_late(void)
{
	struct elastic *j = load("cbl-48h"), *m = load("cbl-ml-72h"), *b = load("cbl-bio-22.5h"), *a = load("cbl-analytics-27h");
	if (!ok(j && m && b && a, "jobs of Can't Be Late"))
		return;
	ok(j->steps == 172800 && m->steps == 259200 && b->steps == 81000 && a->steps == 97200, "steps of one second");
	ok(j->n_points == 1 && elastic_find(j, 1, 1)->step_ns[0] == 1000000000 && j->on_demand_nodes == 1 &&
			j->on_demand_step_ns == 1000000000 && j->samples_per_step == 1,
		"a job of hours runs on one node, spot or on demand");
	ok(figure(m, "cbl.deadline_loose_h") == 100 && figure(b, "cbl.spot_usd_per_hour") == 0.34 &&
			figure(m, "cbl.changeover_min") == 4 + 5 + 9 && figure(j, "cbl.deadline_h") == 48 / 0.8,
		"deadlines, prices, change-overs");
	elastic_free(j);
	elastic_free(m);
	elastic_free(b);
	elastic_free(a);
}

/* Compares every row with the table of the authors' artifact, which is read from the data folder. */
static void check_parcae(void)
{
	const char *data = getenv("ORRERY_DATA_PATH");
	char path[600], line[256], was[40] = "";
	snprintf(path, sizeof path, "%.500s/papers/data/parcae_steps.csv", data ? data : "");
	FILE *f = data ? fopen(path, "r") : NULL;
	struct elastic *j = NULL;
	uint32_t rows = 0, good = 0, points = 0;
	while (f && fgets(line, sizeof line, f)) {
		char name[20], job[40];
		unsigned batch, micro, d, p;
		double ms, per_s;
		if (sscanf(line, "%19[^,],%u,%u,%u,%u,%lf,%lf", name, &batch, &micro, &d, &p, &ms, &per_s) != 7)
			continue;
		snprintf(job, sizeof job, "parcae-%s", name);
		if (strcmp(job, was)) {
			elastic_free(j);
			j = load(job);
			points += j ? j->n_points : 0;
			strcpy(was, job);
		}
		const struct elastic_point *x = j ? elastic_find(j, d, p) : NULL;
		rows++;
		good += x && x->step_ns[0] == llround(ms * 1e6) && j->samples_per_step == batch && figure(j, "micro_batch") == micro &&
			fabs(rate(j, x->step_ns[0]) - per_s) <= 0.00051 + 1e-6 * per_s;
	}
	elastic_free(j);
	if (!f) {
		skip("no papers/data/parcae_steps.csv under $ORRERY_DATA_PATH");
		return;
	}
	fclose(f);
	ok(rows == 209 && good == rows && points == rows, "%u of %u measured steps of Parcae, batch over step is its samples/s", good,
		rows);
}

/* ---- files ---- */

#define HEAD "{\"name\":\"x\",\"source\":\"made up\",\"samples_per_step\":8,"
#define STEP \
	"{\"name\":\"x\",\"source\":\"made up\",\"step\":{\"model\":\"m\",\"device\":\"d\",\"batch\":8,\"micro_batch\":2,\"node_Gbps\":10"

static void check_points(void)
{
	static const char text[] =
		HEAD "\"points\":[[2,1,7.5],{\"pipelines\":1,\"depth\":3,\"step_ms\":9,\"redundant_step_ms\":10,\"degraded_step_ms\":12,"
		     "\"failover_ms\":1.5,\"redundant\":0.25},[1,2,1e-6]]}";
	struct orr_error err = { 0 };
	struct elastic *j = elastic_parse("in", text, sizeof text - 1, &err);
	const struct elastic_point *p = j ? elastic_find(j, 1, 3) : NULL;
	ok(p && j->n_points == 3 && j->point[0].depth == 2 && j->point[1].depth == 3 && j->point[2].pipelines == 2,
		"points in order of shape");
	ok(p && p->step_ns[ELASTIC_PLAIN] == 9000000 && p->step_ns[ELASTIC_REDUNDANT] == 10000000 &&
			p->step_ns[ELASTIC_DEGRADED] == 12000000 && p->failover_ns == 1500000 && p->redundant == 0.25 &&
			j->point[0].step_ns[ELASTIC_REDUNDANT] == 1,
		"a point with all optional fields; the shortest step is 1 ns");
	elastic_free(j);
}

static void refused(const char *text, const char *message)
{
	struct orr_error err = { 0 };
	struct elastic *j = elastic_parse("in.json", text, strlen(text), &err);
	if (!ok(!j && err.code == ORR_EINPUT && strstr(err.text, message) == err.text, "refused: %s", message))
		printf("# %s\n", err.text);
	elastic_free(j);
}

static void check_refused(void)
{
	refused("{\"name\":", "in.json:1:");
	refused("[]", "in.json: $: expected an object, found a list");
	refused("{\"name\":\"x\",\"source\":\"y\",\"samples_per_step\":1}",
		"in.json: $: expected one of the keys \"points\", \"work\", \"step\" and \"curves\", found none");
	refused(HEAD "\"point\":[]}", "in.json: $: unknown key \"point\": did you mean \"points\"?");
	refused(HEAD "\"points\":[]}", "in.json: $.points: expected a list of 1 to 65536 points, found a list");
	refused(HEAD "\"points\":[[1,2,3],[1,2]]}", "in.json: $.points[1]: expected [pipelines, depth, ms of a step], found a list");
	refused(HEAD "\"points\":[[0,2,3]]}", "in.json: $.points[0][0]: expected a whole number from 1 to 4096, found 0");
	refused(HEAD "\"points\":[[1,2.5,3]]}", "in.json: $.points[0][1]: expected a whole number from 1 to 4096, found 2.5");
	refused(HEAD "\"points\":[[1,2,0]]}", "in.json: $.points[0][2]: expected a number above 0, of at least 1 ns, up to 1e+12, found 0");
	refused(HEAD "\"points\":[[1,2,1e-7]]}", "in.json: $.points[0][2]: expected a number above 0, of at least 1 ns");
	refused(HEAD "\"points\":[[1,2,3],[2,2,3],[1,2,4]]}", "in.json: $.points: duplicate point of 1 pipelines of depth 2");
	refused(HEAD "\"points\":[{\"pipelines\":1,\"depth\":1}]}",
		"in.json: $.points[0].step_ms: expected a number above 0, of at least 1 ns, up to 1e+12, found nothing");
	refused(HEAD "\"points\":[{\"pipelines\":1,\"depth\":1,\"step_ms\":1,\"redundant\":2}]}",
		"in.json: $.points[0].redundant: expected a number from 0 to 1, found 2");
	refused(HEAD "\"points\":[[1,1,1]],\"work\":{}}",
		"in.json: $: expected only one of the keys \"points\", \"work\" and \"step\", found \"points\" and \"work\"");
	refused("{\"name\":\"x\",\"source\":\"y\",\"points\":[[1,1,1]]}", "in.json: $.samples_per_step: expected a number");
	refused("{\"name\":\"x\",\"source\":\"y\",\"work\":{\"hours\":1,\"step_s\":7}}",
		"in.json: $.work.step_s: expected a divisor of the 1 hours of \"hours\", found 7");
	refused("{\"name\":\"x\",\"source\":\"y\",\"work\":{\"hours\":1,\"step_s\":1},\"steps\":3}",
		"in.json: $.steps: expected either this key or $.work");
	refused(HEAD "\"curves\":{\"a\":{\"first\":1,\"values\":[1,-1]}}}",
		"in.json: $.curves.a.values[1]: expected a number from 0 to 1e18, found -1");
	refused(HEAD "\"curves\":{\"a\":{\"values\":[1]}}}",
		"in.json: $.curves.a.first: expected a whole number from 1 to 65536, found nothing");
	refused(HEAD "\"points\":[[1,1,1]],\"figures\":{\"a b\":1}}", "in.json: $.figures: expected keys of 1 to 80 letters");
	refused(HEAD "\"points\":[[1,1,1]],\"figures\":{\"a\":1,\"a\":2}}",
		"in.json:1:89: duplicate key \"a\" (first on line 1): expected it once");
	refused(HEAD "\"points\":[[1,1,1]],\"figures\":{\"a\":\"1\"}}",
		"in.json: $.figures.a: expected a number from -1e18 to 1e18, found \"1\"");
	refused(HEAD "\"points\":[[1,1,1]],\"on_demand\":{\"nodes\":1}}", "in.json: $.on_demand.step_s: expected a number above 0");
	refused(STEP ",\"cut\":\"tim\"}}", "in.json: $.step.cut: expected one of time, memory, blocks, found \"tim\"");
	refused(STEP ",\"max_depth\":300}}", "in.json: $.step.max_depth: expected a whole number from 1 to 256, found 300");
	refused(STEP "},\"samples_per_step\":9}", "in.json: $.samples_per_step: expected either this key or $.step.batch");
	refused("{\"name\":\"x\",\"source\":\"y\",\"step\":{\"model\":\"m\",\"device\":\"d\",\"batch\":8,\"micro_batch\":9,\"node_Gbps\":1}"
		"}",
		"in.json: $.step.micro_batch: expected a whole number from 1 to 8, found 9");
}

int main(void)
{
	check_catalogue();
	check_bamboo();
	check_oobleck();
	check_late();
	check_parcae();
	check_points();
	check_refused();
	return done();
}
