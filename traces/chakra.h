/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chakra.h - Chakra execution traces: what each rank of a training job computes and sends
 *
 * Source: mlcommons/chakra, schema 1.0 (et_def.proto). A trace is a file per rank, NAME.RANK.et, plain or compressed (gzip, zstd). A file
 * is a sequence of records, each a length (a varint of at most 5 bytes) and so many bytes of a protobuf message: first GlobalMetadata, then
 * Node by Node. The wire format is read here, without a protobuf library. Unknown fields and attributes are skipped.
 *
 * Units: durations in microseconds as in the format, sizes in bytes. Messages name file, rank, and node or record.
 */
#ifndef ORR_TRACES_CHAKRA_H
#define ORR_TRACES_CHAKRA_H

#include <orrery/api.h>

#include "base/sbuf.h"

/* Values of NodeType. */
enum chakra_type {
	CHAKRA_INVALID,
	CHAKRA_METADATA,
	CHAKRA_LOAD,
	CHAKRA_STORE,
	CHAKRA_COMPUTE,
	CHAKRA_SEND,
	CHAKRA_RECEIVE,
	CHAKRA_COLLECTIVE,
	CHAKRA_TYPES
};
/* Values of CollectiveCommType. */
enum chakra_collective {
	CHAKRA_ALL_REDUCE,
	CHAKRA_REDUCE,
	CHAKRA_ALL_GATHER,
	CHAKRA_GATHER,
	CHAKRA_SCATTER,
	CHAKRA_BROADCAST,
	CHAKRA_ALL_TO_ALL,
	CHAKRA_REDUCE_SCATTER,
	CHAKRA_REDUCE_SCATTER_BLOCK,
	CHAKRA_BARRIER,
	CHAKRA_COLLECTIVES
};
/* "compute", "all-reduce", ..; "?" for other values. */
const char *chakra_type_name(unsigned type);
const char *chakra_collective_name(unsigned type);

/* ---- records of a file ---- */

enum {
	CHAKRA_MOST_RANKS = 1 << 20,
	CHAKRA_MOST_NODES = 1 << 26,    /* of a rank */
	CHAKRA_MOST_RECORD = 256 << 20, /* bytes of a record */
	CHAKRA_STREAMS = 8              /* of orrery_slot */
};
/* Limits that keep sums of times and of bytes within 63 bits. */
#define CHAKRA_MOST_BYTES (UINT64_C(1) << 53)
#define CHAKRA_MOST_MICROS UINT64_C(1000000000000)

enum chakra_value { CHAKRA_NONE, CHAKRA_UNSIGNED, CHAKRA_SIGNED, CHAKRA_REAL, CHAKRA_BOOL, CHAKRA_TEXT, CHAKRA_LIST };

/* Texts are not terminated and are valid until the next record. */
struct chakra_text {
	const char *s;
	size_t n;
};
struct chakra_attribute {
	struct chakra_text name;
	enum chakra_value kind;
	union {
		uint64_t u; /* UNSIGNED, BOOL */
		int64_t i;
		double real;
		struct chakra_text text; /* TEXT; LIST: the bytes of the list's message */
	};
};
struct chakra_record {
	uint64_t number; /* of the record in the file, from 1; GlobalMetadata is record 0 */
	uint64_t id;
	struct chakra_text name;
	enum chakra_type type;
	uint64_t start_us, duration_us;
	uint64_t *ctrl, *data; /* ids of control and data dependencies, in the order of the file */
	size_t n_ctrl, n_data;
	struct chakra_attribute *attribute;
	size_t n_attributes;
};

struct chakra_file;
/* Opens the file of a rank and reads GlobalMetadata. rank is used in messages. Returns NULL on error. */
struct chakra_file *chakra_open(const char *path, uint32_t rank, struct orr_error *err);
/* Like chakra_open(), for bytes in memory, which the caller keeps. */
struct chakra_file *chakra_open_memory(const char *name, const void *data, size_t n, uint32_t rank, struct orr_error *err);
/* Reads the next node. Returns 1; 0 at the end; -1 on error. The record is valid until the next call. */
int chakra_next(struct chakra_file *f, const struct chakra_record **out, struct orr_error *err);
/* SHA-256 of the bytes read so far. */
void chakra_hash(const struct chakra_file *f, char hex[65]);
void chakra_close(struct chakra_file *f);

/* Append the records of a file: GlobalMetadata, then nodes. Integers are written as int64; lists are not written. */
void chakra_put_head(struct sbuf *out);
void chakra_put_node(struct sbuf *out, const struct chakra_record *r);

/* ---- a trace ---- */

/* A node. comm fields are 0 where the node has none. */
struct chakra_node {
	uint64_t id;
	uint64_t duration_ns; /* 1000 x duration_micros, or the attribute orrery_duration_ns */
	uint64_t bytes;       /* comm_size; tensor_size of other nodes */
	uint64_t num_ops;     /* compute: floating-point operations */
	uint32_t first_child; /* children: child[first_child .. first_child of the next node) of the rank */
	uint32_t waits;       /* number of dependencies, of both kinds */
	uint32_t peer;        /* send, receive: the other rank */
	uint32_t tag;         /* send, receive: the tag of the message */
	uint32_t group;       /* collective: index in chakra.group */
	uint8_t type;         /* enum chakra_type */
	uint8_t collective;   /* enum chakra_collective */
	bool is_host;         /* is_cpu_op */
	/* Attributes of orrery's own traces, which ASTRA-sim skips. */
	uint8_t slot;     /* orrery_slot: 0: none given; 1: the node needs no slot; s + 2: the slot of stream s */
	bool is_instant;  /* orrery_instant: the message takes no time */
	bool is_detached; /* orrery_detached: the end of the rank does not wait for the node */
};
struct chakra_rank {
	char *path;
	struct chakra_node *node; /* n nodes by ascending id, and one more that ends the children of the last */
	uint32_t n;
	uint32_t *child;
};
/* Group 0 holds every rank. */
struct chakra_group {
	char *name;
	uint32_t *member; /* ranks, in the order of the file */
	uint32_t n;
};
struct chakra {
	struct chakra_rank *rank;
	uint32_t n_ranks;
	struct chakra_group *group;
	uint32_t n_groups;
	uint64_t nodes;
	char hash[65]; /* over all files, in order of rank, and the groups */
};

/*
 * Reads a trace. place: a folder that holds one trace, or the part of the files' names before ".RANK.et". groups: the file of groups;
 * NULL or "": groups.json in the folder of the files, if it exists. Checks that ranks are numbered from 0 without gaps, ids are unique,
 * dependencies exist and have no cycle, ranks and groups of communication exist. Returns NULL on error.
 */
struct chakra *chakra_load(const char *place, const char *groups, struct orr_error *err);
void chakra_free(struct chakra *c);

/* Reads the nodes of one rank of n_ranks; for tests and the fuzzer. The trace has the groups of `groups`. */
struct chakra *chakra_from_memory(const char *name, const void *data, size_t n, uint32_t rank, uint32_t n_ranks, struct orr_error *err);

/* Lists the files of a trace by rank; free each and the list with mem_free(). Returns NULL on error. */
char **chakra_files(const char *place, uint32_t *n, struct orr_error *err);

#endif
