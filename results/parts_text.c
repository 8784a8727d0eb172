/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a subject in words. */
#include "results/parts.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void part_put_time(struct sbuf *out, int64_t t)
{
	const int64_t us = 1000, ms = 1000 * us, s = 1000 * ms, minute = 60 * s, hour = 60 * minute, day = 24 * hour;
	if (t >= day - minute / 2) {
		t += hour / 2;
		sbuf_printf(out, "%" PRId64 " d %02" PRId64 " h", t / day, t % day / hour);
	} else if (t >= hour - s / 2) {
		t += minute / 2;
		sbuf_printf(out, "%" PRId64 " h %02" PRId64 " min", t / hour, t % hour / minute);
	} else if (t >= minute - s / 20) {
		t += s / 2;
		sbuf_printf(out, "%" PRId64 " min", t / minute);
		if (t % minute / s)
			sbuf_printf(out, " %02" PRId64 " s", t % minute / s);
	} else if (t >= s - ms / 2) { /* not "1e+03 ms" */
		sbuf_printf(out, "%.3g s", (double)t / (double)s);
	} else if (t >= ms - us / 2) {
		sbuf_printf(out, "%.3g ms", (double)t / (double)ms);
	} else {
		sbuf_printf(out, "%.3g us", (double)t / (double)us);
	}
}

/* ---- groups of parts with equal kind and cause ---- */

struct group {
	enum part_kind kind;
	const char *cause, *detail; /* detail: detail of the longest part */
	int64_t time, longest;
	size_t order;
};

static bool is_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static size_t group_all(struct group *g, const struct part_row *rows, size_t n)
{
	size_t found = 0;
	for (size_t i = 0; i < n; i++) {
		enum part_kind kind = part_kind_of(rows[i].kind);
		int64_t time = rows[i].end_ns - rows[i].begin_ns;
		size_t k = 0;
		while (k < found && !(g[k].kind == kind && is_equal(g[k].cause, rows[i].cause)))
			k++;
		if (k == found)
			g[found++] = (struct group){ .kind = kind, .cause = rows[i].cause, .order = k };
		g[k].time += time;
		if (time > g[k].longest) {
			g[k].longest = time;
			g[k].detail = rows[i].detail;
		}
	}
	return found;
}

/* Longest first; equal times in order of time. */
static int by_time(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static const char *phrase_of(enum part_kind kind)
{
	static const char *const phrase[] = {
/* clang-format off */
#define PART_KIND(name, word, class, phrase, doc) phrase,
#include "results/parts.def"
#undef PART_KIND
		"" /* clang-format on */
	};
	return phrase[kind];
}

static void put_group(struct sbuf *out, const struct group *g)
{
	part_put_time(out, g->time);
	sbuf_printf(out, " %s", phrase_of(g->kind));
	if (g->cause)
		sbuf_printf(out, " %s", g->cause);
	if (g->detail)
		sbuf_printf(out, " (%s)", g->detail);
}

/* Appends the total time of the waiting groups, or of the others, then the longest of these groups. */
static void put_groups(struct sbuf *out, const char *verb, const struct group *g, size_t n, bool waits)
{
	enum { MOST = 5 };
	int64_t total = 0, rest = 0;
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		if (g[i].kind < PART_KINDS && part_waits(g[i].kind) == waits)
			total += g[i].time;
	sbuf_printf(out, "%s ", verb);
	part_put_time(out, total);
	for (size_t i = 0; i < n; i++) {
		if (g[i].kind == PART_KINDS || part_waits(g[i].kind) != waits)
			continue;
		if (found++ < MOST) {
			sbuf_puts(out, found == 1 ? ": " : ", ");
			put_group(out, &g[i]);
		} else {
			rest += g[i].time;
		}
	}
	if (found > MOST) {
		sbuf_puts(out, ", ");
		part_put_time(out, rest);
		sbuf_printf(out, " for %zu other causes", found - MOST);
	}
}

void part_sentence(struct sbuf *out, const char *name, const struct part_row *rows, size_t n)
{
	static const struct {
		const char *entity, *run;
	} words[] = { { "job", "ran" }, { "request", "was served" }, { "iteration", "took" }, { "node", "lived" } };
	const char *entity = n ? rows[0].entity : "", *run = "ran";
	struct group *g = mem_zalloc(n + 1, sizeof *g);
	size_t found = group_all(g, rows, n), waits = 0, runs = 0;
	qsort(g, found, sizeof *g, by_time);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i].entity, entity))
			run = words[i].run;
	for (size_t i = 0; i < found && g[i].kind < PART_KINDS; i++)
		*(part_waits(g[i].kind) ? &waits : &runs) += 1;
	sbuf_printf(out, "%s %s ", entity, name);
	if (waits)
		put_groups(out, "waited", g, found, true);
	if (waits && runs)
		sbuf_puts(out, "; ");
	if (runs)
		put_groups(out, run, g, found, false);
	mem_free(g);
}
