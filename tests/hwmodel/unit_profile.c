/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_profile.c - profiles: times of their laws, round trips through files, and refusals of damaged files
 *
 * Expected times are computed by hand from the forms in hwmodel/profile.h.
 */
#include "hwmodel/profile.h"

#include "tests/tap.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <stdlib.h>

/* A V100 whose product law is 10 us + ((F / 10 TFLOP/s)^2 + (B / 500 GB/s)^2)^(1/2): 3e7 FLOPs and 2e6 bytes take
 * 10 + sqrt(3^2 + 4^2) = 15 us. */
static const char good[] =
	"{\"schema\": 1, \"name\": \"mine\", \"device\": \"v100\", \"title\": \"T\", \"source\": \"by hand; and more\",\n"
	" \"date\": \"2026\", \"backend\": \"published\", \"stable\": true, \"measured_here\": false,\n"
	" \"environment\": {\"driver\": \"1.2\"},\n"
	" \"laws\": [\n"
	"  {\"family\": \"gemm\", \"op\": \"\", \"precision\": \"fp32\", \"variant\": \"\", \"form\": \"roofline\",\n"
	"   \"parameters\": {\"time0_us\": 10, \"rate_GFLOPps\": 10000, \"rate_GBps\": 500, \"exponent\": 2},\n"
	"   \"covariance_of_logs\": [[0.04, 0, 0, 0], [0, 0.01, 0, 0], [0, 0, 0.01, 0], [0, 0, 0, 0]],\n"
	"   \"range\": {\"flops\": [1e6, 1e12], \"bytes\": [1e5, 1e9]}, \"points\": 100, \"held_out\": 100,\n"
	"   \"sigma_of_log\": 0.1, \"error\": {\"mean\": 0.1, \"median\": 0.05, \"p90\": 0.2},\n"
	"   \"held_out_error\": {\"mean\": 0.12, \"median\": 0.06, \"p90\": 0.25},\n"
	"   \"anchors_us\": [[3e7, 2e6, 0, 15]], \"kept_points_us\": [[3e7, 2e6, 0, 16, 0]]},\n"
	"  {\"family\": \"conv\", \"op\": \"forward\", \"precision\": \"fp32\", \"variant\": \"3x3 s1\", \"form\": \"roofline\",\n"
	"   \"parameters\": {\"rate_GFLOPps\": 25000, \"exponent\": 1}, \"points\": 20},\n"
	"  {\"family\": \"conv\", \"op\": \"forward\", \"precision\": \"fp32\", \"variant\": \"\", \"form\": \"roofline\",\n"
	"   \"parameters\": {\"rate_GFLOPps\": 12500, \"exponent\": 1}, \"points\": 40},\n"
	"  {\"family\": \"collective\", \"op\": \"all-reduce\", \"variant\": \"nvlink\", \"ranks\": 8, \"nodes\": 1, \"form\": "
	"\"envelope\",\n"
	"   \"parameters\": {\"time1_us\": 40, \"rate1_GBps\": 10, \"time2_us\": 90, \"rate2_GBps\": 80}},\n"
	"  {\"family\": \"copy\", \"op\": \"h2d-pinned\", \"form\": \"line\", \"parameters\": {\"time0_us\": 3, \"rate_GBps\": 12}},\n"
	"  {\"family\": \"copy\", \"op\": \"d2d\", \"form\": \"table\", \"range\": {\"size\": [1000, 100000]},\n"
	"   \"table_us\": [[1000, 10], [100000, 1000]]},\n"
	"  {\"family\": \"interference\", \"op\": \"gemm\", \"variant\": \"with-copy\", \"form\": \"factor\", \"parameters\": {\"factor\": "
	"1.3}}\n"
	" ]}\n";

static struct profile *parse(const char *text, struct orr_error *err)
{
	return profile_parse("p.json", text, strlen(text), err);
}

/* ---- laws ---- */

static void check_times(const struct profile *p)
{
	bool is_inside = false;
	near_to(law_time(&p->law[0], 3e7, 2e6, 0, &is_inside) * 1e6, 15, 1e-12, "a roofline: 10 us + the 2-norm of 3 us and 4 us");
	ok(is_inside, "a call inside the fitted range is reported as inside");
	law_time(&p->law[0], 3e13, 2e6, 0, &is_inside);
	ok(!is_inside, "a call beyond the fitted range is reported as outside");
	near_to(law_time(&p->law[1], 25e9, 1e9, 0, NULL) * 1e6, 1000, 1e-12, "an omitted term takes no time");
	near_to(law_time(&p->law[3], 0, 0, 1e5, NULL) * 1e6, 50, 1e-12, "an envelope below its knee: 40 us + 100 KB at 10 GB/s");
	near_to(law_time(&p->law[3], 0, 0, 8e8, NULL) * 1e6, 10090, 1e-12, "an envelope above its knee: 90 us + 800 MB at 80 GB/s");
	near_to(law_time(&p->law[4], 0, 0, 12e6, NULL) * 1e6, 1003, 1e-12, "a line: 3 us + 12 MB at 12 GB/s");
	near_to(law_time(&p->law[5], 0, 0, 1e4, NULL) * 1e6, 100, 1e-12, "a table, half-way between in logarithms");
	near_to(law_time(&p->law[5], 0, 0, 2e5, NULL) * 1e6, 2000, 1e-12, "beyond its end a table grows in proportion");
	near_to(law_time(&p->law[6], 0, 0, 0, NULL), 1.3, 1e-12, "a factor");
}

static void check_lookup(const struct profile *p)
{
	ok(profile_law(p, "gemm", "", "fp32", "tn", 0, 0) == &p->law[0], "a variant without its own law has the law for all");
	ok(!profile_law(p, "gemm", "", "fp16", "", 0, 0), "another precision has no law");
	ok(profile_law(p, "conv", "forward", "fp32", "3x3 s1", 0, 0) == &p->law[1], "a variant with its own law has that law");
	ok(profile_law(p, "conv", "forward", "fp32", "strided", 0, 0) == &p->law[2],
		"a variant without its own law has the law for all variants");
	ok(profile_law(p, "conv", "forward", "fp32", "", 0, 0) == &p->law[2], "a call without a variant has the law for all variants");
	ok(!profile_law(p, "conv", "weight-gradient", "fp32", "", 0, 0), "another pass has no law");
	ok(profile_law(p, "collective", "all-reduce", "", "", 8, 1) == &p->law[3], "without a requested fabric, any fabric matches");
	ok(!profile_law(p, "collective", "all-reduce", "", "", 4, 1), "another number of ranks has no law");
	ok(profile_collective(p, "all-reduce", "nvswitch", 8, 1) == &p->law[3] && !profile_collective(p, "all-reduce", "", 4, 1),
		"a law of no known machine applies to every fabric, at its number of ranks");
}

/* Tests the catalogue's A100. Its all-reduce laws are those of pairs joined by NVLink (15.7 GB/s among four GPUs), of a DGX, and of
 * an NVSwitch node up to 8 GiB. */
static void check_fabrics(void)
{
	struct orr_error err;
	struct profile *p = profile_load("a100-80g", &err);
	const struct law *four = p ? profile_collective(p, "all-reduce", "nvswitch", 4, 1) : NULL,
			 *pairs = p ? profile_collective(p, "all-reduce", "nvlink-pairs", 4, 1) : NULL,
			 *eight = p ? profile_collective(p, "all-reduce", "nvswitch", 8, 1) : NULL;
	ok(four && !strcmp(four->variant, "a100_dgx"), "four GPUs behind a switch take the law of a DGX");
	ok(pairs && !strcmp(pairs->variant, "a100_pairwise_nvlink"), "four GPUs in pairs take that of pairs");
	ok(four && pairs && law_time(pairs, 0, 0, 0x1p26, NULL) > 7 * law_time(four, 0, 0, 0x1p26, NULL),
		"which is 7 times slower for 64 MiB");
	ok(eight && eight->to[2] > 8e9, "of two laws on one fabric, the one with the wider range");
	ok(p && !profile_collective(p, "all-reduce", "", 4, 1), "a fabric that is not stated has none of them");
	profile_free(p);
}

/* Tests drawn parameters. The logarithm of the first one has variance 0.04, so z = 1 multiplies the parameter by e^0.2. */
static void check_drawn(const struct profile *p)
{
	const double zero[LAW_PARAMS] = { 0 }, one[LAW_PARAMS] = { 1 };
	near_to(law_time_drawn(&p->law[0], zero, 0, 3e7, 2e6, 0) * 1e6, 15, 1e-12, "z = 0 gives the law itself");
	near_to(law_time_drawn(&p->law[0], one, 0, 3e7, 2e6, 0) * 1e6, 10 * exp(0.2) + 5, 1e-12,
		"one standard error of the first parameter");
	near_to(law_time_drawn(&p->law[0], zero, 1, 3e7, 2e6, 0) * 1e6, 15 * exp(0.1), 1e-12, "one standard deviation of the residual");
}

static void check_profile(void)
{
	struct orr_error err = { 0 };
	struct profile *p = parse(good, &err);
	ok(p && p->n_laws == 7, "a profile is read: %s", p ? "7 laws" : err.text);
	if (!p)
		return;
	check_times(p);
	check_lookup(p);
	check_fabrics();
	check_drawn(p);
	char *summary = profile_summary(p);
	same_text(summary, "mine (by hand, 2026; median error 6 %, mean 12 %)", "the text for reports has source, date and held-out error");
	mem_free(summary);
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	profile_write(p, f, &err);
	fclose(f);
	struct profile *again = profile_parse("again", text, n, &err);
	ok(again && again->n_laws == 7 && again->law[3].param[3] == p->law[3].param[3] && isinf(again->law[3].param[4]) &&
			again->law[0].covariance[1][1] == 0.01 && again->law[0].n_points == 1 &&
			!strcmp(again->environment, "driver: 1.2\n"),
		"a profile written and read again is unchanged");
	free(text);
	profile_free(again);
	profile_free(p);
}

/* ---- refusals ---- */

/* Checks that `good` is refused after its first `from` is replaced by `to`. */
static char *changed(const char *from, const char *to)
{
	struct sbuf s = { 0 };
	const char *at = strstr(good, from);
	if (!at)
		return NULL;
	sbuf_add(&s, good, (size_t)(at - good));
	sbuf_puts(&s, to);
	sbuf_puts(&s, at + strlen(from));
	return sbuf_steal(&s);
}

/* A law may state its number of ranks alone. */
static void check_ranks_alone(void)
{
	struct orr_error err = { 0 };
	char *text = changed("\"ranks\": 8, \"nodes\": 1", "\"ranks\": 8"), *written = NULL;
	struct profile *p = parse(text, &err), *again = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&written, &n);
	if (p)
		profile_write(p, f, &err);
	fclose(f);
	if (p)
		again = profile_parse("again", written, n, &err);
	ok(p && p->law[3].ranks == 8 && p->law[3].nodes == 0, "a law of a number of ranks, whatever the number of nodes %s", err.text);
	ok(again && again->law[3].ranks == 8 && again->law[3].nodes == 0, "is written and read again");
	free(written);
	mem_free(text);
	profile_free(p);
	profile_free(again);
}

static void refused(const char *from, const char *to, const char *says)
{
	struct orr_error err = { 0 };
	char *text = changed(from, to);
	struct profile *p = text ? parse(text, &err) : NULL;
	bool is_good = text && !p && err.code == ORR_EINPUT && strstr(err.text, says);
	if (!is_good)
		printf("# said: %s\n", text ? err.text : "(no such text)");
	ok(is_good, "%s for %s: \"%s\"", to, from, says);
	profile_free(p);
	mem_free(text);
}

static void check_refusals(void)
{
	refused("\"schema\": 1", "\"schema\": 2", "$.schema: expected 1, found 2: another version of orrery wrote this profile");
	refused("{\"schema\": 1, ", "{", "$.schema: expected 1, as in every device profile");
	refused("\"time0_us\": 10", "\"time0_us\": 10, \"time0_us\": 10", "duplicate key \"time0_us\" (first on line ");
	refused("\"time0_us\": 10", "\"time0_ms\": 10", "unknown key \"time0_ms\": did you mean \"time0_us\"?");
	refused("\"rate_GBps\": 500", "\"rate_MBps\": 500", "unknown key \"rate_MBps\"");
	refused("\"rate_GFLOPps\": 10000", "\"rate_GFLOPps\": 10000000",
		"$.laws[0] (gemm fp32): FLOP rate: 1e+07 GFLOP/s is physically impossible");
	refused("\"rate_GFLOPps\": 10000", "\"rate_GFLOPps\": 10", "FLOP rate: 10 GFLOP/s is physically impossible");
	refused("\"rate_GFLOPps\": 10000", "\"rate_GFLOPps\": 17000", "FLOP rate"); /* 1.08 times the 15.7 TFLOP/s of the data sheet */
	refused("\"rate_GBps\": 500", "\"rate_GBps\": 0.5", "byte rate: 0.5 GB/s is physically impossible");
	refused("\"rate_GBps\": 500", "\"rate_GBps\": 500000", "byte rate: 5e+05 GB/s is physically impossible");
	refused("\"time0_us\": 10,", "\"time0_us\": 10000,", "time of an empty call: 1e+04 us is physically impossible");
	refused("\"time0_us\": 10,", "\"time0_us\": 0.01,", "time of an empty call: 0.01 us is physically impossible");
	refused("\"time0_us\": 10,", "\"time0_us\": 100,", "$.laws[0].anchors[0]: expected the law's time of 105 us, found 15 us");
	refused("\"rate_GFLOPps\": 25000", "\"rate_GFLOPps\": 25000000", "$.laws[1] (conv forward fp32)");
	refused("\"rate2_GBps\": 80", "\"rate2_GBps\": 80000", "$.laws[3] (collective all-reduce): byte rate");
	refused("\"rate_GBps\": 12}", "\"rate_GBps\": 12000}", "$.laws[4] (copy h2d-pinned): byte rate");
	refused("\"rate_GBps\": 12}", "\"rate_GBps\": 0.012}", "$.laws[4] (copy h2d-pinned): byte rate");
	refused("[[1000, 10], [100000, 1000]]", "[[1000, 10], [100, 1000]]",
		"$.laws[5].table_us: expected a list of pairs [size, us] with ascending sizes");
	refused("\"family\": \"gemm\"", "\"family\": 3", "$.laws[0].family: expected a string");
	refused("\"form\": \"roofline\"", "\"form\": \"spline\"", "$.laws[0].form: expected roofline, line");
	refused("[0.04, 0, 0, 0]", "[0.04, 9, 0, 0]", "$.laws[0].covariance_of_logs: expected a symmetric matrix");
	refused("[0.04, 0, 0, 0]", "[0.04, 0, 0]", "$.laws[0].covariance_of_logs: expected a square matrix");
	refused("[1e6, 1e12]", "[1e12, 1e6]", "$.laws[0].range: expected a pair [low, high] for each feature");
	refused("\"backend\": \"published\"", "\"backend\": \"guess\"", "$.backend: expected cuda, cpu");
	refused("\"stable\": true", "\"stable\": \"yes\"", "$.stable: expected true or false");
	refused("\"exponent\": 2", "\"exponent\": 0", "$.laws[0].parameters.exponent: expected a number from");
	refused("[[3e7, 2e6, 0, 15]]", "[[3e7, 2e6, 0]]", "$.laws[0].anchors_us: expected rows");
}

/* Every truncated profile gives an error with a position. */
static void check_truncated(void)
{
	size_t n = strlen(good), silent = 0;
	while (n > 0 && good[n - 1] != '}')
		n--;
	for (size_t i = 0; i < n; i++) {
		struct orr_error err = { 0 };
		char *part = mem_strndup(good, i);
		struct profile *p = profile_parse("p.json", part, i, &err);
		silent += p != NULL || strncmp(err.text, "p.json:", 7) != 0;
		profile_free(p);
		mem_free(part);
	}
	ok(silent == 0, "a profile truncated after any of its %zu bytes is refused with an error that names the file", n);
}

static double longest(const struct law *l)
{
	return law_time(l, isnan(l->to[0]) ? 0 : l->to[0], isnan(l->to[1]) ? 0 : l->to[1], isnan(l->to[2]) ? 0 : l->to[2], NULL);
}

/* Tests that the self-check refuses a parameter that is wrong by a factor of a thousand, in every law of every profile of the
 * catalogue. */
static void slip(const struct profile *p, const struct device *d, size_t *tried, size_t *missed)
{
	for (size_t i = 0; i < p->n_laws; i++)
		for (uint32_t k = 0; k < p->law[i].n_params; k++)
			for (int up = 0; up < 2; up++) {
				struct law *l = &p->law[i];
				double unit, v = l->param[k], *cell = &l->param[k];
				const char *name = law_param_name(l->form, k, &unit);
				if (isinf(v) || v == 0 || strstr(name, "_") == NULL)
					continue;
				double before = longest(l);
				*cell = v * (up ? 1000 : 0.001);
				if (fabs(longest(l) / before - 1) < 0.01 && fabs(l->param[0] / v - 0.001) < 1e-9 && l->n_anchors < 3) {
					*cell = v; /* a start-up time that the few sizes of the table leave undetermined */
					continue;
				}
				bool is_caught = profile_check(p, d, NULL) != ORR_OK;
				*cell = v;
				++*tried;
				*missed += !is_caught;
				if (!is_caught)
					printf("# %s: law %zu (%s %s %s), %s x %g passes\n", p->name, i, l->family, l->op, l->variant, name,
						up ? 1000 : 0.001);
			}
}

static void check_shipped(void)
{
	const char *name;
	size_t tried = 0, missed = 0, n = 0;
	for (; (name = profile_catalogue(n)); n++) {
		struct orr_error err = { 0 };
		struct profile *p = profile_load(name, &err);
		ok(p != NULL, "%s is shipped and passes the self-check%s%s", name, p ? "" : ": ", err.text);
		struct device *d = p ? device_load(p->device, &err) : NULL;
		const char *found = p ? profile_for_device(p->device) : NULL;
		ok(d && !strcmp(p->name, name) && *p->source && *p->date && found && !strcmp(found, name),
			"%s belongs to a device of the catalogue, is found by it, and has source and date", name);
		if (d)
			slip(p, d, &tried, &missed);
		profile_free(p);
		device_free(d);
	}
	ok(n >= 9, "%zu profiles ship", n);
	ok(tried > 400 && missed == 0, "of %zu parameters changed by a factor of 1000, %zu are accepted", tried, missed);
	same_text(profile_for_device("v100"), "v100", "a device finds its profile");
	ok(!profile_for_device("m40") && !profile_for_device("v10") && !profile_for_device("v1000"), "a device without a profile has none");
	struct orr_error err = { 0 };
	ok(!profile_load("v10", &err) && strstr(err.text, "did you mean \"v100\"?"), "a misspelt name: %s", err.text);
}

int main(void)
{
	check_profile();
	check_ranks_alone();
	check_refusals();
	check_truncated();
	check_shipped();
	return done();
}
