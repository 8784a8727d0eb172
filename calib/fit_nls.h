/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fit_nls.h - one robust least-squares problem in the logarithms of a law's parameters
 *
 * Of no use outside calib/fit*.c. theta are logarithms; a parameter that is not free keeps
 * its theta, -INFINITY (a time that is left out) and INFINITY (a rate) included.
 */
#ifndef ORR_CALIB_FIT_NLS_H
#define ORR_CALIB_FIT_NLS_H

#include "hwmodel/profile.h"

struct nls {
	enum profile_form form;
	size_t n;
	const double (*x)[LAW_FEATURES]; /* of each point */
	const double *y, *weight;        /* log time; how far a point is to be trusted, 1: fully */
};

struct nls_fit {
	double theta[LAW_PARAMS];
	bool is_free[LAW_PARAMS];
	double covariance[LAW_PARAMS][LAW_PARAMS];
	double loss;  /* Cauchy's at the scale asked for */
	double sigma; /* robust spread of the residuals, from their median */
};

/* log law at point i; the derivatives by all thetas into g, if not NULL. */
double nls_model(const struct nls *q, const double *theta, size_t i, double *g);
/* Descends from f->theta at scale c; fills in theta, loss and sigma. A look is a few steps, to tell starts apart. */
enum nls_effort { NLS_LOOK, NLS_FULL };
void nls_descend(const struct nls *q, struct nls_fit *f, double c, enum nls_effort effort);
/* The sandwich at f->theta; false if it is singular. */
bool nls_covariance(const struct nls *q, struct nls_fit *f, double c);
uint32_t nls_count_free(const struct nls_fit *f, uint32_t n_params);

#endif
