/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * isolated.h - memory shared by the child that runs a plugin and the process that reads the results; only for isolate.c and
 * isolated.c
 */
#ifndef ORR_WORLD_ISOLATED_H
#define ORR_WORLD_ISOLATED_H

#include "engine/watch.h"
#include "world/isolate.h"

#include <stdalign.h>
#include <stdatomic.h>

enum isolated_outcome { ISOLATED_NONE, ISOLATED_RESULT, ISOLATED_ERROR };

/* Header of the shared memory. The results, their texts and the state of the world start at ISOLATED_BEGIN. */
struct isolated_page {
	atomic_int outcome;      /* enum isolated_outcome */
	_Atomic(double) done;    /* completed share of the run */
	atomic_bool is_overflow; /* the stack overflowed */
	uint64_t result_bytes, text_bytes, state_bytes;
	struct orr_error error;
	atomic_bool is_stopping; /* set by the asking process: the run is to end */
	alignas(16) char watch[WATCH_PLACES * WATCH_SIZE];
};
enum { ISOLATED_BEGIN = 4096 };

struct isolated_task {
	struct scenario *scenario;
	size_t policy;
	uint32_t replication;
	isolate_work work; /* instead of a run; NULL: a run */
	size_t n_out;
	alignas(16) char in[ISOLATE_IN];
};

/* Runs the task in this process, a fresh child, and ends the process. memory: file that begins with a struct isolated_page, all zero. */
_Noreturn void isolated_main(const struct isolated_task *t, int memory);

#endif
