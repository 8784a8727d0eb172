/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * partitions.h - lists of partitions of n workers into groups, for DS-Sync
 *
 * Invariant of what is read: each worker 0..n-1 is in each partition once. Functions that
 * return an int return non-zero with *err filled in; then free what there is.
 */
#ifndef ORR_POLICIES_PARTITIONS_H
#define ORR_POLICIES_PARTITIONS_H

#include <orrery/step.h>

struct partition {
	uint32_t *member; /* [n], group after group */
	uint32_t *end;    /* [groups]: where in member each group ends */
	uint32_t groups;
};

struct partition_list {
	struct partition *item;
	uint32_t n;
};

/* Room for n workers. */
void partition_new(struct partition *p, uint32_t n);
void partition_free(struct partition *p);
/* So many empty partitions. */
void partitions_new(struct partition_list *l, uint32_t count, uint32_t n);
void partitions_free(struct partition_list *l);

/* 0-1,2-3;0-3,1-2: partitions by ';', groups by ',', members by '-'. */
int partitions_from_text(struct partition_list *l, const char *text, uint32_t n, struct orr_error *err);
/* {"partitions": [[[0,1],[2,3]],[[0,3],[1,2]]]}; file is for messages. */
int partitions_from_json(struct partition_list *l, const char *file, const char *text, size_t size, uint32_t n, struct orr_error *err);

#endif
