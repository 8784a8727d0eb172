/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kubernetes.c - pods or jobs of Kubernetes: "kubectl get pods -A -o json", "kubectl get jobs -A -o json", "kubectl get pods,events -A -o
 * json"
 *
 * Fields are those of the API reference (core/v1 Pod, batch/v1 Job); traces/k8s_object.h reads one object. With gang=owner, pods of one
 * batch or training job that run at the same time are one job of the trace: it starts with the first pod, ends with the last, and has the
 * largest number of GPUs that its pods held at once. Pods of services (ReplicaSet, StatefulSet, DaemonSet) stay single.
 */
#define _GNU_SOURCE /* memmem() */
#include "traces/format.h"
#include "traces/gather.h"
#include "traces/items.h"
#include "traces/k8s_events.h"
#include "traces/k8s_object.h"
#include "traces/mapped.h"
#include "traces/stamp.h"

#include "base/mem.h"
#include "base/param.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("gang", "owner", "owner|none",
						   "pods of one batch or training job that run at once: one job, or one each"),
	ORR_PARAM_TEXT(
		"now", "", "time of the dump, such as 2025-03-01T12:00:00Z: running pods end there; empty: their run time is unknown"),
	MAPPED_UNKNOWN("drop"), ORR_PARAM_END };

static const char *const info_options[] = { "unknown_runtime=keep", NULL };

struct pod {
	struct k8s_object o;
	uint32_t group; /* text; 0: single */
	size_t order;
	uint64_t line;
};

struct kubernetes {
	struct lines *in;
	struct items *items;
	struct gather *jobs;
	struct strtab *groups;
	struct k8s_events *events;
	struct pod *pod;
	size_t n, cap;
	int64_t now_ns; /* -1: unknown */
	bool joins, is_read;
	enum mapped_unknown unknown;
	uint64_t pods, whole_jobs, joined, restarted, open, left_out, by_events;
};

static bool sniff(const struct trace_head *head)
{
	bool has_kind = memmem(head->text, head->n, "\"kind\"", 6) || memmem(head->text, head->n, "\"metadata\"", 10);
	bool has_object = memmem(head->text, head->n, "\"apiVersion\"", 12) || memmem(head->text, head->n, "\"creationTimestamp\"", 19);
	return *head->line == '{' && has_kind && has_object;
}

static void close_kubernetes(void *state)
{
	struct kubernetes *k = state;
	items_free(k->items);
	gather_free(k->jobs);
	strtab_free(k->groups);
	k8s_events_free(k->events);
	mem_free(k->pod);
	mem_free(k);
}

static void *open_kubernetes(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	const char *now = orr_arg_text(args, "now");
	int64_t now_ns = -1;
	if (*now && !stamp_date_ns(now, strlen(now), &now_ns)) {
		lines_fail(in, err, "now: expected a time such as 2025-03-01T12:00:00Z, found \"%.60s\"", now);
		return NULL;
	}
	struct items *items = items_new(in, "items", err);
	if (!items)
		return NULL;
	struct kubernetes *k = mem_zalloc(1, sizeof *k);
	k->in = in;
	k->items = items;
	k->jobs = gather_new();
	k->groups = strtab_new();
	k->events = k8s_events_new();
	k->now_ns = now_ns;
	k->joins = !strcmp(orr_arg_text(args, "gang"), "owner");
	k->unknown = mapped_unknown_of(args);
	return k;
}

/* ---- gangs ---- */

static int by_group_and_start(const void *a, const void *b)
{
	const struct pod *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->o.start_ns != y->o.start_ns)
		return x->o.start_ns < y->o.start_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_order(const void *a, const void *b)
{
	const struct pod *x = a, *y = b;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Returns the largest sum of a resource of pods [0, n), sorted by start, that run at one time. */
static int64_t most_at_once(const struct pod *pod, size_t n, int64_t (*amount)(const struct k8s_object *o))
{
	int64_t most = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t sum = 0;
		for (size_t k = 0; k <= i; k++)
			sum += k == i || pod[k].o.end_ns > pod[i].o.start_ns ? amount(&pod[k].o) : 0;
		most = sum > most ? sum : most;
	}
	return most;
}

static int64_t gpus_of(const struct k8s_object *o)
{
	return o->gpu_milli;
}

static int64_t cpus_of(const struct k8s_object *o)
{
	return o->cpu_milli;
}

static int64_t memory_of(const struct k8s_object *o)
{
	return o->mem_mib;
}

/* Joins pods [0, n) of one group, which overlap in time, to the first one. */
static void join(struct kubernetes *k, struct pod *pod, size_t n)
{
	struct k8s_object *o = &pod[0].o;
	if (n < 2)
		return;
	o->gpu_milli = most_at_once(pod, n, gpus_of);
	o->cpu_milli = most_at_once(pod, n, cpus_of);
	o->mem_mib = most_at_once(pod, n, memory_of);
	for (size_t i = 1; i < n; i++) {
		const struct k8s_object *other = &pod[i].o;
		o->submit_ns = other->submit_ns < o->submit_ns ? other->submit_ns : o->submit_ns;
		o->end_ns = other->end_ns > o->end_ns ? other->end_ns : o->end_ns;
		pod[i].line = 0; /* belongs to the first */
	}
	k->joined += n - 1;
}

static void join_all(struct kubernetes *k)
{
	qsort(k->pod, k->n, sizeof *k->pod, by_group_and_start);
	for (size_t i = 0, next; i < k->n; i = next) {
		int64_t end = k->pod[i].o.end_ns;
		for (next = i + 1; next < k->n && k->pod[i].group && k->pod[next].group == k->pod[i].group && k->pod[i].o.start_ns >= 0 &&
				   end >= 0 && k->pod[next].o.end_ns >= 0 && k->pod[next].o.start_ns < end;
			next++)
			end = k->pod[next].o.end_ns > end ? k->pod[next].o.end_ns : end;
		join(k, k->pod + i, next - i);
	}
	qsort(k->pod, k->n, sizeof *k->pod, by_order);
}

/* ---- rows ---- */

/* Fills in the numbers of a job. Its texts were set by add(). */
static void set_numbers(struct orr_trace_job *row, const struct pod *p)
{
	const struct k8s_object *o = &p->o;
	row->submit_ns = o->submit_ns;
	row->wait_ns = o->start_ns < 0 ? -1 : o->start_ns > o->submit_ns ? o->start_ns - o->submit_ns : 0;
	row->duration_ns = o->start_ns >= 0 && o->end_ns >= o->start_ns ? o->end_ns - o->start_ns : -1;
	row->limit_ns = o->limit_ns;
	row->priority = o->priority;
	int64_t gpus = (o->gpu_milli + 999) / 1000;
	row->gpus = gpus > TRACE_MAX_GPUS ? TRACE_MAX_GPUS : (uint32_t)gpus;
	row->gpu_milli = o->gpu_milli > 0 && o->gpu_milli < 1000 ? (uint32_t)o->gpu_milli : 1000;
	row->cpu_milli = o->cpu_milli;
	row->mem_mib = o->mem_mib;
	row->line = p->line;
}

static const char *text_of(const struct kubernetes *k, uint32_t number)
{
	const char *text = gather_text_of(k->jobs, number);
	return text ? text : "";
}

/* Pods whose own times are not known take them from events. */
static void use_events(struct kubernetes *k)
{
	if (!k8s_events_count(k->events))
		return;
	for (size_t i = 0; i < k->n; i++) {
		const struct gathered *j = gather_at(k->jobs, k->pod[i].order);
		bool runs = !strcmp(text_of(k, j->status), "Running");
		if (k->pod[i].o.is_pod)
			k->by_events += k8s_events_apply(k->events, text_of(k, j->user), text_of(k, j->id), runs, &k->pod[i].o);
	}
}

static void finish(struct kubernetes *k)
{
	use_events(k);
	if (k->joins && k->n)
		join_all(k);
	for (size_t i = 0; i < k->n; i++) {
		struct gathered *j = gather_at(k->jobs, k->pod[i].order);
		j->is_gone = !k->pod[i].line;
		set_numbers(&j->job, &k->pod[i]);
		k->open += !j->is_gone && j->job.duration_ns < 0;
	}
	k->is_read = true;
}

static void add(struct kubernetes *k, const struct k8s_object *o, const char *group)
{
	bool is_new;
	struct gathered *j = gather_job(k->jobs, NULL, 0, &is_new);
	j->id = gather_text(k->jobs, o->name, strlen(o->name));
	j->user = gather_text(k->jobs, o->namespace, strlen(o->namespace));
	j->queue = gather_text(k->jobs, o->queue, strlen(o->queue));
	j->status = gather_text(k->jobs, o->status, strlen(o->status));
	j->gpu_types = gather_text(k->jobs, o->gpu_type, strlen(o->gpu_type));
	MEM_GROW(k->pod, k->n, k->cap);
	k->pod[k->n] = (struct pod){ .o = *o, .group = strtab_add_z(k->groups, group), .order = k->n, .line = lines_number(k->in) };
	k->n++;
	k->pods += o->is_pod;
	k->whole_jobs += !o->is_pod;
	k->restarted += o->restarts > 0;
}

/* Reads all objects. Returns 0, or -1 after a wrong one; another call continues with the next one. */
static int read_all(struct kubernetes *k, struct orr_error *err)
{
	const cJSON *item;
	int rc;
	while ((rc = items_next(k->items, &item, err)) == 1) {
		struct k8s_object o;
		char group[600];
		if (!strcmp(items_text(item, "kind"), "Event")) {
			if (k8s_events_add(k->events, item, k->in, err))
				return -1;
			continue;
		}
		if (k8s_read(item, k->in, k->now_ns, &o, group, err))
			return -1;
		add(k, &o, group);
	}
	if (!rc)
		finish(k);
	if (!rc && !k->n && k8s_events_count(k->events))
		return lines_fail(k->in, err, "events without pods: expected kubectl get pods,events -A -o json"), -1;
	return rc;
}

static int next_kubernetes(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct kubernetes *k = state;
	if (!k->is_read && read_all(k, err) < 0)
		return -1;
	int rc = gather_next_known(k->jobs, k->unknown, &k->left_out, row);
	if (rc < 0) {
		lines_at(k->in, row->line);
		lines_fail(k->in, err, "%.100s: expected a start and an end (unknown_runtime=drop leaves such objects out)", row->id);
	}
	return rc;
}

static bool fact(const void *state, size_t index, struct trace_fact *out)
{
	const struct kubernetes *k = state;
	const struct {
		const char *name;
		uint64_t n;
	} facts[] = { { "pods", k->pods }, { "batch jobs", k->whole_jobs }, { "pods joined to a gang", k->joined },
		{ "restarted (earlier runs unknown)", k->restarted }, { "events", k8s_events_count(k->events) },
		{ "pods with times of events", k->by_events }, { "without a start or an end (left out)", k->open } };
	if (index >= sizeof facts / sizeof *facts)
		return false;
	out->name = facts[index].name;
	snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)facts[index].n);
	return true;
}

static uint64_t left_out(const void *state)
{
	return ((const struct kubernetes *)state)->left_out;
}

const struct trace_format format_kubernetes = {
	.is_by_item = true,
	.name = "kubernetes",
	.doc = "Kubernetes: the JSON of kubectl get pods (or jobs) -A -o json",
	.params = params,
	.is_absolute = true,
	.info_options = info_options,
	.sniff = sniff,
	.open = open_kubernetes,
	.next = next_kubernetes,
	.fact = fact,
	.left_out = left_out,
	.close = close_kubernetes,
};
