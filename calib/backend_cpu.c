/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/backend.h"
#include "calib/cpu.h"
#include "calib/rand.h"
#include "calib/sample.h"
#include "calib/work.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFERS = 5, MOST_CACHE = 64 << 20 };

struct task {
	struct cpu *cpu;
	struct kernel k;
	void (*call)(struct task *t);
	float *buffer[BUFFERS]; /* contiguous copies of each buffer */
	size_t length[BUFFERS]; /* length of one copy, in floats */
	uint32_t copies, turn;
	uint32_t *index;
	enum conv_pass pass;
	struct task *beside; /* interference: task of the other thread */
	struct cpu_pair *pair;
	uint32_t threads; /* 0: all */
	bool is_placed;   /* the task holds part of the arena */
	float result;     /* keeps the compiler from removing a reduction */
};

static float *buffer(const struct task *t, int i)
{
	return t->buffer[i] + t->length[i] * (t->turn % t->copies);
}

/* ---- one call */

static void call_launch(struct task *t)
{
	float sum = 0;
#pragma omp parallel reduction(+ : sum)
	sum += 1;
	t->result = sum;
}

static void call_gemm(struct task *t)
{
	const double *d = t->k.d;
	size_t m = (size_t)d[0], n = (size_t)d[1], k = (size_t)d[2];
	bool ta = t->k.variant[0] == 't', tb = t->k.variant[1] == 't';
	float *a = buffer(t, 0), *b = buffer(t, 1), *c = buffer(t, 2);
	for (size_t i = 0; i < (size_t)d[3]; i++)
		cpu_gemm(t->cpu, ta, tb, (int)m, (int)n, (int)k, a + i * m * k, b + i * k * n, c + i * m * n, false);
}

static void call_conv(struct task *t)
{
	cpu_conv(t->cpu, &t->k, t->pass, buffer(t, 0), buffer(t, 1), buffer(t, 2), t->buffer[3]);
}

static void call_memory(struct task *t)
{
	const char *op = t->k.op;
	size_t rows = (size_t)t->k.d[0], columns = t->k.d[1] > 1 ? (size_t)t->k.d[1] : 1, n = rows * columns;
	float *x = buffer(t, 0), *y = buffer(t, 1), *z = buffer(t, 2);
	switch (op[0]) {
	case 'c':
		cpu_copy(x, y, n);
		break;
	case 't':
		cpu_triad(x, z, y, n);
		break;
	case 'l':
		cpu_layer_norm(x, y, rows, columns);
		break;
	case 's':
		cpu_softmax(x, y, rows, columns);
		break;
	case 'b':
		cpu_bias_gelu(x, z, y, rows, columns);
		break;
	default:
		if (!strcmp(op, "reduction"))
			t->result = cpu_reduce(x, n);
		else
			cpu_add(x, z, y, n);
	}
}

static void call_gather(struct task *t)
{
	size_t rows = (size_t)t->k.d[0];
	cpu_gather(t->buffer[0], t->index + rows * (t->turn % t->copies), buffer(t, 1), rows, (size_t)t->k.d[1]);
}

static void call_update(struct task *t)
{
	size_t n = (size_t)t->k.d[0];
	if (!strcmp(t->k.op, "adam"))
		cpu_adam(buffer(t, 0), buffer(t, 1), buffer(t, 2), n);
	else
		cpu_sgd(buffer(t, 0), buffer(t, 1), n);
}

static void call_attention(struct task *t)
{
	cpu_attention(t->cpu, t->k.d, !strcmp(t->k.op, "prefill"), buffer(t, 0), buffer(t, 1), buffer(t, 2), t->buffer[3], buffer(t, 4));
}

static void call_copy(struct task *t)
{
	memcpy(buffer(t, 1), buffer(t, 0), (size_t)t->k.size);
}

/* ---- buffers */

/*
 * Tasks take their buffers from one arena that keeps its pages, because the first use of new pages takes longer than the measurement. Each
 * task refills the buffers, because they contain results of the previous kernel.
 */
static bool take(struct task *t)
{
	struct cpu *cpu = t->cpu;
	size_t wanted = 0, used = cpu->used;
	for (int b = 0; b < BUFFERS; b++)
		wanted += (t->length[b] * t->copies + 15) / 16 * 16;
	if (wanted > cpu->arena_floats - used)
		return false;
	for (int b = 0; b < BUFFERS; b++) {
		t->buffer[b] = cpu->arena + used;
		used += (t->length[b] * t->copies + 15) / 16 * 16;
	}
	for (size_t i = cpu->used; i < used; i += CPU_PATTERN)
		memcpy(cpu->arena + i, cpu->pattern, (used - i < CPU_PATTERN ? used - i : CPU_PATTERN) * sizeof(float));
	cpu->used = used;
	cpu->tasks++;
	t->is_placed = true;
	return true;
}

static bool fill(struct task *t)
{
	double bytes = 0;
	for (int b = 0; b < BUFFERS; b++)
		bytes += 4.0 * (double)t->length[b];
	t->copies = 1;
	if (t->k.is_cold && bytes > 0)
		t->copies = (uint32_t)fmax(1, fmin(2 * t->cpu->cache_bytes / bytes + 2, 3.0 * MOST_CACHE / bytes));
	return take(t);
}

/* Fills in the rows to look up: uniform, or Zipf with exponent 1 by inversion of its continuous form. */
static void fill_index(struct task *t)
{
	size_t n = (size_t)t->k.d[0];
	double table = t->k.d[2];
	uint64_t random = rand_stream(t->cpu->seed, "index");
	bool is_zipf = !strcmp(t->k.variant, "zipf");
	t->index = mem_alloc(n * t->copies * sizeof *t->index);
	for (size_t i = 0; i < n * t->copies; i++) {
		double u = rand_uniform(&random), row = is_zipf ? pow(table, u) - 1 : u * table;
		/* Scatters ranks over the table, so that neighbouring ranks are far apart in memory. */
		uint64_t at = (uint64_t)fmin(row, table - 1);
		t->index[i] = (uint32_t)(is_zipf ? hash_mix(at + 1) % (uint64_t)table : at);
	}
}

static size_t product(const double *d, int n)
{
	double p = 1;
	for (int i = 0; i < n; i++)
		p *= d[i] > 0 ? d[i] : 1;
	return (size_t)p;
}

static bool conv_buffers(struct task *t)
{
	const double *d = t->k.d;
	double out = conv_out(&t->k, d[2]) * conv_out(&t->k, d[3]);
	const char *op = t->k.op;
	t->pass = !strcmp(op, "forward") ? CONV_FORWARD : !strcmp(op, "data-gradient") ? CONV_DATA : CONV_WEIGHT;
	t->length[0] = product(d, 4);
	t->length[1] = (size_t)(d[1] * d[4] * d[5] * d[5]);
	t->length[2] = (size_t)(d[0] * d[4] * out);
	t->length[3] = (size_t)(d[1] * d[5] * d[5] * out);
	t->call = call_conv;
	return out >= 1;
}

static bool attention_buffers(struct task *t)
{
	const double *d = t->k.d;
	double heads = d[0] * d[1], queries = !strcmp(t->k.op, "prefill") ? d[2] : 1;
	t->length[0] = t->length[4] = (size_t)(heads * queries * d[3]);
	t->length[1] = t->length[2] = (size_t)(heads * d[2] * d[3]);
	t->length[3] = (size_t)(heads * queries * d[2]);
	t->call = call_attention;
	return true;
}

static bool choose(struct task *t)
{
	const char *f = t->k.family;
	const double *d = t->k.d;
	if (!strcmp(f, "launch")) {
		t->call = call_launch;
	} else if (!strcmp(f, "gemm")) {
		t->length[0] = (size_t)(d[0] * d[2] * d[3]);
		t->length[1] = (size_t)(d[1] * d[2] * d[3]);
		t->length[2] = (size_t)(d[0] * d[1] * d[3]);
		t->call = call_gemm;
	} else if (!strcmp(f, "conv")) {
		return conv_buffers(t);
	} else if (!strcmp(f, "memory")) {
		t->length[0] = t->length[1] = product(d, 2);
		t->length[2] = !strcmp(t->k.op, "bias-gelu")                                   ? (size_t)d[1]
			       : !strcmp(t->k.op, "triad") || !strcmp(t->k.op, "residual-add") ? product(d, 2)
											       : 0;
		t->length[1] = !strcmp(t->k.op, "reduction") ? 0 : t->length[1];
		t->call = call_memory;
	} else if (!strcmp(f, "gather")) {
		t->length[0] = product(d + 1, 2);
		t->length[1] = product(d, 2);
		t->call = call_gather;
	} else if (!strcmp(f, "update")) {
		bool is_adam = !strcmp(t->k.op, "adam");
		t->length[0] = t->length[1] = (size_t)d[0];
		t->length[2] = is_adam ? 2 * (size_t)d[0] : 0;
		t->call = call_update;
	} else if (!strcmp(f, "attention")) {
		return attention_buffers(t);
	} else if (!strcmp(f, "copy")) {
		t->length[0] = t->length[1] = (size_t)d[0] / sizeof(float);
		t->call = call_copy;
	} else {
		return false;
	}
	return true;
}

/* ---- two kernels at once */

static void work_beside(void *arg)
{
	struct task *t = arg;
	cpu_use_threads(t->threads);
	t->call(t);
}

/* Returns one kernel of a concurrent pair (a product, a triad or a copy) of approximately the requested size. */
static struct task *half(struct cpu *cpu, const char *what, const struct kernel *k)
{
	if (strcmp(what, "gemm") && strcmp(what, "memory") && strcmp(what, "copy"))
		return NULL;
	struct task *t = mem_zalloc(1, sizeof *t);
	double n = k->d[0];
	t->cpu = cpu;
	t->threads = cpu->threads > 1 ? cpu->threads / 2 : 1;
	snprintf(t->k.precision, sizeof t->k.precision, "fp32");
	if (!strcmp(what, "gemm")) {
		/* In a mixed pair the size of the product is not given. With 256, its time is far above the start-up cost. */
		double side = strcmp(k->op, "gemm") ? 256 : n;
		memcpy(t->k.d, (double[]){ side, side, side, 1 }, 4 * sizeof(double));
	} else {
		t->k.d[0] = strcmp(k->op, "gemm") ? n : 4194304;
		if (!strcmp(what, "memory") && strcmp(k->op, "memory"))
			t->k.d[0] /= 12;
		if (!strcmp(what, "copy") && !strcmp(k->op, "memory"))
			t->k.d[0] *= 12;
	}
	snprintf(t->k.family, sizeof t->k.family, "%s", what);
	snprintf(t->k.op, sizeof t->k.op, "%s", !strcmp(what, "memory") ? "triad" : "");
	snprintf(t->k.variant, sizeof t->k.variant, "%s", !strcmp(what, "gemm") ? "nn" : "");
	if (!kernel_work(&t->k) || !choose(t)) {
		mem_free(t);
		return NULL;
	}
	if (fill(t))
		return t;
	mem_free(t);
	return NULL;
}

static void task_free(struct task *t)
{
	if (!t)
		return;
	pair_free(t->pair);
	task_free(t->beside);
	if (t->is_placed && !--t->cpu->tasks)
		t->cpu->used = 0;
	mem_free(t->index);
	mem_free(t);
}

static struct task *interference(struct cpu *cpu, const struct kernel *k, struct orr_error *err)
{
	struct task *t = half(cpu, k->op, k);
	if (t && !strncmp(k->variant, "with-", 5)) {
		t->beside = half(cpu, k->variant + 5, k);
		t->pair = t->beside ? pair_new(work_beside, t->beside) : NULL;
	}
	if (t && (t->pair || !strcmp(k->variant, "alone")))
		return t;
	task_free(t);
	orr_fail(err, ORR_EINPUT,
		"variant: expected \"alone\", or \"with-OP\" where OP is a kernel of the CPU backend and a thread is free for it, found "
		"\"%.40s\"",
		k->variant);
	return NULL;
}

/* ---- the interface */

static void *cpu_open(const struct backend_options *o, struct orr_error *err)
{
	struct cpu *cpu = mem_zalloc(1, sizeof *cpu);
	(void)err;
	cpu->seed = o->seed;
	cpu->threads = o->threads ? o->threads : cpu_threads();
	/* A virtual machine reports the whole cache of its host but can use only part of it. */
	long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
	cpu->cache_bytes = cache > 0 ? fmin((double)cache, MOST_CACHE) : 8e6;
	double arena = 0.25 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	cpu->arena_floats = (size_t)fmin(arena, 1e9) / sizeof(float);
	cpu->arena = mem_alloc(cpu->arena_floats * sizeof(float)); /* pages are allocated on first touch */
	uint64_t random = rand_stream(o->seed, "input");
	for (size_t i = 0; i < CPU_PATTERN; i++)
		cpu->pattern[i] = (float)rand_normal(&random);
	cpu_find_blas(cpu);
	cpu_use_threads(cpu->threads);
	return cpu;
}

static void cpu_close(void *device)
{
	mem_free(((struct cpu *)device)->arena);
	mem_free(device);
}

/* Finds the value of the first line "key : value" in a file of /proc. */
static bool proc_value(const char *path, const char *key, char *out, size_t size)
{
	char line[4096];
	bool is_found = false;
	FILE *f = fopen(path, "r");
	while (f && !is_found && fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');
		is_found = colon && !strncmp(line, key, strlen(key));
		if (is_found)
			snprintf(out, size, "%.*s", (int)strcspn(colon + 1 + strspn(colon + 1, " \t"), "\n"),
				colon + 1 + strspn(colon + 1, " \t"));
	}
	if (f)
		fclose(f);
	return is_found;
}

static void cpu_describe(void *device, struct backend_device *out)
{
	const struct cpu *cpu = device;
	char flags[4096] = "";
	const char *core = cpu->sgemm && cpu->blas_core ? cpu->blas_core() : NULL;
	*out = (struct backend_device){ .cache_bytes = cpu->cache_bytes, .units = cpu->threads };
	out->memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	if (!proc_value("/proc/cpuinfo", "model name", out->name, sizeof out->name))
		snprintf(out->name, sizeof out->name, "CPU");
	snprintf(out->architecture, sizeof out->architecture, "CPU");
	if (cpu->sgemm)
		snprintf(out->software, sizeof out->software, "%.120s; core %.60s", cpu->blas_config ? cpu->blas_config() : "OpenBLAS",
			core ? core : "not known");
	else
		snprintf(out->software, sizeof out->software, "own blocked GEMM (no OpenBLAS)");
	double load[1] = { 0 };
	int has_load = getloadavg(load, 1) == 1;
	snprintf(out->details, sizeof out->details, "threads=%u\nprocessors=%ld\ncache_bytes=%.0f\nblas_core=%.60s\nload=%.2f\n",
		cpu->threads, sysconf(_SC_NPROCESSORS_ONLN), cpu->cache_bytes, core ? core : "none", has_load ? load[0] : -1);
	/* OpenBLAS before 0.3.22 treats unknown processors as a Prescott (its issue 4267). */
	bool has_avx2 = proc_value("/proc/cpuinfo", "flags", flags, sizeof flags) && strstr(flags, " avx2");
	size_t n = 0;
	if (core && !strcasecmp(core, "Prescott") && has_avx2)
		n = (size_t)snprintf(out->warnings, sizeof out->warnings,
			"OpenBLAS uses its Prescott kernels on a processor with AVX2, so matrix products are several times slower: "
			"expected OPENBLAS_CORETYPE=HASWELL or SKYLAKEX, or a newer OpenBLAS\n");
	if (has_load && load[0] > 0.5)
		snprintf(out->warnings + n, sizeof out->warnings - n, "load average %.2f: other programs are running\n", load[0]);
}

static const struct kernel_kind *cpu_kinds(void *device, size_t *n)
{
	static const struct kernel_kind kinds[] = {
		{ "launch", "single", "", "", 0 },
		{ "gemm", "", "fp32", "nn", 0 },
		{ "gemm", "", "fp32", "nt", 0 },
		{ "gemm", "", "fp32", "tn", 0 },
		{ "conv", "forward", "fp32", "1x1", 0 },
		{ "conv", "forward", "fp32", "3x3 s1", 0 },
		{ "conv", "data-gradient", "fp32", "3x3 s1", 0 },
		{ "conv", "weight-gradient", "fp32", "3x3 s1", 0 },
		{ "memory", "copy", "fp32", "", 0 },
		{ "memory", "triad", "fp32", "", 0 },
		{ "memory", "reduction", "fp32", "", 0 },
		{ "memory", "layer-norm", "fp32", "", 0 },
		{ "memory", "softmax", "fp32", "", 0 },
		{ "memory", "bias-gelu", "fp32", "", 0 },
		{ "memory", "residual-add", "fp32", "", 0 },
		{ "gather", "embedding", "fp32", "uniform", 0 },
		{ "gather", "embedding", "fp32", "zipf", 0 },
		{ "update", "sgd", "fp32", "", 0 },
		{ "update", "adam", "fp32", "", 0 },
		{ "attention", "prefill", "fp32", "unfused", 0 },
		{ "attention", "decode", "fp32", "unfused", 0 },
		{ "copy", "host", "", "", 0 },
		{ "interference", "gemm", "fp32", "alone", 0 },
		{ "interference", "gemm", "fp32", "with-gemm", 0 },
		{ "interference", "gemm", "fp32", "with-memory", 0 },
		{ "interference", "gemm", "fp32", "with-copy", 0 },
		{ "interference", "memory", "fp32", "alone", 0 },
		{ "interference", "memory", "fp32", "with-gemm", 0 },
		{ "interference", "memory", "fp32", "with-memory", 0 },
		{ "interference", "memory", "fp32", "with-copy", 0 },
		{ "interference", "copy", "fp32", "alone", 0 },
		{ "interference", "copy", "fp32", "with-gemm", 0 },
		{ "interference", "copy", "fp32", "with-memory", 0 },
		{ "interference", "copy", "fp32", "with-copy", 0 },
	};
	(void)device;
	*n = sizeof kinds / sizeof *kinds;
	return kinds;
}

static void *cpu_prepare(void *device, const struct kernel *k, struct orr_error *err)
{
	struct cpu *cpu = device;
	if (!strcmp(k->family, "interference"))
		return interference(cpu, k, err);
	struct task *t = mem_zalloc(1, sizeof *t);
	t->cpu = cpu;
	t->k = *k;
	if (strcmp(k->precision, "fp32") && *k->precision) {
		orr_fail(err, ORR_EINPUT, "precision: the CPU backend computes only in fp32: expected fp32");
	} else if (!choose(t)) {
		orr_fail(err, ORR_EINPUT, "%.40s: expected a kernel of the CPU backend", k->op);
	} else if (!fill(t)) {
		orr_fail(err, ORR_EINPUT, "the arrays are too large: expected at most %.3g MB, the memory that the CPU backend reserves",
			4e-6 * (double)cpu->arena_floats);
	} else {
		if (!strcmp(k->family, "gather"))
			fill_index(t);
		return t;
	}
	task_free(t);
	return NULL;
}

static int cpu_run(void *task, uint32_t times, struct timing *out, struct orr_error *err)
{
	struct task *t = task;
	(void)err;
	cpu_use_threads(t->threads ? t->threads : t->cpu->threads);
	if (t->pair)
		pair_on(t->pair);
	double start = monotonic_s();
	for (uint32_t i = 0; i < times; i++, t->turn++)
		t->call(t);
	out->device_s = monotonic_s() - start;
	out->issue_s = NAN;
	if (t->pair)
		pair_off(t->pair);
	return ORR_OK;
}

static void cpu_release(void *task)
{
	task_free(task);
}

static void cpu_clocks(void *device, struct backend_clocks *out)
{
	char text[64] = "";
	(void)device;
	*out = (struct backend_clocks){ NAN, NAN, NAN, NAN, "" };
	if (proc_value("/proc/cpuinfo", "cpu MHz", text, sizeof text))
		out->clock_MHz = strtod(text, NULL);
}

const struct backend backend_cpu = { BACKEND_ABI, sizeof(struct backend), "cpu", cpu_open, cpu_close, cpu_describe, cpu_kinds, cpu_prepare,
	cpu_run, cpu_release, cpu_clocks };
