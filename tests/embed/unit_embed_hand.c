/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Embedding tables and codes small enough to compute by hand: shapes, files, heads, rounding, shared, hashed and product codes, errors, and
 * the model at its limits.
 */
#include "base/mem.h"
#include "base/param.h"
#include "embed/quality.h"
#include "tests/tap.h"

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct orr_error err;

static struct embed_table *read_text(const char *text)
{
	char path[] = "/tmp/orrery-embed-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		exit(1);
	fputs(text, f);
	fclose(f);
	err = (struct orr_error){ 0 };
	struct embed_table *t = embed_table_read(path, &err);
	remove(path);
	return t;
}

#define HEADER "field,feature,frequency,vector\n"

/* ---- shapes ---- */

static int shape_of(struct embed_shape *s, const char *const *pair)
{
	struct orr_args *a = args_new(embed_shape_params, "embeddings", &err);
	int rc = 0;
	for (; *pair && !rc; pair++)
		rc = args_set_pair(a, *pair, &err);
	rc = rc ? rc : embed_shape_read(s, a, &err);
	args_free(a);
	return rc;
}
#define SHAPE(s, ...) shape_of(s, (const char *const[]){ __VA_ARGS__, NULL })

static void shapes(void)
{
	struct embed_shape s;
	ok(!SHAPE(&s, "seed=1") && s.features == 100000 && s.fields == 10 && s.dim == 32 && s.zipf == 1.05 && s.clusters == 100 &&
			s.noise == 0.03 && s.seed == 1 && s.is_held,
		"defaults of a table");
	ok(!SHAPE(&s, "features=7", "fields=7", "dim=3", "zipf=2", "clusters=4", "noise=0.5", "seed=9", "hold=false") && s.features == 7 &&
			s.fields == 7 && s.dim == 3 && s.zipf == 2 && s.clusters == 4 && s.noise == 0.5 && s.seed == 9 && !s.is_held,
		"all options are read, and as many fields as features are accepted");
	ok(SHAPE(&s, "features=7", "fields=8") &&
			!strcmp(err.text, "embeddings: fields=8: expected at most one field per feature (features=7)"),
		"refused: %s", err.text);
	ok(!SHAPE(&s, "features=8000000000", "fields=2"), "four billion features per field");
	ok(SHAPE(&s, "features=8000000001", "fields=2") &&
			!strcmp(err.text, "embeddings: features=8000000001: expected at most 4000000000 per field, or more fields"),
		"refused: %s", err.text);
	static const char *const bad[] = { "features=0", "fields=0", "dim=0", "dim=4097", "zipf=-1", "zipf=11", "clusters=-1", "noise=-1" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(SHAPE(&s, bad[i]), "refused: %s", bad[i]);
}

static double variance(const float *x, size_t n)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++) {
		sum += (double)x[i];
		squares += (double)x[i] * (double)x[i];
	}
	return squares / (double)n - sum / (double)n * (sum / (double)n);
}

/* The variance of n normal draws is within four standard errors, 4 sqrt(2 / n). */
static void generated(void)
{
	enum { N = 4000, D = 4 };
	struct embed_shape s = { .features = 10, .fields = 3, .dim = 2, .clusters = 1, .noise = 0, .zipf = 0, .seed = 1, .is_held = true };
	struct embed_table *t = embed_table_generate(&s);
	ok(embed_fields(t) == 3 && embed_features(t) == 10 && embed_field_features(t, 0) == 4 && embed_field_features(t, 1) == 3 &&
			embed_field_features(t, 2) == 3,
		"ten features in three fields: 4, 3, 3");
	near_to(embed_frequencies(t, 0)[3], 0.25, 1e-15, "zipf=0: features are equally frequent");
	near_to(embed_cumulated(t, 2)[1], 2. / 3, 1e-15, "running sums of the frequencies");
	ok(embed_shape_of(t) && embed_shape_of(t)->features == 10 && !embed_feature_name(t, 0, 0), "a generated table knows its shape");
	near_to(embed_table_bytes(t), 80, 0, "4 bytes for each of 10 x 2 values");
	float v[2 * 8], row[3 * 8];
	embed_vectors(t, 0, 0, 4, 2, v);
	ok(!memcmp(v, v + 2, 8) && !memcmp(v, v + 6, 8), "one cluster without noise: all vectors of a field are equal");
	embed_vectors(t, 1, 0, 1, 2, v + 8);
	ok(memcmp(v, v + 8, 8) != 0, "another field has another cluster");
	row[2] = 77;
	embed_vectors(t, 0, 2, 2, 3, row);
	ok(row[0] == v[0] && row[1] == v[1] && row[2] == 77 && row[3] == v[0], "rows of another stride keep what is between them");
	uint32_t head = embed_head_by_mass(t, 0, 0.5);
	ok(head == 2 && embed_head_by_mass(t, 0, 0.51) == 3 && embed_head_by_mass(t, 0, 0.01) == 1 && embed_head_by_mass(t, 0, 0.99) == 4,
		"the head of a share of the frequencies (%u)", head);
	embed_table_free(t);
	s = (struct embed_shape){ .features = N, .fields = 1, .dim = D, .clusters = 0, .noise = 5, .zipf = 1, .seed = 1, .is_held = true };
	float *x = mem_alloc(N * D * sizeof *x), *y = mem_alloc(N * D * sizeof *y);
	t = embed_table_generate(&s);
	embed_vectors(t, 0, 0, N, D, x);
	ok(fabs(variance(x, N * D) - 1) < 4 * sqrt(2. / (N * D)), "without clusters values have variance 1, whatever the noise");
	near_to(embed_frequencies(t, 0)[1] / embed_frequencies(t, 0)[3], 2, 1e-12, "zipf=1: rank 2 is twice as frequent as rank 4");
	embed_table_free(t);
	s.clusters = 1;
	s.noise = 0.5;
	t = embed_table_generate(&s);
	embed_vectors(t, 0, 0, N, D, x);
	double within = 0;
	for (int j = 0; j < D; j++) {
		for (int i = 0; i < N; i++)
			y[i] = x[i * D + j];
		within += variance(y, N) / D;
	}
	ok(fabs(within / 0.25 - 1) < 4 * sqrt(2. / (N * D)), "noise=0.5 around a centre: variance 1/4 (%.4f)", within);
	embed_table_free(t);
	s.seed = 2;
	t = embed_table_generate(&s);
	embed_vectors(t, 0, 0, N, D, y);
	ok(y[0] != x[0], "another seed draws other vectors");
	embed_table_free(t);
	s.clusters = 5000;
	s.noise = 0;
	t = embed_table_generate(&s);
	embed_vectors(t, 0, 0, N, D, x);
	ok(fabs(variance(x, N * D) - 1) < 6 * sqrt(2. / (N * D)), "centres have variance 1");
	embed_table_free(t);
	mem_free(x);
	mem_free(y);
}

/* ---- files ---- */

static void refused(const char *text, const char *expected)
{
	struct embed_table *t = read_text(text);
	ok(!t && strstr(err.text, expected), "refused: %s", err.text);
	embed_table_free(t);
}

static void files(void)
{
	struct embed_table *t = read_text(HEADER "a,x,1,  1   2 \nb,x,5,3 4\na,y,1,5 6\na,z,0,7 8\nb,w,5,-1e29 1e29\na,v,2,9 10\n");
	float v[2];
	if (!ok(t != NULL, "fields in any order, blanks, a frequency of 0 (%s)", err.text))
		return;
	ok(embed_fields(t) == 2 && embed_features(t) == 6 && embed_field_features(t, 0) == 4 && embed_field_features(t, 1) == 2, "sizes");
	ok(!strcmp(embed_field_name(t, 0), "a") && !strcmp(embed_field_name(t, 1), "b"), "fields are in the order of the file");
	ok(!strcmp(embed_feature_name(t, 0, 0), "v") && !strcmp(embed_feature_name(t, 0, 1), "x") &&
			!strcmp(embed_feature_name(t, 0, 2), "y") && !strcmp(embed_feature_name(t, 0, 3), "z") &&
			!strcmp(embed_feature_name(t, 1, 0), "x") && !strcmp(embed_feature_name(t, 1, 1), "w"),
		"features by frequency; of equal ones, the first of the file");
	near_to(embed_frequencies(t, 0)[0], 0.5, 1e-15, "frequencies are shares");
	near_to(embed_cumulated(t, 0)[2], 1, 1e-15, "the running sums of the frequencies");
	near_to(embed_frequencies(t, 0)[3], 0, 0, "0 stays 0");
	embed_vectors(t, 0, 2, 1, 2, v);
	ok(v[0] == 5 && v[1] == 6, "vectors follow their features");
	embed_vectors(t, 1, 1, 1, 2, v);
	ok(v[0] == -1e29f && v[1] == 1e29f, "large values");
	ok(!embed_shape_of(t), "a file has no shape");
	embed_table_free(t);
	t = embed_table_read("/nonexistent/embed.csv", &err);
	ok(!t && strstr(err.text, "/nonexistent/embed.csv: ") && !strstr(err.text, "no rows"), "refused: %s", err.text);
	refused(HEADER, "no rows: expected one row per feature");
	refused(HEADER "a,x,1,1e30\n", ":2: vector: expected numbers from -1e30 to 1e30, separated by blanks");
	refused(HEADER "a,x,1,-1e30\n", ":2: vector: expected numbers");
	refused(HEADER "a,x,1,1 2\na,y,1,1 2 3\n", ":3: vector: expected 2 numbers from -1e30 to 1e30, as in the first row");
	refused(HEADER ",x,1,1\n", ":2: field: expected a name");
	refused(HEADER "a,,1,1\n", ":2: feature: expected a name");
	refused(HEADER "a,x,1e31,1\n", ":2: frequency: expected");
	refused(HEADER "a,x,1,\n", "vector");
	refused(HEADER "a,x,1,1\nb,y,0,1\n", "all frequencies of field \"b\" are 0: expected one above 0");
	refused(HEADER "b,x,1,1\na,x,1,1\nb,x,2,1\n", "feature \"x\" of field \"b\" has two rows: expected one");
}

/* ---- codes ---- */

static struct embed_code *compress(const struct embed_table *t, struct embed_options o)
{
	err = (struct orr_error){ 0 };
	return embed_compress(t, &o, &err);
}

/* Returns a table of one field with n equally frequent features of dimension 1, at 0, 10, 20, .. */
static struct embed_table *line(uint32_t n)
{
	char *text = mem_alloc(40u * n + 64), *at = text;
	at += sprintf(at, HEADER);
	for (uint32_t i = 0; i < n; i++)
		at += sprintf(at, "f,n%u,1,%u\n", i, 10 * i);
	struct embed_table *t = read_text(text);
	mem_free(text);
	return t;
}

/* Returns a table of n features whose values are 0 and 100, each `turn` times in a row. */
static struct embed_table *two_values(uint32_t n, uint32_t turn)
{
	char *text = mem_alloc(40u * n + 64), *at = text;
	at += sprintf(at, HEADER);
	for (uint32_t i = 0; i < n; i++)
		at += sprintf(at, "f,n%u,1,%u\n", i, i / turn % 2 ? 100 : 0);
	struct embed_table *t = read_text(text);
	mem_free(text);
	return t;
}

static void heads(void)
{
	struct embed_table *t = line(10);
	static const struct {
		double reduction, share, mass;
		uint32_t k, head;
	} known[] = {
		{ 3, 1, NAN, 4, 10 },    /* k = ceil(10 / 3) */
		{ 2.5, 0.5, NAN, 4, 5 }, /* the quotient 10 / 2.5 is whole */
		{ 20, 0.3, NAN, 1, 3 },  /* k is at least one vector */
		{ 1e12, 1, NAN, 1, 10 }, /* even if 10 / 1e12 is 0 within rounding */
		{ 1, 1, NAN, 10, 10 },   /* k is one vector per feature */
		{ 2, 0.1, NAN, 5, 5 },   /* the head has at least k features */
		{ 5, 0.21, NAN, 2, 3 },  /* ceil */
		{ 5, 0.1, 0.55, 2, 6 },  /* the head is chosen by mass: 6 of 10 equally frequent features */
		{ 5, 0.1, 1, 2, 10 },    /* all */
		{ 5, 0.1, 0.01, 2, 2 },  /* the head has at least k features */
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct embed_code *c = compress(t, (struct embed_options){ .method = EMBED_SHARED,
							   .reduction = known[i].reduction,
							   .head_share = known[i].share,
							   .head_mass = known[i].mass,
							   .iterations = 3,
							   .id_bytes = 2,
							   .seed = 1 });
		uint32_t k, stride;
		const uint32_t *map = embed_code_map(c, 0);
		bool is_mapped = embed_code_book(c, 0, &k, &stride) && k == known[i].k;
		for (int f = 0; f < 10; f++)
			is_mapped = is_mapped && map[f] < k;
		ok(embed_code_vectors(c) == known[i].k && embed_code_head(c) == known[i].head && is_mapped,
			"reduction %g, head_share %g, head_mass %g: %u vectors of %u features", known[i].reduction, known[i].share,
			known[i].mass, known[i].k, known[i].head);
		near_to(embed_code_bytes(c), known[i].k * 4 + 10 * 2, 0, "4 bytes per value and 2 per id");
		struct embed_work w = embed_code_work(c);
		ok(w.cluster == 3u * known[i].head * known[i].k && w.last_pass == (known[i].head < 10 ? 10u * known[i].k : 0),
			"multiply-adds: I M K d, and N K d if a tail is left");
		embed_code_free(c);
	}
	embed_table_free(t);
}

static struct embed_error error_of(const struct embed_table *t, struct embed_options o)
{
	struct embed_code *c = compress(t, o);
	struct embed_error e = embed_error(t, c);
	embed_code_free(c);
	return e;
}

static void shared(void)
{
	/* Three positions have two features each; the last two features are the tail. */
	struct embed_table *t = read_text(HEADER "f,a,9,0 0\nf,b,8,8 8\nf,c,7,0 4\nf,d,6,0 0\nf,e,5,8 8\nf,g,4,0 4\nf,h,1,0 1\n");
	struct embed_options o = { .method = EMBED_SHARED,
		.reduction = 7. / 3,
		.head_share = 5. / 7,
		.head_mass = NAN,
		.iterations = 4,
		.id_bytes = 4,
		.seed = 2 };
	struct embed_code *c = compress(t, o);
	const uint32_t *map = embed_code_map(c, 0);
	ok(map[0] == map[3] && map[1] == map[4] && map[2] == map[5] && map[0] != map[1] && map[0] != map[2] && map[1] != map[2],
		"equal vectors share one, also in the tail");
	ok(map[6] == map[0], "a tail vector takes the nearest");
	struct embed_error e = embed_error(t, c);
	near_to(e.plain, 0.5 / 7, 1e-12, "the error of the one that is 1 off in one of two values, over 7 features");
	near_to(e.weighted, 0.5 / 40, 1e-12, "weighted by its frequency of 1/40");
	float y[2] = { 9, 9 };
	embed_decode(c, 0, 6, 1, 2, y);
	ok(y[0] == 0 && y[1] == 0, "decoding gives the shared vector");
	embed_code_free(c);
	embed_table_free(t);
	/* Two features in one cluster: the mean of 0 and 4, or with frequencies 3 and 1 the weighted mean. */
	t = read_text(HEADER "f,a,3,0\nf,b,1,4\ng,a,1,7\n");
	o = (struct embed_options){
		.method = EMBED_SHARED, .reduction = 2, .head_share = 1, .head_mass = NAN, .iterations = 1, .id_bytes = 4, .seed = 2
	};
	e = error_of(t, o);
	near_to(e.plain, (4 + 4 + 0) / 3., 1e-12, "the mean of both is 2 off");
	near_to(e.weighted, (4 + 0) / 2., 1e-12, "the weighted error is a mean over fields");
	o.is_weighted = true;
	e = error_of(t, o);
	near_to(e.plain, (1 + 9 + 0) / 3., 1e-12, "the weighted mean is 1: 1 and 3 off");
	near_to(e.weighted, (0.75 * 1 + 0.25 * 9) / 2, 1e-12, "weights reduce the weighted error");
	o = (struct embed_options){ .method = EMBED_HASHED, .reduction = 2 };
	e = error_of(t, o);
	near_to(e.plain, (1 + 9 + 0) / 3., 1e-12, "a hashed vector is the weighted mean of its features");
	embed_table_free(t);
	/* One vector for both: (0, 8) 3/4 + (4, 0) 1/4 = (1, 6). It is (1 + 4) / 2 off the first and (9 + 36) / 2 off the second. */
	t = read_text(HEADER "f,a,3,0 8\nf,b,1,4 0\n");
	c = compress(t, o);
	e = embed_error(t, c);
	near_to(e.plain, (2.5 + 22.5) / 2, 1e-12, "the mean of vectors of two values");
	near_to(e.weighted, 0.75 * 2.5 + 0.25 * 22.5, 1e-12, "and its weighted error");
	near_to(embed_code_bytes(c), 2 * 4, 0, "a hashed code stores 4 bytes per value of its vectors");
	embed_decode(c, 0, 1, 1, 2, y);
	ok(y[0] == 1 && y[1] == 6, "decoding gives the mean");
	embed_code_free(c);
	embed_table_free(t);
	/* More features than one pass reads. The vector 0 is shared by the first 4200 features, 100 by the other 800; or by turns. */
	for (int turns = 0; turns < 2; turns++) {
		t = two_values(5000, turns ? 1 : 4200);
		o = (struct embed_options){ .method = EMBED_SHARED,
			.reduction = 2500,
			.head_share = turns ? 0.5 : 1,
			.head_mass = NAN,
			.iterations = 2,
			.id_bytes = 4,
			.seed = 1 };
		e = error_of(t, o);
		ok(e.plain == 0 && e.weighted == 0, "5000 features, %s: each has its value",
			turns ? "half of them in the head" : "all in the head");
		embed_table_free(t);
	}
	t = line(300);
	o = (struct embed_options){
		.method = EMBED_SHARED, .reduction = 300. / 257, .head_share = 1, .head_mass = NAN, .iterations = 1, .id_bytes = 1
	};
	ok(!compress(t, o) &&
			strstr(err.text, "id_bytes=1: field 0 has 257 vectors: expected at most 256, or a larger id_bytes or reduction"),
		"refused: %s", err.text);
	o.reduction = 300. / 256;
	c = compress(t, o);
	ok(c && embed_code_vectors(c) == 256, "a byte numbers 256 vectors");
	embed_code_free(c);
	o.reduction = 1;
	o.id_bytes = 2;
	c = compress(t, o);
	ok(c && embed_code_vectors(c) == 300, "two bytes number more");
	embed_code_free(c);
	embed_table_free(t);
}

/* Every part has as many words as features, so decoding is exact. */
static void products(void)
{
	struct embed_table *t = read_text(HEADER "f,a,1,1 2 3 4\nf,b,1,5 6 7 8\nf,c,1,1 2 7 8\ng,a,1,-1 -2 -3 -4\n");
	for (uint32_t parts = 1; parts <= 4; parts *= 2) {
		struct embed_options o = { .method = EMBED_PRODUCT, .parts = parts, .iterations = 2, .reduction = 1, .seed = 5 };
		struct embed_error e = error_of(t, o);
		ok(e.plain == 0 && e.weighted == 0, "product code of %u parts: a word per feature loses nothing", parts);
	}
	struct embed_code *c = compress(t, (struct embed_options){ .method = EMBED_PRODUCT, .parts = 2, .iterations = 2, .reduction = 1 });
	near_to(embed_code_bytes(c), 4 * 2 + 2 * 1024 * 4, 0, "a byte per part and feature, 1024 d per field");
	ok(!embed_code_map(c, 0), "a product code has no map");
	embed_code_free(c);
	embed_table_free(t);
	t = line(300);
	c = compress(t, (struct embed_options){ .method = EMBED_PRODUCT, .parts = 1, .iterations = 2, .reduction = 1 });
	ok(embed_code_vectors(c) == 256, "more features than words share 256");
	struct embed_error e = embed_error(t, c);
	/* With 300 features, at least 44 share a code word with a neighbour at a distance of 10. */
	ok(e.plain > 0 && e.plain < 100, "with an error below the distance of neighbours (%.3g)", e.plain);
	embed_code_free(c);
	ok(!compress(t, (struct embed_options){ .method = EMBED_PRODUCT, .parts = 0, .iterations = 2 }) && strstr(err.text, "parts=0"),
		"refused: %s", err.text);
	embed_table_free(t);
}

/* Tests half precision of IEEE 754: 11 bits, ties to even, subnormal steps of 2^-24, a largest value of 65504. */
static void halves(void)
{
	static const struct {
		float x, half;
	} known[] = { { 1, 1 }, { -1.5f, -1.5f }, { 1 + 0x1p-10f, 1 + 0x1p-10f }, { 1 + 0x1p-11f, 1 }, { 1 + 0x1.8p-10f, 1 + 0x1p-9f },
		{ 1 + 0x1.2p-11f, 1 + 0x1p-10f }, { 2049, 2048 }, { 2051, 2052 }, { 65504, 65504 }, { 65503, 65504 }, { 1e9f, 65504 },
		{ -70000, -65504 }, { 0x1p-14f, 0x1p-14f }, { 0x1p-24f, 0x1p-24f }, { 0x1p-25f, 0 }, { 0x1.8p-24f, 0x1p-23f },
		{ 0x1.8p-25f, 0x1p-24f }, { 0, 0 }, { 0x1.004p-14f, 0x1.004p-14f }, { 0x1.001p-14f, 0x1p-14f } };
	struct embed_table *t = line(2);
	struct embed_code *c = compress(t, (struct embed_options){ .method = EMBED_ROUNDED, .bits = 16, .reduction = 1 });
	bool all = true;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		float v = known[i].x;
		embed_decode(c, 0, 0, 1, 1, &v);
		if (v != known[i].half)
			printf("# %a becomes %a, expected %a\n", (double)known[i].x, (double)v, (double)known[i].half);
		all = all && v == known[i].half;
	}
	ok(all, "half precision of known numbers");
	near_to(embed_code_bytes(c), 2 * 2, 0, "two bytes per value");
	ok(embed_code_vectors(c) == 2, "every vector is stored");
	embed_code_free(c);
	embed_table_free(t);
	/* Codes of 8 bits have steps of max / 127. */
	t = read_text(HEADER "f,a,3,127 50.25\nf,b,1,0 0\n");
	struct embed_error e = error_of(t, (struct embed_options){ .method = EMBED_ROUNDED, .bits = 8, .reduction = 1 });
	near_to(e.plain, 0.0625 / 2 / 2, 1e-12, "127 sets a step of 1: 50.25 is 1/4 off; zeros stay");
	near_to(e.weighted, 0.75 * 0.0625 / 2, 1e-12, "weighted by the frequency of 3/4");
	embed_table_free(t);
	t = read_text(HEADER "f,a,1,-254 3 5.5\n");
	c = compress(t, (struct embed_options){ .method = EMBED_ROUNDED, .bits = 8, .reduction = 1 });
	float v[3];
	embed_vectors(t, 0, 0, 1, 3, v);
	embed_decode(c, 0, 0, 1, 3, v);
	ok(v[0] == -254 && v[1] == 4 && v[2] == 6, "254 sets a step of 2: ties to even multiples");
	near_to(embed_code_bytes(c), 3 + 4, 0, "a byte per value and a scale");
	embed_code_free(c);
	embed_table_free(t);
}

static uint32_t told[8], n_told;

static void tell(void *ctx, uint32_t done, uint32_t fields)
{
	if (n_told < 8 && fields == 3 && ctx == told)
		told[n_told++] = done;
}

static void progress(void)
{
	struct embed_shape s = {
		.features = 30, .fields = 3, .dim = 2, .clusters = 2, .noise = 0.1, .zipf = 1, .seed = 1, .is_held = true
	};
	struct embed_table *t = embed_table_generate(&s);
	volatile sig_atomic_t is_stopped = 0;
	struct embed_options o = { .method = EMBED_SHARED,
		.reduction = 5,
		.head_share = 1,
		.head_mass = NAN,
		.iterations = 2,
		.id_bytes = 4,
		.is_stopped = &is_stopped,
		.progress = tell,
		.ctx = told };
	struct embed_code *c = compress(t, o);
	ok(c && n_told == 3 && told[0] == 1 && told[1] == 2 && told[2] == 3, "progress after each field");
	embed_code_free(c);
	is_stopped = 1;
	ok(!compress(t, o) && err.code == ORR_EFAIL && !strcmp(err.text, "interrupted before all fields were compressed"), "%s", err.text);
	o.method = EMBED_PRODUCT;
	o.parts = 2;
	ok(!compress(t, o) && err.code == ORR_EFAIL, "a product code stops too");
	embed_table_free(t);
}

/* ---- the model ---- */

static struct embed_accuracy tested(const struct embed_table *t, struct embed_task task, struct embed_code *c)
{
	struct embed_model *m = embed_model_train(t, &task);
	struct embed_accuracy a = embed_model_test(m, c);
	embed_model_free(m);
	embed_code_free(c);
	return a;
}

static void accuracy(void)
{
	struct embed_shape s = {
		.features = 400, .fields = 2, .dim = 4, .clusters = 0, .noise = 1, .zipf = 0.5, .seed = 3, .is_held = true
	};
	struct embed_task task = { .train = 4000, .test = 4000, .epochs = 0, .batch = 32, .rate = 0.1, .gain = 2, .seed = 1 };
	struct embed_table *t = embed_table_generate(&s);
	struct embed_accuracy a = tested(t, task, NULL);
	near_to(a.auc, 0.5, 0, "an untrained model gives all samples one score: AUC 1/2 exactly");
	near_to(a.log_loss, log(2), 1e-12, "the log loss is ln 2");
	task.epochs = 5;
	task.gain = 1e6; /* labels are the sign of the product */
	a = tested(t, task, NULL);
	ok(a.auc > 0.99 && a.log_loss < 0.25, "labels without doubt are learned (AUC %.4f, log loss %.3f)", a.auc, a.log_loss);
	struct embed_options one = { .method = EMBED_HASHED, .reduction = 200 };
	a = tested(t, task, compress(t, one));
	near_to(a.auc, 0.5, 0, "one vector for all features of a field: AUC 1/2");
	task.rate = 0;
	a = tested(t, task, NULL);
	near_to(a.log_loss, log(2), 1e-12, "a rate of 0 learns nothing");
	embed_table_free(t);
	/* Two equally frequent features, 1 and -1, have the scores gain and -gain in standard deviations, whatever the hidden weight, so
	 * their labels are 1 with probability p = 1 / (1 + e^-2) and 1 - p. The area of a model that orders them is p^2 + p (1 - p) = p. */
	t = read_text(HEADER "f,a,1,1\nf,b,1,-1\n");
	for (uint64_t seed = 1; seed <= 3; seed++) {
		task = (struct embed_task){ .train = 4000, .test = 4000, .epochs = 1, .batch = 32, .rate = 0.1, .gain = 2, .seed = seed };
		a = tested(t, task, NULL);
		ok(fabs(a.auc - 1 / (1 + exp(-2))) < 0.025, "labels by a gain of 2 standard deviations, seed %d (%.4f)", (int)seed, a.auc);
	}
	embed_table_free(t);
	/* All scores are equal with one feature, so half of the labels are 1. One step of SGD on a sample with x = (1, 2) gives z =
	 * rate (label - 1/2)(1 + 4 + 1). The test labels agree with that sample in half of all cases. So the loss is the mean of
	 * log(1 + e^-z) and log(1 + e^z), within four standard errors of that share. */
	t = read_text(HEADER "f,a,1,1 2\n");
	task = (struct embed_task){ .train = 1, .test = 10000, .epochs = 1, .batch = 32, .rate = 1, .gain = 5, .seed = 1 };
	a = tested(t, task, NULL);
	double want = (log1p(exp(-3)) + log1p(exp(3))) / 2;
	ok(fabs(a.log_loss - want) < 3 * 4 * 0.5 / 100 && a.auc == 0.5, "one step of SGD by hand (%.4f, %.4f)", a.log_loss, want);
	task.train = 2; /* Both samples are in one batch. The step is the mean of their slopes, so z is 0 or +-3. */
	a = tested(t, task, NULL);
	ok(fabs(a.log_loss - want) < 0.06 || fabs(a.log_loss - log(2)) < 1e-12, "a batch takes the mean of its samples (%.4f)", a.log_loss);
	embed_table_free(t);
}

int main(void)
{
	shapes();
	generated();
	files();
	heads();
	shared();
	products();
	halves();
	progress();
	accuracy();
	return done();
}
