/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The self-check of a profile against physics, the data sheet and the laws' anchors (docs/models/devices.md, "Self-check of a profile"). */
#include "hwmodel/profile.h"

#include <math.h>
#include <string.h>

struct limits {
	double low, high; /* bounds of a rate, as shares of the data sheet's rate */
};

/* Convolutions count direct FLOPs, so rates of Winograd's exceed the peak. The operands of small products stay in the L2 cache. */
static const struct {
	const char *family;
	struct limits flops, bytes;
} known[] = {
	{ "gemm", { 0.01, 1.05 }, { 0.05, 50 } },
	{ "conv", { 0.005, 10 }, { 0.005, 50 } },
	{ "attention", { 0.005, 1.05 }, { 0.05, 50 } },
	{ "memory", { 1e-6, 1e6 }, { 0.05, 20 } },
	{ "gather", { 1e-6, 1e6 }, { 0.05, 20 } },
	{ "update", { 1e-6, 1e6 }, { 0.05, 20 } },
};

static int refuse(
	const struct profile *p, size_t i, const char *what, double got, double low, double high, const char *unit, struct orr_error *err)
{
	const struct law *l = &p->law[i];
	return orr_fail(err, ORR_EINPUT,
		"%.100s: $.laws[%zu] (%s%s%s%s%s): %s: %.4g %s is physically impossible: expected %.4g to %.4g (check the unit)", p->name,
		i, l->family, *l->op ? " " : "", l->op, *l->precision ? " " : "", l->precision, what, got, unit, low, high);
}

/* Checks one value. A rate or time that the law leaves out (0, INFINITY) passes. */
static int within(const struct profile *p, size_t i, const char *what, double got, double low, double high, const char *unit, double scale,
	struct orr_error *err)
{
	if (got == 0 || isinf(got) || (got >= low && got <= high))
		return ORR_OK;
	return refuse(p, i, what, got / scale, low / scale, high / scale, unit, err);
}

static double peak_of(const struct device *d, const char *precision)
{
	enum precision q;
	double best = d->vector_flops;
	for (int k = 0; k < PRECISION_COUNT; k++)
		best = fmax(best, d->peak_flops[k]);
	/* For a precision that the data sheet lacks, the bound is the larger of twice the vector rate and the tensor cores' rate. */
	return precision_named(precision, &q) && d->peak_flops[q] > 0 ? d->peak_flops[q] : best;
}

static int check_roofline(const struct profile *p, size_t i, const struct device *d, struct orr_error *err)
{
	const struct law *l = &p->law[i];
	int rc = within(p, i, "FLOP rate", l->param[1], 1e6, 1e17, "GFLOP/s", 1e9, err);
	if (!rc)
		rc = within(p, i, "byte rate", l->param[2], 1e6, 1e15, "GB/s", 1e9, err);
	if (!rc)
		rc = within(p, i, "exponent", l->param[3], 0.25, 64, "", 1, err);
	for (size_t k = 0; !rc && d && k < sizeof known / sizeof *known; k++) {
		if (strcmp(l->family, known[k].family))
			continue;
		double peak = peak_of(d, l->precision);
		rc = within(p, i, "FLOP rate", l->param[1], known[k].flops.low * peak, known[k].flops.high * peak, "GFLOP/s", 1e9, err);
		if (!rc)
			rc = within(p, i, "byte rate", l->param[2], known[k].bytes.low * d->memory_Bps, known[k].bytes.high * d->memory_Bps,
				"GB/s", 1e9, err);
	}
	return rc;
}

/* Checks that rates lie between a fraction of the memory bandwidth (one CPU thread) and the bandwidth of caches, and that the cache
 * is larger than a page and smaller than memory. */
static int check_cached(const struct profile *p, size_t i, const struct device *d, struct orr_error *err)
{
	const struct law *l = &p->law[i];
	double memory = d ? d->memory_Bps : 1e12, slack = d ? 1 : 1e3;
	int rc = within(p, i, "byte rate in the cache", l->param[1], 0.05 * memory / slack, 20 * memory * slack, "GB/s", 1e9, err);
	if (!rc)
		rc = within(p, i, "byte rate beyond the cache", l->param[2], 0.05 * memory / slack, 2 * memory * slack, "GB/s", 1e9, err);
	if (!rc)
		rc = within(p, i, "size of the cache", l->param[3], 4096, d ? 0.5 * d->memory_bytes : 1e12, "MB", 1e6, err);
	return rc;
}

/* Checks the fastest line of copies and of collectives; the other lines apply to small messages. */
static int check_lines(const struct profile *p, size_t i, const struct device *d, struct orr_error *err)
{
	const struct law *l = &p->law[i];
	double best = 0, low = 1e6, high = 1e14;
	for (uint32_t k = 1; k < l->n_params; k += 2)
		best = isinf(l->param[k]) ? best : fmax(best, l->param[k]);
	if (d && !strcmp(l->family, "copy")) {
		low = 0.02 * (d->pcie_Bps > 0 ? d->pcie_Bps : 1e9);
		/* Copies on a CPU may stay in its caches. */
		high = (strcmp(p->backend, "cpu") ? 2 : 20) * fmax(d->memory_Bps, d->link_Bps);
	} else if (d && !strcmp(l->family, "collective") && d->link_Bps > 0) {
		low = (l->nodes > 1 ? 0.001 : 0.005) * d->link_Bps;
		high = 4 * d->link_Bps;
	}
	return within(p, i, "byte rate", best, low, high, "GB/s", 1e9, err);
}

/* Checks the time of an empty kernel. A time below a clock cycle or above many milliseconds indicates a wrong unit. */
static int check_start(const struct profile *p, size_t i, struct orr_error *err)
{
	const struct law *l = &p->law[i];
	bool is_kernel = strcmp(l->family, "collective") && strcmp(l->family, "copy") && strcmp(p->backend, "cpu");
	/* On a CPU thread an empty call is a function call of some tens of ns; elsewhere it is a launch. */
	double low = strcmp(p->backend, "cpu") ? 50e-9 : 0.1e-9, high = is_kernel ? 1e-3 : 50e-3;
	int rc = ORR_OK;
	for (uint32_t k = 0; !rc && k < l->n_params; k += 2)
		if (l->form != FORM_FACTOR && !(l->form == FORM_ROOFLINE && k > 0) && !(l->form == FORM_ENVELOPE && k > 0) &&
			!(l->form == FORM_CACHED && k > 0))
			rc = within(p, i, "time of an empty call", l->param[k], low, high, "us", 1e-6, err);
	return rc;
}

static int check_anchors(const struct profile *p, size_t i, struct orr_error *err)
{
	const struct law *l = &p->law[i];
	for (uint32_t k = 0; k < l->n_anchors; k++) {
		const struct law_point *a = &l->anchor[k];
		double t = law_time(l, a->feature[0], a->feature[1], a->feature[2], NULL);
		if (!(fabs(t / a->time_s - 1) <= 0.01))
			return orr_fail(err, ORR_EINPUT,
				"%.100s: $.laws[%zu].anchors[%u]: expected the law's time of %.6g us, found %.6g us: a parameter or its "
				"unit was changed",
				p->name, i, k, t * 1e6, a->time_s * 1e6);
	}
	return ORR_OK;
}

int profile_check_law(const struct profile *p, size_t i, const struct device *d, struct orr_error *err)
{
	enum profile_form form = p->law[i].form;
	int rc = ORR_OK;
	if (form == FORM_ROOFLINE)
		rc = check_roofline(p, i, d, err);
	else if (form == FORM_LINE || form == FORM_ENVELOPE)
		rc = check_lines(p, i, d, err);
	else if (form == FORM_CACHED)
		rc = check_cached(p, i, d, err);
	if (!rc)
		rc = check_start(p, i, err);
	return rc ? rc : check_anchors(p, i, err);
}

int profile_check(const struct profile *p, const struct device *d, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = 0; !rc && i < p->n_laws; i++)
		rc = profile_check_law(p, i, d, err);
	return rc;
}
