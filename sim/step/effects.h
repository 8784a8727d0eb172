/* SPDX-License-Identifier: GPL-3.0-or-later */
/* effects.h - options of training iterations without effect, for the worlds that run iterations: rows of struct world_effect */
#ifndef ORR_STEP_EFFECTS_H
#define ORR_STEP_EFFECTS_H

#include "step/step.h"
#include "world/scenario.h"

#define STEP_NO_NETWORK "no message left a node, and links inside nodes are those of the default"
#define STEP_SAME_ROUTES "its routes have the bandwidths and latencies of the default network"
#define STEP_NO_SHARED_LINK "no message was simulated on a link of these flows"
/* clang-format off */
/* With equal lanes, these flows also prevent merging, so times can differ in the last digits. */
#define STEP_BACKGROUND \
	{ .key = "step.background", .why = STEP_NO_SHARED_LINK, .use = STEP_USED_BACKGROUND | STEP_USED_CHECKPOINT | STEP_USED_LANES }, \
	{ .key = "step.background", .why = STEP_NO_SHARED_LINK, .use = STEP_USED_BACKGROUND | STEP_USED_CHECKPOINT, .is_unsure = true }
#define STEP_NO_CHECKPOINT(name) \
	{ .key = "step." name, .why = "no checkpoint is written: step.checkpoint_every is 0", .needs = "step.checkpoint_every" }
#define STEP_EFFECTS \
	{ .key = "step.algorithm", .why = "every collective takes this algorithm by default, or one that its policy names", \
		.use = STEP_USED_ALGORITHM }, \
	{ .key = "step.algorithm", .why = "its messages between nodes are those of the default", .use = STEP_USED_OTHER_SENDS, \
		.is_unsure = true }, \
	{ .key = "step.nic_efficiency", .why = "no collective used several NICs of a node", .use = STEP_USED_NICS }, \
	{ .key = "step.pxn", .why = "no all-to-all used several NICs of a node", .use = STEP_USED_RAILS }, \
	{ .key = "step.compression", .why = "the policy sends no gradients that can be compressed", .use = STEP_USED_COMPRESSION }, \
	{ .key = "step.ignore_memory", .why = "no device held more than its memory", .use = STEP_USED_MEMORY_LIMIT }, \
	{ .key = "step.prices", .why = "the policy keeps no account of money", .use = STEP_USED_MONEY }, \
	{ .key = "step.fidelity", .why = "no device sent a message", .use = STEP_USED_MESSAGES }, \
	{ .key = "step.exact", .why = "no steady state was found: every iteration is simulated in any case", .use = STEP_USED_STEADY_STATE }, \
	{ .key = "step.merge", .why = "the policy does not describe equal lanes", .use = STEP_USED_LANES }, \
	{ .key = "step.contention_p", .why = "it slowed no NIC in the simulated iterations", .use = STEP_USED_SLOWED_NIC, .is_unsure = true }, \
	{ .key = "step.contention_f", .why = "no NIC is slowed: step.contention_p is 0", .needs = "step.contention_p" }, \
	{ .key = "step.straggler_spread", .why = "no device is slowed: step.stragglers is none", .needs = "step.stragglers" }, \
	{ .key = "step.jitter_spread", .why = "no op has jitter: step.jitter is none", .needs = "step.jitter" }, \
	{ .key = "step.interference", .why = "no two compute ops ran together on a device", .use = STEP_USED_CORUN }, \
	{ .key = "step.interference_loss", .why = "step.interference is not occupancy", .needs = "step.interference=occupancy" }, \
	{ .key = "step.interference_loss", .why = "no two compute ops ran together on a device", .use = STEP_USED_CORUN }, \
	STEP_NO_CHECKPOINT("checkpoint_mode"), STEP_NO_CHECKPOINT("checkpoint_bytes"), STEP_NO_CHECKPOINT("checkpoint_nodes"), \
	STEP_NO_CHECKPOINT("storage_bw"), STEP_NO_CHECKPOINT("storage_network"), STEP_NO_CHECKPOINT("storage_nic_bw"), \
	STEP_NO_CHECKPOINT("snapshot_bw"), \
	{ .key = "step.interference_curve", .why = "step.interference is not curve", .needs = "step.interference=curve" }, \
	{ .key = "step.interference_curve", .why = "no two compute ops ran together on a device", .use = STEP_USED_CORUN }, \
	{ .key = "cost.setup", .why = "cost.measured is false", .needs = "cost.measured=true" }
/* clang-format on */

#endif
