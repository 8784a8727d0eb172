/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands in for the topologies where they are not linked: last in the library, so never used once they are there. */
#include "net/topology.h"

struct topo *topo_load(const struct cluster *c, const char *spec, uint64_t seed, struct orr_error *err)
{
	(void)c, (void)seed;
	orr_fail(err, ORR_EINPUT, "network %.60s: this program has no networks", spec);
	return NULL;
}

void topo_free(struct topo *t)
{
	(void)t;
}
