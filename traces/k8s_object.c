/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/k8s_object.h"

#include "traces/format.h"
#include "traces/items.h"
#include "traces/quantity.h"
#include "traces/stamp.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct reader {
	const struct lines *in;
	struct orr_error *err;
	bool failed;
};

static void refuse(struct reader *r, const char *field, const char *expected, const char *found)
{
	if (!r->failed)
		lines_fail(r->in, r->err, "%s: expected %s, found %s%.60s%s", field, expected, *found ? "\"" : "nothing", found,
			*found ? "\"" : "");
	r->failed = true;
}

/* Reads a time; -1: no such member. */
static int64_t moment(struct reader *r, const cJSON *o, const char *name)
{
	int64_t t;
	const char *s = items_text(o, name);
	if (!items_get(o, name))
		return -1;
	if (stamp_date_ns(s, strlen(s), &t))
		return t;
	refuse(r, name, "a time such as 2025-03-01T10:00:00Z", s);
	return -1;
}

/* ---- resources ---- */

/* Reads a quantity, a text or a number; 0: none. */
static double amount(struct reader *r, const cJSON *v)
{
	double x = 0;
	if (!v || (cJSON_IsNumber(v) && (x = v->valuedouble) >= 0 && x < 1e30))
		return x;
	const char *s = cJSON_IsString(v) ? v->valuestring : "";
	if (quantity(s, strlen(s), QUANTITY_KUBERNETES, &x))
		return x;
	refuse(r, v->string ? v->string : "resources", "a quantity such as 2, 500m or 64Gi", s);
	return 0;
}

/* Returns the MIG slices in 1/1000 GPU, without those that `others` also has. nvidia.com/mig-2g.10gb has two of the seven slices of a
 * GPU. */
static double slices_in(struct reader *r, const cJSON *resources, const cJSON *others)
{
	const cJSON *v;
	double milli = 0;
	cJSON_ArrayForEach(v, resources)
	{
		int slices;
		bool is_slice = v->string && sscanf(v->string, "nvidia.com/mig-%dg.", &slices) == 1 && slices > 0 && slices <= 7;
		if (is_slice && !items_get(others, v->string))
			milli += floor(amount(r, v) * slices * 1000 / 7);
	}
	return milli;
}

/* Returns the GPUs in 1/1000 of the resources of a container: its requests, or its limits of those that it does not request. */
static double gpus_in(struct reader *r, const cJSON *resources)
{
	static const char *const names[] = { "nvidia.com/gpu", "amd.com/gpu" };
	const cJSON *requests = items_get(resources, "requests"), *limits = items_get(resources, "limits"), *v;
	double milli = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		v = items_get(requests, names[i]);
		double n = amount(r, v ? v : items_get(limits, names[i]));
		if (floor(n) < n)
			refuse(r, names[i], "a whole number", cJSON_IsString(v) ? v->valuestring : "");
		milli += 1000 * n;
	}
	return milli + slices_in(r, requests, NULL) + slices_in(r, limits, requests);
}

static double cpus_in(struct reader *r, const cJSON *resources)
{
	return amount(r, items_get(items_get(resources, "requests"), "cpu")) * 1000;
}

static double memory_in(struct reader *r, const cJSON *resources)
{
	return amount(r, items_get(items_get(resources, "requests"), "memory")) / 1048576;
}

/* Returns the larger one of the sum over containers and the maximum over init containers, which run before. */
static int64_t resource(struct reader *r, const cJSON *spec, double (*in)(struct reader *r, const cJSON *resources), double most)
{
	const cJSON *c;
	double sum = 0;
	cJSON_ArrayForEach(c, items_get(spec, "containers")) sum += in(r, items_get(c, "resources"));
	cJSON_ArrayForEach(c, items_get(spec, "initContainers"))
	{
		double v = in(r, items_get(c, "resources"));
		sum = v > sum ? v : sum;
	}
	if (sum > most)
		refuse(r, "resources", "less", "a huge quantity");
	return sum > most ? 0 : (int64_t)ceil(sum - 1e-6);
}

static void read_resources(struct reader *r, const cJSON *spec, struct k8s_object *o)
{
	o->gpu_milli = resource(r, spec, gpus_in, 1000.0 * TRACE_MAX_GPUS);
	o->cpu_milli = resource(r, spec, cpus_in, 1000.0 * TRACE_MAX_CORES);
	o->mem_mib = resource(r, spec, memory_in, (double)TRACE_MAX_MIB);
	o->gpu_type = items_text(items_get(spec, "nodeSelector"), "nvidia.com/gpu.product");
	const cJSON *limit = items_get(spec, "activeDeadlineSeconds"), *priority = items_get(spec, "priority");
	if (cJSON_IsNumber(limit) && limit->valuedouble >= 0 && limit->valuedouble <= TRACE_MAX_SECONDS)
		o->limit_ns = (int64_t)limit->valuedouble * ORR_SECOND;
	if (cJSON_IsNumber(priority) && fabs(priority->valuedouble) <= 1e10)
		o->priority = priority->valuedouble;
}

/* ---- times ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int64_t later(int64_t a, int64_t b)
{
	return b > a ? b : a;
}

/* Returns the latest change of a condition. */
static int64_t last_condition(struct reader *r, const cJSON *status)
{
	const cJSON *c;
	int64_t t = -1;
	cJSON_ArrayForEach(c, items_get(status, "conditions")) t = later(t, moment(r, c, "lastTransitionTime"));
	return t;
}

static void read_pod_times(struct reader *r, const cJSON *item, int64_t now_ns, struct k8s_object *o)
{
	const cJSON *status = items_get(item, "status"), *c;
	int64_t finished = -1;
	cJSON_ArrayForEach(c, items_get(status, "containerStatuses"))
	{
		const cJSON *state = items_get(c, "state"), *before = items_get(items_get(c, "lastState"), "terminated");
		const cJSON *ended = items_get(state, "terminated"), *runs = items_get(state, "running"), *n = items_get(c, "restartCount");
		o->start_ns = earlier(o->start_ns, moment(r, runs, "startedAt"));
		o->start_ns = earlier(o->start_ns, moment(r, ended, "startedAt"));
		o->start_ns = earlier(o->start_ns, moment(r, before, "startedAt"));
		finished = later(finished, moment(r, ended, "finishedAt"));
		finished = later(finished, moment(r, before, "finishedAt"));
		o->restarts += cJSON_IsNumber(n) && n->valuedouble > 0;
	}
	bool is_over = !strcmp(o->status, "Succeeded") || !strcmp(o->status, "Failed");
	if (o->start_ns < 0 && is_over) /* evicted: the states of its containers are no longer reported */
		o->start_ns = moment(r, status, "startTime");
	if (is_over && finished < 0)
		finished = moment(r, items_get(item, "metadata"), "deletionTimestamp");
	if (is_over && finished < 0)
		finished = last_condition(r, status);
	o->end_ns = is_over ? finished : o->start_ns >= 0 ? now_ns : -1;
}

static void read_job_times(struct reader *r, const cJSON *item, int64_t now_ns, struct k8s_object *o)
{
	const cJSON *status = items_get(item, "status"), *c;
	o->status = cJSON_IsTrue(items_get(items_get(item, "spec"), "suspend")) ? "Suspended" : "Pending";
	o->start_ns = moment(r, status, "startTime"); /* reset when a suspended job resumes */
	o->end_ns = moment(r, status, "completionTime");
	if (o->start_ns >= 0)
		o->status = "Running";
	cJSON_ArrayForEach(c, items_get(status, "conditions"))
	{
		const char *type = items_text(c, "type");
		bool is_end = !strcmp(type, "Complete") || !strcmp(type, "Failed");
		if (!is_end || strcmp(items_text(c, "status"), "True"))
			continue;
		o->status = type;
		o->end_ns = later(o->end_ns, moment(r, c, "lastTransitionTime"));
	}
	if (o->end_ns < 0 && o->start_ns >= 0)
		o->end_ns = now_ns;
}

/* ---- gangs ---- */

static void set_group(const cJSON *metadata, const char *namespace, char group[600])
{
	static const char *const labels[] = { "training.kubeflow.org/job-name", "batch.kubernetes.io/job-name", "job-name" };
	static const char *const services[] = { "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Node" };
	const cJSON *owner = items_get(metadata, "ownerReferences");
	const char *name = "", *kind = items_text(owner ? owner->child : NULL, "kind");
	for (size_t i = 0; i < sizeof labels / sizeof *labels && !*name; i++)
		name = items_text(items_get(metadata, "labels"), labels[i]);
	bool is_service = false;
	for (size_t i = 0; i < sizeof services / sizeof *services; i++)
		is_service |= !strcmp(kind, services[i]);
	if (!*name && !is_service)
		name = items_text(owner ? owner->child : NULL, "uid");
	snprintf(group, 600, "%.290s%s%.290s", *name ? namespace : "", *name ? "/" : "", name);
}

/* ---- objects ---- */

int k8s_read(const struct cJSON *item, const struct lines *in, int64_t now_ns, struct k8s_object *o, char group[600], struct orr_error *err)
{
	struct reader r = { in, err, false };
	const cJSON *metadata = items_get(item, "metadata"), *spec = items_get(item, "spec"), *template = items_get(spec, "template");
	const char *kind = items_text(item, "kind");
	*o = (struct k8s_object){ .start_ns = -1, .end_ns = -1, .limit_ns = -1, .gpu_type = "" };
	group[0] = '\0';
	o->is_pod = !template;
	o->name = items_text(metadata, "name");
	o->namespace = items_text(metadata, "namespace");
	o->queue = items_text(items_get(metadata, "labels"), "kueue.x-k8s.io/queue-name");
	o->queue = *o->queue ? o->queue : o->namespace;
	if (*kind && strcmp(kind, "Pod") && strcmp(kind, "Job"))
		refuse(&r, "kind", "Pod or Job (kubectl get pods -A -o json)", kind);
	if (!*o->name || !spec)
		refuse(&r, "metadata.name", "a pod or job with a name and a spec", "");
	o->submit_ns = moment(&r, metadata, "creationTimestamp");
	if (o->submit_ns < 0)
		refuse(&r, "creationTimestamp", "a time such as 2025-03-01T10:00:00Z", "");
	read_resources(&r, template ? items_get(template, "spec") : spec, o);
	if (template) {
		const cJSON *n = items_get(spec, "parallelism");
		double copies = cJSON_IsNumber(n) ? n->valuedouble : 1;
		if (copies < 0 || copies * (double)o->gpu_milli > 1000.0 * TRACE_MAX_GPUS || copies > TRACE_MAX_GPUS)
			refuse(&r, "parallelism", "a number from 0 to 1000000", "");
		o->gpu_milli = r.failed ? 0 : o->gpu_milli * (int64_t)copies;
		o->cpu_milli = r.failed ? 0 : o->cpu_milli * (int64_t)copies;
		o->mem_mib = r.failed ? 0 : o->mem_mib * (int64_t)copies;
		read_job_times(&r, item, now_ns, o);
	} else {
		o->status = items_text(items_get(item, "status"), "phase");
		read_pod_times(&r, item, now_ns, o);
		set_group(metadata, o->namespace, group);
	}
	/* Clocks of nodes and of the API server differ by seconds. */
	if (o->start_ns >= 0 && o->start_ns < o->submit_ns - 60 * ORR_SECOND)
		refuse(&r, "startedAt", "at least creationTimestamp", "");
	if (o->start_ns >= 0 && o->end_ns >= 0 && o->end_ns < o->start_ns)
		refuse(&r, "finishedAt", "at least the time of the start", "");
	return r.failed ? ORR_EINPUT : ORR_OK;
}
