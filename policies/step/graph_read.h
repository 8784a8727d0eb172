/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * graph_read.h - reads the graph of an iteration from JSON (docs/graph.schema.json)
 *
 * A graph that is accepted can be executed: devices, layers and groups exist, amounts are not negative, each collective's
 * algorithm supports it, and there are no cycles. Invariant: in graph.op, every op waits only for earlier ones. If the file's
 * order meets this condition, it is kept. Sizes are bytes, times seconds.
 */
#ifndef ORR_POLICIES_GRAPH_READ_H
#define ORR_POLICIES_GRAPH_READ_H

#include <orrery/step.h>

/* Facts against which the graph is checked. */
struct graph_facts {
	uint32_t gpus, endpoints, layers;
	const char *const *layer; /* names by number, then NULL */
	const double *params;     /* by number */
};

enum graph_kind { GRAPH_COMPUTE, GRAPH_TRANSFER, GRAPH_COLLECTIVE, GRAPH_DELAY, GRAPH_MARK, GRAPH_KINDS };
enum graph_pass { GRAPH_FORWARD, GRAPH_BACKWARD, GRAPH_BACKWARD_DATA, GRAPH_BACKWARD_WEIGHT, GRAPH_UPDATE };

struct graph_range {
	uint32_t first, count; /* layers */
};

struct graph_memory {
	uint32_t device;
	double bytes;
	enum orr_memory kind; /* kind of the memory that is held during the whole run */
};

struct graph_op {
	char *id, *label;
	uint32_t at; /* position in the file: $.ops[at] */
	enum graph_kind kind;
	uint32_t device, peer; /* device of compute; source and destination of a transfer */
	double amount;         /* amount in seconds or bytes, unless stated by layers */
	/* Compute: the layers of its passes. All other ops have one range of layers, whose gradients are sent. */
	struct graph_range *range;
	uint32_t n_ranges;
	enum orr_work work;
	enum graph_pass pass;
	double batch; /* 0: the scenario's */
	uint32_t shards;
	uint32_t group; /* group of a collective: index into graph.group */
	struct orr_collective collective;
	uint32_t *after, *previous; /* indices into graph.op; previous: ops of the previous iteration */
	uint32_t n_after, n_previous;
	struct graph_memory *takes, *gives;
	uint32_t n_takes, n_gives;
	uint32_t stream; /* 0: none */
	int32_t priority;
	bool is_detached;
	double samples;
};

struct graph_group {
	char *name; /* NULL: the list of a single collective */
	uint32_t *member, n;
};

struct graph {
	struct graph_op *op;
	uint32_t n;
	struct graph_group *group;
	uint32_t n_groups;
	struct graph_memory *holds;
	uint32_t n_holds;
	double samples;  /* number of samples per iteration; 0: the default */
	bool is_barrier; /* an iteration begins when all ops of the previous one have ended */
};

/* Reads a graph. Returns NULL on error, with *err filled in; file is for messages. */
struct graph *graph_file_read(const char *file, const char *text, size_t n, const struct graph_facts *facts, struct orr_error *err);
void graph_file_free(struct graph *g);

/* ---- for the parts of the reader ---- */

struct place;

/* A text and its number, sorted by both. */
struct graph_name {
	const char *text;
	uint32_t number;
};

struct graph_reader {
	struct graph *graph;
	const struct graph_facts *facts;
	struct graph_name *layer, *id; /* sorted */
	uint32_t *mark;                /* stamp of the last list that contained each layer or device */
	uint32_t stamp;
};

void graph_sort_names(struct graph_name *names, uint32_t n);
/* Returns the lowest number of that text; UINT32_MAX if it is unknown. */
uint32_t graph_find_name(const struct graph_name *names, uint32_t n, const char *text);
/* Fails with "<what> \"text\": did you mean ..?". */
int graph_unknown(const struct place *p, const char *what, const char *text, const struct graph_name *names, uint32_t n);
/* Reads a list of distinct devices. */
int graph_read_members(struct graph_reader *r, const struct place *list, struct graph_group *out);
/* Reads the work of an op: compute, transfer, collective, delay or mark. */
int graph_read_work(struct graph_reader *r, const struct place *op, struct graph_op *out);
/* Sorts graph.op as the invariant requires. */
int graph_order(struct graph *g, const struct place *ops);

#endif
