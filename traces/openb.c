/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * openb.c - the pods of Alibaba's "openb" GPU-sharing cluster trace (2023)
 *
 * CSV: name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,
 * creation_time,deletion_time,scheduled_time, seconds from the start (Weng et al.,
 * USENIX ATC 2023). gpu_milli is per GPU; below 1000 the pod shares one. A pod
 * that was never scheduled has an empty scheduled_time; its duration is then its
 * lifetime. Pods alive at the end of the trace end there.
 */
#include "traces/format.h"
#include "traces/table.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME, CPU_MILLI, MEMORY_MIB, NUM_GPU, GPU_MILLI, GPU_SPEC, QOS, POD_PHASE, CREATION_TIME, DELETION_TIME, SCHEDULED_TIME };

static const struct table_column columns[] = { { "name", true }, { "cpu_milli", true }, { "memory_mib", true }, { "num_gpu", true },
	{ "gpu_milli", true }, { "gpu_spec", false }, { "qos", false }, { "pod_phase", false }, { "creation_time", true },
	{ "deletion_time", true }, { "scheduled_time", true }, { NULL, false } };

static const struct orr_param params[] = { ORR_PARAM_CHOICE("duration", "run", "run|lifetime",
						   "run: from scheduling to deletion; lifetime: from creation to deletion"),
	ORR_PARAM_END };

static const char *const extras[] = { "lifetime s", "run s", "creation s", NULL };

struct openb {
	struct table *table;
	bool is_lifetime;
	uint64_t never_scheduled;
	int64_t creation, deletion, scheduled; /* times, ns; scheduled_ns -1: never scheduled */
};

static bool sniff(const struct trace_head *head)
{
	return trace_head_has_column(head, "pod_phase") && trace_head_has_column(head, "num_gpu") &&
	       trace_head_has_column(head, "creation_time");
}

static void *open_openb(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct table *t = table_new(in, columns, TABLE_HEADER, err);
	if (!t)
		return NULL;
	struct openb *o = mem_zalloc(1, sizeof *o);
	o->table = t;
	o->is_lifetime = !strcmp(orr_arg_text(args, "duration"), "lifetime");
	return o;
}

static void read_times(struct openb *o, struct orr_trace_job *row)
{
	struct table *t = o->table;
	o->creation = table_seconds(t, CREATION_TIME, 0, TRACE_MAX_SECONDS);
	o->deletion = table_seconds(t, DELETION_TIME, 0, TRACE_MAX_SECONDS);
	o->scheduled = table_has(t, SCHEDULED_TIME) ? table_seconds(t, SCHEDULED_TIME, 0, TRACE_MAX_SECONDS) : -1;
	if (o->deletion < o->creation || o->deletion < o->scheduled)
		table_refuse(t, DELETION_TIME, "at least creation_time and scheduled_time");
	if (o->scheduled >= 0 && o->scheduled < o->creation)
		table_refuse(t, SCHEDULED_TIME, "at least creation_time");
	o->never_scheduled += o->scheduled < 0;
	row->submit_ns = o->creation;
	row->wait_ns = o->scheduled < 0 ? -1 : o->scheduled - o->creation;
	row->duration_ns = o->deletion - (o->is_lifetime || o->scheduled < 0 ? o->creation : o->scheduled);
}

static int next_openb(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	struct openb *o = state;
	struct table *t = o->table;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->id = table_text_or_null(t, NAME);
	if (!row->id)
		table_refuse(t, NAME, "a name");
	row->cpu_milli = table_int(t, CPU_MILLI, 0, INT64_C(1000) * TRACE_MAX_CORES);
	row->mem_mib = table_int(t, MEMORY_MIB, 0, TRACE_MAX_MIB);
	row->gpus = (uint32_t)table_int(t, NUM_GPU, 0, TRACE_MAX_GPUS);
	row->gpu_milli = (uint32_t)table_int(t, GPU_MILLI, row->gpus ? 1 : 0, 1000);
	row->gpu_types = table_text_or_null(t, GPU_SPEC);
	row->queue = table_text_or_null(t, QOS);
	row->status = table_text_or_null(t, POD_PHASE);
	read_times(o, row);
	return table_status(t);
}

static void get_extras(const void *state, double *values)
{
	const struct openb *o = state;
	values[0] = (double)(o->deletion - o->creation) / 1e9;
	values[1] = o->scheduled < 0 ? NAN : (double)(o->deletion - o->scheduled) / 1e9;
	values[2] = (double)o->creation / 1e9;
}

static bool fact(const void *state, size_t index, struct trace_fact *out)
{
	const struct openb *o = state;
	if (index)
		return false;
	out->name = "never scheduled";
	snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)o->never_scheduled);
	return true;
}

static void close_openb(void *state)
{
	struct openb *o = state;
	table_free(o->table);
	mem_free(o);
}

const struct trace_format format_openb = {
	.name = "openb",
	.doc = "Alibaba openb 2023, the pod list: fractions of GPUs, types, recorded waits",
	.params = params,
	.extras = extras,
	.sniff = sniff,
	.open = open_openb,
	.next = next_openb,
	.get_extras = get_extras,
	.fact = fact,
	.close = close_openb,
};
