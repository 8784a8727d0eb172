/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/step/step_fixture.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(bool ok, const struct orr_error *e)
{
	if (ok)
		return;
	printf("Bail out! %s\n", e->text);
	exit(1);
}

struct fixture *fixture_new(const char *cluster, const char *network, const char *model, double batch)
{
	struct orr_error e = { 0 };
	struct fixture *f = mem_zalloc(1, sizeof *f);
	struct cost_options o = { .precision = PRECISION_FP32 };
	need((f->cluster = cluster_load(cluster, &e)) != NULL, &e);
	need((f->dnn = dnn_load(model, &e)) != NULL, &e);
	struct topo_gpu_link gpu[CLUSTER_MAX_TYPES] = { { 0, 0 } };
	for (uint32_t t = 0; t < f->cluster->n_types; t++) {
		need((f->device[t] = device_load(f->cluster->type_name[t], &e)) != NULL, &e);
		gpu[t] = (struct topo_gpu_link){ f->device[t]->link_Bps, f->device[t]->link_latency_s };
		need((f->cost[t] = cost_new(f->dnn, f->device[t], &o, &e)) != NULL, &e);
	}
	need((f->topo = topo_load_with(f->cluster, network, 1, gpu, &e)) != NULL, &e);
	need((f->options = args_new(step_options, "step", &e)) != NULL, &e);
	f->config = (struct step_config){ .cluster = f->cluster,
		.topo = f->topo,
		.dnn = f->dnn,
		.cost = (const struct cost *const *)f->cost,
		.device = (const struct device *const *)f->device,
		.options = f->options,
		.batch = batch,
		.precision = PRECISION_FP32,
		.seed = 1,
		.check = true };
	return f;
}

void fixture_set(struct fixture *f, const char *pair)
{
	struct orr_error e = { 0 };
	need(!args_set_pair(f->options, pair, &e), &e);
}

void fixture_free(struct fixture *f)
{
	args_free(f->options);
	for (uint32_t t = 0; t < f->cluster->n_types; t++) {
		cost_free(f->cost[t]);
		device_free(f->device[t]);
	}
	dnn_free(f->dnn);
	topo_free(f->topo);
	cluster_free(f->cluster);
	mem_free(f);
}

int fixture_run(struct fixture *f, const struct orr_policy *p, const char *settings, struct step_result *out, struct orr_error *err)
{
	struct orr_args *a = args_new(p->params, p->name, err);
	int rc = a ? ORR_OK : ORR_EINPUT;
	for (const char *s = settings; !rc && *s;) {
		size_t n = strcspn(s, " ");
		char *pair = mem_strndup(s, n);
		if (n)
			rc = args_set_pair(a, pair, err);
		mem_free(pair);
		s += n + (s[n] == ' ');
	}
	if (!rc)
		rc = step_run(&f->config, p, a, p->name, out, err);
	args_free(a);
	return rc;
}
