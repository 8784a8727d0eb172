/* SPDX-License-Identifier: GPL-3.0-or-later */
/* netflows_read.c - reads links and flows from their CSV files */
#include "net/netflows_state.h"

#include "traces/table.h"

#include <string.h>

/* Larger numbers are rejected as input errors. */
static const double MOST_BPS = 1e18, MOST_BYTES = 1e18, MOST_LATENCY_S = 1e9, MOST_START_S = 1e12;
static const double LEAST_BPS = 1e-6, LEAST_LATENCY_S = 1e-15;
enum { MOST_STEPS = 1 << 30, MOST_ROWS = 1 << 30 };

/* Returns the exit code of table_status() for a row. */
static int row_fails(struct table *t, size_t column, const char *expected)
{
	table_refuse(t, column, expected);
	return ORR_EINPUT;
}

/* ---- links ---- */

enum link_column { L_NAME, L_BANDWIDTH, L_LATENCY };
static const struct table_column link_columns[] = { { "link", true }, { "bandwidth_Bps", true }, { "latency_s", true }, { NULL, false } };

static int read_link(struct netflows *n, struct table *t)
{
	size_t len;
	const char *name = table_text(t, L_NAME, &len);
	if (!len || strchr(name, ';'))
		return row_fails(t, L_NAME, "a name without ';'");
	if (strtab_add(n->link_names, name, len) != n->n_links + 1)
		return row_fails(t, L_NAME, "a name that differs from the names of earlier lines");
	double bandwidth = table_real(t, L_BANDWIDTH, 0, MOST_BPS);
	double latency = table_real(t, L_LATENCY, 0, MOST_LATENCY_S);
	if (bandwidth > 0 && bandwidth < LEAST_BPS)
		return row_fails(t, L_BANDWIDTH, "0, or at least 1e-6 bytes/s");
	if (latency > 0 && latency < LEAST_LATENCY_S)
		return row_fails(t, L_LATENCY, "0, or at least 1e-15 seconds");
	MEM_GROW(n->link, n->n_links, n->cap_links);
	n->link[n->n_links++] = (struct flow_link){ bandwidth, latency };
	return ORR_OK;
}

static int read_links(struct netflows *n, struct lines *in, struct orr_error *err)
{
	struct table *t = table_new(in, link_columns, TABLE_HEADER, err);
	int rc = -1;
	while (t && (rc = table_next(t, NULL, NULL, err)) == 1)
		if (read_link(n, t) || table_status(t) != 1) {
			rc = -1;
			break;
		}
	table_free(t);
	return rc ? ORR_EINPUT : ORR_OK;
}

/* ---- flows ---- */

enum flow_column { F_ID, F_STEP, F_SRC, F_DST, F_BYTES, F_START, F_LINKS };
static const struct table_column flow_columns[] = { { "id", true }, { "step", true }, { "src", true }, { "dst", true }, { "bytes", true },
	{ "start_s", true }, { "links", true }, { NULL, false } };

struct flows_reader {
	struct netflows *n;
	struct table *table;
	struct orr_error *err;
	uint32_t *last_route; /* last route that contained each link, to detect duplicates */
	int64_t last_step;
};

/* Adds the hops of a new route. */
static int parse_route(struct flows_reader *r, const char *text)
{
	struct netflows *n = r->n;
	uint32_t first = n->n_hops;
	for (const char *s = text; *s;) {
		size_t len = strcspn(s, ";");
		/* All links are in the table, so a new number means an unknown name. */
		uint32_t link = strtab_add(n->link_names, s, len);
		if (link == 0 || link > n->n_links)
			return lines_fail(table_lines(r->table), r->err,
				"links: unknown link \"%.60s\": expected names of the file of links, joined by ';'",
				strtab_text(n->link_names, link));
		if (r->last_route[--link] == n->n_routes)
			return row_fails(r->table, F_LINKS, "each link at most once");
		r->last_route[link] = n->n_routes;
		MEM_GROW(n->hop, n->n_hops, n->cap_hops);
		n->hop[n->n_hops++] = (struct flow_hop){ link, 1 };
		s += len;
		if (*s == ';' && !*++s)
			return row_fails(r->table, F_LINKS, "names of links joined by ';', without a ';' at the end");
	}
	MEM_GROW(n->route, n->n_routes, n->cap_routes);
	n->route[n->n_routes++] = (struct netflows_route){ first, n->n_hops - first };
	return ORR_OK;
}

static int read_route(struct flows_reader *r, struct netflows_flow *x)
{
	struct netflows *n = r->n;
	size_t len;
	const char *text = table_text(r->table, F_LINKS, &len);
	x->route = strtab_add(n->route_texts, text, len);
	if (x->route == n->n_routes && parse_route(r, text))
		return ORR_EINPUT;
	const struct netflows_route *route = &n->route[x->route];
	if (!route->count && strcmp(table_text(r->table, F_SRC, NULL), table_text(r->table, F_DST, NULL)))
		return row_fails(r->table, F_LINKS, "at least one link, because \"src\" and \"dst\" differ");
	for (uint32_t h = 0; h < route->count && x->bytes > 0; h++)
		if (n->link[n->hop[route->first + h].link].capacity_Bps == 0)
			return row_fails(r->table, F_LINKS, "links with a bandwidth above 0 (otherwise the flow never ends)");
	return ORR_OK;
}

static int read_step(struct flows_reader *r, struct netflows_flow *x)
{
	int64_t step = table_int(r->table, F_STEP, -1, MOST_STEPS);
	x->step = (int32_t)step;
	if (step < 0 || table_status(r->table) != 1)
		return ORR_OK;
	if (step < r->last_step)
		return row_fails(r->table, F_STEP, "at least the step of the previous row (sort the file by step)");
	if (step > r->last_step + 1)
		return row_fails(r->table, F_STEP, "the step of the previous row or the next step, starting from 0");
	r->last_step = step;
	return ORR_OK;
}

static int read_flow(struct flows_reader *r)
{
	struct netflows *n = r->n;
	struct netflows_flow x = { 0 };
	size_t len;
	const char *id = table_text(r->table, F_ID, &len);
	if (!len)
		return row_fails(r->table, F_ID, "a name or number");
	if (strtab_add(n->ids, id, len) != n->n_flows + 1)
		return row_fails(r->table, F_ID, "an id that differs from the ids of earlier rows");
	if (read_step(r, &x))
		return ORR_EINPUT;
	x.bytes = table_real(r->table, F_BYTES, 0, MOST_BYTES);
	x.start = x.step < 0 ? table_real(r->table, F_START, 0, MOST_START_S) : 0;
	if (table_status(r->table) != 1 || read_route(r, &x))
		return ORR_EINPUT;
	MEM_GROW(n->flow, n->n_flows, n->cap_flows);
	n->flow[n->n_flows++] = x;
	return ORR_OK;
}

static int read_flows(struct netflows *n, struct lines *in, struct orr_error *err)
{
	struct flows_reader r = { .n = n, .err = err, .last_step = -1 };
	int rc = -1;
	r.table = table_new(in, flow_columns, TABLE_HEADER, err);
	r.last_route = mem_alloc(n->n_links * sizeof *r.last_route);
	memset(r.last_route, 0xff, n->n_links * sizeof *r.last_route);
	while (r.table && (rc = table_next(r.table, NULL, NULL, err)) == 1) {
		if (n->n_flows == MOST_ROWS)
			rc = lines_fail(in, err, "too many flows: expected at most %d", MOST_ROWS);
		if (rc != 1 || read_flow(&r)) {
			rc = -1;
			break;
		}
	}
	n->n_steps = (uint32_t)(r.last_step + 1);
	table_free(r.table);
	mem_free(r.last_route);
	return rc ? ORR_EINPUT : ORR_OK;
}

/* Lists the flows of each step. Rows are sorted by step, so one pass suffices. */
static void list_steps(struct netflows *n)
{
	n->step = mem_alloc(n->n_flows * sizeof *n->step);
	n->step_first = mem_zalloc(n->n_steps + 1, sizeof *n->step_first);
	for (uint32_t i = 0; i < n->n_flows; i++)
		if (n->flow[i].step >= 0) {
			n->step[n->n_stepped++] = i;
			n->step_first[n->flow[i].step + 1] = n->n_stepped;
		}
}

struct netflows *netflows_read(struct lines *links, struct lines *flows, struct orr_error *err)
{
	struct netflows *n = mem_zalloc(1, sizeof *n);
	n->flows_name = mem_strdup(lines_name(flows));
	n->link_names = strtab_new();
	n->ids = strtab_new();
	n->route_texts = strtab_new();
	MEM_GROW(n->route, n->n_routes, n->cap_routes);
	n->route[n->n_routes++] = (struct netflows_route){ 0, 0 }; /* number 0 is the empty text */
	if (read_links(n, links, err) || read_flows(n, flows, err)) {
		netflows_free(n);
		return NULL;
	}
	list_steps(n);
	return n;
}

struct netflows *netflows_load(const char *links_path, const char *flows_path, struct orr_error *err)
{
	struct netflows *n = NULL;
	struct lines *links = lines_open(links_path, err);
	struct lines *flows = links ? lines_open(flows_path, err) : NULL;
	if (flows)
		n = netflows_read(links, flows, err);
	lines_close(flows);
	lines_close(links);
	return n;
}

void netflows_free(struct netflows *n)
{
	if (!n)
		return;
	mem_free(n->flows_name);
	strtab_free(n->link_names);
	strtab_free(n->ids);
	strtab_free(n->route_texts);
	mem_free(n->link);
	mem_free(n->hop);
	mem_free(n->route);
	mem_free(n->flow);
	mem_free(n->step);
	mem_free(n->step_first);
	mem_free(n);
}
