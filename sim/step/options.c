/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of `--set step.NAME=VALUE`. */
#include "step/step.h"

#include <string.h>

const struct orr_param step_options[] = { ORR_PARAM_INT("iterations", "20", 1, 10000000, "iterations to report"),
	ORR_PARAM_BOOL("exact", false, "simulate every iteration, without steady-state detection"),
	ORR_PARAM_CHOICE(
		"fidelity", "flow", "flow|analytic", "flow: messages share links max-min fairly; analytic: closed forms, no contention"),
	ORR_PARAM_CHOICE("algorithm", "auto",
		"auto|ring|multi-ring|halving-doubling|double-tree|hierarchical|direct|hierarchical-leader|multi-tree|nvls-tree",
		"algorithm of collectives for which the policy names none; auto: multi-ring where the members of each node use several "
		"NICs, else ring; where it is shorter, an all-reduce takes the time of multi-tree (three nodes or more, or two of NVLink 4 "
		"or "
		"later)"),
	ORR_PARAM_REAL("nic_efficiency", "0.96", 0.01, 1,
		"several NICs of a node: share of a NIC's rate that collectives reach (SimAI's fit of NCCL on 2 to 64 nodes)"),
	ORR_PARAM_BOOL("pxn", true, "all-to-all: a message leaves its node by the NIC of the receiver's rail (NCCL's PXN)"),
	ORR_PARAM_CHOICE(
		"merge", "auto", "auto|on|off", "simulate one lane for all if routes and loads are equal; on: fail if they differ"),
	ORR_PARAM_CHOICE(
		"optimizer", "sgd", "sgd|momentum|adam", "state per parameter: 0, 1 or 2 values, and master copies in mixed precision"),
	ORR_PARAM_REAL("compute_s", "0", 0, 1e6,
		"measured forward + backward time of the whole model for the batch, in s; linear in samples (0: cost model)"),
	ORR_PARAM_REAL("fc_share", "-1", -1, 1, "with compute_s: share of the fully connected layers in it (-1: cost model)"),
	ORR_PARAM_CHOICE("update_cost", "roofline", "roofline|none", "cost of the optimizer's update"),
	ORR_PARAM_TEXT("prices", "",
		"policies that account for money: USD per hour and device by type, such as v100=3.06,t4=0.526; others: the catalogue's"),
	ORR_PARAM_BOOL("ignore_memory", false, "allow a device to hold more than its memory"),
	ORR_PARAM_TEXT("compression", "none",
		"compression of gradients: none, topk:density=0.001, onebit, powersgd:rank=2, each with compress_Bps=.. (0: no time)"),
	ORR_PARAM_CHOICE("interference", "occupancy", "none|occupancy|curve",
		"compute ops that run together on a device: none: full speed; occupancy: slower by the sum of their occupancies above 1; "
		"curve: by interference_curve"),
	ORR_PARAM_REAL("interference_loss", "0", 0, 10, "occupancy: further slow-down per additional op"),
	ORR_PARAM_LIST("interference_curve", "1", "curve: time of 1, 2, .. ops that run together, relative to one alone"),
	ORR_PARAM_TEXT("speeds", "", "relative speeds of devices, such as 3:0.5,7:0.8 (others: 1)"),
	ORR_PARAM_CHOICE("stragglers", "none", "none|lognormal|uniform|exponential",
		"distribution of the factor on each device's work in an iteration; mean 1 + spread for exponential and uniform"),
	ORR_PARAM_REAL("straggler_spread", "0.1", 0, 100, "lognormal: sigma; uniform: 1..1+2x; exponential: 1 + Exp(x)"),
	ORR_PARAM_CHOICE("jitter", "none", "none|lognormal|uniform|exponential",
		"distribution of the factor on each compute op, drawn for each op on its own; laws as for stragglers"),
	ORR_PARAM_REAL("jitter_spread", "0.1", 0, 100, "spread of jitter, as straggler_spread"),
	ORR_PARAM_REAL("contention_p", "0", 0, 1, "probability that a device's NIC is slowed for an iteration"),
	ORR_PARAM_REAL("contention_f", "0.25", 1e-6, 1, "fraction of its capacity that a slowed NIC keeps"),
	ORR_PARAM_TEXT("background", "", "permanent flows, FROM>TO:BYTES_PER_SECOND,.. such as 0>5:1e9,3>2:5e8"),
	ORR_PARAM_FILE("link_changes", "CSV file of capacities over time: time_s,link,bandwidth_Bps"),
	ORR_PARAM_INT("checkpoint_every", "0", 0, 10000000, "a checkpoint after every so many iterations (0: none); needs storage_bw"),
	ORR_PARAM_CHOICE("checkpoint_mode", "sync", "sync|async",
		"sync: training pauses until the checkpoint is written; async: it pauses for the copy to host memory, and the write "
		"proceeds "
		"in the background"),
	ORR_PARAM_REAL("checkpoint_bytes", "12", 1e-3, 1e6,
		"bytes of a checkpoint per parameter (12: FP32 weights and Adam's two moments), written once"),
	ORR_PARAM_INT("checkpoint_nodes", "0", 0, 10000000,
		"the first nodes, which write the checkpoint (0: all nodes share the write, by the state that their devices hold)"),
	ORR_PARAM_TEXT("storage_bw", "", "write bandwidth of the storage, over all nodes, such as 100GBps (bytes) or 800Gbps (bits)"),
	ORR_PARAM_CHOICE("storage_network", "shared", "shared|dedicated",
		"way of a checkpoint: shared: the nodes' NICs, with the messages of training; dedicated: a storage NIC for each node"),
	ORR_PARAM_TEXT("storage_nic_bw", "", "dedicated: bandwidth of a node's storage NIC"),
	ORR_PARAM_TEXT("snapshot_bw", "", "async: rate of a GPU's copy to host memory; empty: the device's PCIe rate"), ORR_PARAM_END };

bool step_draws(const struct orr_args *o)
{
	return strcmp(orr_arg_text(o, "stragglers"), "none") || strcmp(orr_arg_text(o, "jitter"), "none") ||
	       orr_arg_real(o, "contention_p") > 0;
}
