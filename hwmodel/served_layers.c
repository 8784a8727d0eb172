/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations of language models, layer by layer: docs/models.md, "Serving: how long an iteration takes". */
#include "hwmodel/served_llm.h"

struct served_layers *served_layers_new(const struct served *m, const struct served_place *p, struct orr_error *err)
{
	(void)p;
	orr_fail(err, ORR_EFAIL, "model %.80s: times by layers are not there yet", m->name);
	return NULL;
}

void served_layers_free(struct served_layers *x)
{
	(void)x;
}

double served_layers_iteration(struct served_layers *x, const struct llm_load *load, double *stage_s)
{
	(void)x;
	(void)load;
	return *stage_s = 0;
}

const char *served_layers_source(const struct served_layers *x)
{
	(void)x;
	return "";
}

double served_layers_kv_tokens(const struct served_layers *x, double part)
{
	(void)x;
	return part;
}
