/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * failures.h - nodes that fail and are repaired: from a trace or from a hazard rate
 *
 * A trace is CSV with the columns time_s,node,event: node is the name or number of a node of the cluster, event is "fail" or
 * "repair", times do not decrease. A hazard draws each node's time to failure and time to repair from exponential
 * distributions. Each node and replication has its own random stream ("failures").
 *
 * Runs share a struct failures; a struct failure_run is one run's position in it.
 */
#ifndef ORR_CLUSTER_FAILURES_H
#define ORR_CLUSTER_FAILURES_H

#include "cluster/cluster.h"

struct failures;
struct failure_run;

struct failures *failures_from_file(const char *path, const struct cluster *c, struct orr_error *err);
/* Like failures_from_file(), for a text; path is for messages. */
struct failures *failures_from_text(const char *path, const char *text, const struct cluster *c, struct orr_error *err);
/* Makes failures from the mean time between failures of one node and the mean time to repair; both > 0. */
struct failures *failures_from_hazard(int64_t mtbf_ns, int64_t mttr_ns);
/* Restricts a hazard to nodes of these GPU types (bit mask); 0: all. */
void failures_only_types(struct failures *f, uint64_t types);
void failures_free(struct failures *f);
/* Returns the SHA-256 of the file, or of the two means. */
const char *failures_hash(const struct failures *f);
/* Returns whether the failures are drawn (a hazard, not a trace). */
bool failures_are_random(const struct failures *f);
/* Starts a run. replication: each has different random streams; a trace is the same in all. */
struct failure_run *failure_run_new(const struct failures *f, const struct cluster *c, uint64_t seed, uint64_t replication);
void failure_run_free(struct failure_run *r);
/* Sets the next failure or repair; returns false if there is none. Times do not decrease. */
bool failure_run_next(struct failure_run *r, int64_t *t_ns, uint32_t *node, bool *fails);

#endif
