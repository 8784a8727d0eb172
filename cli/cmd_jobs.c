/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery jobs */
#include "cli/request.h"

static const char help[] =
	"usage: orrery jobs TRACE --cluster SPEC|FILE --policy A[,B..] [OPTIONS]\n\n"
	"Replays a trace of cluster jobs under each policy and compares them.\n\n"
	"  TRACE                a file (gzip and zstd too, - is standard input) or a generator:\n"
	"                       philly-like, openb-like, lublin, tiresias-like, poisson:rate=..,n=..\n"
	"  --format F           philly, tiresias, gavel, muri, openb, swf, orrery or auto\n"
	"  --cluster C          NODESxGPUS:TYPE[:cpus=N][:mem=GIB][:racks=N],.. or a CSV or JSON file\n"
	"  --placement P        count, consolidate, spread, best-fit, topology or fgd\n"
	"  --policy LIST        names (orrery policy list) or plugins (./mine.so); NAME@LABEL runs\n"
	"                       one again under another label\n"
	"  --throughputs FILE   rates by GPU type and job type (Gavel's JSON)\n"
	"  --network N          of jobs that name a strategy (docs/traces.md): as in orrery step, star,\n"
	"                       racks, leaf-spine, fat-tree, .. with options, or a JSON file\n"
	"  --sharing WHAT       what such jobs on one link leave each other: off, analytic (default)\n"
	"                       or simulated\n"
	"  --batch N            their samples per GPU and iteration, where the trace says none\n"
	"  --precision P        fp32, tf32, fp16, bf16 or fp8\n"
	"  --device NAME        what every GPU is, whatever its type says: a name or a file\n"
	"  --profile P          laws that times of kernels go by: auto (default), none, a name or a file\n"
	"  --cost-samples N     draw the profile's laws N times: makespan, JCT and waits get intervals\n"
	"  --failures FILE      nodes that fail and come back: time_s,node,event\n"
	"  --capacity SOURCE    nodes are there while an instance of this trace or generator is: they come,\n"
	"                       go and cost (--set capacity.startup=.., notice, price, prices, options)\n"
	"  --drop-unfit         leave out jobs that can never be placed, instead of an error\n"
	"  --set PATH=VALUE     change one value: jobs.OPTION, policy.NAME.PARAM, failures.NAME,\n"
	"                       trace_options.NAME, or a key of the scenario (repeatable)\n" REQUEST_JOBS_HELP REQUEST_COMMON_HELP
	"\nExample: three policies on a synthetic month, with a database and figures:\n"
	"  orrery jobs philly-like --cluster 64x8:v100 --policy fifo,srtf,las --db runs.db --out out\n";

static int run(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	int rc = request_parse(argc, argv, REQUEST_JOBS, &r, err);
	if (!rc && !r.source)
		rc = orr_fail(err, ORR_EINPUT, "jobs: no TRACE given (a file, or a generator such as philly-like); see --help");
	if (!rc) {
		request_put(&r, "trace", r.source);
		rc = request_apply_sets(&r, err);
	}
	if (!rc)
		rc = study_run(r.scenario, &r.output, err);
	request_free(&r);
	return rc;
}

const struct cli_command cmd_jobs = { "jobs", "replay a trace of cluster jobs under several policies", help, run };
