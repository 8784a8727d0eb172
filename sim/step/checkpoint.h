/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * checkpoint.h - checkpoints of training (step.checkpoint_every)
 *
 * A checkpoint is a barrier: it begins when iteration k, after which it is due, and all earlier ones have ended, and no op of a later
 * iteration starts before the pause is over. The pause is the last part of iteration k, as an op that all its other ops precede.
 *
 * Iterations between checkpoints that repeat are skipped. The executor then continues with the next number, so numbers and times
 * within the run are smaller than those of the result; `skip` has the difference. Invariant: without skips and cycles the run has the same
 * results up to rounding (step.exact).
 */
#ifndef ORR_STEP_CHECKPOINT_H
#define ORR_STEP_CHECKPOINT_H

#include "step/world.h"

enum pause { PAUSE_NONE, PAUSE_DUE, PAUSE_WAIT, PAUSE_SNAPSHOT, PAUSE_WRITE, PAUSE_OVER };

/* Times of one checkpoint. */
struct checkpoint_time {
	double pause_s, write_s;
};

/* `count` iterations, a multiple of `period`, that were skipped before the row `at`. */
struct skip {
	uint64_t at, count;
	uint32_t period;
	double time_s;
};

/* A flow of the write in progress. */
struct writing {
	uint32_t slot;                    /* in going[]; NONE: it has ended */
	double left[STEP_MAX_PERIOD + 1]; /* bytes left at the end of iteration k, [k % (STEP_MAX_PERIOD + 1)] */
};

struct checkpoint {
	uint64_t every;
	double bytes, snapshot_s, alone_s; /* alone_s: time of a write that no other flow disturbs */
	bool is_async, is_dedicated;
	bool in_network; /* a write is flows of the run's network; otherwise it takes alone_s */
	/* The pause. */
	enum pause state;
	struct iteration *of; /* iteration that ends with the pause, and the last of its ops to end */
	uint32_t instance;
	double due_s, copy_s;   /* begin of the pause; of the copy or the write in it */
	uint64_t gate, is_over; /* number + 1 of the last iteration that was built with a checkpoint; that ended; 0: none */
	/* The write. */
	bool is_writing;
	struct writing *flow;
	uint32_t n_flows, cap_flows, flows_left;
	uint32_t timers;                    /* number of timers that skips have replaced */
	double write_from_s, write_until_s; /* begin of the last write; its end, if it is no flows */
	double changed_s;                   /* last time at which a write or one of its flows began or ended */
	/* By checkpoint. */
	struct checkpoint_time *time;
	size_t n, cap, n_written;
	/* Skipped iterations. */
	uint64_t skipped_n, since; /* since: row of the first iteration after the last pause */
	double skipped_s;
	struct skip *skip;
	size_t n_skips, cap_skips;
	/* The cycle: checkpoints mark + 1 .. mark + cycle take the same times as all later ones. */
	uint64_t mark, cycle, end; /* 0: not found; end: number of rows of the run up to the end of the cycle */
	struct usage *mark_total, *usage;
};

/* ---- storage.c ---- */
/* Reads the options and adds the links. Returns the code of s->error. */
int storage_begin(struct orr_step *s);
double storage_alone_s(struct orr_step *s); /* INFINITY: a link has zero capacity */
void storage_write(struct orr_step *s);     /* starts the flows of a write: checkpoint.flow */
double storage_left(const struct orr_step *s, uint32_t slot);
/* Reduces the bytes that a flow has left. */
void storage_shorten(struct orr_step *s, uint32_t slot, double bytes);

/* ---- checkpoint.c ---- */
/* After create(): makes s->checkpoint if a checkpoint is due within the run. Returns the code of s->error. */
int checkpoint_new(struct orr_step *s);
void checkpoint_free(struct orr_step *s);
/* Decides whether a checkpoint follows an iteration that was just built, and whether it waits for the pause of an earlier one. */
void checkpoint_built(struct orr_step *s, struct iteration *k);
/* All other ops of k have ended; i was the last. */
void checkpoint_due(struct orr_step *s, struct iteration *k, uint32_t i);
/* Continues the pause; returns whether it is over. */
bool checkpoint_proceed(struct orr_step *s);
void checkpoint_flow_ended(struct orr_step *s, uint32_t flow);
void checkpoint_timer(struct orr_step *s, uint32_t what);
/* The iteration that ended with the pause has its row. Returns whether the run may stop, because all later iterations repeat. */
bool checkpoint_over(struct orr_step *s);
/* Notes the bytes left of a write. Called at the end of each iteration. */
void checkpoint_row(struct orr_step *s);
/* Skips iterations that repeat with this period, up to the next checkpoint or the end of a flow of a write. */
void checkpoint_skip(struct orr_step *s, uint32_t period);

/* ---- checkpoint_result.c ---- */
/* Returns the number of iterations after which the checkpoints and the policy repeat together; if the policy never repeats, the
 * checkpoints. */
uint64_t checkpoint_period(const struct orr_step *s);
/* Returns the difference between an iteration's number and time in the result and in the run. */
struct skip checkpoint_offset(const struct checkpoint *c, uint64_t number);
/* Replaces the rows of the run by those of the result, up to the end of the cycle. */
void checkpoint_rows(struct orr_step *s);
void checkpoint_result(const struct orr_step *s, struct step_result *out);

static inline bool checkpoint_is_writing(const struct orr_step *s)
{
	return s->checkpoint && s->checkpoint->is_writing;
}

#endif
