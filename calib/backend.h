/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * backend.h - runs and times kernels: on a GPU, on this CPU, or by a law with noise
 *
 * A backend opens a device, lists the kinds of kernel it supports, prepares one kernel of one shape (buffers, seeded normal
 * input, plans) and runs it `times` times in a row. run() returns when the work is complete: it includes launch and
 * synchronisation, and only run() is timed. For a cold cache the backend cycles through enough copies of the buffers that no
 * call finds its data in the cache. The caller does not flush.
 *
 * The CUDA module is opened at run time. It carries BACKEND_ABI and the size of
 * struct backend; a module with other values is refused. This header includes no header of the
 * program, and a backend calls no function of the program, so another compiler may build the
 * module.
 */
#ifndef ORR_CALIB_BACKEND_H
#define ORR_CALIB_BACKEND_H

#include <orrery/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BACKEND_ABI = 1, KERNEL_DIMS = 6 };

/* A kernel; calib/points.h lists names and dimensions. kernel_work() sets flops, bytes and size. */
struct kernel {
	char family[16], op[32], precision[8], variant[40];
	double d[KERNEL_DIMS];
	double flops, bytes, size;
	double ranks, nodes;
	bool is_cold;
};

/* A kind of kernel that a backend supports; the sweep chooses the shapes. */
struct kernel_kind {
	const char *family, *op, *precision, *variant;
	double ranks; /* number of ranks of collectives; 0 for other kinds */
};

struct backend_device {
	char name[96], architecture[64];
	char software[256];                      /* such as "driver 580.1, cuBLASLt 13.0, .." */
	char details[512];                       /* "key=value" lines: identity, memory, ECC, power limit, .. */
	char warnings[512];                      /* warning lines for the user */
	double memory_bytes, cache_bytes, units; /* units: multiprocessors or cores */
};

/* Clocks; NAN: unknown on this device. */
struct backend_clocks {
	double clock_MHz, memory_MHz, power_W, temperature_C;
	char throttle[96]; /* reasons of throttling; "": none or unknown */
};

/* Times of all calls. device_s: on the device; issue_s: time in which the host issues the calls (NAN: equal to device_s). */
struct timing {
	double device_s, issue_s;
};

struct backend_options {
	uint64_t seed;        /* seed of the input data */
	uint32_t threads;     /* CPU; 0: all */
	uint32_t device;      /* CUDA: index */
	const char *settings; /* settings of the synthetic backend: "noise=0.02,.."; NULL: defaults */
};

struct backend {
	uint32_t abi, size;
	const char *name;
	/* Opens the device. Returns NULL on error; ORR_EDEVICE: no usable device. */
	void *(*open)(const struct backend_options *o, struct orr_error *err);
	void (*close)(void *device);
	void (*describe)(void *device, struct backend_device *out);
	const struct kernel_kind *(*kinds)(void *device, size_t *n);
	/* Prepares a kernel. Returns NULL on error; ORR_EINPUT: the kernel is not supported; ORR_EFAIL: the device can no longer be
	 * used. */
	void *(*prepare)(void *device, const struct kernel *k, struct orr_error *err);
	int (*run)(void *task, uint32_t times, struct timing *out, struct orr_error *err);
	void (*release)(void *task);
	void (*clocks)(void *device, struct backend_clocks *out);
};

/* Name of a module's only exported symbol: const struct backend *orr_calib_backend(void). */
#define BACKEND_SYMBOL "orr_calib_backend"

extern const struct backend backend_synthetic, backend_cpu;

/*
 * Returns the backend "cuda", "cpu" or "synthetic". Searches for the module in $ORRERY_MODULE_PATH, in the program's folder,
 * and in the installation folder. ORR_EDEVICE: it cannot be opened. The result is static: never free it.
 */
const struct backend *backend_find(const char *name, struct orr_error *err);

#ifdef __cplusplus
}
#endif
#endif
