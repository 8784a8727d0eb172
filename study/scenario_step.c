/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/scenario_step.h"

#include "base/mem.h"
#include "learn/learn.h"

#include <string.h>

static const char *const known_keys[] = { "model", "world", "cluster", "network", "device", "precision", "batch", "profile", "cost_samples",
	"policies", "step", "cost", "learn", "seed", "policy_timeout",
	/* what scenario show adds, so that its output is a scenario again */
	"model_sha256", "cluster_sha256", "network_sha256", "devices", "profiles", "step_files_sha256", NULL };

static int resolve_model(const cJSON *o, struct step_scenario *s, struct orr_error *err)
{
	int rc = scenario_text_at(o, "model", NULL, &s->model_spec, err);
	if (!rc && !s->model_spec)
		rc = orr_fail(err, ORR_EINPUT, "scenario: no model is named (orrery step resnet50, or a file)");
	if (!rc && !(s->dnn = dnn_load(s->model_spec, err)))
		rc = ORR_EINPUT;
	return rc;
}

static int resolve_costs(struct step_scenario *s, struct orr_error *err)
{
	for (uint32_t t = 0; t < s->base.cluster->n_types; t++) {
		struct cost_options options = setting_costs(&s->set, t, 0);
		if (!(s->cost[t] = cost_new(s->dnn, s->set.device[t], &options, err)))
			return ORR_EINPUT;
	}
	return ORR_OK;
}

/* Every value that decides the result, defaults filled in, inputs with their hashes. */
static void describe(struct step_scenario *s)
{
	cJSON *o = s->base.resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "step");
	cJSON_AddStringToObject(o, "model", s->model_spec);
	cJSON_AddStringToObject(o, "model_sha256", s->dnn->hash);
	cJSON_AddStringToObject(o, "cluster", s->base.cluster_spec);
	cJSON_AddStringToObject(o, "cluster_sha256", s->base.cluster->hash);
	setting_describe(&s->set, &s->base, o);
	if (s->learn)
		cJSON_AddItemToObject(o, "learn", scenario_args_json(s->learn, learn_options));
	scenario_add_seed(o, &s->base);
}

int step_scenario_resolve(const cJSON *scenario, struct step_scenario *s, struct orr_error *err)
{
	*s = (struct step_scenario){ 0 };
	cJSON *o = cJSON_Duplicate(scenario, 1);
	const char *kind;
	int rc = scenario_check_keys(o, known_keys, err);
	if (!rc)
		rc = scenario_kind(o, &kind, err);
	if (!rc && strcmp(kind, "step") != 0)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.world: expected \"step\"");
	if (!rc)
		rc = scenario_resolve_seed(o, &s->base, err);
	if (!rc)
		rc = setting_resolve_values(o, &s->set, err);
	if (!rc && cJSON_GetObjectItemCaseSensitive(o, "learn") && !(s->learn = scenario_args_at(o, "learn", learn_options, "learn", err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = scenario_resolve_policies(o, "step", &s->base, err);
	if (!rc)
		rc = resolve_model(o, s, err);
	if (!rc)
		rc = scenario_resolve_cluster(o, &s->base, err);
	if (!rc)
		rc = setting_resolve_hardware(o, &s->base, &s->set, err);
	if (!rc)
		rc = resolve_costs(s, err);
	if (!rc)
		describe(s);
	cJSON_Delete(o);
	return rc;
}

void step_scenario_free(struct step_scenario *s)
{
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++)
		cost_free(s->cost[t]);
	setting_free(&s->set);
	dnn_free(s->dnn);
	args_free(s->learn);
	mem_free(s->model_spec);
	scenario_free(&s->base);
	*s = (struct step_scenario){ 0 };
}
