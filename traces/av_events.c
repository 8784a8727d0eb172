/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * av_events.c - files of events: Bamboo's and Oobleck's, and orrery's own CSVs of availability and of prices
 *
 * bamboo        ms,add|remove,NODE without a header (Thorpe et al., NSDI 2023; Jang et al., SOSP 2023); rows of one
 *               instant keep their order, on which the authors' simulators depend
 * availability  time_s,event,node,zone,type,price: events: add, remove, price, end (of the record)
 * prices        time_s,zone,type,usd_per_hour
 */
#include "traces/avail_format.h"

#include "base/num.h"

#include <string.h>

#define MAX_USD 1e6

/* Ends the reading of a row. A row with invalid values can be skipped. */
static int end_row(struct table *t, struct avail_row *row)
{
	int rc = table_status(t);
	row->is_bad = rc < 0;
	return rc;
}

static void read_event(struct table *t, size_t column, bool has_price, struct avail_row *row)
{
	const char *s = table_text(t, column, NULL);
	if (!strcmp(s, "add")) {
		row->what = AVAIL_ROW_ADD;
	} else if (!strcmp(s, "remove")) {
		row->what = AVAIL_ROW_REMOVE;
	} else if (has_price && !strcmp(s, "price")) {
		row->what = AVAIL_ROW_PRICE;
	} else if (has_price && !strcmp(s, "end")) {
		row->what = AVAIL_ROW_END;
	} else {
		row->is_bad_event = table_status(t) > 0;
		table_refuse(t, column, has_price ? "add, remove, price or end" : "add or remove");
	}
}

static void close_table(void *state)
{
	table_free(state);
}

/* ---- bamboo ---- */

static const struct table_column bamboo_columns[] = { { "ms", true }, { "event", true }, { "node", true }, { NULL, false } };
static const struct orr_param event_params[] = { AVAIL_PARAMS, ORR_PARAM_END };

static bool sniff_bamboo(const struct trace_head *head)
{
	const char *s = head->line;
	size_t digits = strspn(s, "0123456789.");
	return digits && s[digits] == ',' && (!strncmp(s + digits, ",add,", 5) || !strncmp(s + digits, ",remove,", 8));
}

static void *open_bamboo(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, bamboo_columns, 0, err);
}

static int next_bamboo(void *state, struct avail_row *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->t_ns = table_milliseconds(t, 0, 0, TRACE_MAX_SECONDS * 1e3);
	read_event(t, 1, false, row);
	row->node = table_text_or_null(t, 2);
	if (!row->node)
		table_refuse(t, 2, "a name");
	return end_row(t, row);
}

const struct trace_format format_bamboo = {
	.kind = TRACE_AVAIL,
	.name = "bamboo",
	.doc = "Bamboo's and Oobleck's events: ms,add|remove,node",
	.params = event_params,
	.sniff = sniff_bamboo,
	.open = open_bamboo,
	.avail = next_bamboo,
	.close = close_table,
};

/* ---- orrery's CSVs ---- */

enum { TIME_S, EVENT, NODE, ZONE, TYPE, PRICE };
static const struct table_column columns[] = { { "time_s", true }, { "event", true }, { "node", false }, { "zone", false },
	{ "type", false }, { "price", false }, { NULL, false } };

static bool sniff_csv(const struct trace_head *head)
{
	return trace_head_has_column(head, "time_s") && trace_head_has_column(head, "event");
}

static void *open_csv(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, columns, TABLE_HEADER | TABLE_KNOWN_COLUMNS, err);
}

static int next_csv(void *state, struct avail_row *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->t_ns = table_seconds(t, TIME_S, 0, TRACE_MAX_SECONDS);
	read_event(t, EVENT, true, row);
	row->node = table_text_or_null(t, NODE);
	row->zone = table_text_or_null(t, ZONE);
	row->type = table_text_or_null(t, TYPE);
	if (table_has(t, PRICE))
		row->usd_per_hour = table_real(t, PRICE, 0, MAX_USD);
	if (row->what == AVAIL_ROW_PRICE && !table_has(t, PRICE))
		table_refuse(t, PRICE, "USD per hour, for the event price");
	bool has_instance = row->what == AVAIL_ROW_ADD || row->what == AVAIL_ROW_REMOVE;
	if (!has_instance && row->node)
		table_refuse(t, NODE, "an empty field, for an event without an instance");
	if (has_instance && !row->node)
		table_refuse(t, NODE, "a name");
	return end_row(t, row);
}

const struct trace_format format_availability = {
	.kind = TRACE_AVAIL,
	.name = "availability",
	.doc = "orrery's CSV of instances: time_s,event,node,zone,type,price (docs/traces.md)",
	.params = event_params,
	.sniff = sniff_csv,
	.open = open_csv,
	.avail = next_csv,
	.close = close_table,
};

enum { P_TIME_S, P_ZONE, P_TYPE, P_USD };
static const struct table_column price_columns[] = { { "time_s", true }, { "zone", false }, { "type", false }, { "usd_per_hour", true },
	{ NULL, false } };

static bool sniff_prices(const struct trace_head *head)
{
	return trace_head_has_column(head, "time_s") && trace_head_has_column(head, "usd_per_hour");
}

static void *open_prices(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, price_columns, TABLE_HEADER | TABLE_KNOWN_COLUMNS, err);
}

static int next_price(void *state, struct avail_row *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	row->what = AVAIL_ROW_PRICE;
	row->t_ns = table_seconds(t, P_TIME_S, 0, TRACE_MAX_SECONDS);
	row->zone = table_text_or_null(t, P_ZONE);
	row->type = table_text_or_null(t, P_TYPE);
	row->usd_per_hour = table_real(t, P_USD, 0, MAX_USD);
	return end_row(t, row);
}

const struct trace_format format_prices = {
	.kind = TRACE_AVAIL,
	.name = "prices",
	.doc = "orrery's CSV of prices: time_s,zone,type,usd_per_hour",
	.params = event_params,
	.sniff = sniff_prices,
	.open = open_prices,
	.avail = next_price,
	.close = close_table,
};
