/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The records of a Chakra file: protobuf's wire format (protobuf.dev/programming-guides/encoding), by the field numbers of et_def.proto.
 *
 * A message is a sequence of fields, each a key (field << 3 | wire type) and a value: 0 varint, 1 eight bytes, 2 length and bytes, 5 four
 * bytes. Fields that are absent have the value 0 or "".
 */
#include "traces/chakra.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BLOCK = 256 * 1024,
	LENGTH_BYTES = 5,      /* maximum number of bytes of the length of a record */
	FREE_BYTES = 64 << 20, /* decompressed bytes up to which any ratio is accepted */
	MOST_RATIO = 200       /* of decompressed to stored bytes; traces have 5 to 20 */
};

struct chakra_file {
	struct bytes *bytes;
	char *name;
	uint32_t rank;
	char *buffer; /* buffer[at..n): read, not yet decoded */
	size_t at, n, cap;
	uint64_t base, start, stored; /* place of buffer[0] in the decompressed file; of the record; bytes of the file, 0: unknown */
	uint64_t records;
	struct chakra_record record;
	size_t cap_ctrl, cap_data, cap_attributes;
};

const char *chakra_type_name(unsigned type)
{
	static const char *const names[] = { "invalid", "metadata", "memory load", "memory store", "compute", "send", "receive",
		"collective" };
	return type < CHAKRA_TYPES ? names[type] : "?";
}

const char *chakra_collective_name(unsigned type)
{
	static const char *const names[] = { "all-reduce", "reduce", "all-gather", "gather", "scatter", "broadcast", "all-to-all",
		"reduce-scatter", "reduce-scatter-block", "barrier" };
	return type < CHAKRA_COLLECTIVES ? names[type] : "?";
}

/* ---- the stream ---- */

static int fail(const struct chakra_file *f, struct orr_error *err, const char *what)
{
	return orr_fail(err, ORR_EINPUT, "%.300s: rank %u: record %" PRIu64 " (at byte %" PRIu64 "): %s", f->name, f->rank, f->records,
		f->start, what);
}

/* Reads until the buffer holds `want` bytes or the file ends. Returns false on a fault. */
static bool fill(struct chakra_file *f, size_t want, struct orr_error *err)
{
	if (f->n - f->at >= want)
		return true;
	memmove(f->buffer, f->buffer + f->at, f->n - f->at);
	f->n -= f->at;
	f->base += f->at;
	f->at = 0;
	while (f->n < want) {
		if (f->cap - f->n < BLOCK) {
			f->cap = f->cap * 2 > f->n + BLOCK ? f->cap * 2 : f->n + BLOCK;
			f->buffer = mem_realloc(f->buffer, f->cap, 1);
		}
		int64_t got = bytes_read(f->bytes, f->buffer + f->n, f->cap - f->n);
		if (got < 0) {
			fail(f, err, bytes_fault(f->bytes));
			return false;
		}
		if (!got)
			break;
		f->n += (size_t)got;
		if (f->stored && f->base + f->n > FREE_BYTES && (f->base + f->n) / MOST_RATIO > f->stored) {
			fail(f, err, "the file decompresses to more than 200 times its size: expected a trace");
			return false;
		}
	}
	return true;
}

/* Reads a varint; returns the position behind it, NULL if it does not end before `end` or has more than 10 bytes. */
static inline const unsigned char *varint(const unsigned char *s, const unsigned char *end, uint64_t *out)
{
	if (s < end && *s < 0x80) {
		*out = *s;
		return s + 1;
	}
	uint64_t v = 0;
	for (unsigned shift = 0; s < end && shift < 70; shift += 7) {
		unsigned char b = *s++;
		if (shift == 63 && b > 1)
			return NULL;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			*out = v;
			return s;
		}
	}
	return NULL;
}

/* Returns n bytes, least significant first. */
static uint64_t fixed(const unsigned char *s, unsigned n)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)s[i] << 8 * i;
	return v;
}

/* A field of a message. */
struct field {
	uint32_t number, wire;
	uint64_t value;             /* varint, or the bytes of wire types 1 and 5 */
	const unsigned char *s, *e; /* wire type 2 */
};

/* Reads a field; returns the position behind it, NULL if the message is damaged. */
static inline const unsigned char *take(const unsigned char *s, const unsigned char *end, struct field *out)
{
	uint64_t key, n;
	if (!(s = varint(s, end, &key)) || !(key >> 3) || key >> 3 > 536870911)
		return NULL;
	out->number = (uint32_t)(key >> 3);
	out->wire = (uint32_t)key & 7;
	out->value = 0;
	out->s = out->e = s;
	size_t left = (size_t)(end - s);
	switch (out->wire) {
	case 0:
		return varint(s, end, &out->value);
	case 1:
		if (left < 8)
			return NULL;
		out->value = fixed(s, 8);
		return s + 8;
	case 2:
		if (!(s = varint(s, end, &n)) || n > (uint64_t)(end - s))
			return NULL;
		out->s = s;
		out->e = s + n;
		return out->e;
	case 5:
		if (left < 4)
			return NULL;
		out->value = fixed(s, 4);
		return s + 4;
	default:
		return NULL;
	}
}

/* ---- attributes ---- */

static double real_of(uint64_t bits, bool is_float)
{
	float f;
	double d;
	uint32_t low = (uint32_t)bits;
	memcpy(&d, &bits, sizeof d);
	memcpy(&f, &low, sizeof f);
	return is_float ? (double)f : d;
}

/* Sets the value from the field of the oneof; odd numbers are scalars, even ones lists. Returns false for a wrong wire type. */
static bool set_value(struct chakra_attribute *a, const struct field *x)
{
	static const unsigned char wires[32] = { [3] = 1, [5] = 5, [19] = 5, [21] = 1, [23] = 5, [25] = 1, [29] = 2, [31] = 2 };
	uint64_t v = x->value;
	if (x->number > 32 || x->number < 3)
		return true; /* of a later schema */
	if (x->wire != (x->number % 2 ? wires[x->number] : 2u))
		return false;
	if (x->number % 2 == 0) {
		a->kind = CHAKRA_LIST;
		a->text = (struct chakra_text){ (const char *)x->s, (size_t)(x->e - x->s) };
		return true;
	}
	switch (x->number) {
	case 3:
	case 5:
		a->kind = CHAKRA_REAL;
		a->real = real_of(v, x->number == 5);
		break;
	case 7:
		a->kind = CHAKRA_SIGNED;
		a->i = (int32_t)v;
		break;
	case 9:
	case 25:
		a->kind = CHAKRA_SIGNED;
		a->i = (int64_t)v;
		break;
	case 15:
	case 17:
		a->kind = CHAKRA_SIGNED;
		a->i = (int64_t)(v >> 1 ^ -(v & 1));
		break;
	case 23:
		a->kind = CHAKRA_SIGNED;
		a->i = (int32_t)v;
		break;
	case 27:
		a->kind = CHAKRA_BOOL;
		a->u = v != 0;
		break;
	case 29:
	case 31:
		a->kind = CHAKRA_TEXT;
		a->text = (struct chakra_text){ (const char *)x->s, (size_t)(x->e - x->s) };
		break;
	default: /* 11, 13, 19, 21 */
		a->kind = CHAKRA_UNSIGNED;
		a->u = x->number == 11 ? (uint32_t)v : v;
	}
	return true;
}

static bool take_attribute(struct chakra_attribute *a, const unsigned char *s, const unsigned char *end)
{
	struct field x;
	*a = (struct chakra_attribute){ .kind = CHAKRA_NONE };
	while (s < end) {
		if (!(s = take(s, end, &x)))
			return false;
		if (x.number == 1 && x.wire == 2)
			a->name = (struct chakra_text){ (const char *)x.s, (size_t)(x.e - x.s) };
		else if (x.number == 1 || !set_value(a, &x))
			return false;
	}
	return true;
}

/* ---- nodes ---- */

/* Adds repeated ids, packed or single. */
static bool take_ids(uint64_t **list, size_t *n, size_t *cap, const struct field *x)
{
	if (x->wire == 0) {
		MEM_GROW(*list, *n, *cap);
		(*list)[(*n)++] = x->value;
		return true;
	}
	if (x->wire != 2)
		return false;
	for (const unsigned char *s = x->s; s < x->e;) {
		MEM_GROW(*list, *n, *cap);
		if (!(s = varint(s, x->e, &(*list)[*n])))
			return false;
		++*n;
	}
	return true;
}

/* Returns NULL, or a description of the fault. */
static const char *take_node(struct chakra_file *f, const unsigned char *s, const unsigned char *end)
{
	static const char damaged[] = "a damaged field of a node: expected a protobuf message of Chakra's schema 1.0";
	struct chakra_record *r = &f->record;
	struct field x;
	r->number = f->records;
	r->id = r->start_us = r->duration_us = 0;
	r->name = (struct chakra_text){ "", 0 };
	r->n_ctrl = r->n_data = r->n_attributes = 0;
	uint64_t type = 0;
	while (s < end) {
		if (!(s = take(s, end, &x)))
			return damaged;
		bool is_number = x.wire == 0, is_bytes = x.wire == 2;
		switch (x.number) {
		case 1:
			r->id = x.value;
			break;
		case 2:
			r->name = (struct chakra_text){ (const char *)x.s, is_bytes ? (size_t)(x.e - x.s) : 0 };
			is_number = is_bytes;
			break;
		case 3:
			type = x.value;
			break;
		case 4:
			is_number = take_ids(&r->ctrl, &r->n_ctrl, &f->cap_ctrl, &x);
			break;
		case 5:
			is_number = take_ids(&r->data, &r->n_data, &f->cap_data, &x);
			break;
		case 6:
			r->start_us = x.value;
			break;
		case 7:
			r->duration_us = x.value;
			break;
		case 10:
			MEM_GROW(r->attribute, r->n_attributes, f->cap_attributes);
			is_number = is_bytes && take_attribute(&r->attribute[r->n_attributes++], x.s, x.e);
			break;
		default: /* inputs, outputs, fields of later schemas */
			is_number = true;
		}
		if (!is_number)
			return damaged;
	}
	r->type = (enum chakra_type)type;
	return type < CHAKRA_TYPES ? NULL : "an unknown type of node";
}

/* ---- records ---- */

/* Finds the next record. Returns 1, 0 at the end of the file, -1 on error. */
static int next_record(struct chakra_file *f, const unsigned char **s, size_t *n, struct orr_error *err)
{
	f->start = f->base + f->at;
	if (!fill(f, LENGTH_BYTES, err))
		return -1;
	if (f->at == f->n)
		return 0;
	const unsigned char *at = (const unsigned char *)f->buffer + f->at;
	size_t have = f->n - f->at;
	uint64_t length;
	const unsigned char *after = varint(at, at + (have < LENGTH_BYTES ? have : LENGTH_BYTES), &length);
	if (!after)
		return fail(f, err,
			       have < LENGTH_BYTES ? "the file ends within the length of a record: expected a whole trace"
						   : "the length of the record has more than 5 bytes: expected a Chakra trace"),
		       -1;
	if (length > CHAKRA_MOST_RECORD) {
		char text[160];
		snprintf(text, sizeof text, "length %" PRIu64 ": expected at most %d bytes", length, CHAKRA_MOST_RECORD);
		return fail(f, err, text), -1;
	}
	size_t head = (size_t)(after - at);
	if (!fill(f, head + (size_t)length, err))
		return -1;
	if (f->n - f->at < head + length) {
		char text[160];
		snprintf(text, sizeof text, "the file ends after %zu of %" PRIu64 " bytes of the record: expected a whole trace",
			f->n - f->at - head, length);
		return fail(f, err, text), -1;
	}
	*s = (const unsigned char *)f->buffer + f->at + head;
	*n = (size_t)length;
	f->at += head + (size_t)length;
	return 1;
}

int chakra_next(struct chakra_file *f, const struct chakra_record **out, struct orr_error *err)
{
	const unsigned char *s;
	size_t n;
	int rc = next_record(f, &s, &n, err);
	if (rc != 1)
		return rc;
	const char *why = take_node(f, s, s + n);
	if (why && f->record.type >= CHAKRA_TYPES)
		orr_fail(err, ORR_EINPUT, "%.300s: rank %u: node %" PRIu64 " (record %" PRIu64 "): type %d: expected 0 to 7", f->name,
			f->rank, f->record.id, f->records, (int)f->record.type);
	else if (why)
		fail(f, err, why);
	if (why)
		return -1;
	f->records++;
	*out = &f->record;
	return 1;
}

/* GlobalMetadata: 1 version, 2 attributes. */
static int take_head(struct chakra_file *f, struct orr_error *err)
{
	const unsigned char *s, *end;
	size_t n;
	struct field x;
	struct chakra_attribute a;
	int rc = next_record(f, &s, &n, err);
	if (rc < 0)
		return ORR_EINPUT;
	if (!rc)
		return fail(f, err, "the file is empty: expected GlobalMetadata and nodes");
	for (end = s + n; s < end;)
		if (!(s = take(s, end, &x)) || (x.number <= 2 && x.wire != 2) || (x.number == 2 && !take_attribute(&a, x.s, x.e)))
			return fail(f, err, "expected GlobalMetadata of Chakra's schema 1.0 (version and attributes)");
	f->records = 1;
	return ORR_OK;
}

static struct chakra_file *file_new(const char *name, struct bytes *b, uint64_t stored, uint32_t rank, struct orr_error *err)
{
	struct chakra_file *f = mem_zalloc(1, sizeof *f);
	f->bytes = b;
	f->name = mem_strdup(name);
	f->rank = rank;
	f->stored = stored;
	f->cap = BLOCK;
	f->buffer = mem_alloc(f->cap);
	if (!take_head(f, err))
		return f;
	chakra_close(f);
	return NULL;
}

struct chakra_file *chakra_open(const char *path, uint32_t rank, struct orr_error *err)
{
	struct stat st;
	struct bytes *b = bytes_open(path, err);
	return b ? file_new(path, b, stat(path, &st) || !S_ISREG(st.st_mode) ? 0 : (uint64_t)st.st_size, rank, err) : NULL;
}

struct chakra_file *chakra_open_memory(const char *name, const void *data, size_t n, uint32_t rank, struct orr_error *err)
{
	return file_new(name, bytes_open_memory(data, n), n, rank, err);
}

void chakra_hash(const struct chakra_file *f, char hex[65])
{
	bytes_hash(f->bytes, hex);
}

void chakra_close(struct chakra_file *f)
{
	if (!f)
		return;
	bytes_close(f->bytes);
	mem_free(f->name);
	mem_free(f->buffer);
	mem_free(f->record.ctrl);
	mem_free(f->record.data);
	mem_free(f->record.attribute);
	mem_free(f);
}
