/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interference: a kernel is timed while another kernel runs in the other stream. */
#include "calib/cuda/module.h"

#include "calib/work.h"

#include <math.h>
#include <stdlib.h>

struct pair {
	struct task *main, *beside;
	double main_s, beside_s; /* seconds of a call alone, and next to the other kernel */
};

static void drop_pair(struct task *t)
{
	struct pair *p = (struct pair *)t->own;
	task_free(p->main);
	task_free(p->beside);
	free(p);
}

/* Returns the kernel `what`, of approximately the size that the sweep requests for k->op. */
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
		cuda_fail(err, ORR_EINPUT, "kernel %s: expected a kernel that can run concurrently with another", what);
		return NULL;
	}
	kernel_work(&own);
	return task_prepare(g, &own, err);
}

/* Issues `calls` calls of `beside`. The timed stream waits for the first of them. */
static int start_beside(struct pair *p, struct gpu *g, int calls, struct orr_error *err)
{
	int rc = ORR_OK;
	for (int i = 0; !rc && i < calls; i++, p->beside->turn++) {
		rc = p->beside->enqueue(p->beside, g->other, err);
		if (!i && !rc)
			CUDA_DO(cudaEventRecord(g->end, g->other));
	}
	if (!rc)
		CUDA_DO(cudaStreamWaitEvent(g->stream, g->end, 0));
	return rc;
}

/* Times `times` calls while `calls` calls of the other kernel run. *is_valid: the other kernel ran longer. */
static int time_beside(struct pair *p, struct gpu *g, uint32_t times, int calls, double *seconds, bool *is_valid, struct orr_error *err)
{
	float ms = 0;
	int rc = start_beside(p, g, calls, err);
	if (!rc)
		CUDA_DO(cudaEventRecord(g->begin, g->stream));
	for (uint32_t i = 0; !rc && i < times; i++, p->main->turn++)
		rc = p->main->enqueue(p->main, g->stream, err);
	if (rc)
		return rc;
	CUDA_DO(cudaEventRecord(g->end, g->stream));
	CUDA_DO(cudaEventSynchronize(g->end));
	*is_valid = cudaStreamQuery(g->other) == cudaErrorNotReady;
	cudaGetLastError();
	CUDA_DO(cudaStreamSynchronize(g->other));
	CUDA_DO(cudaEventElapsedTime(&ms, g->begin, g->end));
	*seconds = 1e-3 * ms;
	return ORR_OK;
}

/*
 * Times calls in parts. In each part the other kernel gets enough calls to run longer than the timed calls, even if these take
 * twice their time alone. The launch queue limits its calls. A part in which the other kernel ends first is measured again,
 * with more of its calls or with fewer timed calls. If its calls cannot cover a single timed call, this pair cannot be
 * measured.
 */
static int run_beside(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	enum { QUEUE = 900 };
	struct pair *p = (struct pair *)t->own;
	double each = 2 * p->main_s / p->beside_s; /* calls of the other kernel per timed call */
	out->device_s = 0;
	out->issue_s = NAN;
	for (uint32_t done = 0; done < times;) {
		uint32_t some = (uint32_t)fmin(times - done, fmin(QUEUE * 1.0, fmax(1, floor((QUEUE - 2) / each))));
		int calls = (int)fmin(ceil(some * each) + 2, QUEUE);
		double seconds = 0;
		bool is_valid = false;
		int rc = time_beside(p, t->gpu, some, calls, &seconds, &is_valid, err);
		if (rc)
			return rc;
		if (is_valid) {
			out->device_s += seconds;
			done += some;
		} else if (some == 1 && calls == QUEUE) {
			return cuda_fail(err, ORR_EINPUT, "%d calls of the concurrent kernel end before one call of this kernel: expected a shorter kernel", QUEUE);
		} else {
			each *= 2;
		}
	}
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
