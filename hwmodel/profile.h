/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile.h - the laws fitted to a device's measurements, and their errors
 *
 * A profile is a JSON file (docs/profile.schema.json): the device, how and when it was measured, and a list of laws. A law
 * gives the time of a kind of kernel from features of the call. It has parameters, their covariance, the range of features in
 * the fit, and errors, in sample and held out. Points are kept in the file or beside it. Every key includes its unit.
 *
 * Forms (times in s, sizes in bytes, rates per s):
 *	roofline    t0 + ((flops / a)^p + (bytes / b)^p)^(1/p)         parameters t0 a b p
 *	line        t0 + size / b                                       t0 b
 *	cached      t0 + x (h / near + (1 - h) / far), h = 1 / (1 + (x / c)^4): bytes, or size   t0 near far c
 *	envelope    min over i of (t_i + size / b_i), three lines       t1 b1 t2 b2 t3 b3
 *	table       log-log interpolation of the kept points            none
 *	factor      a number (slowdown, efficiency)                     f
 * Parameters are positive and fitted by their logarithms; the covariance is that of the
 * logarithms. A term that the points do not constrain is left out: its rate is INFINITY, its
 * time 0. An anchor is a set of features with the time that the law gave when it was fitted:
 * anchors detect a parameter with a wrong unit.
 *
 * Invariant: a profile that loads has passed the self-check (profile_check()).
 */
#ifndef ORR_HWMODEL_PROFILE_H
#define ORR_HWMODEL_PROFILE_H

#include "hwmodel/device.h"

#include <stdio.h>

enum profile_form { FORM_ROOFLINE, FORM_LINE, FORM_ENVELOPE, FORM_TABLE, FORM_FACTOR, FORM_CACHED, FORM_COUNT };
enum { LAW_PARAMS = 6, LAW_FEATURES = 3 }; /* features of a call: flops, bytes, size */
enum { PROFILE_SCHEMA = 1 };

struct law_point {
	double feature[LAW_FEATURES], time_s;
	bool is_held_out;
};

struct law {
	char *family, *op, *precision, *variant; /* keys of a law: see calib/points.h; "" matches all */
	enum profile_form form;
	double ranks, nodes; /* numbers of ranks and nodes of collectives; 0 for other families */
	uint32_t n_params;
	double param[LAW_PARAMS];
	double covariance[LAW_PARAMS][LAW_PARAMS];   /* covariance of the logarithms of the parameters; 0: fixed parameter */
	double from[LAW_FEATURES], to[LAW_FEATURES]; /* range of features in the fit; NAN: not a feature of this law */
	uint32_t points, held_out;
	double mean_error, median_error, p90_error;          /* relative, in sample */
	double held_out_mean, held_out_median, held_out_p90; /* held-out errors; NAN: no points were held out */
	double sigma;                                        /* standard deviation of the residuals of log time */
	double *table_x, *table_y;                           /* FORM_TABLE: size or flops; seconds */
	uint32_t n_table;
	struct law_point *anchor, *point; /* point: the measured points, if the profile keeps them */
	uint32_t n_anchors, n_points;
};

struct profile {
	char *name, *device, *title, *source, *date, *backend; /* backend: cuda, cpu, synthetic, published, scaled */
	bool is_stable;                                        /* clock drift during the measurement was below 3 % */
	bool is_measured_here;                                 /* measured by calib run on the device itself */
	char *note;                                            /* caveat: "not measured: scaled from ..", or "" */
	char *environment;                                     /* lines of "topic: text": driver, clocks, libraries */
	struct law *law;
	size_t n_laws;
	char hash[65];
	bool is_shared; /* the profile belongs to the catalogue and is kept until the program ends */
};

/* Loads a profile. Those of the catalogue are shared by all callers, which must not change them. */
struct profile *profile_load(const char *name_or_file, struct orr_error *err);
struct profile *profile_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void profile_free(struct profile *p);
int profile_write(const struct profile *p, FILE *out, struct orr_error *err);
const char *profile_catalogue(size_t i); /* returns name i of the catalogue; NULL past the last */
/* Returns the catalogue's profile of a device, or NULL. */
const char *profile_for_device(const char *device);

/* Returns the median relative error (held out if known), averaged over the laws with their points as weights. NAN: not stated. */
double profile_error(const struct profile *p);
/* Returns the same average of the mean relative errors. A few shapes with large errors raise the means above the medians. */
double profile_mean_error(const struct profile *p);
/* Returns the source of times for reports: "v100 (DeepBench .., 2019; median error 9 %, mean 14 %)". The caller frees it. */
char *profile_summary(const struct profile *p);

/*
 * Returns the most specific law that matches the call, or NULL. "" in a law matches all. For a call with "", a law for all
 * matches first. Without one, the law with the most points matches (precision and variant only). ranks and nodes match exactly.
 */
const struct law *profile_law(const struct profile *p, const char *family, const char *op, const char *precision, const char *variant,
	double ranks, double nodes);
/*
 * Returns the law of a collective on a fabric (struct device), or NULL. The variant of a law, the name of the measured machine,
 * gives its fabric (profile.c); a law of any other variant applies to all fabrics. Of several laws, the one with the widest
 * range of sizes applies. ranks 0: any number.
 */
const struct law *profile_collective(const struct profile *p, const char *op, const char *fabric, double ranks, double nodes);
/* Like profile_collective(). Prefers laws that were measured at this size (law_covers()). */
const struct law *profile_collective_at(
	const struct profile *p, const char *op, const char *fabric, double ranks, double nodes, double size);
/* Returns whether a law of a collective was measured at the size. Laws measured from 4 KiB or less apply to shorter messages too. */
bool law_covers(const struct law *l, double size);
/* Returns the time, s; *is_inside is false if a feature lies outside the range of the fit. */
double law_time(const struct law *l, double flops, double bytes, double size, bool *is_inside);
/* Returns the time by the law with parameters drawn from their covariance. z holds n_params standard normal numbers; e is another one, for
 * the residual. */
double law_time_drawn(const struct law *l, const double *z, double e, double flops, double bytes, double size);

const char *law_form_name(enum profile_form form);
/* Returns the JSON name of parameter i of a form and its unit in SI; NULL past the last. */
const char *law_param_name(enum profile_form form, uint32_t i, double *unit);
/* Returns the number of parameters of a form. */
uint32_t law_form_params(enum profile_form form);

/* Rejects impossible values: a peak above 1.05 x the data sheet's (convolutions aside), a bandwidth below 5 % of the data sheet's, a
 * unit off by a factor of a thousand. d may be NULL. */
int profile_check(const struct profile *p, const struct device *d, struct orr_error *err);
/* Checks only law i. */
int profile_check_law(const struct profile *p, size_t i, const struct device *d, struct orr_error *err);
/* Frees law i and moves up the laws after it. */
void profile_remove_law(struct profile *p, size_t i);

#endif
