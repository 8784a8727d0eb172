/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The costs of Parcae's migrations (policies/spot/parcae_cost.h) from the constants of its authors' code, by hand. */
#include "policies/spot/parcae_cost.h"

#include "tests/tap.h"

static void transfers(void)
{
	static const struct {
		double bytes, us;
	} x[] = { { 0, 140 }, { 1024, 140 }, { 33280, 167 }, { 65536, 194 }, { 557056, (194 + 1428) / 2. }, { 1048576, 1428 },
		{ 8912896, (1428 + 18622) / 2. }, { 16777216, 18622 }, { 75497472, (18622 + 153551) / 2. }, { 134217728, 153551 },
		{ 603979776, (153551 + 1198256) / 2. }, { 1073741824, 1198256 }, { 2013265920, 1198256 + 1044705 } };
	for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
		char what[80];
		snprintf(what, sizeof what, "%.0f bytes, between measured sizes or beyond them, in us", x[i].bytes);
		near_to(1e6 * parcae_p2p_s(x[i].bytes), x[i].us, 1e-12, what);
	}
}

static void sizes(void)
{
	static const double parameters[PARCAE_FAMILIES] = { 1576.4e6, 7276.4e6, 340.8e6, 140.01e6, 60.2e6 };
	for (int f = 0; f < PARCAE_FAMILIES; f++) {
		struct parcae_cost own = parcae_cost_of((enum parcae_family)f, 0), given = parcae_cost_of((enum parcae_family)f, 0.5);
		near_to(parcae_stage_bytes(&own, 4), 3 * parameters[f], 1e-12, parcae_family_name[f]);
		near_to(parcae_stage_bytes(&given, 3), 2, 1e-12, "half a parameter in three stages: 2 bytes each");
	}
}

static void builds(void)
{
	const struct parcae_cost small = parcae_cost_of(PARCAE_GPT_1P5B, 0), large = parcae_cost_of(PARCAE_GPT_6P7B, 0),
				 bert = parcae_cost_of(PARCAE_BERT, 0), vgg = parcae_cost_of(PARCAE_VGG19, 0),
				 resnet = parcae_cost_of(PARCAE_RESNET152, 0);
	/* The embedding has 328.4e6 bytes. */
	double sent = 0.153551 + (1.198256 - 0.153551) * (328.4e6 - 134217728) / 939524096;
	near_to(parcae_build_s(&small, 12), 4 * 0.43 + sent, 1e-12, "GPT-1.5B in 12 stages of 4 layers");
	near_to(parcae_build_s(&small, 13), 4 * 0.43 + sent, 1e-12, "GPT-1.5B in 13 stages, some of 4 layers");
	near_to(parcae_build_s(&small, 48), 0.43 + sent, 1e-12, "GPT-1.5B in 48 stages of one layer");
	static const double ms[] = { 7961, 7961, 6911, 6926, 7002, 7195, 7195 };
	for (uint32_t d = 11; d <= 17; d++)
		near_to(parcae_build_s(&large, d), ms[d - 11] / 1e3, 1e-12, "GPT-6.7B, measured at depths 12 to 16");
	near_to(parcae_build_s(&bert, 1), 1.752, 1e-12, "BERT below the least depth");
	near_to(parcae_build_s(&bert, 2), 1.752, 1e-12, "BERT at depth 2");
	near_to(parcae_build_s(&bert, 4), 0.531 + 1.221 * 3 / 7, 1e-12, "BERT at depth 4: (1/4 - 1/16) of (1/2 - 1/16)");
	near_to(parcae_build_s(&bert, 16), 0.531, 1e-12, "BERT at depth 16");
	near_to(parcae_build_s(&bert, 20), 0.531, 1e-12, "BERT above the largest depth");
	near_to(parcae_build_s(&vgg, 4) + parcae_build_s(&resnet, 4), 0, 0, "unknown for the other models");
}

/* Times of groups for 2 pipelines of 4 stages: GPT models have 2 + 4 + 1 + 8 = 15 groups; VGG-19 has 8 stages. */
static void groups(void)
{
	static const struct {
		enum parcae_family family;
		double keeping_ms, adding_ms; /* groups with 35 ms of their own, and the start, 240 or 30 ms; a new instance's rendezvous */
	} x[] = { { PARCAE_GPT_1P5B, 35 + 15 * 39.3 + 240, 6600 + 35 + 15 * 500 + 240 },
		{ PARCAE_GPT_6P7B, 35 + 15 * 115.6 + 240, 8600 + 35 + 15 * 500 + 240 },
		{ PARCAE_BERT, 35 + 1000 + 30, 6600 + 35 + 1500 + 30 }, { PARCAE_VGG19, 35 + 8 * 340 + 30, 8600 + 35 + 8 * 440 + 30 },
		{ PARCAE_RESNET152, 35 + 1000 + 30, 9960 + 35 + 1500 + 30 } };
	for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
		struct parcae_cost c = parcae_cost_of(x[i].family, 0);
		double build = parcae_build_s(&c, 4);
		near_to(parcae_intra_s(&c, 2, 4), x[i].keeping_ms / 1e3, 1e-12, parcae_family_name[x[i].family]);
		near_to(parcae_restart_s(&c, 2, 4, false), x[i].keeping_ms / 1e3 + build, 1e-12, "a restart builds the stages");
		near_to(parcae_restart_s(&c, 2, 4, true), x[i].adding_ms / 1e3 + build, 1e-12, "a restart with new instances");
	}
	struct parcae_cost resnet = parcae_cost_of(PARCAE_RESNET152, 0);
	static const double by_pipelines[][2] = { { 5, 1000 }, { 6, 1500 }, { 11, 1500 }, { 12, 2000 } };
	for (int i = 0; i < 4; i++)
		near_to(parcae_intra_s(&resnet, (uint32_t)by_pipelines[i][0], 3), (by_pipelines[i][1] + 65) / 1e3, 1e-12,
			"ResNet-152, by pipelines");
}

static void migrations(void)
{
	/* A stage of depth 1 has 2^20 bytes (1.428 ms); one of depth 16 has 2^16 bytes (0.194 ms). */
	struct parcae_cost c = parcae_cost_of(PARCAE_VGG19, 1048576 / 12.);
	double restart = parcae_restart_s(&c, 2, 16, false), adding = parcae_restart_s(&c, 2, 16, true);
	near_to(parcae_inter_s(&c, 2, 16, 1, 0, false), restart + 0.000194, 1e-14, "all stages are sent at the same time");
	near_to(parcae_inter_s(&c, 2, 16, 1, 3, false), restart + 3 * 0.001428, 1e-14, "lost stages come one after another");
	near_to(parcae_inter_s(&c, 2, 1, 16, 7, true), parcae_restart_s(&c, 2, 1, true) + 0.001428, 1e-14,
		"seven small ones take less than a large one");
	near_to(parcae_inter_s(&c, 2, 16, 16, 1, true), adding + 0.000194, 1e-14,
		"one lost stage takes as long as all stages sent at the same time");
}

int main(void)
{
	transfers();
	sizes();
	builds();
	groups();
	migrations();
	return done();
}
