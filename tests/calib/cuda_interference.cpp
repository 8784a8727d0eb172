/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cuda_interference.cpp - a kernel is timed only while its neighbour runs (calib/cuda/interference.cu), on a device of virtual time
 *
 * A stream is the time at which it becomes idle. The host takes 2 us to issue a call. A timed call takes MAIN_S, or twice that
 * while the neighbour's stream is busy at its start: so the time of a valid measurement is twice MAIN_S.
 */
#include "calib/cuda/module.h"

#include "calib/work.h"

#include <algorithm>
#include <cmath>

static int tests, failed;
static double host, until[2], event[2]; /* s */
static double alone_of[2], call_of[2]; /* time of a call while the task is prepared, and beside the other */
static long issued;

static void ok(bool is_good, const char *what, double value)
{
	failed += !is_good;
	printf("%sok %d - %s (%.4g)\n", is_good ? "" : "not ", ++tests, what, value);
}

static size_t index_of(void *p)
{
	return (size_t)p - 1;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
	event[index_of(e)] = std::max(host, until[index_of(s)]);
	return 0;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
	until[index_of(s)] = std::max(until[index_of(s)], event[index_of(e)]);
	return 0;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
	host = std::max(host, event[index_of(e)]);
	return 0;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	*ms = (float)(1e3 * (event[index_of(to)] - event[index_of(from)]));
	return 0;
}
cudaError_t cudaStreamQuery(cudaStream_t s)
{
	return until[index_of(s)] > host ? cudaErrorNotReady : 0;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	host = std::max(host, until[index_of(s)]);
	return 0;
}
cudaError_t cudaGetLastError(void)
{
	return 0;
}
int cuda_fail(struct orr_error *err, int code, const char *fmt, ...)
{
	err->code = code;
	snprintf(err->text, sizeof err->text, "%s", fmt);
	return code;
}
int cuda_refuse(struct orr_error *err, cudaError_t, const char *what)
{
	return cuda_fail(err, ORR_EFAIL, what);
}
bool kernel_work(struct kernel *)
{
	return true;
}

static int enqueue(struct task *, cudaStream_t s, struct orr_error *)
{
	size_t i = index_of(s);
	double start = std::max(host, until[i]);
	until[i] = start + (i == 0 && until[1] > start ? 2 : 1) * call_of[i];
	host += 2e-6;
	issued++;
	return ORR_OK;
}

struct task *task_prepare(struct gpu *g, const struct kernel *k, struct orr_error *)
{
	struct task *t = (struct task *)calloc(1, sizeof *t);
	t->gpu = g;
	t->k = *k;
	t->enqueue = enqueue;
	return t;
}
void task_free(struct task *t)
{
	free(t);
}
int task_time(struct task *t, uint32_t times, struct timing *out, struct orr_error *)
{
	out->device_s = times * alone_of[strcmp(t->k.family, "memory") == 0];
	return ORR_OK;
}

/* Times 20 products of main_s beside triads of beside_s, which last beside_alone_s when the pair is prepared. */
static int beside(double main_s, double beside_s, double beside_alone_s, uint32_t times, double *each)
{
	static struct gpu g;
	struct task t = {};
	struct timing x = {};
	struct orr_error err = {};
	g.stream = (cudaStream_t)1;
	g.other = (cudaStream_t)2;
	g.begin = (cudaEvent_t)1;
	g.end = (cudaEvent_t)2;
	host = until[0] = until[1] = event[0] = event[1] = 0;
	issued = 0;
	alone_of[0] = call_of[0] = main_s;
	alone_of[1] = beside_alone_s;
	call_of[1] = beside_s;
	t.gpu = &g;
	t.k.d[0] = 1024;
	snprintf(t.k.op, sizeof t.k.op, "gemm");
	snprintf(t.k.variant, sizeof t.k.variant, "with-memory");
	int rc = interference_prepare(&t, &err);
	if (!rc)
		rc = t.run(&t, times, &x, &err);
	*each = x.device_s / times;
	t.drop(&t);
	return rc;
}

int main(void)
{
	double each;
	int rc = beside(1e-3, 1e-4, 1e-4, 20, &each);
	ok(!rc && fabs(each / 2e-3 - 1) < 0.02, "a neighbour that outlasts the calls slows them all down", each);
	rc = beside(1e-3, 1e-4, 1e-4, 500, &each);
	ok(!rc && fabs(each / 2e-3 - 1) < 0.02, "so it does if more of its calls are needed than the queue holds", each);
	rc = beside(1e-3, 1e-5, 1e-4, 20, &each);
	ok(!rc && fabs(each / 2e-3 - 1) < 0.02, "a neighbour whose calls are ten times as short as alone is given more of them", each);
	rc = beside(1e-1, 1e-5, 1e-5, 3, &each);
	ok(rc == ORR_EINPUT, "a neighbour that cannot outlast one call is refused", each);
	rc = beside(1e-1, 1e-5, 1e-2, 3, &each);
	ok(rc == ORR_EINPUT, "so is one whose time alone promised more", each);
	ok(issued < 20000, "in a bounded number of calls", (double)issued);
	printf("1..%d\n", tests);
	return failed > 0;
}
