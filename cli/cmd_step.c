/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery step */
#include "cli/request.h"

static const char help[] = "usage: orrery step MODEL --cluster SPEC|FILE --policy A[,B..] [OPTIONS]\n\n"
			   "Runs training iterations of a deep neural network under each step policy (how workers\n"
			   "synchronise, overlap and split the work) and compares them.\n\n"
			   "  MODEL                a name (resnet50, bert-large, ..), a transformer by its dimensions\n"
			   "                       (gpt:hidden=12288,layers=96,heads=96,seq=2048,vocab=51200) or a file\n"
			   "  --cluster C          NODESxGPUS:TYPE[:racks=N],.. or a CSV or JSON file; TYPE is a device\n"
			   "  --policy LIST        names (orrery policy list) or plugins (./mine.so); NAME@LABEL runs\n"
			   "                       one again under another label\n"
			   "  --batch N            samples per GPU and iteration (default 32)\n"
			   "  --network N          star, racks, leaf-spine, fat-tree, torus, full-mesh or ring, with\n"
			   "                       options (star:bw=10Gbps,lat=5us), or a JSON file (default star)\n"
			   "  --device NAME        what every GPU is, whatever its type says: a name or a file\n"
			   "  --precision P        fp32, tf32, fp16, bf16 or fp8\n"
			   "  --profile P          laws that times of kernels go by: auto (default: the profile that ships\n"
			   "                       for the device, if any), none (data sheet only), a name or a file\n"
			   "  --cost-samples N     draw the profile's laws N times from their covariance: throughput and\n"
			   "                       time of an iteration get 95 % intervals\n"
			   "  --set PATH=VALUE     change one value: step.OPTION, cost.OPTION, learn.OPTION (then real SGD\n"
			   "                       follows the schedule), policy.NAME.PARAM, or a key of the scenario\n"
			   "                       (repeatable)\n"
			   "  --timeline FILE      the last iterations in Trace Event format, for ui.perfetto.dev\n" REQUEST_COMMON_HELP
			   "\nExample: how much a parameter server costs, on four machines with 10 Gb/s between them:\n"
			   "  orrery step vgg16 --cluster 4x1:v100 --network star:bw=10Gbps \\\n"
			   "    --policy parameter-server,allreduce --timeline vgg16.json\n";

static int run(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	int rc = request_parse(argc, argv, REQUEST_STEP, &r, err);
	if (!rc && !r.source)
		rc = orr_fail(err, ORR_EINPUT, "step: no MODEL given (resnet50, or a file); see --help");
	if (!rc) {
		request_put(&r, "world", "step");
		request_put(&r, "model", r.source);
		rc = request_apply_sets(&r, err);
	}
	if (!rc)
		rc = study_run(r.scenario, &r.output, err);
	request_free(&r);
	return rc;
}

const struct cli_command cmd_step = { "step", "run training iterations of a model under several step policies", help, run };
