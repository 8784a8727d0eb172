/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"
#include "cli/cmd_trace.h"

#include "base/param.h"

#include <stdio.h>
#include <string.h>

static const char help[] = "usage: orrery trace info FILE [--json]\n"
			   "       orrery trace convert FILE -o OUT [--to FORMAT] [--sort]\n"
			   "       orrery trace slice FILE -o OUT [--from T] [--until T] [--count N] [--sample P]\n"
			   "                    [--queue Q] [--user U] [--gpus LO-HI] [--rebase] [--to FORMAT] [--sort]\n"
			   "       orrery trace synth MODEL[:name=value,..] -o OUT [--seed N] [--to FORMAT]\n"
			   "       orrery trace get [NAME|URL] [-o FILE] [--mirror URL] [--sha256 HASH]\n"
			   "       orrery trace list\n"
			   "\n"
			   "Describes traces of jobs, of requests and of instance availability; converts formats,\n"
			   "selects rows, generates synthetic traces, downloads published ones (without a name: lists\n"
			   "them). FILE may be compressed with gzip or zstd; '-' is standard input or output.\n"
			   "\n"
			   "  --format F      format of FILE (default: detected)\n"
			   "  -O NAME=VALUE   an option of the format ('trace list' shows them)\n"
			   "  --map LIST      columns of any CSV or TSV, OURS=THEIRS,..: submit=created_at,gpus=num_gpu,\n"
			   "                  duration=elapsed (the error about an unknown file suggests a list)\n"
			   "  --repair        leave wrong rows out and count them; without it they are errors\n"
			   "  --json          info: everything as JSON, long lists in full\n"
			   "  -o OUT          file to write; .gz and .zst are compressed (default: standard output)\n"
			   "  --to FORMAT     jobs: orrery (default), tiresias or swf; requests: requests;\n"
			   "                  instances: availability\n"
			   "  --sort          sort rows by submission; wall-clock traces are always sorted and start at 0\n"
			   "  --from, --until keep submissions in [from, until), e.g. 36h or 90000\n"
			   "  --count N       keep the first N\n"
			   "  --sample P      keep each row with probability P (see --seed)\n"
			   "  --queue, --user, --gpus  keep rows of one queue, one user, a range of GPUs\n"
			   "  --rebase        the first row kept is at time 0\n"
			   "  --seed N        seed of random numbers (default 1)\n"
			   "  --mirror URL    get: the folder of a server that has copies of the published files\n"
			   "  --sha256 HASH   get URL: expected hash of the file; those of published traces are known\n"
			   "\n"
			   "Some models generate jobs or requests: 'synth poisson --to requests' and 'info poisson --format\n"
			   "requests' select requests, which are written in order of arrival. A slice of instances starts at\ntime 0 with "
			   "the instances available at that time. zones:us-a=FILE,us-b=FILE names several files of instances.\n"
			   "\n"
			   "example:\n"
			   "  orrery trace synth philly-like:days=7 -o week.csv.gz && orrery trace info week.csv.gz\n";

static int run_trace(int argc, char **argv, struct orr_error *err)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv, struct orr_error *err);
	} verbs[] = { { "info", trace_info }, { "convert", trace_convert }, { "slice", trace_convert }, { "synth", trace_synth },
		{ "get", trace_get }, { "list", trace_list } };
	const char *names[8] = { NULL };
	if (argc < 2)
		return orr_fail(err, ORR_EINPUT, "trace: expected a verb, such as \"info\"; 'orrery trace --help' shows the forms");
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (!strcmp(argv[1], verbs[i].name))
			return verbs[i].run(argc - 1, argv + 1, err);
		names[i] = verbs[i].name;
	}
	const char *near = nearest_name(argv[1], names);
	return orr_fail(err, ORR_EINPUT, "trace: unknown verb \"%.60s\": %s%s%s", argv[1],
		near ? "did you mean \"" : "expected info, convert, slice, synth, get or list", near ? near : "", near ? "\"?" : "");
}

const struct cli_command cmd_trace = { "trace", "describe, convert, select, generate and download traces", help, run_trace, NULL };
