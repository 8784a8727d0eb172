/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_capacity.c - compares lent nodes with a model that recomputes tenants, events and costs of all nodes from the rows; also tests
 * closed nodes of a pool
 */
#include "tests/tap.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "cluster/capacity.h"
#include "cluster/capacity_rows.h"
#include "cluster/pool.h"
#include "engine/engine.h"
#include "base/rng.h"

#include <stdlib.h>
#include <unistd.h>

enum { MOST = 4000, ZONES = 3, NODES = 7 };
static struct orr_error err;

/* ---- the rows of a round, and the model ---- */

struct row {
	int64_t t;
	int what, who; /* what: 0 adds, 1 removes the instance `who`, 2 changes a price */
	int zone;      /* 0: none */
	int64_t price; /* price, 1e-9 USD/h; -1: none */
};
struct tenant {
	int zone, node;
	int64_t from, to, price;
};
struct told {
	int64_t t;
	int node, what;
	int64_t price;       /* expected price of the node, 1e-9 USD/h */
	double usd_per_hour; /* the module's */
};
static struct row row[MOST];
static struct tenant tenant[MOST];
static struct told want[4 * MOST], got[4 * MOST];
static int rows, tenants, n_want, n_got;
static struct rng rng;

static int draw(int below)
{
	return (int)rng_below(&rng, (uint64_t)below);
}

/* Draws the rows of a round. Rows are at whole seconds; starts and notices lie between whole seconds, so the order of events is
 * unique. */
static void draw_rows(void)
{
	int live[MOST], n = 0;
	int64_t t = 0;
	rows = tenants = 0;
	for (int i = 0; i < 300; i++) {
		struct row *r = &row[rows++];
		t += draw(3) ? draw(200) * INT64_C(1000000000) : 0;
		*r = (struct row){ .t = t,
			.what = draw(10) ? draw(2) : 2,
			.zone = draw(ZONES + 1),
			.price = draw(4)   ? -1
				 : draw(4) ? draw(5000) * INT64_C(1000000)
					   : 0 };
		if (r->what == 1 && !n)
			r->what = 0;
		if (r->what == 2) {
			r->price = draw(5000) * INT64_C(1000000);
		} else if (r->what == 1) {
			int k = draw(n);
			r->who = live[k];
			live[k] = live[--n];
		} else {
			r->who = tenants;
			live[n++] = tenants;
			tenant[tenants++] = (struct tenant){ .zone = r->zone, .node = -1, .from = -1, .to = INT64_MAX, .price = r->price };
		}
	}
}

static struct availset *load_rows(void)
{
	char path[] = "/tmp/orrery-capacity.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NULL;
	fputs("time_s,event,node,zone,price\n", f);
	for (int i = 0; i < rows; i++) {
		const struct row *r = &row[i];
		fprintf(f, "%lld,%s,", (long long)(r->t / 1000000000), r->what == 0 ? "add" : r->what == 1 ? "remove" : "price");
		if (r->what < 2)
			fprintf(f, "i%d", r->who);
		fputc(',', f);
		if (r->zone && r->what != 1)
			fprintf(f, "z%d", r->zone);
		if (r->price >= 0 && r->what != 1)
			fprintf(f, ",%.9f\n", (double)r->price / 1e9);
		else
			fputs(",\n", f);
	}
	fclose(f);
	struct availset *s = availset_load(path, "availability", NULL, 1, &err);
	unlink(path);
	return s;
}

static int free_node(const bool *is_taken)
{
	int node = 0;
	while (node < NODES && is_taken[node])
		node++;
	return node < NODES ? node : -1;
}

/* Computes which instance holds each node, and when, row by row. */
static void settle_nodes(void)
{
	bool is_taken[NODES] = { false }, is_here[MOST] = { false };
	for (int i = 0; i < rows; i++) {
		struct tenant *x = &tenant[row[i].who];
		if (row[i].what == 2)
			continue;
		is_here[row[i].who] = !row[i].what;
		if (row[i].what == 1) {
			x->to = row[i].t;
			if (x->node >= 0)
				is_taken[x->node] = false;
		}
		for (int k = 0, node; k < tenants && (node = free_node(is_taken)) >= 0; k++)
			if (is_here[k] && tenant[k].from < 0) {
				tenant[k].node = node;
				tenant[k].from = row[i].t;
				is_taken[node] = true;
			}
	}
}

/* Returns the price just after t of an instance whose row has no price. */
static int64_t price_at(int zone, int64_t t, int64_t start)
{
	int64_t price = start;
	for (int i = 0; i < rows && row[i].t <= t; i++)
		if (row[i].what == 2 && (!row[i].zone || row[i].zone == zone))
			price = row[i].price;
	return price;
}

static void expect(int64_t t, const struct tenant *x, int what)
{
	want[n_want++] = (struct told){
		.t = t, .node = x->node, .what = what, .price = x->price >= 0 ? x->price : price_at(x->zone, t, 1500000000)
	};
}

/* Without a start-up time, an instance that is added and removed at the same instant has been up. An instance that is removed at time
 * 0 gets no notice. */
static void expect_tenant(const struct tenant *x, int64_t startup, int64_t notice, int64_t end)
{
	int64_t up = x->from + startup, known = notice && x->to && x->to < INT64_MAX ? x->to - notice : INT64_MAX;
	if (x->from < 0 || (startup ? up >= x->to : up > x->to) || up > end)
		return;
	expect(up, x, CAPACITY_UP);
	if (known < x->to && (known > up ? known : up) <= end)
		expect(known > up ? known : up, x, CAPACITY_NOTICE);
	if (x->to <= end)
		expect(x->to, x, CAPACITY_DOWN);
}

static timeline_sum cost(const struct tenant *x, int64_t from, int64_t to, int64_t start)
{
	timeline_sum sum = 0;
	for (int64_t t = from; t < to;) {
		int64_t next = to;
		for (int i = 0; i < rows; i++)
			if (row[i].what == 2 && row[i].t > t && row[i].t < next)
				next = row[i].t;
		sum += (timeline_sum)(uint64_t)(x->price >= 0 ? x->price : price_at(x->zone, t, start)) * (uint64_t)(next - t);
		t = next;
	}
	return sum;
}

/* ---- the module ---- */

struct host {
	struct engine *engine;
	struct capacity *capacity;
	int64_t paid_from[NODES];
	timeline_sum reading[NODES], by_readings;
};

static void on_tell(void *ctx, uint32_t node, enum capacity_event what)
{
	struct host *h = ctx;
	if (what == CAPACITY_PRICE)
		return;
	if (what == CAPACITY_UP)
		h->reading[node] = capacity_reading(h->capacity, node);
	if (what == CAPACITY_DOWN)
		h->by_readings += capacity_reading(h->capacity, node) - h->reading[node];
	got[n_got++] = (struct told){
		.t = eng_now(h->engine), .node = (int)node, .what = (int)what, .usd_per_hour = capacity_usd_per_hour(h->capacity, node)
	};
}

static int by_time(const void *a, const void *b)
{
	const struct told *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->what - y->what;
}

static void on_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)subject, (void)arg;
	*(bool *)ctx = true;
}

static bool same_events(void)
{
	qsort(got, (size_t)n_got, sizeof *got, by_time);
	qsort(want, (size_t)n_want, sizeof *want, by_time);
	for (int i = 0; i < n_got && i < n_want; i++)
		if (by_time(&got[i], &want[i])) {
			printf("# got %lld n%d %d, want %lld n%d %d\n", (long long)got[i].t, got[i].node, got[i].what, (long long)want[i].t,
				want[i].node, want[i].what);
			return false;
		}
	/* Events at whole seconds are skipped: there the order of price rows among other events differs from that of the model. */
	for (int i = 0; i < n_got; i++)
		if (n_got == n_want && got[i].t % 1000000000 && got[i].usd_per_hour != (double)want[i].price / 1e9) {
			printf("# got %.17g USD/h, want %.17g\n", got[i].usd_per_hour, (double)want[i].price / 1e9);
			return false;
		}
	return n_got == n_want;
}

static bool round_is_good(const struct cluster *cluster, int round)
{
	static const int64_t startups[] = { 0, 45500000001 }, notices[] = { 0, 30200000003, 500000000000 };
	struct capacity_config config = { .startup_ns = startups[round % 2], .notice_ns = notices[round / 2 % 3], .usd_per_hour = 1.5 };
	struct host h = { .engine = eng_new() };
	struct capacity_host host = { h.engine, 1, on_tell, &h };
	struct capacity_bill bill;
	draw_rows();
	settle_nodes();
	int64_t end = row[rows - 1].t + 100500000000;
	struct availset *set = load_rows();
	if (!set)
		printf("# %s\n", err.text);
	config.set = set;
	n_got = n_want = 0;
	capacity_new(&config, cluster, &host, &h.capacity);
	bool is_over = false;
	eng_at(h.engine, end, 200, on_end, &is_over, 0, 0);
	while (!is_over && eng_step(h.engine))
		;
	capacity_bill(h.capacity, &bill);
	timeline_sum node_ns = 0, amount = 0, starting = 0, ups = 0;
	uint64_t unused = 0;
	for (int i = 0; i < tenants; i++) {
		const struct tenant *x = &tenant[i];
		int64_t to = x->to < end ? x->to : end, up = x->from + config.startup_ns < to ? x->from + config.startup_ns : to;
		unused += x->from < 0;
		expect_tenant(x, config.startup_ns, config.notice_ns, end);
		if (x->from < 0)
			continue;
		node_ns += (uint64_t)(to - x->from);
		starting += (uint64_t)(up - x->from);
		amount += cost(x, x->from, to, 1500000000);
		ups += x->to <= end ? cost(x, up, to, 1500000000) : 0;
	}
	bool is_good = same_events() && bill.all.ns == node_ns && bill.all.amount == amount && bill.starting.ns == starting &&
		       h.by_readings == ups && bill.unused == unused && bill.offered == (uint64_t)tenants && !capacity_pending(h.capacity);
	capacity_free(h.capacity);
	availset_free(set);
	eng_free(h.engine);
	return is_good;
}

static void against_model(void)
{
	struct cluster *cluster = cluster_load("4x1:v100,3x4:t4", &err);
	int good = 0, n = getenv("ORR_SANITIZED") ? 30 : 300;
	rng_init(&rng, 11, "capacity", 0);
	for (int i = 0; i < n; i++)
		good += round_is_good(cluster, i);
	ok(good == n, "events, prices, node-time and amounts of random traces are those of the model, in whole numbers (%d of %d)", good,
		n);
	cluster_free(cluster);
}

/* ---- repeated rows ---- */

/* Rounds begin at the time of the last row. The instances added at time 0 of a round replace the live instances, oldest first.
 * Expected values are computed by hand. */
static void repeated_rows(void)
{
	static const struct {
		const char *rows, *want, *why;
		bool repeats;
	} cases[] = { { "0,add,a\n10,add,b\n20,add,c\n", "0+0 10+1 20+2", "rows read once", false },
		{ "0,add,a\n0,add,b\n10,remove,a\n20,remove,b\n", "0+0 0+1 10-0 20-1 20+2 20+3 30-2 40-3 40+4",
			"repeated set: no instance is live at the end of a round", true },
		{ "0,add,a\n0,add,b\n10,add,c\n20,remove,a\n", "0+0 0+1 10+2 20-0 30+3 40-1 50+4 60-2 70+5",
			"repeated set: as many instances are live as the next round adds at time 0", true },
		{ "0,add,a\n10,add,b\n20,add,c\n", "0+0 10+1 20+2 20-1 20-2 30+3 40+4 40-3 40-4",
			"repeated set: more instances are live than the next round adds at time 0", true },
		{ "5,add,a\n20,remove,a\n", "5+0 20-0 25+1 40-1 45+2 60-2 65+3 80-3 85+4", "repeated set: no instance is added at time 0",
			true } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[] = "/tmp/orrery-capacity.XXXXXX";
		int fd = mkstemp(path);
		FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
		if (!f)
			return;
		fprintf(f, "time_s,event,node\n%s", cases[i].rows);
		fclose(f);
		struct availset *set = availset_load(path, "availability", NULL, 1, &err);
		unlink(path);
		struct capacity_rows r;
		struct avail_rec x;
		struct sbuf b = { 0 };
		capacity_rows_open(&r, set, cases[i].repeats, 0);
		for (int k = 0; k < 9 && capacity_rows_next(&r, &x); k++)
			sbuf_printf(&b, "%s%lld%c%u", k ? " " : "", (long long)(x.t_ns / 1000000000), x.kind == AVAIL_ADD ? '+' : '-',
				x.instance);
		same_text(sbuf_text(&b), cases[i].want, cases[i].why);
		sbuf_free(&b);
		capacity_rows_close(&r);
		availset_free(set);
	}
}

/* ---- closed nodes ---- */

static void closed(void)
{
	struct cluster *c = cluster_load("2x4:v100", &err);
	for (int i = 0; placements[i]; i++) {
		struct pool *p = pool_new(c, placements[i]);
		struct pool_request one = { 1, 1000, 0, 0, 1 }, four = { 4, 1000, 0, 0, 1 }, five = { 5, 1000, 0, 0, 1 },
				    half = { 1, 500, 0, 0, 1 };
		struct pool_alloc a, b;
		const uint32_t node = 0, gpus = 1;
		bool is_good = !pool_take_at(p, &one, &node, &gpus, 1, &a);
		pool_node_close(p, 0);
		const struct pool_alloc *held[2] = { &a, &b };
		is_good = is_good && !pool_check(p, held, 1) && p->free_gpus == 4 && p->total_gpus == 8 && pool_fits(p, &four) &&
			  !pool_fits(p, &five);
		struct pool_alloc *given = &a;
		is_good = is_good && !pool_fits_without(p, &five, &given, 1) && pool_take_at(p, &one, &node, &gpus, 1, &b);
		is_good = is_good && pool_take(p, &half, &b) && pool_pieces(&b)->node == 1 && !pool_check(p, held, 2);
		pool_give(p, &a);
		is_good = is_good && p->free_gpus == 3;
		pool_node_down(p, 0);
		pool_node_up(p, 0);
		held[0] = &b;
		is_good = is_good && p->free_gpus == 7 && !pool_check(p, held, 1);
		ok(is_good, "nothing is placed on a closed node, and it is open again when it comes back (%s)", placements[i]->name);
		pool_give(p, &b);
		pool_free(p);
	}
	cluster_free(c);
}

static void parts(void)
{
	static const struct {
		const char *spec;
		uint32_t parts;
	} cases[] = { { "4x1", 1 }, { "2x8,3x4,1x1", 8 }, { "1x6,1x4", 12 }, { "1x4,1x0:cpus=8", 0 }, { "1x997,1x991,1x983", 0 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cluster *c = cluster_load(cases[i].spec, &err);
		ok(capacity_parts(c, &err) == cases[i].parts, "%s: %u parts", cases[i].spec, cases[i].parts);
		cluster_free(c);
	}
}

int main(void)
{
	parts();
	closed();
	repeated_rows();
	against_model();
	return done();
}
