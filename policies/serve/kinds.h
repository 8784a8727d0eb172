/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks, before the run, that a policy suits the kind of the models. */
#ifndef ORR_POLICIES_SERVE_KINDS_H
#define ORR_POLICIES_SERVE_KINDS_H

#include <orrery/serve.h>

/* Checks the models in create(). Returns false, with *err filled in, if a model is of the other kind. */
static inline bool serves_only(const struct orr_serve *w, enum orr_model_kind kind, struct orr_error *err)
{
	struct orr_model_info m;
	for (uint32_t i = 0; i < orr_models(w); i++) {
		if (!orr_model_get(w, i, &m) || m.kind == kind)
			continue;
		orr_fail(err, ORR_EINPUT,
			kind == ORR_MODEL_LLM ? "model %s has a latency table, but this policy runs iterations of language models: "
						"expected a policy that runs batches, such as irina or tf-serving, or a language model "
						"(orrery model list --served)"
					      : "model %s is a language model, but this policy runs batches of models with a latency "
						"table: expected a policy that runs iterations, such as vllm or sarathi",
			m.name);
		return false;
	}
	return true;
}

#endif
