/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Launches, copies, and the wait of an urgent launch behind running kernels. */
#include "calib/cuda/module.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- launches, by the host's clock; a call is d0 launches (the sweep divides) */

static int run_single(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	double start = now();
	for (uint32_t i = 0; i < times; i++) {
		nothing(t->gpu->stream);
		CUDA_DO(cudaStreamSynchronize(t->gpu->stream));
	}
	out->device_s = now() - start;
	out->issue_s = NAN;
	return ORR_OK;
}

static int run_queued(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	double start = now();
	out->issue_s = 0;
	for (uint32_t i = 0; i < times; i++) {
		double begin = now();
		for (int k = 0; k < (int)t->k.d[0]; k++)
			nothing(t->gpu->stream);
		out->issue_s += now() - begin;
		CUDA_DO(cudaStreamSynchronize(t->gpu->stream));
	}
	CUDA_DO(cudaGetLastError());
	out->device_s = now() - start;
	return ORR_OK;
}

static int run_graph(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	double start = now();
	for (uint32_t i = 0; i < times; i++) {
		CUDA_DO(cudaGraphLaunch((cudaGraphExec_t)t->own, t->gpu->stream));
		CUDA_DO(cudaStreamSynchronize(t->gpu->stream));
	}
	out->device_s = now() - start;
	out->issue_s = NAN;
	return ORR_OK;
}

static void drop_graph(struct task *t)
{
	cudaGraphExecDestroy((cudaGraphExec_t)t->own);
}

static int make_graph(struct task *t, struct orr_error *err)
{
	cudaGraph_t graph;
	cudaGraphExec_t ready;
	CUDA_DO(cudaStreamBeginCapture(t->gpu->stream, cudaStreamCaptureModeThreadLocal));
	for (int k = 0; k < (int)t->k.d[0]; k++)
		nothing(t->gpu->stream);
	CUDA_DO(cudaStreamEndCapture(t->gpu->stream, &graph));
	cudaError_t e = cudaGraphInstantiateWithFlags(&ready, graph, 0);
	cudaGraphDestroy(graph);
	CUDA_DO(e);
	t->own = ready;
	t->drop = drop_graph;
	t->run = run_graph;
	return ORR_OK;
}

int launch_prepare(struct task *t, struct orr_error *err)
{
	struct timing unused;
	int rc = ORR_OK;
	if (!strcmp(t->k.op, "graph"))
		rc = make_graph(t, err);
	else
		t->run = strcmp(t->k.op, "queued") ? run_single : run_queued;
	return rc ? rc : t->run(t, 1, &unused, err);
}

/* ---- copies */

static int need_pinned(struct gpu *g, struct orr_error *err)
{
	if (!g->pinned) {
		CUDA_DO(cudaMallocHost(&g->pinned, HOST_BYTES));
		memset(g->pinned, 0x5a, HOST_BYTES);
	}
	return ORR_OK;
}

static int need_pageable(struct gpu *g, struct orr_error *err)
{
	if (!g->pageable) {
		g->pageable = malloc(HOST_BYTES);
		if (!g->pageable)
			return cuda_fail(err, ORR_EINPUT, "out of host memory for copies");
		memset(g->pageable, 0x5a, HOST_BYTES);
	}
	return ORR_OK;
}

static int copy_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	size_t n = (size_t)t->k.size;
	void *host = strstr(t->k.op, "pageable") ? t->gpu->pageable : t->gpu->pinned;
	if (!strncmp(t->k.op, "h2d", 3))
		CUDA_DO(cudaMemcpyAsync(t->buffer[0], host, n, cudaMemcpyHostToDevice, s));
	else if (!strncmp(t->k.op, "d2h", 3))
		CUDA_DO(cudaMemcpyAsync(host, t->buffer[0], n, cudaMemcpyDeviceToHost, s));
	else if (t->own)
		CUDA_DO(cudaMemcpyPeerAsync(t->own, (t->gpu->index + 1) % t->gpu->count, t->buffer[0], t->gpu->index, n, s));
	else
		CUDA_DO(cudaMemcpyAsync(t->buffer[1], t->buffer[0], n, cudaMemcpyDeviceToDevice, s));
	return ORR_OK;
}

static void drop_peer(struct task *t)
{
	cudaFree(t->own);
}

static int peer_buffer(struct task *t, struct orr_error *err)
{
	int next = (t->gpu->index + 1) % t->gpu->count;
	cudaError_t e = cudaDeviceEnablePeerAccess(next, 0);
	if (e == cudaErrorPeerAccessAlreadyEnabled)
		cudaGetLastError();
	else
		CUDA_DO(e);
	cudaSetDevice(next);
	e = cudaMalloc(&t->own, (size_t)t->k.size);
	cudaSetDevice(t->gpu->index);
	t->drop = drop_peer;
	CUDA_DO(e);
	return ORR_OK;
}

int copy_prepare(struct task *t, struct orr_error *err)
{
	bool is_host = !strncmp(t->k.op, "h2d", 3) || !strncmp(t->k.op, "d2h", 3), is_pageable = strstr(t->k.op, "pageable") != NULL;
	if (is_host && t->k.size > HOST_BYTES)
		return cuda_fail(err, ORR_EINPUT, "copy larger than the host buffer: expected at most 256 MiB");
	t->bytes[0] = (size_t)t->k.size;
	t->bytes[1] = !strcmp(t->k.op, "d2d") ? t->bytes[0] : 0;
	t->is_waiting = is_pageable; /* a pageable copy returns at its completion */
	t->enqueue = copy_enqueue;
	int rc = !is_host ? ORR_OK : is_pageable ? need_pageable(t->gpu, err) : need_pinned(t->gpu, err);
	if (!rc && !strcmp(t->k.op, "peer"))
		rc = peer_buffer(t, err);
	return rc ? rc : task_buffers(t, "fp32", err);
}

/* ---- preemption at a kernel boundary: the wait of an urgent launch behind kernels of d0 us that fill the device */

struct urgent {
	cudaStream_t low, high;
};

static void drop_urgent(struct task *t)
{
	struct urgent *u = (struct urgent *)t->own;
	if (u->low)
		cudaStreamDestroy(u->low);
	if (u->high)
		cudaStreamDestroy(u->high);
	free(u);
}

enum { LONG_QUEUE = 16 };

static int wait_once(struct task *t, struct urgent *u, double *seconds, struct orr_error *err)
{
	struct gpu *g = t->gpu;
	double length = 1e-6 * t->k.d[0];
	*g->gate = 0;
	for (int i = 0; i < LONG_QUEUE; i++)
		busy_for(g, length, i ? NULL : g->gate_on_device, u->low);
	double limit = now() + 2;
	while (!*g->gate && now() < limit) /* waits until the first kernel has started */
		;
	/* Launches in the middle of a kernel, each time at a different phase. */
	double until = now() + length * (0.5 + (double)(t->turn++ % 8));
	while (now() < until)
		;
	double start = now();
	nothing(u->high);
	CUDA_DO(cudaStreamSynchronize(u->high));
	*seconds = now() - start;
	CUDA_DO(cudaStreamSynchronize(u->low));
	CUDA_DO(cudaGetLastError());
	return ORR_OK;
}

static int run_urgent(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	out->device_s = 0;
	out->issue_s = NAN;
	for (uint32_t i = 0; i < times; i++) {
		double seconds = 0;
		int rc = wait_once(t, (struct urgent *)t->own, &seconds, err);
		if (rc)
			return rc;
		out->device_s += seconds;
	}
	return ORR_OK;
}

int preemption_prepare(struct task *t, struct orr_error *err)
{
	int least, greatest;
	struct urgent *u = (struct urgent *)calloc(1, sizeof *u);
	if (!u)
		return cuda_fail(err, ORR_EFAIL, "out of memory");
	t->own = u;
	t->drop = drop_urgent;
	t->run = run_urgent;
	CUDA_DO(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	CUDA_DO(cudaStreamCreateWithPriority(&u->low, cudaStreamNonBlocking, least));
	CUDA_DO(cudaStreamCreateWithPriority(&u->high, cudaStreamNonBlocking, greatest));
	struct timing unused;
	return run_urgent(t, 1, &unused, err);
}
