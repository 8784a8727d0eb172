/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/overrides.h"

#include "base/mem.h"

#include <string.h>

enum { MOST_DEPTH = 100 }; /* nested objects and arrays; limits the stack on hostile texts */

/* ---- scanning ---- */

/* Each scan_ function returns the end of the item at p, or NULL if the text is not JSON without white space. */

static const char *scan_string(const char *p)
{
	if (*p++ != '"')
		return NULL;
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < 0x20 || (*p == '\\' && !*++p))
			return NULL;
	}
	return p + 1;
}

/* Scans a number, true, false or null. Checks the characters but not their order. */
static const char *scan_word(const char *p)
{
	size_t n = strspn(p, "+-.0123456789Eeaflnrstu");
	return n ? p + n : NULL;
}

static const char *scan_value(const char *p, int depth);

static const char *scan_list(const char *p, char end, int depth)
{
	if (depth > MOST_DEPTH)
		return NULL;
	if (*++p == end)
		return p + 1;
	for (;;) {
		if (end == '}') {
			p = scan_string(p);
			if (!p || *p++ != ':')
				return NULL;
		}
		p = scan_value(p, depth);
		if (!p)
			return NULL;
		if (*p == end)
			return p + 1;
		if (*p++ != ',')
			return NULL;
	}
}

static const char *scan_value(const char *p, int depth)
{
	switch (*p) {
	case '{':
		return scan_list(p, '}', depth + 1);
	case '[':
		return scan_list(p, ']', depth + 1);
	case '"':
		return scan_string(p);
	default:
		return scan_word(p);
	}
}

static bool is_object(const char *text)
{
	const char *end = *text == '{' ? scan_value(text, 0) : NULL;
	return end && !*end;
}

/* ---- members of an object ---- */

struct slice {
	const char *at;
	size_t n;
};

struct member {
	struct slice key, value; /* the key with its quotes */
};

struct object {
	struct member *member;
	size_t n, cap;
	size_t next; /* first member to try: the successor of the last match, because two objects often have the same order of members */
};

static bool same(struct slice a, struct slice b)
{
	return a.n == b.n && !memcmp(a.at, b.at, a.n);
}

static bool is_null(struct slice v)
{
	return v.n == 4 && !memcmp(v.at, "null", 4);
}

/* Splits an object whose text has been scanned. */
static struct object split(struct slice text)
{
	struct object o = { 0 };
	const char *p = text.at + 1;
	while (*p == '"') {
		struct member m = { .key.at = p };
		p = scan_string(p);
		m.key.n = (size_t)(p - m.key.at);
		m.value.at = ++p;
		p = scan_value(p, 0);
		m.value.n = (size_t)(p - m.value.at);
		MEM_GROW(o.member, o.n, o.cap);
		o.member[o.n++] = m;
		p += *p == ',';
	}
	return o;
}

static const struct member *find(struct object *o, struct slice key)
{
	for (size_t i = 0; i < o->n; i++) {
		size_t k = o->next + i < o->n ? o->next + i : o->next + i - o->n;
		if (same(o->member[k].key, key)) {
			o->next = k + 1;
			return &o->member[k];
		}
	}
	return NULL;
}

/* Appends the key with a comma where one is needed. The caller appends the value. */
static void put_key(struct sbuf *out, struct slice key)
{
	if (out->text[out->len - 1] != '{')
		sbuf_putc(out, ',');
	sbuf_add(out, key.at, key.n);
	sbuf_putc(out, ':');
}

static void put(struct sbuf *out, struct slice key, struct slice value)
{
	put_key(out, key);
	sbuf_add(out, value.at, value.n);
}

/* ---- making ---- */

static void make(struct sbuf *out, struct slice base, struct slice text)
{
	struct object a = split(base), b = split(text);
	sbuf_putc(out, '{');
	for (size_t i = 0; i < a.n; i++) {
		const struct member *old = &a.member[i], *new = find(&b, old->key);
		if (!new) {
			put(out, old->key, (struct slice){ "null", 4 });
		} else if (!same(old->value, new->value)) {
			if (*old->value.at == '{' && *new->value.at == '{') {
				put_key(out, old->key);
				make(out, old->value, new->value);
			} else
				put(out, new->key, new->value);
		}
	}
	for (size_t i = 0; i < b.n; i++)
		if (!find(&a, b.member[i].key))
			put(out, b.member[i].key, b.member[i].value);
	sbuf_putc(out, '}');
	mem_free(a.member);
	mem_free(b.member);
}

bool overrides_make(struct sbuf *out, const char *base, const char *text)
{
	if (!is_object(base) || !is_object(text))
		return false;
	make(out, (struct slice){ base, strlen(base) }, (struct slice){ text, strlen(text) });
	return true;
}

/* ---- applying ---- */

static void apply(struct sbuf *out, struct slice base, struct slice patch);

/* Appends the value that a member of the patch sets. An object is merged into the old value, and its members that are null are left out. */
static void put_patched(struct sbuf *out, struct slice key, struct slice old, struct slice new)
{
	if (*new.at != '{') {
		put(out, key, new);
		return;
	}
	put_key(out, key);
	apply(out, *old.at == '{' ? old : (struct slice){ "{}", 2 }, new);
}

static void apply(struct sbuf *out, struct slice base, struct slice patch)
{
	struct object a = split(base), b = split(patch);
	sbuf_putc(out, '{');
	for (size_t i = 0; i < a.n; i++) {
		const struct member *old = &a.member[i], *new = find(&b, old->key);
		if (!new)
			put(out, old->key, old->value);
		else if (!is_null(new->value))
			put_patched(out, old->key, old->value, new->value);
	}
	for (size_t i = 0; i < b.n; i++)
		if (!is_null(b.member[i].value) && !find(&a, b.member[i].key))
			put_patched(out, b.member[i].key, (struct slice){ "{}", 2 }, b.member[i].value);
	sbuf_putc(out, '}');
	mem_free(a.member);
	mem_free(b.member);
}

bool overrides_apply(struct sbuf *out, const char *base, const char *patch)
{
	if (!is_object(base) || !is_object(patch))
		return false;
	apply(out, (struct slice){ base, strlen(base) }, (struct slice){ patch, strlen(patch) });
	return true;
}
