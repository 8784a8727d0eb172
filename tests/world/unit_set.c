/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario_set() and the long forms of policies: each case has a scenario, a setting, and the resulting scenario. The expected
 * scenarios were written by hand. */
#include "world/scenario.h"

#include "base/mem.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct orr_error err;

/* Returns the scenario after the setting as text, or the error's text. The caller frees it with free(). */
static char *after(const char *scenario, const char *pair)
{
	cJSON *o = cJSON_Parse(scenario);
	err = (struct orr_error){ 0 };
	char *text = scenario_set(o, pair, &err) ? strdup(err.text) : cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	return text;
}

static const struct {
	const char *scenario, *pair, *want;
} cases[] = {
	{ "{}", "seed=7", "{\"seed\":\"7\"}" },
	{ "{\"seed\":3,\"n\":1}", "seed=7", "{\"n\":1,\"seed\":\"7\"}" },
	{ "{}", "jobs.start_cost=3=4", "{\"jobs\":{\"start_cost\":\"3=4\"}}" },
	{ "{\"jobs\":{\"a\":1}}", "jobs.b=", "{\"jobs\":{\"a\":1,\"b\":\"\"}}" },
	{ "{\"jobs\":5}", "jobs.a=1", "{\"jobs\":{\"a\":\"1\"}}" },
	{ "{\"world\":\"jobs\"}", "a.b.c=1", "{\"world\":\"jobs\",\"a\":{\"b.c\":\"1\"}}" },
	{ "{\"world\":\"mixed\"}", "jobs.failures.x=1", "{\"world\":\"mixed\",\"jobs\":{\"failures\":{\"x\":\"1\"}}}" },
	{ "{\"world\":\"mixed\"}", "mixed.x=1", "{\"world\":\"mixed\",\"mixed\":{\"x\":\"1\"}}" },
	{ "{}", "seed", "--set seed: expected PATH=VALUE" },
	{ "{}", "=7", "--set =7: expected PATH=VALUE" },

	{ "{\"policies\":[\"las\"]}", "policy.las.x=2", "{\"policies\":[{\"policy\":\"las\",\"set\":{\"x\":\"2\"}}]}" },
	{ "{\"policies\":[\"las\",\"las@b\"]}", "policy.b.x=2",
		"{\"policies\":[{\"policy\":\"las\"},{\"label\":\"b\",\"policy\":\"las\",\"set\":{\"x\":\"2\"}}]}" },
	{ "{\"policies\":[\"las\",\"las\"]}", "policy.las.x=2",
		"{\"policies\":[{\"policy\":\"las\",\"set\":{\"x\":\"2\"}},{\"policy\":\"las\",\"set\":{\"x\":\"2\"}}]}" },
	{ "{\"policies\":[{\"policy\":\"las\",\"set\":{\"y\":1}}]}", "policy.las.x=2",
		"{\"policies\":[{\"policy\":\"las\",\"set\":{\"y\":1,\"x\":\"2\"}}]}" },
	{ "{\"policies\":[\"a-b_c\"]}", "policy.a_b-c.x=2", "{\"policies\":[{\"policy\":\"a-b_c\",\"set\":{\"x\":\"2\"}}]}" },
	{ "{\"policies\":[\"a-b\"]}", "policy.a.b.x=2", "--set policy.a.b.x: expected the label of a policy of this run, found \"a.b\"" },
	{ "{\"policies\":[\"a-b\"]}", "policy.axb.x=2", "--set policy.axb.x: expected the label of a policy of this run, found \"axb\"" },
	{ "{\"policies\":[\"axb\"]}", "policy.a-b.x=2", "--set policy.a-b.x: expected the label of a policy of this run, found \"a-b\"" },
	{ "{\"policies\":[\"las\"]}", "policy.la.x=2", "--set policy.la.x: expected the label of a policy of this run, found \"la\"" },
	{ "{\"policies\":[\"las\"]}", "policy.lass.x=2",
		"--set policy.lass.x: expected the label of a policy of this run, found \"lass\"" },
	{ "{\"policies\":[\"las@b\"]}", "policy.las.x=2", "--set policy.las.x: expected the label of a policy of this run, found \"las\"" },
	{ "{\"policies\":[\"las\"]}", "policy.las=2", "--set policy.las: expected policy.NAME.PARAM=VALUE" },
	{ "{\"policies\":[\"las\"]}", "policy..x=2", "--set policy..x: expected policy.NAME.PARAM=VALUE" },
	{ "{\"policies\":[\"las\"]}", "policy.las.=2", "--set policy.las.: expected policy.NAME.PARAM=VALUE" },
	{ "{}", "policy.las.x=2", "--set policy.las.x: expected the label of a policy of this run, found \"las\"" },
	/* The name of a plugin is that of its file, without folder and suffix. */
	{ "{\"policies\":[\"./dir.d/mine.so\"]}", "policy.mine.x=2",
		"{\"policies\":[{\"policy\":\"./dir.d/mine.so\",\"set\":{\"x\":\"2\"}}]}" },
	{ "{\"policies\":[\"mine.so\"]}", "policy.mine.x=2", "{\"policies\":[{\"policy\":\"mine.so\",\"set\":{\"x\":\"2\"}}]}" },
	{ "{\"policies\":[\"./none/mine.so\"]}", "policy.min.x=2",
		"--set policy.min.x: expected the label of a policy of this run, found \"min\"" },
	/* In a pair, each policy has its own settings. */
	{ "{\"world\":\"mixed\",\"policies\":[\"fifo+least-queue\"]}", "policy.fifo.x=2",
		"{\"world\":\"mixed\",\"policies\":[{\"policy\":\"fifo\",\"serve\":\"least-queue\",\"set\":{\"x\":\"2\"}}]}" },
	{ "{\"world\":\"mixed\",\"policies\":[\"fifo+least-queue\"]}", "policy.least-queue.x=2",
		"{\"world\":\"mixed\",\"policies\":[{\"policy\":\"fifo\",\"serve\":\"least-queue\",\"serve_set\":{\"x\":\"2\"}}]}" },
	{ "{\"world\":\"mixed\",\"policies\":[\"fifo+least-queue@p\"]}", "policy.p.x=2",
		"{\"world\":\"mixed\",\"policies\":[{\"label\":\"p\",\"policy\":\"fifo\",\"serve\":\"least-queue\",\"set\":{\"x\":\"2\"}}]"
		"}" },
	{ "{\"world\":\"mixed\",\"policies\":[\"fifo+least-queue@p\"]}", "policy.fifo.x=2",
		"{\"world\":\"mixed\",\"policies\":[{\"label\":\"p\",\"policy\":\"fifo\",\"serve\":\"least-queue\",\"set\":{\"x\":\"2\"}}]"
		"}" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *got = after(cases[i].scenario, cases[i].pair), what[256];
		snprintf(what, sizeof what, "%s in %s", cases[i].pair, cases[i].scenario);
		same_text(got, cases[i].want, what);
		free(got);
	}
	return done();
}
