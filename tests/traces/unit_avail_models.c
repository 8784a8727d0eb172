/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_avail_models.c - generators of availability against their processes and Bamboo's published simulator */
#include "tests/tap.h"

#include "traces/avail.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

static struct orr_error err;

static struct availset *load(const char *source, uint64_t seed)
{
	struct availset *s = availset_load(source, NULL, NULL, seed, &err);
	if (!s)
		printf("# %s: %s\n", source, err.text);
	return s;
}

/* Statistics of one run from 0 to end_ns. */
struct run {
	double mean_live, removals, adds, gap_h, life_h, node_h;
	uint32_t most, least;
	bool is_sane;
};

static struct run look(const struct availset *s, uint64_t index, int64_t end_ns)
{
	struct run r = { .is_sane = true, .least = UINT32_MAX };
	int64_t last = 0, first_removal = -1, last_removal = 0;
	uint32_t live = 0, n = 0;
	size_t cap = 0;
	bool *is_there = NULL;
	struct avail_rec row;
	struct availcursor *c = availset_open(s, index);
	while (availcursor_next(c, &row) && row.t_ns < end_ns) {
		r.is_sane = r.is_sane && row.t_ns >= last && row.number == (uint64_t)(r.adds + r.removals);
		r.node_h += live * ((double)(row.t_ns - last) / 3600e9);
		last = row.t_ns;
		live += row.kind == AVAIL_ADD ? 1 : -1u;
		if (row.kind == AVAIL_ADD) {
			MEM_GROW(is_there, n, cap);
			r.is_sane = r.is_sane && row.instance == n;
			is_there[n++] = true;
			r.adds++;
		} else {
			r.is_sane = r.is_sane && row.instance < n && is_there[row.instance];
			is_there[row.instance] = false;
			first_removal = first_removal < 0 ? row.t_ns : first_removal;
			last_removal = row.t_ns;
			r.removals++;
		}
		r.is_sane = r.is_sane && row.live == live;
		r.most = live > r.most ? live : r.most;
		r.least = live < r.least ? live : r.least;
	}
	availcursor_close(c);
	mem_free(is_there);
	r.node_h += live * ((double)(end_ns - last) / 3600e9);
	r.mean_live = r.node_h / ((double)end_ns / 3600e9);
	r.life_h = r.adds > 0 ? r.node_h / r.adds : 0;
	r.gap_h = r.removals > 1 ? (double)(last_removal - first_removal) / 3600e9 / (r.removals - 1) : NAN;
	return r;
}

/* Returns means over runs, and the standard error of the mean live count. */
static struct run mean_of_runs(const struct availset *s, int runs, double hours, double *error)
{
	struct run all = { .is_sane = true };
	double squares = 0;
	int gaps = 0;
	for (int i = 0; i < runs; i++) {
		struct run r = look(s, (uint64_t)i, (int64_t)(hours * 3600e9));
		all.is_sane = all.is_sane && r.is_sane;
		all.most = r.most > all.most ? r.most : all.most;
		all.mean_live += r.mean_live / runs;
		squares += r.mean_live * r.mean_live / runs;
		all.removals += r.removals / runs;
		all.adds += r.adds / runs;
		all.life_h += r.life_h / runs;
		all.node_h += r.node_h / runs;
		if (!isnan(r.gap_h)) {
			all.gap_h += r.gap_h;
			gaps++;
		}
	}
	all.gap_h /= gaps ? gaps : 1;
	*error = sqrt((squares - all.mean_live * all.mean_live) / runs);
	return all;
}

static bool within(double got, double want, double share, const char *what, double p)
{
	bool good = fabs(got - want) <= share * want;
	return ok(good, "hazard p=%g: %s %.4g, published %.4g (within %g %%)", p, what, got, want, share * 100);
}

/*
 * Tests the hazard generator against the simulator of Bamboo's authors (uclasystem/bamboo, 500 seeds): mean nodes, preemptions, hours
 * between preemptions, life of a node. A run of the simulator has 22,194 steps of 264 samples, so its length depends on the seed. Here
 * all runs have the mean length: 22194 x 264 samples over the published samples/s (149.30, 131.98, 83.02). In the simulator runs with
 * few nodes last longer, so the mean live count differs. The tolerance is therefore 3 or 10 % plus four standard errors.
 */
static void hazard(void)
{
	static const struct {
		double p, rate, nodes, preemptions, between_h, life_h;
	} want[] = { { 0.01, 149.30, 43.70, 4.83, 1.775, 9.35 }, { 0.10, 131.98, 40.60, 53.62, 0.230, 5.30 },
		{ 0.50, 83.02, 26.87, 345.78, 0.058, 1.44 } };
	for (size_t i = 0; i < 3; i++) {
		char text[64];
		double error;
		snprintf(text, sizeof text, "hazard:p=%g,length=0", want[i].p);
		struct availset *s = load(text, 1);
		struct run r = mean_of_runs(s, 500, 22194 * 264 / want[i].rate / 3600, &error);
		ok(r.is_sane && r.most <= 48, "hazard p=%g: rows in order, each instance once, at most 48", want[i].p);
		within(r.mean_live, want[i].nodes, 0.03 + 4 * error / want[i].nodes, "mean nodes", want[i].p);
		within(r.removals, want[i].preemptions, 0.10, "preemptions", want[i].p);
		within(r.gap_h, want[i].between_h, 0.10, "hours between", want[i].p);
		within(r.life_h, want[i].life_h, 0.10, "node life h", want[i].p);
		availset_free(s);
	}
}

/* Tests probabilities of 0 and 1, which leave one possible outcome. */
static void hazard_edges(void)
{
	struct availset *s = load("hazard:p=0,a=1,slots=7,length=0", 1);
	struct run r = look(s, 0, 1000 * 3600 * ORR_SECOND);
	ok(r.adds == 7 && r.removals == 0 && r.most == 7, "hazard p=0, a=1: all slots at 0, no removal, and the trace ends");
	availset_free(s);
	s = load("hazard:p=0.3,a=0,length=0", 1);
	r = look(s, 0, 1000 * 3600 * ORR_SECOND);
	ok(r.adds == 0, "hazard a=0: no addition, and the trace ends");
	availset_free(s);
	/* From 15 to 23 h every request fails, and a quarter of the instances is removed each hour. The trace begins at 15 h. */
	s = load("hazard:a=diurnal,hour=3,length=0", 1);
	struct availset *late = load("hazard:a=diurnal,hour=15,length=0", 1);
	r = look(s, 0, 3 * 3600 * ORR_SECOND);
	ok(r.adds > 30, "hazard diurnal: half of all requests succeed from 3 to 6 h (%g)", r.adds);
	r = look(late, 0, 8 * 3600 * ORR_SECOND);
	ok(r.adds == 0, "hazard diurnal: no request succeeds from 15 to 23 h");
	availset_free(s);
	availset_free(late);
	s = load("hazard:length=5h", 1);
	struct avail_rec row = { 0 };
	struct availcursor *c = availset_open(s, 3);
	bool is_whole = true, is_before = true;
	int64_t last = 0;
	while (availcursor_next(c, &row)) {
		is_whole = is_whole && row.t_ns % ORR_SECOND == 0;
		is_before = is_before && row.t_ns < 5 * 3600 * ORR_SECOND;
		last = row.t_ns;
	}
	availcursor_close(c);
	ok(is_whole && is_before && last > 3 * 3600 * ORR_SECOND, "hazard: times are whole seconds below the length");
	availset_free(s);
}

/* Tests alternating renewal: up for a share up / (up + down) of the time, with 1 / (up + down) ends per hour (Cox, Renewal Theory,
 * 1962). */
static void renewal(const char *source, double cv)
{
	double error;
	struct availset *s = load(source, 1);
	struct run r = mean_of_runs(s, 40, 4000, &error);
	uint32_t n;
	availset_zones(s, &n);
	ok(r.is_sane && n == 2 && r.most == 8, "%s: two zones of four", source);
	/* Zone a is up for 3/4 of the time, zone b for half of the time, so 4 x 0.75 + 4 x 0.5 instances are live on average. */
	ok(fabs(r.mean_live - 5) < 4 * error + 0.01, "%s: mean live %.4g, 5 expected", source, r.mean_live);
	/* In 4000 h there are 4000 / 4 + 4000 / 2 removals, with four instances in each zone. The tolerance is 4 standard errors of a
	 * renewal count, plus one removal. */
	double ends = 4000.0 / 4 + 4000.0 / 2, sd = sqrt(ends * fmax(1, cv * cv) / 40);
	ok(fabs(r.removals / 4 - ends) < 4 * sd + 1, "%s: %.5g ends of availability, %g expected", source, r.removals / 4, ends);
	availset_free(s);
}

/* The times of a zone do not depend on other zones. */
static void zones_are_independent(void)
{
	struct availset *one = load("renewal:zones=a,length=0", 4), *two = load("renewal:zones=a|b,length=0", 4);
	struct availcursor *x = availset_open(one, 2), *y = availset_open(two, 2);
	struct avail_rec p, q;
	bool same = true;
	uint32_t n;
	uint32_t a = availset_zones(two, &n)[0];
	for (int i = 0; i < 1000; i++) {
		availcursor_next(x, &p);
		do
			availcursor_next(y, &q);
		while (q.zone != a);
		same = same && p.t_ns == q.t_ns && p.kind == q.kind;
	}
	ok(same, "renewal: adding a zone leaves the other zones unchanged");
	availcursor_close(x);
	availcursor_close(y);
	availset_free(one);
	availset_free(two);
}

/* Tests churn. Each slot is present for 1/rate and absent for the delay on average, with any distribution of the delay. So slots / (1
 * + rate x delay) instances are live; this number times the rate is the number of removals per hour. At time 0 all slots are present;
 * the averages hold after a few hours. */
static void churn(const char *source)
{
	double error;
	struct availset *s = load(source, 1);
	struct run r = mean_of_runs(s, 40, 1000, &error);
	ok(r.is_sane && r.most == 32, "%s: 32 slots", source);
	ok(fabs(r.mean_live - 20) < 4 * error + 0.05, "%s: mean live %.4g, 20 expected", source, r.mean_live);
	ok(fabs(r.removals / r.node_h - 0.3) < 0.3 * 0.02, "%s: %.4g removals per instance and hour, 0.3 expected", source,
		r.removals / r.node_h);
	availset_free(s);
}

/* Checks instants of removal: their number, sizes and zones. */
static void bulk(const char *source, double share_crossing)
{
	struct availset *s = load(source, 1);
	struct availcursor *c = availset_open(s, 0);
	struct avail_rec row;
	uint64_t instants = 0, removals = 0, crossing = 0;
	int64_t last = -1;
	uint32_t zone = 0;
	bool crosses = false;
	while (availcursor_next(c, &row)) {
		if (row.kind != AVAIL_REMOVE)
			continue;
		bool is_new = row.t_ns != last;
		crossing += is_new && crosses;
		crosses = !is_new && (crosses || row.zone != zone);
		zone = is_new ? row.zone : zone;
		instants += is_new;
		removals++;
		last = row.t_ns;
	}
	availcursor_close(c);
	/* One instant per 518 s gives 13,900 in 2000 h. The sizes of the p3 trace have mean 167/79. */
	ok(fabs((double)instants - 2000 * 3600.0 / 518) < 4 * sqrt(13900), "%s: %" PRIu64 " instants, 13900 expected", source, instants);
	ok(fabs((double)removals / (double)instants - 167.0 / 79) < 4 * 1.4 / sqrt(13900), "%s: %.4g removals per instant, 2.114 expected",
		source, (double)removals / (double)instants);
	/* k instances drawn from two zones all belong to one zone with probability about 2^(1-k). */
	ok(fabs((double)crossing / (double)instants - share_crossing) < 0.02, "%s: %.3f of the bulk removals hit both zones, %.3f expected",
		source, (double)crossing / (double)instants, share_crossing);
	availset_free(s);
}

static void price(void)
{
	struct availset *s = load("price:mean=2,sd=0.3,revert=5h,zones=a|b,type=p3,length=40000h", 1);
	struct availcursor *c = availset_open(s, 0);
	struct avail_rec row;
	double sum = 0, logs = 0, squares = 0, products = 0, before[2] = { 0 };
	int n = 0;
	bool good = availset_has_prices(s);
	while (availcursor_next(c, &row)) {
		double x = log(row.usd_per_hour / 2) + 0.3 * 0.3 / 2;
		good = good && row.kind == AVAIL_PRICE && row.instance == AVAIL_NO_INSTANCE && row.live == 0 && row.type && row.zone;
		sum += row.usd_per_hour;
		logs += x;
		squares += x * x;
		if (n > 1)
			products += x * before[n % 2];
		before[n % 2] = x;
		n++;
	}
	availcursor_close(c);
	ok(good && n == 80000, "price: one row per zone and hour, with type and zone");
	/* With k = e^(-1/5), (1+k)/(1-k) = 10: 80,000 correlated values count as 8,000 independent ones. The standard error is 0.003
	 * standard deviations. */
	ok(fabs(sum / n - 2) < 2 * 0.3 * 0.014, "price: mean %.4f, 2 expected", sum / n);
	ok(fabs(sqrt(squares / n) - 0.3) < 0.01 && fabs(logs / n) < 0.005, "price: sd of the logarithm %.4f, 0.3 expected",
		sqrt(squares / n));
	ok(fabs(products / squares - exp(-0.2)) < 0.01, "price: correlation over an hour %.4f, e^(-1/5) expected", products / squares);
	availset_free(s);
	s = load("price:mean=2,sd=1,most=2.5,length=1000h", 1);
	c = availset_open(s, 0);
	double most = 0;
	while (availcursor_next(c, &row))
		most = fmax(most, row.usd_per_hour);
	availcursor_close(c);
	ok(most >= 2.5 && most <= 2.5, "price: the highest price equals most");
	availset_free(s);
}

static uint64_t mark(const char *source, uint64_t seed, uint64_t index)
{
	struct availset *s = load(source, seed);
	struct availcursor *c = availset_open(s, index);
	struct avail_rec r;
	uint64_t h = 14695981039346656037u;
	for (int i = 0; i < 3000 && availcursor_next(c, &r); i++)
		h = (h ^ (uint64_t)r.t_ns ^ ((uint64_t)r.instance << 40) ^ (uint64_t)r.kind) * 1099511628211u;
	availcursor_close(c);
	availset_free(s);
	return h;
}

static void streams(void)
{
	static const char *const names[] = { "hazard", "renewal:nodes=3", "churn", "bulk" };
	for (size_t i = 0; i < 4; i++)
		ok(mark(names[i], 5, 2) == mark(names[i], 5, 2) && mark(names[i], 5, 2) != mark(names[i], 5, 3) &&
				mark(names[i], 5, 2) != mark(names[i], 6, 2),
			"%s: seed and index decide the rows", names[i]);
}

/* Tests that a shifted generator gives the rows of its file, shifted. */
static void shifted(void)
{
	struct availset *s = load("hazard:length=0,start=6h,stretch=2,scale=0.5,cap=15", 3);
	struct run r = look(s, 1, 40 * 3600 * ORR_SECOND);
	ok(r.is_sane && r.most == 15 && r.adds > 20, "start, stretch, scale and cap of an unlimited generator keep the invariant of rows");
	availset_free(s);
	/* A stretch by 2 halves the rate, so twice the time has the same number of removals. */
	s = load("churn:slots=100,rate=1,delay=1ns,length=6h", 3);
	struct availset *t = load("churn:slots=100,rate=1,delay=1ns,length=6h,stretch=2", 3);
	struct run a = look(s, 0, 6 * 3600 * ORR_SECOND), b = look(t, 0, 12 * 3600 * ORR_SECOND);
	ok(a.removals > 500 && a.removals <= b.removals && a.removals >= b.removals && availset_end_ns(t) == 12 * 3600 * ORR_SECOND,
		"stretch=2: the same rows in twice the time");
	availset_free(s);
	availset_free(t);
}

static void refused(const char *source, const char *want)
{
	struct availset *s = availset_load(source, NULL, NULL, 1, &err);
	same_text(s ? "accepted" : err.text, want, source);
	availset_free(s);
}

int main(void)
{
	hazard();
	hazard_edges();
	renewal("renewal:zones=a|b,nodes=4,up=3h|1h,down=1h,length=0", 1);
	renewal("renewal:zones=a|b,nodes=4,up=3h|1h,down=1h,law=lognormal,cv=0.5,length=0", 0.5);
	zones_are_independent();
	churn("churn:slots=32,rate=0.3,delay=2h,length=0");
	churn("churn:slots=32,rate=0.3,delay=2h,delays=fixed,length=0");
	bulk("bulk:slots=1000,zones=a|b,delay=1m,length=2000h", 0);
	/* Of 79 bulks, the sizes 2 to 6 occur 13, 15, 7, 1 and 4 times. */
	bulk("bulk:slots=1000,zones=a|b,delay=1m,cross=1,length=2000h", (13 * 0.5 + 15 * 0.75 + 7 * 0.875 + 1 * 0.9375 + 4 * 0.96875) / 79);
	price();
	streams();
	shifted();
	refused("hazard:a=often", "generator hazard: a: expected uniform, diurnal or a probability, found \"often\"");
	refused("renewal:zones=a||b", "generator renewal: zones: expected at most 64 names separated by |, found \"a||b\"");
	refused("renewal:zones=a|b|c,up=1h|2h",
		"generator renewal: up: expected a time above 0 such as 3h, or one per zone separated by |, found \"1h|2h\"");
	refused("bulk:sizes=0", "generator bulk: sizes: expected at most 64 sizes >= 1 such as 1*39|2*13, found \"0\"");
	refused("bulk:every=0", "generator bulk: every: expected a time above 0, found \"0\"");
	refused("price:step=0", "generator price: step: expected a time above 0, found \"0\"");
	return done();
}
