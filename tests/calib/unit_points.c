/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_points.c - points survive a round trip through CSV, and errors name file, line and column */
#include "calib/points.h"

#include "tests/tap.h"

#include <stdlib.h>

static const char good[] = "family,op,precision,variant,flops,bytes,d0,d1,d2,time_us,low_us,high_us,n,cv,mode,cache,held_out\n"
			   "gemm,,fp32,\"n,n\",2e9,3e6,1000,1000,1000,250.5,249,252,20,0.01,sustained,cold,1\n"
			   "\n"
			   "memory,copy,fp32,,,1e6,,,,5,,,,,,,\r\n";

static int parse(const char *text, struct points *p, struct orr_error *err)
{
	return points_parse("x.csv", text, strlen(text), p, err);
}

static void check_good(void)
{
	struct orr_error err = { 0 };
	struct points p, q;
	ok(!parse(good, &p, &err) && p.n == 2, "two points%s%s", *err.text ? ": " : "", err.text);
	const struct point *x = &p.v[0];
	ok(!strcmp(x->variant, "n,n") && x->flops == 2e9 && x->d[2] == 1000 && fabs(x->time_s - 250.5e-6) < 1e-15 && x->n == 20 &&
			x->is_sustained && x->is_cold && x->is_held_out,
		"quotes, units, choices");
	ok(isnan(p.v[1].low_s) && isnan(p.v[1].cv) && !p.v[1].is_cold && p.v[1].flops == 0, "empty fields are unknown, or 0");
	char *text = NULL, *again = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	points_write(&p, f, &err);
	fclose(f);
	ok(!points_parse("x.csv", text, n, &q, &err) && q.n == 2, "the written file is read%s%s", *err.text ? ": " : "", err.text);
	f = open_memstream(&again, &n);
	points_write(&q, f, &err);
	fclose(f);
	same_text(again, text, "the file read is written with the same bytes");
	free(text);
	free(again);
	points_free(&p);
	points_free(&q);
}

static void refused(const char *text, const char *says)
{
	struct orr_error err = { 0 };
	struct points p;
	int rc = parse(text, &p, &err);
	if (rc != ORR_EINPUT || !strstr(err.text, says))
		printf("# said: %s\n", err.text);
	ok(rc == ORR_EINPUT && strstr(err.text, says) && p.n == 0, "%s", says);
	points_free(&p);
}

static void check_refusals(void)
{
	refused("", "x.csv:0: empty file: expected a header");
	refused("family,time_ms\n", "x.csv:1: unknown column \"time_ms\": did you mean \"time_us\"?");
	refused("family,op\n", "expected a column \"time_us\"");
	refused("family,time_us,time_us\n", "duplicate column \"time_us\"");
	refused("family,time_us\ngem,5\n", "x.csv:2: family: expected gemm, found \"gem\"");
	refused("family,time_us\ngemm,\n", "x.csv:2: time_us: expected a number from 1e-06 to 1e+12, found \"\"");
	refused("family,time_us\ngemm,-5\n", "found \"-5\"");
	refused("family,time_us\ngemm,nan\n", "found \"nan\"");
	refused("family,time_us\ngemm,5us\n", "found \"5us\"");
	refused("family,time_us\ngemm,5,6\n", "x.csv:2: expected 2 fields as in the header, found 3");
	refused("family,time_us\n\"gemm,5\n", "a quoted field does not end: expected a closing quote");
	refused("family,time_us,flops\ngemm,5,1e30\n", "flops: expected a number from 0 to 1e+21");
	refused("family,time_us,precision\ngemm,5,fp31\n", "precision: expected fp32, tf32");
	refused("family,time_us,mode\ngemm,5,bursty\n", "mode: expected burst or sustained");
	refused("family,time_us,held_out\ngemm,5,yes\n", "held_out: expected 0 or 1");
	refused("family,time_us,low_us\ngemm,5,6\n", "low_us: expected an interval that contains time_us");
	refused("family,time_us,op\ngemm,5,a\tb\n", "op: expected at most 31 printable");
}

/* ---- every column: its field, its unit, its limits ---- */

static const char header[] =
	"family,op,precision,variant,group,flops,bytes,size,d0,d1,d2,d3,d4,d5,ranks,nodes,time_us,low_us,high_us,n,cv,mode,"
	"cache,held_out\n";

static void check_columns(void)
{
	static const char row[] = "conv,forward,tf32,3x3,\"a, group\",1,2,3,4,5,6,7,8,9,10,11,12,11.5,12.5,13,0.25,burst,cold,1\n";
	static const char bare[] = "launch,,,,,,,,,,,,,,,,5,,,0,,sustained,warm,0\n";
	struct orr_error err = { 0 };
	struct points p;
	char all[1000];
	snprintf(all, sizeof all, "%s%s%s", header, row, bare);
	ok(!parse(all, &p, &err) && p.n == 2, "all columns%s%s", *err.text ? ": " : "", err.text);
	const struct point *x = &p.v[0], *y = &p.v[1];
	ok(!strcmp(x->family, "conv") && !strcmp(x->op, "forward") && !strcmp(x->precision, "tf32") && !strcmp(x->variant, "3x3") &&
			!strcmp(x->group, "a, group"),
		"texts");
	ok(x->flops == 1 && x->bytes == 2 && x->size == 3 && x->d[0] == 4 && x->d[1] == 5 && x->d[2] == 6 && x->d[3] == 7 && x->d[4] == 8 &&
			x->d[5] == 9 && x->ranks == 10 && x->nodes == 11,
		"numbers");
	near_to(1e6 * x->time_s, 12, 1e-12, "time");
	near_to(1e6 * x->low_s, 11.5, 1e-12, "the low end of its interval");
	near_to(1e6 * x->high_s, 12.5, 1e-12, "the high end");
	ok(x->n == 13 && x->cv == 0.25 && !x->is_sustained && x->is_cold && x->is_held_out, "batches, spread and words");
	ok(!y->n && y->is_sustained && !y->is_cold && !y->is_held_out && isnan(y->low_s) && isnan(y->high_s) && isnan(y->cv) &&
			y->d[0] == 0,
		"empty fields");
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	ok(!points_write(&p, f, &err), "written");
	fclose(f);
	same_text(text, all, "the field is written as read");
	free(text);
	points_free(&p);
}

static const struct {
	const char *name;
	double high;
	const char *most, *more; /* most: the largest accepted value; more: a value just above */
} limits[] = { { "flops", 1e21, "1e21", "1.001e21" }, { "bytes", 1e18, "1e18", "1.001e18" }, { "size", 1e18, "1e18", "1.001e18" },
	{ "d0", 1e12, "1e12", "1.001e12" }, { "d1", 1e12, "1e12", "1.001e12" }, { "d2", 1e12, "1e12", "1.001e12" },
	{ "d3", 1e12, "1e12", "1.001e12" }, { "d4", 1e12, "1e12", "1.001e12" }, { "d5", 1e12, "1e12", "1.001e12" },
	{ "ranks", 1e6, "1e6", "1000001" }, { "nodes", 1e6, "1e6", "1000001" }, { "high_us", 1e12, "1e12", "1.001e12" },
	{ "cv", 1e3, "1000", "1001" }, { "n", 4e9, "4e9", "4000000001" } };

static void check_limits(void)
{
	char text[300], want[200];
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct orr_error err = { 0 };
		struct points p;
		snprintf(text, sizeof text, "family,time_us,%s\ngemm,5,%s\n", limits[i].name, limits[i].most);
		ok(!parse(text, &p, &err) && p.n == 1, "%s: %s is accepted", limits[i].name, limits[i].most);
		points_free(&p);
		snprintf(text, sizeof text, "family,time_us,%s\ngemm,5,%s\n", limits[i].name, limits[i].more);
		snprintf(want, sizeof want, "x.csv:2: %s: expected a number from 0 to %g, found \"%s\"", limits[i].name, limits[i].high,
			limits[i].more);
		refused(text, want);
		snprintf(text, sizeof text, "family,time_us,%s\ngemm,5,-1\n", limits[i].name);
		snprintf(want, sizeof want, "x.csv:2: %s: expected a number from 0 to %g, found \"-1\"", limits[i].name, limits[i].high);
		refused(text, want);
	}
	refused("family,time_us\ngemm,1.1e12\n", "x.csv:2: time_us: expected a number from 1e-06 to 1e+12, found \"1.1e12\"");
	refused("family,time_us\ngemm,0.9e-6\n", "x.csv:2: time_us: expected a number from 1e-06 to 1e+12, found \"0.9e-6\"");
	refused("family,time_us,high_us\ngemm,5,4.9\n", "x.csv:2: high_us: expected an interval that contains time_us, found \"4.9\"");
	refused("family,time_us,cache\ngemm,5,hot\n", "x.csv:2: cache: expected warm or cold, found \"hot\"");
	refused("family,time_us,variant\ngemm,5,a\"b\n", "x.csv:2: variant: expected at most 63 printable ASCII characters");
	refused("family,time_us,op\ngemm,5,a\\b\n", "x.csv:2: op: expected at most 31 printable ASCII characters");
	refused("family,time_us\n\n\ngemm,5\nqqqqqqqqqqqqqq,5\n",
		"x.csv:5: family: expected launch, gemm, conv, memory, gather, update, attention, copy, collective, interference, ..");
	refused("family,time_us,op\ngemm,5,\"a\"b\n", "x.csv:2: a quoted field does not end: expected a closing quote");
	struct orr_error err = { 0 };
	struct points p;
	for (int n = 31; n <= 64; n += n == 32 ? 31 : 1) {
		char name[80];
		memset(name, 'a', (size_t)n);
		name[n] = '\0';
		snprintf(text, sizeof text, "family,time_us,op\ngemm,5,%s\n", n < 63 ? name : "x");
		ok(!parse(text, &p, &err) == (n != 32), "an op of %d characters", n < 63 ? n : 1);
		points_free(&p);
		snprintf(text, sizeof text, "family,time_us,group\ngemm,5,%s\n", name);
		ok(!parse(text, &p, &err) == (n != 64), "a group of %d", n);
		points_free(&p);
	}
	ok(points_parse("x.csv", "family,time_us\ngemm\0,5\n", 23, &p, &err) && strstr(err.text, "x.csv:2: NUL byte: expected a text file"),
		"a zero byte");
	/* A line may have at most 64 fields. */
	char wide[200] = "family,time_us";
	for (int i = 0; i < 62; i++)
		strcat(wide, ",");
	refused(wide, "x.csv:1: duplicate column \"\"");
	strcat(wide, ",");
	refused(wide, "x.csv:1: too many fields: expected at most 64");
	ok(!points_parse("x.csv",
		   "\xef\xbb\xbf"
		   "family,time_us\r\ngemm,5\r\n",
		   27, &p, &err) &&
			p.n == 1,
		"a mark of byte order and other ends of lines");
	points_free(&p);
}

/* Every prefix gives points or a named error. */
static void check_truncated(void)
{
	size_t wrong = 0;
	for (size_t i = 0; i < strlen(good); i++) {
		struct orr_error err = { 0 };
		struct points p;
		int rc = points_parse("x.csv", good, i, &p, &err);
		wrong += rc ? strncmp(err.text, "x.csv:", 6) != 0 || p.n != 0 : p.n > 2;
		points_free(&p);
	}
	ok(wrong == 0, "a file truncated at any byte is read, or refused with an error that names it");
}

int main(void)
{
	check_good();
	check_refusals();
	check_columns();
	check_limits();
	check_truncated();
	return done();
}
