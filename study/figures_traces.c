/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of a book that are not shipped. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct book_trace *book_trace(const struct book *b, const char *name, size_t n)
{
	for (size_t i = 0; i < b->n_traces; i++)
		if (strlen(b->trace[i].name) == n && !memcmp(b->trace[i].name, name, n))
			return &b->trace[i];
	return NULL;
}

/* Looks in $ORRERY_TRACE_PATH, then in traces/ below $ORRERY_DATA_PATH, then next to the source tree, like the tests. Returns NULL
 * if the file is not found. */
static char *find(const char *file)
{
	const char *const top[] = { getenv("ORRERY_TRACE_PATH"), getenv("ORRERY_DATA_PATH"), ORR_SRCDIR }, *const below[] = { "", "/traces",
		"/../shared/traces" };
	for (int i = 0; i < 3; i++) {
		struct sbuf path = { 0 };
		sbuf_printf(&path, "%s%s/%s", top[i] ? top[i] : "", below[i], file);
		if (top[i] && *top[i] && access(sbuf_text(&path), R_OK) == 0)
			return sbuf_steal(&path);
		sbuf_free(&path);
	}
	return NULL;
}

int book_read_traces(struct book *b, struct orr_error *err)
{
	static const char *const known[] = { "file", "otherwise", NULL };
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(b->json, "traces");
	size_t cap = 0;
	if (list && !cJSON_IsObject(list))
		return book_fail(b, "$.traces", err,
			"expected an object whose keys are names and whose members are objects with \"file\" and \"otherwise\"");
	for (const cJSON *m = list ? list->child : NULL; m; m = m->next) {
		char where[100];
		snprintf(where, sizeof where, "$.traces.%.60s", m->string);
		int rc = book_check_keys(b, m, where, known, err);
		if (rc)
			return rc;
		const char *file = book_string(b, m, "file", where, err), *otherwise = book_string(b, m, "otherwise", where, err);
		if (!file || !otherwise)
			return book_fail(
				b, where, err, "expected \"file\", a path below $ORRERY_TRACE_PATH, and \"otherwise\", a generator");
		char *path = find(file);
		MEM_GROW(b->trace, b->n_traces, cap);
		b->trace[b->n_traces++] = (struct book_trace){
			.name = mem_strdup(m->string), .source = path ? path : mem_strdup(otherwise), .is_there = path != NULL
		};
	}
	return ORR_OK;
}

void book_say_stand_ins(const struct book *b)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(b->json, "traces");
	m = m ? m->child : NULL;
	for (size_t i = 0; i < b->n_traces; i++, m = m->next)
		if (!b->trace[i].is_there)
			fprintf(stderr,
				"orrery: SKIPPED: %s: %s does not exist (set ORRERY_TRACE_PATH or ORRERY_DATA_PATH); a generator replaces "
				"it: %s\n",
				b->trace[i].name, cJSON_GetObjectItemCaseSensitive(m, "file")->valuestring, b->trace[i].source);
}

void book_free_traces(struct book *b)
{
	for (size_t i = 0; i < b->n_traces; i++) {
		mem_free(b->trace[i].name);
		mem_free(b->trace[i].source);
	}
	mem_free(b->trace);
}
