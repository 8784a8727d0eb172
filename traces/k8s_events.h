/* SPDX-License-Identifier: GPL-3.0-or-later */
/* k8s_events.h - times of pods from Kubernetes' events: "kubectl get pods,events -A -o json" */
#ifndef ORR_TRACES_K8S_EVENTS_H
#define ORR_TRACES_K8S_EVENTS_H

#include "traces/k8s_object.h"

struct k8s_events;

struct k8s_events *k8s_events_new(void);
void k8s_events_free(struct k8s_events *e);
/* Takes an item of kind Event. Returns 0 or ORR_EINPUT; messages name the line of in. */
int k8s_events_add(struct k8s_events *e, const struct cJSON *item, const struct lines *in, struct orr_error *err);
/* Returns the number of events taken. */
uint64_t k8s_events_count(const struct k8s_events *e);
/* Sets a start or an end that the pod itself does not state. start: the first Started, else the last Scheduled. end: the last Preempted or
 * Evicted; of a pod that does not run, else the last Killing. The texts of o are not read. Returns whether a time was set. */
bool k8s_events_apply(struct k8s_events *e, const char *namespace, const char *name, bool runs, struct k8s_object *o);

#endif
