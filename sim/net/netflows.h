/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * netflows.h - end times of flows, given two files: links and flows
 *
 * The files are CSV, plain or compressed. Columns may be in any order; unknown columns are ignored.
 *	links: link,bandwidth_Bps,latency_s
 *	flows: id,step,src,dst,bytes,start_s,links   (links: names joined by ';', in order)
 * A flow of step -1 starts at start_s. Step 0 starts at time 0, each later step at the end of the previous step's last flow;
 * their start_s is ignored. Rows are sorted by step; rows of
 * step -1 may be anywhere.
 *
 * Invariant after netflows_run(): 0 <= start <= finish for every flow, rows in file order.
 */
#ifndef ORR_NET_NETFLOWS_H
#define ORR_NET_NETFLOWS_H

#include "net/flow.h"
#include "traces/lines.h"

struct netflows;

/* Loads the files. Returns NULL on error; *err has file, line and the expected value. */
struct netflows *netflows_load(const char *links_path, const char *flows_path, struct orr_error *err);
/* Like netflows_load(), from open files, which the caller closes. */
struct netflows *netflows_read(struct lines *links, struct lines *flows, struct orr_error *err);
void netflows_free(struct netflows *n);

struct netflows_options {
	enum flow_fairness fairness;
	bool is_checked;                          /* check the rates at every instant, and the bytes of each link at the end */
	void (*progress)(void *ctx, double done); /* called repeatedly with the completed share, 0 to 1; may be NULL */
	void *ctx;
};

/*
 * Runs the flows. If all flows belong to steps, a step that equals an earlier one (links and bytes of each flow) takes the same
 * time and is not simulated again.
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
uint32_t netflows_steps_simulated(const struct netflows *n); /* number of simulated steps; each other step equals one of them */

#endif
