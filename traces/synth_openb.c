/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * synth_openb.c - pods like Alibaba's openb trace (2023)
 *
 * Fitted to the list of 8,152 pods (docs/traces.md). A pod has one of three kinds:
 * CPU only, a share of one GPU, or whole GPUs. Its run time, its pair of CPUs and
 * memory (one of the most common pairs) and its QoS depend on the kind. Gaps are a
 * renewal process with the measured distribution. A share of the GPU pods requests
 * GPU types, as in the list "gpuspec33".
 */
#include "traces/draw.h"
#include "traces/generator.h"

#include "base/num.h"

#include <math.h>

enum kind { CPU_ONLY, SHARE, WHOLE };

static const double kind_weight[] = { 1088, 3078, 3986, -1 };

/* Seconds. */
static const struct quantile gaps[] = { { 0, 0 }, { 0.02, 0.01 }, { 0.05, 1 }, { 0.1, 6 }, { 0.25, 45 }, { 0.5, 161 }, { 0.75, 436 },
	{ 0.9, 948 }, { 0.95, 1468 }, { 0.99, 3422 }, { 0.995, 4818 }, { 0.998, 63207 }, { 0.999, 421296 }, { 0.9995, 1090414 },
	{ 0.9999, 1249073 }, { 1, 1410436 } };

static const struct quantile runs[3][14] = {
	{ { 0, 10 }, { 0.05, 77 }, { 0.1, 122 }, { 0.25, 149 }, { 0.5, 445 }, { 0.75, 1943 }, { 0.9, 12849 }, { 0.95, 19471 },
		{ 0.98, 25093 }, { 0.99, 28363 }, { 0.995, 47630 }, { 0.998, 1070156 }, { 0.999, 3708871 }, { 1, 10143284 } },
	{ { 0, 0 }, { 0.05, 26 }, { 0.1, 46 }, { 0.25, 107 }, { 0.5, 356 }, { 0.75, 1315 }, { 0.9, 7095 }, { 0.95, 16536 }, { 0.98, 41246 },
		{ 0.99, 74631 }, { 0.995, 153099 }, { 0.998, 2884893 }, { 0.999, 3411581 }, { 1, 12475899 } },
	{ { 0, 1 }, { 0.05, 49 }, { 0.1, 66 }, { 0.25, 167 }, { 0.5, 586 }, { 0.75, 2178 }, { 0.9, 5556 }, { 0.95, 12923 }, { 0.98, 58323 },
		{ 0.99, 234617 }, { 0.995, 1647057 }, { 0.998, 4516112 }, { 0.999, 8812140 }, { 1, 12537496 } },
};

/* The most common pairs of CPU and memory of each kind. */
static const struct {
	int64_t cpu_milli, mem_mib;
} demand[3][10] = {
	{ { 12500, 57344 }, { 32000, 49152 }, { 8000, 30517 }, { 15400, 51200 }, { 16500, 51200 }, { 11400, 57344 }, { 8000, 15625 },
		{ 16000, 31250 }, { 8000, 31250 }, { 12000, 24576 } },
	{ { 3152, 5600 }, { 11908, 47104 }, { 8000, 30517 }, { 4000, 22888 }, { 4000, 15258 }, { 4152, 10600 }, { 4000, 30517 },
		{ 6000, 6144 }, { 6000, 12288 }, { 6000, 22888 } },
	{ { 11300, 49152 }, { 11400, 48128 }, { 3152, 5600 }, { 18708, 64512 }, { 9810, 41560 }, { 12000, 24576 }, { 15700, 58368 },
		{ 11908, 47104 }, { 16000, 32768 }, { 8000, 16384 } },
};
static const double demand_weight[3][11] = { { 364, 284, 163, 120, 95, 11, 11, 8, 5, 4, -1 },
	{ 1122, 625, 486, 189, 182, 152, 136, 51, 29, 28, -1 }, { 857, 534, 470, 255, 195, 158, 158, 153, 108, 104, -1 } };

static const uint32_t share_milli[] = { 810, 470, 320, 650, 230, 460, 590, 160, 550, 220, 370, 110, 480, 50, 330, 350, 270, 440, 140, 290 };
static const double share_weight[] = { 1078, 750, 328, 253, 140, 128, 75, 74, 72, 62, 47, 24, 19, 7, 7, 6, 4, 2, 1, 1, -1 };
static const uint32_t whole_gpus[] = { 1, 2, 4, 8 };
static const double whole_weight[] = { 3911, 16, 15, 44, -1 };

/* Strings 1..4 are QoS classes; the others are GPU types. */
static const char *const names[] = { "LS", "BE", "Burstable", "Guaranteed", "T4", "G2", "P100", "V100M16|V100M32", "P100|V100M16|V100M32",
	"G3", "G2|P100|T4|V100M16|V100M32", "P100|T4|V100M16|V100M32", "A10|G2|T4|V100M16|V100M32", "V100M32", NULL };
enum { FIRST_TYPE = 5 };
static const double qos_weight[3][5] = { { 636, 450, 1, 1, -1 }, { 759, 2319, 0, 0, -1 }, { 3252, 629, 99, 6, -1 } };
static const double type_weight[] = { 1291, 331, 279, 163, 103, 86, 39, 33, 24, 20, -1 };

struct openb {
	struct rng arrivals, service, mix;
	double load, types;
	int64_t now_ns;
	bool has_begun;
};

static const struct orr_param params[] = { GENERATOR_PARAM_N("8152"),
	ORR_PARAM_REAL("types", "0", 0, 1, "share of the GPU pods that request GPU types (gpuspec33: 0.338)"),
	ORR_PARAM_REAL("load", "1", 1e-3, 1e3, "divisor of all gaps"), ORR_PARAM_END };

static void start(void *state, const void *args, uint64_t seed, uint64_t index)
{
	struct openb *o = state;
	rng_init(&o->arrivals, seed, "arrivals", index);
	rng_init(&o->service, seed, "service", index);
	rng_init(&o->mix, seed, "mix", index);
	o->load = orr_arg_real(args, "load");
	o->types = orr_arg_real(args, "types");
}

static bool next(void *state, struct job_rec *row)
{
	struct openb *o = state;
	double gap = round(draw_quantile(&o->arrivals, gaps));
	if (o->has_begun)
		o->now_ns = num_add_sat(o->now_ns, draw_to_ns(gap / o->load));
	o->has_begun = true;
	size_t kind = draw_index(&o->mix, kind_weight);
	size_t pair = draw_index(&o->mix, demand_weight[kind]);
	row->submit_ns = o->now_ns;
	row->duration_ns = draw_to_ns(round(draw_quantile(&o->service, runs[kind])));
	row->cpu_milli = demand[kind][pair].cpu_milli;
	row->mem_mib = demand[kind][pair].mem_mib;
	row->queue = (uint32_t)draw_index(&o->mix, qos_weight[kind]) + 1;
	row->gpus = kind == CPU_ONLY ? 0 : kind == SHARE ? 1 : whole_gpus[draw_index(&o->mix, whole_weight)];
	row->gpu_milli = kind == CPU_ONLY ? 0 : kind == SHARE ? share_milli[draw_index(&o->mix, share_weight)] : 1000;
	if (kind != CPU_ONLY && rng_uniform(&o->mix) < o->types)
		row->gpu_types = FIRST_TYPE + (uint32_t)draw_index(&o->mix, type_weight);
	return true;
}

const struct generator generator_openb = {
	.name = "openb-like",
	.doc = "pods with the statistics of Alibaba openb 2023: shares of GPUs, CPUs, memory, QoS, optionally GPU types",
	.params = params,
	.names = names,
	.state_size = sizeof(struct openb),
	.start = start,
	.next = next,
};
