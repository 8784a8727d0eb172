/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/req_law.h"

#include "traces/requests.h"

#include "base/num.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

_Static_assert(REQUEST_MAX_TOKENS == REQUEST_MAX_SAMPLES, "tokens and samples share one bound");

/*
 * Quantiles of whole traces, counted in the published files: Azure LLM inference trace 2023,
 * code (8,819 requests) and conversation (19,366), github.com/Azure/AzurePublicDataset; Mooncake's conversation trace
 * (12,031), github.com/kvcache-ai/Mooncake. docs/traces.md compares means.
 */
#define QUANTILES(min, p25, p50, p75, p90, p95, p99, max)                                                           \
	{                                                                                                           \
		{ 0, min }, { 0.25, p25 }, { 0.5, p50 }, { 0.75, p75 }, { 0.9, p90 }, { 0.95, p95 }, { 0.99, p99 }, \
		{                                                                                                   \
			1, max                                                                                      \
		}                                                                                                   \
	}
static const struct {
	const char *name;
	struct quantile table[2][8]; /* prompts, outputs */
} measured[] = {
	{ "azure-code", { QUANTILES(3, 578, 1469, 2744.5, 5187.6, 7303.3, 7436, 7437), QUANTILES(6, 9, 13, 24, 55, 90, 251.5, 1899) } },
	{ "azure-conv", { QUANTILES(2, 396, 1020, 1189, 2734.5, 4083, 4142, 14050), QUANTILES(7, 85, 129, 395, 424, 451, 601, 1000) } },
	{ "mooncake", { QUANTILES(891, 2306.5, 6909, 15367, 27367, 39550.5, 85400.4, 126195),
			      QUANTILES(1, 156.5, 350, 472, 597, 698, 1118.5, 2000) } },
};

static bool read_count(const char *s, size_t n, int64_t least, uint32_t *out)
{
	int64_t v;
	if (!num_int(s, n, &v) || v < least || v > REQUEST_MAX_TOKENS)
		return false;
	*out = (uint32_t)v;
	return true;
}

/*
 * Parses a lognormal by mean and p99. With mu and sigma of the logarithm, mean = exp(mu + sigma^2/2) and p99 = exp(mu + z
 * sigma). With l = ln(p99/mean), sigma = z - sqrt(z^2 - 2 l), the smaller root. l is at most z^2/2; there, p99 is 15 times the
 * mean.
 */
static bool read_lognormal(struct req_law *law, const char *s)
{
	const double z = 2.3263478740408408; /* the 99 % quantile of the standard normal distribution */
	double mean, p99;
	size_t n = strcspn(s, ":");
	if (!num_real(s, n, &mean) || s[n] != ':' || !(mean > 0 && mean <= REQUEST_MAX_TOKENS))
		return false;
	s += n + 1;
	n = strcspn(s, ":");
	if (!num_real(s, n, &p99) || !(p99 > mean && p99 <= REQUEST_MAX_TOKENS) || 2 * log(p99 / mean) > z * z)
		return false;
	if (s[n] == ':' && !read_count(s + n + 1, strlen(s + n + 1), 1, &law->high))
		return false;
	law->sigma = z - sqrt(z * z - 2 * log(p99 / mean));
	law->mu = log(mean) - law->sigma * law->sigma / 2;
	law->kind = LAW_LOGNORMAL;
	return true;
}

static bool read_range(struct req_law *law, const char *s, int64_t least)
{
	size_t n = strcspn(s, "-");
	if (!read_count(s, n, least, &law->low))
		return false;
	law->high = law->low;
	law->kind = LAW_CONSTANT;
	if (!s[n])
		return true;
	law->kind = LAW_UNIFORM;
	return read_count(s + n + 1, strlen(s + n + 1), law->low, &law->high);
}

static bool read_law(struct req_law *law, const char *s, enum req_law_column column)
{
	*law = (struct req_law){ .low = 1, .high = REQUEST_MAX_TOKENS };
	for (size_t i = 0; column != LAW_OF_SAMPLES && i < sizeof measured / sizeof *measured; i++)
		if (!strcmp(s, measured[i].name)) {
			law->kind = LAW_QUANTILES;
			law->table = measured[i].table[column];
			return true;
		}
	if (!strncmp(s, "lognormal:", 10))
		return read_lognormal(law, s + 10);
	if (!strncmp(s, "exp:", 4)) {
		law->kind = LAW_EXPONENTIAL;
		return num_real(s + 4, strlen(s + 4), &law->mean) && law->mean > 0 && law->mean <= REQUEST_MAX_TOKENS;
	}
	return read_range(law, s, column == LAW_OF_SAMPLES);
}

int req_law_parse(
	struct req_law *law, const char *where, const char *name, const char *text, enum req_law_column column, struct orr_error *err)
{
	if (read_law(law, text, column))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT,
		"generator %s: %s: expected a whole number up to %d, LOW-HIGH, exp:MEAN, lognormal:MEAN:P99[:MOST] (P99 up to 14.9 times "
		"MEAN)%s, found \"%.60s\"",
		where, name, REQUEST_MAX_TOKENS, column == LAW_OF_SAMPLES ? "" : ", azure-code, azure-conv, mooncake", text);
}

uint32_t req_law_draw_slow(const struct req_law *law, struct rng *r)
{
	double v;
	switch (law->kind) {
	case LAW_UNIFORM:
		return law->low + (uint32_t)rng_below(r, (uint64_t)law->high - law->low + 1);
	case LAW_LOGNORMAL:
		v = exp(law->mu + gsl_ran_gaussian_ziggurat(rng_gsl(r), law->sigma));
		break;
	case LAW_EXPONENTIAL:
		v = rng_exponential(r, law->mean);
		break;
	case LAW_QUANTILES:
		v = draw_quantile(r, law->table);
		break;
	default:
		return law->low;
	}
	v = nearbyint(v);
	return v <= law->low ? law->low : v >= law->high ? law->high : (uint32_t)v;
}
