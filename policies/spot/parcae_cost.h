/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parcae_cost.h - costs of Parcae's migrations, by the constants of its authors' code (JF-D/Parcae, commit efedee7)
 *
 * The authors measured the constants on p3.2xlarge instances (V100, 10 Gb/s), by family of models, because process groups and layers
 * are built differently. A stage's state is an equal share of the parameters with Adam's two moments, in single precision. Times in s,
 * sizes in bytes.
 */
#ifndef ORR_POLICIES_SPOT_PARCAE_COST_H
#define ORR_POLICIES_SPOT_PARCAE_COST_H

#include <stdbool.h>
#include <stdint.h>

enum parcae_family { PARCAE_GPT_1P5B, PARCAE_GPT_6P7B, PARCAE_BERT, PARCAE_VGG19, PARCAE_RESNET152, PARCAE_FAMILIES };
extern const char *const parcae_family_name[PARCAE_FAMILIES + 1]; /* ends with NULL */

struct parcae_cost {
	enum parcae_family family;
	double parameters;
};
/* parameters 0: the number of parameters of the family. */
struct parcae_cost parcae_cost_of(enum parcae_family family, double parameters);

/* Time to send bytes from one instance to another. */
double parcae_p2p_s(double bytes);
double parcae_stage_bytes(const struct parcae_cost *c, uint32_t depth);
double parcae_build_s(const struct parcae_cost *c, uint32_t depth);
double parcae_restart_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth, bool is_adding);
/* Every stage keeps enough replicas: instances form new communication groups only. Returns s. */
double parcae_intra_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth);
/* Instances get the state of a stage of `depth`; `lost` stages of a pipeline of `old_depth` have no replica left and come from the
 * parameter server, one after another. */
double parcae_inter_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth, uint32_t old_depth, uint32_t lost, bool is_adding);

#endif
