/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/parts.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/strtab.h"

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

/* A part of the subject with number place << stride_log2. what: index in partlog.what. */
struct row {
	int64_t begin, end; /* end: OPEN of an open part */
	uint32_t place, what;
};

#define OPEN INT64_MAX

enum { BLOCK_ROWS = 1 << 18 };
_Static_assert(BLOCK_ROWS * sizeof(struct row) % MEM_LARGE == 0, "a block fills large pages");

struct partlog {
	const char *entity;
	size_t most;
	unsigned stride_log2; /* only subjects whose numbers are multiples of this power of 2 have rows */
	struct row **block;   /* only the first block can be shorter than BLOCK_ROWS */
	size_t n, cap, n_blocks, cap_blocks;
	uint32_t *last; /* by place: index of its last row + 1; 0: none */
	size_t n_last;
	/* The different parts, because most rows repeat one of a few. */
	struct part *what;
	uint32_t n_whats, cap_whats, n_hashed;
	uint32_t *slot; /* open addressing: index in what + 1; 0: free; lacks those of partlog_add_rare() */
	uint32_t mask;
	/* After partlog_finish(): */
	struct part_texts *text; /* of what */
	uint32_t *order;         /* indexes of the n_ordered rows that are not empty, by subject and time */
	size_t n_ordered;
};

static bool is_same(const struct part *a, const struct part *b)
{
	return a->kind == b->kind && a->cause == b->cause && a->number == b->number && a->detail == b->detail &&
	       !memcmp(a->value, b->value, sizeof a->value);
}

static uint32_t hash_of(const struct part *what)
{
	uint64_t h = (what->number * HASH_GOLDEN ^ (uintptr_t)what->cause) * HASH_GOLDEN;
	h = (h ^ h >> 32 ^ (uintptr_t)what->detail ^ (uint64_t)what->value[0] << 40) * HASH_GOLDEN;
	return hash_spread(h ^ h >> 32 ^ what->value[1] ^ (uint64_t)what->value[2] << 24 ^ (uint64_t)what->kind << 48);
}

static void rehash(struct partlog *p)
{
	uint32_t *old = p->slot, n = old ? p->mask + 1 : 0, slots = n ? n * 2 : 64;
	p->slot = mem_zalloc(slots, sizeof *p->slot);
	p->mask = slots - 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = old[i] ? hash_of(&p->what[old[i] - 1]) & p->mask : 0;
		while (old[i] && p->slot[at])
			at = (at + 1) & p->mask;
		if (old[i])
			p->slot[at] = old[i];
	}
	mem_free(old);
}

static uint32_t add_what(struct partlog *p, const struct part *what)
{
	MEM_GROW(p->what, p->n_whats, p->cap_whats);
	p->what[p->n_whats] = *what;
	return p->n_whats++;
}

uint32_t partlog_new_index(struct partlog *p, const struct part *what)
{
	return add_what(p, what);
}

uint32_t partlog_index(struct partlog *p, const struct part *what)
{
	uint32_t at = hash_of(what) & p->mask;
	for (; p->slot[at]; at = (at + 1) & p->mask)
		if (is_same(&p->what[p->slot[at] - 1], what))
			return p->slot[at] - 1;
	uint32_t index = add_what(p, what);
	p->slot[at] = index + 1;
	if (++p->n_hashed > p->mask / 2)
		rehash(p);
	return index;
}

struct partlog *partlog_new(const char *entity, size_t most)
{
	struct partlog *p = mem_zalloc(1, sizeof *p);
	p->entity = entity;
	p->most = most < 2 ? 2 : most;
	rehash(p);
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
	mem_free(p->what);
	mem_free(p->slot);
	mem_free(p->text);
	mem_free(p->order);
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
	if (cap <= MEM_LARGE / 4 / sizeof(struct row)) {
		p->n_blocks = 1;
		MEM_GROW(p->block, 0, p->cap_blocks);
		p->block[0] = mem_realloc(p->cap ? p->block[0] : NULL, cap, sizeof **p->block);
		p->cap = cap;
		return;
	}
	struct row *block = mem_alloc_large(BLOCK_ROWS * sizeof *block);
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

/* Returns the number of rows from row i, the first of a block, to the end of its block. */
static inline size_t rows_after(const struct partlog *p, size_t i)
{
	return p->n - i < BLOCK_ROWS ? p->n - i : BLOCK_ROWS;
}

static inline bool is_kept(const struct partlog *p, uint64_t subject)
{
	return !(subject & ((UINT64_C(1) << p->stride_log2) - 1));
}

static inline size_t place_of(const struct partlog *p, uint64_t subject)
{
	return (size_t)(subject >> p->stride_log2);
}

static void grow_last(struct partlog *p, size_t at)
{
	size_t n = at < p->n_last * 2 ? p->n_last * 2 : at + 64;
	p->last = mem_realloc(p->last, n, sizeof *p->last);
	memset(p->last + p->n_last, 0, (n - p->n_last) * sizeof *p->last);
	p->n_last = n;
}

static inline uint32_t *last_of(struct partlog *p, uint64_t subject)
{
	size_t at = place_of(p, subject);
	if (at >= p->n_last)
		grow_last(p, at);
	return &p->last[at];
}

/* Removes the rows of every second subject. */
static void thin(struct partlog *p)
{
	uint32_t kept = 0;
	p->stride_log2++;
	if (p->n_last)
		memset(p->last, 0, p->n_last * sizeof *p->last);
	for (size_t i = 0; i < p->n; i++) {
		struct row row = *row_at(p, i);
		if (row.place % 2)
			continue;
		row.place /= 2;
		*row_at(p, kept) = row;
		p->last[row.place] = ++kept;
	}
	p->n = kept;
}

/* A few subjects alone may exceed the limit, so the limit grows with the rows that remain. */
static void shrink(struct partlog *p)
{
	thin(p);
	if (p->n > p->most / 2)
		p->most = p->n * 2;
}

static inline void append(struct partlog *p, uint64_t subject, int64_t begin, int64_t end, uint32_t index)
{
	if (p->n >= p->most) {
		shrink(p);
		if (!is_kept(p, subject))
			return;
	}
	if (p->n == p->cap)
		grow(p);
	*row_at(p, p->n++) = (struct row){ begin, end, (uint32_t)place_of(p, subject), index };
	p->last[place_of(p, subject)] = (uint32_t)p->n;
}

static inline struct row *last_row(struct partlog *p, uint64_t subject)
{
	uint32_t at = *last_of(p, subject);
	return at ? row_at(p, at - 1) : NULL;
}

void partlog_add_known(struct partlog *p, uint64_t subject, int64_t begin_ns, int64_t end_ns, uint32_t index)
{
	if (end_ns <= begin_ns || !is_kept(p, subject))
		return;
	struct row *last = last_row(p, subject);
	if (last && last->end == begin_ns && last->what == index)
		last->end = end_ns;
	else
		append(p, subject, begin_ns, end_ns, index);
}

void partlog_add(struct partlog *p, uint64_t subject, int64_t begin_ns, int64_t end_ns, const struct part *what)
{
	if (end_ns > begin_ns && is_kept(p, subject))
		partlog_add_known(p, subject, begin_ns, end_ns, partlog_index(p, what));
}

void partlog_add_rare(struct partlog *p, uint64_t subject, int64_t begin_ns, int64_t end_ns, const struct part *what, uint32_t *known)
{
	if (end_ns <= begin_ns || !is_kept(p, subject))
		return;
	struct row *last = last_row(p, subject);
	if (last && last->end == begin_ns && is_same(&p->what[last->what], what)) {
		last->end = end_ns;
		return;
	}
	if (!*known)
		*known = add_what(p, what) + 1;
	append(p, subject, begin_ns, end_ns, *known - 1);
}

void partlog_change_known(struct partlog *p, uint64_t subject, int64_t now_ns, uint32_t index)
{
	if (!is_kept(p, subject))
		return;
	struct row *last = last_row(p, subject);
	if (last && (last->end == OPEN || last->end == now_ns) && last->what == index) {
		last->end = OPEN;
	} else if (last && last->end == OPEN && last->begin == now_ns) {
		last->what = index; /* replaces an empty part */
	} else {
		partlog_close(p, subject, now_ns);
		append(p, subject, now_ns, OPEN, index);
	}
}

void partlog_change(struct partlog *p, uint64_t subject, int64_t now_ns, const struct part *what)
{
	if (is_kept(p, subject))
		partlog_change_known(p, subject, now_ns, partlog_index(p, what));
}

void partlog_close(struct partlog *p, uint64_t subject, int64_t now_ns)
{
	struct row *last = is_kept(p, subject) ? last_row(p, subject) : NULL;
	if (last && last->end == OPEN)
		last->end = now_ns;
}

/* ---- at the end ---- */

/* Returns the text that ends at `end`; work: room for it. */
static const char *made_text(struct run_result *r, const char *work, const char *end)
{
	return strtab_text(r->strings, strtab_add(r->strings, work, (size_t)(end - work)));
}

static char *put_bytes(char *at, const char *s)
{
	size_t n = strlen(s);
	memcpy(at, s, n);
	return at + n;
}

enum { NAME_ROOM = 256 };

/* work: room for the cause and a number, or a name below NAME_ROOM. */
static const char *cause_text(struct run_result *r, char *work, const struct part *what, partlog_name name, void *ctx)
{
	if (!what->cause || what->number == PART_ALONE)
		return result_text(r, what->cause);
	const char *called = name ? name(ctx, what->cause, what->number) : NULL;
	char *at = put_bytes(work, what->cause);
	*at++ = ' ';
	if (!called)
		return made_text(r, work, at + num_put_int(at, (int64_t)what->number));
	if (strlen(called) < NAME_ROOM)
		return made_text(r, work, put_bytes(at, called));
	struct sbuf text = { 0 };
	sbuf_printf(&text, "%s %s", what->cause, called);
	const char *made = result_text(r, sbuf_text(&text));
	sbuf_free(&text);
	return made;
}

/* work: room for the literal and its numbers. */
static const char *detail_text(struct run_result *r, char *work, const struct part *what)
{
	char *at = work;
	if (!what->detail)
		return NULL;
	int k = 0;
	for (const char *c = what->detail; *c; c++)
		if (*c == '%' && k < 3)
			at += num_put_int(at, what->value[k++]);
		else
			*at++ = *c;
	return made_text(r, work, at);
}

/* Returns room for any text of the log except those with long names. The caller frees it. */
static char *room_for_texts(const struct partlog *p)
{
	size_t longest = 0;
	const char *last[2] = { NULL };
	for (uint32_t i = 0; i < p->n_whats; i++) {
		const char *text[2] = { p->what[i].detail, p->what[i].cause };
		for (int k = 0; k < 2; k++) {
			size_t n = text[k] && text[k] != last[k] ? strlen(text[k]) : 0;
			longest = n > longest ? n : longest;
			last[k] = text[k];
		}
	}
	return mem_alloc(longest + NAME_ROOM + 3 * NUM_INT_MAX);
}

static void make_texts(struct partlog *p, struct run_result *r, partlog_name name, void *ctx)
{
	char *room = room_for_texts(p);
	p->text = mem_alloc((p->n_whats + 1) * sizeof *p->text);
	for (uint32_t i = 0; i < p->n_whats; i++) {
		const struct part *what = &p->what[i];
		p->text[i] =
			(struct part_texts){ { part_word(what->kind), cause_text(r, room, what, name, ctx), detail_text(r, room, what) } };
	}
	mem_free(room);
}

/* Ends open parts, counts the rows of each subject that are not empty in last[], and turns the counts into positions. Returns the number of
 * rows. */
static size_t count_rows(struct partlog *p, int64_t now_ns)
{
	uint32_t at = 0;
	if (p->n_last)
		memset(p->last, 0, p->n_last * sizeof *p->last);
	for (size_t i = 0; i < p->n;) {
		for (struct row *row = row_at(p, i), *to = row + rows_after(p, i); row < to; row++, i++) {
			if (row->end == OPEN)
				row->end = now_ns;
			p->last[row->place] += row->end > row->begin;
		}
	}
	for (size_t i = 0; i < p->n_last; i++) {
		uint32_t n = p->last[i];
		p->last[i] = at;
		at += n;
	}
	return at;
}

void partlog_finish(struct partlog *p, struct run_result *r, int64_t now_ns, partlog_name name, void *ctx)
{
	if (!p)
		return;
	make_texts(p, r, name, ctx);
	p->n_ordered = count_rows(p, now_ns);
	p->order = mem_alloc((p->n_ordered + 1) * sizeof *p->order);
	for (size_t i = 0; i < p->n;) {
		for (const struct row *row = row_at(p, i), *to = row + rows_after(p, i); row < to; row++, i++)
			if (row->end > row->begin)
				p->order[p->last[row->place]++] = (uint32_t)i;
	}
	r->logs = mem_realloc(r->logs, r->n_logs + 1, sizeof *r->logs);
	r->logs[r->n_logs++] = p;
	r->n_parts += p->n_ordered;
}

/* ---- parts of a result ---- */

static void view_rows(const struct partlog *p, size_t first, size_t n, struct part_view *out)
{
	enum { AHEAD = 8 }; /* rows of a subject are far apart in the log */
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			mem_fetch(row_at(p, p->order[first + i + AHEAD]));
		const struct row *row = row_at(p, p->order[first + i]);
		out[i] = (struct part_view){ (uint64_t)row->place << p->stride_log2, row->begin, row->end, &p->text[row->what] };
	}
}

/* Returns the number of rows in r->parts. */
static size_t formed(const struct run_result *r)
{
	size_t n = r->n_parts;
	for (size_t i = 0; i < r->n_logs; i++)
		n -= r->logs[i]->n_ordered;
	return n;
}

/* Returns the log that has row i, at or after formed(r), and sets *first to the number of its first row. */
static const struct partlog *log_of(const struct run_result *r, size_t i, size_t *first)
{
	size_t k = 0;
	*first = formed(r);
	while (i >= *first + r->logs[k]->n_ordered)
		*first += r->logs[k++]->n_ordered;
	return r->logs[k];
}

/* As part_views(), of rows in r->parts. */
static const char *view_formed(const struct part_row *row, size_t *n, struct part_view *out, struct part_texts *room)
{
	size_t i = 0;
	for (; i < *n && !strcmp(row[i].entity, row->entity); i++) {
		room[i] = (struct part_texts){ { row[i].kind, row[i].cause, row[i].detail } };
		out[i] = (struct part_view){ row[i].subject, row[i].begin_ns, row[i].end_ns, &room[i] };
	}
	*n = i;
	return row->entity;
}

const char *part_views(const struct run_result *r, size_t i, size_t *n, struct part_view *out, struct part_texts *room)
{
	size_t n_formed = formed(r), first;
	if (i < n_formed) {
		*n = *n < n_formed - i ? *n : n_formed - i;
		return view_formed(&r->parts[i], n, out, room);
	}
	const struct partlog *p = log_of(r, i, &first);
	*n = *n < first + p->n_ordered - i ? *n : first + p->n_ordered - i;
	view_rows(p, i - first, *n, out);
	return p->entity;
}

void part_rows_copy(const struct run_result *r, size_t first, size_t n, struct part_row *out)
{
	enum { SOME = 64 };
	struct part_view view[SOME];
	struct part_texts room[SOME];
	for (size_t at = 0, some; at < n; at += some) {
		some = n - at < SOME ? n - at : SOME;
		const char *entity = part_views(r, first + at, &some, view, room);
		for (size_t i = 0; i < some; i++)
			out[at + i] = (struct part_row){ .entity = entity,
				.subject = view[i].subject,
				.begin_ns = view[i].begin_ns,
				.end_ns = view[i].end_ns,
				.kind = view[i].texts->text[0],
				.cause = view[i].texts->text[1],
				.detail = view[i].texts->text[2] };
	}
}

static void free_logs(struct run_result *r)
{
	for (size_t i = 0; i < r->n_logs; i++)
		partlog_free(r->logs[i]);
	mem_free(r->logs);
	r->logs = NULL;
	r->n_logs = 0;
}

void part_rows_form(struct run_result *r)
{
	if (!r->n_logs)
		return;
	struct part_row *all = mem_alloc_large((r->n_parts + 1) * sizeof *all);
	part_rows_copy(r, 0, r->n_parts, all);
	free_logs(r);
	mem_free(r->parts);
	r->parts = all;
}

void part_rows_free(struct run_result *r)
{
	free_logs(r);
	mem_free(r->parts);
	r->parts = NULL;
	r->n_parts = 0;
}
