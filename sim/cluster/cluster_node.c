/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds nodes and types to a cluster, for its parsers. */
#include "cluster/cluster.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

uint32_t cluster_type(const struct cluster *c, const char *name, size_t len)
{
	for (uint32_t t = 0; t < c->n_types; t++)
		if (!strncasecmp(c->type_name[t], name, len) && !c->type_name[t][len])
			return t;
	return CLUSTER_NO_TYPE;
}

int cluster_add(struct cluster *c, const char *name, const char *type, const struct cluster_node *proto, struct orr_error *err)
{
	if (c->n_nodes >= CLUSTER_MAX_NODES)
		return orr_fail(err, ORR_EINPUT, "too many nodes: expected at most %d", CLUSTER_MAX_NODES);
	if (proto->gpus > CLUSTER_MAX_NODE_GPUS)
		return orr_fail(err, ORR_EINPUT, "a node has %u GPUs: expected at most %d", proto->gpus, CLUSTER_MAX_NODE_GPUS);
	uint32_t t = CLUSTER_NO_TYPE;
	if (proto->gpus) {
		type = type && *type ? type : "gpu";
		t = cluster_type(c, type, strlen(type));
		if (t == CLUSTER_NO_TYPE) {
			if (c->n_types == CLUSTER_MAX_TYPES)
				return orr_fail(err, ORR_EINPUT, "too many GPU types: expected at most %d", CLUSTER_MAX_TYPES);
			t = c->n_types++;
			c->type_name[t] = mem_strdup(type);
		}
	}
	if (!(c->n_nodes & (c->n_nodes - 1))) /* the capacity doubles at powers of two */
		c->node = mem_realloc(c->node, c->n_nodes ? 2 * (size_t)c->n_nodes : 1, sizeof *c->node);
	struct cluster_node *n = &c->node[c->n_nodes];
	*n = *proto;
	n->type = t;
	char number[16];
	snprintf(number, sizeof number, "n%u", c->n_nodes);
	n->name = mem_strdup(name && *name ? name : number);
	c->n_nodes++;
	c->gpus += n->gpus;
	if (n->gpus > c->max_node_gpus)
		c->max_node_gpus = n->gpus;
	if (n->rack + 1 > c->n_racks)
		c->n_racks = n->rack + 1;
	return ORR_OK;
}

int cluster_state_speed(struct cluster *c, double speed, struct orr_error *err)
{
	uint32_t t = c->n_nodes ? c->node[c->n_nodes - 1].type : CLUSTER_NO_TYPE;
	if (!(speed > 0))
		return ORR_OK;
	if (t == CLUSTER_NO_TYPE)
		return orr_fail(err, ORR_EINPUT, "speed: given for a node without GPUs: expected a speed only for GPUs of a named type");
	if (c->type_speed[t] > 0 && (c->type_speed[t] < speed || c->type_speed[t] > speed))
		return orr_fail(err, ORR_EINPUT, "speed: type \"%.60s\" has the speeds %.15g and %.15g: expected one speed per type",
			c->type_name[t], c->type_speed[t], speed);
	c->type_speed[t] = speed;
	return ORR_OK;
}
