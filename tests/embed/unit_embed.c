/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Embedding tables, their codes, errors and the accuracy of a model that reads them. */
#include "base/mem.h"
#include "embed/quality.h"
#include "tests/tap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const struct embed_shape base = {
	.features = 20000, .fields = 2, .dim = 16, .clusters = 100, .zipf = 1.05, .noise = 0.03, .seed = 7, .is_held = true
};
static const struct embed_options saec = {
	.method = EMBED_SHARED, .reduction = 100, .head_share = 0.08, .head_mass = NAN, .iterations = 20, .id_bytes = 4, .seed = 3
};

/* ---- tables ---- */

static void generated(void)
{
	struct embed_shape s = base;
	s.features = 20001;
	struct embed_table *held = embed_table_generate(&s), *drawn;
	s.is_held = false;
	drawn = embed_table_generate(&s);
	ok(embed_field_features(held, 0) == 10001 && embed_field_features(held, 1) == 10000,
		"the first field has the feature that remains after the division");
	float a[16 * 5], b[16 * 5];
	embed_vectors(held, 1, 4321, 5, 16, a);
	embed_vectors(drawn, 1, 4321, 5, 16, b);
	ok(!memcmp(a, b, sizeof a), "vectors that are drawn again equal those held in memory");
	const double *q = embed_frequencies(held, 1), *sum = embed_cumulated(held, 1);
	near_to(q[9] / q[0], pow(10, -1.05), 1e-12, "frequencies are proportional to rank^-1.05");
	near_to(sum[9999], 1, 1e-12, "frequencies sum to 1");
	uint32_t head = embed_head_by_mass(held, 1, 0.5);
	ok(sum[head - 1] >= 0.5 && sum[head - 2] < 0.5, "the head of half the frequencies is the smallest (%u features)", head);
	/* A vector is a centre plus noise of 0.03, so two vectors are near if they share one of the 100 clusters, and far otherwise. */
	uint32_t near = 0, far = 0, between = 0;
	float x[16 * 200];
	embed_vectors(held, 0, 0, 200, 16, x);
	for (int i = 0; i < 200; i++)
		for (int k = 0; k < i; k++) {
			double d = 0;
			for (int j = 0; j < 16; j++)
				d += pow((double)x[i * 16 + j] - x[k * 16 + j], 2);
			d<16 * 4 * 2 * 0.0009 ? near++ : d> 2 ? far++ : between++;
		}
	ok(!between && fabs(near / 19900.0 - 0.01) < 0.005, "about 1 in 100 pairs of vectors shares one of 100 clusters (%u of 19900)",
		near);
	(void)far;
	embed_table_free(held);
	embed_table_free(drawn);
}

static struct embed_table *read_text(const char *text, struct orr_error *err)
{
	char path[] = "/tmp/orrery-embed-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	fputs(text, f);
	fclose(f);
	struct embed_table *t = embed_table_read(path, err);
	remove(path);
	return t;
}

static void file(void)
{
	struct orr_error err = { 0 };
	struct embed_table *t = read_text("field,feature,frequency,vector\nb,x,1,1 2\na,y,3,3 4\nb,z,3,5 -6e0\n", &err);
	float v[2];
	ok(t && embed_fields(t) == 2 && embed_dim(t) == 2 && embed_features(t) == 3, "a file of two fields is read");
	ok(t && !strcmp(embed_field_name(t, 0), "b") && !strcmp(embed_feature_name(t, 0, 0), "z"), "features are in order of frequency");
	embed_vectors(t, 0, 0, 1, 2, v);
	ok(v[0] == 5 && v[1] == -6, "the vector of the most frequent feature");
	near_to(embed_frequencies(t, 0)[0], 0.75, 1e-15, "frequencies are divided by their sum");
	embed_table_free(t);
	static const struct {
		const char *text, *expected;
	} bad[] = {
		{ "field,feature,frequency,vector\na,x,1,1 2\na,y,1,1\n", ":3: vector: expected 2 numbers" },
		{ "field,feature,frequency,vector\na,x,1,1 oh\n", ":2: vector: expected numbers" },
		{ "field,feature,frequency,vector\na,x,-1,1 2\n", ":2: frequency: expected" },
		{ "field,feature,frequency,vector\na,x,0,1 2\n", "all frequencies of field \"a\" are 0" },
		{ "field,feature,frequency,vector\na,x,1,1\na,x,1,1\n", "feature \"x\" of field \"a\" has two rows" },
		{ "field,feature,frequency,vector\na,x,1,nan\n", ":2: vector" },
		{ "field,feature,frequency,vector\n", "no rows" },
		{ "field,feature,vector\na,x,1\n", "frequency" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memset(&err, 0, sizeof err);
		t = read_text(bad[i].text, &err);
		ok(!t && strstr(err.text, bad[i].expected), "refused: %s", err.text);
		embed_table_free(t);
	}
}

/* ---- bytes and work: closed forms (docs/models/embed.md) ---- */

static void bytes(const struct embed_table *t)
{
	struct orr_error err = { 0 };
	struct embed_code *c = embed_compress(t, &saec, &err);
	struct embed_work w = embed_code_work(c);
	/* Two fields of N = 10,000 features each; K = 100 vectors, M = 800, I = 20 iterations, dimension d = 16. */
	near_to(embed_code_bytes(c), 2 * (100 * 16 * 4.0 + 10000 * 4.0), 0, "bytes: K d 4 + N w per field");
	ok(embed_code_vectors(c) == 200 && embed_code_head(c) == 1600, "K = N / r vectors, M = 8 %% of the features");
	ok(w.cluster == 2ull * 20 * 800 * 100 * 16, "clustering: I M K d multiply-adds per field");
	ok(w.last_pass == 2ull * 10000 * 100 * 16, "last pass: N K d");
	near_to(2.0 * 20 * 10000 * 100 * 16 / (double)(w.cluster + w.last_pass), 20 / (20 * 0.08 + 1), 1e-12, "speed-up I / (I M/N + 1)");
	embed_code_free(c);
	struct embed_options o = saec;
	o.head_share = 1;
	c = embed_compress(t, &o, &err);
	ok(embed_code_work(c).cluster == 2ull * 20 * 10000 * 100 * 16 && !embed_code_work(c).last_pass,
		"full clustering: I N K d, no last pass");
	embed_code_free(c);
	o = (struct embed_options){ .method = EMBED_HASHED, .reduction = 100 };
	c = embed_compress(t, &o, &err);
	near_to(embed_code_bytes(c), 2 * 100 * 16 * 4.0, 0, "hashing: K d 4, no map");
	embed_code_free(c);
	o = (struct embed_options){ .method = EMBED_ROUNDED, .bits = 8, .reduction = 1 };
	c = embed_compress(t, &o, &err);
	near_to(embed_code_bytes(c), 20000 * (16 + 4.0), 0, "8 bits: d + 4 bytes per vector");
	embed_code_free(c);
	o = (struct embed_options){ .method = EMBED_PRODUCT, .parts = 4, .iterations = 3, .reduction = 1 };
	c = embed_compress(t, &o, &err);
	near_to(embed_code_bytes(c), 20000 * 4 + 2 * 256 * 16 * 4.0, 0, "product: N m + 1024 d per field");
	embed_code_free(c);
	o.parts = 5;
	ok(!embed_compress(t, &o, &err) && strstr(err.text, "divisor"), "refused: %s", err.text);
	o = saec;
	o.id_bytes = 1;
	o.reduction = 10;
	ok(!embed_compress(t, &o, &err) && strstr(err.text, "at most 256"), "refused: %s", err.text);
}

/* ---- errors and accuracy ---- */

static struct embed_error error_of(const struct embed_table *t, struct embed_options o)
{
	struct orr_error err = { 0 };
	struct embed_code *c = embed_compress(t, &o, &err);
	struct embed_error e = embed_error(t, c);
	embed_code_free(c);
	return e;
}

static void errors(const struct embed_table *t)
{
	struct embed_options o = saec;
	o.head_share = 0.16;
	struct embed_error fast = error_of(t, o), full, weighted;
	o.head_share = 1;
	full = error_of(t, o);
	o.is_weighted = true;
	weighted = error_of(t, o);
	printf("# weighted error: saec %.5g, full %.5g, full and weighted %.5g\n", fast.weighted, full.weighted, weighted.weighted);
	/* Each planted cluster has 16 head features (docs/models/embed.md has the ratios for other heads). */
	ok(fast.weighted < 1.05 * full.weighted, "saec's weighted error is at most 5 %% above that of full k-means (%.3f of it)",
		fast.weighted / full.weighted);
	ok(weighted.weighted < fast.weighted, "k-means weighted by frequency has a smaller weighted error");
	struct embed_error half = error_of(t, (struct embed_options){ .method = EMBED_ROUNDED, .bits = 16, .reduction = 1 });
	struct embed_error byte = error_of(t, (struct embed_options){ .method = EMBED_ROUNDED, .bits = 8, .reduction = 1 });
	/* The mean squared rounding error is step^2 / 12. Half precision has 11 bits, so |x - x'| <= |x| 2^-11. Codes of one byte
	 * have steps of max / 127. */
	ok(half.plain > 0 && half.plain < 0x1p-22, "half precision is within 2^-11 of a value (%.3g)", half.plain);
	ok(byte.plain > 5 * half.plain && byte.plain < pow(4.5 / 127, 2) / 12,
		"8 bits: the error is that of uniform rounding in steps of max / 127 (%.3g)", byte.plain);
	struct embed_error hashed = error_of(t, (struct embed_options){ .method = EMBED_HASHED, .reduction = 100 });
	ok(hashed.plain > 0.5 && hashed.plain < 1.5, "hashing shares vectors that differ: plain error near the variance 1 (%.3g)",
		hashed.plain);
	struct embed_error product =
		error_of(t, (struct embed_options){ .method = EMBED_PRODUCT, .parts = 4, .iterations = 10, .reduction = 1 });
	ok(product.plain < 4 * 0.03 * 0.03, "product quantisation: 256 vectors per part represent 100 clusters (%.3g)", product.plain);
}

static void accuracy(const struct embed_table *t)
{
	struct orr_error err = { 0 };
	struct embed_task task = { .train = 20000, .test = 20000, .epochs = 3, .batch = 32, .rate = 0.1, .gain = 2, .seed = 1 };
	struct embed_model *m = embed_model_train(t, &task);
	struct embed_accuracy plain = embed_model_test(m, NULL), shared, hashed;
	struct embed_code *c = embed_compress(t, &saec, &err);
	shared = embed_model_test(m, c);
	embed_code_free(c);
	c = embed_compress(t, &(struct embed_options){ .method = EMBED_HASHED, .reduction = 100 }, &err);
	hashed = embed_model_test(m, c);
	embed_code_free(c);
	embed_model_free(m);
	printf("# AUC: table %.5f, saec %.5f, hashed %.5f; log loss %.5f %.5f %.5f\n", plain.auc, shared.auc, hashed.auc, plain.log_loss,
		shared.log_loss, hashed.log_loss);
	ok(plain.auc > 0.75, "the model learns (AUC %.4f)", plain.auc);
	/* The accuracy of a model that reads the compressed tables. */
	ok(fabs(shared.auc - plain.auc) < 0.001, "saec changes the AUC by less than 0.001 (%.5f)", shared.auc - plain.auc);
	ok(hashed.auc < plain.auc - 0.005, "hashing to the same number of vectors loses accuracy (%.5f)", hashed.auc - plain.auc);
	/* Random predictions: AUC 1/2 within 4 standard deviations (of about 0.005), log loss at least ln 2. */
	task.gain = 0;
	m = embed_model_train(t, &task);
	plain = embed_model_test(m, NULL);
	embed_model_free(m);
	ok(fabs(plain.auc - 0.5) < 0.02 && plain.log_loss >= log(2) - 0.01, "labels without information: AUC 1/2 (%.4f)", plain.auc);
}

int main(void)
{
	generated();
	file();
	struct embed_table *t = embed_table_generate(&base);
	bytes(t);
	errors(t);
	accuracy(t);
	embed_table_free(t);
	return done();
}
