/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/spot/late_run.h"

#include "base/param.h"
#include "base/sbuf.h"
#include "spot/spot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double of(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

static double account_h(const struct run_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_accounts; i++)
		if (!strcmp(r->accounts[i].account, name))
			return r->accounts[i].node_s / 3600;
	return NAN;
}

static bool set_all(struct orr_args *policy, struct orr_args *options, const struct late_run *x, struct orr_error *err)
{
	char text[768], *save = NULL;
	snprintf(text, sizeof text, "changeover=%.17gh probe=%.17gh spot.deadline=%.17gh spot.price=%.17g spot.on_demand_price=%.17g %s",
		x->changeover_h, x->probe_h, x->deadline_h, x->price > 0 ? x->price : 1, x->on_demand_price > 0 ? x->on_demand_price : 3,
		x->settings ? x->settings : "");
	for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save)) {
		bool is_option = !strncmp(pair, "spot.", 5);
		if (args_set_pair(is_option ? options : policy, pair + (is_option ? 5 : 0), err))
			return false;
	}
	return true;
}

static struct late_got run(const struct late_run *x, struct orr_error *err)
{
	struct late_got g = { 0 };
	int64_t step_ns = (int64_t)llround((x->step_s > 0 ? x->step_s : 1) * 1e9);
	uint32_t nodes = x->nodes ? x->nodes : 1;
	struct elastic_point point = { .pipelines = nodes, .depth = 1, .step_ns = { step_ns, step_ns, 0 } };
	char name[] = "work";
	struct elastic job = { .name = name,
		.samples_per_step = 1,
		.steps = (uint64_t)llround(x->work_h * 3600e9 / (double)step_ns),
		.depth = 1,
		.pipelines = nodes,
		.on_demand_nodes = nodes,
		.on_demand_step_ns = step_ns,
		.point = &point,
		.n_points = 1 };
	struct orr_args *policy = args_new(x->policy->params, "policy", err), *options = args_new(spot_options, "spot", err);
	struct run_result *r = result_new();
	struct spot_config c = { .capacity = x->capacity,
		.replication = x->replication,
		.job = &job,
		.options = options,
		.seed = x->seed,
		.until_ns = ORR_NEVER,
		.exact = x->is_exact,
		.check = x->is_checked,
		.max_rows = 1000 };
	if (policy && options && set_all(policy, options, x, err) && !spot_run(&c, x->policy, policy, x->policy->name, r, err))
		g = (struct late_got){ .good = true,
			.kept = of(r, "deadline_kept") > 0,
			.is_oracle = r->is_oracle,
			.usd = of(r, "usd"),
			.spot_h = of(r, "spot_progress_h"),
			.on_demand_h = of(r, "on_demand_progress_h"),
			.makespan_h = of(r, "makespan_s") / 3600,
			.changeovers = of(r, "changeovers"),
			.restart_h = account_h(r, "restart"),
			.idle_h = account_h(r, "idle"),
			.wasted_h = account_h(r, "wasted") };
	result_free(r);
	args_free(options);
	args_free(policy);
	return g;
}

struct late_got late_go(const struct late_run *x)
{
	struct orr_error err = { 0 };
	struct late_got g = run(x, &err);
	if (!g.good)
		printf("# %s: %s\n", x->policy->name, err.text);
	return g;
}

const char *late_error(const struct late_run *x)
{
	static struct orr_error err;
	err.text[0] = 0;
	run(x, &err);
	return err.text;
}

static struct availset *load_text(struct sbuf *text)
{
	char path[] = "/tmp/orrery-late.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NULL;
	fwrite(sbuf_text(text), 1, text->len, f);
	fclose(f);
	struct orr_error err = { 0 };
	struct availset *set = availset_load(path, "availability", NULL, 1, &err);
	if (!set)
		printf("# %s\n", err.text);
	unlink(path);
	return set;
}

struct availset *late_trace(const double *hours, size_t n)
{
	struct sbuf text = { 0 };
	sbuf_puts(&text, "time_s,event,node\n");
	for (size_t i = 0; i < n; i++)
		sbuf_printf(&text, "%.9f,%s,n%zu\n", hours[i] * 3600, i % 2 ? "remove" : "add", i / 2);
	sbuf_printf(&text, "%.9f,end,\n", 1e6);
	struct availset *set = load_text(&text);
	sbuf_free(&text);
	return set;
}

struct availset *late_threshold(const struct availset *s, uint32_t least, double *span_h)
{
	struct sbuf text = { 0 };
	bool is_there = false;
	uint64_t n = availset_count(s);
	unsigned k = 0;
	sbuf_puts(&text, "time_s,event,node\n");
	for (uint64_t i = 0; i < n; i++) {
		const struct avail_rec *r = availset_at(s, i);
		bool is_last = i + 1 == n || availset_at(s, i + 1)->t_ns != r->t_ns;
		if (r->kind == AVAIL_PRICE || !is_last || is_there == (r->live >= least))
			continue;
		is_there = !is_there;
		sbuf_printf(&text, "%.9f,%s,n%u\n", (double)r->t_ns / 1e9, is_there ? "add" : "remove", is_there ? ++k : k);
	}
	*span_h = (double)availset_end_ns(s) / 3600e9;
	sbuf_printf(&text, "%.9f,end,\n", *span_h * 3600);
	struct availset *set = load_text(&text);
	sbuf_free(&text);
	return set;
}
