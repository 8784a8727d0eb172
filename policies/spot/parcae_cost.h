/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parcae_cost.h - costs of Parcae's migrations, by the constants of its authors' code (JF-D/Parcae, commit efedee7)
 *
 * The authors measured the constants on p3.2xlarge instances (V100, 10 Gb/s), for each family of models, because families build
 * process groups and layers differently. A stage's state is an equal share of the parameters with Adam's two moments, in single
 * precision. Times in s, sizes in bytes.
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
/* Returns the costs of a family. parameters 0: the number of parameters of the family. */
struct parcae_cost parcae_cost_of(enum parcae_family family, double parameters);

/* Returns the time to send bytes from one instance to another. */
double parcae_p2p_s(double bytes);
double parcae_stage_bytes(const struct parcae_cost *c, uint32_t depth);
double parcae_build_s(const struct parcae_cost *c, uint32_t depth);
double parcae_restart_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth, bool is_adding);
/* Returns the time, s, of a migration in which every stage keeps enough replicas: instances only form new communication groups. */
double parcae_intra_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth);
/* Returns the time, s, of a migration in which instances get the state of a stage of `depth`. `lost` stages of a pipeline of
 * `old_depth` have no replica left: their state comes from the parameter server, one stage after another. */
double parcae_inter_s(const struct parcae_cost *c, uint32_t pipelines, uint32_t depth, uint32_t old_depth, uint32_t lost, bool is_adding);

#endif
