/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table_state.h - internal state of struct embed_table */
#ifndef ORR_EMBED_TABLE_STATE_H
#define ORR_EMBED_TABLE_STATE_H

#include "base/rng.h"
#include "base/strtab.h"
#include "embed/table.h"

struct embed_field {
	uint32_t n;
	bool is_shared;    /* frequency and cumulated are owned by the previous field */
	double *frequency; /* n frequencies, descending, sum 1 */
	double *cumulated; /* n */
	float *centre;     /* generated: centres, clusters x dim */
	float *vector;     /* vectors, n x dim; NULL: drawn at each read */
	char *name;        /* NULL: generated */
	uint32_t *feature; /* n numbers of names in `names`; NULL: generated */
};

struct embed_table {
	struct embed_shape shape; /* shape of a generated table */
	uint64_t features;
	uint32_t n_fields, dim;
	struct embed_field *field;
	struct strtab *names; /* names of features; NULL: generated */
	char hash[65];        /* SHA-256 of the file, or of the shape without is_held */
	uint32_t holders;     /* number of calls of embed_table_hold() without their release */
};

/* Completes fields whose frequencies are set. */
void embed_finish(struct embed_table *t);

#endif
