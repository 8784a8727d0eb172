/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a Chakra file, written. Integers are int64, as ASTRA-sim's feeder reads them. */
#include "traces/chakra.h"

#include <string.h>

static void put_varint(struct sbuf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		sbuf_putc(out, (char)(unsigned char)(v | 0x80));
	sbuf_putc(out, (char)(unsigned char)v);
}

static void put_key(struct sbuf *out, unsigned field, unsigned wire)
{
	put_varint(out, field << 3 | wire);
}

static void put_bytes(struct sbuf *out, unsigned field, const char *s, size_t n)
{
	put_key(out, field, 2);
	put_varint(out, n);
	sbuf_add(out, s, n);
}

/* Numbers of 0 are not written. */
static void put_number(struct sbuf *out, unsigned field, uint64_t v)
{
	if (!v)
		return;
	put_key(out, field, 0);
	put_varint(out, v);
}

static void put_ids(struct sbuf *out, unsigned field, const uint64_t *id, size_t n)
{
	struct sbuf list = { 0 };
	for (size_t i = 0; i < n; i++)
		put_varint(&list, id[i]);
	if (n)
		put_bytes(out, field, list.text, list.len);
	sbuf_free(&list);
}

static void put_attribute(struct sbuf *out, const struct chakra_attribute *a)
{
	struct sbuf b = { 0 };
	put_bytes(&b, 1, a->name.s, a->name.n);
	uint64_t bits;
	switch (a->kind) {
	case CHAKRA_UNSIGNED:
	case CHAKRA_SIGNED:
		put_key(&b, 9, 0);
		put_varint(&b, a->u);
		break;
	case CHAKRA_BOOL:
		put_key(&b, 27, 0);
		put_varint(&b, a->u);
		break;
	case CHAKRA_REAL:
		put_key(&b, 3, 1);
		memcpy(&bits, &a->real, sizeof bits);
		for (unsigned i = 0; i < 8; i++)
			sbuf_putc(&b, (char)(unsigned char)(bits >> 8 * i));
		break;
	case CHAKRA_TEXT:
		put_bytes(&b, 29, a->text.s, a->text.n);
		break;
	default: /* NONE; lists are not written */
		break;
	}
	put_bytes(out, 10, b.text, b.len);
	sbuf_free(&b);
}

/* Appends a record: its length and its bytes. */
static void put_record(struct sbuf *out, struct sbuf *record)
{
	put_varint(out, record->len);
	sbuf_add(out, sbuf_text(record), record->len);
	sbuf_free(record);
}

void chakra_put_head(struct sbuf *out)
{
	struct sbuf b = { 0 };
	put_bytes(&b, 1, "0.0.4", 5);
	put_record(out, &b);
}

void chakra_put_node(struct sbuf *out, const struct chakra_record *r)
{
	struct sbuf b = { 0 };
	put_number(&b, 1, r->id);
	if (r->name.n)
		put_bytes(&b, 2, r->name.s, r->name.n);
	put_number(&b, 3, (uint64_t)r->type);
	put_ids(&b, 4, r->ctrl, r->n_ctrl);
	put_ids(&b, 5, r->data, r->n_data);
	put_number(&b, 6, r->start_us);
	put_number(&b, 7, r->duration_us);
	for (size_t i = 0; i < r->n_attributes; i++)
		put_attribute(&b, &r->attribute[i]);
	put_record(out, &b);
}
