/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels that share the device: many small training steps at once. */
#include "calib/cuda/module.h"

#include <stdlib.h>

/*
 * ---- learners: d0 streams, each with a small training step of a layer of 512 x 512 at batch 64: forward, activation,
 * gradients of data and weights, SGD. The step is a graph, so that the host is not the bottleneck
 */

enum { MAX_LEARNERS = 16, WIDTH = 512, SAMPLES = 64, LAYERS = 4, OWN_WORKSPACE = 4 << 20 };

struct learners {
	int n;
	struct product *forward, *data, *weight;
	cudaStream_t stream[MAX_LEARNERS];
	cudaGraphExec_t step[MAX_LEARNERS];
	cudaEvent_t begin, end[MAX_LEARNERS];
	float *memory[MAX_LEARNERS]; /* memory of weights and their gradients, activations and their gradients, biases */
	void *workspace[MAX_LEARNERS];
};

static void drop_learners(struct task *t)
{
	struct learners *l = (struct learners *)t->own;
	for (int i = 0; i < l->n; i++) {
		if (l->step[i])
			cudaGraphExecDestroy(l->step[i]);
		if (l->stream[i])
			cudaStreamDestroy(l->stream[i]);
		if (l->end[i])
			cudaEventDestroy(l->end[i]);
		cudaFree(l->memory[i]);
		cudaFree(l->workspace[i]);
	}
	if (l->begin)
		cudaEventDestroy(l->begin);
	product_free(l->forward);
	product_free(l->data);
	product_free(l->weight);
	free(l);
}

static int one_step(struct learners *l, int i, struct orr_error *err)
{
	const size_t w = (size_t)WIDTH * WIDTH, a = (size_t)SAMPLES * WIDTH;
	float *weight = l->memory[i], *gradient = weight + LAYERS * w, *activation = gradient + LAYERS * w,
	      *delta = activation + (LAYERS + 1) * a, *bias = delta + (LAYERS + 1) * a;
	cudaStream_t s = l->stream[i];
	int rc = ORR_OK;
	for (int k = 0; !rc && k < LAYERS; k++) {
		rc = product_run(l->forward, activation + k * a, weight + k * w, activation + (k + 1) * a, l->workspace[i], s, err);
		bias_gelu_rows("fp32", activation + (k + 1) * a, bias, activation + (k + 1) * a, SAMPLES, WIDTH, s);
	}
	for (int k = LAYERS - 1; !rc && k >= 0; k--) {
		rc = product_run(l->weight, activation + k * a, delta + (k + 1) * a, gradient + k * w, l->workspace[i], s, err);
		if (!rc)
			rc = product_run(l->data, delta + (k + 1) * a, weight + k * w, delta + k * a, l->workspace[i], s, err);
	}
	sgd_step(weight, gradient, LAYERS * w, s);
	return rc;
}

static int make_learner(struct task *t, struct learners *l, int i, struct orr_error *err)
{
	const size_t floats = 2 * (size_t)LAYERS * WIDTH * WIDTH + 2 * (size_t)(LAYERS + 1) * SAMPLES * WIDTH + WIDTH;
	cudaGraph_t graph = NULL;
	CUDA_DO(cudaStreamCreateWithFlags(&l->stream[i], cudaStreamNonBlocking));
	CUDA_DO(cudaEventCreateWithFlags(&l->end[i], cudaEventDisableTiming));
	CUDA_DO(cudaMalloc((void **)&l->memory[i], floats * sizeof(float)));
	CUDA_DO(cudaMalloc(&l->workspace[i], OWN_WORKSPACE));
	fill_normal(l->memory[i], floats * sizeof(float), "fp32", t->gpu->seed + (uint64_t)i, l->stream[i]);
	int rc = one_step(l, i, err); /* loads code and plans outside the capture */
	if (rc)
		return rc;
	CUDA_DO(cudaStreamSynchronize(l->stream[i]));
	CUDA_DO(cudaStreamBeginCapture(l->stream[i], cudaStreamCaptureModeThreadLocal));
	rc = one_step(l, i, err);
	cudaError_t e = cudaStreamEndCapture(l->stream[i], &graph);
	if (!rc && e == cudaSuccess)
		e = cudaGraphInstantiateWithFlags(&l->step[i], graph, 0);
	if (graph)
		cudaGraphDestroy(graph);
	if (rc)
		return rc;
	CUDA_DO(e);
	return ORR_OK;
}

/* Issues a call: one step of every learner. */
static int learners_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	struct learners *l = (struct learners *)t->own;
	CUDA_DO(cudaEventRecord(l->begin, s));
	for (int i = 0; i < l->n; i++) {
		CUDA_DO(cudaStreamWaitEvent(l->stream[i], l->begin, 0));
		CUDA_DO(cudaGraphLaunch(l->step[i], l->stream[i]));
		CUDA_DO(cudaEventRecord(l->end[i], l->stream[i]));
		CUDA_DO(cudaStreamWaitEvent(s, l->end[i], 0));
	}
	return ORR_OK;
}

int learners_prepare(struct task *t, struct orr_error *err)
{
	struct learners *l = (struct learners *)calloc(1, sizeof *l);
	if (!l)
		return cuda_fail(err, ORR_EFAIL, "out of memory");
	t->own = l;
	t->drop = drop_learners;
	t->is_waiting = true; /* one gate cannot hold graphs on many streams */
	l->n = (int)t->k.d[0];
	if (l->n < 1 || l->n > MAX_LEARNERS) {
		l->n = 0;
		return cuda_fail(err, ORR_EINPUT, "expected 1 to 16 learners");
	}
	CUDA_DO(cudaEventCreateWithFlags(&l->begin, cudaEventDisableTiming));
	l->forward = product_new(t->gpu, "fp32", false, false, SAMPLES, WIDTH, WIDTH, 1, OWN_WORKSPACE, err);
	l->data = l->forward ? product_new(t->gpu, "fp32", false, true, SAMPLES, WIDTH, WIDTH, 1, OWN_WORKSPACE, err) : NULL;
	l->weight = l->data ? product_new(t->gpu, "fp32", true, false, WIDTH, WIDTH, SAMPLES, 1, OWN_WORKSPACE, err) : NULL;
	if (!l->weight)
		return err->code;
	for (int i = 0; i < l->n; i++) {
		int rc = make_learner(t, l, i, err);
		if (rc)
			return rc;
	}
	t->enqueue = learners_enqueue;
	return ORR_OK;
}
