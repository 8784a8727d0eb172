/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery sweep */
#include "cli/cli.h"
#include "cli/series.h"

#include "base/outfile.h"
#include "base/num.h"
#include "study/sweep.h"
#include "study/sweep_schema.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: orrery sweep STUDY.json [OPTIONS]\n\n"
	"Runs a study: scenarios of any world at many points, with searches for a limit and for bends of a\n"
	"curve. Prints a row per point and policy (docs/reference/studies.md).\n\n"
	"  --db FILE            store the runs in this database; an interrupted study continues there\n"
	"  --out DIR            folder for study.csv: all metrics of all runs\n"
	"  --dry-run            print the number of points and runs, and the expected time and bytes\n"
	"  --fresh              repeat runs that the database already has\n"
	"  --retry              repeat runs that failed; else the database keeps them as failed\n"
	"  --check              verify the conservation laws at run time\n"
	"  --in-process         plugins run in the process of orrery, for a debugger\n"
	"  --json               print JSON instead of the table\n"
	"  --table FORMAT       form of the printed table: text, markdown, latex, csv or json (as --json)\n"
	"  -j N                 number of runs in parallel (default: all cores)\n"
	"  -q                   errors only: no table, no progress\n"
	"  --shard K/N          run the K-th of N equal parts of the study, into DB.shard-K-of-N\n"
	"  --merge              merge the shards of --db into it first\n"
	"  --status             print what the parts of --db have done: runs, failures, time left\n"
	"  --slurm N            submit the study as a Slurm array of N tasks (-j N: threads of each);\n"
	"                       with --dry-run: print the script\n"
	"  --sbatch OPTIONS     options of sbatch for these jobs, such as '-p long -t 60'\n"
	"  --schema             print the JSON Schema of studies\n"
	"\nUnder mpirun or srun --mpi=pmix each rank runs a part (configure --with-mpi).\n"
	"\nExample:\n"
	"  echo '{\"axes\": {\"load\": [0.5, 1, 2]}, \"runs\": {\"philly\": {\"axes\": [\"load\"], \"scenario\":' \\\n"
	"    '{\"trace\": \"philly-like:n=500,load=${load}\", \"cluster\": \"16x8\", \"policies\": [\"fifo\", \"srtf\"]}}}}' \\\n"
	"    > load.json\n"
	"  orrery sweep ./load.json --db load.db -j 2\n";

enum { OPT_OUT = SERIES_OWN, OPT_JSON, OPT_DRY_RUN, OPT_RETRY, OPT_SHARD, OPT_MERGE, OPT_SLURM, OPT_SBATCH, OPT_SCHEMA, OPT_STATUS };

struct sweep_command {
	struct sweep_request request;
	struct slurm_job slurm;
	bool is_schema; /* --schema */
};

static int read_tasks(const char *text, unsigned *out, struct orr_error *err)
{
	int64_t n;
	if (!num_int(text, strlen(text), &n) || n < 1 || n > 100000)
		return orr_fail(err, ORR_EINPUT, "--slurm %.40s: expected the number of tasks, 1 to 100000", text);
	*out = (unsigned)n;
	return ORR_OK;
}

static int take_flag(void *ctx, int opt, const char *value, struct orr_error *err)
{
	struct sweep_command *c = ctx;
	struct sweep_request *r = &c->request;
	if (opt == OPT_OUT)
		r->output.out_dir = value;
	else if (opt == OPT_JSON)
		r->output.json = true;
	else if (opt == OPT_DRY_RUN)
		r->is_dry = true;
	else if (opt == OPT_RETRY)
		r->is_retry = true;
	else if (opt == OPT_SHARD)
		return share_parse(value, &r->share, err);
	else if (opt == OPT_MERGE)
		r->is_merge = true;
	else if (opt == OPT_SLURM)
		return read_tasks(value, &c->slurm.tasks, err);
	else if (opt == OPT_SBATCH)
		c->slurm.options = value;
	else if (opt == OPT_STATUS)
		r->is_status = true;
	else if (opt == OPT_SCHEMA)
		c->is_schema = true;
	return ORR_OK;
}

static int parse(int argc, char **argv, struct sweep_command *c, struct orr_error *err)
{
	static const struct option own[] = { { "out", 1, NULL, OPT_OUT }, { "json", 0, NULL, OPT_JSON },
		{ "dry-run", 0, NULL, OPT_DRY_RUN }, { "retry", 0, NULL, OPT_RETRY }, { "shard", 1, NULL, OPT_SHARD },
		{ "merge", 0, NULL, OPT_MERGE }, { "slurm", 1, NULL, OPT_SLURM }, { "sbatch", 1, NULL, OPT_SBATCH },
		{ "schema", 0, NULL, OPT_SCHEMA }, { "status", 0, NULL, OPT_STATUS }, { NULL, 0, NULL, 0 } };
	const struct series_flags s = { own, take_flag, c };
	int rc = series_parse(argc, argv, &s, &c->request.output, &c->request.path, err);
	return rc || c->request.path || c->is_schema
		       ? rc
		       : orr_fail(err, ORR_EINPUT, "sweep: expected the name of one study file; 'orrery sweep --help' shows the forms");
}

/* Refuses options that another option, or its absence, leaves without effect. */
static int check_effects(const struct sweep_command *c, struct orr_error *err)
{
	static const char table[] = "it without --dry-run, --status, --shard and --slurm, which print no table";
	const struct sweep_request *r = &c->request;
	bool has_table = !r->is_dry && !r->is_status && !r->share.count && !c->slurm.tasks;
	const struct {
		const char *option;
		bool is_unused;
		const char *expected;
	} list[] = { { "--merge", r->is_merge && r->share.count, "it without --shard, after all shards have run" },
		{ "--retry", r->is_retry && !r->output.db, "--db FILE too" },
		{ "--fresh", r->output.fresh && !r->output.db, "--db FILE too" },
		{ "--sbatch", c->slurm.options && !c->slurm.tasks, "--slurm N too" }, { "--out", r->output.out_dir && !has_table, table },
		{ "--json", r->output.json && !has_table, table } };
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i].is_unused)
			return orr_fail(err, ORR_EINPUT, "%s: this option has no effect: expected %s", list[i].option, list[i].expected);
	return ORR_OK;
}

static int by_slurm(struct sweep_command *c, struct orr_error *err)
{
	struct sbuf script = { 0 };
	c->slurm.study = c->request.path;
	c->slurm.db = c->request.output.db;
	c->slurm.threads = c->request.output.threads;
	c->slurm.is_retry = c->request.is_retry;
	c->slurm.is_fresh = c->request.output.fresh;
	c->slurm.is_check = c->request.output.check;
	c->slurm.is_in_process = c->request.output.in_process;
	if (!c->slurm.db)
		return orr_fail(err, ORR_EINPUT, "--slurm: expected also --db FILE, with a file in a folder that all nodes can access");
	if (!c->request.is_dry)
		return slurm_submit(&c->slurm, err);
	slurm_script(&script, &c->slurm);
	fputs(sbuf_text(&script), stdout);
	sbuf_free(&script);
	return outfile_flush_stdout(err);
}

static int run(int argc, char **argv, struct orr_error *err)
{
	struct sweep_command c = { .request = { 0 } };
	int rc = parse(argc, argv, &c, err);
	if (rc)
		return rc;
	if (c.is_schema) {
		fputs(sweep_schema, stdout);
		return outfile_flush_stdout(err);
	}
	rc = check_effects(&c, err);
	if (rc)
		return rc;
	return c.slurm.tasks ? by_slurm(&c, err) : study_sweep(&c.request, err);
}

const struct cli_command cmd_sweep = { "sweep", "run a study: many points, searches, one table", help, run, NULL };
