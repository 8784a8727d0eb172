/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"
#include "cli/cmd_calib.h"

#include <string.h>

static const char help[] =
	"usage: orrery calib run [--backend B] [--budget S] [--seed N] [-o POINTS.csv]\n"
	"\n"
	"Measures a device by running real kernels on it.\n"
	"\n"
	"  --backend B       cuda, cpu or synthetic (default: cuda if there is a usable GPU, else cpu)\n"
	"  --budget S        seconds to spend (default 60)\n"
	"  --only F,..       these families: launch, gemm, conv, memory, gather, update, attention, copy, collective,\n"
	"                    interference, preemption, learners\n"
	"  --seed N          of shapes, order and input data (default 1)\n"
	"  --threads N       cpu: threads (default: all)\n"
	"  --gpu N           cuda: which GPU (default 0)\n"
	"  --settings X=V,.. synthetic: the law and its noise (t0, a, b, p, noise, spread, drift, outliers)\n"
	"  -o FILE           the points (default: standard output); FILE without .csv and with .device.json says what was\n"
	"                    measured and how\n"
	"  -q, --quiet       no progress\n"
	"\n"
	"example:\n"
	"  orrery calib run --backend cpu --budget 2 --only memory -o points.csv\n";

static int run(int argc, char **argv, struct orr_error *err)
{
	if (argc > 1 && !strcmp(argv[1], "run"))
		return calib_run(argc - 1, argv + 1, err);
	return orr_fail(err, ORR_EINPUT, "calib: expected run; see --help");
}

const struct cli_command cmd_calib = { "calib", "measure a device", help, run };
