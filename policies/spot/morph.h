/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * morph.h - shapes of a job (from step times, or from a curve of samples per second over nodes), and a test whether a change of
 * shape pays off
 *
 * With a curve the job runs as one group of nodes (pipelines 1), whose number stays within the range of the curve.
 */
#ifndef ORR_POLICIES_SPOT_MORPH_H
#define ORR_POLICIES_SPOT_MORPH_H

#include <math.h>

#include "shapes.h"

static inline bool morph_has_points(const struct orr_spot *w)
{
	uint32_t pipelines, depth;
	return orr_step_point(w, 0, &pipelines, &depth);
}

static inline void morph_by_curve(struct shapes *s, struct orr_spot *w, int curve)
{
	struct orr_elastic_info job;
	uint32_t first;
	orr_elastic_get(w, &job);
	orr_curve_range(w, curve, &first, &s->most);
	s->of = orr_alloc((size_t)s->most + 1, sizeof *s->of);
	for (uint32_t n = first; n <= s->most; n++) {
		double rate = orr_curve_at(w, curve, n);
		if (rate > 0)
			s->of[n] = (struct shape){ 1, n, n, llround(job.samples_per_step / rate * 1e9) };
	}
}

/* Finds the fastest shape for each number of nodes. curve: name of the curve, for a job without step times. Returns 0 on success. */
static inline int morph_begin(struct shapes *s, struct orr_spot *w, const char *curve, struct orr_error *err)
{
	int by_curve = orr_curve_find(w, curve);
	if (!morph_has_points(w) && by_curve < 0)
		return orr_fail(err, ORR_EINPUT,
			"expected a job with step times by (pipelines, depth), or with a curve \"%s\" (samples per second by nodes)",
			curve);
	if (morph_has_points(w))
		shapes_begin(s, w, &(struct shape_choice){ 0 });
	else
		morph_by_curve(s, w, by_curve);
	return 0;
}

/* Returns whether changing from steps of old_ns to steps of new_ns, after a pause of pause_ns, completes more steps within horizon_ns. */
static inline bool morph_is_worth(int64_t old_ns, int64_t new_ns, int64_t pause_ns, int64_t horizon_ns)
{
	return horizon_ns > pause_ns && (double)(horizon_ns - pause_ns) / (double)new_ns > (double)horizon_ns / (double)old_ns;
}

#endif
