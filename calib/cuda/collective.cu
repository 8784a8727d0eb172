/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NCCL's operations between the GPUs of this machine, driven by one process. Rank i is the i-th device after the
 * measured one, cyclically. Communicators are created once per number of ranks, because that takes longer than a measurement.
 */
#include "calib/cuda/libraries.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#ifdef ORR_NCCL

struct ring {
	int n;
	const ncclComm_t *comm;
	cudaStream_t stream[MAX_GPUS];
	float *from[MAX_GPUS], *to[MAX_GPUS];
	size_t floats; /* number of floats of the whole array, as in nccl-tests */
};

#define NCCL_DO(x)                                                                                                   \
	do {                                                                                                         \
		ncclResult_t status_ = (x);                                                                          \
		if (status_ != ncclSuccess)                                                                          \
			return cuda_fail(err, ORR_EINPUT, "NCCL: %s", t->gpu->lib->nccl.GetErrorString(status_));    \
	} while (0)

static int device_of(const struct gpu *g, int rank)
{
	return (g->index + rank) % g->count;
}

static void drop(struct task *t)
{
	struct ring *r = (struct ring *)t->own;
	for (int i = 0; i < r->n; i++) {
		cudaSetDevice(device_of(t->gpu, i));
		if (r->stream[i])
			cudaStreamDestroy(r->stream[i]);
		cudaFree(r->from[i]);
		cudaFree(r->to[i]);
	}
	cudaSetDevice(t->gpu->index);
	free(r);
}

/* Issues the part of rank i in one operation. The caller has an open group. */
static ncclResult_t join(struct task *t, struct ring *r, int i, cudaStream_t s)
{
	struct libraries *l = t->gpu->lib;
	const char *op = t->k.op;
	size_t share = r->floats / (size_t)r->n;
	if (!strcmp(op, "all-reduce"))
		return l->nccl.AllReduce(r->from[i], r->to[i], r->floats, ncclFloat, ncclSum, r->comm[i], s);
	if (!strcmp(op, "all-gather"))
		return l->nccl.AllGather(r->from[i], r->to[i], share, ncclFloat, r->comm[i], s);
	if (!strcmp(op, "reduce-scatter"))
		return l->nccl.ReduceScatter(r->from[i], r->to[i], share, ncclFloat, ncclSum, r->comm[i], s);
	if (!strcmp(op, "send-recv"))
		return i ? l->nccl.Recv(r->to[i], r->floats, ncclFloat, 0, r->comm[i], s) :
			l->nccl.Send(r->from[i], r->floats, ncclFloat, 1, r->comm[i], s);
	ncclResult_t rc = ncclSuccess;
	for (int k = 0; rc == ncclSuccess && k < r->n; k++) {
		rc = l->nccl.Send(r->from[i] + (size_t)k * share, share, ncclFloat, k, r->comm[i], s);
		if (rc == ncclSuccess)
			rc = l->nccl.Recv(r->to[i] + (size_t)k * share, share, ncclFloat, k, r->comm[i], s);
	}
	return rc;
}

/* Runs rank 0 on this stream, in order with the stream's other work. */
static int enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	struct ring *r = (struct ring *)t->own;
	struct libraries *l = t->gpu->lib;
	ncclResult_t rc = ncclSuccess;
	NCCL_DO(l->nccl.GroupStart());
	for (int i = 0; rc == ncclSuccess && i < r->n; i++)
		rc = join(t, r, i, i ? r->stream[i] : s);
	NCCL_DO(l->nccl.GroupEnd());
	NCCL_DO(rc);
	return ORR_OK;
}

/* Times all calls of a batch by the host's clock, like nccl-tests: devices have no common events. */
static int run(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	struct ring *r = (struct ring *)t->own;
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint32_t k = 0; k < times; k++) {
		int rc = enqueue(t, r->stream[0], err);
		if (rc)
			return rc;
	}
	for (int i = 0; i < r->n; i++)
		CUDA_DO(cudaStreamSynchronize(r->stream[i]));
	clock_gettime(CLOCK_MONOTONIC, &b);
	out->device_s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
	out->issue_s = NAN;
	return ORR_OK;
}

static int make_rank(struct task *t, struct ring *r, int i, struct orr_error *err)
{
	CUDA_DO(cudaSetDevice(device_of(t->gpu, i)));
	CUDA_DO(cudaStreamCreateWithFlags(&r->stream[i], cudaStreamNonBlocking));
	CUDA_DO(cudaMalloc((void **)&r->from[i], r->floats * sizeof(float)));
	CUDA_DO(cudaMalloc((void **)&r->to[i], r->floats * sizeof(float)));
	fill_normal(r->from[i], r->floats * sizeof(float), "fp32", t->gpu->seed + (uint64_t)i, r->stream[i]);
	return ORR_OK;
}

/* Returns the communicators of n ranks, created on first use. */
static int communicators(struct task *t, int n, const ncclComm_t **out, struct orr_error *err)
{
	struct libraries *l = t->gpu->lib;
	int devices[MAX_GPUS];
	for (int i = 0; i < n; i++)
		devices[i] = device_of(t->gpu, i);
	*out = l->nccl.comm[n];
	if (!l->nccl.comm[n][0])
		NCCL_DO(l->nccl.CommInitAll(l->nccl.comm[n], n, devices));
	return ORR_OK;
}

int collective_prepare(struct task *t, struct orr_error *err)
{
	struct ring *r = (struct ring *)calloc(1, sizeof *r);
	int rc = ORR_OK;
	if (!r)
		return cuda_fail(err, ORR_EFAIL, "out of memory");
	t->own = r;
	t->drop = drop;
	if (t->k.ranks < 2 || t->k.ranks > t->gpu->count)
		return cuda_fail(err, ORR_EINPUT, "%.0f ranks on %d GPUs: expected at least 2 ranks, one GPU each", t->k.ranks, t->gpu->count);
	r->n = (int)t->k.ranks;
	r->floats = (size_t)(t->k.size / sizeof(float)) / (size_t)r->n * (size_t)r->n;
	for (int i = 0; !rc && i < r->n; i++)
		rc = make_rank(t, r, i, err);
	if (!rc)
		rc = communicators(t, r->n, &r->comm, err);
	cudaSetDevice(t->gpu->index);
	if (rc)
		return rc;
	t->run = run;
	t->enqueue = enqueue; /* for interference kernels */
	t->is_waiting = true; /* its other ranks wait for rank 0 on devices that the gate does not block */
	struct timing unused;
	return run(t, 1, &unused, err);
}

#else

int collective_prepare(struct task *t, struct orr_error *err)
{
	(void)t;
	return cuda_fail(err, ORR_EINPUT, "collectives: expected a module that was built with NCCL");
}

#endif
