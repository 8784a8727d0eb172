/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metrics.h - counts during a run (metrics.c) and metrics at its end (measures.c)
 *
 * Formulas: docs/models/serve.md#the-service. A request of a table model costs two sums of blocks and two
 * histogram counts; one of a language model four of each.
 */
#ifndef ORR_SERVE_METRICS_H
#define ORR_SERVE_METRICS_H

#include "results/timeline.h"
#include "serve/replica.h"
#include "serve/requests.h"

/* A quantity with one value per request. */
struct tally {
	struct hist *hist;
	struct blocks blocks; /* values by request number */
};

/* A reason that the policy gave for refusing or shedding requests. */
struct policy_reason {
	char *text;
	enum orr_req_end how;
};

struct model_sums {
	uint64_t completed, asked_slo, met_slo;
	double completion_s;
};

/* Speculative decoding: a pass checks the drafts of one decode; each draft is accepted or rejected; accepted tokens beyond the output are
 * dropped. */
struct speculated {
	uint64_t iterations, passes, drafted, accepted, rejected, dropped;
};

/* A tier of KV caches: bytes read and written, tokens read, blocks dropped (tiers.h). */
struct tier_sums {
	double read, written, tokens;
	uint64_t dropped;
};

/* Classes of requests by priority; the last one has all higher priorities. */
enum { SLO_CLASSES = 16 };
struct class_sums {
	uint64_t asked_slo, met_slo;
};

struct serve_metrics {
	struct class_sums class[SLO_CLASSES];
	struct speculated speculated;
	struct tier_sums tier[3]; /* [enum tier] */
	uint64_t tier_loads;      /* number of requests that loaded blocks */
	uint64_t role_changes;    /* roles.c */
	double tier_load_s;       /* sum of their times */
	bool has_begun;           /* set when the first request arrives */
	bool has_llm, has_slo;
	unsigned used; /* bits of enum serve_use that are set by functions with a constant struct orr_serve */
	double begun_s, last_arrival_s, last_end_s;
	double up_before_s;     /* time that replicas were up before begun_s, summed over them */
	double level;           /* level of intervals; NaN: the run has none */
	uint64_t warm_requests; /* number of requests that arrived before the time of warm_up */
	uint64_t arrived, completed, refused, shed, unfinished;
	uint64_t refused_by[REASONS], shed_by[REASONS]; /* [enum req_reason] */
	struct policy_reason *policy_reason;
	uint32_t n_policy_reason, cap_policy_reason;
	uint64_t without_tokens; /* number of requests of language models whose row lacks prompt or output tokens */
	uint64_t preemptions, restarts;
	bool has_groups;                                    /* a replica was on several nodes */
	double group_bytes;                                 /* bytes that messages within replicas sent out of nodes */
	uint64_t prefix_copies, prefix_tokens_copied;       /* copies of cached prompts to another replica */
	double kv_sent, kv_received, kv_dropped, kv_moving; /* bytes of KV caches: sent; received; of cancelled transfers; on the way */
	double kv_wait_s;                       /* sum over transfers without a network of the time since the end of the prompt */
	uint64_t swaps, kv_transfers;           /* numbers of KV caches copied to the host; sent to another replica */
	uint64_t answers, answers_lost;         /* numbers of answers received; of answers lost */
	uint64_t completed_partial;             /* number of requests completed without all their answers */
	uint64_t stacked_runs;                  /* number of runs started or resumed while their replica had another run */
	uint64_t good;                          /* number of requests completed within all their limits */
	uint64_t asked_slo, met_slo;            /* number of ended requests that have a limit; number of good ones among them */
	double completion_s, samples, sample_s; /* sums over the completed requests */
	double output_tokens;
	struct tally completion, queue, ttft, tpot;
	struct blocks met;        /* values of requests with a limit: 1 if the request met its limits, else 0 */
	double looked_up, cached; /* prompt tokens of admitted requests; tokens of these found in a prefix cache */
	struct hist *gap;         /* NULL: none yet */
	struct model_sums *model;
	/* work */
	double iterations, prompt_processed, real, padded, lost_s;
	/* Memory of replicas that run table models: integrals over time of bytes in use and of bytes present. */
	double *memory_since_s;                        /* start of the memory interval, by replica; NULL: devices are unknown */
	double memory_used, memory_there, memory_most; /* most: largest share in use on any replica */
	/* over time */
	uint64_t busy_gpus, up_gpus;
	struct timeline live, busy, up;
	double sojourn_s;      /* sum over all ended requests, for the check */
	uint64_t check_credit; /* of check.c */
	/* rows */
	size_t cap_rows;
	uint64_t row_stride;
};

/* Returns "context", "kv-cache", ..; NULL for REASON_NONE and past the last. */
const char *serve_reason_name(enum req_reason why);
void serve_metrics_begin(struct orr_serve *w);
void serve_metrics_arrival(struct orr_serve *w);
/* Counts a request that has ended: q->how. */
void serve_metrics_request(struct orr_serve *w, const struct req *q, double at_s);
/* Counts a request that the policy refuses or sheds; why NULL: no reason. */
void serve_metrics_policy_reason(struct orr_serve *w, enum orr_req_end how, const char *why);
/* Counts iterations that have ended, and the prompt tokens that they processed. */
void serve_metrics_tokens(struct orr_serve *w, double iterations, double prompt_tokens);
/* Counts a gap between two tokens of one request, `count` times. */
void serve_metrics_gap(struct orr_serve *w, double gap_s, uint64_t count);
/* Must be called before the memory in use on the replica, or the speed of its runs, changes. */
void serve_metrics_memory(struct orr_serve *w, uint32_t replica);
/* Counts prompt tokens looked up in the prefix cache, and those found. */
void serve_metrics_looked_up(struct orr_serve *w, uint32_t tokens, uint32_t cached);
/* Counts samples x length of a run: of its requests, and as padded. */
void serve_metrics_padding(struct orr_serve *w, double real, double padded);
/* Counts device time whose result was discarded. */
void serve_metrics_lost(struct orr_serve *w, double s);
/* Counts changes of the number of GPUs, now. */
void serve_metrics_fleet(struct orr_serve *w, int64_t busy_gpus, int64_t up_gpus);
void serve_metrics_node(struct orr_serve *w, const char *kind, uint32_t node);
/* Counts a replica that has taken its GPUs (starting), is up, or will now release them (off). May be called before
 * serve_metrics_begin(). */
void serve_metrics_replica(struct orr_serve *w, uint32_t replica, enum replica_state state);
/* measures.c: fills in the result. */
void serve_metrics_end(struct orr_serve *w);
/* Adds a mean of values by request to the result, with its interval, and notes whether it depends on serve.warmup. */
void serve_metrics_mean(struct orr_serve *w, const char *name, const struct blocks *b);
void serve_metrics_free(struct orr_serve *w);

#endif
