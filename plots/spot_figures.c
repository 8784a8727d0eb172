/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/spot_figures.h"

#include "base/mem.h"
#include "plots/chart.h"
#include "plots/curves.h"

#include <math.h>
#include <string.h>

enum { MOST_ACCOUNTS = 16 };

/* ---- accounts of time and money ---- */

static double amount(const struct account_row *a, bool is_money)
{
	return is_money ? a->usd : a->node_s / 3600;
}

static const struct account_row *find_account(const struct run_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_accounts; i++)
		if (!strcmp(r->accounts[i].account, name))
			return &r->accounts[i];
	return NULL;
}

/* Collects the names of accounts that are not zero in every run, in the order of the first run with accounts. */
static size_t find_names(const struct run_result *const *runs, size_t n, bool is_money, const char *name[MOST_ACCOUNTS])
{
	size_t found = 0, first = 0;
	while (first < n && !runs[first]->n_accounts)
		first++;
	for (size_t i = 0; first < n && i < runs[first]->n_accounts; i++) {
		bool has_any = false;
		for (size_t k = 0; k < n; k++) {
			const struct account_row *a = find_account(runs[k], runs[first]->accounts[i].account);
			has_any |= a && amount(a, is_money) > 0;
		}
		if (has_any && found < MOST_ACCOUNTS)
			name[found++] = runs[first]->accounts[i].account;
	}
	return found;
}

/* Adds bars, one per run, with a piece per account. */
static int add_accounts(struct album *a, const struct run_result *const *runs, size_t n, bool is_money, struct orr_error *err)
{
	const char *name[MOST_ACCOUNTS], **label = mem_zalloc(n + 1, sizeof *label);
	struct chart_series series[MOST_ACCOUNTS];
	size_t n_names = find_names(runs, n, is_money, name);
	struct chart_point *point = mem_zalloc(n * n_names + 1, sizeof *point);
	for (size_t i = 0; i < n; i++)
		label[i] = runs[i]->label ? runs[i]->label : "";
	for (size_t s = 0; s < n_names; s++) {
		for (size_t i = 0; i < n; i++) {
			const struct account_row *x = find_account(runs[i], name[s]);
			point[s * n + i] = (struct chart_point){ 0, x ? amount(x, is_money) : 0, NAN, NAN };
		}
		series[s] = (struct chart_series){ .label = name[s], .point = point + s * n, .n = n };
	}
	struct chart c = { .file = is_money ? "dollars" : "node-hours",
		.kind = CHART_STACKED,
		.x_label = "",
		.y_label = is_money ? "USD" : "instance hours",
		.y_min = NAN,
		.y_max = NAN,
		.category = label,
		.n_categories = n,
		.series = series,
		.n_series = n_names };
	int code = chart_add(a, &c, err);
	mem_free(label);
	mem_free(point);
	return code;
}

int spot_figures_shared(struct album *a, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	int code = add_accounts(a, runs, n, false, err);
	return code ? code : add_accounts(a, runs, n, true, err);
}

/* ---- instances over time ---- */

int spot_figures_single(struct album *a, const struct run_result *r, const char *name, struct orr_error *err)
{
	static char labels[3][8] = { "live", "ready", "in use" };
	struct series series[3];
	struct run_result line[3] = { { 0 } };
	const struct run_result *lines[3];
	size_t rows = r->n_nodes, n = rows + 1; /* the last row is repeated at the end */
	if (!rows)
		return ORR_OK;
	int64_t *time = mem_zalloc(n, sizeof *time);
	for (size_t i = 0; i < n; i++)
		time[i] = i < rows ? r->nodes[i].time_ns : result_nodes_end_ns(r);
	for (int k = 0; k < 3; k++) {
		series[k] = (struct series){ "instances", n, time, mem_zalloc(n, sizeof(double)) };
		for (size_t i = 0; i < n; i++) {
			const struct node_row *x = &r->nodes[i < rows ? i : rows - 1];
			series[k].value[i] = k == 0 ? x->live : k == 1 ? x->ready : x->in_use;
		}
		line[k].label = labels[k];
		line[k].series = &series[k];
		line[k].n_series = 1;
		lines[k] = &line[k];
	}
	struct sbuf file = { 0 };
	sbuf_printf(&file, "instances-%s", name);
	int code = curves_series(a, lines, 3, "instances", sbuf_text(&file), "instances", false, err);
	sbuf_free(&file);
	for (int k = 0; k < 3; k++)
		mem_free(series[k].value);
	mem_free(time);
	return code;
}
