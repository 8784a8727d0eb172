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

/* 1x1; 3x3 with stride 1, which Winograd's algorithm does with fewer FLOPs; the rest. */
enum conv_shape { CONV_1X1, CONV_3X3, CONV_OTHER, CONV_SHAPES };

struct device {
	char *name, *title, *architecture;
	char *aliases;    /* "a100-40g, a100-sxm4" */
	char *profile_of; /* the device of the catalogue whose profile holds for it: same chip, clocks and memory; its own name */
	double peak_flops[PRECISION_COUNT]; /* matrix products; 0: cannot */
	double vector_flops;                /* element-wise */
	double memory_bytes, memory_Bps, l2_bytes;
	double sms;
	double launch_s; /* per kernel, when launches are queued */
	/* Achievable shares of the peaks: documented in the file, with source. */
	double gemm_efficiency[PRECISION_COUNT], conv_efficiency[PRECISION_COUNT], memory_efficiency;
	/* Of convolutions by shape and pass; conv_efficiency is [CONV_OTHER][0]. */
	double conv_share[PRECISION_COUNT][CONV_SHAPES][3];
	/*
	 * A product of so many FLOPs reaches half of that efficiency (0: no such ramp). Said for the precision with
	 * the highest rate (fp8 aside); the others have the same ramp in time (device_ramp_s()).
	 */
	double gemm_half_flops;
	double gemm_exposed_memory;      /* share of a product's memory time that its FLOPs do not hide */
	double link_Bps, link_latency_s; /* GPU to GPU inside a node, one direction (NVLink, else PCIe) */
	double pcie_Bps;
	/* A measured all-reduce of 8 in a node: bus bandwidth, and the time of a small one (0: none known). */
	double allreduce_Bps, allreduce_latency_s;
	/* The same, fitted from 64 KiB on: latency + 2(n-1)/n bytes / Bps + sqrt_s sqrt(bytes) (docs/models.md); 0: none. */
	double law_latency_s, law_Bps, law_sqrt_s;
	char *source;     /* "topic: where from" lines */
	bool is_measured; /* a profile that orrery made; else datasheet, and reports say so */
	char hash[65];
};

/* A name or alias of the catalogue, in any case, or a file (with a '/' or ending in .json). */
struct device *device_load(const char *name_or_file, struct orr_error *err);
struct device *device_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void device_free(struct device *d);
/* The names of the catalogue in order; NULL past the last. */
const char *device_catalogue(size_t i);
/* Seconds that every product takes beside FLOPs / (efficiency x peak): the ramp of gemm_half_flops. */
double device_ramp_s(const struct device *d);
bool precision_named(const char *name, enum precision *out);
const char *precision_name(enum precision p);

#endif
