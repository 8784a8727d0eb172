/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery spot */
#include "cli/request.h"

static const char help[] =
	"usage: orrery spot TRACE --job NAME|FILE --policy A[,B..] [OPTIONS]\n"
	"       orrery spot [TRACE] --scenario FILE --policy A[,B..] [OPTIONS]\n\n"
	"Trains an elastic job on capacity that comes and goes under each policy, and compares what\nit got done and what it paid.\n\n"
	"  TRACE                a file of instances that come and go (gzip and zstd too, - is standard\n"
	"                       input), one per zone as zones:us-a=FILE,us-b=FILE, or a generator:\n"
	"                       hazard:p=0.1 and others (orrery trace list)\n"
	"  --format F           bamboo, gcp-polls, step-curve, parcae-counts, parcae-segment, skypilot,\n"
	"                       availability or auto\n"
	"  --scenario FILE      a scenario below these options, which go before what it says\n"
	"  --job J              what is trained: a name (orrery model list --elastic) or FILE.json\n"
	"  --prices FILE        spot prices over time by zone: a file or the generator price:..\n"
	"                       (default: those of the trace, else spot.price); what the trace says that\n"
	"                       an instance is got for goes before\n"
	"  --policy LIST        names (orrery policy list --kind spot) or plugins (./mine.so); NAME@LABEL\n"
	"                       runs one again under another label\n"
	"  --replications N     run N times with other random numbers: means with t-intervals (default 1)\n"
	"  --repair             put the trace's rows in order and leave out those that cannot be, and say\n"
	"                       which; without it they are errors\n"
	"  --exact              an event for each step instead of steps between events in one go; the\n"
	"                       results are the same, to the bit\n"
	"  --set PATH=VALUE     change one value: spot.OPTION, policy.NAME.PARAM, trace_options.NAME,\n"
	"                       or a key of the scenario (repeatable)\n" REQUEST_JOBS_HELP REQUEST_COMMON_HELP
	"\nExample: a day in which a tenth of the instances goes each hour, and what that costs:\n"
	"  orrery spot hazard:p=0.1,slots=48,length=1d --job bamboo-bert --policy on-demand,bamboo \\\n"
	"    --set spot.price=0.92 --set spot.on_demand_price=3.06\n";

static int run(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	int rc = request_parse(argc, argv, REQUEST_SPOT | REQUEST_VERB, &r, err);
	if (!rc && !r.source && !r.file)
		rc = orr_fail(err, ORR_EINPUT, "spot: no TRACE given (a file, or a generator such as hazard:p=0.1); see --help");
	if (!rc)
		rc = request_complete(&r, "spot", err);
	if (!rc)
		rc = study_run(r.scenario, &r.output, err);
	if (rc && r.file)
		request_name_file(&r, err);
	request_free(&r);
	return rc;
}

const struct cli_command cmd_spot = { "spot", "train on capacity that comes and goes, and what it costs", help, run };
