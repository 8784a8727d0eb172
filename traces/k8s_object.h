/* SPDX-License-Identifier: GPL-3.0-or-later */
/* k8s_object.h - the values of one pod (core/v1) or one job (batch/v1) of Kubernetes that a trace needs */
#ifndef ORR_TRACES_K8S_OBJECT_H
#define ORR_TRACES_K8S_OBJECT_H

#include "traces/lines.h"

struct cJSON;

/* Texts belong to the item. */
struct k8s_object {
	const char *name, *namespace, *queue, *status, *gpu_type; /* "": unknown */
	int64_t submit_ns, start_ns, end_ns, limit_ns;            /* since 1970; start, end, limit -1: unknown */
	int64_t gpu_milli, cpu_milli, mem_mib;
	double priority, restarts;
	bool is_pod;
};

/* Reads an object. now_ns: end of running pods, -1: unknown. group: its gang, "" if it is single. Returns 0 or ORR_EINPUT; messages name
 * the line of in. */
int k8s_read(
	const struct cJSON *item, const struct lines *in, int64_t now_ns, struct k8s_object *o, char group[600], struct orr_error *err);

#endif
