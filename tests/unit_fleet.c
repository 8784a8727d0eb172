/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas as a fleet: routing against naive rules, scaling by hand, failures, closed loops against theory. */
#include "tests/fleet_run.h"

#include "serve/fleet.h"

#include "tests/tap.h"

#include <stdlib.h>

#define TABLE(name, latency) \
	"{\"name\": \"" name "\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", " \
	"\"batch\": [1], \"latency_ms\": [" latency "]}"
#define NOISY(name, latency) \
	"{\"name\": \"" name "\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", " \
	"\"noise\": \"exponential\", \"batch\": [1], \"latency_ms\": [" latency "]}"
/* Any number of samples at once, always the same time. */
#define WIDE(name, latency) \
	"{\"name\": \"" name "\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", " \
	"\"between\": \"up\", \"batch\": [1, 100], \"latency_ms\": [" latency ", " latency "]}"

static bool is_sanitized(void)
{
	const char *s = getenv("ORR_SANITIZED");
	return s && *s == '1';
}

int main(void)
{
	struct fleet_case c = { .requests = "poisson:rate=10,n=20000", .models = { NOISY("m", "90") },
		.deployment = { { .replicas = 1, .model = UINT32_MAX, .tp = 1, .pp = 1 } }, .cluster = "1x1", .seed = 1, .max_rows = 100 };
	struct run_result *r = fleet_must_run(&c, "m/m/1");
	(void)is_sanitized;
	for (size_t i = 0; r && i < r->n_metrics; i++)
		printf("# %s %.6g [%.6g %.6g]\n", r->metrics[i].name, r->metrics[i].value, r->metrics[i].ci_low, r->metrics[i].ci_high);
	result_free(r);
	return done();
}
