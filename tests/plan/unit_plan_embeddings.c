/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Problems of kind embeddings: queries of a policy, codes checked by their closed forms, error messages, and the metrics of a
 * run.
 *
 * The tables have two fields of 50 features and 4 values: 4 x 100 x 4 = 1,600 bytes.
 */
#include "tests/plan/search_run.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ORR_POLICY_PLAN_FLAGS(coder, "codes of the test", ORR_PLANS_EMBEDDINGS, params, ops);

/* Runs the function s as the search. policy: a built-in policy that plans problems of this kind; the test replaces its search. */
static void run(const char *problem, const char *policy, void (*s)(struct orr_plan *), int samples)
{
	struct sbuf text = { 0 };
	sbuf_printf(&text, "{\"world\":\"plan\",\"model\":\"%s\",%s\"policies\":[\"%s\"],\"plan\":{\"samples\":%d}}", problem,
		strncmp(problem, "embeddings", 10) ? "\"cluster\":\"1x2:v100\"," : "", policy, samples);
	run_search(&text, &orr_policy_plan_coder, s);
}

static const char table[] = "embeddings:features=100,fields=2,dim=4,clusters=5,zipf=1,seed=3";

/* ---- queries of a policy ---- */

static void asks(struct orr_plan *p)
{
	struct orr_plan_facts f;
	struct orr_plan_field x;
	struct orr_plan_code_value v;
	orr_plan_facts(p, &f);
	ok(f.problem == ORR_PLAN_EMBEDDINGS && f.fields == 2 && f.dim == 4 && f.features == 100 && f.budget == 1000000 && !f.gpus,
		"facts of the tables");
	orr_plan_field(p, 1, &x);
	ok(x.features == 50, "the second field has 50 features");
	near_to(x.frequency[0] / x.frequency[9], 10, 1e-12, "zipf=1: the first is ten times as frequent as the tenth");
	near_to(x.cumulated[49], 1, 1e-12, "running sums end at 1");
	orr_plan_field(p, 2, &x);
	ok(!x.features && !x.frequency && !x.cumulated, "an unknown field has none");
	ok(orr_plan_goes_on(p), "the search may go on");
	struct orr_plan_code c = { .method = ORR_CODE_HASHED, .reduction = 10 };
	ok(orr_plan_compress(p, &c, &v) && v.vectors == 10 && v.bytes == 10 * 4 * 4, "hashing: 2 x 50 / 10 vectors of 16 bytes");
	ok(v.plain_error > 0 && v.weighted_error > 0, "with an error");
	c = (struct orr_plan_code){ .method = ORR_CODE_ROUNDED, .bits = 8 };
	ok(orr_plan_compress(p, &c, &v) && v.vectors == 100 && v.bytes == 100 * (4 + 4), "8 bits: a byte per value and a scale");
	c.bits = 16;
	ok(orr_plan_compress(p, &c, &v) && v.bytes == 100 * 8, "16 bits: two bytes per value");
	c = (struct orr_plan_code){ .method = ORR_CODE_PRODUCT, .parts = 2, .iterations = 2 };
	ok(orr_plan_compress(p, &c, &v) && v.bytes == 100 * 2 + 2 * 1024 * 4, "product: a byte per part, 1024 d per field");
	c = (struct orr_plan_code){ .method = ORR_CODE_SHARED, .reduction = 10, .head_share = 0.5, .iterations = 3, .id_bytes = 1 };
	ok(orr_plan_compress(p, &c, &v) && v.vectors == 10 && v.bytes == 10 * 16 + 100,
		"shared: 16 bytes per vector and a byte per feature");
}

static void asks_nothing(struct orr_plan *p)
{
	struct orr_plan_field x = { .features = 1 };
	orr_plan_field(p, 0, &x);
	ok(!x.features, "a training problem has no fields");
	struct orr_plan_code_value v;
	ok(!orr_plan_compress(p, &(struct orr_plan_code){ .method = ORR_CODE_ROUNDED, .bits = 8 }, &v) && isinf(v.bytes),
		"a training problem has no tables");
}

/* ---- refusals ---- */

static struct orr_plan_code code_now;
static bool is_null, is_blind;

static void tries(struct orr_plan *p)
{
	struct orr_plan_code_value v = { .bytes = 1 };
	bool done = orr_plan_compress(p, is_null ? NULL : &code_now, is_blind ? NULL : &v);
	ok(!done && (is_blind || isinf(v.bytes)) && !orr_plan_goes_on(p), "no code");
	v.bytes = 1;
	ok(!orr_plan_compress(p, &(struct orr_plan_code){ .method = ORR_CODE_ROUNDED, .bits = 8 }, &v) && isinf(v.bytes),
		"nor a later one");
}

static void refused(struct orr_plan_code c, const char *message)
{
	char wanted[160];
	code_now = c;
	run(table, "saec", tries, 0);
	snprintf(wanted, sizeof wanted, "policy saec: %s", message);
	if (!ok(said.code && !strncmp(said.text, wanted, strlen(wanted)), "refused: %s", message))
		printf("# got \"%s\"\n", said.text);
}

static void does_nothing(struct orr_plan *p)
{
	(void)p;
}

static void refusals(void)
{
	const struct orr_plan_code good = { .method = ORR_CODE_SHARED, .reduction = 10, .head_share = 1, .iterations = 1, .id_bytes = 4 };
	struct orr_plan_code c = good;
	is_null = true;
	refused(c, "orr_plan_compress: a pointer is NULL");
	is_null = false;
	is_blind = true;
	refused(c, "orr_plan_compress: a pointer is NULL");
	is_blind = false;
#define REFUSED(change, message) c = good, change, refused(c, "orr_plan_compress: " message)
	REFUSED(c.method = (enum orr_plan_method)(ORR_CODE_PRODUCT + 1), "unknown method");
	REFUSED(c.reduction = 0.99, "reduction: expected at least 1 feature per vector");
	REFUSED((c.reduction = 0, c.method = ORR_CODE_HASHED), "reduction: expected at least 1 feature per vector");
	REFUSED(c.head_share = 0, "head_share: expected");
	REFUSED(c.head_share = 1.01, "head_share: expected");
	REFUSED(c.id_bytes = 0, "id_bytes: expected 1 to 4");
	REFUSED(c.id_bytes = 5, "id_bytes: expected 1 to 4");
	REFUSED(c.iterations = 0, "iterations: expected at least 1");
	REFUSED((c.iterations = 0, c.method = ORR_CODE_PRODUCT, c.parts = 2), "iterations: expected at least 1");
	REFUSED((c.method = ORR_CODE_ROUNDED, c.bits = 9), "bits: expected 8, 16 or 32");
	c = good;
	c.method = ORR_CODE_PRODUCT;
	c.parts = 3;
	refused(c, "parts=3: expected a divisor of the dimension, 4");
	run(table, "saec", does_nothing, 0);
	same_text(
		said.text, "policy saec: search() compressed no table: expected a call of orr_plan_compress()", "a search without a code");
	run("lenet5", "straight", asks_nothing, 0);
	same_text(said.text, "policy straight: orr_plan_compress: expected a problem of kind embeddings", "a training problem");
	run(table, "dapple", does_nothing, 0);
	ok(said.code == ORR_EINPUT && strstr(said.text, "policy dapple: this policy plans training steps"), "%s", said.text);
	run("lenet5", "saec", does_nothing, 0);
	ok(said.code == ORR_EINPUT && strstr(said.text, "policy saec: this policy compresses embeddings"), "%s", said.text);
}

/* ---- results of a run ---- */

static double plain_error, weighted_error;

static void codes(struct orr_plan *p)
{
	struct orr_plan_code_value v;
	struct orr_plan_code c = { .method = ORR_CODE_HASHED, .reduction = 50 };
	orr_plan_compress(p, &c, &v);
	/* Frequencies are 1, 1/2, .. 1/50, with sum 4.499. The first 5 features have 2.283, half of it. */
	c = (struct orr_plan_code){
		.method = ORR_CODE_SHARED, .reduction = 12.5, .head_share = 0.5, .head_mass = 0.5, .iterations = 2, .id_bytes = 2
	};
	orr_plan_compress(p, &c, &v);
	plain_error = v.plain_error;
	weighted_error = v.weighted_error;
}

static void reports(void)
{
	run(table, "saec", codes, 0);
	ok(!said.code, "two codes, the last of which counts (%s)", said.text);
	near_to(metric("table_bytes"), 1600, 0, "bytes of the tables");
	near_to(metric("code_bytes"), 8 * 16 + 100 * 2, 0, "bytes of the code: 2 x 4 vectors and 100 ids");
	near_to(metric("compression"), 1600. / 328, 1e-12, "the compression ratio");
	near_to(metric("vectors"), 8, 0, "vectors");
	near_to(metric("evaluations"), 2, 0, "evaluations");
	near_to(metric("head_features"), 10, 0, "five features of each field have half of the frequencies");
	near_to(metric("cluster_madds"), 2 * (2 * 5 * 4 * 4 + 50 * 4 * 4), 0, "multiply-adds: I M K d + N K d of each field");
	near_to(metric("start_madds"), 2 * (5 * 4 * (4 + 3 * 3)), 0, "of the start: M d (K + (K - 1)(2 + floor(ln K)))");
	ok(metric("plain_error") == plain_error && metric("weighted_error") == weighted_error, "errors of the last code");
	ok(isnan(metric("auc")) && isnan(metric("log_loss")), "without samples no model is trained");
	same_text(result_find_note(result, "choice"), "8 vectors for 100 features in 2 fields; 10 features clustered", "the choice");
	ok(strstr(result_find_note(result, "assumption"), "5 planted clusters per field, values with standard deviation 0.03"),
		"the assumption names the clusters");
	ok(n_told == 4 && told[0] == 0.5 && told[1] == 1 && told[2] == 0.5 && told[3] == 1, "progress by fields");
	run(table, "saec", codes, 2000);
	near_to(metric("auc_change"), metric("auc") - metric("auc_uncompressed"), 1e-15, "the change of the AUC is coded minus plain");
	ok(metric("auc_uncompressed") > 0.6 && metric("auc") <= 1 && metric("log_loss_uncompressed") < log(2) && metric("log_loss") > 0,
		"the model on the tables learns");
	ok(metric("auc") < metric("auc_uncompressed") && metric("log_loss") > metric("log_loss_uncompressed"),
		"too few vectors lose accuracy");
	run("embeddings:features=100,fields=2,dim=4,clusters=0", "saec", codes, 0);
	ok(strstr(result_find_note(result, "assumption"), "vectors are generated without clusters"), "no clusters: another assumption");
	char path[] = "/tmp/orrery-plan-embed-XXXXXX", problem[64];
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!ok(f != NULL, "a temporary file"))
		return;
	fprintf(f, "field,feature,frequency,vector\ncity,a,3,1 2\ncity,b,1,1 2\nuser,c,1,5 6\n");
	fclose(f);
	snprintf(problem, sizeof problem, "embeddings:file=%s", path);
	run(problem, "saec", codes, 0);
	ok(!said.code && metric("table_bytes") == 24 && metric("plain_error") == 0, "a table from a file (%s)", said.text);
	ok(!result_find_note(result, "assumption"), "whose vectors are given");
	unlink(path);
	run("embeddings:features=100,fields=2,feilds=3", "saec", codes, 0);
	ok(said.code == ORR_EINPUT && strstr(said.text, "unknown parameter \"feilds\": did you mean \"fields\"?"), "%s", said.text);
}

int main(void)
{
	run(table, "saec", asks, 0);
	ok(!said.code, "%s", said.code ? said.text : "all calls are accepted");
	refusals();
	reports();
	result_free(result);
	return done();
}
