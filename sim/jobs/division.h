/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * division.h - divides a wait by the class of its request and by the runs that held the GPUs; for causes.c
 *
 * docs/howto/explain.md states the rules. Parts are indexes in the log of jobs, so that a part which many jobs share is formed once.
 */
#ifndef ORR_JOBS_DIVISION_H
#define ORR_JOBS_DIVISION_H

#include "jobs/lack.h"
#include "jobs/world.h"
#include "results/parts.h"

/* Limits on the stretches of one wait, and on the jobs that are blamed in turn for one stretch. */
enum { MOST_STRETCHES = 24, MOST_IN_TURN = 16 };

/* A class of a request, from `since` to the next entry. asked, free: amounts when the class was last computed. turned_by: the run whose end
 * gave the request this class; NONE: another event. part: index of the part of the log that blames the run `blamed`, with these amounts;
 * NONE: not known yet. */
struct stretch {
	int64_t since;
	enum lack lack;
	uint32_t asked, free, turned_by, blamed, part;
};

struct causes_line {
	struct stretch *v;
	uint32_t n, cap;
	uint32_t waiting;   /* number of waiting jobs with this request */
	uint32_t active_at; /* index in causes.active */
};

/* What holds GPUs: a run of a job (slot), a node that is down, or another world. The number is PART_ALONE for another world, else that of
 * the job or node. before: the run whose end let this one start. part: index of the part of the log that blames this run, without amounts;
 * NONE: not known yet. */
struct causes_run {
	const char *holder;
	uint64_t number;
	int64_t start, end;
	uint32_t before, slot, part;
};

/* The reason that the policy stated last for all jobs that fit (orr_why()). */
struct reason {
	int64_t since;
	enum orr_why_kind kind;
	uint64_t number; /* PART_ALONE: no job is blamed */
	const char *text;
	uint32_t part; /* index of its part of the log; NONE: not known yet */
};

/* What a policy states; each partition has its own policy. */
struct stance {
	struct reason *reason;
	uint32_t n_reasons, cap_reasons;
	bool is_ordered, has_first; /* is_ordered: the policy starts jobs strictly in order */
	uint64_t first;             /* number of the first job in this order */
	orr_job first_job;
};

/* Parts of one wait, last first. part: index in the log. */
struct division {
	struct partlog *log;
	struct causes_run *run; /* all runs */
	const struct stance *policy;
	const char *quota; /* cause of waits for a quota */
	uint32_t in_turn;  /* index of the part of earlier jobs */
	uint32_t n;
	struct {
		int64_t begin, end;
		uint32_t part;
	} v[MOST_STRETCHES + MOST_IN_TURN + 4];
};

static inline struct part part_of(enum part_kind kind, const char *cause, uint64_t number)
{
	return (struct part){ .kind = kind, .cause = cause, .number = number };
}

void division_put(struct division *d, int64_t begin, int64_t end, const struct part *what);
/* As division_put(), for a part that few waits have. */
void division_put_new(struct division *d, int64_t begin, int64_t end, const struct part *what);
/* Divides [from, to) by the class of the request; r: the run whose end ended the wait. */
void division_put_classes(struct division *d, const struct causes_line *l, int64_t from, int64_t to, uint32_t r);

#endif
