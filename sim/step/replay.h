/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay.h - runs a Chakra execution trace by the rules of ASTRA-sim
 *
 * Each rank has its own graph of nodes. Rules, equations and sources: docs/models/step-traces.md. Two modes of the network: unaware of
 * congestion (a message takes hops x latency + size / bandwidth) and aware of it (store and forward over links, each of which sends one
 * message at a time).
 *
 * Times are whole ns from 0, sizes bytes. A run is deterministic: events of one instant happen in the order of their scheduling.
 */
#ifndef ORR_STEP_REPLAY_H
#define ORR_STEP_REPLAY_H

#include "step/astra.h"
#include "traces/chakra.h"

struct replay_config {
	const struct chakra *trace;
	const struct astra_network *network;
	const struct astra_system *system;
	bool is_aware;    /* congestion-aware: messages wait for busy links */
	bool by_messages; /* simulate each message of a collective also where the mode has a recurrence for all of them (tests) */
	bool check;       /* check conservation laws at run time */
};

struct replay_rank {
	int64_t finish_ns;  /* end of the last node */
	int64_t compute_ns; /* sum over compute nodes of the accelerator */
	int64_t host_ns;    /* sum over nodes of the host slot */
	double sent_bytes;
};
struct replay_result {
	struct replay_rank *rank; /* n entries, owned by the result */
	uint32_t n;
	uint64_t messages;  /* number of messages, those of collectives included */
	uint64_t durations; /* number of collectives without an algorithm, whose durations were taken from the trace */
	uint64_t unread;    /* number of messages without a receive */
};

/* Runs the trace. ORR_EINPUT: the network has not one NPU per rank, ranks disagree about a collective, or nodes wait forever; the error
 * names file, rank and node. */
int replay_run(const struct replay_config *c, struct replay_result *out, struct orr_error *err);
void replay_result_free(struct replay_result *r);

#endif
