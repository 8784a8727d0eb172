/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fit_nls.h - robust least squares in the logarithms of a law's parameters
 *
 * Private to calib/fit*.c. theta holds logarithms. A parameter that is not free keeps
 * its theta, which may be -INFINITY (a time left out) or INFINITY (a rate left out).
 */
#ifndef ORR_CALIB_FIT_NLS_H
#define ORR_CALIB_FIT_NLS_H

#include "hwmodel/profile.h"

struct nls {
	enum profile_form form;
	size_t n;
	const double (*x)[LAW_FEATURES]; /* x: features of each point */
	const double *y, *weight;        /* y: log time; weight: of a point, in (0, 1] */
};

struct nls_fit {
	double theta[LAW_PARAMS];
	bool is_free[LAW_PARAMS];
	double covariance[LAW_PARAMS][LAW_PARAMS];
	double loss;  /* Cauchy's loss at the given scale */
	double sigma; /* robust standard deviation of the residuals, from their median */
};

/* Returns the log of the law at point i. Writes the derivatives by all thetas to g, unless it is NULL. */
double nls_model(const struct nls *q, const double *theta, size_t i, double *g);
/* Minimises the loss at scale c, starting at f->theta, and sets theta, loss and sigma. NLS_LOOK takes a few steps, to compare starts. */
enum nls_effort { NLS_LOOK, NLS_FULL };
void nls_descend(const struct nls *q, struct nls_fit *f, double c, enum nls_effort effort);
/* Computes the sandwich covariance at f->theta; returns false if it is singular. */
bool nls_covariance(const struct nls *q, struct nls_fit *f, double c);

#endif
