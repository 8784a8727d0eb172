/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * share.h - one link that its flows share equally, in O(log n) per flow
 *
 * Max-min fair flows that cross the same link, and no other one, have equal rates: capacity / n (processor sharing; Kleinrock, Queueing
 * Systems II, 4.4). Virtual clock (Parekh and Gallager, IEEE/ACM Transactions on Networking 1(3), 1993): v is the number of bytes that a
 * flow has drained if it started when the link was last empty; dv/dt = capacity / n. A flow of b bytes that starts at v = s has drained at
 * v = s + b, regardless of flows that start or end before. Its bytes are received one latency later.
 *
 * Flows end at the same times as in flow.h on one link, where the latency comes first. There is one difference: when a flow is cancelled,
 * the other flows of flow.h speed up one latency earlier.
 *
 * Times are seconds (double) and never decrease. A share belongs to one thread and owns all its memory. No memory is allocated per flow
 * once the arrays have grown to the largest number of flows at a time.
 */
#ifndef ORR_NET_SHARE_H
#define ORR_NET_SHARE_H

#include <orrery/api.h>

struct share;

/* capacity_Bps > 0, latency_s >= 0 */
struct share *share_new(double capacity_Bps, double latency_s);
void share_free(struct share *s);

/* Starts a flow at now_s; bytes >= 0. The tag is for the caller. Returns a handle that is valid until the flow is reported. */
uint32_t share_start(struct share *s, double now_s, double bytes, uint64_t tag);
/* Ends a flow at now_s without reporting it. Returns the number of bytes that it has not drained. */
double share_cancel(struct share *s, double now_s, uint32_t flow);
/* Returns the time at which the next flow is received if no flow starts before; INFINITY: none. */
double share_next(const struct share *s);
/* Removes the next flow if it is received by until_s; flows that were started before until_s must be known. Order: (time drained,
 * start). */
bool share_pop(struct share *s, double until_s, uint64_t *tag, double *received_s);

uint32_t share_flows(const struct share *s);              /* number of flows that drain */
double share_busy_s(const struct share *s, double now_s); /* time in which flows drained, up to now_s */
double share_bytes(const struct share *s, double now_s);  /* bytes drained up to now_s */
/* Returns NULL, or a text that names the violated invariant: the flows drain the bytes that the link carries, and no flow more than
 * its bytes. For --check; O(n). */
const char *share_verify(const struct share *s);

#endif
