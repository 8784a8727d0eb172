/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * map_names.h - the names of fields in --map OURS=THEIRS,.., and the names that other programs give to such columns
 *
 * The order of each list is that of its enum: enum map_field (traces/mapped.h), enum map_request (traces/mapped_requests.c).
 */
#ifndef ORR_TRACES_MAP_NAMES_H
#define ORR_TRACES_MAP_NAMES_H

#include <orrery/api.h>

#include "base/sbuf.h"

struct map_name {
	const char *ours;
	const char *theirs; /* usual names, lower case without separators, each between two blanks */
};

/* End with ours NULL. */
extern const struct map_name map_job_names[], map_request_names[];

/* Returns the index of a name; "submit_s" and "mem_mib" are also accepted. -1: unknown. */
int map_field_of(const struct map_name *names, const char *ours);
/* Reports an unknown name, with the nearest one; returns ORR_EINPUT. */
int map_field_unknown(const struct map_name *names, const char *given, const char *where, struct orr_error *err);

/* Writes what the columns of a header line may be, and the --map to type. Returns false, and writes nothing, if the line is no header. */
bool map_suggest(const char *header, struct sbuf *out);
/* Writes the --map alone. */
bool map_suggest_map(const char *header, struct sbuf *out);

#endif
