/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens a GPU, lists its kinds of kernel, prepares and times tasks. */
#include "calib/cuda/libraries.h"

#include "base/hash.h"
#include "calib/work.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

int cuda_fail(struct orr_error *err, int code, const char *fmt, ...)
{
	va_list ap;
	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	return code;
}

int cuda_refuse(struct orr_error *err, cudaError_t e, const char *what)
{
	bool is_mild = e == cudaErrorMemoryAllocation || e == cudaErrorNotSupported || e == cudaErrorInvalidValue ||
		e == cudaErrorInvalidConfiguration || e == cudaErrorNoKernelImageForDevice;
	if (is_mild)
		cudaGetLastError();
	return cuda_fail(err, is_mild ? ORR_EINPUT : ORR_EFAIL, "%.100s: %s (%s)", what, cudaGetErrorName(e), cudaGetErrorString(e));
}

/* ---- opening */

/* Counts the GPUs. Errors 35: no driver; 100: no device; 3 and 804: a defective driver. All have the same message. */
static int count_gpus(int *count, struct orr_error *err)
{
	*count = 0; /* without a driver, the call leaves this number undefined */
	cudaError_t e = cudaGetDeviceCount(count);
	if (e == cudaSuccess && *count > 0)
		return ORR_OK;
	cudaGetLastError();
	if (e == cudaSuccess)
		e = cudaErrorNoDevice;
	return cuda_fail(err, ORR_EDEVICE, "no usable GPU: %s (%s)", cudaGetErrorName(e), cudaGetErrorString(e));
}

static int open_device(struct gpu *g, struct orr_error *err)
{
	CUDA_DO(cudaSetDevice(g->index));
	CUDA_DO(cudaGetDeviceProperties(&g->prop, g->index));
	CUDA_DO(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
	CUDA_DO(cudaStreamCreateWithFlags(&g->other, cudaStreamNonBlocking));
	CUDA_DO(cudaEventCreate(&g->begin));
	CUDA_DO(cudaEventCreate(&g->end));
	CUDA_DO(cudaHostAlloc((void **)&g->gate, 64, cudaHostAllocMapped));
	CUDA_DO(cudaHostGetDevicePointer((void **)&g->gate_on_device, (void *)g->gate, 0));
	CUDA_DO(cudaMalloc(&g->workspace, WORKSPACE_BYTES));
	CUDA_DO(cudaMalloc(&g->other_workspace, WORKSPACE_BYTES));
	/* A launch checks that the module has code for this architecture, and loads the gate's kernel. */
	*g->gate = 1;
	spin_until(g->gate_on_device, g->stream);
	CUDA_DO(cudaGetLastError());
	CUDA_DO(cudaStreamSynchronize(g->stream));
	return ORR_OK;
}

static void list_kinds(struct gpu *g);

static void gpu_close(void *device)
{
	struct gpu *g = (struct gpu *)device;
	libraries_close(g->lib);
	cudaFree(g->workspace);
	cudaFree(g->other_workspace);
	if (g->gate)
		cudaFreeHost((void *)g->gate);
	if (g->pinned)
		cudaFreeHost(g->pinned);
	free(g->pageable);
	if (g->stream)
		cudaStreamDestroy(g->stream);
	if (g->other)
		cudaStreamDestroy(g->other);
	if (g->begin)
		cudaEventDestroy(g->begin);
	if (g->end)
		cudaEventDestroy(g->end);
	free(g);
}

static void *gpu_open(const struct backend_options *o, struct orr_error *err)
{
	int count;
	if (count_gpus(&count, err))
		return NULL;
	if ((int)o->device >= count) {
		cuda_fail(err, ORR_EDEVICE, "device %u does not exist: expected a number below %d, the number of GPUs", o->device, count);
		return NULL;
	}
	struct gpu *g = (struct gpu *)calloc(1, sizeof *g);
	if (!g) {
		cuda_fail(err, ORR_EFAIL, "out of memory");
		return NULL;
	}
	g->index = (int)o->device;
	g->count = count < MAX_GPUS ? count : MAX_GPUS;
	g->seed = o->seed;
	struct orr_error why = {};
	if (!open_device(g, &why))
		g->lib = libraries_open(g);
	if (!g->lib) {
		cuda_fail(err, ORR_EDEVICE, "no usable GPU: %.600s", why.text);
		gpu_close(g);
		return NULL;
	}
	list_kinds(g);
	return g;
}

static void gpu_describe(void *device, struct backend_device *out)
{
	const struct gpu *g = (const struct gpu *)device;
	const cudaDeviceProp *p = &g->prop;
	int kHz = 0, memory_kHz = 0, driver = 0;
	char more[160];
	memset(out, 0, sizeof *out);
	cudaDeviceGetAttribute(&kHz, cudaDevAttrClockRate, g->index);
	cudaDeviceGetAttribute(&memory_kHz, cudaDevAttrMemoryClockRate, g->index);
	cudaDriverGetVersion(&driver);
	libraries_describe(g->lib, more, sizeof more);
	snprintf(out->name, sizeof out->name, "%.90s", p->name);
	snprintf(out->architecture, sizeof out->architecture, "compute capability %d.%d", p->major, p->minor);
	snprintf(out->software, sizeof out->software, "%s", g->lib->found);
	snprintf(out->details, sizeof out->details,
		"identity=%016llx\nmultiprocessors=%d\nclock_kHz=%d\nmemory_clock_kHz=%d\nmemory_bus_bits=%d\necc=%d\n"
		"cuda_driver=%d.%d\ngpus=%d\n%s",
		(unsigned long long)hash_bytes(HASH_START, &p->uuid, sizeof p->uuid), p->multiProcessorCount, kHz, memory_kHz, p->memoryBusWidth, p->ECCEnabled, driver / 1000,
		driver % 1000 / 10, g->count, more);
	if (*g->lib->missing)
		snprintf(out->warnings, sizeof out->warnings, "not available: %s\n", g->lib->missing);
	out->memory_bytes = (double)p->totalGlobalMem;
	out->cache_bytes = (double)p->l2CacheSize;
	out->units = p->multiProcessorCount;
}

static void gpu_clocks(void *device, struct backend_clocks *out)
{
	libraries_clocks(((struct gpu *)device)->lib, out);
}

/* ---- kinds */

static void add_kind(struct gpu *g, const char *family, const char *op, const char *precision, const char *variant, double ranks)
{
	if (g->n_kinds < MAX_KINDS) {
		struct kernel_kind k = { family, op, precision, variant, ranks };
		g->kind[g->n_kinds++] = k;
	}
}

static void list_products(struct gpu *g)
{
	static const char *const precisions[] = { "fp32", "tf32", "fp16", "bf16" };
	int cc = 10 * g->prop.major + g->prop.minor;
	for (int i = 0; i < 4; i++) {
		if ((i == 1 || i == 3) && cc < 80) /* tf32 and bf16 require Ampere */
			continue;
		add_kind(g, "gemm", "", precisions[i], "nn", 0);
		add_kind(g, "gemm", "", precisions[i], "nt", 0);
		if (i != 1)
			add_kind(g, "gemm", "", precisions[i], "tn", 0);
		if (i != 1)
			add_kind(g, "gemm", "", precisions[i], "nn batched", 0);
	}
	if (cc >= 89)
		add_kind(g, "gemm", "", "fp8", "nt", 0); /* the only layout of fp8 */
	add_kind(g, "attention", "prefill", "fp16", "unfused", 0);
	add_kind(g, "learners", "small-step", "fp32", "graph", 0);
}

#ifdef ORR_CUDNN
static void list_convolutions(struct gpu *g)
{
	static const char *const ops[] = { "forward", "data-gradient", "weight-gradient" };
	static const char *const classes[] = { "1x1", "3x3 s1", "strided", "large" };
	static const char *const precisions[] = { "fp32", "fp16", "tf32", "bf16" };
	int n = g->prop.major >= 8 ? 4 : 2; /* tf32 and bf16 require Ampere */
	for (int p = 0; p < n; p++)
		for (int i = 0; i < 3; i++)
			for (int c = 0; c < 4; c++)
				add_kind(g, "conv", ops[i], precisions[p], classes[c], 0);
}
#endif

static void list_interference(struct gpu *g, bool has_products)
{
	static const char *const what[] = { "gemm", "memory", "copy", "collective" };
	static const char *const beside[] = { "alone", "with-gemm", "with-memory", "with-copy", "with-collective" };
	int n = 3;
#ifdef ORR_NCCL
	n += g->count > 1 && g->lib->nccl.is_there;
#endif
	/* NCCL forbids concurrent collectives on one communicator. */
	for (int i = has_products ? 0 : 1; i < n; i++)
		for (int b = 0; b <= n; b++)
			if ((b != 1 || has_products) && !(i == 3 && b == 4))
				add_kind(g, "interference", what[i], i ? "fp32" : "fp16", beside[b], 0);
}

static void list_collectives(struct gpu *g)
{
#ifdef ORR_NCCL
	static const char *const ops[] = { "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv" };
	for (int ranks = 2; g->lib->nccl.is_there && ranks <= g->count; ranks *= 2)
		for (int i = 0; i < 5; i++)
			if (i < 4 || ranks == 2)
				add_kind(g, "collective", ops[i], "fp32", "node", ranks);
#else
	(void)g;
#endif
}

static void list_kinds(struct gpu *g)
{
	static const char *const memory[] = { "copy", "triad", "reduction", "layer-norm", "softmax", "bias-gelu", "residual-add" };
	static const char *const copies[] = { "h2d-pinned", "d2h-pinned", "h2d-pageable", "d2h-pageable", "d2d" };
	bool has_products = false;
	add_kind(g, "launch", "single", "", "", 0);
	add_kind(g, "launch", "queued", "", "", 0);
	add_kind(g, "launch", "graph", "", "", 0);
#ifdef ORR_CUBLASLT
	has_products = g->lib->lt.handle != NULL;
#endif
	if (has_products)
		list_products(g);
#ifdef ORR_CUDNN
	if (g->lib->dnn.handle)
		list_convolutions(g);
#endif
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
		add_kind(g, "memory", memory[i], "fp32", "", 0);
		add_kind(g, "memory", memory[i], "fp16", "", 0);
	}
	add_kind(g, "gather", "embedding", "fp32", "uniform", 0);
	add_kind(g, "gather", "embedding", "fp32", "zipf", 0);
	add_kind(g, "update", "sgd", "fp32", "", 0);
	add_kind(g, "update", "adam", "fp32", "", 0);
	add_kind(g, "attention", "decode", "fp16", "fused", 0);
	if (g->prop.major >= 7)
		add_kind(g, "attention", "prefill", "fp16", "fused", 0);
	for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
		add_kind(g, "copy", copies[i], "", "", 0);
	int can = 0;
	if (g->count > 1 && !cudaDeviceCanAccessPeer(&can, g->index, (g->index + 1) % g->count) && can)
		add_kind(g, "copy", "peer", "", "", 0);
	list_interference(g, has_products);
	add_kind(g, "preemption", "kernel-boundary", "", "", 0);
	list_collectives(g);
}

static const struct kernel_kind *gpu_kinds(void *device, size_t *n)
{
	const struct gpu *g = (const struct gpu *)device;
	*n = g->n_kinds;
	return g->kind;
}

/* ---- tasks */

struct task *task_new(struct gpu *g, const struct kernel *k)
{
	struct task *t = (struct task *)calloc(1, sizeof *t);
	if (t) {
		t->gpu = g;
		t->k = *k;
		t->copies = 1;
	}
	return t;
}

void task_free(struct task *t)
{
	if (!t)
		return;
	if (t->drop)
		t->drop(t);
	for (int i = 0; i < TASK_BUFFERS; i++)
		cudaFree(t->buffer[i]);
	free(t);
}

int task_buffers(struct task *t, const char *precision, struct orr_error *err)
{
	double bytes = 0;
	for (int i = 0; i < TASK_BUFFERS; i++) {
		t->bytes[i] = (t->bytes[i] + 255) / 256 * 256;
		bytes += (double)t->bytes[i];
	}
	t->copies = 1;
	if (t->k.is_cold && bytes > 0) {
		double wanted = ceil(2.0 * t->gpu->prop.l2CacheSize / bytes) + 1, most = 0.25 * (double)t->gpu->prop.totalGlobalMem / bytes;
		t->copies = (uint32_t)fmax(1, fmin(wanted, most));
	}
	for (int i = 0; i < TASK_BUFFERS; i++) {
		if (!t->bytes[i])
			continue;
		CUDA_DO(cudaMalloc((void **)&t->buffer[i], t->bytes[i] * t->copies));
		fill_normal(t->buffer[i], t->bytes[i] * t->copies, precision, t->gpu->seed + (uint64_t)i, t->gpu->stream);
	}
	CUDA_DO(cudaGetLastError());
	return ORR_OK;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Times at most BATCH_CALLS calls behind the gate. More calls could fill the queue: then host and device would wait for each other. */
static int time_some(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	struct gpu *g = t->gpu;
	float ms;
	int rc = ORR_OK;
	*g->gate = t->is_waiting;
	if (!t->is_waiting)
		spin_until(g->gate_on_device, g->stream);
	CUDA_DO(cudaEventRecord(g->begin, g->stream));
	double start = now();
	for (uint32_t i = 0; !rc && i < times; i++, t->turn++)
		rc = t->enqueue(t, g->stream, err);
	out->issue_s += now() - start;
	cudaError_t e = cudaEventRecord(g->end, g->stream);
	*g->gate = 1; /* set even after an error, otherwise the device keeps spinning */
	if (rc)
		return rc;
	CUDA_DO(e);
	CUDA_DO(cudaEventSynchronize(g->end));
	CUDA_DO(cudaGetLastError());
	CUDA_DO(cudaEventElapsedTime(&ms, g->begin, g->end));
	out->device_s += 1e-3 * ms;
	return ORR_OK;
}

int task_time(struct task *t, uint32_t times, struct timing *out, struct orr_error *err)
{
	out->device_s = out->issue_s = 0;
	for (uint32_t done = 0; done < times;) {
		uint32_t some = times - done < BATCH_CALLS ? times - done : (uint32_t)BATCH_CALLS;
		int rc = time_some(t, some, out, err);
		if (rc)
			return rc;
		done += some;
	}
	return ORR_OK;
}

static int gpu_run(void *task, uint32_t times, struct timing *out, struct orr_error *err)
{
	struct task *t = (struct task *)task;
	return t->run ? t->run(t, times, out, err) : task_time(t, times, out, err);
}

struct task *task_prepare(struct gpu *g, const struct kernel *k, struct orr_error *err)
{
	static const struct {
		const char *family;
		int (*prepare)(struct task *t, struct orr_error *err);
	} by[] = { { "launch", launch_prepare }, { "gemm", gemm_prepare }, { "conv", conv_prepare }, { "memory", memory_prepare },
		{ "gather", memory_prepare }, { "update", memory_prepare }, { "attention", attention_prepare }, { "copy", copy_prepare },
		{ "interference", interference_prepare }, { "preemption", preemption_prepare }, { "learners", learners_prepare },
		{ "collective", collective_prepare } };
	struct task *t = task_new(g, k);
	int rc = t ? cuda_fail(err, ORR_EINPUT, "unknown kernel: expected a kernel of the sweep") : cuda_fail(err, ORR_EFAIL, "out of memory");
	for (size_t i = 0; t && i < sizeof by / sizeof *by; i++)
		if (!strcmp(by[i].family, k->family))
			rc = by[i].prepare(t, err);
	/* The first call loads code and plans, which must precede the gate. */
	if (!rc && t->enqueue)
		rc = t->enqueue(t, g->stream, err);
	cudaError_t e = cudaStreamSynchronize(g->stream), last = cudaGetLastError();
	if (!rc && (e != cudaSuccess || last != cudaSuccess))
		rc = cuda_refuse(err, e != cudaSuccess ? e : last, k->family);
	if (!rc)
		return t;
	task_free(t);
	return NULL;
}

static void *gpu_prepare(void *device, const struct kernel *k, struct orr_error *err)
{
	return task_prepare((struct gpu *)device, k, err);
}

static void gpu_release(void *task)
{
	task_free((struct task *)task);
}

extern "C" __attribute__((visibility("default"))) const struct backend *orr_calib_backend(void)
{
	static const struct backend b = { BACKEND_ABI, sizeof(struct backend), "cuda", gpu_open, gpu_close, gpu_describe, gpu_kinds,
		gpu_prepare, gpu_run, gpu_release, gpu_clocks };
	return &b;
}
