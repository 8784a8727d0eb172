/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * failures.h - nodes that fail and come back: from a trace or from a hazard rate
 *
 * A trace is CSV with the columns time_s,node,event: node is a name or number of the
 * cluster's, event is "fail" or "repair", times do not decrease. A hazard draws each
 * node's time to failure and time to repair from exponential distributions, one random
 * stream per node ("failures", node number).
 *
 * struct failures is shared by runs; struct failure_run is one run's place in it.
 */
#ifndef ORR_CLUSTER_FAILURES_H
#define ORR_CLUSTER_FAILURES_H

#include "cluster/cluster.h"

struct failures;
struct failure_run;

struct failures *failures_from_file(const char *path, const struct cluster *c, struct orr_error *err);
/* The same from a text; path is for messages. */
struct failures *failures_from_text(const char *path, const char *text, const struct cluster *c, struct orr_error *err);
/* Mean times between failures of one node and to repair it; both > 0. */
struct failures *failures_from_hazard(int64_t mtbf_ns, int64_t mttr_ns);
/* Only nodes of these GPU types (bits) fail; of a hazard. 0: all. */
void failures_only_types(struct failures *f, uint64_t types);
void failures_free(struct failures *f);
/* SHA-256 of the file, or of the two means. */
const char *failures_hash(const struct failures *f);

struct failure_run *failure_run_new(const struct failures *f, const struct cluster *c, uint64_t seed);
void failure_run_free(struct failure_run *r);
/* The next thing to happen: false if there is none. Times do not decrease. */
bool failure_run_next(struct failure_run *r, int64_t *t_ns, uint32_t *node, bool *fails);

#endif
