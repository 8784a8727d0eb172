/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery goodput: evaluates the goodput of adaptive jobs and chooses their batches */
#include "cli/cli.h"
#include "cli/goodput_learn.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/outfile.h"
#include "jobs/application.h"
#include "traces/table.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MOST_GPUS = 1e6, MOST = 1e300;

struct wish {
	const char *file, *params, *points, *out, *application, *learn, *batches;
	double nodes, gpus, sqr, var, noise_scale, atomic, accum; /* -1: not given */
	bool is_evaluated, is_json;
};

/* A point and its result. */
struct point {
	const struct application *app;
	double nodes, gpus;
	struct goodput_noise noise;
	double speedup;
	struct goodput_choice choice; /* on input, with --evaluate: atomic, accum */
};

struct points {
	struct point *p;
	size_t n, cap;
};

/* ---- one point ---- */

static double noise_scale(const struct point *p)
{
	return p->app->model.init_batch * p->noise.var / p->noise.sqr;
}

/* Fails with "expected .." if the point has no meaning. */
static int check(const struct point *p, bool is_evaluated, struct orr_error *err)
{
	const struct goodput_model *m = &p->app->model;
	if (p->nodes > p->gpus)
		return orr_fail(err, ORR_EINPUT, "nodes: expected at most the number of replicas (%.15g), found %.15g", p->gpus, p->nodes);
	if (!(p->noise.sqr > 0) && !(p->noise.var > 0))
		return orr_fail(err, ORR_EINPUT, "grad_sqr, grad_var: expected a number above 0, found 0 for both");
	double batch = p->gpus * p->choice.atomic * (p->choice.accum + 1);
	if (is_evaluated && batch < m->init_batch)
		return orr_fail(err, ORR_EINPUT,
			"replicas x atomic_bsz x (accum_steps + 1): expected at least the init_batch_size, %.15g, found %.15g",
			m->init_batch, batch);
	return ORR_OK;
}

static void compute(struct point *p, bool is_evaluated)
{
	const struct goodput_model *m = &p->app->model;
	p->choice = is_evaluated ? goodput_at(m, &p->noise, p->nodes, p->gpus, p->choice.atomic, p->choice.accum)
				 : goodput_optimize(m, &p->noise, p->nodes, p->gpus);
	double alone = goodput_optimize(m, &p->noise, 1, 1).goodput;
	p->speedup = alone > 0 ? p->choice.goodput / alone : 0;
}

/* ---- points of a file ---- */

enum { APPLICATION, NODES, REPLICAS, SQR, VAR, SCALE, ATOMIC, ACCUM };
static const struct table_column columns[] = { [APPLICATION] = { "application", true },
	[NODES] = { "nodes", true },
	[REPLICAS] = { "replicas", true },
	[SQR] = { "grad_sqr", false },
	[VAR] = { "grad_var", false },
	[SCALE] = { "noise_scale", false },
	[ATOMIC] = { "atomic_bsz", false },
	[ACCUM] = { "accum_steps", false },
	{ NULL, false } };

static int read_row(struct points *all, const struct applications *apps, struct table *t, bool is_evaluated, struct orr_error *err)
{
	struct orr_error why;
	struct point p = { .nodes = (double)table_count(t, NODES, 1, (int64_t)MOST_GPUS),
		.gpus = (double)table_count(t, REPLICAS, 1, (int64_t)MOST_GPUS) };
	if (table_has(t, SCALE))
		p.noise = (struct goodput_noise){ 1, table_real(t, SCALE, 0, 1e15) };
	else if (table_has(t, SQR) && table_has(t, VAR))
		p.noise = (struct goodput_noise){ table_real(t, SQR, 0, MOST), table_real(t, VAR, 0, MOST) };
	else
		return lines_fail(table_lines(t), err, "expected the columns grad_sqr and grad_var, or noise_scale");
	if (is_evaluated && !(table_has(t, ATOMIC) && table_has(t, ACCUM)))
		return lines_fail(table_lines(t), err, "--evaluate: expected the columns atomic_bsz and accum_steps");
	if (is_evaluated) {
		p.choice.atomic = (double)table_count(t, ATOMIC, 1, 1000000000);
		p.choice.accum = (double)table_count(t, ACCUM, 0, 1000000);
	}
	if (table_status(t) < 0)
		return ORR_EINPUT;
	p.app = applications_find(apps, table_text(t, APPLICATION, NULL), &why);
	if (!p.app)
		return lines_fail(table_lines(t), err, "%s", why.text);
	if (table_has(t, SCALE))
		p.noise.var /= p.app->model.init_batch;
	if (check(&p, is_evaluated, &why))
		return lines_fail(table_lines(t), err, "%s", why.text);
	MEM_GROW(all->p, all->n, all->cap);
	all->p[all->n++] = p;
	return ORR_OK;
}

static int read_points(struct points *all, const struct applications *apps, const struct wish *w, struct orr_error *err)
{
	struct lines *in = lines_open(w->points, err);
	struct table *t = in ? table_new(in, columns, TABLE_HEADER, err) : NULL;
	int rc = t ? ORR_OK : err->code;
	for (int more; !rc && (more = table_next(t, NULL, NULL, err)) != 0;)
		rc = more < 0 ? ORR_EINPUT : read_row(all, apps, t, w->is_evaluated, err);
	table_free(t);
	lines_close(in);
	return rc;
}

/* ---- the point of the command line ---- */

static int one_point(struct points *all, const struct applications *apps, const struct wish *w, struct orr_error *err)
{
	struct point p = { .app = &apps->app[0], .nodes = w->nodes, .gpus = w->gpus, .noise = { w->sqr, w->var } };
	if (!w->params && !w->application && apps->n > 1)
		return orr_fail(err, ORR_EINPUT, "goodput: expected --application NAME, because the table has %zu applications", apps->n);
	if (w->application && !(p.app = applications_find(apps, w->application, err)))
		return err->code;
	if (w->noise_scale >= 0)
		p.noise = (struct goodput_noise){ 1, w->noise_scale / p.app->model.init_batch };
	if (w->is_evaluated) {
		p.choice.atomic = w->atomic;
		p.choice.accum = w->accum < 0 ? 0 : w->accum;
	}
	struct orr_error why;
	if (check(&p, w->is_evaluated, &why))
		return orr_fail(err, ORR_EINPUT, "goodput: %s", why.text);
	MEM_GROW(all->p, all->n, all->cap);
	all->p[all->n++] = p;
	return ORR_OK;
}

/* ---- output ---- */

static void print_rows(const struct points *all, FILE *to)
{
	fputs("application,nodes,replicas,noise_scale,atomic_bsz,accum_steps,batch,throughput_samples_per_s,efficiency,goodput_samples_per_"
	      "s,"
	      "speedup\n",
		to);
	for (size_t i = 0; i < all->n; i++) {
		const struct point *p = &all->p[i];
		fprintf(to, "%s,%.15g,%.15g,%.17g,%.15g,%.15g,%.15g,%.17g,%.17g,%.17g,%.17g\n", p->app->name, p->nodes, p->gpus,
			noise_scale(p), p->choice.atomic, p->choice.accum, p->choice.batch, p->choice.throughput, p->choice.efficiency,
			p->choice.goodput, p->speedup);
	}
}

static void print_json(const struct points *all)
{
	cJSON *list = cJSON_CreateArray();
	for (size_t i = 0; i < all->n; i++) {
		const struct point *p = &all->p[i];
		const struct {
			const char *name;
			double value;
		} of[] = { { "nodes", p->nodes }, { "replicas", p->gpus }, { "noise_scale", noise_scale(p) },
			{ "atomic_bsz", p->choice.atomic }, { "accum_steps", p->choice.accum }, { "batch", p->choice.batch },
			{ "throughput_samples_per_s", p->choice.throughput }, { "efficiency", p->choice.efficiency },
			{ "goodput_samples_per_s", p->choice.goodput }, { "speedup", p->speedup } };
		cJSON *o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "application", p->app->name);
		for (size_t k = 0; k < sizeof of / sizeof *of; k++)
			cJSON_AddNumberToObject(o, of[k].name, of[k].value);
		cJSON_AddItemToArray(list, o);
	}
	cli_put_json(list);
	cJSON_Delete(list);
}

static int put(const struct points *all, const struct wish *w, struct orr_error *err)
{
	struct outfile out;
	int rc = ORR_OK;
	if (w->out) {
		rc = outfile_open_path(&out, w->out, err);
		if (rc)
			return rc;
		print_rows(all, out.file);
		rc = outfile_close(&out, false, err);
	}
	if (!rc && w->is_json)
		print_json(all);
	else if (!rc && !w->out)
		print_rows(all, stdout);
	return rc;
}

/* ---- arguments ---- */

static const struct option longs[] = { { "params", required_argument, NULL, 'P' }, { "points", required_argument, NULL, 'p' },
	{ "learn", required_argument, NULL, 'L' }, { "batches", required_argument, NULL, 'B' },
	{ "application", required_argument, NULL, 'a' }, { "nodes", required_argument, NULL, 'n' },
	{ "gpus", required_argument, NULL, 'g' }, { "grad-sqr", required_argument, NULL, 's' },
	{ "grad-var", required_argument, NULL, 'v' }, { "noise-scale", required_argument, NULL, 'N' },
	{ "atomic-bsz", required_argument, NULL, 'b' }, { "accum-steps", required_argument, NULL, 'A' },
	{ "evaluate", no_argument, NULL, 'e' }, { "json", no_argument, NULL, 'j' }, { NULL, 0, NULL, 0 } };

static int read_number(const char *name, const char *text, double least, double most, bool is_whole, double *to, struct orr_error *err)
{
	if (num_real(text, strlen(text), to) && *to >= least && *to <= most && (!is_whole || *to == (double)(int64_t)*to))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "goodput: --%s: expected a %snumber from %.15g to %.15g, found \"%.60s\"", name,
		is_whole ? "whole " : "", least, most, text);
}

static int read_option(struct wish *w, int c, struct orr_error *err)
{
	switch (c) {
	case 'n':
		return read_number("nodes", optarg, 1, MOST_GPUS, true, &w->nodes, err);
	case 'g':
		return read_number("gpus", optarg, 1, MOST_GPUS, true, &w->gpus, err);
	case 's':
		return read_number("grad-sqr", optarg, 0, MOST, false, &w->sqr, err);
	case 'v':
		return read_number("grad-var", optarg, 0, MOST, false, &w->var, err);
	case 'N':
		return read_number("noise-scale", optarg, 0, 1e15, false, &w->noise_scale, err);
	case 'b':
		w->is_evaluated = true;
		return read_number("atomic-bsz", optarg, 1, 1e9, true, &w->atomic, err);
	case 'A':
		return read_number("accum-steps", optarg, 0, 1e6, true, &w->accum, err);
	case 'P':
		w->params = optarg;
		break;
	case 'L':
		w->learn = optarg;
		break;
	case 'B':
		w->batches = optarg;
		break;
	case 'p':
		w->points = optarg;
		break;
	case 'a':
		w->application = optarg;
		break;
	case 'o':
		w->out = strcmp(optarg, "-") ? optarg : NULL;
		break;
	case 'e':
		w->is_evaluated = true;
		break;
	default:
		w->is_json = true;
		break;
	}
	return ORR_OK;
}

/* Checks that the options given are compatible. */
static int check_wish(const struct wish *w, struct orr_error *err)
{
	bool has_pair = w->sqr >= 0 || w->var >= 0, has_point = w->gpus >= 0 || w->nodes >= 0 || has_pair || w->noise_scale >= 0 ||
								w->application || w->atomic >= 0 || w->accum >= 0;
	const char *wrong = NULL;
	if (w->learn && (w->file || w->params || w->points || has_point || w->is_json))
		wrong = "--learn measures its own problem: expected only --batches and -o with it";
	else if (w->learn)
		return ORR_OK;
	else if (w->batches)
		wrong = "--batches has no effect: expected --learn too";
	else if (!w->file == !w->params)
		wrong = "expected a table of applications or --params LIST, and not both; 'orrery goodput --help' shows the forms";
	else if (w->params && (w->points || w->application))
		wrong = "--params describes one application: expected neither --points nor --application with it";
	else if (w->points && has_point)
		wrong = "--points gives the points: expected no options of a single point with it";
	else if (!w->points && w->gpus < 0)
		wrong = "expected --gpus R of the point, or --points FILE";
	else if (!w->points && (w->noise_scale >= 0) == has_pair)
		wrong = "expected --noise-scale, or --grad-sqr and --grad-var";
	else if (!w->points && has_pair && (w->sqr < 0 || w->var < 0))
		wrong = "expected both --grad-sqr and --grad-var";
	else if (!w->points && w->atomic < 0 && (w->is_evaluated || w->accum >= 0))
		wrong = "expected --atomic-bsz N, the batch per GPU and pass to evaluate";
	return wrong ? orr_fail(err, ORR_EINPUT, "goodput: %s", wrong) : ORR_OK;
}

static int parse(int argc, char **argv, struct wish *w, struct orr_error *err)
{
	int c, rc = ORR_OK;
	opterr = 0;
	optind = 1;
	while (!rc && (c = getopt_long(argc, argv, ":o:", longs, NULL)) != -1)
		rc = c == '?' || c == ':' ? cli_bad_option(argc, argv, c, longs, err) : read_option(w, c, err);
	if (rc)
		return rc;
	if (optind < argc)
		w->file = argv[optind++];
	if (optind < argc)
		return orr_fail(
			err, ORR_EINPUT, "goodput: unexpected argument \"%.60s\": expected one table of applications", argv[optind]);
	rc = check_wish(w, err);
	if (!rc && w->nodes < 0)
		w->nodes = 1;
	return rc;
}

static int run_goodput(int argc, char **argv, struct orr_error *err)
{
	struct wish w = { .nodes = -1, .gpus = -1, .sqr = -1, .var = -1, .noise_scale = -1, .atomic = -1, .accum = -1 };
	int rc = parse(argc, argv, &w, err);
	if (rc)
		return rc;
	if (w.learn)
		return goodput_learn(w.learn, w.batches ? w.batches : "1,2,4,8,16,32,64,128,256,512,1024", w.out, err);
	struct orr_error why;
	struct applications *apps = w.file ? applications_load(w.file, err) : applications_parse(w.params, &why);
	if (!apps)
		return w.file ? err->code : orr_fail(err, ORR_EINPUT, "goodput: --params: %s", why.text);
	struct points all = { 0 };
	rc = w.points ? read_points(&all, apps, &w, err) : one_point(&all, apps, &w, err);
	for (size_t i = 0; !rc && i < all.n; i++)
		compute(&all.p[i], w.is_evaluated);
	if (!rc)
		rc = put(&all, &w, err);
	mem_free(all.p);
	applications_free(apps);
	return rc;
}

const struct cli_command cmd_goodput = {
	.name = "goodput",
	.doc = "evaluate the goodput of adaptive jobs and choose their batches",
	.help = "usage: orrery goodput APPLICATIONS.csv --points POINTS.csv [--evaluate] [-o OUT.csv] [--json]\n"
		"       orrery goodput APPLICATIONS.csv [--application NAME] --gpus R [--nodes N]\n"
		"           (--noise-scale PHI | --grad-sqr G --grad-var V) [--atomic-bsz B [--accum-steps A]]\n"
		"       orrery goodput --params NAME=NUMBER,.. --gpus R ..\n"
		"       orrery goodput --learn NAME=VALUE,.. [--batches N,N,..] [-o OUT.csv]\n"
		"\n"
		"Goodput is throughput x statistical efficiency (Pollux, OSDI 2021): useful samples per\n"
		"second of data-parallel training with a given batch. For each point the program chooses the\n"
		"samples per GPU and pass (atomic_bsz) and the additional passes per update (accum_steps) with\n"
		"the greatest goodput, or evaluates given ones. docs/models/jobs-goodput.md has the formulas.\n"
		"\n"
		"APPLICATIONS.csv has the columns application, init_batch_size, max_batch_size,\n"
		"min_local_bsz, max_local_bsz (samples), alpha_c, alpha_n, alpha_r (s), beta_c (s per sample),\n"
		"beta_n, beta_r (s per GPU), gamma. POINTS.csv has application, nodes, replicas (GPUs) and\n"
		"grad_sqr,grad_var or noise_scale; with --evaluate also atomic_bsz and accum_steps. Other\n"
		"columns are ignored. Both files may be compressed with gzip or zstd.\n"
		"\n"
		"--learn measures the noise scale of real SGD on a problem of the learn options (problem, lr,\n"
		"target, ..; batch is M0), predicts the samples to the target loss for each batch, and\n"
		"measures them.\n"
		"\n"
		"options:\n"
		"  --points FILE       the points\n"
		"  --evaluate          take atomic_bsz and accum_steps from the points\n"
		"  --params LIST       one application, by all columns of APPLICATIONS.csv but its name\n"
		"  --application NAME  row of APPLICATIONS.csv\n"
		"  --gpus R, --nodes N GPUs, and the nodes that hold them (default 1)\n"
		"  --noise-scale PHI   gradient noise scale, samples: init_batch_size x grad_var / grad_sqr\n"
		"  --grad-sqr G, --grad-var V\n"
		"                      squared norm of the gradient, and its variance at init_batch_size\n"
		"  --atomic-bsz B, --accum-steps A\n"
		"                      evaluate this choice (default of A: 0)\n"
		"  --learn LIST        parameters of learn: problem=least-squares|logistic|mlp, target=LOSS, ..\n"
		"  --batches LIST      batches to predict and to measure (default: 1, 2, 4, .. 1024)\n"
		"  -o FILE             file for the rows (default: standard output)\n"
		"  --json              rows as JSON on standard output\n"
		"\n"
		"The rows have 17 significant digits. speedup is relative to the greatest goodput on one GPU.\n"
		"goodput and atomic_bsz are 0 if no batch is valid: min_local_bsz x replicas > max_batch_size.\n"
		"\n"
		"Example: the best batch of a small network on 8 GPUs of two nodes:\n"
		"  printf 'application,init_batch_size,max_batch_size,min_local_bsz,max_local_bsz,' >apps.csv\n"
		"  printf 'alpha_c,beta_c,alpha_n,beta_n,alpha_r,beta_r,gamma\\n' >>apps.csv\n"
		"  printf 'net,128,4096,32,1024,0.02,7e-4,0.09,2.5e-3,0.015,1e-4,1.3\\n' >>apps.csv\n"
		"  orrery goodput apps.csv --gpus 8 --nodes 2 --noise-scale 2000\n",
	.run = run_goodput,
};
