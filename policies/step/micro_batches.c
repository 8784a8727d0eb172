/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The number of micro-batches of a pipeline (pipeline.h). */
#include "pipeline.h"

#include <math.h>

static bool is_whole(double samples, uint32_t parts)
{
	return samples / parts == floor(samples / parts);
}

uint32_t pipe_micro_batches(
	const struct orr_args *args, double global, uint32_t replicas, uint32_t stages, uint32_t multiple, struct orr_error *err)
{
	double micro = orr_arg_real(args, "micro_batch"), m = (double)orr_arg_int(args, "micro_batches"), samples = global / replicas;
	if (micro > 0 && m > 0 && micro * m != samples)
		orr_fail(err, ORR_EINPUT,
			"micro_batches=%g x micro_batch=%g: expected a product of %g, the samples of a replica, or only one of the two "
			"options",
			m, micro, samples);
	else if (micro > samples || (!(micro > 0) && !(m > 0) && samples < 1 && orr_arg_real(args, "global_batch") > 0))
		orr_fail(err, ORR_EINPUT,
			"%g samples per iteration for %u replicas: expected at least %g, a micro-batch of %g for each replica "
			"(global_batch)",
			global, replicas, replicas * (micro > 0 ? micro : 1), micro > 0 ? micro : 1);
	else if (micro > 0 && (samples / micro != floor(samples / micro) || samples / micro > 1e6))
		orr_fail(err, ORR_EINPUT, "micro_batch=%g: expected a divisor of the %g samples of a replica", micro, samples);
	else if (micro > 0)
		return (uint32_t)(samples / micro);
	else if (m > 0)
		return (uint32_t)m; /* the size may be a fraction of a sample */
	else {
		uint32_t most = stages > 1 ? 4 * stages : 1; /* without a pipeline to fill, parts would only be slower */
		for (uint32_t n = most - most % multiple; n > 0; n -= multiple)
			if (is_whole(samples, n))
				return n;
		while (most > 1 && !is_whole(samples, most))
			most--;
		return most;
	}
	return 0;
}

/* Returns the next number of micro-batches of whole samples; 0: none, or more passes than a search may make. */
static uint32_t next_after(uint32_t m, double samples, uint32_t stages, uint32_t multiple)
{
	for (m++; m <= samples && (double)m * stages <= 1e6; m++)
		if (m % multiple == 0 && is_whole(samples, m))
			return m;
	return 0;
}

int pipe_fit(void *self, const struct orr_args *args, double samples, uint32_t stages, uint32_t multiple, uint32_t first,
	pipe_layout lay_out, struct orr_error *err)
{
	bool is_given = orr_arg_int(args, "micro_batches") || orr_arg_real(args, "micro_batch") > 0;
	double spare = -1;
	uint32_t m = first;
	int rc = lay_out(self, first, &spare, err);
	if (rc || is_given)
		return rc;
	while (!rc && spare < 0 && !isinf(spare) && (m = next_after(m, samples, stages, multiple)))
		rc = lay_out(self, m, &spare, err);
	if (m == first || (!rc && spare >= 0))
		return rc;
	err->code = ORR_OK;
	return lay_out(self, first, &spare, err);
}
