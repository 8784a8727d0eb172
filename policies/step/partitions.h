/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * partitions.h - lists of partitions of n workers into groups, for DS-Sync
 *
 * Invariant after reading: each partition contains each worker 0..n-1 once. Functions that return an int return non-zero with
 * *err filled in; the caller then still frees the list.
 */
#ifndef ORR_POLICIES_PARTITIONS_H
#define ORR_POLICIES_PARTITIONS_H

#include <orrery/step.h>

struct partition {
	uint32_t *member; /* n members, group after group */
	uint32_t *end;    /* end of each group in member[] */
	uint32_t groups;
};

struct partition_list {
	struct partition *item;
	uint32_t n;
};

/* Allocates a partition of n workers. */
void partition_new(struct partition *p, uint32_t n);
void partition_free(struct partition *p);
/* Allocates `count` empty partitions. */
void partitions_new(struct partition_list *l, uint32_t count, uint32_t n);
void partitions_free(struct partition_list *l);

/* Parses 0-1,2-3;0-3,1-2: partitions separated by ';', groups by ',', members by '-'. */
int partitions_from_text(struct partition_list *l, const char *text, uint32_t n, struct orr_error *err);
/* Parses {"partitions": [[[0,1],[2,3]],[[0,3],[1,2]]]}; file is for messages. */
int partitions_from_json(struct partition_list *l, const char *file, const char *text, size_t size, uint32_t n, struct orr_error *err);

#endif
