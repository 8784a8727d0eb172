/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/quantity.h"

#include "base/num.h"

#include <string.h>

/* Returns the factor of a suffix that the number loses; 0: unknown. */
static double factor(const char *s, size_t *n, enum quantity_kind kind)
{
	static const char large[] = "KMGTP";
	bool is_binary = *n > 1 && s[*n - 1] == 'i';
	size_t length = is_binary ? *n - 1 : *n;
	char last = length ? s[length - 1] : '0';
	if (last == 'k')
		last = 'K';
	const char *at = strchr(large, last);
	if (at && last) {
		double base = is_binary || kind == QUANTITY_SLURM ? 1024 : 1000, f = 1;
		for (ptrdiff_t i = 0; i <= at - large; i++)
			f *= base;
		*n = length - 1;
		return f;
	}
	if (is_binary)
		return 0;
	double small = kind == QUANTITY_SLURM ? 0 : last == 'm' ? 1e-3 : last == 'u' ? 1e-6 : last == 'n' ? 1e-9 : 0;
	*n -= small > 0;
	return small > 0 ? small : 1;
}

bool quantity(const char *s, size_t n, enum quantity_kind kind, double *out)
{
	double f = factor(s, &n, kind), v;
	if (!(f > 0) || !num_real(s, n, &v) || !(v >= 0))
		return false;
	*out = v * f;
	return *out < 1e30;
}
