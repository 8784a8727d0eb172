/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parcae_cost.h"

#include <math.h>
#include <stddef.h>

const char *const parcae_family_name[PARCAE_FAMILIES + 1] = { "gpt-1.5b", "gpt-6.7b", "bert", "vgg19", "resnet152", NULL };

/* Number of parameters of the first, middle and last layers in the layer profiles. */
static const double family_parameters[PARCAE_FAMILIES] = { 82.1e6 + 46 * 30.7e6 + 82.1e6, 214.4e6 + 34 * 201.4e6 + 214.4e6,
	31.8e6 + 22 * 12.6e6 + 31.8e6, 16 * 1.25e6 + 102.8e6 + 16.8e6 + 0.41e6, 60.2e6 };

struct parcae_cost parcae_cost_of(enum parcae_family family, double parameters)
{
	return (struct parcae_cost){ family, parameters > 0 ? parameters : family_parameters[family] };
}

/* Interpolates linearly between measured sizes, and extrapolates beyond the last one. */
double parcae_p2p_s(double bytes)
{
	static const double size[] = { 1024, 65536, 1048576, 16777216, 134217728, 1073741824 };
	static const double us[] = { 140, 194, 1428, 18622, 153551, 1198256 };
	enum { N = sizeof size / sizeof *size };
	if (bytes <= size[0])
		return us[0] / 1e6;
	size_t i = 1;
	while (i + 1 < N && bytes > size[i])
		i++;
	return (us[i - 1] + (us[i] - us[i - 1]) * (bytes - size[i - 1]) / (size[i] - size[i - 1])) / 1e6;
}

/* Returns the bytes of a stage: a parameter and its two Adam moments, 4 bytes each. */
double parcae_stage_bytes(const struct parcae_cost *c, uint32_t depth)
{
	return c->parameters * (1 + 2) * 4 / depth;
}

static double gpt_groups_ms(double d, double p, double each_ms)
{
	return (d + p + 1 + d * p) * each_ms;
}

static double groups_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth, bool is_adding)
{
	double d = pipelines, p = depth, ms = 0;
	switch (c->family) {
	case PARCAE_GPT_1P5B:
		ms = gpt_groups_ms(d, p, is_adding ? 500 : 39.3);
		break;
	case PARCAE_GPT_6P7B:
		ms = gpt_groups_ms(d, p, is_adding ? 500 : 115.6);
		break;
	case PARCAE_VGG19:
		ms = d * p * (is_adding ? 440 : 340);
		break;
	default:
		ms = (pipelines < 6 ? 1000 : pipelines < 12 ? 1500 : 2000) * (is_adding ? 1.5 : 1);
	}
	return (35 + ms) / 1e3;
}

/*
 * Returns the time to build a stage, s. GPT-1.5B: by layers of a stage; the embedding's weights are sent to the last stage.
 * GPT-6.7B: as measured. BERT: 1752 ms at depth 2 and 531 ms at depth 16 are known; between them, a constant plus a term
 * proportional to 1/depth. Other models: unknown, 0.
 */
double parcae_build_s(const struct parcae_cost *c, uint32_t depth)
{
	static const double gpt_6p7b_ms[] = { 7961, 6911, 6926, 7002, 7195 }; /* values for depths 12 .. 16 */
	double p = depth;
	switch (c->family) {
	case PARCAE_GPT_1P5B:
		return 0.430 * ceil(48 / p) + parcae_p2p_s(82.1e6 * 4);
	case PARCAE_GPT_6P7B:
		return gpt_6p7b_ms[depth < 12 ? 0 : depth > 16 ? 4 : depth - 12] / 1e3;
	case PARCAE_BERT:
		p = fmin(fmax(p, 2), 16);
		return (531 + (1752 - 531) * (1 / p - 1.0 / 16) / (1.0 / 2 - 1.0 / 16)) / 1e3;
	default:
		return 0;
	}
}

static double start_s(const struct parcae_cost *c)
{
	return c->family == PARCAE_GPT_1P5B || c->family == PARCAE_GPT_6P7B ? 0.240 : 0.030;
}

static double rendezvous_s(const struct parcae_cost *c)
{
	return 6.600 + (c->family == PARCAE_GPT_6P7B || c->family == PARCAE_VGG19 ? 2.000 : c->family == PARCAE_RESNET152 ? 3.360 : 0);
}

double parcae_restart_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth, bool is_adding)
{
	return (is_adding ? rendezvous_s(c) : 0) + groups_s(c, pipelines, depth, is_adding) + start_s(c) + parcae_build_s(c, depth);
}

double parcae_intra_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth)
{
	return groups_s(c, pipelines, depth, false) + start_s(c);
}

double parcae_inter_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth, uint32_t old_depth, uint32_t lost, bool is_adding)
{
	double parallel = parcae_p2p_s(parcae_stage_bytes(c, depth));
	double serial = lost ? lost * parcae_p2p_s(parcae_stage_bytes(c, old_depth)) : 0;
	return fmax(parallel, serial) + parcae_restart_s(c, pipelines, depth, is_adding);
}
