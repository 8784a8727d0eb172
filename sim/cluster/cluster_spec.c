/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "64x8:v100:cpus=96:mem=512:racks=4,32x4:k80" */
#include "cluster/cluster.h"

#include "base/num.h"

#include <stdio.h>
#include <string.h>

struct group {
	int64_t nodes, gpus, racks;
	char type[64];
	double speed;   /* 0: not stated */
	unsigned given; /* bits of the keys stated so far */
	struct cluster_node proto;
};

static int bad(const char *spec, const char *part, size_t len, const char *expected, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "cluster \"%.100s\": expected %s, found \"%.*s\" (a file of that name does not exist)", spec,
		expected, (int)(len < 60 ? len : 60), part);
}

static int parse_size(const char *spec, const char *s, size_t len, struct group *g, struct orr_error *err)
{
	const char *x = memchr(s, 'x', len);
	if (!x || !num_int(s, (size_t)(x - s), &g->nodes) || !num_int(x + 1, len - (size_t)(x + 1 - s), &g->gpus))
		return bad(spec, s, len, "NODESxGPUS such as 64x8", err);
	if (g->nodes < 1 || g->nodes > CLUSTER_MAX_NODES)
		return bad(spec, s, len, "1 to 1048576 nodes", err);
	if (g->gpus < 0 || g->gpus > CLUSTER_MAX_NODE_GPUS)
		return bad(spec, s, len, "0 to 1024 GPUs on a node", err);
	g->proto.gpus = (uint32_t)g->gpus;
	return ORR_OK;
}

static int parse_option(const char *spec, const char *s, size_t len, struct group *g, struct orr_error *err)
{
	const char *eq = memchr(s, '=', len);
	double v;
	if (!eq) {
		if (!len || len >= sizeof g->type)
			return bad(spec, s, len, "a GPU type after the colon", err);
		if (*g->type)
			return bad(spec, s, len, "one type of GPU in each group, and a comma between groups (2x8:v100,2x8:h100)", err);
		memcpy(g->type, s, len);
		g->type[len] = '\0';
		return ORR_OK;
	}
	size_t name = (size_t)(eq - s);
	if (!strcmp(g->type, "flat") && name == 5 && !memcmp(s, "flops", 5) && len < sizeof g->type - 6) {
		memcpy(g->type + 5, s, len); /* the type is the device "flat:flops=RATE" */
		g->type[4] = ':';
		g->type[5 + len] = '\0';
		return ORR_OK;
	}
	if (!num_real(eq + 1, len - name - 1, &v) || v < 0 || v > 1e9)
		return bad(spec, s, len, "NAME=NUMBER", err);
	static const char *const keys[] = { "cpus", "mem", "racks", "speed" };
	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strlen(keys[i]) == name && !memcmp(s, keys[i], name)) {
			if (g->given & 1u << i)
				return bad(spec, s, len, "each option once in a group", err);
			g->given |= 1u << i;
		}
	if (name == 4 && !memcmp(s, "cpus", 4))
		g->proto.cpu_milli = (int64_t)(v * 1000 + 0.5);
	else if (name == 3 && !memcmp(s, "mem", 3))
		g->proto.mem_mib = (int64_t)(v * 1024 + 0.5);
	else if (name == 5 && !memcmp(s, "racks", 5) && v >= 1 && v <= (double)g->nodes)
		g->racks = (int64_t)v;
	else if (name == 5 && !memcmp(s, "speed", 5) && v > 0 && v <= 1e6)
		g->speed = v;
	else
		return bad(spec, s, len, "cpus=CORES, mem=GiB, racks=N (at most the number of nodes) or speed=FACTOR (above 0)", err);
	return ORR_OK;
}

static int parse_group(const char *spec, const char *s, size_t len, struct group *g, struct orr_error *err)
{
	*g = (struct group){ .racks = 1, .proto = { .cpu_milli = -1, .mem_mib = -1 } };
	for (size_t at = 0, i = 0; at <= len; i++) {
		const char *colon = memchr(s + at, ':', len - at);
		size_t part = colon ? (size_t)(colon - (s + at)) : len - at;
		int rc = i ? parse_option(spec, s + at, part, g, err) : parse_size(spec, s + at, part, g, err);
		if (rc)
			return rc;
		at += part + 1;
	}
	return ORR_OK;
}

int cluster_from_spec(struct cluster *c, const char *spec, struct orr_error *err)
{
	for (const char *s = spec;; s++) {
		size_t len = strcspn(s, ",");
		struct group g;
		int rc = parse_group(spec, s, len, &g, err);
		uint32_t first_rack = c->n_racks;
		for (int64_t i = 0; !rc && i < g.nodes; i++) {
			g.proto.rack = first_rack + (uint32_t)(i * g.racks / g.nodes);
			rc = cluster_add(c, NULL, g.type, &g.proto, err);
		}
		struct orr_error why = { 0 };
		if (!rc && cluster_state_speed(c, g.speed, &why))
			rc = orr_fail(err, why.code, "cluster \"%.100s\": %s", spec, why.text);
		if (rc)
			return rc;
		s += len;
		if (!*s)
			return ORR_OK;
	}
}
