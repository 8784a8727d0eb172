/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * netflows.h - end times of flows, given two files: links and flows
 *
 * The files are CSV, plain or compressed. Columns may be in any order; unknown columns are ignored.
 *	links: link,bandwidth_Bps,latency_s
 *	flows: id,step,src,dst,bytes,start_s,links   (links: names joined by ';', in order)
 * A flow of step -1 starts at start_s. Step 0 starts at time 0, and each later step when the last
 * flow of the previous step has ended; start_s is ignored there. Rows are sorted by step; rows of
 * step -1 may be anywhere.
 *
 * Invariant after netflows_run(): 0 <= start <= finish for every flow, rows in file order.
 */
#ifndef ORR_NET_NETFLOWS_H
#define ORR_NET_NETFLOWS_H

#include "net/flow.h"
#include "traces/lines.h"

struct netflows;

/* Returns NULL on error; *err has file, line and what is expected. */
struct netflows *netflows_load(const char *links_path, const char *flows_path, struct orr_error *err);
/* The same from open files; the caller closes them. */
struct netflows *netflows_read(struct lines *links, struct lines *flows, struct orr_error *err);
void netflows_free(struct netflows *n);

struct netflows_options {
	enum flow_fairness fairness;
	bool is_checked;                          /* check rates at every instant, and at the end the bytes of each link */
	void (*progress)(void *ctx, double done); /* called with 0 to 1 from time to time; may be NULL */
	void *ctx;
};

/*
 * If all flows belong to steps, a step that equals an earlier one (links and bytes of each flow) is not simulated again:
 * it takes the same time.
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
uint32_t netflows_steps_simulated(const struct netflows *n); /* the others equalled one of these */

#endif
