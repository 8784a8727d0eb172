/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * times.h - times of requests by class: lines and phases (times.c), for explain.c; explain.h defines both words
 *
 * Invariant: from the start of a phase to times.since_ns, the sum of ns is the time that has passed.
 */
#ifndef ORR_SERVE_TIMES_H
#define ORR_SERVE_TIMES_H

#include "results/parts.h"
#include "serve/requests.h"

/* Classes of time, in the order of the parts of a phase. */
enum spent {
	/* waits */
	SPENT_NO_REPLICA,
	SPENT_UNROUTED,
	SPENT_BEHIND, /* the iteration that ran when the request came */
	/* the line of requests that wait on a replica */
	SPENT_RUNNING, /* nothing waited when the iteration started */
	SPENT_MEMORY,
	SPENT_TAKEN,
	SPENT_BUSY,
	SPENT_LOADING,
	SPENT_UNNAMED,
	SPENT_LIMIT, /* LIMITS classes, one per reason of the policy */
	LIMITS = 6,
	SPENT_TRANSFER = SPENT_LIMIT + LIMITS,
	/* the prompt */
	SPENT_UNLISTED,
	SPENT_AGAIN,
	SPENT_PREFILL,
	SPENT_BESIDE,
	/* the line of the decodes of a replica, and pauses */
	SPENT_SWAP,
	SPENT_DECODE,
	SPENT_STALLED,
	SPENT_IDLE,
	SPENT_PAUSED,
	SPENT_OUTSIDE, /* in no micro-batch, or in one that waits for the first stage */
	/* runs of table models; a run in the state RUN_QUEUED spends SPENT_TURN */
	SPENT_INPUT,
	SPENT_TURN,
	SPENT_LOST_RUN,
	SPENT_COMPUTE,
	SPENT_SLOWED,
	SPENT_SUSPENDED,
	SPENT_ANSWER,
	SPENT_SILENT,
	SPENT_CLASSES,
	SPENT_LINE /* the class of a line */
};

enum { SLOTS = 16 };
_Static_assert((int)SPENT_TRANSFER <= SLOTS && (int)SPENT_INPUT - (int)SPENT_TRANSFER <= SLOTS, "each class of a phase has its own index");
_Static_assert((int)SPENT_CLASSES - (int)SPENT_INPUT <= SLOTS, "each class of runs has its own index");
enum { LINE_CLASSES = SPENT_TRANSFER - SPENT_UNROUTED, LINE_STEPS = 3 };
_Static_assert(SPENT_PAUSED - SPENT_SWAP <= LINE_CLASSES, "a line holds the sums of all classes of decodes");
_Static_assert(SPENT_CLASSES <= 64, "a word has a bit for each class");

/* Times shared by the requests of a line. The class is step[0] until until_ns[0], then step[1], .. */
struct line {
	enum spent base;
	unsigned n_classes;
	uint64_t n_waiting; /* requests in phase PHASE_WAIT */
	int64_t since_ns, sum[LINE_CLASSES];
	enum spent step[LINE_STEPS];
	int64_t until_ns[LINE_STEPS];
};

enum phase { PHASE_OVER, PHASE_WAIT, PHASE_PROMPT, PHASE_DECODE, PHASE_TRANSFER, PHASE_RUNS };

struct times {
	enum phase phase;
	enum spent class;  /* SPENT_LINE: the class is that of the line */
	struct line *line; /* NULL: none */
	uint32_t replica;  /* replica of the line */
	int64_t told_ns;   /* end of the last phase */
	int64_t from_ns;   /* start of the phase */
	int64_t since_ns;  /* the time of the class is counted from this time on */
	int64_t at_joining[LINE_CLASSES];
	int64_t ns[SLOTS]; /* by class % SLOTS: the classes of a phase differ */
	uint64_t used;     /* bits of the classes with time; all others have ns 0 */
	double rate;       /* SPENT_COMPUTE: progress of its run per second */
	uint32_t again;    /* tokens to process again */
	bool is_evicted;   /* the wait follows an eviction */
};

struct replica_times {
	struct line wait, decodes;
	struct part memory; /* reason of the last orr_admit() that failed */
	uint32_t known[2];  /* of `memory`, for partlog_add_rare(): for requests that wait, and for preempted ones */
	orr_req holder, failed;
	bool has_evicted;         /* orr_evict() since explain_asked() */
	enum spent limit;         /* reason stated by the policy since explain_asked(); SPENT_UNNAMED: none */
	bool was_busy, has_begun; /* an iteration ran at explain_asked(); has begun since the last explain_answered() */
	orr_req *later;           /* requests that join a line when the iteration in flight is over */
	uint32_t n_later, cap_later;
};

struct explain {
	struct partlog *log;
	struct times *of; /* by request slot */
	uint32_t cap_of;
	struct replica_times *on;     /* by replica */
	uint32_t part[SPENT_CLASSES]; /* indexes in the log of the parts that do not depend on the replica or the policy */
	struct line unrouted;         /* requests that the policy has not routed */
	const char *limit[LIMITS];    /* reasons of the policy */
};

enum { ROWS_PER_REQUEST = 8 }; /* rows of parts that are kept, per row of requests */

static inline int64_t now_ns(const struct orr_serve *w)
{
	return eng_now(w->host.engine);
}
static inline struct times *times_of(const struct orr_serve *w, const struct req *q)
{
	return &w->explain->of[req_slot(w, q)];
}
static inline int64_t at_most(int64_t ns, int64_t limit)
{
	return ns < limit ? ns : limit;
}

static inline void times_count(struct times *t, unsigned class, int64_t ns)
{
	t->ns[class % SLOTS] += ns;
	t->used |= 1ull << class;
}

/* Sets explain.part. */
void times_begin(struct explain *x);

void line_advance(struct line *l, int64_t t);
/* Sets the class of the line from t on. */
void line_set(struct line *l, int64_t t, enum spent class);

/* Counts the time of the class up to now. */
void times_settle(struct times *t, int64_t now);
/* Starts a phase unless the request is in it, and counts the time up to now. */
struct times *times_enter(struct orr_serve *w, const struct req *q, enum phase phase);
/* Ends the phase: adds its parts. */
void times_end_phase(struct orr_serve *w, const struct req *q, struct times *t, int64_t now);
void times_join(struct orr_serve *w, struct times *t, struct line *l, uint32_t replica);
/* Lets the request join a line when the iteration in flight is over. */
void times_join_later(struct orr_serve *w, const struct req *q, uint32_t replica);
/* The request no longer waits in its line. */
void times_leave_line(struct times *t);

#endif
