/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * device.h - the data sheet of a GPU or CPU, and its achievable efficiencies
 *
 * Data: hwmodel/devices/NAME.json, embedded in the program; a file of the same form is also accepted. Every value has a source.
 * Peaks are dense FLOP/s, memory sizes bytes, bandwidths bytes/s per direction.
 */
#ifndef ORR_HWMODEL_DEVICE_H
#define ORR_HWMODEL_DEVICE_H

#include <orrery/api.h>

enum precision { PRECISION_FP32, PRECISION_TF32, PRECISION_FP16, PRECISION_BF16, PRECISION_FP8, PRECISION_COUNT };

/* Winograd's algorithm computes CONV_3X3 (stride 1) with fewer FLOPs. */
enum conv_shape { CONV_1X1, CONV_3X3, CONV_OTHER, CONV_SHAPES };

struct device {
	char *name, *title, *architecture;
	char *aliases;    /* "a100-40g, a100-sxm4" */
	char *profile_of; /* catalogue device whose profile applies (same chip, clocks and memory); default: the device itself */
	double peak_flops[PRECISION_COUNT]; /* peak rate of matrix products; 0: precision not supported */
	double vector_flops;                /* FLOP/s of element-wise kernels */
	double memory_bytes, memory_Bps, l2_bytes;
	double sms;
	double launch_s; /* time per kernel with queued launches, s */
	/* Achievable shares of the peaks; the file documents their sources. */
	double gemm_efficiency[PRECISION_COUNT], conv_efficiency[PRECISION_COUNT], memory_efficiency;
	/* Convolution efficiencies by precision, shape and pass; conv_efficiency is [CONV_OTHER][0]. */
	double conv_share[PRECISION_COUNT][CONV_SHAPES][3];
	/*
	 * FLOPs at which a product reaches half of its efficiency (0: no ramp). The value is for the precision with the highest
	 * rate (fp8 aside); the other precisions have the same ramp in time (device_ramp_s()).
	 */
	double gemm_half_flops;
	double gemm_exposed_memory; /* share of a product's memory time that does not overlap with its FLOPs */
	/* Factors on the times that a profile gives for convolutions and for memory-bound layers, in whole convolutional networks on tensor
	 * cores; 0: no factor. */
	double network_conv_time, network_memory_time;
	double link_Bps, link_latency_s; /* GPU to GPU inside a node, one direction (NVLink, else PCIe) */
	char *fabric;                    /* interconnect of the GPUs of a usual node: "nvswitch", "nvlink-mesh", or "" if not stated
					  * (profile_collective()) */
	double pcie_Bps;
	/* Measured all-reduce of 8 GPUs in a node: bus bandwidth, and the time of a small message (0: unknown). */
	double allreduce_Bps, allreduce_latency_s;
	double nvls_Bps; /* bus bandwidth of long messages if the switch reduces (NVLS); 0: the switch cannot reduce */
	/* Fit to the same all-reduce from 64 KiB up: latency + 2(n-1)/n bytes / Bps + sqrt_s sqrt(bytes) (docs/models/step.md); 0: none. */
	double law_latency_s, law_Bps, law_sqrt_s;
	char *source; /* lines of "topic: source" */
	/* The sources state that these shares of the peak were not measured on this device. */
	bool gemm_is_carried_over, conv_is_carried_over;
	bool is_measured; /* source of the values: measured by orrery, else the data sheet; reports state it */
	char hash[65];
	bool is_shared; /* the device belongs to the catalogue: it never changes, and is kept until the program ends */
};

/* Loads a device. name_or_file: a name or alias of the catalogue (case ignored), a file (contains '/' or ends in .json), or
 * "flat:flops=RATE": a device on which launches and other kernels take no time and memory is unlimited (memory_bytes INFINITY), for
 * checks against closed forms. */
struct device *device_load(const char *name_or_file, struct orr_error *err);
struct device *device_parse(const char *path, const char *text, size_t n, struct orr_error *err);
/* Frees a device. Devices of the catalogue are shared by all callers and stay. */
void device_free(struct device *d);
/* Returns name i of the catalogue, in order; NULL past the last. */
const char *device_catalogue(size_t i);
/* Returns the seconds that every product takes on top of FLOPs / (efficiency x peak): the ramp of gemm_half_flops. */
double device_ramp_s(const struct device *d);
bool precision_named(const char *name, enum precision *out);
const char *precision_name(enum precision p);
/* Returns the bytes of a stored element: 4 in fp32 and tf32, 2 in fp16 and bf16, 1 in fp8. */
double precision_element_bytes(enum precision p);

#endif
