/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elastic_mutation.c - a damaged file of an elastic job neither crashes orrery nor is accepted silently
 *
 * The base files together contain every key and are damaged by tests/mutate.h. Each case ends in an input error that names the file and
 * the JSON path (or line and column), or in a job whose numbers are valid.
 */
#include "hwmodel/elastic.h"

#include "tests/mutate.h"
#include "tests/hwmodel/elastic_find.h"
#include "tests/tap.h"

#include <ctype.h>

static const char *const files[] = {
	"{\"name\":\"t\",\"title\":\"a table\",\"source\":\"made "
	"up\",\"samples_per_step\":264,\"steps\":22194,\"state_bytes\":4e9,\"parameters\":3e8,"
	"\"depth\":12,\"pipelines\":4,\"on_demand\":{\"nodes\":20,\"step_s\":2.51},\"points\":[[1,12,4310],[2,12,2390.5],"
	"{\"pipelines\":3,\"depth\":2,\"step_ms\":5,\"redundant_step_ms\":6,\"degraded_step_ms\":7,\"failover_ms\":0.5,\"redundant\":0.2}],"
	"\"curves\":{\"a.b\":{\"first\":15,\"values\":[1,2.5,0]}},\"figures\":{\"x\":1,\"y-z_1\":-2.5}}",
	"{\"name\":\"w\",\"source\":\"made up\",\"work\":{\"hours\":22.5,\"step_s\":1}}",
	"{\"name\":\"c\",\"source\":\"made "
	"up\",\"samples_per_step\":1,\"curves\":{\"a\":{\"first\":1,\"values\":[3]},\"b\":{\"first\":2,\"values\":[4]}}}",
	"{\"name\":\"s\",\"source\":\"made "
	"up\",\"on_demand\":{\"nodes\":4},\"step\":{\"model\":\"alexnet\",\"device\":\"v100\",\"precision\":\"fp16\",\"batch\":64,"
	"\"micro_batch\":8,\"node_Gbps\":10,\"latency_us\":25,\"max_pipelines\":2,\"min_depth\":1,\"max_depth\":4,\"max_nodes\":8,"
	"\"optimizer\":\"sgd\","
	"\"recompute\":\"full\",\"cut\":\"memory\",\"redundancy\":\"both\"}}"
};

static unsigned long cases, accepted, refused, insane, unnamed, wrong_code;

/* Matches "in: $..: text" or "in:LINE:COLUMN: text" */
static bool names_its_place(const char *text)
{
	if (!strncmp(text, "in: $", 5))
		return strchr(text + 5, ':') != NULL;
	const char *s = text + 3 + strspn(text + 3, "0123456789");
	return !strncmp(text, "in:", 3) && isdigit((unsigned char)text[3]) && s[0] == ':' && isdigit((unsigned char)s[1]);
}

static bool is_sane(const struct elastic *j)
{
	bool is_good = j->samples_per_step > 0 && isfinite(j->samples_per_step) && (j->n_points || j->n_curves || j->step) && *j->name &&
		       *j->source;
	is_good &= j->state_bytes >= 0 && j->parameters >= 0 && j->on_demand_step_ns >= 0;
	for (uint32_t i = 0; i < j->n_points; i++) {
		const struct elastic_point *p = &j->point[i];
		is_good &= p->pipelines && p->depth && p->step_ns[ELASTIC_PLAIN] > 0 && p->step_ns[ELASTIC_REDUNDANT] > 0 &&
			   p->failover_ns >= 0;
		is_good &= p->redundant >= 0 && p->redundant <= 1 && elastic_find(j, p->pipelines, p->depth) == p;
	}
	for (uint32_t i = 0; i < j->n_curves; i++)
		is_good &= j->curve[i].n && j->curve[i].first;
	if (j->step)
		is_good &= j->step->batch >= j->step->micro_batch && j->step->micro_batch && j->step->node_Bps > 0 &&
			   j->step->max_depth >= j->step->min_depth && j->step->max_nodes >= j->step->min_depth;
	return is_good;
}

static void parse(const char *text, size_t n)
{
	struct orr_error e = { 0 };
	struct elastic *j = elastic_parse("in", text, n, &e);
	bool is_good = !j || is_sane(j);
	cases++;
	accepted += j != NULL;
	refused += !j;
	insane += !is_good;
	wrong_code += !j && e.code != ORR_EINPUT;
	if (!is_good)
		printf("# insane: %.*s\n", (int)n, text);
	if (!j && !names_its_place(e.text)) {
		unnamed++;
		printf("# %s\n", e.text);
	}
	elastic_free(j);
}

int main(void)
{
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		unsigned long before = accepted;
		parse(files[i], strlen(files[i]));
		ok(accepted == before + 1 && !insane, "file %zu as it is", i);
		mutate(files[i], parse);
	}
	printf("# %lu cases, %lu accepted, %lu refused\n", cases, accepted, refused);
	ok(cases > 5000 && refused > cases / 2 && accepted > cases / 200, "most damaged files are refused, some are still valid");
	ok(!insane, "accepted files have valid numbers (%lu do not)", insane);
	ok(!unnamed, "every error names its place (%lu do not)", unnamed);
	ok(!wrong_code, "every error has the code of an input error");
	return done();
}
