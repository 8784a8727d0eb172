/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery calib run */
#include "cli/cli.h"
#include "cli/cmd_calib.h"

#include "calib/sweep.h"
#include "calib/synthetic.h"
#include "calib/measurement.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/outfile.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

struct request {
	const char *backend, *out;
	FILE *file; /* file of `out`; NULL: standard output, written at the end */
	bool is_quiet;
	struct backend_options open;
	struct sweep_options sweep;
};

static int number(const char *option, const char *text, double low, double high, double *out, struct orr_error *err)
{
	if (!num_real(text, strlen(text), out) || *out < low || *out > high)
		return orr_fail(
			err, ORR_EINPUT, "calib run: --%s: expected a number from %g to %g, found \"%.40s\"", option, low, high, text);
	return ORR_OK;
}

static int whole(const char *option, const char *text, uint32_t most, uint32_t *out, struct orr_error *err)
{
	int64_t v;
	if (!num_int(text, strlen(text), &v) || v < 0 || v > most)
		return orr_fail(
			err, ORR_EINPUT, "calib run: --%s: expected a whole number from 0 to %u, found \"%.40s\"", option, most, text);
	*out = (uint32_t)v;
	return ORR_OK;
}

/* Checks the names of --only: with an unknown name the sweep would measure nothing. */
static int families(const char *text, struct orr_error *err)
{
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, ","), i = 0;
		while (point_families[i] && (strlen(point_families[i]) != n || strncmp(point_families[i], at, n)))
			i++;
		if (!point_families[i])
			return orr_fail(err, ORR_EINPUT,
				"calib run: --only: expected launch, gemm, conv, memory, gather, update, attention, copy, collective, "
				"interference, "
				"preemption or learners, found \"%.*s\"",
				(int)(n < 60 ? n : 60), at);
		at += n + (at[n] == ',');
	}
	return ORR_OK;
}

static int parse(int argc, char **argv, struct request *r, struct orr_error *err)
{
	static const struct option longs[] = { { "backend", required_argument, NULL, 'b' }, { "budget", required_argument, NULL, 'B' },
		{ "only", required_argument, NULL, 'O' }, { "seed", required_argument, NULL, 's' },
		{ "threads", required_argument, NULL, 't' }, { "gpu", required_argument, NULL, 'g' },
		{ "settings", required_argument, NULL, 'S' }, { "out", required_argument, NULL, 'o' }, { "quiet", no_argument, NULL, 'q' },
		{ NULL, 0, NULL, 0 } };
	int opt, rc = ORR_OK;
	uint32_t seed = 1;
	*r = (struct request){ .sweep = sweep_default };
	optind = 1;
	opterr = 0;
	while (!rc && (opt = getopt_long(argc, argv, ":o:q", longs, NULL)) != -1) {
		switch (opt) {
		case 'b':
			r->backend = optarg;
			break;
		case 'o':
			r->out = optarg;
			break;
		case 'q':
			r->is_quiet = true;
			break;
		case 'S':
			r->open.settings = optarg;
			break;
		case 'B':
			rc = number("budget", optarg, 0.5, 86400, &r->sweep.budget_s, err);
			break;
		case 's':
			rc = whole("seed", optarg, 4294967295u, &seed, err);
			break;
		case 't':
			rc = whole("threads", optarg, 4096, &r->open.threads, err);
			break;
		case 'g':
			rc = whole("gpu", optarg, 4096, &r->open.device, err);
			break;
		case 'O':
			rc = families(optarg, err);
			r->sweep.only = optarg;
			break;
		default:
			return cli_bad_option(argc, argv, opt, longs, err);
		}
	}
	if (!rc && optind < argc)
		return orr_fail(err, ORR_EINPUT,
			"calib run: unexpected argument \"%.60s\": expected options only; 'orrery calib --help' shows them", argv[optind]);
	r->open.seed = r->sweep.seed = seed;
	return rc;
}

static void say(void *request, const char *line)
{
	if (!((const struct request *)request)->is_quiet)
		fprintf(stderr, "%s\n", line);
}

/* Opens the requested backend. Without a request, opens that of a usable GPU, or else that of this processor. */
static const struct backend *open_backend(const struct request *r, void **device, struct orr_error *err)
{
	const struct backend *b = backend_find(r->backend ? r->backend : "cuda", err);
	*device = b ? b->open(&r->open, err) : NULL;
	if (*device || r->backend)
		return *device ? b : NULL;
	if (!r->is_quiet)
		fprintf(stderr, "%s; measuring this processor\n", err->text);
	*err = (struct orr_error){ 0 };
	*device = backend_cpu.open(&r->open, err);
	return *device ? &backend_cpu : NULL;
}

/* ---- files: each point is written when it is measured, so that a crash leaves the points measured so far */

static int cannot_write(const struct request *r, struct orr_error *err)
{
	return orr_fail(err, ORR_EFAIL, "%.300s: %s", r->out, strerror(errno));
}

static void write_row(void *request, const struct point *x)
{
	struct request *r = request;
	if (r->file) {
		points_write_row(x, r->file);
		fflush(r->file);
	}
}

static int begin_files(struct request *r, const struct measurement *m, struct orr_error *err)
{
	if (!r->out)
		return ORR_OK;
	r->file = fopen(r->out, "w");
	if (!r->file)
		return cannot_write(r, err);
	points_write_header(r->file);
	return fflush(r->file) ? cannot_write(r, err) : measurement_write(m, r->out, err);
}

/* Replaces the file by one with the widened intervals. */
static int rewrite(const struct request *r, const struct points *p, struct orr_error *err)
{
	struct outfile f;
	int rc = outfile_open_path(&f, r->out, err);
	if (rc)
		return rc;
	int failed = points_write(p, f.file, err);
	rc = outfile_close(&f, failed != 0, err);
	return failed ? failed : rc;
}

/* Completes the files, also after an error: the points measured so far are valid. */
static int end_files(struct request *r, const struct points *p, const struct measurement *m, struct orr_error *err)
{
	if (!r->out)
		return points_write(p, stdout, err);
	bool is_bad = r->file && ferror(r->file);
	if (r->file && (fclose(r->file) || is_bad))
		return cannot_write(r, err);
	int rc = m->report.is_stable ? ORR_OK : rewrite(r, p, err);
	return rc ? rc : measurement_write(m, r->out, err);
}

static void tell(const struct request *r, const struct measurement *m)
{
	const struct sweep_report *s = &m->report;
	if (r->is_quiet)
		return;
	fprintf(stderr, "%u of %u points in %.1f s; %u have intervals wider than required; %u refused%s%s\n", s->measured, s->planned,
		s->seconds, s->imprecise, s->refused, s->refused ? ", first " : "", s->first_refusal);
	if (s->revisits)
		fprintf(stderr, "%u anchors measured again %u times: drift %.1f %% (median of anchors), %.1f %% (largest): %s\n",
			s->anchors, s->revisits, 100 * s->drift, 100 * s->worst_drift,
			s->is_stable ? "stable" : "unstable, intervals are widened by the drift");
	else
		fprintf(stderr, "no anchor could be measured again within this budget: the drift is unknown\n");
	if (*s->throttle)
		fprintf(stderr,
			"throttled: %s; batches measured while throttled are left out, and so are %u points without other batches\n",
			s->throttle, s->throttled);
	if (!s->is_settled)
		fprintf(stderr, "the clock rate was not stable before the first point\n");
}

/* Measures and writes the files. The device's error has precedence over a write error. */
static int measure(struct request *r, const struct backend *b, void *device, struct measurement *m, struct orr_error *err)
{
	struct points points = { 0 };
	struct orr_error why = { 0 }, unwritten = { 0 };
	int rc = begin_files(r, m, err);
	if (rc)
		return rc;
	rc = sweep_run(b, device, &r->sweep, &points, &m->report, &why);
	if (!rc && !points.n)
		rc = orr_fail(
			&why, ORR_EFAIL, "calib run: nothing was measured within %g s: expected a larger --budget", r->sweep.budget_s);
	m->ended = rc ? why.text : "complete";
	int failed = end_files(r, &points, m, &unwritten);
	if (rc && points.n)
		orr_fail(err, rc, "%.500s; the %zu points measured before are %s%.150s", why.text, points.n,
			failed   ? "lost: "
			: r->out ? "in "
				 : "on standard output",
			failed   ? unwritten.text
			: r->out ? r->out
				 : "");
	else if (rc || failed)
		orr_fail(err, rc ? rc : failed, "%s", rc ? why.text : unwritten.text);
	if (points.n && !failed)
		tell(r, m);
	points_free(&points);
	return rc ? rc : failed;
}

int calib_run(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	struct measurement m = { 0 };
	void *device;
	int rc = parse(argc, argv, &r, err);
	if (rc)
		return rc;
	const struct backend *b = open_backend(&r, &device, err);
	if (!b)
		return err->code;
	measurement_begin(&m, b, device, &r.sweep);
	r.sweep.say = say;
	r.sweep.row = write_row;
	r.sweep.arg = &r;
	if (!r.is_quiet)
		fprintf(stderr, "%s: %s; %s\n%s", b->name, m.device.name, m.device.software, m.device.warnings);
	if (b == &backend_synthetic) {
		r.sweep.now = synthetic_now;
		r.sweep.idle = synthetic_idle;
	}
	r.sweep.sampling = sampling_default;
	r.sweep.sampling.point_s = 0;
	rc = measure(&r, b, device, &m, err);
	b->close(device);
	return rc;
}
