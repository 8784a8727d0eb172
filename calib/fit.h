/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fit.h - fits laws to measured points
 *
 * The residual is log(law) - log(time), so errors are relative: 1 % has the same weight at 5 us and at 50 ms. Parameters are
 * fitted by their logarithms with GSL's Levenberg-Marquardt under Cauchy's loss (iteratively reweighted: Holland and Welsch,
 * Comm. in Statistics A6, 1977). The best of several starts is kept. The covariance is Huber's sandwich (Robust Statistics,
 * 1981, section 6.3). A parameter that the points do not determine is removed or fixed, and its variance is 0.
 * docs/models/devices.md, "Laws of a profile".
 *
 * Invariant: the same points in the same order give the same bytes, and a law reports its
 * errors on points outside its fit: those marked as held out, else by ten-fold
 * cross-validation by group (points of one shape stay together).
 */
#ifndef ORR_CALIB_FIT_H
#define ORR_CALIB_FIT_H

#include "calib/points.h"
#include "hwmodel/profile.h"

struct fit_options {
	bool keep_points;                                                                 /* keep the points in the profile */
	const char *name, *device, *title, *source, *date, *backend, *note, *environment; /* texts; NULL: "" or a default */
	bool is_measured_here, is_unstable;
};

/* Returns a profile with all laws that the points support. NULL on error. */
struct profile *fit_profile(const struct points *p, const struct fit_options *o, struct orr_error *err);

/* Returns a profile with its texts and without laws. The caller may set p->law to memory of mem_alloc(). Never NULL. */
struct profile *fit_begin(const struct fit_options *o);

/*
 * Fits one law of this form to n points. Sets only the fields of the fit (parameters, covariance, range, errors, anchors); the
 * texts stay empty. Returns ORR_EINPUT for too few points.
 */
int fit_law(enum profile_form form, const struct point *const *x, size_t n, struct law *out, struct orr_error *err);
void fit_law_free(struct law *l);

/* Predicts each point by a law that was fitted without its group, with folds over groups. */
int fit_cross_validate(enum profile_form form, const struct point *const *x, size_t n, double *predicted_s, struct orr_error *err);

/* Computes mean, median and 90th percentile of |predicted / measured - 1|; NAN if n is 0. */
void fit_errors(const double *predicted_s, const double *measured_s, size_t n, double *mean, double *median, double *p90);

#endif
