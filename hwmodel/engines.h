/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * engines.h - constants of serving systems, and the time of the host in an iteration
 *
 * docs/models/serve-engines.md.
 */
#ifndef ORR_HWMODEL_ENGINES_H
#define ORR_HWMODEL_ENGINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Iterations that run as one CUDA graph: all, those without prompts, or none. */
enum served_graphs { GRAPHS_ALL, GRAPHS_DECODE, GRAPHS_OFF };
#define SERVED_GRAPHS "all|decode|off"

/* Work of the host (scheduler, inputs, outputs) in an iteration, and how it is hidden. All zero: none. */
struct served_host {
	double fixed_s, request_s; /* per iteration, and per request of the iteration */
	double gpu_share;          /* if above 0: additional host time per iteration, such that the GPU works for this share of the sum */
	uint32_t steps;            /* iterations without prompts per call of the scheduler; 0: 1 */
	bool is_overlapped;        /* the host works while the GPU computes */
	enum served_graphs graphs;
	double kernel_s; /* the host's time to launch a kernel outside a graph */
};

/* Returns the time, s, of the GPU in an iteration of so many kernels: without a graph, launches may take longer than the kernels. */
double host_gpu_s(const struct served_host *h, double gpu_s, double kernels, bool has_prompts);
/* Returns the time, s, of an iteration, from that of the GPU. own_s: time of the host given by the model's file. */
double host_iteration_s(const struct served_host *h, double own_s, double gpu_s, double requests, bool has_prompts);

/* A version of a serving system. */
struct served_engine {
	const char *name;
	const char *fitted_to; /* what kv_reads is fitted to; NULL: it is not fitted */
	double kv_reads;       /* number of times that decode attention reads a key or value shared by several queries */
	const char *host_from; /* source of the host's times; NULL: none */
	struct served_host host;
};
/* Returns engine i, in the order of SERVED_ENGINES; NULL past the last. */
const struct served_engine *served_engine(size_t i);
#define SERVED_ENGINES "ideal|tensorrt-llm|lmdeploy|vllm-0.5.3|vllm-0.6.0|sglang-0.3|sglang-0.4"

#endif
