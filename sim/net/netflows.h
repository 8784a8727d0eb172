/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * netflows.h - flows of a file over links of another: when does each end
 *
 * Two CSV files, packed or not, columns in any order, others ignored:
 *   links: link,bandwidth_Bps,latency_s
 *   flows: id,step,src,dst,bytes,start_s,links   (links: names joined by ';', in order)
 * A flow of step -1 starts at start_s. Those of steps 0, 1, .. wait for each other: step 0
 * starts at time 0, a later one when the last flow of the step before has finished, and
 * their start_s is not looked at. Rows of steps stand in order; step -1 may stand anywhere.
 *
 * Invariant after netflows_run(): 0 <= start <= finish for every flow, rows in file order.
 */
#ifndef ORR_NET_NETFLOWS_H
#define ORR_NET_NETFLOWS_H

#include "net/flow.h"
#include "traces/lines.h"

struct netflows;

/* NULL on error: file, line and what is expected. */
struct netflows *netflows_load(const char *links_path, const char *flows_path, struct orr_error *err);
/* The same from open files, which stay the caller's. */
struct netflows *netflows_read(struct lines *links, struct lines *flows, struct orr_error *err);
void netflows_free(struct netflows *n);

struct netflows_options {
	enum flow_fairness fairness;
	bool is_checked;                          /* flownet_verify() at every instant; bytes of each link against its flows */
	void (*progress)(void *ctx, double done); /* 0 to 1, now and then; may be NULL */
	void *ctx;
};

/*
 * A step that is the same as an earlier one (flow for flow: links and bytes) lasts as long and
 * is not simulated again, if all flows of the file belong to steps.
 */
int netflows_run(struct netflows *n, const struct netflows_options *o, struct orr_error *err);

struct netflows_row {
	const char *id;
	double bytes, start_s, finish_s;
};

uint32_t netflows_count(const struct netflows *n);
void netflows_get(const struct netflows *n, uint32_t i, struct netflows_row *out);
uint32_t netflows_links(const struct netflows *n);
uint32_t netflows_steps(const struct netflows *n);
uint32_t netflows_steps_simulated(const struct netflows *n); /* the others were the same */

#endif
