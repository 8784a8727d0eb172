/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * job_lists.c - published tables of jobs that differ in the names of their columns
 *
 * acme     Shanghai AI Laboratory 2023, Seren and Kalos (Hu et al., NSDI 2024). Each time states its time zone; the zones differ. The
 *          durations of Kalos include the wait, so run times come from start and end. Memory is per pod; a node has one pod.
 * helios   SenseTime 2020, Earth, Saturn, Uranus, Venus (Hu et al., SC 2021). Times have no zone. The column queue is a wait.
 * itp      Microsoft's internal clusters 2021 (Gu et al., ASPLOS 2023). Models, iterations and deadlines were invented by the authors;
 *          batch sizes are ignored. The raw list has neither.
 * dlrm     Alibaba 2025, instances of recommendation models. An empty creation time lies before the trace, an empty deletion time
 *          after it.
 * spot-gpu Alibaba 2026, jobs on spot GPUs. Requests are per worker.
 */
#include "traces/format.h"
#include "traces/mapped.h"

#include "base/param.h"

#include <string.h>

static const struct orr_param params[] = { MAPPED_UNKNOWN("drop"), ORR_PARAM_END };
static const char *const info_options[] = { "unknown_runtime=keep", NULL };

static void *open_list(struct lines *in, const struct orr_args *args, const struct mapped_columns *preset, struct orr_error *err)
{
	struct mapped_columns c = *preset;
	c.unknown = mapped_unknown_of(args);
	return mapped_new(in, &c, err);
}

static int next_list(void *state, struct orr_trace_job *row, struct orr_error *err)
{
	return mapped_next(state, row, err);
}

static uint64_t left_out(const void *state)
{
	return mapped_left_out(state);
}

static void close_list(void *state)
{
	mapped_free(state);
}

static bool has_columns(const struct trace_head *head, const char *const *names)
{
	while (*names && trace_head_has_column(head, *names))
		names++;
	return !*names;
}

/* Defines the functions and the format of one list. */
#define JOB_LIST(ident, called, text, undated, ...)                                                     \
	static bool sniff_##ident(const struct trace_head *head)                                        \
	{                                                                                               \
		static const char *const names[] = { __VA_ARGS__, NULL };                               \
		return has_columns(head, names);                                                        \
	}                                                                                               \
	static void *open_##ident(struct lines *in, const struct orr_args *args, struct orr_error *err) \
	{                                                                                               \
		return open_list(in, args, &ident, err);                                                \
	}                                                                                               \
	const struct trace_format format_##ident = { .name = (called),                                  \
		.doc = (text),                                                                          \
		.params = params,                                                                       \
		.is_absolute = true,                                                                    \
		.has_no_date = (undated),                                                               \
		.info_options = info_options,                                                           \
		.sniff = sniff_##ident,                                                                 \
		.open = open_##ident,                                                                   \
		.next = next_list,                                                                      \
		.left_out = left_out,                                                                   \
		.close = close_list }

#define STILL_OPEN "RUNNING|SUSPENDED|PENDING"

static const struct mapped_columns acme = {
	.theirs = { [MAP_JOB_ID] = "job_id",
		[MAP_SUBMIT] = "submit_time",
		[MAP_START] = "start_time",
		[MAP_END] = "end_time",
		[MAP_GPUS] = "gpu_num",
		[MAP_CPUS] = "cpu_num",
		[MAP_MEM] = "mem_per_pod_GB",
		[MAP_COPIES] = "node_num",
		[MAP_MODEL] = "type",
		[MAP_USER] = "user",
		[MAP_STATUS] = "state" },
	.optional = 1U << MAP_MEM,
	.per_copy = 1U << MAP_MEM,
	.mem_mib = 1e9 / 1048576,
	.open_status = STILL_OPEN,
};
JOB_LIST(acme, "acme", "Acme 2023 (Shanghai AI Laboratory): Seren and Kalos", false, "gpu_num", "node_num", "type", "submit_time",
	"start_time");

static const struct mapped_columns helios = {
	.theirs = { [MAP_JOB_ID] = "job_id",
		[MAP_SUBMIT] = "submit_time",
		[MAP_START] = "start_time",
		[MAP_END] = "end_time",
		[MAP_GPUS] = "gpu_num",
		[MAP_CPUS] = "cpu_num",
		[MAP_USER] = "user",
		[MAP_QUEUE] = "vc",
		[MAP_STATUS] = "state" },
	.open_status = STILL_OPEN,
};
JOB_LIST(helios, "helios", "Helios 2020 (SenseTime): cluster_log.csv of Earth, Saturn, Uranus, Venus", false, "gpu_num", "vc",
	"submit_time", "start_time", "end_time");

static const struct mapped_columns itp = {
	.theirs = { [MAP_JOB_ID] = "job_id",
		[MAP_SUBMIT] = "submission_time",
		[MAP_DURATION] = "duration",
		[MAP_GPUS] = "num_gpu",
		[MAP_ITERATIONS] = "num_iteration",
		[MAP_DEADLINE] = "deadline",
		[MAP_MODEL] = "model_name" },
	.optional = 1U << MAP_ITERATIONS | 1U << MAP_MODEL | 1U << MAP_DEADLINE,
	.unit = STAMP_S,
};
JOB_LIST(itp, "itp", "Microsoft ITP 2021, clusters 01 to 10: job_id,submission_time,..,num_gpu,duration", true, "submission_time",
	"num_gpu", "duration");

static const struct mapped_columns dlrm = {
	.theirs = { [MAP_JOB_ID] = "instance_sn",
		[MAP_SUBMIT] = "creation_time",
		[MAP_START] = "scheduled_time",
		[MAP_END] = "deletion_time",
		[MAP_GPUS] = "gpu_request",
		[MAP_CPUS] = "cpu_request",
		[MAP_MEM] = "memory_request",
		[MAP_QUEUE] = "app_name",
		[MAP_MODEL] = "role" },
	.mem_mib = 1024,
	.unit = STAMP_S,
	.lacks_submit = true,
};
JOB_LIST(dlrm, "dlrm", "Alibaba 2025, instances of recommendation models: disaggregated_DLRM_trace.csv", true, "instance_sn", "gpu_request",
	"creation_time");

static const struct mapped_columns spot_gpu = {
	.theirs = { [MAP_JOB_ID] = "job_name",
		[MAP_SUBMIT] = "submit_time",
		[MAP_DURATION] = "duration",
		[MAP_GPUS] = "gpu_request",
		[MAP_CPUS] = "cpu_request",
		[MAP_COPIES] = "worker_num",
		[MAP_GPU_TYPES] = "gpu_model",
		[MAP_USER] = "organization",
		[MAP_QUEUE] = "job_type" },
	.per_copy = 1U << MAP_GPUS | 1U << MAP_CPUS,
	.unit = STAMP_S,
};
JOB_LIST(spot_gpu, "spot-gpu", "Alibaba 2026, jobs on spot GPUs: job_info_df.csv", true, "gpu_model", "worker_num", "submit_time",
	"duration");
