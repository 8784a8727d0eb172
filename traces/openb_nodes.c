/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * openb_nodes.c - the node list of Alibaba's openb trace, for trace info only
 *
 * CSV: sn,cpu_milli,memory_mib,gpu,model. The list describes a cluster (--cluster), so it is refused as a trace of jobs.
 */
#include "traces/format.h"
#include "traces/table.h"

#include <stdio.h>

enum { SN, CPU_MILLI, MEMORY_MIB, GPU, MODEL };

static const struct table_column columns[] = { { "sn", true }, { "cpu_milli", true }, { "memory_mib", true }, { "gpu", true },
	{ "model", true }, { NULL, false } };

static bool sniff(const struct trace_head *head)
{
	for (size_t i = SN; columns[i].name; i++)
		if (!trace_head_has_column(head, columns[i].name))
			return false;
	return true;
}

static void *open_nodes(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER, err);
}

static int describe(void *state, struct trace_profile *p, struct orr_error *err)
{
	struct table *t = state;
	double nodes = 0, gpus = 0, cores = 0, cores_with_gpu = 0, mib = 0;
	int rc;
	while ((rc = table_next(t, NULL, NULL, err)) == 1) {
		int64_t cpu_milli = table_int(t, CPU_MILLI, 0, INT64_C(1000) * TRACE_MAX_CORES);
		int64_t n = table_int(t, GPU, 0, TRACE_MAX_GPUS);
		const char *model = table_text_or_null(t, MODEL);
		char kind[96];
		mib += (double)table_int(t, MEMORY_MIB, 0, TRACE_MAX_MIB);
		if (table_status(t) < 0)
			return -1;
		nodes++;
		gpus += (double)n;
		cores += (double)cpu_milli / 1000;
		cores_with_gpu += n ? (double)cpu_milli / 1000 : 0;
		model = model ? model : "(none)";
		snprintf(kind, sizeof kind, "%lld x %.60s", (long long)n, model);
		trace_profile_count(p, "GPU type", "GPUs", model, 1, (double)n);
		trace_profile_count(p, "GPUs of a node", NULL, kind, 1, 0);
	}
	trace_profile_fact_number(p, "nodes", nodes);
	trace_profile_fact_number(p, "GPUs", gpus);
	trace_profile_fact_number(p, "cores", cores);
	trace_profile_fact_number(p, "cores of nodes with GPUs", cores_with_gpu);
	trace_profile_fact_number(p, "memory TiB", mib / 1048576);
	trace_profile_close_lists(p);
	return rc;
}

static void close_nodes(void *state)
{
	table_free(state);
}

const struct trace_format format_openb_nodes = {
	.kind = TRACE_NODES,
	.name = "openb-nodes",
	.doc = "Alibaba openb 2023, the node list (for trace info and --cluster)",
	.sniff = sniff,
	.open = open_nodes,
	.describe = describe,
	.close = close_nodes,
};
