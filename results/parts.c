/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/parts.h"

#include "base/mem.h"
#include "base/num.h"

#include <string.h>

static const struct {
	const char *word;
	bool waits;
} kinds[] = {
/* clang-format off */
#define PART_WAIT true
#define PART_RUN false
#define PART_KIND(name, word, class, phrase, doc) { word, PART_##class },
#include "results/parts.def"
#undef PART_KIND
	/* clang-format on */
};

bool part_waits(enum part_kind kind)
{
	return kinds[kind].waits;
}

const char *part_word(enum part_kind kind)
{
	return kinds[kind].word;
}

enum part_kind part_kind_of(const char *word)
{
	int i = 0;
	while (i < PART_KINDS && strcmp(kinds[i].word, word) != 0)
		i++;
	return (enum part_kind)i;
}

/* ---- recording ---- */

/* A part, as struct part has it, in one line of the cache. */
struct row {
	uint64_t subject;
	int64_t begin, end; /* end: OPEN of an open part */
	uint64_t number;
	const char *cause, *detail;
	uint32_t value[3], kind;
};

#define OPEN INT64_MAX

/* Rows of a block. */
enum { BLOCK_ROWS = MEM_LARGE / sizeof(struct row) };
_Static_assert(MEM_LARGE % sizeof(struct row) == 0, "a block is one large page");

struct partlog {
	const char *entity;
	size_t most;
	unsigned stride_log2; /* only subjects whose numbers are multiples of this power of 2 have rows */
	struct row **block;   /* rows never move, except in a first block that is not full */
	size_t n, cap, n_blocks, cap_blocks;
	size_t *last; /* by subject >> stride_log2: index of its last row + 1; 0: none */
	size_t n_last;
};

struct partlog *partlog_new(const char *entity, size_t most)
{
	struct partlog *p = mem_zalloc(1, sizeof *p);
	p->entity = entity;
	p->most = most < 2 ? 2 : most;
	return p;
}

void partlog_free(struct partlog *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_blocks; i++)
		mem_free(p->block[i]);
	mem_free(p->block);
	mem_free(p->last);
	mem_free(p);
}

static inline struct row *row_at(const struct partlog *p, size_t i)
{
	return &p->block[i / BLOCK_ROWS][i % BLOCK_ROWS];
}

/* Makes room for a row. Short logs have one short block. */
static void grow(struct partlog *p)
{
	size_t cap = p->cap ? p->cap * 2 : 16;
	if (cap < BLOCK_ROWS) {
		p->n_blocks = 1;
		MEM_GROW(p->block, 0, p->cap_blocks);
		p->block[0] = mem_realloc(p->cap ? p->block[0] : NULL, cap, sizeof **p->block);
		p->cap = cap;
		return;
	}
	struct row *block = mem_alloc_large(MEM_LARGE);
	if (p->cap < BLOCK_ROWS) {
		memcpy(block, p->block[0], p->n * sizeof *block);
		mem_free(p->block[0]);
		p->block[0] = block;
		p->cap = BLOCK_ROWS;
		return;
	}
	MEM_GROW(p->block, p->n_blocks, p->cap_blocks);
	p->block[p->n_blocks++] = block;
	p->cap += BLOCK_ROWS;
}

/* Appends an unset row. */
static inline struct row *add_row(struct partlog *p)
{
	if (p->n == p->cap)
		grow(p);
	return row_at(p, p->n++);
}

static bool is_kept(const struct partlog *p, uint64_t subject)
{
	return !(subject & ((UINT64_C(1) << p->stride_log2) - 1));
}

static inline size_t place_of(const struct partlog *p, uint64_t subject)
{
	return (size_t)(subject >> p->stride_log2);
}

static size_t *last_of(struct partlog *p, uint64_t subject)
{
	size_t at = place_of(p, subject);
	if (at >= p->n_last) {
		size_t n = at < p->n_last * 2 ? p->n_last * 2 : at + 64;
		p->last = mem_realloc(p->last, n, sizeof *p->last);
		memset(p->last + p->n_last, 0, (n - p->n_last) * sizeof *p->last);
		p->n_last = n;
	}
	return &p->last[at];
}

/* Removes the rows of every second subject. */
static void thin(struct partlog *p)
{
	size_t kept = 0;
	p->stride_log2++;
	if (p->n_last)
		memset(p->last, 0, p->n_last * sizeof *p->last);
	for (size_t i = 0; i < p->n; i++) {
		const struct row *row = row_at(p, i);
		if (is_kept(p, row->subject)) {
			*row_at(p, kept) = *row;
			*last_of(p, row->subject) = ++kept;
		}
	}
	p->n = kept;
}

static inline struct row row_of(uint64_t subject, int64_t begin, int64_t end, const struct part *what)
{
	return (struct row){ subject, begin, end, what->number, what->cause, what->detail,
		{ what->value[0], what->value[1], what->value[2] }, what->kind };
}

static bool is_same(const struct row *a, const struct part *b)
{
	return a->kind == b->kind && a->cause == b->cause && a->number == b->number && a->detail == b->detail &&
	       !memcmp(a->value, b->value, sizeof a->value);
}

/* A few subjects alone may exceed the limit, so the limit grows with the rows that remain. */
static void append(struct partlog *p, uint64_t subject, int64_t begin, int64_t end, const struct part *what)
{
	if (p->n >= p->most) {
		thin(p);
		if (p->n > p->most / 2)
			p->most = p->n * 2;
		if (!is_kept(p, subject))
			return;
	}
	*add_row(p) = row_of(subject, begin, end, what);
	*last_of(p, subject) = p->n;
}

static struct row *last_row(struct partlog *p, uint64_t subject)
{
	size_t at = *last_of(p, subject);
	return at ? row_at(p, at - 1) : NULL;
}

void partlog_add(struct partlog *p, uint64_t subject, int64_t begin_ns, int64_t end_ns, const struct part *what)
{
	if (end_ns <= begin_ns || !is_kept(p, subject))
		return;
	size_t *at = last_of(p, subject);
	struct row *last = *at ? row_at(p, *at - 1) : NULL;
	if (last && last->end == begin_ns && is_same(last, what)) {
		last->end = end_ns;
	} else if (p->n >= p->most) {
		append(p, subject, begin_ns, end_ns, what);
	} else {
		*add_row(p) = row_of(subject, begin_ns, end_ns, what);
		*at = p->n;
	}
}

void partlog_change(struct partlog *p, uint64_t subject, int64_t now_ns, const struct part *what)
{
	if (!is_kept(p, subject))
		return;
	struct row *last = last_row(p, subject);
	if (last && (last->end == OPEN || last->end == now_ns) && is_same(last, what)) {
		last->end = OPEN;
	} else if (last && last->end == OPEN && last->begin == now_ns) {
		*last = row_of(subject, now_ns, OPEN, what); /* replaces an empty part */
	} else {
		partlog_close(p, subject, now_ns);
		append(p, subject, now_ns, OPEN, what);
	}
}

void partlog_close(struct partlog *p, uint64_t subject, int64_t now_ns)
{
	struct row *last = is_kept(p, subject) ? last_row(p, subject) : NULL;
	if (last && last->end == OPEN)
		last->end = now_ns;
}

/* ---- at the end ---- */

/* Cache of texts of the result, because most rows repeat a few texts. A hash selects the place. */
enum { TEXTS = 512 };
struct texts {
	struct sbuf work;
	struct {
		const char *cause, *text;
		uint64_t number;
	} cause[TEXTS];
	struct {
		const char *detail, *text;
		uint32_t value[3];
	} detail[TEXTS];
};

static unsigned hash_of(const char *literal, uint64_t a, uint64_t b)
{
	uint64_t h = ((uint64_t)(uintptr_t)literal ^ a * 0x9e3779b97f4a7c15u ^ b << 32) * 0x9e3779b97f4a7c15u;
	return (unsigned)(h >> 55); /* < TEXTS */
}

static void put_decimal(struct sbuf *text, uint64_t v)
{
	char digits[NUM_INT_MAX];
	sbuf_add(text, digits, num_put_int(digits, (int64_t)v));
}

static const char *cause_text(struct run_result *r, struct sbuf *text, const struct row *what, partlog_name name, void *ctx)
{
	if (!what->cause || what->number == PART_ALONE)
		return result_text(r, what->cause);
	const char *called = name ? name(ctx, what->cause, what->number) : NULL;
	sbuf_clear(text);
	sbuf_puts(text, what->cause);
	sbuf_putc(text, ' ');
	if (called)
		sbuf_puts(text, called);
	else
		put_decimal(text, what->number);
	return result_text(r, sbuf_text(text));
}

static const char *detail_text(struct run_result *r, struct sbuf *text, const struct row *what)
{
	int k = 0;
	if (!what->detail)
		return NULL;
	sbuf_clear(text);
	for (const char *c = what->detail; *c; c++)
		if (*c == '%' && k < 3)
			put_decimal(text, what->value[k++]);
		else
			sbuf_putc(text, *c);
	return result_text(r, sbuf_text(text));
}

static const char *known_cause(struct run_result *r, struct texts *t, const struct row *what, partlog_name name, void *ctx)
{
	unsigned i = hash_of(what->cause, what->number, 0);
	if (!what->cause)
		return NULL;
	if (t->cause[i].cause != what->cause || t->cause[i].number != what->number) {
		t->cause[i].cause = what->cause;
		t->cause[i].number = what->number;
		t->cause[i].text = cause_text(r, &t->work, what, name, ctx);
	}
	return t->cause[i].text;
}

static const char *known_detail(struct run_result *r, struct texts *t, const struct row *what)
{
	unsigned i = hash_of(what->detail, what->value[0] ^ (uint64_t)what->value[1] << 32, what->value[2]);
	if (!what->detail)
		return NULL;
	if (t->detail[i].detail != what->detail || memcmp(t->detail[i].value, what->value, sizeof what->value) != 0) {
		t->detail[i].detail = what->detail;
		memcpy(t->detail[i].value, what->value, sizeof what->value);
		t->detail[i].text = detail_text(r, &t->work, what);
	}
	return t->detail[i].text;
}

/* Ends open parts, counts the rows of each subject that are not empty in last[], and turns the counts into positions. Returns the number of
 * rows. */
static size_t count_rows(struct partlog *p, int64_t now_ns)
{
	size_t at = 0;
	if (p->n_last)
		memset(p->last, 0, p->n_last * sizeof *p->last);
	for (size_t i = 0; i < p->n; i++) {
		struct row *row = row_at(p, i);
		if (row->end == OPEN)
			row->end = now_ns;
		p->last[place_of(p, row->subject)] += row->end > row->begin;
	}
	for (size_t i = 0; i < p->n_last; i++) {
		size_t n = p->last[i];
		p->last[i] = at;
		at += n;
	}
	return at;
}

/* Returns room for n more parts of the result. */
static struct part_row *make_room(struct run_result *r, size_t n)
{
	struct part_row *old = r->parts;
	r->parts = mem_alloc_large((r->n_parts + n + 1) * sizeof *r->parts);
	if (r->n_parts)
		memcpy(r->parts, old, r->n_parts * sizeof *old);
	mem_free(old);
	return r->parts + r->n_parts;
}

void partlog_finish(struct partlog *p, struct run_result *r, int64_t now_ns, partlog_name name, void *ctx)
{
	if (!p)
		return;
	struct texts *texts = mem_zalloc(1, sizeof *texts);
	size_t n = count_rows(p, now_ns);
	struct part_row *out = make_room(r, n);
	for (size_t i = 0; i < p->n; i++) {
		const struct row *row = row_at(p, i);
		if (row->end <= row->begin)
			continue;
		out[p->last[place_of(p, row->subject)]++] = (struct part_row){ .entity = p->entity,
			.subject = row->subject,
			.begin_ns = row->begin,
			.end_ns = row->end,
			.kind = part_word(row->kind),
			.cause = known_cause(r, texts, row, name, ctx),
			.detail = known_detail(r, texts, row) };
	}
	r->n_parts += n;
	sbuf_free(&texts->work);
	mem_free(texts);
	partlog_free(p);
}
