/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * av_aws.c - spot prices of AWS: the JSON of "aws ec2 describe-spot-price-history"
 *
 * {"SpotPriceHistory": [{"AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice": "0.087000", "Timestamp"}, ..]}, newest
 * first. A price is a text, USD per hour of an instance, and holds until the next of the same zone and type. Rows of one product are read.
 */
#define _GNU_SOURCE /* memmem() */
#include "traces/avail_format.h"
#include "traces/items.h"
#include "traces/stamp.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TEXT("product", "Linux/UNIX", "ProductDescription of the rows to read; empty: all"),
	ORR_PARAM_TEXT("only", "", "InstanceType of the rows to read; empty: all"), AVAIL_PARAMS, ORR_PARAM_END };

struct price {
	int64_t t_ns;
	double usd;
	uint64_t line;
	uint32_t zone, type, order;
};

struct aws {
	struct lines *in;
	struct items *items;
	struct strtab *texts;
	const char *product, *only;
	struct price *price;
	size_t n, cap, next;
	uint64_t other;
	bool is_read;
};

static bool sniff(const struct trace_head *head)
{
	return memmem(head->text, head->n, "\"SpotPriceHistory\"", 18) != NULL;
}

static void close_aws(void *state)
{
	struct aws *a = state;
	items_free(a->items);
	strtab_free(a->texts);
	mem_free(a->price);
	mem_free(a);
}

static void *open_aws(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	struct items *items = items_new(in, "SpotPriceHistory", err);
	if (!items)
		return NULL;
	struct aws *a = mem_zalloc(1, sizeof *a);
	a->in = in;
	a->items = items;
	a->texts = strtab_new();
	a->product = orr_arg_text(args, "product");
	a->only = orr_arg_text(args, "only");
	return a;
}

static int read_price(struct aws *a, const cJSON *o, struct orr_error *err)
{
	const char *zone = items_text(o, "AvailabilityZone"), *type = items_text(o, "InstanceType"), *usd = items_text(o, "SpotPrice");
	const char *when = items_text(o, "Timestamp");
	struct price p = { .line = lines_number(a->in), .order = (uint32_t)a->n };
	if (!*zone || !*type)
		return lines_fail(a->in, err,
			"expected a price {\"AvailabilityZone\": .., \"InstanceType\": .., \"SpotPrice\": \"0.087000\", "
			"\"Timestamp\": ..}");
	if ((*a->product && strcmp(items_text(o, "ProductDescription"), a->product)) || (*a->only && strcmp(type, a->only))) {
		a->other++;
		return ORR_OK;
	}
	if (!num_real(usd, strlen(usd), &p.usd) || !(p.usd >= 0 && p.usd <= 1e6))
		return lines_fail(a->in, err, "SpotPrice: expected USD per hour as a text such as \"0.087000\", found \"%.60s\"", usd);
	if (!stamp_date_ns(when, strlen(when), &p.t_ns))
		return lines_fail(a->in, err, "Timestamp: expected a time such as 2014-01-06T07:10:55.000Z, found \"%.60s\"", when);
	p.zone = strtab_add_z(a->texts, zone);
	p.type = strtab_add_z(a->texts, type);
	MEM_GROW(a->price, a->n, a->cap);
	a->price[a->n++] = p;
	return ORR_OK;
}

/* By time; rows of one time keep the order of time, which is that of the file from its end. */
static int by_time(const void *x, const void *y)
{
	const struct price *a = x, *b = y;
	if (a->t_ns != b->t_ns)
		return a->t_ns < b->t_ns ? -1 : 1;
	return a->order > b->order ? -1 : a->order < b->order;
}

static int next_aws(void *state, struct avail_row *row, struct orr_error *err)
{
	struct aws *a = state;
	const cJSON *item;
	int rc;
	while (!a->is_read) {
		rc = items_next(a->items, &item, err);
		row->is_bad = rc < 0 && !lines_are_broken(a->in);
		if (rc < 0)
			return -1;
		a->is_read = !rc;
		if (rc && read_price(a, item, err)) {
			row->is_bad = true;
			return -1;
		}
		if (!rc && a->n)
			qsort(a->price, a->n, sizeof *a->price, by_time);
	}
	if (a->next == a->n)
		return 0;
	const struct price *p = &a->price[a->next++];
	row->what = AVAIL_ROW_PRICE;
	row->t_ns = p->t_ns;
	row->usd_per_hour = p->usd;
	row->zone = strtab_text(a->texts, p->zone);
	row->type = strtab_text(a->texts, p->type);
	row->line = p->line;
	return 1;
}

static bool fact(const void *state, size_t index, struct trace_fact *out)
{
	const struct aws *a = state;
	if (index)
		return false;
	out->name = "rows of other products or types";
	snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)a->other);
	return true;
}

const struct trace_format format_aws_prices = {
	.kind = TRACE_AVAIL,
	.is_by_item = true,
	.name = "aws-prices",
	.doc = "spot prices of AWS: the JSON of aws ec2 describe-spot-price-history",
	.params = params,
	.is_absolute = true,
	.sniff = sniff,
	.open = open_aws,
	.avail = next_aws,
	.fact = fact,
	.close = close_aws,
};
