/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels that share the device: two concurrent kernels, and many small training steps at once. */
#include "calib/cuda/module.h"

#include "calib/work.h"

#include <math.h>
#include <stdlib.h>

/* ---- interference: t is timed while `beside` runs in the other stream */

struct pair {
	struct task *main, *beside;
	double main_s, beside_s; /* seconds of a call alone */
};

static void drop_pair(struct task *t)
{
	struct pair *p = (struct pair *)t->own;
	task_free(p->main);
	task_free(p->beside);
	free(p);
}

/* Returns the kernel `what`, of about the size that the sweep requests for k->op. */
static struct task *part(struct gpu *g, const char *what, const struct kernel *k, struct orr_error *err)
{
	struct kernel own;
	memset(&own, 0, sizeof own);
	double n = k->d[0], bytes = !strcmp(k->op, "memory") ? 12 * n : !strcmp(k->op, "gemm") ? 3 * n * n * 2 : n;
	if (!strcmp(what, "gemm")) {
		double side = strcmp(k->op, "gemm") ? 2048 : n;
		snprintf(own.family, sizeof own.family, "gemm");
		snprintf(own.precision, sizeof own.precision, "fp16");
		snprintf(own.variant, sizeof own.variant, "nn");
		own.d[0] = own.d[1] = own.d[2] = side;
		own.d[3] = 1;
	} else if (!strcmp(what, "memory")) {
		snprintf(own.family, sizeof own.family, "memory");
		snprintf(own.op, sizeof own.op, "triad");
		snprintf(own.precision, sizeof own.precision, "fp32");
		own.d[0] = floor(fmax(bytes, 64e6) / 12 / 1024) * 1024;
		own.d[1] = 1;
	} else if (!strcmp(what, "copy")) {
		snprintf(own.family, sizeof own.family, "copy");
		snprintf(own.op, sizeof own.op, "h2d-pinned");
		own.d[0] = fmin(bytes, 64e6);
	} else if (!strcmp(what, "collective")) {
		snprintf(own.family, sizeof own.family, "collective");
		snprintf(own.op, sizeof own.op, "all-reduce");
		snprintf(own.precision, sizeof own.precision, "fp32");
		own.d[0] = floor(fmin(bytes, 64e6) / 4096) * 4096;
		own.ranks = g->count;
		own.nodes = 1;
	} else {
		cuda_fail(err, ORR_EINPUT, "kernel %s cannot run beside others", what);
		return NULL;
	}
	kernel_work(&own);
	return task_prepare(g, &own, err);
}

/*
 * Issues enough calls of `beside` to outlast the timed calls, even if those take twice their time alone. If `beside`
 * ends first, the measurement is invalid and is repeated with more calls.
 */
static int run_beside(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	struct pair *p = (struct pair *)t->own;
	struct gpu *g = t->gpu;
	double calls = ceil(2 * times * p->main_s / p->beside_s) + 2;
	float ms = 0;
	for (int tries = 0; tries < 5; tries++, calls *= 2) {
		int rc = ORR_OK;
		for (int i = 0; !rc && i < (int)fmin(calls, 900); i++, p->beside->turn++) {
			rc = p->beside->enqueue(p->beside, g->other, err);
			if (!i && !rc) /* the timed calls start after the first call of the others */
				CUDA_DO(cudaEventRecord(g->end, g->other));
		}
		CUDA_DO(cudaStreamWaitEvent(g->stream, g->end, 0));
		CUDA_DO(cudaEventRecord(g->begin, g->stream));
		for (uint32_t i = 0; !rc && i < times; i++, p->main->turn++)
			rc = p->main->enqueue(p->main, g->stream, err);
		if (rc)
			return rc;
		CUDA_DO(cudaEventRecord(g->end, g->stream));
		CUDA_DO(cudaEventSynchronize(g->end));
		bool is_still_on = cudaStreamQuery(g->other) == cudaErrorNotReady;
		cudaGetLastError();
		CUDA_DO(cudaStreamSynchronize(g->other));
		CUDA_DO(cudaEventElapsedTime(&ms, g->begin, g->end));
		if (is_still_on || calls > 900)
			break;
	}
	out->device_s = 1e-3 * ms;
	out->issue_s = NAN;
	return ORR_OK;
}

static int run_alone(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	return task_time(((struct pair *)t->own)->main, times, out, err);
}

static int alone_s(struct task *t, double *seconds, struct orr_error *err)
{
	struct timing x;
	int rc = task_time(t, 3, &x, err);
	*seconds = fmax(x.device_s / 3, 1e-6);
	return rc;
}

int interference_prepare(struct task *t, struct orr_error *err)
{
	struct pair *p = (struct pair *)calloc(1, sizeof *p);
	if (!p)
		return cuda_fail(err, ORR_EFAIL, "out of memory");
	t->own = p;
	t->drop = drop_pair;
	t->run = run_alone;
	p->main = part(t->gpu, t->k.op, &t->k, err);
	if (!p->main)
		return err->code;
	if (!strcmp(t->k.variant, "alone"))
		return ORR_OK;
	t->run = run_beside;
	p->beside = part(t->gpu, t->k.variant + strlen("with-"), &t->k, err);
	if (!p->beside)
		return err->code;
	int rc = alone_s(p->main, &p->main_s, err);
	return rc ? rc : alone_s(p->beside, &p->beside_s, err);
}

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
	float *memory[MAX_LEARNERS]; /* weights and their gradients, activations and their gradients, biases */
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
	int rc = one_step(l, i, err); /* loads and plans outside the capture */
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

/* A call is one step of every learner. */
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
