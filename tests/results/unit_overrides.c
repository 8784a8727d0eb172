/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merge patches of canonical texts: the cases of RFC 7396, appendix A, that have objects; the texts that patches restore; hostile texts. */
#include "results/overrides.h"

#include "tests/tap.h"

#include <sqlite3.h>
#include <string.h>

static bool applies(const char *base, const char *patch, const char *want)
{
	struct sbuf out = { 0 };
	bool good = overrides_apply(&out, base, patch) && !strcmp(sbuf_text(&out), want);
	if (!good)
		printf("# %s with %s: %s\n", base, patch, sbuf_text(&out));
	sbuf_free(&out);
	return good;
}

static void rfc(void)
{
	static const char *const cases[][3] = {
		{ "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
		{ "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
		{ "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
		{ "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
		{ "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
		{ "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
		{ "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
	};
	int bad = 0;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		bad += !applies(cases[i][0], cases[i][1], cases[i][2]);
	ok(!bad, "the cases of RFC 7396, appendix A");
}

/* Returns whether the patch has the wanted text and restores the text, here and by SQLite. */
static bool restores(sqlite3 *db, const char *base, const char *text, const char *want)
{
	struct sbuf patch = { 0 }, back = { 0 };
	sqlite3_stmt *st = NULL;
	bool good = overrides_make(&patch, base, text) && !strcmp(sbuf_text(&patch), want) &&
		    overrides_apply(&back, base, sbuf_text(&patch)) && !strcmp(sbuf_text(&back), text);
	sqlite3_prepare_v2(db, "SELECT json_patch(?, ?)", -1, &st, NULL);
	sqlite3_bind_text(st, 1, base, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, sbuf_text(&patch), -1, SQLITE_STATIC);
	good = good && sqlite3_step(st) == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(st, 0), text);
	if (!good)
		printf("# %s to %s: %s gives %s\n", base, text, sbuf_text(&patch), sbuf_text(&back));
	sqlite3_finalize(st);
	sbuf_free(&patch);
	sbuf_free(&back);
	return good;
}

static void making(void)
{
	static const char base[] = "{\"world\":\"jobs\",\"seed\":\"1\",\"o\":{\"x\":1.50,\"y\":\"a\\\"b\",\"z\":[1,2]},\"last\":true}";
	sqlite3 *db;
	sqlite3_open(":memory:", &db);
	ok(restores(db, base, base, "{}"), "an equal scenario has no overrides");
	ok(restores(db, base, "{\"world\":\"jobs\",\"seed\":\"22\",\"o\":{\"x\":1.50,\"y\":\"a\\\"b\",\"z\":[1,2]},\"last\":true}",
		   "{\"seed\":\"22\"}"),
		"one value");
	ok(restores(db, base, "{\"world\":\"jobs\",\"seed\":\"1\",\"o\":{\"x\":1.5,\"z\":[1,3]},\"last\":true,\"new\":{\"a\":{}}}",
		   "{\"o\":{\"x\":1.5,\"y\":null,\"z\":[1,3]},\"new\":{\"a\":{}}}"),
		"nested values, a missing and a new one; numbers keep their bytes");
	sqlite3_close(db);
}

static void hostile(void)
{
	static const char *const wrong[] = { "", "1", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{\"a\":1}x",
		"{a:1}", "{\"a\":\"b}", "{\"a\":\"\\", "{\"a\":[1,]}", "{\"a\":[1}", "{\"a\" :1}", "{\"a\":\"\n\"}", "{,}",
		"{\"a\":1,,\"b\":2}" };
	struct sbuf out = { 0 }, deep = { 0 };
	int accepted = 0;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		accepted += overrides_apply(&out, "{\"a\":1}", wrong[i]) + overrides_apply(&out, wrong[i], "{\"a\":1}") +
			    overrides_make(&out, wrong[i], "{}") + overrides_make(&out, "{}", wrong[i]);
	ok(!accepted, "%zu texts that are no JSON objects are refused", sizeof wrong / sizeof *wrong);
	sbuf_puts(&deep, "{\"a\":");
	for (int i = 0; i < 1000000; i++)
		sbuf_putc(&deep, '[');
	ok(!overrides_apply(&out, "{}", sbuf_text(&deep)), "a text of a million nested lists is refused");
	sbuf_free(&out);
	sbuf_free(&deep);
}

int main(void)
{
	rfc();
	making();
	hostile();
	return done();
}
