/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders of the ops of a stage: names, files, completeness (zero_bubble.h). */
#include "zero_bubble.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct zb_order *o, struct zb_pass x)
{
	ORR_GROW(o->pass, o->n, o->cap);
	o->pass[o->n++] = x;
}

void zb_put(struct zb_order *o, enum zb_kind kind, uint32_t chunk, uint32_t micro)
{
	put(o, (struct zb_pass){ .kind = (uint8_t)kind, .chunk = (uint8_t)chunk, .micro = micro });
}

void zb_put_pair(struct zb_order *o, uint32_t forward_chunk, uint32_t forward, uint32_t backward_chunk, uint32_t backward)
{
	put(o, (struct zb_pass){ .kind = ZB_F, .chunk = (uint8_t)forward_chunk, .joins = true, .micro = forward });
	zb_put(o, ZB_D, backward_chunk, backward);
}

/* ---- names ---- */

void zb_name(const struct zb_plan *plan, const struct zb_pass *x, char out[32])
{
	char letter = "FBWD"[x->kind];
	bool is_second = plan->placement == ZB_V && x->chunk == (x->kind == ZB_F);
	if (plan->names_chunk || plan->placement == ZB_BOTH_ENDS)
		snprintf(out, 32, "%c%u.%u", letter, x->chunk, x->micro);
	else
		snprintf(out, 32, "%c%u", is_second ? tolower(letter) : letter, x->micro);
}

/* ---- files ---- */

struct reader {
	struct zb_plan *plan;
	const char *file;
	struct orr_error *err;
	uint32_t line;
};

static int refuse(const struct reader *r, const char *token, size_t n, const char *expected)
{
	return orr_fail(r->err, ORR_EINPUT, "%s:%u: \"%.*s\": expected %s", r->file, r->line, (int)(n < 40 ? n : 40), token, expected);
}

/* Reads a whole number below `most` at *at and moves *at behind it. */
static bool number(const char **at, const char *end, uint32_t most, uint32_t *out)
{
	uint64_t v = 0;
	const char *from = *at;
	for (; *at < end && isdigit((unsigned char)**at); ++*at) {
		v = 10 * v + (uint64_t)(**at - '0');
		if (v >= most)
			return false;
	}
	*out = (uint32_t)v;
	return *at > from;
}

/* Reads an op without its partner: F3, b3, D1.2. */
static int read_pass(const struct reader *r, const char *token, size_t n, struct zb_pass *out)
{
	static const char letters[] = "FBWD";
	struct zb_plan *p = r->plan;
	const char *at = token + 1, *end = token + n, *letter = n ? strchr(letters, toupper((unsigned char)*token)) : NULL;
	uint32_t chunk = 0, micro, most = p->placement == ZB_BOTH_ENDS ? p->m / 2 : p->m, chunks = zb_chunks(p->placement);
	if (!letter || !*letter || (islower((unsigned char)*token) && chunks == 1))
		return refuse(r, token, n, chunks == 1 ? "an op F, B, W or D with its micro-batch (F3)" : "an op such as F3, b3 or D1.3");
	enum zb_kind kind = (enum zb_kind)(letter - letters);
	bool is_lower = islower((unsigned char)*token), has_chunk = memchr(token, '.', n) != NULL;
	if (has_chunk && (!number(&at, end, chunks, &chunk) || at == end || *at++ != '.'))
		return refuse(r, token, n, chunks == 1 ? "chunk 0 (F0.3)" : "chunk 0 or 1 (F1.3)");
	if (!number(&at, end, most, &micro) || at != end || (has_chunk && is_lower)) {
		char what[64];
		snprintf(what, sizeof what, "a micro-batch from 0 to %u", most - 1);
		return refuse(r, token, n, what);
	}
	if (!has_chunk && chunks == 2) {
		if (p->placement == ZB_BOTH_ENDS)
			return refuse(r, token, n, "the direction before the micro-batch (F1.3)");
		chunk = kind == ZB_F ? is_lower : !is_lower;
	}
	p->names_chunk |= has_chunk;
	*out = (struct zb_pass){ .kind = (uint8_t)kind, .chunk = (uint8_t)chunk, .micro = micro };
	return ORR_OK;
}

static int read_op(const struct reader *r, struct zb_order *o, const char *token, size_t n)
{
	const char *and = memchr(token, '&', n);
	struct zb_pass x, y;
	if (read_pass(r, token, and? (size_t)(and-token) : n, &x))
		return ORR_EINPUT;
	if (and&&read_pass(r, and+1, n - (size_t)(and-token) - 1, &y))
		return ORR_EINPUT;
	if (and&&(x.kind != ZB_F || y.kind != ZB_D))
		return refuse(r, token, n, "a forward and a whole backward (F0.3&D1.2)");
	x.joins = and != NULL;
	put(o, x);
	if (and)
		put(o, y);
	return ORR_OK;
}

static int read_row(struct reader *r, const char *line, size_t n)
{
	const char *at = line, *end = line + n;
	uint32_t stage;
	if (!number(&at, end, r->plan->p, &stage) || at == end || *at++ != ',') {
		char what[64];
		snprintf(what, sizeof what, "STAGE,ORDER with a stage from 0 to %u", r->plan->p - 1);
		return refuse(r, line, n, what);
	}
	struct zb_order *o = &r->plan->order[stage];
	if (o->n)
		return refuse(r, line, n, "each stage once");
	while (at < end) {
		size_t blanks = strspn(at, " \t\r\""), length;
		at += blanks < (size_t)(end - at) ? blanks : (size_t)(end - at);
		length = strcspn(at, " \t\r\"\n");
		length = length < (size_t)(end - at) ? length : (size_t)(end - at);
		if (length && read_op(r, o, at, length))
			return ORR_EINPUT;
		at += length;
	}
	return ORR_OK;
}

int zb_read(struct zb_plan *plan, const char *file, const char *text, size_t n, struct orr_error *err)
{
	struct reader r = { plan, file, err, 0 };
	for (const char *at = text, *end = text + n; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		bool is_header = !r.line && length >= 6 && !strncmp(at, "stage,", 6);
		r.line++;
		if (length && !is_header && read_row(&r, at, length))
			return ORR_EINPUT;
		at += length + (newline != NULL);
	}
	return ORR_OK;
}

/* ---- completeness ---- */

enum { HAS_F = 1, HAS_B = 2, HAS_W = 4, HAS_ALL = 7 };

static int check_stage(const struct zb_plan *plan, uint32_t stage, uint8_t *seen, struct orr_error *err)
{
	static const uint8_t needs[ZB_KINDS] = { 0, HAS_F, HAS_F | HAS_B, HAS_F }, adds[ZB_KINDS] = { HAS_F, HAS_B, HAS_W, HAS_B | HAS_W };
	static const char *const after[ZB_KINDS] = { "once", "once, after its forward", "once, after B", "once, after its forward" };
	const struct zb_order *o = &plan->order[stage];
	uint32_t chunks = zb_chunks(plan->placement), m = zb_micros(plan);
	char name[32];
	memset(seen, 0, (size_t)chunks * m);
	for (uint32_t i = 0; i < o->n; i++) {
		const struct zb_pass *x = &o->pass[i];
		uint8_t *at = &seen[(size_t)x->chunk * m + x->micro];
		zb_name(plan, x, name);
		if (*at != needs[x->kind])
			return orr_fail(err, ORR_EINPUT, "order of stage %u: op %u, %s: expected it %s", stage, i, name, after[x->kind]);
		*at |= adds[x->kind];
	}
	for (uint32_t c = 0; c < chunks; c++)
		for (uint32_t i = 0; i < m; i++) {
			uint8_t has = seen[(size_t)c * m + i];
			struct zb_pass x = { .kind = !(has & HAS_F)   ? ZB_F
						     : !(has & HAS_B) ? ZB_B
								      : ZB_W,
				.chunk = (uint8_t)c,
				.micro = i };
			if (has == HAS_ALL)
				continue;
			zb_name(plan, &x, name);
			return orr_fail(
				err, ORR_EINPUT, "order of stage %u: %s is missing: expected all ops of %u micro-batches", stage, name, m);
		}
	return ORR_OK;
}

int zb_check(const struct zb_plan *plan, struct orr_error *err)
{
	uint8_t *seen = orr_alloc((size_t)zb_chunks(plan->placement) * zb_micros(plan), 1);
	int rc = ORR_OK;
	for (uint32_t s = 0; !rc && s < plan->p; s++)
		rc = check_stage(plan, s, seen, err);
	orr_free(seen);
	return rc;
}
