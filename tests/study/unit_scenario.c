/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damaged scenarios: every value is replaced by one of another type, and bytes of files are changed. Each scenario is either
 * resolved or rejected as an input error with a reason (the sanitizers and valgrind detect memory errors). A resolved scenario
 * is printed and resolves to the same scenario again.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "world/scenario.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/orrery-scenario.XXXXXX";

static const char jobs_full[] = "{\"world\": \"jobs\", \"trace\": \"poisson:rate=0.5,n=10\", \"format\": \"auto\",\n"
				" \"trace_options\": {}, \"cluster\": \"2x4:v100\", \"placement\": \"spread\",\n"
				" \"policies\": [\"fifo\", \"las@x\", {\"policy\": \"las\", \"label\": \"y\", \"set\": "
				"{\"limits\": \"1s,2s\"}}],\n"
				" \"jobs\": {\"start_cost\": \"1s\", \"gantt\": 3, \"warmup\": 0.5}, \"failures\": {\"mtbf\": "
				"\"9h\"},\n"
				" \"seed\": 3, \"until\": \"30d\", \"drop_unfit\": true, \"record\": \"all\", "
				"\"policy_timeout\": 5}";

static const char step_full[] =
	"{\"world\": \"step\", \"model\": \"lenet5\", \"cluster\": \"2x2:v100\", \"network\": \"star:bw=10Gbps\",\n"
	" \"device\": \"p100\", \"precision\": \"fp16\", \"batch\": 8,\n"
	" \"policies\": [\"allreduce\", \"ako@x\", {\"policy\": \"allreduce\", \"label\": \"y\", \"set\": "
	"{\"fusion\": \"none\"}}],\n"
	" \"step\": {\"iterations\": 3, \"exact\": true}, \"cost\": {\"measured\": false}, \"learn\": {\"lr\": 0.5},\n"
	" \"seed\": 3, \"policy_timeout\": 5}";

static const char serve_full[] =
	"{\"world\": \"serve\", \"trace\": \"poisson:rate=5,n=10,prompt=9,output=2\", \"format\": \"auto\", \"trace_options\": {}, "
	"\"compress\": 2,\n"
	" \"cluster\": \"2x4:a100,1x2:v100\", \"placement\": \"spread\", \"network\": \"star\", \"profile\": \"none\", \"precision\": "
	"\"bf16\",\n"
	" \"models\": [\"llama2-7b\", {\"name\": \"m\", \"source\": \"made up\", \"kind\": \"table\", \"batch\": [1, 2],\n"
	" \"latency_ms\": [20, 25]}], \"deployments\": [{\"model\": \"llama2-7b\", \"replicas\": 2, \"tp\": 2, \"role\": \"both\",\n"
	" \"gpu_types\": \"a100\"}, {\"model\": \"m\", \"kv_blocks\": 5, \"least\": 1, \"most\": 2}],\n"
	" \"policies\": [\"fifo\", \"fifo@x\", {\"policy\": \"fifo\", \"label\": \"y\", \"set\": {\"queue\": \"central\"}}],\n"
	" \"serve\": {\"router\": \"random\", \"slo\": \"1s\"}, \"failures\": {\"mtbf\": \"9h\"}, \"prices\": {\"a100\": 3.5},\n"
	" \"seed\": 3, \"replications\": 2, \"until\": \"30d\", \"record\": \"all\", \"policy_timeout\": 5}";

static const char spot_full[] =
	"{\"world\": \"spot\", \"trace\": \"hazard:p=0.1,slots=8,length=4h\", \"format\": \"auto\", \"trace_options\": {},\n"
	" \"prices\": \"\", \"job\": {\"name\": \"slow\", \"source\": \"made up\", \"samples_per_step\": 8, \"depth\": 2,\n"
	" \"pipelines\": 1, \"points\": [[1, 2, 10000], [2, 2, 12000]]}, \"spot\": {\"price\": 0.9, \"startup\": \"1m\"},\n"
	" \"policies\": [\"checkpoint\", \"checkpoint@x\", {\"policy\": \"checkpoint\", \"label\": \"y\", \"set\": {\"depth\": 2}}],\n"
	" \"seed\": 3, \"replications\": 2, \"until\": \"30d\", \"record\": \"all\", \"policy_timeout\": 5}";

static const char mixed_full[] =
	"{\"world\": \"mixed\", \"cluster\": \"2x4:a100\", \"placement\": \"spread\", \"first\": \"serve\",\n"
	" \"jobs\": {\"trace\": \"poisson:rate=0.5,n=10\", \"jobs\": {\"gantt\": 3}},\n"
	" \"serve\": {\"trace\": \"poisson:rate=5,n=10,prompt=9,output=2\", \"models\": [\"llama2-7b\"], \"deployments\": [{\"replicas\": "
	"1}]},\n"
	" \"policies\": [\"fifo+vllm\", {\"policy\": \"las\", \"serve\": \"fifo\", \"label\": \"x\", \"set\": {\"limits\": \"1s,2s\"}}],\n"
	" \"failures\": {\"mtbf\": \"9h\"}, \"prices\": {\"a100\": 3.5}, \"seed\": 3, \"until\": \"30d\", \"record\": \"all\", "
	"\"policy_timeout\": 5}";

/* The scenario for all tests. */
static const char *full;

static struct scenario *resolve(const cJSON *scenario, struct orr_error *err)
{
	static const struct world_output shown = { .quiet = true, .is_shown = true };
	return scenario_open(scenario, &shown, err);
}

/* Returns the fault, or NULL. Counts the resolved scenarios. */
static const char *try(cJSON *scenario, int *resolved)
{
	struct orr_error err = { 0 };
	struct scenario *s = resolve(scenario, &err), *again;
	const char *wrong = NULL;
	if (!s)
		return err.code != ORR_EINPUT || !*err.text ? "refused without a reason, or with another code" : NULL;
	char *shown = scenario_show(s);
	cJSON *parsed = cJSON_Parse(shown);
	++*resolved;
	if (!parsed || !(again = resolve(parsed, &err))) {
		wrong = "the printed scenario does not resolve";
	} else {
		char *twice = scenario_show(again);
		wrong = strcmp(shown, twice) ? "the printed scenario differs from the one read" : NULL;
		mem_free(twice);
		scenario_close(again);
	}
	cJSON_Delete(parsed);
	mem_free(shown);
	scenario_close(s);
	return wrong;
}

static bool report(const char *wrong, const cJSON *scenario)
{
	if (!wrong)
		return true;
	char *text = cJSON_PrintUnformatted(scenario);
	printf("# %s: %s\n", wrong, text);
	cJSON_free(text);
	return false;
}

/* ---- values of another kind ---- */

static const char *const odd[] = { "null", "true", "false", "0", "-1", "1e300", "-1e300", "0.5", "\"\"", "\"x\"", "\",\"", "\"@\"",
	"\"1x1\"", "\"/\"", "[]", "[[]]", "[0]", "[\"fifo\"]", "{}", "{\"\": 1}", "{\"policy\": []}", "[{\"policy\": {}}]" };

/* Returns the k-th value of the tree in reading order, and its parent. */
static cJSON *value_at(cJSON *v, int *k, cJSON **parent)
{
	for (cJSON *c = v->child; c; c = c->next) {
		*parent = v;
		if (!(*k)--)
			return c;
		cJSON *found = value_at(c, k, parent);
		if (found)
			return found;
	}
	return NULL;
}

static void other_kinds(void)
{
	int tried = 0, resolved = 0;
	bool good = true;
	for (int k = 0;; k++) {
		size_t i = 0;
		for (; i < sizeof odd / sizeof *odd; i++) {
			cJSON *scenario = cJSON_Parse(full), *parent = NULL;
			int left = k;
			cJSON *v = value_at(scenario, &left, &parent);
			if (!v) {
				cJSON_Delete(scenario);
				break;
			}
			cJSON *put = cJSON_Parse(odd[i]);
			if (v->string)
				put->string = strcpy(cJSON_malloc(strlen(v->string) + 1), v->string);
			cJSON_ReplaceItemViaPointer(parent, v, put);
			good &= report(try(scenario, &resolved), scenario);
			cJSON_Delete(scenario);
			tried++;
		}
		if (!i)
			break;
	}
	ok(good && tried > 400 && resolved > 20 && resolved < tried / 2, "%d values of another kind: %d still resolve", tried, resolved);
}

/* ---- bytes ---- */

static void bytes(int rounds)
{
	struct rng r;
	int resolved = 0, parsed = 0;
	bool good = true;
	rng_init(&r, 1, "scenario", 0);
	for (int k = 0; k < rounds && good; k++) {
		struct orr_error err = { 0 };
		char text[2 * sizeof jobs_full + 2 * sizeof step_full + 2 * sizeof serve_full + 2 * sizeof spot_full];
		size_t n = strlen(full);
		memcpy(text, full, n);
		for (uint64_t changes = 1 + rng_below(&r, 3); changes; changes--) {
			static const char marks[] = "{}[]\",:\\ 019.-ex=@x";
			size_t at = rng_below(&r, n), len = 1 + rng_below(&r, 6);
			len = len < n - at ? len : n - at;
			switch (rng_below(&r, 3)) {
			case 0:
				text[at] = marks[rng_below(&r, sizeof marks - 1)];
				break;
			case 1:
				memmove(text + at, text + at + len, n - at - len);
				n -= len;
				break;
			default:
				memmove(text + at + len, text + at, n - at);
				n += len;
			}
		}
		unlink(path);
		FILE *f = fopen(path, "w");
		fwrite(text, 1, n, f);
		fclose(f);
		cJSON *scenario = scenario_read(path, &err);
		if (scenario) {
			parsed++;
			good = report(try(scenario, &resolved), scenario);
			cJSON_Delete(scenario);
		} else {
			good = err.code == ORR_EINPUT && *err.text;
		}
	}
	ok(good && parsed > rounds / 20 && resolved > rounds / 100, "%d damaged files: %d are JSON, %d resolve", rounds, parsed, resolved);
}

/* ---- --set ---- */

static void sets(void)
{
	static const char *const pairs[] = { "=", "x", "x=", ".=1", "jobs.=1", ".gantt=1", "jobs..gantt=1", "jobs.gantt=5", "policy=1",
		"policy.=1", "policy..=1", "policy.x=1", "policy.x.=1", "policy.x.limits=4", "policy.y.limits=", "policies=1",
		"policies.x=1", "cluster.x=1", "trace_options.x=1", "failures=1", "failures.mtbf=1s",
		"seed==", "world=", "policy...=", "step.exact=true", "cost.x=1", "learn.seeds=2", "tp=2", "replicas=1", "serve.router=jsq",
		"serve.x=1", "prices=v100=3", "deployments=1", "until=2h", "record=sample", "spot.price=2", "first=nobody" };
	int resolved = 0;
	bool good = true;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
			struct orr_error err = { 0 };
			cJSON *scenario = cJSON_Parse(full);
			if (!scenario_set(scenario, pairs[i], &err) && !scenario_set(scenario, pairs[k], &err))
				good &= report(try(scenario, &resolved), scenario);
			else
				good &= err.code == ORR_EINPUT && *err.text;
			cJSON_Delete(scenario);
		}
	ok(good && resolved >= 4, "pairs of --set, sound and not: %d resolve", resolved);
}

int main(void)
{
	static const char *const all[] = { jobs_full, step_full, serve_full, spot_full, mixed_full };
	static const char *const names[] = { "jobs", "step", "serve", "spot", "mixed" };
	int fd = mkstemp(path);
	if (fd < 0)
		return 2;
	close(fd);
	for (int i = 0; i < 5; i++) {
		int resolved = 0;
		full = all[i];
		cJSON *scenario = cJSON_Parse(full);
		ok(scenario && report(try(scenario, &resolved), scenario) && resolved == 1,
			"the scenario of the %s world that is damaged here is sound", names[i]);
		cJSON_Delete(scenario);
		other_kinds();
		bytes(getenv("ORR_SANITIZED") ? 2000 : 10000);
		sets();
	}
	unlink(path);
	return done();
}
