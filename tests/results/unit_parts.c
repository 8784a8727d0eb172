/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of times: recording, order, merging of neighbours, sentences, and the way through the database. */
#include "base/mem.h"
#include "results/db.h"
#include "results/lists.h"
#include "results/parts.h"
#include "results/store.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t minute = 60 * INT64_C(1000000000);

static struct part behind(uint64_t job, uint32_t asked, uint32_t free)
{
	return (struct part){ PART_QUEUED, "job", job, "% GPUs asked, % free", { asked, free } };
}

static const struct part computes = { PART_COMPUTE, NULL, PART_ALONE, NULL, { 0 } };

static const char *name_of(void *ctx, const char *cause, uint64_t number)
{
	(void)ctx;
	return !strcmp(cause, "job") && number == 15 ? "fifteen" : NULL;
}

/* Job 17 waits 130 min for job 12 and 52 min for job 15, then runs for one hour; job 3 waits twice for job 12. */
static struct run_result *two_jobs(void)
{
	struct run_result *r = result_new();
	struct partlog *p = partlog_new("job", 1000);
	struct part a = behind(12, 64, 48), b = { PART_RESERVED, "job", 15, NULL, { 0 } };
	partlog_change(p, 17, 0, &a);
	partlog_add(p, 3, 0, minute, &a);
	partlog_change(p, 17, 10 * minute, &a);
	partlog_add(p, 3, minute, 3 * minute, &a);
	partlog_add(p, 3, 3 * minute, 3 * minute, &b);
	partlog_change(p, 17, 130 * minute, &b);
	partlog_change(p, 17, 182 * minute, &a);
	partlog_change(p, 17, 182 * minute, &computes);
	partlog_close(p, 17, 242 * minute);
	partlog_close(p, 17, 250 * minute);
	partlog_finish(p, r, 300 * minute, name_of, NULL);
	part_rows_form(r);
	return r;
}

static void records(void)
{
	struct run_result *r = two_jobs();
	ok(r->n_parts == 4, "equal neighbours and empty parts give no row (%zu rows)", r->n_parts);
	const struct part_row *p = r->parts;
	ok(p[0].subject == 3 && p[1].subject == 17 && p[3].subject == 17, "rows are ordered by subject");
	ok(p[0].begin_ns == 0 && p[0].end_ns == 3 * minute, "neighbours are merged");
	ok(p[1].end_ns == 130 * minute && p[2].begin_ns == 130 * minute && p[3].end_ns == 242 * minute, "parts follow one another");
	ok(!strcmp(p[1].cause, "job 12") && !strcmp(p[1].detail, "64 GPUs asked, 48 free"), "texts: %s (%s)", p[1].cause, p[1].detail);
	ok(!strcmp(p[2].cause, "job fifteen") && !p[2].detail, "a cause can have a name: %s", p[2].cause);
	ok(!strcmp(p[3].kind, "compute") && !p[3].cause, "a part without cause");
	result_free(r);
}

static void sentence(void)
{
	struct run_result *r = two_jobs();
	struct sbuf text = { 0 };
	part_sentence(&text, "17", r->parts + 1, 3);
	ok(!strcmp(sbuf_text(&text), "job 17 waited 3 h 02 min: 2 h 10 min behind job 12 (64 GPUs asked, 48 free), 52 min reserved for job "
				     "fifteen; ran 1 h 00 min: 1 h 00 min compute"),
		"%s", sbuf_text(&text));
	sbuf_free(&text);
	result_free(r);
}

static void times(void)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = { { 0, "0 us" }, { 1500, "1.5 us" }, { 2500000, "2.5 ms" }, { 12300000000, "12.3 s" }, { 60000000000, "1 min" },
		{ 61000000000, "1 min 01 s" }, { 3599900000000, "1 h 00 min" }, { 7800000000000, "2 h 10 min" },
		{ 86400000000000, "1 d 00 h" }, { 86399000000000, "1 d 00 h" },
		/* The last value of each unit, and the first that would be rounded to the next one. */
		{ 999499, "999 us" }, { 999500, "1 ms" }, { 1000000, "1 ms" }, { 999499999, "999 ms" }, { 999500000, "1 s" },
		{ 1000000000, "1 s" }, { 59949999999, "59.9 s" }, { 59950000000, "1 min" }, { 60499999999, "1 min" },
		{ 60500000000, "1 min 01 s" }, { 119600000000, "2 min" }, { 3599499999999, "59 min 59 s" }, { 3599500000000, "1 h 00 min" },
		{ 5369999999999, "1 h 29 min" }, { 5370000000000, "1 h 30 min" }, { 86369999999999, "23 h 59 min" },
		{ 86370000000000, "1 d 00 h" }, { 131399999999999, "1 d 12 h" }, { 131400000000000, "1 d 13 h" },
		{ 259200000000000, "3 d 00 h" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sbuf text = { 0 };
		part_put_time(&text, cases[i].ns);
		ok(!strcmp(sbuf_text(&text), cases[i].text), "%lld ns is %s (%s)", (long long)cases[i].ns, cases[i].text, sbuf_text(&text));
		sbuf_free(&text);
	}
}

/* Many causes: the sentence names five and sums the rest. */
static void many_causes(void)
{
	struct run_result *r = result_new();
	struct partlog *p = partlog_new("job", 1000);
	for (uint32_t i = 0; i < 8; i++) {
		struct part a = behind(i, 1, 0);
		partlog_add(p, 0, i * minute, (i + 1) * minute, &a);
	}
	partlog_finish(p, r, 0, NULL, NULL);
	part_rows_form(r);
	struct sbuf text = { 0 };
	part_sentence(&text, "x", r->parts, r->n_parts);
	ok(strstr(sbuf_text(&text), ", 3 min for 3 other causes") && strstr(sbuf_text(&text), "waited 8 min: 1 min behind job 0"), "%s",
		sbuf_text(&text));
	sbuf_free(&text);
	result_free(r);
}

/* Above the limit the rows of every second subject are dropped; the others keep all of theirs. */
static void limit(void)
{
	struct run_result *r = result_new();
	struct partlog *p = partlog_new("job", 100);
	for (uint32_t step = 0; step < 4; step++)
		for (uint64_t job = 0; job < 80; job++) {
			struct part a = behind(step, 1, 0);
			partlog_add(p, job, step * minute, (step + 1) * minute, &a);
		}
	partlog_finish(p, r, 0, NULL, NULL);
	part_rows_form(r);
	size_t wrong = 0;
	for (size_t i = 0; i < r->n_parts; i++)
		wrong += r->parts[i].begin_ns != (int64_t)(i % 4) * minute || r->parts[i].subject != r->parts[i / 4 * 4].subject;
	ok(r->n_parts <= 100 && r->n_parts >= 40 && !(r->n_parts % 4) && !wrong, "%zu rows remain, those of whole subjects", r->n_parts);
	result_free(r);
}

static void stored(void)
{
	char path[] = "/tmp/orrery-parts-XXXXXX", plain[65], with[65];
	struct orr_error err = { 0 };
	int fd = mkstemp(path);
	close(fd);
	struct run_result *r = two_jobs(), *back = NULL, *into = result_new();
	size_t n_parts = r->n_parts;
	struct store *s = store_open(path, NULL, &err);
	r->n_parts = 0;
	r->label = mem_strdup("a"), r->hash = mem_strdup("h");
	ok(!store_write(s, r, &err) && !store_digest(s, plain, &err), "a run without parts is stored");
	r->n_parts = n_parts;
	store_replace_existing(s, true);
	ok(!store_write(s, r, &err) && !store_digest(s, with, &err) && strcmp(plain, with) != 0, "the digest covers parts");
	ok(!store_read(s, "h", "a", &back, &err) && back && back->n_parts == 4, "a run is read with its parts");
	ok(back && !strcmp(back->parts[2].cause, "job fifteen") && !strcmp(back->parts[1].detail, "64 GPUs asked, 48 free"),
		"texts are read");
	bool jobs = false, nodes = true;
	ok(!store_has_parts(s, 1, "job", &jobs, &err) && !store_has_parts(s, 1, "node", &nodes, &err) && jobs && !nodes,
		"the run has parts of jobs and none of nodes");
	ok(!store_read_parts(s, 1, "job", 17, into, &err) && into->n_parts == 3, "the parts of one subject are read");
	store_close(s, NULL);
	unlink(path);
	result_free(into);
	result_free(back);
	result_free(r);
}

/* Rows in several lists: in order, with the position that a table would have, and found by subject. */
static void lists(void)
{
	char path[] = "/tmp/orrery-parts-XXXXXX";
	struct orr_error err = { 0 };
	struct run_result *r = result_new(), *back = NULL;
	close(mkstemp(path));
	for (int log = 0; log < 2; log++) {
		struct partlog *p = partlog_new(log ? "node" : "job", 10000);
		for (uint32_t job = 0; job < 700; job++) {
			struct part a = behind(job, 64, job);
			a.cause = job % 2 ? "a \"quoted\"\\ \x01\n cause of" : "job";
			partlog_add(p, job, -(int64_t)job, 1 + (int64_t)job * minute, &a);
			a.cause = a.detail = NULL;
			partlog_add(p, job, 1 + (int64_t)job * minute, INT64_MAX - 1 - job, &a);
		}
		partlog_finish(p, r, 0, NULL, NULL);
	}
	r->label = mem_strdup("a"), r->hash = mem_strdup("h");
	struct store *s = store_open(path, NULL, &err);
	ok(!store_write(s, r, &err) && !store_read(s, "h", "a", &back, &err) && back && back->n_parts == 2800, "2,800 parts are stored");
	size_t wrong = 0;
	part_rows_form(r);
	for (size_t i = 0; back && i < back->n_parts; i++) {
		const struct part_row *a = &r->parts[i], *b = &back->parts[i];
		wrong += strcmp(a->entity, b->entity) != 0 || a->subject != b->subject || a->begin_ns != b->begin_ns ||
			 a->end_ns != b->end_ns || strcmp(a->kind, b->kind) != 0 || !a->cause != !b->cause || !a->detail != !b->detail ||
			 (a->cause && strcmp(a->cause, b->cause) != 0) || (a->detail && strcmp(a->detail, b->detail) != 0);
	}
	ok(!wrong, "and read in order, with negative and large times and texts that JSON escapes (%zu wrong)", wrong);
	struct run_result *into = result_new();
	ok(!store_read_parts(s, 1, "node", 501, into, &err) && into->n_parts == 2 && into->parts[1].end_ns == INT64_MAX - 502,
		"the parts of a subject in a list between others");
	sqlite3_stmt *st;
	sqlite3_prepare_v2(s->db,
		"SELECT min(position), max(position), count(DISTINCT position), (SELECT count(*) FROM parts_lists) FROM parts", -1, &st,
		NULL);
	sqlite3_step(st);
	ok(sqlite3_column_int(st, 0) == 0 && sqlite3_column_int(st, 1) == 2799 && sqlite3_column_int(st, 2) == 2800 &&
			sqlite3_column_int(st, 3) == 2 * 3,
		"the view numbers the parts from 0; the 1,400 of an entity are in ceil(1400 / 512) = 3 lists");
	sqlite3_finalize(st);
	store_close(s, NULL);
	unlink(path);
	result_free(into);
	result_free(back);
	result_free(r);
}

/* Returns the parts of the first run, in order, as orrery reads them (is_own) or as SQLite's JSON functions do. */
static const char *rows_of(struct store *s, bool is_own)
{
	static struct sbuf text;
	struct sbuf sql = { 0 };
	const struct row_table *t = row_table_find("parts");
	sqlite3_stmt *st;
	sbuf_clear(&text);
	sbuf_puts(&sql, "SELECT position, entity, subject, begin_ns, end_ns, kind, cause, detail FROM (");
	if (is_own)
		lists_select(&sql, t);
	else
		sbuf_puts(&sql, "SELECT * FROM parts");
	sbuf_puts(&sql, ") ORDER BY position");
	if (sqlite3_prepare_v2(s->db, sbuf_text(&sql), -1, &st, NULL))
		sbuf_printf(&text, "%s", sqlite3_errmsg(s->db));
	int rc = SQLITE_DONE;
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW)
		for (int i = 0; i < 8; i++) {
			const char *v = (const char *)sqlite3_column_text(st, i);
			sbuf_printf(&text, "%d:%s%c", sqlite3_column_type(st, i), v ? v : "-", i < 7 ? ' ' : '\n');
		}
	if (rc != SQLITE_DONE)
		sbuf_printf(&text, "error: %s", sqlite3_errmsg(s->db));
	sqlite3_finalize(st);
	sbuf_free(&sql);
	return sbuf_text(&text);
}

static bool set_list(struct store *s, const char *list)
{
	sqlite3_stmt *st;
	sqlite3_prepare_v2(s->db, "UPDATE parts_lists SET list = ?1", -1, &st, NULL);
	sqlite3_bind_text(st, 1, list, -1, SQLITE_STATIC);
	bool good = sqlite3_step(st) == SQLITE_DONE;
	sqlite3_finalize(st);
	return good;
}

/* Both readers read each form of a list, and refuse texts that are not lists. */
static void forms(void)
{
	/* Two subjects; times in us; a row without a cause but with a detail; a gap in subject 7. */
	static const char want[] =
		"1:0 3:job 1:7 1:1000 1:3000 3:queued 3:job 1 5:-\n1:1 3:job 1:7 1:3000 1:9000 3:compute 5:- 5:-\n"
		"1:2 3:job 1:7 1:10000 1:11000 3:held 5:- 3:a \"b\"\\\t\n1:3 3:job 1:9 1:-2000 1:4000 3:compute 5:- 5:-\n";
	static const char packed[] = "[1000,[\"queued\",\"job 1\",\"compute\",\"held\",\"a \\\"b\\\"\\\\\\u0009\"],"
				     "[7,0,1,[2,0,1],[8,2]],[7,2,10,[1,3,null,4]],[9,3,-2,[6,2]]]";
	static const char plain[] = "[[7,1000,2000,\"queued\",\"job 1\"],[7,3000,6000,\"compute\"],[7,10000,1000,\"held\",null,"
				    "\"a \\\"b\\\"\\\\\\t\"],[9,-2000,6000,\"compute\"]]";
	static const char *const bad[] = { "", "[", "[]", "[1000]", "[1000,[]", "x", "[[7,1000,2000,\"queued\"]",
		"[[7,1000,2000,\"queued]]", "[[7,1000,2000,7]]", "[[7,1000]]", "[[7,1000,99999999999999999999,\"x\"]]",
		"[1000,[\"a\"],[7,0,1,[2,1]]]", "[1000,[\"a\"],[7,0,1,[2,-1]]]", "[1000,[\"a\"],[7,1,1,[2,0]]]",
		"[1000,[\"a\"],[7,0,1,[2,0]", "[1000,[\"a\"],[7,0]]", "[1000,[\"\\u12\"],[7,0,1,[2,0]]]", "[1000,[\"\\q\"],[7,0,1,[2,0]]]",
		"[1000,[\"a\"],[7,0,1,[2,0]]]]", "[1000,[\"a\"],[7,0,1,[2,0,0,0,0,0]]]", "[[7,1000,2000,\"a\\" };
	char path[] = "/tmp/orrery-parts-XXXXXX";
	struct orr_error err = { 0 };
	struct run_result *r = result_new();
	struct partlog *p = partlog_new("job", 100);
	struct part a = behind(1, 1, 0), c = { .kind = PART_HELD, .number = PART_ALONE, .detail = "a \"b\"\\\t" };
	a.detail = NULL;
	partlog_add(p, 7, 1000, 3000, &a);
	partlog_add(p, 7, 3000, 9000, &computes);
	partlog_add(p, 7, 10000, 11000, &c);
	partlog_add(p, 9, -2000, 4000, &computes);
	partlog_finish(p, r, 0, NULL, NULL);
	r->label = mem_strdup("a"), r->hash = mem_strdup("h");
	close(mkstemp(path));
	struct store *s = store_open(path, NULL, &err);
	ok(s && !store_write(s, r, &err), "a run with four parts is stored");
	same_text(rows_of(s, true), want, "the program reads them");
	same_text(rows_of(s, false), want, "the view reads them");
	sqlite3_stmt *st;
	sqlite3_prepare_v2(s->db, "SELECT list FROM parts_lists", -1, &st, NULL);
	sqlite3_step(st);
	same_text((const char *)sqlite3_column_text(st, 0), packed, "the list");
	sqlite3_finalize(st);
	ok(set_list(s, plain), "(a list as schema 7 had it)");
	same_text(rows_of(s, true), want, "the program reads it");
	same_text(rows_of(s, false), want, "the view reads it");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct run_result *into = result_new();
		err = (struct orr_error){ 0 };
		ok(set_list(s, bad[i]) && strstr(rows_of(s, true), "error: malformed list of rows") &&
				store_read_parts(s, 1, "job", 7, into, &err) && strstr(err.text, "malformed list"),
			"'%s' is refused (%s)", bad[i], err.text);
		result_free(into);
	}
	store_close(s, NULL);
	unlink(path);
	result_free(r);
}

/* Each ASCII character at each place of a word of eight characters. */
static void characters(void)
{
	enum { PLACES = 17, CHARACTERS = 127 };
	static char text[CHARACTERS * PLACES][PLACES + 1];
	char path[] = "/tmp/orrery-parts-XXXXXX";
	struct orr_error err = { 0 };
	struct run_result *r = result_new(), *back = NULL;
	struct partlog *p = partlog_new("job", 10000);
	for (uint32_t i = 0; i < CHARACTERS * PLACES; i++) {
		memset(text[i], 'x', PLACES);
		text[i][i % PLACES] = (char)(1 + i / PLACES);
		partlog_add(p, i, 0, minute, &(struct part){ PART_HELD, text[i], PART_ALONE, NULL, { 0 } });
	}
	partlog_finish(p, r, 0, NULL, NULL);
	r->label = mem_strdup("a"), r->hash = mem_strdup("h");
	close(mkstemp(path));
	struct store *s = store_open(path, NULL, &err);
	bool is_read = s && !store_write(s, r, &err) && !store_read(s, "h", "a", &back, &err) && back;
	size_t right = 0;
	for (size_t i = 0; is_read && i < back->n_parts; i++)
		right += back->parts[i].cause && !strcmp(back->parts[i].cause, text[i]);
	ok(right == CHARACTERS * PLACES, "texts with each character at each place are stored and read (%zu of %d)", right,
		CHARACTERS * PLACES);
	store_close(s, NULL);
	unlink(path);
	result_free(back);
	result_free(r);
}

/* A list has the greatest unit that fits all its times. */
static void units(void)
{
	static const int64_t unit[] = { 1, 1000, 1000000, 1000000000 };
	for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
		char path[] = "/tmp/orrery-parts-XXXXXX", want[64];
		struct orr_error err = { 0 };
		struct run_result *r = result_new(), *back = NULL;
		struct partlog *p = partlog_new("job", 100);
		partlog_add(p, 0, 0, 2000000000, &computes);
		partlog_add(p, 1, 3000000000, 4000000000 + unit[i], &computes);
		partlog_add(p, 2, 3000000000, 5000000000, &computes);
		partlog_finish(p, r, 0, NULL, NULL);
		r->label = mem_strdup("a"), r->hash = mem_strdup("h");
		close(mkstemp(path));
		struct store *s = store_open(path, NULL, &err);
		ok(!store_write(s, r, &err) && !store_read(s, "h", "a", &back, &err) && back && back->n_parts == 3 &&
				back->parts[1].end_ns == 4000000000 + unit[i] && back->parts[2].end_ns == 5000000000,
			"times in multiples of %lld ns", (long long)unit[i]);
		sqlite3_stmt *st;
		snprintf(want, sizeof want, "[%lld,", (long long)unit[i]);
		sqlite3_prepare_v2(s->db, "SELECT list FROM parts_lists", -1, &st, NULL);
		sqlite3_step(st);
		const char *list = (const char *)sqlite3_column_text(st, 0);
		ok(list && !strncmp(list, want, strlen(want)), "the list is %s", list);
		sqlite3_finalize(st);
		store_close(s, NULL);
		unlink(path);
		result_free(back);
		result_free(r);
	}
}

/* Copies of rows that are in r->parts, in logs or in both equal the rows that are formed later. */
static void copies(void)
{
	struct run_result *r = result_new();
	for (int log = 0; log < 4; log++) {
		struct partlog *p = partlog_new(log % 2 ? "node" : "job", 1000);
		for (uint32_t i = 0; i < 5 && log != 2; i++) {
			struct part a = behind(10 * (uint64_t)log + i, 8, i);
			partlog_add(p, 4 - i, i * minute, (i + 1) * minute, &a);
		}
		partlog_finish(p, r, 0, NULL, NULL);
		if (!log)
			part_rows_form(r);
	}
	struct part_row got[16][16][16] = { 0 };
	for (size_t i = 0; i <= 15; i++)
		for (size_t n = 0; i + n <= 15; n++)
			part_rows_copy(r, i, n, got[i][n]);
	part_rows_form(r);
	size_t wrong = 0;
	for (size_t i = 0; i <= 15; i++)
		for (size_t n = 0; i + n <= 15; n++)
			wrong += n && memcmp(got[i][n], r->parts + i, n * sizeof **got[i]) != 0;
	ok(r->n_parts == 15 && !r->n_logs && !wrong, "rows of three logs are copied, from all rows on (%zu wrong)", wrong);
	ok(r->parts[0].subject == 0 && r->parts[5].begin_ns == 4 * minute && !strcmp(r->parts[14].cause, "job 30") &&
			!strcmp(r->parts[14].entity, "node"),
		"in order of logs, then of subjects");
	result_free(r);
}

/* More rows than a block of the log, without and with a limit that drops rows. */
static void many_rows(void)
{
	for (int is_limited = 0; is_limited < 2; is_limited++) {
		struct run_result *r = result_new();
		struct partlog *p = partlog_new("job", is_limited ? 400000 : 1000000);
		for (uint32_t i = 0; i < 600000; i++)
			partlog_add(p, i / 2, i, i + 1 + i % 2,
				i % 2 ? &computes : &(struct part){ PART_HELD, "policy", PART_ALONE, NULL, { 0 } });
		partlog_finish(p, r, 0, NULL, NULL);
		part_rows_form(r);
		size_t wrong = 0, step = is_limited ? 4 : 2;
		for (size_t i = 0; i < r->n_parts; i++) {
			const struct part_row *row = &r->parts[i];
			wrong += row->subject != i / 2 * (step / 2) || row->begin_ns != (int64_t)(i / 2 * step + i % 2) ||
				 strcmp(row->kind, i % 2 ? "compute" : "held") != 0;
		}
		ok(r->n_parts == (is_limited ? 300000 : 600000) && !wrong, "%zu of 600,000 rows (%zu wrong)", r->n_parts, wrong);
		result_free(r);
	}
}

/* Parts that are not looked up: equal neighbours are one part, and equal parts have equal texts. */
static void rare(void)
{
	struct run_result *r = result_new();
	struct partlog *p = partlog_new("request", 1000);
	struct part a = behind(12, 64, 48), b = behind(12, 64, 47);
	uint32_t known = 0, again = 0, other = 0;
	partlog_add_rare(p, 1, 0, 10, &a, &known);
	partlog_add_rare(p, 1, 10, 20, &a, &again);
	partlog_add_rare(p, 1, 20, 30, &b, &other);
	partlog_add_rare(p, 2, 0, 5, &a, &known);
	partlog_add_rare(p, 2, 5, 5, &b, &again);
	for (uint32_t i = 0; i < 200; i++) { /* the table grows */
		struct part one = behind(i, i, i);
		partlog_add(p, 3, i, i + 1, &one);
	}
	partlog_add(p, 4, 0, 5, &a);
	partlog_add(p, 5, 0, 5, &b);
	partlog_finish(p, r, 300, NULL, NULL);
	part_rows_form(r);
	const struct part_row *x = r->parts;
	ok(r->n_parts == 205 && x[0].end_ns == 20 && x[1].end_ns == 30 && x[2].subject == 2 && x[2].end_ns == 5,
		"parts that are not looked up (%zu rows)", r->n_parts);
	ok(x[0].detail == x[2].detail && x[0].detail == x[203].detail && x[1].detail == x[204].detail && x[0].detail != x[1].detail,
		"have the texts of equal parts: %s, %s", x[0].detail, x[1].detail);
	result_free(r);
}

int main(void)
{
	rare();
	records();
	sentence();
	times();
	many_causes();
	limit();
	copies();
	many_rows();
	stored();
	lists();
	forms();
	characters();
	units();
	return done();
}
