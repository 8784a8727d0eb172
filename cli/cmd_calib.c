/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery calib: measure, fit, show, compare, scale, check */
#include "cli/cmd_calib.h"

#include "base/param.h"
#include "cli/cli.h"

#include <string.h>

static const char help[] =
	"usage: orrery calib run [--backend B] [--budget S] [--only F,..] [--seed N] [-o POINTS.csv]\n"
	"       orrery calib fit POINTS.csv [--device NAME] [-o PROFILE.json]\n"
	"       orrery calib fit --from KIND TABLE.csv [--from KIND TABLE.csv ..] [--select TEXT] --device NAME [-o PROFILE.json]\n"
	"       orrery calib list\n"
	"       orrery calib show PROFILE [--out DIR]\n"
	"       orrery calib diff PROFILE PROFILE\n"
	"       orrery calib scale PROFILE --to GPU [--known A,B] [-o PROFILE.json]\n"
	"       orrery calib check PROFILE [--points POINTS.csv]\n\n"
	"  run    measures a device with real kernels\n"
	"  fit    fits laws to measured points or to published tables of kernel times\n"
	"  list   the profiles that ship with the program\n"
	"  show   the laws of a profile: parameters with 95 % intervals, errors, ranges; --out draws figures\n"
	"  diff   compares the times of two profiles, law by law\n"
	"  scale  derives a profile of a device that was not measured, by wave scaling, with its error\n"
	"  check  refuses a profile that contradicts its data sheet; with points, gives the errors of its laws\n\n"
	"PROFILE is a name from the list, or a file whose name ends in .json.\n\n"
	"Measuring:\n"
	"  --backend B       cuda, cpu or synthetic (default: cuda if there is a usable GPU, else cpu)\n"
	"  --budget S        seconds to spend (default 60)\n"
	"  --only F,..       only these families: launch, gemm, conv, memory, gather, update, attention, copy, collective,\n"
	"                    interference, preemption, learners\n"
	"  --seed N          seed of shapes, order and input data (default 1)\n"
	"  --threads N       cpu: threads (default: all)\n"
	"  --gpu N           cuda: number of the GPU (default 0)\n"
	"  --settings LAW    synthetic: t0=1e-5,noise=0.02 and the like (t0, a, b, p, noise, spread, drift, outliers;\n                    "
	"hot: factor of throttling from hot_from to hot_to; lost: s at which the device fails)\n"
	"  -o FILE           CSV file of the points, written as they are measured (default: standard output);\n                    "
	"NAME.device.json beside NAME.csv describes the device and the measurement\n"
	"  -q, --quiet       print no progress\n\n"
	"Fitting:\n"
	"  --from KIND       format of the next table: deepbench, vidur-mlp, vidur-net, nccl, copy, mamf, or\n"
	"                    images (alone: one efficiency from the images/s of networks)\n"
	"  --select TEXT     only rows of devices whose name begins with TEXT\n"
	"  --device NAME     the device's name in the catalogue (default: that of the points)\n"
	"  --name NAME       name of the profile (default: the device's)\n"
	"  --source TEXT     source of the points\n"
	"  --date DATE       date of the measurement\n"
	"  --note TEXT       remarks for the reader\n"
	"  --no-points       do not store the points in the profile\n\n"
	"Others:\n"
	"  --to GPU          scale: the device's name in the catalogue\n"
	"  --known A,B       scale: profiles of two measured devices; scaling A to B gives the error\n"
	"                    (default: p100,v100; none: no error is given)\n"
	"  --points FILE     check: measured points\n"
	"  --out DIR         show: figures\n\n"
	"Example:\n"
	"  orrery calib run --backend cpu --budget 2 --only memory -o points.csv\n"
	"  orrery calib show v100\n";

static int run(int argc, char **argv, struct orr_error *err)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv, struct orr_error *err);
	} verbs[] = { { "run", calib_run }, { "fit", calib_fit }, { "list", calib_list }, { "show", calib_show }, { "diff", calib_diff },
		{ "scale", calib_scale }, { "check", calib_check } };
	enum { VERBS = sizeof verbs / sizeof *verbs };
	const char *names[VERBS + 1] = { NULL };
	for (size_t i = 0; i < VERBS; i++) {
		names[i] = verbs[i].name;
		if (argc > 1 && !strcmp(argv[1], verbs[i].name))
			return verbs[i].run(argc - 1, argv + 1, err);
	}
	const char *near = argc > 1 ? nearest_name(argv[1], names) : NULL;
	return orr_fail(err, ORR_EINPUT,
		"calib: expected run, fit, list, show, diff, scale or check%s%s%s; 'orrery calib --help' shows the forms",
		near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

const struct cli_command cmd_calib = { "calib", "measure devices, fit profiles, show and compare them", help, run, NULL };
