/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the CPU backend: its description, kinds and refusals, its simple kernels element by element, and the reader of CSV rows. */
#include "tests/tap.h"

#include "base/mem.h"
#include "calib/backend.h"
#include "calib/cpu.h"
#include "calib/csv.h"
#include "calib/work.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- kernels ---- */

static void check_elements(void)
{
	enum { N = 37 };
	float x[N], y[N], z[N], bias[N];
	bool is_copy = true, is_triad = true, is_sum = true, is_sgd = true;
	double total = 0;
	for (int i = 0; i < N; i++) {
		x[i] = (float)(i * i % 11) - 3;
		y[i] = (float)(i % 5) + 1;
		total += x[i];
	}
	cpu_copy(x, z, N);
	for (int i = 0; i < N; i++)
		is_copy = is_copy && z[i] == x[i];
	cpu_triad(x, y, z, N);
	for (int i = 0; i < N; i++)
		is_triad = is_triad && z[i] == x[i] + y[i] / 2;
	cpu_add(x, y, z, N);
	for (int i = 0; i < N; i++)
		is_sum = is_sum && z[i] == x[i] + y[i];
	near_to(cpu_reduce(x, N), total, 1e-5, "reduction");
	memcpy(z, x, sizeof z);
	cpu_sgd(z, y, N);
	for (int i = 0; i < N; i++)
		is_sgd = is_sgd && fabs(x[i] - z[i] - 1e-6 * y[i]) < 5e-7;
	ok(is_copy && is_triad && is_sum && is_sgd, "copy, triad, sum and SGD, element by element");
	static const uint32_t index[] = { 2, 0, 2 };
	cpu_gather(x, index, z, 3, 12);
	ok(!memcmp(z, x + 24, 48) && !memcmp(z + 12, x, 48) && !memcmp(z + 24, x + 24, 48), "gather copies the rows of the index");
	/* Adam (Kingma and Ba 2015) with moments 0.9 and 0.999: step 1e-6 m / (sqrt(v) + 1e-8). */
	float w[2] = { 0, 0 }, g[2] = { 2, -2 }, state[4] = { 1, 1, 4, 4 };
	cpu_adam(w, g, state, 2);
	double m = 0.9 + 0.2, v = 0.999 * 4 + 0.001 * 4;
	near_to(state[0], m, 1e-6, "Adam's first moment");
	near_to(state[2], v, 1e-6, "its second moment");
	near_to(w[0] * 1e6, -m / sqrt(v), 1e-5, "its step");
	near_to(w[1] * 1e6, -(0.9 - 0.2) / sqrt(v), 1e-5, "against the gradient");
	/* Limits of the functions: exp() underflows to 0; GELU of a large number x is x or 0. */
	float far[4] = { 200, -200, 0, 60 }, got[4];
	memset(bias, 0, sizeof bias);
	cpu_softmax(far, got, 1, 4);
	ok(fabsf(got[0] - 1) < 1e-6f && got[1] < 1e-30f && got[3] < 1e-30f, "softmax of distant numbers");
	cpu_bias_gelu(far, bias, got, 1, 4);
	ok(fabsf(got[0] - 200) < 1e-3f && fabsf(got[1]) < 1e-3f && got[2] == 0 && fabsf(got[3] - 60) < 1e-3f, "GELU of large numbers");
}

static bool is_running;
static int ran;

static void beside(void *arg)
{
	(void)arg;
	__atomic_store_n(&is_running, true, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

static void check_pair(void)
{
	struct cpu_pair *p = pair_new(beside, NULL);
	usleep(2000);
	ok(p && __atomic_load_n(&ran, __ATOMIC_SEQ_CST) == 0, "the second thread waits until it is turned on");
	for (int i = 0; i < 3; i++) {
		int before = __atomic_load_n(&ran, __ATOMIC_SEQ_CST);
		pair_on(p);
		while (__atomic_load_n(&ran, __ATOMIC_SEQ_CST) == before)
			usleep(100);
		pair_off(p);
		int after = __atomic_load_n(&ran, __ATOMIC_SEQ_CST);
		usleep(2000);
		ok(after > before && __atomic_load_n(&ran, __ATOMIC_SEQ_CST) == after,
			"the second thread works while it is switched on, and stops after pair_off()");
	}
	pair_on(p);
	pair_free(p);
	pair_free(NULL);
	ok(true, "a pair that is on can be freed");
}

/* ---- the backend ---- */

static void *prepare(
	void *device, const char *family, const char *op, const char *precision, const char *variant, double d0, struct orr_error *err)
{
	struct kernel k = { .d = { d0, 16, 16, 1 } };
	snprintf(k.family, sizeof k.family, "%s", family);
	snprintf(k.op, sizeof k.op, "%s", op);
	snprintf(k.precision, sizeof k.precision, "%s", precision);
	snprintf(k.variant, sizeof k.variant, "%s", variant);
	kernel_work(&k);
	return backend_cpu.prepare(device, &k, err);
}

static void check_backend(void)
{
	struct backend_options o = { .seed = 1, .threads = 2 };
	struct backend_device about;
	struct orr_error err = { 0 };
	size_t n;
	void *device = backend_cpu.open(&o, &err);
	backend_cpu.describe(device, &about);
	double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), load[1] = { 0 };
	ok(about.units == 2 && about.memory_bytes == memory && about.cache_bytes >= 1e5 && about.cache_bytes <= 64 << 20 &&
			strstr(about.details, "threads=2\nprocessors=") && !strcmp(about.architecture, "CPU"),
		"the description has threads, memory, and a cache of at most 64 MiB");
	/* The load average changes slowly. A load far above the limit always causes the warning, a load far below it never does. */
	if (getloadavg(load, 1) == 1 && load[0] > 0.6)
		ok(strstr(about.warnings, "other programs are running"), "a load of %.2f is mentioned", load[0]);
	else if (load[0] < 0.4)
		ok(!strstr(about.warnings, "other programs are running"), "a load of %.2f is not", load[0]);
	const struct kernel_kind *kinds = backend_cpu.kinds(device, &n);
	bool is_plain = n > 20;
	for (size_t i = 0; i < n; i++)
		is_plain = is_plain && kinds[i].ranks == 0 && (!strcmp(kinds[i].precision, "fp32") || !*kinds[i].precision);
	ok(is_plain, "kernels of one processor have no ranks, and are in fp32");
	static const struct {
		const char *family, *op, *precision, *variant, *says;
		double d0;
	} refused[] = { { "gemm", "", "bf16", "nn", "the CPU backend computes only in fp32: expected fp32", 16 },
		{ "preemption", "", "", "", "expected a kernel of the CPU backend", 50 },
		{ "collective", "all-reduce", "fp32", "", "expected a kernel of the CPU backend", 16 },
		{ "interference", "gemm", "fp32", "beside", "variant: expected \"alone\", or \"with-OP\"", 16 },
		{ "interference", "conv", "fp32", "alone", "variant: expected \"alone\", or \"with-OP\"", 16 },
		{ "interference", "gemm", "fp32", "with-conv", "variant: expected \"alone\", or \"with-OP\"", 16 },
		{ "interference", "copy", "fp32", "alone", "variant: expected \"alone\", or \"with-OP\"", 1e12 },
		{ "update", "sgd", "fp32", "", "memory that the CPU backend reserves", 1e12 } };
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		void *task =
			prepare(device, refused[i].family, refused[i].op, refused[i].precision, refused[i].variant, refused[i].d0, &err);
		ok(!task && err.code == ORR_EINPUT && strstr(err.text, refused[i].says), "refused: %s %s %s", refused[i].family,
			refused[i].variant, refused[i].says);
	}
	/* The reserve is a quarter of the memory and at most 1 GB; copies of 0.3 GB take 0.6 GB each. */
	struct timing t = { 0 };
	if (memory > 5e9) {
		void *a = prepare(device, "copy", "host", "", "", 3e8, &err), *b = prepare(device, "copy", "host", "", "", 3e8, &err);
		ok(a && !b && !backend_cpu.run(a, 1, &t, &err) && t.device_s > 0 && isnan(t.issue_s), "kernels share the reserve");
		if (a)
			backend_cpu.release(a);
		b = prepare(device, "copy", "host", "", "", 3e8, &err);
		ok(b, "the memory of a released kernel is used again");
		if (b)
			backend_cpu.release(b);
	}
	backend_cpu.close(device);
	static const char *const found[] = { "cpu", "synthetic" };
	for (int i = 0; i < 2; i++) {
		const struct backend *x = backend_find(found[i], &err);
		ok(x && !strcmp(x->name, found[i]) && x->abi == BACKEND_ABI && x->size == sizeof *x, "the backend %s is found", found[i]);
	}
	ok(!backend_find("tpu", &err) && err.code == ORR_EINPUT && strstr(err.text, "unknown backend \"tpu\""),
		"an unknown backend is refused");
}

static void check_synthetic(void)
{
	struct orr_error err = { 0 };
	struct backend_device about;
	void *device = backend_synthetic.open(&(struct backend_options){ .settings = "t0=1e-3,a=1e9,b=1e8,p=1,noise=0" }, &err);
	backend_synthetic.describe(device, &about);
	ok(strstr(about.details, "t0=0.001\na=1e+09\nb=100000000\np=1\nnoise=0\nspread=0\ndrift=0\n") && about.memory_bytes == 16e9,
		"the synthetic device describes its law");
	struct kernel k = { .family = "gemm", .precision = "fp32", .variant = "nn", .d = { 1000, 1000, 1000, 1 } };
	struct timing t;
	kernel_work(&k);
	void *task = backend_synthetic.prepare(device, &k, &err);
	backend_synthetic.run(task, 3, &t, &err);
	near_to(t.device_s, 3 * (1e-3 + 2e9 / 1e9 + 12e6 / 1e8), 1e-12, "p = 1: FLOPs and bytes take turns");
	backend_synthetic.release(task);
	k = (struct kernel){ .family = "copy", .op = "host", .d = { 1e6 } };
	kernel_work(&k);
	task = backend_synthetic.prepare(device, &k, &err);
	backend_synthetic.run(task, 1, &t, &err);
	near_to(t.device_s, 1e-3 + 0.01, 1e-12, "a copy takes its size");
	backend_synthetic.release(task);
	backend_synthetic.close(device);
	static const char *const bad[][2] = { { "a=0", "above 0" }, { "b=0", "expected a, b and p above 0" },
		{ "p=0", "expected a, b and p above 0" }, { "a=-1", "expected name=number" }, { "a", "expected name=number, found \"a\"" },
		{ "t0=1,x=2", "unknown setting \"x\"" }, { "t0=1,a", "found \"a\"" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(!backend_synthetic.open(&(struct backend_options){ .settings = bad[i][0] }, &err) && strstr(err.text, bad[i][1]),
			"%s: %s", bad[i][0], bad[i][1]);
}

/* ---- CSV ---- */

static void check_csv(void)
{
	static const char text[] = "\xef\xbb\xbf"
				   "a,\"b\"\"c\",d\r\n\r\n\n1,\"x,\"\"y\"\"\",\n,, 7";
	struct orr_error err = { 0 };
	struct csv c;
	double v = 0;
	ok(!csv_open(&c, "f", text, sizeof text - 1, &err) && c.n == 3 && !strcmp(c.name[0], "a") && !strcmp(c.name[1], "b\"c") &&
			c.line == 1,
		"a header after a byte order mark, with quotes");
	ok(csv_next(&c, &err) == 1 && c.line == 4 && !strcmp(csv_text(&c, "b\"c"), "x,\"y\"") && !*csv_text(&c, "d"),
		"quoted fields; empty lines are skipped");
	ok(!csv_real(&c, "a", 1, 1, NAN, &v, &err) && v == 1 && !csv_real(&c, "d", 0, 9, 5, &v, &err) && v == 5 &&
			!csv_real(&c, "none", 0, 9, 6, &v, &err) && v == 6,
		"numbers; an empty field or a missing column has a default");
	ok(csv_real(&c, "d", 0, 9, NAN, &v, &err) && strstr(err.text, "f:4: d: expected a number from 0 to 9, found \"\""),
		"an empty required field is an error");
	ok(csv_real(&c, "a", 1.5, 9, NAN, &v, &err) && csv_real(&c, "a", 0, 0.5, NAN, &v, &err), "numbers out of range");
	ok(csv_next(&c, &err) == 1 && c.line == 5 && !strcmp(csv_text(&c, "d"), " 7") && csv_next(&c, &err) == 0,
		"a last line without its end");
	static const char *const names[] = { "a", "d", NULL }, *const others[] = { "a", "e", NULL };
	ok(!csv_need(&c, names, &err) && csv_need(&c, others, &err) && strstr(err.text, "expected a column \"e\""),
		"a missing required column is an error");
	csv_close(&c);
	char wide[200] = "", *at = wide;
	for (int i = 0; i < 64; i++)
		at += sprintf(at, "%s%c%c", i ? "," : "", 'a' + i / 26, 'a' + i % 26);
	ok(!csv_open(&c, "f", wide, strlen(wide), &err) && c.n == 64, "64 columns");
	csv_close(&c);
	strcat(wide, ",z");
	ok(csv_open(&c, "f", wide, strlen(wide), &err) && strstr(err.text, "at most 64"), "65 are refused");
	csv_close(&c);
	static const struct {
		const char *text, *says;
		size_t n;
	} bad[] = { { "a\n\"x\"y\n", "f:2: a quoted field does not end: expected a closing quote", 8 },
		{ "a\n\"x\n", "f:2: a quoted field", 5 }, { "a\n\"\n", "f:2: a quoted field", 4 }, { "a\nx\0y\n", "f:2: NUL byte", 6 },
		{ "a\n1,2\n", "f:2: expected 1 fields", 6 } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int rc = csv_open(&c, "f", bad[i].text, bad[i].n, &err), got = rc ? -1 : csv_next(&c, &err);
		ok(got == -1 && strstr(err.text, bad[i].says), "%s", bad[i].says);
		csv_close(&c);
	}
	ok(!csv_open(&c, "f", "a\n\"\"\n", 5, &err) && csv_next(&c, &err) == 1 && !*csv_text(&c, "a"), "a quoted empty field");
	csv_close(&c);
}

int main(void)
{
	check_elements();
	check_pair();
	check_backend();
	check_synthetic();
	check_csv();
	return done();
}
