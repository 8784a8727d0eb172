/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "knapsack.h"

#include <math.h>

/* The best that some of the groups reach with exactly a given filling. Filling x has (x / stride) mod (capacity + 1) in a bin. */
struct best {
	int64_t value;
	uint64_t bonus;
};

struct bin {
	size_t capacity, stride;
};

struct search {
	const struct knapsack_item *item;
	struct bin *bin;
	size_t n_bins, fillings;
	struct best *with, *without; /* the group that is added */
	uint16_t *packed;            /* by group and filling: 1 + the packed item of the group, 0: none */
};

static const int64_t UNREACHED = INT64_MIN;

double knapsack_fillings(const double *capacity, size_t n_bins)
{
	double product = 1;
	for (size_t b = 0; b < n_bins; b++)
		product *= floor(capacity[b]) + 1;
	return product;
}

static bool is_better(struct best a, struct best b)
{
	return b.value == UNREACHED || (a.value != b.value ? a.value > b.value : a.bonus > b.bonus);
}

/* Packs item i of a group into all fillings `from` .. `from` + n - 1. */
static void pack(struct search *s, const struct knapsack_item *k, size_t i, size_t from, size_t n, uint16_t *packed)
{
	size_t more = k->weight * s->bin[k->bin].stride;
	for (size_t x = from; x < from + n; x++) {
		if (s->without[x].value == UNREACHED)
			continue;
		struct best b = { s->without[x].value + k->value, s->without[x].bonus + k->bonus };
		struct best *to = &s->with[x + more];
		bool is_equal = to->value == b.value && to->bonus == b.bonus && packed[x + more];
		if (is_better(b, *to) || (is_equal && k->value > k[packed[x + more] - 1 - (ptrdiff_t)i].value)) {
			*to = b;
			packed[x + more] = (uint16_t)(i + 1);
		}
	}
}

static void add_group(struct search *s, const struct knapsack_group *g, uint16_t *packed)
{
	for (size_t x = 0; x < s->fillings; x++) {
		s->with[x] = (struct best){ .value = UNREACHED };
		packed[x] = 0;
	}
	for (size_t i = 0; i < g->n; i++) {
		const struct knapsack_item *k = &s->item[g->first + i];
		const struct bin *bin = &s->bin[k->bin];
		for (size_t x = 0; k->weight <= bin->capacity && x < s->fillings; x += (bin->capacity + 1) * bin->stride)
			pack(s, k, i, x, (bin->capacity + 1 - k->weight) * bin->stride, packed);
	}
	for (size_t x = 0; !g->is_packed && x < s->fillings; x++)
		if (s->without[x].value != UNREACHED && is_better(s->without[x], s->with[x])) {
			s->with[x] = s->without[x];
			packed[x] = 0;
		}
}

static size_t weight_of(const struct search *s, size_t x)
{
	size_t sum = 0;
	for (size_t b = 0; b < s->n_bins; b++)
		sum += x / s->bin[b].stride % (s->bin[b].capacity + 1);
	return sum;
}

/* Returns the best filling. */
static size_t best_filling(const struct search *s)
{
	size_t at = 0;
	for (size_t x = 1; x < s->fillings; x++) {
		if (s->with[x].value == UNREACHED || (s->with[at].value != UNREACHED && s->with[x].value < s->with[at].value))
			continue;
		size_t weight = weight_of(s, x), least = weight_of(s, at);
		if (s->with[at].value == UNREACHED || s->with[x].value > s->with[at].value || weight < least ||
			(weight == least && s->with[x].bonus > s->with[at].bonus))
			at = x;
	}
	return at;
}

static void begin(struct search *s, size_t n_groups, const double *capacity, size_t n_bins)
{
	s->n_bins = n_bins;
	s->bin = orr_alloc(n_bins + 1, sizeof *s->bin);
	s->fillings = 1;
	for (size_t b = 0; b < n_bins; b++) {
		s->bin[b] = (struct bin){ (size_t)capacity[b], s->fillings };
		s->fillings *= s->bin[b].capacity + 1;
	}
	s->with = orr_alloc(s->fillings, sizeof *s->with);
	s->without = orr_alloc(s->fillings, sizeof *s->without);
	s->packed = orr_alloc(n_groups * s->fillings + 1, sizeof *s->packed);
	for (size_t x = 0; x < s->fillings; x++)
		s->with[x] = (struct best){ .value = x ? UNREACHED : 0 };
}

bool knapsack(const struct knapsack_item *item, struct knapsack_group *group, size_t n_groups, const double *capacity, size_t n_bins)
{
	struct search s = { .item = item };
	begin(&s, n_groups, capacity, n_bins);
	for (size_t g = n_groups; g-- > 0;) { /* the first group last */
		struct best *last = s.with;
		s.with = s.without;
		s.without = last;
		add_group(&s, &group[g], s.packed + g * s.fillings);
	}
	size_t at = best_filling(&s);
	bool is_feasible = s.with[at].value != UNREACHED;
	for (size_t g = 0; g < n_groups; g++) {
		uint16_t i = is_feasible ? s.packed[g * s.fillings + at] : 0;
		group[g].chosen = i ? group[g].first + i - 1 : SIZE_MAX;
		at -= i ? item[group[g].chosen].weight * s.bin[item[group[g].chosen].bin].stride : 0;
	}
	orr_free(s.bin);
	orr_free(s.with);
	orr_free(s.without);
	orr_free(s.packed);
	return is_feasible;
}
