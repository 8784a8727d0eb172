/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of ranks that communicate, as ASTRA-sim's --comm-group-configuration names them: {"1": [0, 1], "2": [2, 3]}.
 *
 * Order of a list: order of the ring.
 */
#include "traces/chakra_load.h"

#include "base/json_text.h"
#include "base/mem.h"

#include <cjson/cJSON.h>
#include <string.h>

void chakra_groups_begin(struct chakra *c)
{
	c->group = mem_zalloc(1, sizeof *c->group);
	c->n_groups = 1;
	struct chakra_group *g = &c->group[0];
	g->name = mem_strdup("");
	g->n = c->n_ranks;
	g->member = mem_alloc((c->n_ranks + 1) * sizeof *g->member);
	for (uint32_t i = 0; i < c->n_ranks; i++)
		g->member[i] = i;
}

uint32_t chakra_group_named(const struct chakra *c, const char *name, size_t n)
{
	for (uint32_t i = 1; i < c->n_groups; i++)
		if (strlen(c->group[i].name) == n && !memcmp(c->group[i].name, name, n))
			return i;
	return UINT32_MAX;
}

static int fail(const char *path, const char *name, const char *what, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "%.300s: $.\"%.60s\": %s", path, name, what);
}

static int take_members(const struct chakra *c, const char *path, const cJSON *list, struct chakra_group *g, struct orr_error *err)
{
	const char *expected = "expected a list of different ranks of the trace, such as [0, 1]";
	unsigned char *seen = mem_zalloc(c->n_ranks + 1u, 1);
	int rc = cJSON_IsArray(list) && cJSON_GetArraySize(list) > 0 ? ORR_OK : fail(path, g->name, expected, err);
	g->member = mem_zalloc(rc ? 1 : (size_t)cJSON_GetArraySize(list), sizeof *g->member);
	for (const cJSON *v = rc ? NULL : list->child; v && !rc; v = v->next) {
		double r = cJSON_IsNumber(v) ? v->valuedouble : -1;
		if (!(r >= 0 && r < c->n_ranks) || r > (uint32_t)r || seen[(uint32_t)r])
			rc = fail(path, g->name, expected, err);
		else
			seen[g->member[g->n++] = (uint32_t)r] = 1;
	}
	mem_free(seen);
	return rc;
}

int chakra_groups_parse(struct chakra *c, const char *path, const char *text, size_t n, struct orr_error *err)
{
	cJSON *root = cJSON_ParseWithLength(text, n);
	int rc = ORR_OK;
	if (!cJSON_IsObject(root))
		rc = orr_fail(err, ORR_EINPUT, "%.300s: expected a JSON object of groups, such as {\"1\": [0, 1], \"2\": [2, 3]}", path);
	else
		rc = json_text_check(path, text, n, err);
	size_t cap = c->n_groups;
	for (const cJSON *v = rc ? NULL : root->child; v && !rc; v = v->next) {
		bool is_all = !strcmp(v->string, "0") || !*v->string;
		struct chakra_group g = { .name = mem_strdup(v->string) };
		rc = take_members(c, path, v, &g, err);
		if (!rc && is_all && g.n < c->n_ranks)
			rc = fail(path, g.name, "expected every rank: \"\" and \"0\" are the group of all ranks", err);
		if (rc || is_all) {
			mem_free(g.name);
			mem_free(g.member);
			continue;
		}
		MEM_GROW(c->group, c->n_groups, cap);
		c->group[c->n_groups++] = g;
	}
	cJSON_Delete(root);
	return rc;
}
