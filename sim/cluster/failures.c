/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/failures.h"

#include "base/bytes.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct change {
	int64_t t;
	uint32_t node;
	bool fails;
};

struct failures {
	struct change *change;
	size_t n, cap;
	int64_t mtbf, mttr;
	uint64_t types; /* 0: all */
	char hash[65];
};

/* Heap of the nodes' next changes, ordered by time, then node. */
struct failure_run {
	const struct failures *f;
	size_t at; /* index of the next row of a trace */
	struct change *heap;
	uint32_t n;
	struct rng *rng;
};

static bool parse_line(const char *s, size_t n, const struct cluster *c, struct change *out, const char **what)
{
	const char *a = memchr(s, ',', n), *b = a ? memchr(a + 1, ',', n - (size_t)(a + 1 - s)) : NULL;
	int64_t number;
	*what = "time_s,node,event";
	if (!b)
		return false;
	*what = "time_s: a number of seconds, at least 0";
	if (!num_seconds_ns(s, (size_t)(a - s), &out->t) || out->t < 0)
		return false;
	size_t len = (size_t)(b - a - 1);
	*what = "node: the name or number of a node of the cluster";
	for (out->node = 0; out->node < c->n_nodes; out->node++)
		if (!strncmp(c->node[out->node].name, a + 1, len) && !c->node[out->node].name[len])
			break;
	if (out->node == c->n_nodes) {
		if (!num_int(a + 1, len, &number) || number < 0 || number >= c->n_nodes)
			return false;
		out->node = (uint32_t)number;
	}
	len = n - (size_t)(b + 1 - s);
	*what = "event: fail or repair";
	out->fails = len == 4 && !memcmp(b + 1, "fail", 4);
	return out->fails || (len == 6 && !memcmp(b + 1, "repair", 6));
}

static int parse(struct failures *f, const char *path, const char *text, const struct cluster *c, struct orr_error *err)
{
	size_t line = 0;
	bool *is_down = mem_zalloc(c->n_nodes, sizeof *is_down);
	int rc = ORR_OK;
	for (const char *s = text; *s && !rc;) {
		size_t n = strcspn(s, "\n"), len = n && s[n - 1] == '\r' ? n - 1 : n;
		struct change x;
		const char *what;
		line++;
		if (len && !(line == 1 && !strncmp(s, "time_s", 6))) {
			if (!parse_line(s, len, c, &x, &what))
				rc = orr_fail(err, ORR_EINPUT, "%s:%zu: expected %s, found \"%.*s\"", path, line, what,
					(int)(len < 80 ? len : 80), s);
			else if (f->n && x.t < f->change[f->n - 1].t)
				rc = orr_fail(err, ORR_EINPUT, "%s:%zu: \"time_s\" decreases: expected rows sorted by time", path, line);
			else if (is_down[x.node] == x.fails)
				rc = orr_fail(err, ORR_EINPUT, "%s:%zu: node %s is already %s: expected failures and repairs in turn", path,
					line, c->node[x.node].name, x.fails ? "down" : "up");
			else {
				is_down[x.node] = x.fails;
				MEM_GROW(f->change, f->n, f->cap);
				f->change[f->n++] = x;
			}
		}
		s += n + (s[n] == '\n');
	}
	mem_free(is_down);
	return rc;
}

struct failures *failures_from_text(const char *path, const char *text, const struct cluster *c, struct orr_error *err)
{
	struct failures *f = mem_zalloc(1, sizeof *f);
	bytes_hash_text(text, strlen(text), f->hash);
	if (!parse(f, path, text, c, err))
		return f;
	failures_free(f);
	return NULL;
}

struct failures *failures_from_file(const char *path, const struct cluster *c, struct orr_error *err)
{
	size_t n;
	char *text = bytes_read_file(path, 1u << 30, &n, NULL, err);
	if (!text)
		return NULL;
	struct failures *f = failures_from_text(path, text, c, err);
	mem_free(text);
	return f;
}

struct failures *failures_from_hazard(int64_t mtbf_ns, int64_t mttr_ns)
{
	struct failures *f = mem_zalloc(1, sizeof *f);
	char text[64];
	f->mtbf = mtbf_ns;
	f->mttr = mttr_ns;
	snprintf(text, sizeof text, "hazard,%lld,%lld", (long long)mtbf_ns, (long long)mttr_ns);
	bytes_hash_text(text, strlen(text), f->hash);
	return f;
}

void failures_only_types(struct failures *f, uint64_t types)
{
	char text[120];
	f->types = types;
	snprintf(text, sizeof text, "%s,%llx", f->hash, (unsigned long long)types);
	if (types)
		bytes_hash_text(text, strlen(text), f->hash);
}

static bool may_fail(const struct failures *f, const struct cluster_node *node)
{
	return !f->types || (node->type < CLUSTER_MAX_TYPES && f->types >> node->type & 1);
}

void failures_free(struct failures *f)
{
	if (!f)
		return;
	mem_free(f->change);
	mem_free(f);
}

const char *failures_hash(const struct failures *f)
{
	return f->hash;
}

bool failures_are_random(const struct failures *f)
{
	return f && f->mtbf;
}

/* ---- one run ---- */

static inline bool is_before(const void *none, const struct change *a, const struct change *b)
{
	(void)none;
	return a->t < b->t || (a->t == b->t && a->node < b->node);
}

HEAP(change, struct change, const void, is_before, HEAP_UNTRACKED)

static int64_t draw(struct failure_run *r, uint32_t node, int64_t mean_ns)
{
	double dt = rng_exponential(&r->rng[node], (double)mean_ns);
	return dt < 4e18 ? llround(dt) + 1 : INT64_C(4000000000000000000);
}

struct failure_run *failure_run_new(const struct failures *f, const struct cluster *c, uint64_t seed, uint64_t replication)
{
	struct failure_run *r = mem_zalloc(1, sizeof *r);
	r->f = f;
	if (!f->mtbf)
		return r;
	r->heap = mem_alloc(c->n_nodes * sizeof *r->heap);
	r->rng = mem_alloc(c->n_nodes * sizeof *r->rng);
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		rng_init(&r->rng[i], seed, "failures", replication << 32 | i);
		if (may_fail(f, &c->node[i]))
			r->heap[r->n++] = (struct change){ draw(r, i, f->mtbf), i, true };
	}
	for (uint32_t i = r->n / 2; i-- > 0;)
		change_down(NULL, r->heap, r->n, i, r->heap[i]);
	return r;
}

void failure_run_free(struct failure_run *r)
{
	if (!r)
		return;
	mem_free(r->heap);
	mem_free(r->rng);
	mem_free(r);
}

bool failure_run_next(struct failure_run *r, int64_t *t_ns, uint32_t *node, bool *fails)
{
	struct change x;
	if (r->f->mtbf && !r->n)
		return false;
	if (r->f->mtbf) {
		x = r->heap[0];
		int64_t next = num_add_sat(x.t, draw(r, x.node, x.fails ? r->f->mttr : r->f->mtbf));
		change_down(NULL, r->heap, r->n, 0, (struct change){ next, x.node, !x.fails });
	} else if (r->at < r->f->n) {
		x = r->f->change[r->at++];
	} else {
		return false;
	}
	*t_ns = x.t;
	*node = x.node;
	*fails = x.fails;
	return true;
}
