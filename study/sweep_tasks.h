/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sweep_tasks.h - what a study runs, in order: its points and searches
 *
 * Invariant: a listed or drawn point takes two bytes of memory, so a study can have very many; searches are kept.
 */
#ifndef ORR_STUDY_SWEEP_TASKS_H
#define ORR_STUDY_SWEEP_TASKS_H

#include "base/search.h"
#include "study/figures.h"

#include <stdint.h>

/* What is run next: all policies at a point, or the policy of a search at its next value. */
struct task {
	size_t number; /* in the order of the study */
	struct book_run *run;
	size_t point;
	size_t policies;  /* number of runs of a point */
	int policy;       /* number of the policy in the scenario's list; -1: all policies */
	struct search *s; /* NULL: none */
};

/* The tasks of a run of the book. Only searches are kept; the others follow from the numbers of their points. */
struct task_group {
	struct book_run *run;
	uint16_t *policies; /* number of runs of a point (at most UINT16_MAX, for the progress); 0: the point is left out; NULL: a search */
	struct task *search;
	size_t n, cap; /* of `search` */
};

/* The tasks in the order of the study. A cursor of zeros is before the first. */
struct task_cursor {
	size_t group, at, number; /* at: the next point or search of the group */
};

struct tasks {
	struct book *book;
	struct task_group *group; /* by run of the book */
	size_t n;                 /* number of tasks */
};

/* Makes the tasks of all runs. ORR_EINPUT: a point is invalid, or there is none. Free with tasks_free() in any case. */
int tasks_make(struct tasks *w, struct book *b, struct orr_error *err);
void tasks_free(struct tasks *w);
/* Takes the next task; returns false after the last one. */
bool tasks_next(const struct tasks *w, struct task_cursor *c, struct task *out);
/* Returns the number of searches; tasks_restart() begins them anew. */
size_t tasks_searches(const struct tasks *w);
void tasks_restart(struct tasks *w);

#endif
