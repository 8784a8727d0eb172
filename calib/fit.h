/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fit.h - laws fitted to measured points
 *
 * The residual is log(law) - log(time), so that a per cent is a per cent at 5 us and at
 * 50 ms. Parameters are fitted by their logarithms with GSL's Levenberg-Marquardt under
 * Cauchy's loss (iteratively reweighted: Holland and Welsch, Comm. in Statistics A6, 1977),
 * from several starts, the best of which is kept; the covariance is the sandwich of Huber
 * (Robust Statistics, 1981, section 6.3). A parameter that the points do not determine is
 * left out or fixed, and its variance is 0. docs/models.md, "Profiles of devices".
 *
 * Invariant: the same points in the same order give the same bytes, and a law says how it
 * did on points that it was not fitted to: those marked as held out, else ten-fold
 * cross-validation by group (points of one shape stay together).
 */
#ifndef ORR_CALIB_FIT_H
#define ORR_CALIB_FIT_H

#include "calib/points.h"
#include "hwmodel/profile.h"

struct fit_options {
	bool keep_points;                                                                 /* in the profile, beside the laws */
	const char *name, *device, *title, *source, *date, *backend, *note, *environment; /* NULL: "" or what fits */
	bool is_measured_here, is_unstable;
};

/* All laws that the points support. NULL on error. */
struct profile *fit_profile(const struct points *p, const struct fit_options *o, struct orr_error *err);

/* A profile with its texts and no laws; p->law may be set to memory of mem_alloc(). Never NULL. */
struct profile *fit_begin(const struct fit_options *o);

/*
 * One law of this form from n points, the fields of the fit alone (parameters, covariance, range, errors, anchors);
 * texts are left empty. ORR_EINPUT if there are too few points.
 */
int fit_law(enum profile_form form, const struct point *const *x, size_t n, struct law *out, struct orr_error *err);
void fit_law_free(struct law *l);

/* What laws that never saw point i predict for it, by folds over groups. */
int fit_cross_validate(enum profile_form form, const struct point *const *x, size_t n, double *predicted_s, struct orr_error *err);

/* Mean, median and 90 % of |predicted / measured - 1|; NAN if n is 0. */
void fit_errors(const double *predicted_s, const double *measured_s, size_t n, double *mean, double *median, double *p90);

#endif
