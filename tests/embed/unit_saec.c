/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saec against full k-means on tables with planted clusters, over eight tables: error, and AUC of the logistic model. Published: the AUC
 * is the same (arXiv 1903.00103). Each field has 10,000 features in 100 clusters and is compressed to 100 vectors.
 */
#include "embed/quality.h"
#include "tests/tap.h"

#include <stdio.h>

enum { TABLES = 8 };

struct outcome {
	double weighted, plain, auc_change;
};

static struct outcome outcome_of(const struct embed_table *t, const struct embed_model *m, double auc, double head_share, bool is_weighted)
{
	struct orr_error err = { 0 };
	struct embed_options o = { .method = EMBED_SHARED,
		.reduction = 100,
		.head_share = head_share,
		.head_mass = NAN,
		.iterations = 20,
		.is_weighted = is_weighted,
		.id_bytes = 4,
		.seed = 3 };
	struct embed_code *c = embed_compress(t, &o, &err);
	struct embed_error e = embed_error(t, c);
	struct outcome x = { e.weighted, e.plain, embed_model_test(m, c).auc - auc };
	embed_code_free(c);
	return x;
}

int main(void)
{
	static const double head[] = { 0.02, 0.08, 0.16 };
	struct outcome sum[3] = { { 0 } }, full = { 0 }, weighted = { 0 };
	double most[3] = { 0 }, largest[3] = { 0 }, full_auc = 0;
	for (uint64_t seed = 1; seed <= TABLES; seed++) {
		struct embed_shape s = { .features = 50000,
			.fields = 5,
			.dim = 32,
			.clusters = 100,
			.zipf = 1.05,
			.noise = 0.03,
			.seed = seed,
			.is_held = true };
		struct embed_task task = { .train = 10000, .test = 20000, .epochs = 3, .batch = 32, .rate = 0.1, .gain = 2, .seed = seed };
		struct embed_table *t = embed_table_generate(&s);
		struct embed_model *m = embed_model_train(t, &task);
		double auc = embed_model_test(m, NULL).auc;
		struct outcome f = outcome_of(t, m, auc, 1, false), w = outcome_of(t, m, auc, 1, true);
		full.weighted += f.weighted;
		full.plain += f.plain;
		weighted.weighted += w.weighted;
		full_auc = fmax(full_auc, fabs(f.auc_change));
		for (int i = 0; i < 3; i++) {
			struct outcome x = outcome_of(t, m, auc, head[i], false);
			sum[i].weighted += x.weighted;
			sum[i].plain += x.plain;
			most[i] = fmax(most[i], x.weighted / f.weighted);
			largest[i] = fmax(largest[i], fabs(x.auc_change));
		}
		embed_model_free(m);
		embed_table_free(t);
	}
	for (int i = 0; i < 3; i++)
		printf("# %g head features per cluster: weighted error %.4f (one table: up to %.4f) and plain error %.4f of full k-means; "
		       "AUC change up to %.5f\n",
			head[i] * 100, sum[i].weighted / full.weighted, most[i], sum[i].plain / full.plain, largest[i]);
	printf("# full k-means: AUC change up to %.5f; weighted by frequency: %.4f of its weighted error\n", full_auc,
		weighted.weighted / full.weighted);
	ok(sum[1].weighted < 1.05 * full.weighted,
		"8 head features per cluster: weighted error at most 5 %% above full k-means, over all tables (%.4f)",
		sum[1].weighted / full.weighted);
	ok(most[2] < 1.05, "16 head features per cluster: at most 5 %% above it for each table (%.4f)", most[2]);
	ok(largest[1] < 0.001 && largest[2] < 0.001 && full_auc < 0.001,
		"AUC changes by less than 0.001 for each table (%.5f, %.5f, full %.5f)", largest[1], largest[2], full_auc);
	ok(sum[0].weighted > 2 * full.weighted && largest[0] > 0.001, "2 per cluster are too few: error (%.1f times) and AUC (%.4f)",
		sum[0].weighted / full.weighted, largest[0]);
	ok(weighted.weighted < sum[2].weighted && sum[2].plain > full.plain,
		"k-means weighted by frequency has a smaller error; saec's plain error is larger (%.3f)", sum[2].plain / full.plain);
	return done();
}
