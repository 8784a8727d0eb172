/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * report_compare.h - comparisons of the policies of a scenario, as lines below the table
 */
#ifndef ORR_RESULTS_REPORT_COMPARE_H
#define ORR_RESULTS_REPORT_COMPARE_H

#include "base/sbuf.h"
#include "results/compare.h"
#include "results/form.h"
#include "results/result.h"

/* The comparison of one metric. */
struct report_comparison {
	char *metric; /* owned */
	const struct report_column *column;
	bool is_ranked; /* a primary column: its policies have ranks */
	struct comparison *c;
};

struct report_comparisons {
	struct report_comparison *item;
	size_t n;
};

/* Frees the comparisons; NULL is a no-op. */
void report_comparisons_free(struct report_comparisons *x);

/* Returns the words "different", "not shown", .. of JSON and CSV. */
const char *report_verdict(enum compare_verdict v);
/* Returns "all", "first" or "best". */
const char *report_family(enum compare_family f);

/* Appends, for each comparison, the differences to the first policy, the ranking and the policies that are not told apart. runs: the
 * policies of the comparisons. width: width of names. */
void report_put_comparisons(struct sbuf *out, const struct report_comparisons *x, const struct run_result *const *runs, size_t width);

#endif
