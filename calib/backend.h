/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * backend.h - what can run kernels and time them: a GPU, this CPU, a law with noise
 *
 * A backend opens a device, says which kinds of kernel it has, prepares one kernel of one
 * shape (buffers, seeded normal input, plans) and runs it `times` times in a row, returning
 * when the work is done: run() is launch and synchronisation in one. Nothing but run() is
 * ever timed. Where the cache is to be cold the backend goes round enough copies of the buffers that each
 * call finds none of its data; the caller does not flush.
 *
 * The module for CUDA is opened at run time; it carries BACKEND_ABI and the size of
 * struct backend, and any other number is refused. This header includes nothing of the program, and
 * a backend calls none of its functions: the compiler of the module need not be the program's.
 */
#ifndef ORR_CALIB_BACKEND_H
#define ORR_CALIB_BACKEND_H

#include <orrery/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BACKEND_ABI = 1, KERNEL_DIMS = 6 };

/* Names and dimensions as in calib/points.h; flops, bytes and size are those of kernel_work(). */
struct kernel {
	char family[16], op[32], precision[8], variant[40];
	double d[KERNEL_DIMS];
	double flops, bytes, size;
	double ranks, nodes;
	bool is_cold;
};

/* What a backend can time; the shapes are up to the sweep. */
struct kernel_kind {
	const char *family, *op, *precision, *variant;
	double ranks; /* of collectives; 0 elsewhere */
};

struct backend_device {
	char name[96], architecture[64];
	char software[256];                      /* "driver 580.1, cuBLASLt 13.0, .." */
	char details[512];                       /* "key=value" lines: identity, memory, ECC, power limit, .. */
	char warnings[512];                      /* lines that the user should see */
	double memory_bytes, cache_bytes, units; /* units: multiprocessors or cores */
};

/* NAN: not known here. */
struct backend_clocks {
	double clock_MHz, memory_MHz, power_W, temperature_C;
	char throttle[96]; /* reasons; "" none or not known */
};

/* device_s: of all calls together; issue_s: what the host spent on handing them over (NAN: the same). */
struct timing {
	double device_s, issue_s;
};

struct backend_options {
	uint64_t seed;        /* of the input data */
	uint32_t threads;     /* CPU: 0 for all */
	uint32_t device;      /* CUDA: index */
	const char *settings; /* synthetic: "noise=0.02,..", NULL for none */
};

struct backend {
	uint32_t abi, size;
	const char *name;
	/* NULL on error: ORR_EDEVICE where there is no device. */
	void *(*open)(const struct backend_options *o, struct orr_error *err);
	void (*close)(void *device);
	void (*describe)(void *device, struct backend_device *out);
	const struct kernel_kind *(*kinds)(void *device, size_t *n);
	/* NULL on error: ORR_EINPUT if it is this kernel that cannot be had, ORR_EFAIL if nothing more can be. */
	void *(*prepare)(void *device, const struct kernel *k, struct orr_error *err);
	int (*run)(void *task, uint32_t times, struct timing *out, struct orr_error *err);
	void (*release)(void *task);
	void (*clocks)(void *device, struct backend_clocks *out);
};

/* The one symbol of a module: const struct backend *orr_calib_backend(void). */
#define BACKEND_SYMBOL "orr_calib_backend"

extern const struct backend backend_synthetic, backend_cpu;

/*
 * "cuda", "cpu" or "synthetic"; the module is looked for in $ORRERY_MODULE_PATH, beside the program, and where
 * it was installed. ORR_EDEVICE if it cannot be opened. The result is never freed: a module stays.
 */
const struct backend *backend_find(const char *name, struct orr_error *err);

#ifdef __cplusplus
}
#endif
#endif
