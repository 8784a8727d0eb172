/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/strtab.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum { FIRST_CHUNK = 1 << 10, LARGEST_CHUNK = 1 << 16 };

struct chunk {
	struct chunk *next;
	size_t used, cap;
	char text[];
};

struct strtab {
	struct chunk *chunks;
	const char **text; /* by number */
	uint32_t *hash;    /* by number */
	size_t n, cap;
	uint32_t *slot; /* open addressing: string number + 1; 0: free slot */
	size_t mask;
};

/* Hashes eight bytes at a time. */
static uint32_t hash_of(const char *s, size_t len)
{
	uint64_t h = HASH_START ^ len, word;
	for (; len >= sizeof word; s += sizeof word, len -= sizeof word) {
		memcpy(&word, s, sizeof word);
		h = (h ^ word) * HASH_GOLDEN;
		h ^= h >> 32;
	}
	for (word = 0; len; len--)
		word = word << 8 | (unsigned char)*s++;
	h = (h ^ word) * HASH_GOLDEN;
	return (uint32_t)(h ^ h >> 32);
}

static const char *keep(struct strtab *t, const char *s, size_t len)
{
	if (!t->chunks || t->chunks->cap - t->chunks->used < len + 1) {
		size_t cap = t->chunks ? 2 * t->chunks->cap : FIRST_CHUNK;
		cap = cap > LARGEST_CHUNK ? LARGEST_CHUNK : cap;
		cap = len + 1 > cap ? len + 1 : cap;
		struct chunk *c = mem_alloc(sizeof *c + cap);
		c->next = t->chunks;
		c->used = 0;
		c->cap = cap;
		t->chunks = c;
	}
	char *p = t->chunks->text + t->chunks->used;
	memcpy(p, s, len);
	p[len] = '\0';
	t->chunks->used += len + 1;
	return p;
}

static void rehash(struct strtab *t, size_t slots)
{
	mem_free(t->slot);
	t->slot = mem_zalloc(slots, sizeof *t->slot);
	t->mask = slots - 1;
	for (size_t i = 0; i < t->n; i++) {
		size_t at = t->hash[i] & t->mask;
		while (t->slot[at])
			at = (at + 1) & t->mask;
		t->slot[at] = (uint32_t)i + 1;
	}
}

struct strtab *strtab_new(void)
{
	struct strtab *t = mem_zalloc(1, sizeof *t);
	rehash(t, 64);
	strtab_add(t, "", 0);
	return t;
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	while (t->chunks) {
		struct chunk *next = t->chunks->next;
		mem_free(t->chunks);
		t->chunks = next;
	}
	mem_free(t->text);
	mem_free(t->hash);
	mem_free(t->slot);
	mem_free(t);
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t len)
{
	uint32_t h = hash_of(s, len);
	size_t at = h & t->mask;
	for (; t->slot[at]; at = (at + 1) & t->mask) {
		uint32_t i = t->slot[at] - 1;
		if (t->hash[i] == h && !strncmp(t->text[i], s, len) && !t->text[i][len])
			return i;
	}
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->text = mem_realloc(t->text, t->cap, sizeof *t->text);
		t->hash = mem_realloc(t->hash, t->cap, sizeof *t->hash);
	}
	t->text[t->n] = keep(t, s, len);
	t->hash[t->n] = h;
	t->slot[at] = (uint32_t)++t->n;
	if (t->n * 2 > t->mask)
		rehash(t, (t->mask + 1) * 2);
	return (uint32_t)t->n - 1;
}

uint32_t strtab_add_z(struct strtab *t, const char *s)
{
	return s ? strtab_add(t, s, strlen(s)) : 0;
}

const char *strtab_text(const struct strtab *t, uint32_t number)
{
	return number < t->n ? t->text[number] : "";
}

size_t strtab_count(const struct strtab *t)
{
	return t->n;
}
