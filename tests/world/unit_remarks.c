/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every remark of the worlds' tables of effects has a scenario that triggers it, and a row in docs/reference/remarks.md.
 *
 * cases/remarks.json lists scenarios and exactly the remarks that each must give. If no scenario triggers a row of a table, the
 * test fails, unless the file names the row under "without" with a reason. Under "notes" the file has scenarios and texts that
 * other remarks, or assumptions, must contain. ORRERY_LIST=1 prints the rows of all tables, and ORRERY_SHOW=1 the remarks of
 * each scenario.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "tests/tap.h"
#include "world/remarks.h"
#include "world/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *page;
static cJSON *cases;

static char *read_file(const char *name)
{
	struct orr_error err = { 0 };
	char *text = bytes_read_file(name, 1 << 20, &(size_t){ 0 }, NULL, &err);
	if (!text)
		printf("# %s\n", err.text);
	return text;
}

/* Runs the only policy of the scenario; returns NULL if it is rejected or fails. */
static struct run_result *run_of(const cJSON *o)
{
	static const struct world_output output = { .quiet = true, .threads = 1, .db = "unused" };
	struct orr_error err = { 0 };
	struct scenario *s = scenario_open(o, &output, &err);
	struct run_result *r = NULL;
	if (s) {
		r = result_new();
		r->label = mem_strdup("x");
		r->world = mem_strdup(s->world->name);
		struct trial *trial = trial_new(s, 0, r);
		for (uint32_t k = 0; k < s->replications; k++)
			trial_run(trial, k, NULL, NULL);
		if (trial_end(trial, &err)) {
			result_free(r);
			r = NULL;
		}
		trial_free(trial);
	}
	if (err.code)
		printf("# %s\n", err.text);
	scenario_close(s);
	return r;
}

static bool has_text(const cJSON *list, const char *text)
{
	const cJSON *x;
	cJSON_ArrayForEach(x, list)
	{
		if (!strcmp(x->valuestring, text))
			return true;
	}
	return false;
}

/* Returns whether the run has exactly these remarks on keys. */
static bool has_remarks(const struct run_result *r, const cJSON *wanted)
{
	const char *text;
	size_t n = 0;
	bool is_good = r != NULL;
	for (size_t i = 0; r && (text = result_note_at(r, "remark", i)); i++) {
		if (!strstr(text, " no effect: "))
			continue;
		n++;
		if (!has_text(wanted, text)) {
			printf("# not expected: %s\n", text);
			is_good = false;
		}
	}
	if (n < (size_t)cJSON_GetArraySize(wanted))
		printf("# expected %d remarks, found %zu\n", cJSON_GetArraySize(wanted), n);
	return is_good && n == (size_t)cJSON_GetArraySize(wanted);
}

/* Returns whether a remark or an assumption of the run contains each of these texts. */
static bool has_notes(const struct run_result *r, const cJSON *wanted)
{
	static const char *const kinds[] = { "remark", "assumption" };
	const cJSON *x;
	bool has_all = r != NULL;
	cJSON_ArrayForEach(x, wanted)
	{
		const char *text;
		bool has = false;
		for (size_t k = 0; r && k < 2; k++)
			for (size_t i = 0; (text = result_note_at(r, kinds[k], i)); i++)
				has |= strstr(text, x->valuestring) != NULL;
		if (!has)
			printf("# no note contains: %s\n", x->valuestring);
		has_all &= has;
	}
	return has_all;
}

static void one_note_case(const cJSON *c)
{
	struct run_result *r = run_of(cJSON_GetObjectItem(c, "scenario"));
	for (size_t i = 0; getenv("ORRERY_SHOW") && r && result_note_at(r, "assumption", i); i++)
		printf("SHOW %s\n", result_note_at(r, "assumption", i));
	for (size_t i = 0; getenv("ORRERY_SHOW") && r && result_note_at(r, "remark", i); i++)
		printf("SHOW %s\n", result_note_at(r, "remark", i));
	ok(has_notes(r, cJSON_GetObjectItem(c, "notes")), "notes: %s", cJSON_GetStringValue(cJSON_GetObjectItem(c, "name")));
	result_free(r);
}

static void one_case(const cJSON *c)
{
	struct orr_error err = { 0 };
	cJSON *o = cJSON_Duplicate(cJSON_GetObjectItem(c, "scenario"), 1);
	const cJSON *pair, *wanted = cJSON_GetObjectItem(c, "remarks");
	bool is_set = true;
	cJSON_ArrayForEach(pair, cJSON_GetObjectItem(c, "set"))
	{
		is_set = is_set && !scenario_set(o, pair->valuestring, &err);
	}
	struct run_result *r = is_set ? run_of(o) : NULL;
	for (size_t i = 0; getenv("ORRERY_SHOW") && r && result_note_at(r, "remark", i); i++)
		printf("SHOW %s\n", result_note_at(r, "remark", i));
	ok(has_remarks(r, wanted), "%s %s", cJSON_GetStringValue(cJSON_GetObjectItem(c, "name")), is_set ? "" : err.text);
	result_free(r);
	cJSON_Delete(o);
}

/* Returns whether a scenario of this world, or of a world that includes it, expects the remark. */
static bool is_triggered(const struct world *w, const char *text)
{
	const cJSON *c;
	char in_mixed[400];
	snprintf(in_mixed, sizeof in_mixed, "%s.%s", w->name, text);
	cJSON_ArrayForEach(c, cJSON_GetObjectItem(cases, "cases"))
	{
		const cJSON *o = cJSON_GetObjectItem(c, "scenario");
		const char *world = cJSON_GetObjectItem(o, "world")->valuestring;
		bool is_mixed = !strcmp(world, "mixed");
		if ((is_mixed || !strcmp(world, w->name)) && has_text(cJSON_GetObjectItem(c, "remarks"), is_mixed ? in_mixed : text))
			return true;
	}
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItem(cases, "without"), text) != NULL;
}

/* Returns whether the page has a row of the world with the key and the reason. */
static bool is_on_page(const struct world *w, const struct world_effect *e)
{
	char name[32], key[96], why[200];
	snprintf(name, sizeof name, "| %s |", w->name);
	snprintf(key, sizeof key, "`%s`", e->key);
	snprintf(why, sizeof why, "| %s |", e->why);
	for (const char *line = page; line && *line;) {
		size_t n = strcspn(line, "\n");
		char *row = mem_strndup(line, n);
		bool is_row = !strncmp(row, name, strlen(name)) && strstr(row, key) && strstr(row, why);
		mem_free(row);
		if (is_row)
			return true;
		line += n + (line[n] == '\n');
	}
	return false;
}

static void check_table(const struct world *w)
{
	size_t n = 0, missing = 0, untested = 0;
	for (const struct world_effect *e = w->effects; e && e->key; e++, n++) {
		char text[320];
		snprintf(text, sizeof text, "%s %s no effect: %s", e->key, e->is_unsure ? "may have" : "has", e->why);
		if (getenv("ORRERY_LIST"))
			printf("LIST\t%s\t%s\t%s\n", w->name, e->key, e->why);
		if (!is_on_page(w, e)) {
			printf("# %s: not on the page: %s\n", w->name, text);
			missing++;
		}
		if (!is_triggered(w, text)) {
			printf("# %s: no scenario triggers: %s\n", w->name, text);
			untested++;
		}
	}
	ok(!missing, "%s: the pages of remarks have the %zu rows", w->name, n);
	ok(!untested, "%s: a scenario triggers each of the %zu remarks", w->name, n);
}

int main(void)
{
	const char *srcdir = getenv("srcdir");
	struct sbuf path = { 0 };
	sbuf_printf(&path, "%s/tests/world/cases", srcdir ? srcdir : ".");
	bool is_there = !chdir(sbuf_text(&path));
	char *text = is_there ? read_file("remarks.json") : NULL;
	char *most = is_there ? read_file("../../../docs/reference/remarks.md") : NULL;
	char *serve = is_there ? read_file("../../../docs/reference/remarks-serve.md") : NULL;
	struct sbuf pages = { 0 };
	if (most && serve)
		sbuf_printf(&pages, "%s\n%s", most, serve);
	page = pages.text;
	cases = cJSON_Parse(text ? text : "");
	ok(cases && page, "cases/remarks.json, docs/reference/remarks.md and remarks-serve.md exist");
	const cJSON *c;
	cJSON_ArrayForEach(c, cJSON_GetObjectItem(cases, "cases"))
	{
		one_case(c);
	}
	cJSON_ArrayForEach(c, cJSON_GetObjectItem(cases, "notes"))
	{
		one_note_case(c);
	}
	for (size_t i = 0; cases && page && worlds[i]; i++)
		if (worlds[i]->effects)
			check_table(worlds[i]);
	cJSON_Delete(cases);
	sbuf_free(&pages);
	mem_free(most);
	mem_free(serve);
	mem_free(text);
	sbuf_free(&path);
	return done();
}
