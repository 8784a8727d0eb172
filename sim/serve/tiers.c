/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tiers of KV caches below the GPUs' memory: docs/models/serve-tiers.md. */
#include "serve/tiers.h"

#include "base/hash.h"
#include "base/mem.h"
#include "serve/metrics.h"

#include <math.h>
#include <string.h>

/* Data that a store keeps with the hash of a block. */
struct kept {
	double ready_s; /* end of the write */
	double bytes;
};

/* The DRAM or SSD of a node, or the pool. */
struct store {
	struct prefix *set; /* NULL: no block yet */
	struct kept *kept;  /* by entry of the set */
	uint32_t cap;
	double used;
};

/* A link in both directions: the ends of the last read and write. */
struct link {
	double read_free_s, write_free_s;
};

struct tiers {
	double size[TIERS]; /* size of one store, bytes; 0: the tier is absent */
	double Bps[TIERS], latency_s[TIERS];
	uint32_t nodes, replicas;
	struct store *store[TIERS]; /* by node; one pool */
	struct link *link[TIERS];   /* by replica; of SSDs by node */
	bool is_lru, writes_through;
	enum serve_kv_load load;
};

static double Bps_of(const struct orr_serve *w, const char *name)
{
	return orr_arg_real(w->config->options, name);
}

struct tiers *tiers_new(const struct orr_serve *w)
{
	static const char *const size[] = { "kv_dram", "kv_ssd", "kv_pool" }, *const rate[] = { "kv_dram_Bps", "kv_ssd_Bps",
		"kv_pool_Bps" };
	const struct orr_args *o = w->config->options;
	bool is_used = false;
	for (int i = 0; i < TIERS; i++)
		is_used |= orr_arg_real(o, size[i]) > 0;
	if (!is_used || !w->set->prefix_cache || !reqset_block_tokens(w->config->requests))
		return NULL;
	struct tiers *t = mem_zalloc(1, sizeof *t);
	t->nodes = w->config->cluster->n_nodes;
	t->replicas = w->n_replicas;
	t->is_lru = !strcmp(orr_arg_text(o, "kv_evict"), "lru");
	t->writes_through = !strcmp(orr_arg_text(o, "kv_write"), "through");
	t->load = w->set->kv_load;
	for (int i = 0; i < TIERS; i++) {
		t->size[i] = orr_arg_real(o, size[i]);
		t->Bps[i] = Bps_of(w, rate[i]);
		t->store[i] = mem_zalloc((size_t)(i == TIER_POOL ? 1 : t->nodes) + 1, sizeof *t->store[i]);
		t->link[i] = mem_zalloc((size_t)(i == TIER_SSD ? t->nodes : t->replicas) + 1, sizeof *t->link[i]);
	}
	t->latency_s[TIER_POOL] = (double)orr_arg_time_ns(o, "kv_pool_latency") / 1e9;
	return t;
}

static void empty(struct store *s)
{
	prefix_free(s->set);
	mem_free(s->kept);
	*s = (struct store){ 0 };
}

void tiers_free(struct tiers *t)
{
	if (!t)
		return;
	for (int i = 0; i < TIERS; i++) {
		for (uint32_t k = 0; k < (i == TIER_POOL ? 1 : t->nodes); k++)
			empty(&t->store[i][k]);
		mem_free(t->store[i]);
		mem_free(t->link[i]);
	}
	mem_free(t);
}

static struct store *store_of(const struct orr_serve *w, const struct lane *l, enum tier i)
{
	return &w->tiers->store[i][i == TIER_POOL ? 0 : w->replica[l->replica].node];
}

static struct link *link_of(const struct orr_serve *w, const struct lane *l, enum tier i)
{
	return &w->tiers->link[i][i == TIER_SSD ? w->replica[l->replica].node : l->replica];
}

static double block_bytes(const struct lane *l)
{
	return (double)l->hash_blocks * l->block_tokens * l->model->kv_bytes;
}

/* Caches of different models differ. */
static uint64_t key_of(const struct orr_serve *w, const struct lane *l, uint64_t hash)
{
	uint32_t model = w->replica[l->replica].model;
	return model ? hash_mix(hash + model) : hash;
}

static uint32_t find(const struct store *s, uint64_t key)
{
	return s->set ? prefix_find(s->set, key) : PREFIX_NONE;
}

/* Moves a block to the end of the order of eviction. */
static void touch(const struct tiers *t, struct store *s, uint32_t entry)
{
	if (!t->is_lru)
		return;
	prefix_use(s->set, entry);
	prefix_leave(s->set, entry);
}

/* ---- writes ---- */

static void write_block(struct orr_serve *w, const struct lane *l, enum tier i, uint64_t key, double bytes, double now_s);

/* Drops the first block in the order of eviction, which may be of another model than the lane's. It moves to the next tier, except with
 * serve.kv_write=through. */
static void drop_first(struct orr_serve *w, const struct lane *l, enum tier i, struct store *s, double now_s)
{
	uint32_t entry;
	uint64_t key = prefix_drop(s->set, &entry);
	double bytes = s->kept[entry].bytes;
	s->used -= bytes;
	w->metrics->tier[i].dropped++;
	if (!w->tiers->writes_through)
		write_block(w, l, (enum tier)(i + 1), key, bytes, now_s);
}

/* Writes a block to the first tier from i on that is present; no-op if that tier has the block. */
static void write_block(struct orr_serve *w, const struct lane *l, enum tier i, uint64_t key, double bytes, double now_s)
{
	struct tiers *t = w->tiers;
	while (i < TIERS && t->size[i] < bytes)
		i++;
	if (i == TIERS)
		return;
	struct store *s = store_of(w, l, i);
	uint32_t entry = find(s, key);
	if (entry != PREFIX_NONE) {
		touch(t, s, entry);
		return;
	}
	while (s->used + bytes > t->size[i])
		drop_first(w, l, i, s, now_s);
	if (!s->set)
		s->set = prefix_new();
	entry = prefix_add(s->set, key, PREFIX_NONE);
	prefix_leave(s->set, entry);
	if (entry >= s->cap) {
		s->cap = entry < 32 ? 64 : entry * 2;
		s->kept = mem_realloc(s->kept, s->cap, sizeof *s->kept);
	}
	struct link *x = link_of(w, l, i);
	x->write_free_s = fmax(x->write_free_s, now_s) + bytes / t->Bps[i];
	s->kept[entry] = (struct kept){ .ready_s = x->write_free_s + t->latency_s[i], .bytes = bytes };
	s->used += bytes;
	w->metrics->tier[i].written += bytes;
}

/* Returns the current time of the lane, whose iterations may be ahead of the clock. */
static double lane_now(const struct orr_serve *w, const struct lane *l)
{
	return l->is_flying ? fmax(w->now_s, l->start_s) : w->now_s;
}

void tiers_evicted(struct orr_serve *w, const struct lane *l, uint64_t hash)
{
	if (!w->tiers->writes_through)
		write_block(w, l, TIER_DRAM, key_of(w, l, hash), block_bytes(l), lane_now(w, l));
}

void tiers_computed(struct orr_serve *w, const struct lane *l, uint64_t hash)
{
	for (int i = 0; w->tiers->writes_through && i < TIERS; i++)
		if (w->tiers->size[i] >= block_bytes(l))
			write_block(w, l, (enum tier)i, key_of(w, l, hash), block_bytes(l), l->end_s);
}

void tiers_node_lost(struct orr_serve *w, uint32_t node)
{
	for (int i = 0; w->tiers && i < TIER_POOL; i++)
		if (node < w->tiers->nodes)
			empty(&w->tiers->store[i][node]);
}

/* ---- reads ---- */

/* Returns the fastest tier that holds the block; TIERS: none. */
static enum tier holder(const struct orr_serve *w, const struct lane *l, uint64_t key, double now_s)
{
	const struct tiers *t = w->tiers;
	enum tier best = TIERS;
	for (int i = 0; i < TIERS; i++) {
		const struct store *s = store_of(w, l, (enum tier)i);
		uint32_t entry = t->size[i] > 0 ? find(s, key) : PREFIX_NONE;
		if (entry != PREFIX_NONE && s->kept[entry].ready_s <= now_s && (best == TIERS || t->Bps[i] > t->Bps[best]))
			best = (enum tier)i;
	}
	return best;
}

uint32_t tiers_run(const struct orr_serve *w, const struct lane *l, const struct req *q, uint32_t from, uint32_t most)
{
	uint32_t n = from;
	while (n < most && holder(w, l, key_of(w, l, q->block[n]), w->now_s) != TIERS)
		n++;
	return n - from;
}

/* Returns the time at which the given numbers of blocks per tier would have arrived. */
static double arrival(const struct orr_serve *w, const struct lane *l, const uint32_t *by_tier)
{
	const struct tiers *t = w->tiers;
	double end = w->now_s;
	for (int i = 0; i < TIERS; i++)
		if (by_tier[i])
			end = fmax(end, fmax(w->now_s, link_of(w, l, (enum tier)i)->read_free_s) + by_tier[i] * block_bytes(l) / t->Bps[i] +
						t->latency_s[i]);
	return end;
}

/* Returns the time of an iteration of the rest of the prompt alone. */
static double prefill_s(const struct lane *l, const struct req *q, uint32_t hashes)
{
	double done = (double)hashes * l->hash_blocks * l->block_tokens, left = q->prompt - done;
	struct llm_load x = { .prompts = 1, .prompt_tokens = left, .prompt_pairs = left * q->prompt };
	return served_iteration(l->on, &x);
}

/* The sum of both times is examined where the tier changes and at the end: between these points the time to load grows in proportion to
 * the blocks, and the time of the rest of the prompt falls at least in proportion. */
static struct tier_plan plan_by(
	const struct orr_serve *w, const struct lane *l, const struct req *q, uint32_t from, uint32_t most, enum serve_kv_load how)
{
	struct tier_plan best = { .from = from, .end_s = w->now_s }, p = best;
	if (how == KV_LOAD_NEVER)
		return best;
	double least = how == KV_LOAD_COST ? prefill_s(l, q, from) : INFINITY;
	enum tier at = TIERS, next = from < most ? holder(w, l, key_of(w, l, q->block[from]), w->now_s) : TIERS;
	while (next != TIERS) {
		at = next;
		p.by_tier[at]++;
		p.n++;
		next = from + p.n < most ? holder(w, l, key_of(w, l, q->block[from + p.n]), w->now_s) : TIERS;
		if (next == at)
			continue;
		p.end_s = arrival(w, l, p.by_tier);
		double sum = how == KV_LOAD_COST ? p.end_s - w->now_s + prefill_s(l, q, from + p.n) : 0;
		if (sum < least || how == KV_LOAD_ALWAYS) {
			least = sum;
			best = p;
		}
	}
	return best;
}

struct tier_plan tiers_plan(const struct orr_serve *w, const struct lane *l, const struct req *q, uint32_t from, uint32_t most)
{
	enum serve_kv_load how = w->tiers->load;
	struct tier_plan p = plan_by(w, l, q, from, most, how);
	/* Once a plan has differed from that by cost, the remark is decided. */
	if (how != KV_LOAD_COST && !(w->metrics->used & SERVE_USED_KV_LOAD) && plan_by(w, l, q, from, most, KV_LOAD_COST).n != p.n)
		w->metrics->used |= SERVE_USED_KV_LOAD;
	return p;
}

void tiers_load(struct orr_serve *w, const struct lane *l, const struct req *q, const struct tier_plan *p)
{
	const struct tiers *t = w->tiers;
	for (uint32_t k = p->from; k < p->from + p->n; k++) {
		uint64_t key = key_of(w, l, q->block[k]);
		enum tier i = holder(w, l, key, w->now_s);
		touch(t, store_of(w, l, i), find(store_of(w, l, i), key));
	}
	for (int i = 0; i < TIERS; i++) {
		struct link *x = link_of(w, l, (enum tier)i);
		double bytes = p->by_tier[i] * block_bytes(l);
		if (!p->by_tier[i])
			continue;
		x->read_free_s = fmax(w->now_s, x->read_free_s) + bytes / t->Bps[i];
		w->metrics->tier[i].read += bytes;
		w->metrics->tier[i].tokens += (double)p->by_tier[i] * l->hash_blocks * l->block_tokens;
	}
	w->metrics->tier_loads += p->n > 0;
	w->metrics->tier_load_s += p->end_s - w->now_s;
}

/* ---- checks ---- */

const char *tiers_check(const struct orr_serve *w)
{
	const struct tiers *t = w->tiers;
	for (int i = 0; t && i < TIERS; i++)
		for (uint32_t k = 0; k < (i == TIER_POOL ? 1 : t->nodes); k++) {
			const struct store *s = &t->store[i][k];
			if (s->used > t->size[i] * (1 + 1e-9))
				return "a tier of KV caches holds more bytes than its size";
			if (s->set && prefix_used(s->set))
				return "a block of a tier of KV caches has users";
			if (s->set && !prefix_unused(s->set) != !(s->used > 0.5))
				return "the bytes of a tier of KV caches differ from those of its blocks";
		}
	return NULL;
}
