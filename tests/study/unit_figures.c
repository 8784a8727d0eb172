/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damaged scenario books: every value of a valid figures.json is replaced by one of another type. Each book is either run or
 * rejected as an input error with a reason (the sanitizers detect memory errors).
 */
#include "base/mem.h"
#include "study/figures.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-book.XXXXXX";

static const char full[] =
	"{\"title\": \"t\", \"constants\": {\"mu\": 0.1, \"two\": \"1 + 1\"},\n"
	" \"traces\": {\"t\": {\"file\": \"no/such.csv\", \"otherwise\": \"poisson:rate=9,n=3\"}},\n"
	" \"axes\": {\"rho\": [0.3, 0.5], \"p\": [{\"value\": \"fifo\", \"label\": \"F\", \"let\": {\"k\": \"two * 2\"}}, \"sjf\"]},\n"
	" \"runs\": {\"q\": {\"scenario\": {\"cluster\": \"1x1\", \"policies\": [\"fifo\", \"sjf\"]}, \"axes\": [\"rho\"],\n"
	"   \"where\": \"rho < 0.6\", \"set\": {\"trace\": \"poisson:rate=${rho * mu},mean=10,n=30\", \"seed\": 2}},\n"
	"  \"s\": {\"scenario\": {\"world\": \"serve\", \"trace\": \"${trace:t}\", \"models\": [\"irina-a\"], \"cluster\": \"1x1\", "
	"\"policies\": [\"fifo\"]}}},\n"
	" \"figures\": [{\"name\": \"f-${p}\", \"kind\": \"lines\", \"each\": [\"p\"],\n"
	"   \"x\": {\"axis\": \"rho\", \"label\": \"x\", \"log\": true}, \"y\": {\"label\": \"y\", \"min\": 0, \"max\": \"two\"},\n"
	"   \"series\": [{\"label\": \"${p.label}\", \"y\": \"{q.${p}.wait_mean}\", \"low\": \"{q.fifo.wait_mean!low}\", \"marks\": "
	"false}]},\n"
	"  {\"name\": \"c\", \"kind\": \"cdf\", \"x\": {\"label\": \"s${trace:t.note}\", \"log\": true}, \"series\": [{\"label\": \"c\", "
	"\"rows\": \"s.fifo.completion\"}]}],\n"
	" \"table\": [{\"id\": \"A-${rho}\", \"each\": [\"rho\"], \"simulated\": \"max(p: {q[rho=0.3].${p}.wait_mean})\",\n"
	"   \"closed\": \"rho == 3 ? 1 : two\", \"what\": \"w\", \"published\": false}]}";

static void put_file(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

/* Returns a description of the failure, or NULL. Counts the scenario books that ran. */
static const char *try(const cJSON *json, int *done_well)
{
	struct orr_error err = { 0 };
	struct world_output o = { .quiet = true, .threads = 1, .is_series = true };
	struct sbuf table = { 0 };
	char *text = cJSON_Print(json);
	put_file("figures.json", text);
	cJSON_free(text);
	struct book *b = book_open(dir, &err);
	int rc = b ? book_run_all(b, &o, &err) : err.code;
	if (!rc)
		rc = book_tables(b, dir, (struct report_style){ 0 }, &table, &err);
	if (!rc)
		rc = book_draw(b, dir, true, &(struct look){ 0 }, &err);
	*done_well += !rc;
	book_free(b);
	sbuf_free(&table);
	if (rc && (rc != ORR_EINPUT || err.code != rc || !*err.text)) {
		printf("# %d %d %s\n", rc, err.code, err.text);
		return "refused without a reason, or with another code";
	}
	return NULL;
}

static const char *const odd[] = { "null", "true", "-1", "1e300", "\"\"", "\"x\"", "\"rho\"", "\"${\"", "\"${p}\"", "\"{q}\"",
	"\"{q.fifo.jobs}\"", "\"max(rho: rho)\"", "[]", "[[]]", "[\"rho\"]", "[\"p\", \"p\"]", "{}", "{\"\": 1}", "{\"value\": {}}" };

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

/* Returns the tree with the k-th value replaced, or removed if text is NULL; returns NULL past the last value. */
static cJSON *changed(int k, const char *text)
{
	cJSON *json = cJSON_Parse(full), *parent = NULL, *v = value_at(json, &k, &parent);
	if (!v) {
		cJSON_Delete(json);
		return NULL;
	}
	if (!text) {
		cJSON_Delete(cJSON_DetachItemViaPointer(parent, v));
		return json;
	}
	cJSON *put = cJSON_Parse(text);
	if (v->string)
		put->string = strcpy(cJSON_malloc(strlen(v->string) + 1), v->string);
	cJSON_ReplaceItemViaPointer(parent, v, put);
	return json;
}

int main(void)
{
	int tried = 0, well = 0, step = getenv("ORR_SANITIZED") ? 3 : 1;
	bool good = true;
	if (!mkdtemp(dir))
		return 2;
	cJSON *json = cJSON_Parse(full);
	ok(json && !try(json, &well) && well == 1, "the undamaged book is valid");
	cJSON_Delete(json);
	for (int k = 0;; k++) {
		json = changed(k, NULL);
		if (!json)
			break;
		for (int i = -1; i < (int)(sizeof odd / sizeof *odd); i += step) {
			cJSON *other = i < 0 ? cJSON_Duplicate(json, 1) : changed(k, odd[i]);
			const char *wrong = try(other, &well);
			if (wrong) {
				char *text = cJSON_PrintUnformatted(other);
				printf("# %s: %s\n", wrong, text);
				cJSON_free(text);
				good = false;
			}
			cJSON_Delete(other);
			tried++;
		}
		cJSON_Delete(json);
	}
	ok(good && tried > 300 && well > 20 && well < tried, "%d damaged books: %d are carried out", tried, well);
	struct sbuf clean = { 0 };
	sbuf_printf(&clean, "rm -r %s", dir);
	if (system(sbuf_text(&clean)))
		printf("# %s remains\n", dir);
	sbuf_free(&clean);
	return done();
}
