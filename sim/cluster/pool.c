/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/pool.h"

#include "base/mem.h"
#include "cluster/placement.h"

#include <string.h>

/* ---- bookkeeping of one node ---- */

static void unindex(struct pool *p, uint32_t n)
{
	const struct cluster_node *c = &p->cluster->node[n];
	const struct pool_node *s = &p->node[n];
	if (c->type == CLUSTER_NO_TYPE)
		return;
	p->idle_gpus -= s->free_gpus == c->gpus ? c->gpus : 0;
	if (s->is_closed)
		return;
	bitset_remove(pool_bucket(p, c->type, s->free_gpus), n);
	if (s->free_gpus)
		bitset_remove(&p->any_free[c->type], n);
	if (s->open)
		bitset_remove(&p->any_open[c->type], n);
	p->free[c->type] -= s->free_gpus;
	p->free_gpus -= s->free_gpus;
	p->rack_free[c->rack * p->cluster->n_types + c->type] -= s->free_gpus;
}

static void index_again(struct pool *p, uint32_t n)
{
	const struct cluster_node *c = &p->cluster->node[n];
	struct pool_node *s = &p->node[n];
	s->version++;
	if (c->type == CLUSTER_NO_TYPE)
		return;
	p->idle_gpus += s->free_gpus == c->gpus ? c->gpus : 0;
	if (s->is_closed)
		return;
	bitset_add(pool_bucket(p, c->type, s->free_gpus), n);
	if (s->free_gpus)
		bitset_add(&p->any_free[c->type], n);
	if (s->open)
		bitset_add(&p->any_open[c->type], n);
	p->free[c->type] += s->free_gpus;
	p->free_gpus += s->free_gpus;
	p->rack_free[c->rack * p->cluster->n_types + c->type] += s->free_gpus;
}

/* Changes the number of whole free GPUs of a node, as unindex(), the change and index_again() do. */
static void set_free(struct pool *p, uint32_t n, uint32_t free)
{
	const struct cluster_node *c = &p->cluster->node[n];
	struct pool_node *s = &p->node[n];
	uint32_t was = s->free_gpus, more = free - was; /* modulo 2^32 */
	s->free_gpus = free;
	s->version++;
	if (c->type == CLUSTER_NO_TYPE || !more)
		return;
	if (was == c->gpus)
		p->idle_gpus -= c->gpus;
	else if (free == c->gpus)
		p->idle_gpus += c->gpus;
	if (s->is_closed)
		return;
	bitset_remove(pool_bucket(p, c->type, was), n);
	bitset_add(pool_bucket(p, c->type, free), n);
	if (!was)
		bitset_add(&p->any_free[c->type], n);
	else if (!free)
		bitset_remove(&p->any_free[c->type], n);
	p->free[c->type] += more;
	p->free_gpus += more;
	p->rack_free[c->rack * p->cluster->n_types + c->type] += more;
}

int64_t pool_part(int64_t whole, uint32_t gpus, uint32_t of)
{
	__extension__ typedef __int128 wide;
	return of == gpus ? whole : (int64_t)((wide)whole * gpus / of);
}

bool pool_node_has_room(const struct pool *p, uint32_t node, const struct pool_request *r, uint32_t gpus)
{
	const struct pool_node *s = &p->node[node];
	return s->is_up && !s->is_closed && s->free_gpus >= gpus && s->cpu_free >= pool_part(r->cpu_milli, gpus, r->gpus) &&
	       s->mem_free >= pool_part(r->mem_mib, gpus, r->gpus);
}

uint32_t pool_best_slot(const struct pool *p, uint32_t node, uint32_t milli)
{
	const struct pool_node *s = &p->node[node];
	uint32_t best = s->free_gpus ? (uint32_t)POOL_WHOLE : (uint32_t)POOL_NO_SLOT;
	uint32_t best_used = 0;
	if (!s->open)
		return best;
	const uint16_t *used = p->slot_milli + p->slot_base[node];
	for (uint32_t i = 0; i < p->cluster->node[node].gpus; i++)
		if (used[i] && used[i] + milli <= 1000 && used[i] > best_used) {
			best = i;
			best_used = used[i];
		}
	return best;
}

/* Allocates (sign -1) or releases (sign +1) a part of a GPU. */
static void move_part(struct pool *p, const struct pool_piece *x, int sign)
{
	struct pool_node *s = &p->node[x->node];
	uint16_t *used = p->slot_milli + p->slot_base[x->node] + x->slot;
	bool was_open = *used != 0;
	unindex(p, x->node);
	*used = (uint16_t)(sign < 0 ? *used + x->milli : *used - x->milli);
	if (!was_open) {
		s->open++;
		s->free_gpus--;
	} else if (!*used) {
		s->open--;
		s->free_gpus++;
	}
	index_again(p, x->node);
}

/* Allocates (sign -1) or releases (sign +1) a piece: GPUs with their share of CPU and memory. */
static inline void move_piece(struct pool *p, const struct pool_alloc *a, const struct pool_piece *x, int sign)
{
	struct pool_node *s = &p->node[x->node];
	if (a->is_beside) /* CPUs and memory only */
		s->version++;
	else if (x->slot == POOL_WHOLE)
		set_free(p, x->node, sign < 0 ? s->free_gpus - x->gpus : s->free_gpus + x->gpus);
	else
		move_part(p, x, sign);
	if (!p->placement->ignores_nodes) {
		if (s->cpu_free != INT64_MAX)
			s->cpu_free += sign * pool_part(a->cpu_milli, x->gpus, a->gpus);
		if (s->mem_free != INT64_MAX)
			s->mem_free += sign * pool_part(a->mem_mib, x->gpus, a->gpus);
	}
}

static void move_all(struct pool *p, const struct pool_alloc *a, int sign)
{
	const struct pool_piece *x = pool_pieces(a);
	int64_t milli = 0;
	p->changes++;
	for (uint32_t i = 0; i < a->n; i++) {
		move_piece(p, a, &x[i], sign);
		milli += a->is_beside ? 0 : x[i].slot == POOL_WHOLE ? 1000 * (int64_t)x[i].gpus : x[i].milli;
	}
	p->used_milli -= sign * milli;
	if (milli)
		p->used_of[a->type] -= sign * milli;
	if (p->cpu_free != INT64_MAX)
		p->cpu_free += sign * a->cpu_milli;
	if (p->mem_free != INT64_MAX)
		p->mem_free += sign * a->mem_mib;
}

/* ---- arrays of pieces ---- */

static int list_of(uint32_t n)
{
	int list = 1;
	while ((1u << list) < n)
		list++;
	return list;
}

static struct pool_piece *pieces_new(struct pool *p, uint32_t n)
{
	int list = list_of(n);
	void *head = p->free_lists[list];
	if (!head)
		return mem_alloc(sizeof(struct pool_piece) << list);
	memcpy(&p->free_lists[list], head, sizeof(void *));
	return head;
}

static void pieces_free(struct pool *p, struct pool_piece *v, uint32_t n)
{
	int list = list_of(n);
	memcpy(v, &p->free_lists[list], sizeof(void *));
	p->free_lists[list] = v;
}

void pool_put_piece(struct pool *p, uint32_t node, uint32_t gpus, uint32_t slot, uint32_t milli)
{
	MEM_GROW(p->scratch, p->n_scratch, p->scratch_cap);
	p->scratch[p->n_scratch++] = (struct pool_piece){ node, gpus, slot, milli };
}

/* ---- making and freeing ---- */

static void make_sets(struct pool *p)
{
	const struct cluster *c = p->cluster;
	size_t buckets = (size_t)c->n_types * (c->max_node_gpus + 1);
	p->bucket = mem_zalloc(buckets, sizeof *p->bucket);
	for (size_t i = 0; i < buckets; i++)
		bitset_init(&p->bucket[i], c->n_nodes);
	p->any_free = mem_zalloc(c->n_types, sizeof *p->any_free);
	p->any_open = mem_zalloc(c->n_types, sizeof *p->any_open);
	for (uint32_t t = 0; t < c->n_types; t++) {
		bitset_init(&p->any_free[t], c->n_nodes);
		bitset_init(&p->any_open[t], c->n_nodes);
	}
	p->rack_free = mem_zalloc((size_t)c->n_racks * (c->n_types ? c->n_types : 1), sizeof *p->rack_free);
}

struct pool *pool_new(const struct cluster *c, const struct placement *pl)
{
	struct pool *p = mem_zalloc(1, sizeof *p);
	p->cluster = c;
	p->placement = pl;
	p->node = mem_zalloc(c->n_nodes, sizeof *p->node);
	p->slot_base = mem_zalloc(c->n_nodes, sizeof *p->slot_base);
	p->slot_milli = mem_zalloc(c->gpus, sizeof *p->slot_milli);
	make_sets(p);
	uint32_t base = 0;
	for (uint32_t n = 0; n < c->n_nodes; n++) {
		p->slot_base[n] = base;
		base += c->node[n].gpus;
		if (c->node[n].gpus && c->node[n].gpus > p->widest[c->node[n].type])
			p->widest[c->node[n].type] = c->node[n].gpus;
		pool_node_up(p, n);
	}
	return p;
}

static void free_sets(struct bitset *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bitset_free(&b[i]);
	mem_free(b);
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < sizeof p->free_lists / sizeof *p->free_lists; i++)
		while (p->free_lists[i]) {
			void *v = p->free_lists[i];
			memcpy(&p->free_lists[i], v, sizeof(void *));
			mem_free(v);
		}
	free_sets(p->bucket, (size_t)p->cluster->n_types * (p->cluster->max_node_gpus + 1));
	free_sets(p->any_free, p->cluster->n_types);
	free_sets(p->any_open, p->cluster->n_types);
	mem_free(p->fgd);
	mem_free(p->mix.shape);
	mem_free(p->mix.share);
	mem_free(p->rack_free);
	mem_free(p->slot_milli);
	mem_free(p->slot_base);
	mem_free(p->scratch);
	mem_free(p->node);
	mem_free(p);
}

void pool_set_mix(struct pool *p, const struct pool_mix *mix)
{
	p->mix.n = mix->n;
	p->mix.shape = mem_alloc(mix->n * sizeof *mix->shape);
	p->mix.share = mem_alloc(mix->n * sizeof *mix->share);
	memcpy(p->mix.shape, mix->shape, mix->n * sizeof *mix->shape);
	memcpy(p->mix.share, mix->share, mix->n * sizeof *mix->share);
}

/* ---- nodes that go down and come up ---- */

static void add_sat(int64_t *sum, int64_t v, int sign)
{
	if (v < 0)
		*sum = INT64_MAX;
	else if (*sum != INT64_MAX)
		*sum += sign * v;
}

void pool_node_up(struct pool *p, uint32_t n)
{
	const struct cluster_node *c = &p->cluster->node[n];
	struct pool_node *s = &p->node[n];
	if (s->is_up)
		return;
	p->changes++;
	s->is_up = true;
	s->free_gpus = c->gpus;
	s->cpu_free = c->cpu_milli < 0 ? INT64_MAX : c->cpu_milli;
	s->mem_free = c->mem_mib < 0 ? INT64_MAX : c->mem_mib;
	add_sat(&p->cpu_free, c->cpu_milli, 1);
	add_sat(&p->mem_free, c->mem_mib, 1);
	p->total_gpus += c->gpus;
	if (c->gpus)
		p->total[c->type] += c->gpus;
	index_again(p, n);
}

void pool_node_down(struct pool *p, uint32_t n)
{
	const struct cluster_node *c = &p->cluster->node[n];
	struct pool_node *s = &p->node[n];
	if (!s->is_up)
		return;
	p->changes++;
	unindex(p, n);
	s->is_up = s->is_closed = false;
	s->free_gpus = 0;
	s->cpu_free = s->mem_free = 0;
	s->version++;
	add_sat(&p->cpu_free, c->cpu_milli, -1);
	add_sat(&p->mem_free, c->mem_mib, -1);
	p->total_gpus -= c->gpus;
	if (c->gpus)
		p->total[c->type] -= c->gpus;
}

void pool_node_close(struct pool *p, uint32_t n)
{
	struct pool_node *s = &p->node[n];
	if (!s->is_up || s->is_closed)
		return;
	p->changes++;
	unindex(p, n);
	s->is_closed = true;
	index_again(p, n);
}

/* ---- placing ---- */

static bool place_without_gpus(struct pool *p, const struct placement *rule, const struct pool_request *r)
{
	uint32_t best = UINT32_MAX;
	for (uint32_t n = 0; n < p->cluster->n_nodes; n++) {
		const struct pool_node *s = &p->node[n];
		bool is_open = s->is_up && !s->is_closed;
		bool fits = rule->ignores_nodes ? is_open : is_open && s->cpu_free >= r->cpu_milli && s->mem_free >= r->mem_mib;
		/* Order: nodes without GPUs first, then by remaining CPU, least first. */
		if (fits && (best == UINT32_MAX || p->cluster->node[n].gpus < p->cluster->node[best].gpus ||
				    (p->cluster->node[n].gpus == p->cluster->node[best].gpus && s->cpu_free < p->node[best].cpu_free)))
			best = n;
	}
	if (best == UINT32_MAX)
		return false;
	pool_put_piece(p, best, 0, POOL_WHOLE, 0);
	return true;
}

static bool place_by(struct pool *p, const struct placement *rule, const struct pool_request *r, uint32_t *type)
{
	p->n_scratch = 0;
	*type = CLUSTER_NO_TYPE;
	if (r->cpu_milli > p->cpu_free || r->mem_mib > p->mem_free)
		return false;
	if (!r->gpus)
		return place_without_gpus(p, rule, r);
	if (rule->spans_types_by_score) {
		if (!rule->place(p, r, CLUSTER_NO_TYPE))
			return false;
		*type = p->cluster->node[p->scratch[0].node].type;
		return true;
	}
	for (uint64_t m = r->types; m; m &= m - 1) {
		uint32_t t = (uint32_t)__builtin_ctzll(m);
		if (t >= p->cluster->n_types)
			break;
		p->n_scratch = 0;
		if (rule->place(p, r, t)) {
			*type = t;
			return true;
		}
	}
	return false;
}

static bool is_same_piece(const struct pool_piece *a, const struct pool_piece *b)
{
	return a->node == b->node && a->gpus == b->gpus && a->slot == b->slot && a->milli == b->milli;
}

/* Places the request by the other rule and records whether the choices differ; p->scratch keeps the first one. `count` does not track the
 * CPUs and memory of nodes. */
static void compare(struct pool *p, const struct pool_request *r, bool fits, uint32_t type)
{
	uint32_t n = p->n_scratch, other_type;
	struct pool_piece *chosen = mem_alloc((n + 1) * sizeof *chosen);
	if (n)
		memcpy(chosen, p->scratch, n * sizeof *chosen);
	bool is_known = !p->placement->ignores_nodes || !(r->cpu_milli || r->mem_mib);
	bool is_same = is_known && place_by(p, p->other, r, &other_type) == fits && (!fits || (p->n_scratch == n && other_type == type));
	for (uint32_t i = 0; is_same && fits && i < n; i++)
		is_same = is_same_piece(&chosen[i], &p->scratch[i]);
	p->has_differed |= !is_same;
	p->n_scratch = 0;
	for (uint32_t i = 0; i < n; i++)
		pool_put_piece(p, chosen[i].node, chosen[i].gpus, chosen[i].slot, chosen[i].milli);
	mem_free(chosen);
}

/* Fills p->scratch; *type is the chosen GPU type. */
static bool place(struct pool *p, const struct pool_request *r, uint32_t *type)
{
	bool is_compared = p->other && !p->has_differed;
	if (!is_compared && r->gpu_milli == 1000 && r->gpus > p->free_gpus)
		return false;
	bool fits = place_by(p, p->placement, r, type);
	if (is_compared)
		compare(p, r, fits, *type);
	return fits;
}

void pool_compare(struct pool *p, const struct placement *other)
{
	p->other = other;
}

bool pool_has_differed(const struct pool *p)
{
	return !p->other || p->has_differed;
}

/* Finds a free slot number for each shared GPU to open. */
static void open_slots(struct pool *p)
{
	for (uint32_t i = 0; i < p->n_scratch; i++) {
		struct pool_piece *x = &p->scratch[i];
		if (!x->milli || x->slot != POOL_WHOLE)
			continue;
		const uint16_t *used = p->slot_milli + p->slot_base[x->node];
		x->slot = 0;
		while (used[x->slot])
			x->slot++;
	}
}

static void commit(struct pool *p, const struct pool_request *r, uint32_t type, struct pool_alloc *out)
{
	open_slots(p);
	*out = (struct pool_alloc){ .n = p->n_scratch, .type = type, .cpu_milli = r->cpu_milli, .mem_mib = r->mem_mib, .gpus = r->gpus };
	if (out->n == 1) {
		out->one = p->scratch[0];
	} else {
		out->many = pieces_new(p, out->n);
		memcpy(out->many, p->scratch, out->n * sizeof *out->many);
	}
	move_all(p, out, -1);
}

bool pool_fits(struct pool *p, const struct pool_request *r)
{
	uint32_t type;
	return place(p, r, &type);
}

void pool_lift(struct pool *p, struct pool_alloc *const *given, size_t n)
{
	for (size_t i = 0; i < n; i++)
		move_all(p, given[i], 1);
}

void pool_put_back(struct pool *p, struct pool_alloc *const *given, size_t n)
{
	for (size_t i = n; i-- > 0;)
		move_all(p, given[i], -1);
}

bool pool_fits_without(struct pool *p, const struct pool_request *r, struct pool_alloc *const *given, size_t n)
{
	pool_lift(p, given, n);
	bool fits = pool_fits(p, r);
	pool_put_back(p, given, n);
	return fits;
}

bool pool_take(struct pool *p, const struct pool_request *r, struct pool_alloc *out)
{
	uint32_t type;
	if (!place(p, r, &type))
		return false;
	commit(p, r, type, out);
	return true;
}

static const char GPUS_IN_USE[] = "over-allocation: the requested GPUs are in use: expected free GPUs";
static const char OTHERS_IN_USE[] = "over-allocation: the CPUs or memory that the job needs are in use: expected free ones";

bool pool_is_lack(const char *wrong)
{
	return wrong == GPUS_IN_USE || wrong == OTHERS_IN_USE;
}

const char *pool_take_at(
	struct pool *p, const struct pool_request *r, const uint32_t *node, const uint32_t *gpus, size_t n, struct pool_alloc *out)
{
	uint32_t sum = 0, type = CLUSTER_NO_TYPE;
	p->n_scratch = 0;
	if (r->gpu_milli < 1000)
		return "the job shares a GPU: expected orr_try_start() for such a job";
	if (!r->gpus && n != 1)
		return "the job has no GPUs: expected one node";
	for (size_t i = 0; i < n; i++) {
		if (node[i] >= p->cluster->n_nodes)
			return "the node number is out of range: expected a node of the cluster";
		const struct cluster_node *c = &p->cluster->node[node[i]];
		if (!gpus[i] && r->gpus)
			return "zero GPUs of a node were requested: expected at least 1";
		if (!p->node[node[i]].is_up)
			return "a node that is down was requested: expected a node that is up";
		if (p->node[node[i]].is_closed)
			return "a node that was given notice was requested: expected a node without notice";
		for (size_t k = 0; k < i; k++)
			if (node[k] == node[i])
				return "a node is named twice: expected each node once";
		if (p->node[node[i]].free_gpus < gpus[i])
			return GPUS_IN_USE;
		if (c->type != CLUSTER_NO_TYPE && gpus[i] && !(r->types >> c->type & 1))
			return "the job may not run on that type of GPU: expected a type that the job allows";
		if (gpus[i] && type != CLUSTER_NO_TYPE && c->type != type)
			return "a job cannot span types of GPU: expected GPUs of one type";
		if (gpus[i])
			type = c->type;
		sum += gpus[i];
		if (!p->placement->ignores_nodes && !pool_node_has_room(p, node[i], r, gpus[i]))
			return OTHERS_IN_USE;
		pool_put_piece(p, node[i], gpus[i], POOL_WHOLE, 0);
	}
	if (sum != r->gpus || !n)
		return "the sum of the given GPUs differs from the job's request: expected equal numbers";
	if (r->cpu_milli > p->cpu_free || r->mem_mib > p->mem_free)
		return OTHERS_IN_USE;
	commit(p, r, type, out);
	return NULL;
}

static const char *wrong_beside(const struct pool *p, const struct pool_request *r, const struct pool_alloc *with)
{
	const struct pool_piece *x = pool_pieces(with);
	if (!r->gpus || r->gpu_milli < 1000 || r->gpus != with->gpus || x[0].slot != POOL_WHOLE)
		return "jobs share GPUs only with jobs on the same number of whole GPUs";
	if (!(r->types >> with->type & 1))
		return "the job may not run on that type of GPU";
	if (r->cpu_milli > p->cpu_free || r->mem_mib > p->mem_free)
		return "over-allocation: the CPUs or memory that the job needs are in use";
	for (uint32_t i = 0; i < with->n; i++) {
		const struct pool_node *s = &p->node[x[i].node];
		if (s->is_closed)
			return "a node that was given notice was requested";
		if (!p->placement->ignores_nodes && (s->cpu_free < pool_part(r->cpu_milli, x[i].gpus, r->gpus) ||
							    s->mem_free < pool_part(r->mem_mib, x[i].gpus, r->gpus)))
			return "over-allocation: the CPUs or memory that the job needs are in use";
	}
	return NULL;
}

bool pool_fits_beside(const struct pool *p, const struct pool_request *r, const struct pool_alloc *with)
{
	return !wrong_beside(p, r, with);
}

const char *pool_take_beside(struct pool *p, const struct pool_request *r, const struct pool_alloc *with, struct pool_alloc *out)
{
	const char *wrong = wrong_beside(p, r, with);
	if (wrong)
		return wrong;
	*out = *with;
	out->is_beside = true;
	out->cpu_milli = r->cpu_milli;
	out->mem_mib = r->mem_mib;
	if (out->n > 1) {
		out->many = pieces_new(p, out->n);
		memcpy(out->many, with->many, out->n * sizeof *out->many);
	}
	move_all(p, out, -1);
	return NULL;
}

void pool_pass(struct pool_alloc *from, struct pool_alloc *to)
{
	from->is_beside = true;
	to->is_beside = false;
}

void pool_give(struct pool *p, struct pool_alloc *a)
{
	if (!a->n)
		return;
	move_all(p, a, 1);
	if (a->n > 1)
		pieces_free(p, a->many, a->n);
	*a = (struct pool_alloc){ 0 };
}

bool pool_could_ever_fit(const struct cluster *c, const struct placement *pl, const struct pool_request *r)
{
	struct pool *p = pool_new(c, pl);
	bool fits = pool_fits(p, r);
	pool_free(p);
	return fits;
}

/* ---- checking ---- */

struct tally {
	uint32_t gpus;
	int64_t cpu, mem;
};

static const char *check_node(const struct pool *p, uint32_t n, const struct tally *held)
{
	const struct cluster_node *c = &p->cluster->node[n];
	const struct pool_node *s = &p->node[n];
	uint32_t open = 0;
	for (uint32_t i = 0; i < c->gpus; i++) {
		uint16_t used = p->slot_milli[p->slot_base[n] + i];
		open += used != 0;
		if (used > 1000)
			return "a shared GPU is over-allocated";
	}
	if (!s->is_up)
		return held->gpus || open ? "a job holds GPUs of a node that is down" : NULL;
	if (open != s->open || s->free_gpus + held->gpus + open != c->gpus)
		return "free and used GPUs of a node do not sum to its GPUs";
	if (p->placement->ignores_nodes)
		return NULL;
	if (c->cpu_milli >= 0 && (s->cpu_free < 0 || s->cpu_free + held->cpu != c->cpu_milli))
		return "free and used CPUs of a node do not sum to its CPUs";
	if (c->mem_mib >= 0 && (s->mem_free < 0 || s->mem_free + held->mem != c->mem_mib))
		return "free and used memory of a node does not sum to its memory";
	if (c->type != CLUSTER_NO_TYPE && bitset_has(pool_bucket(p, c->type, s->free_gpus), n) == s->is_closed)
		return s->is_closed ? "a closed node is in a bucket" : "a node is not in the bucket of its free GPUs";
	return NULL;
}

const char *pool_check(const struct pool *p, const struct pool_alloc *const *allocs, size_t n)
{
	struct tally *held = mem_zalloc(p->cluster->n_nodes, sizeof *held);
	int64_t milli = 0, of_type = 0;
	for (uint32_t t = 0; t < p->cluster->n_types; t++)
		of_type += p->used_of[t];
	for (size_t i = 0; i < n; i++) {
		const struct pool_piece *x = pool_pieces(allocs[i]);
		for (uint32_t k = 0; k < allocs[i]->n; k++) {
			struct tally *t = &held[x[k].node];
			t->cpu += pool_part(allocs[i]->cpu_milli, x[k].gpus, allocs[i]->gpus);
			t->mem += pool_part(allocs[i]->mem_mib, x[k].gpus, allocs[i]->gpus);
			if (allocs[i]->is_beside)
				continue;
			if (x[k].slot == POOL_WHOLE)
				t->gpus += x[k].gpus;
			milli += x[k].slot == POOL_WHOLE ? 1000 * (int64_t)x[k].gpus : x[k].milli;
		}
	}
	const char *wrong = milli == p->used_milli && milli == of_type ? NULL : "the count of GPUs in use differs from the sum over nodes";
	for (uint32_t i = 0; !wrong && i < p->cluster->n_nodes; i++)
		wrong = check_node(p, i, &held[i]);
	mem_free(held);
	return wrong;
}
