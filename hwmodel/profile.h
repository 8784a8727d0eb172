/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile.h - what was measured on a device, the laws fitted to it, and how far they can be trusted
 *
 * A profile is a JSON file (docs/profile.schema.json): the device, how and when it was measured, and
 * a list of laws. A law gives the time of a kind of kernel from features of the call; it
 * carries its parameters, their covariance, the range of features that it was fitted on and
 * its errors, in sample and on points that the fit did not see. Points may be kept in the
 * file, or beside it. Every key carries its unit.
 *
 * Forms (times in s, sizes in bytes, rates per s):
 *	roofline    t0 + ((flops / a)^p + (bytes / b)^p)^(1/p)         parameters t0 a b p
 *	line        t0 + size / b                                       t0 b
 *	cached      t0 + x (h / near + (1 - h) / far), h = 1 / (1 + (x / c)^4): bytes, or size   t0 near far c
 *	envelope    min over i of (t_i + size / b_i), three lines       t1 b1 t2 b2 t3 b3
 *	table       log-log interpolation of the points kept            none
 *	factor      a number (slowdown, efficiency)                     f
 * Parameters are positive and fitted by their logarithms; the covariance is that of the
 * logarithms. A term that the points do not show is left out: its rate is INFINITY, its
 * time 0. Anchors are features with the time that the law gave when it was fitted: they
 * catch a parameter whose unit slipped.
 *
 * Invariant: a profile that loads has passed the self-check (profile_check()).
 */
#ifndef ORR_HWMODEL_PROFILE_H
#define ORR_HWMODEL_PROFILE_H

#include "hwmodel/device.h"

#include <stdio.h>

enum profile_form { FORM_ROOFLINE, FORM_LINE, FORM_ENVELOPE, FORM_TABLE, FORM_FACTOR, FORM_CACHED, FORM_COUNT };
enum { LAW_PARAMS = 6, LAW_FEATURES = 3 }; /* features: flops, bytes, size */
enum { PROFILE_SCHEMA = 1 };

struct law_point {
	double feature[LAW_FEATURES], time_s;
	bool is_held_out;
};

struct law {
	char *family, *op, *precision, *variant; /* as in calib/points.h; "" matches all */
	enum profile_form form;
	double ranks, nodes; /* collectives; 0 elsewhere */
	uint32_t n_params;
	double param[LAW_PARAMS];
	double covariance[LAW_PARAMS][LAW_PARAMS];   /* of the logarithms of parameters; 0: fixed */
	double from[LAW_FEATURES], to[LAW_FEATURES]; /* range of features fitted on; NAN: does not depend */
	uint32_t points, held_out;
	double mean_error, median_error, p90_error;          /* relative, in sample */
	double held_out_mean, held_out_median, held_out_p90; /* NAN: none held out */
	double sigma;                                        /* residual spread of log time */
	double *table_x, *table_y;                           /* FORM_TABLE: size or flops, and seconds */
	uint32_t n_table;
	struct law_point *anchor, *point; /* point: those measured, if the profile keeps them */
	uint32_t n_anchors, n_points;
};

struct profile {
	char *name, *device, *title, *source, *date, *backend; /* backend: cuda, cpu, synthetic, published, scaled */
	bool is_stable;                                        /* drift stayed below 3 % */
	bool is_measured_here;                                 /* by calib run, on the device itself */
	char *note;                                            /* what a reader must know: "not measured: scaled from ..", or "" */
	char *environment;                                     /* "topic: text" lines: driver, clocks, libraries */
	struct law *law;
	size_t n_laws;
	char hash[65];
};

struct profile *profile_load(const char *name_or_file, struct orr_error *err);
struct profile *profile_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void profile_free(struct profile *p);
int profile_write(const struct profile *p, FILE *out, struct orr_error *err);
const char *profile_catalogue(size_t i); /* those that ship; NULL past the last */
/* The profile that ships for a device, or NULL. */
const char *profile_for_device(const char *device);

/* Of the laws, weighted by their points: median relative error, held out where known. NAN: no law says. */
double profile_error(const struct profile *p);
/* "v100 (DeepBench .., 2019; median error 9 %)": what a report says of where its times come from. */
char *profile_summary(const struct profile *p);

/*
 * The law for a call: the most specific match, NULL if there is none. "" in a law matches all; "" asked for takes a law
 * that is for all, else, for a precision or variant, the one with the most points. ranks and nodes match exactly.
 */
const struct law *profile_law(const struct profile *p, const char *family, const char *op, const char *precision, const char *variant,
	double ranks, double nodes);
/* Seconds; *is_inside false if a feature lies outside what the law was fitted on. */
double law_time(const struct law *l, double flops, double bytes, double size, bool *is_inside);
/* The same with parameters drawn from their covariance: z are n_params standard normal numbers, e one for the residual. */
double law_time_drawn(const struct law *l, const double *z, double e, double flops, double bytes, double size);

const char *law_form_name(enum profile_form form);
/* Names of the parameters of a form as the file has them, with their units in SI; NULL past the last. */
const char *law_param_name(enum profile_form form, uint32_t i, double *unit);
/* The number of parameters of a form. */
uint32_t law_form_params(enum profile_form form);

/* Refuses what cannot be: a peak above 1.05 x the data sheet's (convolutions aside), a bandwidth below 5 % of it,
 * units a thousand times off. d may be NULL. */
int profile_check(const struct profile *p, const struct device *d, struct orr_error *err);

#endif
