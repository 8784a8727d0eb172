/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chakra_load.h - the reader of one rank and the groups, between chakra_rank.c, chakra_groups.c and chakra.c */
#ifndef ORR_TRACES_CHAKRA_LOAD_H
#define ORR_TRACES_CHAKRA_LOAD_H

#include "base/strtab.h"
#include "traces/chakra.h"

/* Reads the groups of c from JSON: {"NAME": [rank, ..], ..}. Group 0, of all ranks, exists. */
int chakra_groups_parse(struct chakra *c, const char *path, const char *text, size_t n, struct orr_error *err);
/* Adds group 0. */
void chakra_groups_begin(struct chakra *c);
/* Returns the index of a group; UINT32_MAX: unknown. */
uint32_t chakra_group_named(const struct chakra *c, const char *name, size_t n);

/* Reads all nodes of the file into c->rank[rank]. */
int chakra_rank_read(struct chakra *c, struct chakra_file *f, uint32_t rank, struct orr_error *err);

#endif
