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
	refused("", "x.csv:0: empty file; expected a header");
	refused("family,time_ms\n", "x.csv:1: unknown column \"time_ms\"; did you mean time_us");
	refused("family,op\n", "no column \"time_us\"");
	refused("family,time_us,time_us\n", "duplicate column \"time_us\"");
	refused("family,time_us\ngem,5\n", "x.csv:2: family: expected gemm, found \"gem\"");
	refused("family,time_us\ngemm,\n", "x.csv:2: time_us: expected a number from 1e-06 to 1e+12, found \"\"");
	refused("family,time_us\ngemm,-5\n", "found \"-5\"");
	refused("family,time_us\ngemm,nan\n", "found \"nan\"");
	refused("family,time_us\ngemm,5us\n", "found \"5us\"");
	refused("family,time_us\ngemm,5,6\n", "x.csv:2: expected 2 fields as in the header, found 3");
	refused("family,time_us\n\"gemm,5\n", "a quoted field without its closing quote");
	refused("family,time_us,flops\ngemm,5,1e30\n", "flops: expected a number from 0 to 1e+21");
	refused("family,time_us,precision\ngemm,5,fp31\n", "precision: expected fp32, tf32");
	refused("family,time_us,mode\ngemm,5,bursty\n", "mode: expected burst or sustained");
	refused("family,time_us,held_out\ngemm,5,yes\n", "held_out: expected 0 or 1");
	refused("family,time_us,low_us\ngemm,5,6\n", "low_us: expected an interval that contains time_us");
	refused("family,time_us,op\ngemm,5,a\tb\n", "op: expected at most 31 printable");
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
	check_truncated();
	return done();
}
