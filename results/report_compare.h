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

/* A line below the table that compares each other policy with the first. */
struct report_difference {
	/* metric: mean difference to the first policy; base: mean of the first policy over the same pairs; title: with "%s" for its name */
	const char *metric, *base, *title;
	enum report_kind kind;
};
/* The first policy's value divided by each policy's value, or, if is_inverse, the reciprocal: how many times faster or cheaper. */
struct report_quotient {
	const char *metric, *title, *word; /* title: NULL if the ratio is on the line of the previous entry */
	bool is_inverse;
};
extern const struct report_difference report_differences[]; /* ends with a NULL metric, as the next one */
extern const struct report_quotient report_quotients[];

/* Frees the comparisons; NULL is a no-op. */
void report_comparisons_free(struct report_comparisons *x);

/* Returns the words "different", "not shown", .. of JSON and CSV. */
const char *report_verdict(enum compare_verdict v);
/* Returns "all", "first" or "best". */
const char *report_family(enum compare_family f);

/* Appends two blanks and the test result of a pair, or nothing without a comparison. */
void report_put_verdict(struct sbuf *out, const struct report_comparison *x, const struct compare_pair *p);

/* Appends, for each comparison, the differences to the first policy, the ranking and the policies that are not told apart. runs: the
 * policies of the comparisons. width: width of names. */
void report_put_comparisons(struct sbuf *out, const struct report_comparisons *x, const struct run_result *const *runs, size_t width);

#endif
