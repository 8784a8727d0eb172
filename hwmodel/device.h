/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * device.h - what a GPU (or CPU) can do, from its datasheet, and how fast it is said to be in practice
 *
 * Data: hwmodel/devices/NAME.json, carried inside the program; a file of the same form
 * may be named instead. Every figure names its source. Peaks are dense FLOP/s, memory
 * in bytes, bandwidths in bytes/s per direction.
 */
#ifndef ORR_HWMODEL_DEVICE_H
#define ORR_HWMODEL_DEVICE_H

#include <orrery/api.h>

enum precision { PRECISION_FP32, PRECISION_TF32, PRECISION_FP16, PRECISION_BF16, PRECISION_FP8, PRECISION_COUNT };

struct device {
	char *name, *title;
	double peak_flops[PRECISION_COUNT]; /* matrix products; 0: cannot */
	double vector_flops;   /* element-wise */
	double memory_bytes, memory_Bps, l2_bytes;
	double sms;
	double launch_s;       /* per kernel, when launches are queued */
	/* Achievable shares of the peaks: documented in the file, with source. */
	double gemm_efficiency[PRECISION_COUNT], conv_efficiency[PRECISION_COUNT], memory_efficiency;
	double gemm_half_flops; /* a product of so many FLOPs reaches half of that efficiency (0: no such ramp) */
	double link_Bps, link_latency_s; /* GPU to GPU inside a node, one direction (NVLink, else PCIe) */
	double pcie_Bps;
	char *source;
	bool is_measured;      /* a profile that orrery made; else datasheet, and reports say so */
	char hash[65];
};

struct device *device_load(const char *name_or_file, struct orr_error *err);
struct device *device_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void device_free(struct device *d);
const char *device_catalogue(size_t i);
bool precision_named(const char *name, enum precision *out);
const char *precision_name(enum precision p);

#endif
