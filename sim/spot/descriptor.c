/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The spot world's descriptor: policies on one availability trace. Its scenarios:
 *
 *	{ "world": "spot",
 *	  "trace": "FILE or generator", "format": "auto", "trace_options": {"NAME": VALUE},
 *	  "prices": "FILE or generator of prices",    (default: those of the trace, if any, and of the options)
 *	  "job": "NAME or FILE.json" or {..an elastic job..},
 *	  "spot": {..options..},
 *	  "policies", "seed", "replications": 1, "until", "record": "all", "policy_timeout" }
 */
#include "base/mem.h"
#include "spot/elastic_cache.h"
#include "spot/speeds.h"
#include "spot/spot.h"
#include "traces/trace.h"
#include "world/inputs_capacity.h"
#include "world/isolate.h"
#include "world/remarks.h"
#include "world/run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 1000000, SAMPLE_ROWS = 10000 };

/* Read-only once open, so threads may run policies in parallel. */
struct spot_state {
	struct availset *capacity, *prices; /* prices: NULL if the scenario names none */
	const struct elastic *job;          /* owned by elastic_cache.h */
	const char *steps_hash;
	struct spot_config config;
	atomic_uint *used; /* [policy] enum spot_use */
};

/* ---- the job ---- */

static int load_job(const cJSON *o, struct spot_state *s, struct orr_error *err)
{
	struct elastic *job = NULL;
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "job");
	struct orr_error why = { 0 };
	if (!v)
		return orr_fail(err, ORR_EINPUT,
			"scenario: expected a job (--job NAME or FILE.json; 'orrery model list --elastic' lists the included jobs)");
	if (cJSON_IsObject(v)) {
		char *text = cJSON_PrintUnformatted(v);
		job = elastic_parse("scenario: $.job", text, strlen(text), &why);
		cJSON_free(text);
		if (!job)
			return orr_fail(err, why.code, "%s", why.text);
	} else if (!cJSON_IsString(v) || !*v->valuestring) {
		return orr_fail(err, ORR_EINPUT, "scenario: $.job: expected the name of an elastic job, a file, or a job as an object");
	} else if (!(job = elastic_load(v->valuestring, &why))) {
		return orr_fail(err, why.code, "job: %s", why.text);
	}
	const struct elastic_entry *entry = elastic_cached(job, err);
	if (!entry)
		return err->code;
	s->job = entry->job;
	s->steps_hash = entry->steps_hash;
	return ORR_OK;
}

/* ---- capacity and prices ---- */

static int load_trace(const struct scenario *s, struct spot_state *t, struct orr_error *err)
{
	const char *source = orr_arg_text(s->keys, "trace");
	char *options[INPUTS_MOST_OPTIONS + 1] = { NULL };
	int rc = *source ? inputs_trace_options(s->given, options, err) : orr_fail(err, ORR_EINPUT, "scenario: expected a trace");
	if (!rc && !(t->capacity = availset_load(source, orr_arg_text(s->keys, "format"), (const char *const *)options, s->seed, err)))
		rc = err->code ? err->code : ORR_EINPUT;
	inputs_options_free(options);
	if (!rc && availset_has_prices(t->capacity) && !inputs_has_instances(t->capacity))
		rc = orr_fail(err, ORR_EINPUT,
			"%.200s: this file has prices but no instances: expected a trace of instances here, and this file after --prices",
			source);
	return rc;
}

/* Returns whether the prices cover any zone of the trace. */
static bool has_price_for(const struct availset *prices, const struct availset *capacity)
{
	uint32_t n, m;
	const uint32_t *priced = availset_zones(prices, &n), *zone = availset_zones(capacity, &m);
	for (uint64_t i = 0; availset_is_loaded(prices) && i < availset_count(prices); i++)
		if (availset_at(prices, i)->kind == AVAIL_PRICE && !availset_at(prices, i)->zone)
			return true; /* for all zones */
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < m; k++)
			if (!strcmp(strtab_text(availset_strings(prices), priced[i]), strtab_text(availset_strings(capacity), zone[k])))
				return true;
	return !n;
}

static int load_prices(const struct scenario *s, struct spot_state *t, struct orr_error *err)
{
	const char *source = orr_arg_text(s->keys, "prices");
	struct orr_error why = { 0 };
	if (!*source)
		return ORR_OK;
	if (!strcmp(source, "-") && !strcmp(orr_arg_text(s->keys, "trace"), "-"))
		return orr_fail(err, ORR_EINPUT, "prices: standard input is already used for the trace: expected a file");
	t->prices = availset_load(source, NULL, NULL, s->seed, &why);
	if (!t->prices)
		return orr_fail(err, why.code, "prices: %s", why.text);
	if (!availset_has_prices(t->prices))
		return orr_fail(err, ORR_EINPUT,
			"prices: %.200s: this file has no prices: expected rows with the columns time_s,zone,type,usd_per_hour "
			"(docs/traces.md)",
			source);
	if (!has_price_for(t->prices, t->capacity)) {
		uint32_t n;
		const char *zone = strtab_text(availset_strings(t->prices), *availset_zones(t->prices, &n));
		return orr_fail(err, ORR_EINPUT,
			"prices: %.200s: this file has zones that the trace lacks (%.60s%s): expected no zones, or zones of the trace "
			"(column \"zone\", zones=.., trace_options.zone)",
			source, zone, n > 1 ? ", .." : "");
	}
	return ORR_OK;
}

/* ---- from the scenario to a run ---- */

/* Adds all values that determine the result, with defaults, and inputs with their hashes. */
static void describe(struct scenario *s, const struct spot_state *t)
{
	const cJSON *options = cJSON_GetObjectItemCaseSensitive(s->given, "trace_options");
	cJSON *o = s->resolved = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "world", "spot");
	cJSON_AddStringToObject(o, "trace", orr_arg_text(s->keys, "trace"));
	cJSON_AddStringToObject(o, "format", availset_format(t->capacity));
	cJSON_AddStringToObject(o, "trace_sha256", availset_hash(t->capacity));
	if (options)
		cJSON_AddItemToObject(o, "trace_options", cJSON_Duplicate(options, 1));
	if (t->prices) {
		cJSON_AddStringToObject(o, "prices", orr_arg_text(s->keys, "prices"));
		cJSON_AddStringToObject(o, "prices_sha256", availset_hash(t->prices));
	}
	cJSON_AddItemToObject(o, "job", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(s->given, "job"), 1));
	cJSON_AddStringToObject(o, "job_sha256", t->job->hash);
	if (*t->steps_hash)
		cJSON_AddStringToObject(o, "steps_sha256", t->steps_hash);
	scenario_add_options(o, s);
	scenario_add_seed(o, s);
	scenario_add_until(o, s);
	scenario_add_record(o, s);
}

static void configure(const struct scenario *s, struct spot_state *t)
{
	const struct world_output *o = s->output;
	bool wants_rows = scenario_keeps_rows(s) && (o->db || o->out_dir || o->is_series);
	t->config = (struct spot_config){ .capacity = t->capacity,
		.prices = t->prices,
		.job = t->job,
		.options = s->options,
		.seed = s->seed,
		.until_ns = s->until_ns,
		.exact = world_extra(o, "exact"),
		.check = o->check,
		.record_iterations = wants_rows,
		.record_nodes = wants_rows,
		.explain = s->record == RECORD_EXPLAIN && wants_rows,
		.max_rows = s->record == RECORD_SAMPLE ? SAMPLE_ROWS : MAX_ROWS,
		.policy_timeout_s = s->policy_timeout_s };
}

static int check_end(const struct scenario *s, const struct spot_state *t, struct orr_error *err)
{
	if (spot_job_steps(t->job, s->options) || availset_has_end(t->capacity) || s->until_ns != ORR_NEVER)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT,
		"%.200s: neither this trace nor job %.80s has an end: expected the length of the trace (length=..) or --until",
		availset_source(t->capacity), t->job->name);
}

/* ---- types of instances ---- */

/* Checks that an instance type other than that of the job's nodes has a speed. If a trace has one type and the job names no device,
 * the types are equal. */
static int check_type(const struct spot_state *t, const struct speeds *known, const char *type, const char **first, struct orr_error *err)
{
	const char *own = t->job->step ? t->job->step->device : *first ? *first : type;
	*first = *first ? *first : type;
	if (!strcmp(type, own) || !isnan(speeds_of(known, type)))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT,
		"%.200s: this trace has instances of type %.60s; the step times of job %.80s are for %.60s, and the speed of %.60s is "
		"unknown: expected spot.speeds=%.60s=X with the relative speed X",
		availset_source(t->capacity), type, t->job->name, own, type, type);
}

static int check_types(const struct scenario *s, const struct spot_state *t, struct orr_error *err)
{
	struct speeds known;
	int rc = speeds_read(&known, orr_arg_text(s->options, "speeds"), err);
	const char *first = NULL;
	uint32_t before = 0;
	for (uint64_t i = 0; !rc && availset_is_loaded(t->capacity) && i < availset_count(t->capacity); i++) {
		const struct avail_rec *r = availset_at(t->capacity, i);
		if (r->kind == AVAIL_ADD && r->type && r->type != before)
			rc = check_type(t, &known, strtab_text(availset_strings(t->capacity), before = r->type), &first, err);
	}
	speeds_free(&known);
	return rc;
}

static int open_spot(struct scenario *s, struct orr_error *err)
{
	struct spot_state *t = s->state = mem_zalloc(1, sizeof *t);
	int rc = load_job(s->given, t, err);
	if (!rc)
		rc = load_trace(s, t, err);
	if (!rc)
		rc = check_types(s, t, err);
	if (!rc)
		rc = load_prices(s, t, err);
	if (rc)
		return rc;
	describe(s, t);
	if (s->output->is_shown)
		return ORR_OK;
	if (!s->output->quiet)
		inputs_tell_repairs(t->capacity);
	configure(s, t);
	t->used = mem_zalloc(s->n_policies, sizeof *t->used);
	return check_end(s, t, err);
}

static void close_spot(struct scenario *s)
{
	struct spot_state *t = s->state;
	availset_free(t->capacity);
	availset_free(t->prices);
	mem_free(t->used);
	mem_free(t);
}

/* ---- runs ---- */

/* Adds the share of time paused for any reason, which is one column of the table. */
static void add_paused(struct run_result *r)
{
	static const char *const parts[] = { "checkpoint_part", "restart_part", "reconfigure_part" };
	double sum = 0;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const struct metric *m = result_find(r, parts[i]);
		sum += m ? m->value : NAN;
	}
	if (!isnan(sum))
		result_metric(r, "paused_part", sum, NAN, NAN);
}

static bool is_spot_random(const struct scenario *s)
{
	const struct spot_state *t = s->state;
	return !availset_is_loaded(t->capacity) || (t->prices && !availset_is_loaded(t->prices));
}

static int run_spot(
	struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	const struct spot_state *t = s->state;
	const struct scenario_policy *p = &s->policy[i];
	struct spot_config config = t->config;
	config.used = &t->used[i];
	config.replication = k;
	config.record_iterations &= !k;
	config.record_nodes &= !k;
	config.explain &= !k;
	config.progress = progress;
	config.progress_ctx = ctx;
	int rc = spot_run(&config, p->entry.policy, p->args, p->label, r, err);
	if (!rc)
		add_paused(r);
	return rc;
}

/* Without replications, adds quotients without intervals instead of the ratios of replications_compare(). */
static void compare_plainly(struct run_result *const *runs, size_t n)
{
	static const char *const names[] = { "samples_per_s", "usd_per_hour", "value" };
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			const struct metric *first = result_find(runs[0], names[k]), *m = result_find(runs[i], names[k]);
			char name[40];
			snprintf(name, sizeof name, "ratio_%s", names[k]);
			if (first && m && m->value > 0)
				result_metric(runs[i], name, first->value / m->value, NAN, NAN);
		}
}

static void give_spot(const struct scenario *s, size_t i, struct sbuf *out)
{
	isolate_give_bits(&((const struct spot_state *)s->state)->used[i], out);
}

static bool take_spot(struct scenario *s, size_t i, const char *bytes, size_t n)
{
	return isolate_take_bits(&((struct spot_state *)s->state)->used[i], bytes, n);
}

/* ---- assumptions and remarks ---- */

static unsigned used_by_spot(const struct scenario *s, size_t i)
{
	return atomic_load(&((const struct spot_state *)s->state)->used[i]);
}

static bool is_drawn(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return scenario_is_random(s);
}

static bool ends_at_until(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i;
	return s->until_ns == ORR_NEVER || remark_metric(s, r, "makespan_s") * 1e9 >= (double)s->until_ns;
}

static bool has_state(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return ((const struct spot_state *)s->state)->job->state_bytes > 0;
}

static bool has_last_step(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return ((const struct spot_state *)s->state)->job->steps > 0;
}

/* If the run ends before the last step of the job, the result equals that of a job without a last step. */
static bool is_long_enough(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i;
	return s->until_ns == ORR_NEVER || remark_metric(s, r, "steps") >= (double)((const struct spot_state *)s->state)->job->steps;
}

/* Without --until, a job without a last step trains until the trace ends; other jobs continue after that. */
static bool reaches_last_step(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i;
	return remark_metric(s, r, "steps") >= (double)((const struct spot_state *)s->state)->job->steps;
}

static bool has_intervals(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return s->replications > 1;
}

/* A policy may request the times of checkpoints that it does not write. */
static bool pauses_with(const struct scenario *s, size_t i, const struct run_result *r, unsigned not )
{
	return !(used_by_spot(s, i) & not ) && remark_metric(s, r, "paused_part") > 0;
}

static bool pauses_by_storage(const struct scenario *s, size_t i, const struct run_result *r)
{
	return pauses_with(s, i, r, SPOT_USED_STORAGE_NOT);
}

static bool pauses_by_node(const struct scenario *s, size_t i, const struct run_result *r)
{
	return pauses_with(s, i, r, SPOT_USED_NODE_BPS_NOT);
}

static bool has_more_rows(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i;
	return s->record != RECORD_SAMPLE || r->rows_total > SAMPLE_ROWS || r->n_nodes >= SAMPLE_ROWS;
}

/* clang-format off */
static const struct world_effect effects[] = {
	{ .key = "spot.startup", .why = "no spot instance was taken", .metric = "spot_hours" },
	{ .key = "spot.on_demand_startup", .why = "no on-demand instance was taken", .metric = "on_demand_hours" },
	{ .key = "spot.on_demand_price", .why = "no on-demand instance was taken", .metric = "on_demand_hours" },
	{ .key = "spot.billing", .why = "no instance was taken", .metric = "node_hours" },
	{ .key = "spot.billing", .why = "every instance ended with a full hour", .use = SPOT_USED_BILLING },
	{ .key = "spot.endless", .why = "the job has no last step", .holds = has_last_step },
	{ .key = "spot.endless", .why = "the run ended before the last step of the job", .holds = is_long_enough },
	{ .key = "spot.endless", .why = "the run ended before the last step of the job", .holds = reaches_last_step, .is_unsure = true },
	{ .key = "spot.notice", .why = "the policy did not react to any notice", .use = SPOT_USED_NOTICE },
	{ .key = "spot.notice", .why = "no spot instance was taken", .metric = "spot_hours", .is_unsure = true },
	{ .key = "spot.notice", .why = "the policy read notices, but called no function that changes the run when one was given",
		.use = SPOT_USED_NOTICE_ACT, .is_unsure = true },
	{ .key = "spot.price", .why = "no spot instance was taken at the default price", .use = SPOT_USED_PRICE },
	{ .key = "prices", .why = "no spot instance was taken at a price of the series", .use = SPOT_USED_PRICES },
	{ .key = "spot.target", .why = "no offer was declined because of this limit", .use = SPOT_USED_TARGET },
	{ .key = "spot.quota", .why = "no offer was declined because of this limit", .use = SPOT_USED_QUOTA },
	{ .key = "spot.on_demand_quota", .why = "no request exceeded this limit", .use = SPOT_USED_ON_DEMAND_QUOTA },
	{ .key = "spot.max_price", .why = "no offer was declined because of this limit", .use = SPOT_USED_MAX_PRICE },
	{ .key = "spot.storage_Bps", .why = "the job has no state (state_bytes)", .holds = has_state },
	{ .key = "spot.node_Bps", .why = "the job has no state (state_bytes)", .holds = has_state },
	{ .key = "spot.storage_Bps", .why = "every checkpoint takes the same time with the default", .use = SPOT_USED_STORAGE },
	{ .key = "spot.node_Bps", .why = "every checkpoint takes the same time with the default", .use = SPOT_USED_NODE_BPS },
	{ .key = "spot.storage_Bps", .why = "some checkpoints take the same time with the default, or the job never paused", .holds = pauses_by_storage,
		.is_unsure = true },
	{ .key = "spot.node_Bps", .why = "some checkpoints take the same time with the default, or the job never paused", .holds = pauses_by_node,
		.is_unsure = true },
	{ .key = "spot.storage_latency", .why = "the policy requested no checkpoint time",
		.use = SPOT_USED_CHECKPOINT },
	{ .key = "spot.storage_latency", .why = "no checkpoint paused the job", .metric = "checkpoint_part", .is_unsure = true },
	{ .key = "spot.egress_usd_per_GB", .why = "no byte was sent between zones", .use = SPOT_USED_EGRESS },
	{ .key = "spot.max_calls_per_instant", .why = "the limit was not reached" },
	{ .key = "policy_timeout", .why = "no call of the policy reached the limit" },
	{ .key = "spot.ci_level", .why = "one replication has no interval", .holds = has_intervals },
	{ .key = "record", .why = "a sample of up to 10000 rows contains every row", .holds = has_more_rows },
	{ .key = "until", .why = "the run ended before that time", .holds = ends_at_until },
	{ .key = "seed", .why = "nothing of this run is drawn at random", .holds = is_drawn },
	{ .key = "seed", .why = "no spot instance was taken", .metric = "spot_hours", .is_unsure = true },
	{ 0 }
};
/* clang-format on */

__attribute__((format(printf, 2, 3))) static void assume(struct run_result *r, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	result_note(r, "assumption", text);
}

static void note_prices(const struct spot_state *t, unsigned used, struct run_result *r)
{
	const struct metric *spot = result_find(r, "spot_hours");
	if (!spot || !(spot->value > 0))
		return;
	if (t->prices)
		assume(r, "prices of %.100s; spot.price before its first row and where it has no price", availset_source(t->prices));
	else if (availset_has_prices(t->capacity))
		assume(r, "prices of the trace; spot.price where it has no price");
	else if (used & SPOT_USED_PRICE)
		assume(r, "one price of spot instances at all times: spot.price = %g USD/h", orr_arg_real(t->config.options, "price"));
}

/* Adds a remark on runs that continue after the end of the trace: from then on no instance is added or removed, which lowers the
 * losses per hour. */
static void note_end(const struct scenario *s, struct run_result *r)
{
	const struct spot_state *t = s->state;
	int64_t end = availset_end_ns(t->capacity);
	const struct metric *over = result_find(r, "makespan_s"), *complete = result_find(r, "is_complete");
	double end_s = over ? over->value : 0;
	if (end < ORR_NEVER && end_s * 1e9 > (double)end * 1.001)
		assume(r,
			"after the end of the trace (%.4g h) the instances present at its end remain, and no new instance is offered "
			"(--until "
			"sets an earlier end of the run; a generator with length=0 has no end)",
			(double)end / 3600e9);
	uint32_t least = elastic_least(t->job);
	const struct metric *steps = result_find(r, "steps"), *lost = result_find(r, "lost_steps");
	if (steps && !(steps->value > 0) && !(lost && lost->value > 0) && least > 1) {
		char text[300];
		snprintf(text, sizeof text,
			"no step was run: the smallest shape of job %.100s with a step time has %u instances, and a policy may need more "
			"(its depth, its number of pipelines)",
			t->job->name, least);
		result_note(r, "remark", text);
	}
	if (s->until_ns == ORR_NEVER && complete && !(complete->value > 0))
		result_note(r, "remark", "the job is incomplete: no pending event could continue it");
}

/* Notes the source of the bytes of activations between stages (docs/models/spot.md). */
static void note_activations(const struct scenario *s, const struct spot_state *t, unsigned used, struct run_result *r)
{
	const struct elastic *job = t->job;
	double least = INFINITY, most = 0;
	for (uint32_t i = 0; i < job->n_figures; i++)
		if (!strcmp(job->figure[i].name, "activation_bytes"))
			return;
	if (!(orr_arg_real(s->options, "egress_usd_per_GB") > 0) || !(used & SPOT_USED_EGRESS) || !(job->depth > 1))
		return;
	for (uint32_t i = 0; i < job->n_points; i++)
		if (job->point[i].activation_bytes > 0) {
			least = fmin(least, job->point[i].activation_bytes);
			most = fmax(most, job->point[i].activation_bytes);
		}
	if (!(most > 0))
		assume(r,
			"activations between stages in different zones are not charged: the \"figures\" of job %.100s have no "
			"activation_bytes; gradients and copies of state are charged",
			job->name);
	else if (least < most)
		assume(r,
			"activations between stages, %.4g to %.4g MB per sample: outputs of the layers of %.100s at the cuts of a "
			"pipeline, "
			"mean over the cuts by depth",
			least / 1e6, most / 1e6, job->step->model);
	else
		assume(r, "activations between stages, %.4g MB per sample: outputs of the layers of %.100s at the cuts of a pipeline",
			most / 1e6, job->step->model);
}

/* The unused part of an hour is a cost of the step in which the instance ends, so it hardly changes a mean over the time of all steps. */
static void note_hours(struct run_result *r)
{
	const struct metric *value = result_find(r, "value"), *whole = result_find(r, "value_ratio");
	double hours_usd = 0;
	for (size_t i = 0; i < r->n_accounts; i++)
		if (!strcmp(r->accounts[i].account, "rounding"))
			hours_usd += r->accounts[i].usd;
	if (hours_usd > 0 && value && whole && fabs(value->value / whole->value - 1) > 0.05)
		assume(r,
			"value nearly omits the unused parts of paid hours (%.4g USD), which are costs of single steps: samples/s over "
			"USD/h is "
			"%.4g (metric value_ratio)",
			hours_usd, whole->value);
}

/* Returns the largest number of instances with a step time or, without shapes, with a value of a curve. */
static double most_used(const struct elastic *job)
{
	double most = 0;
	for (uint32_t i = 0; i < job->n_points; i++)
		most = fmax(most, (double)job->point[i].pipelines * job->point[i].depth);
	for (uint32_t i = 0; i < job->n_curves && !job->n_points; i++)
		most = fmax(most, (double)job->curve[i].first + job->curve[i].n - 1);
	return most;
}

/* Policies take every offer up to spot.target, and pay for instances that no shape uses. */
static void note_spares(const struct spot_state *t, struct run_result *r)
{
	const struct metric *live = result_find(r, "mean_live"), *own = result_find(r, "on_demand_hours");
	double most = most_used(t->job);
	char text[200];
	if (!live || !own || own->value > 0 || !(most > 0) || !(live->value > 1.1 * most))
		return;
	snprintf(text, sizeof text,
		"%.3g instances were live on average, all paid; the largest shape of job %.60s has %g (spot.target=%g takes no more)",
		live->value, t->job->name, most, most);
	result_note(r, "remark", text);
}

/* The simulators published with Bamboo go on after a fatal failure as if the state were kept. */
static void note_fatal(struct run_result *r)
{
	const struct metric *fatal = result_find(r, "fatal");
	if (r->policy && !strcmp(r->policy, "bamboo") && fatal && fatal->value > 0 && !result_find(r, "checkpoints"))
		assume(r,
			"fatal failures lose at most the step in flight, as in the simulator of Bamboo's authors, which has no checkpoints "
			"(policy.%s.rollback=on or rules=event: the steps since the last checkpoint)",
			r->label);
}

static void note_spot(const struct scenario *s, size_t i, struct run_result *r)
{
	struct spot_state *t = s->state;
	unsigned used = atomic_load(&t->used[i]);
	assume(r,
		"step times of job %.100s, regardless of the instance type; pauses for restart and reconfiguration are those of the "
		"policy's parameters and of the job",
		t->job->name);
	note_activations(s, t, used, r);
	note_prices(t, used, r);
	note_hours(r);
	note_fatal(r);
	note_spares(t, r);
	note_end(s, r);
}

static int finish_spot(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	(void)err;
	if (s->replications == 1)
		compare_plainly(runs, n);
	return ORR_OK;
}

/* ---- the descriptor ---- */

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/spot/policies.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const policies[] = {
#include "policies/spot/policies.def"
	NULL
};

static const struct world_function functions[] = { WORLD_FUNCTION(orr_spot_ops, create), WORLD_FUNCTION(orr_spot_ops, destroy),
	{ NULL, 0 } };

extern const struct embedded_file spot_template[];

/* clang-format off */
static const struct orr_param keys[] = {
	ORR_PARAM_TEXT("trace", "", "a file (gzip and zstd are decompressed), - for standard input, or a generator: NAME[:param=value,..]"),
	ORR_PARAM_TEXT("format", "auto", "auto, or a format ('orrery trace list' shows all)"),
	ORR_PARAM_TEXT("prices", "", "spot prices over time: a file or a generator; empty: those of the trace, else spot.price"),
	SCENARIO_KEY_UNTIL,
	SCENARIO_KEY_RECORD,
	ORR_PARAM_END
};
static const struct world_object objects[] = {
	{ "trace_options", NULL, "parameters of the format (docs/traces.md)", NULL },
	{ "job", NULL, "an elastic job: a name, a file or an object",
		"{\"type\": [\"string\", \"object\"]}" },
	{ NULL, NULL, NULL, NULL }
};
static const char *const shown[] = { "trace_sha256", "prices_sha256", "job_sha256", "steps_sha256", "spot_files_sha256", NULL };
static const struct world_input inputs[] = {
	{ "trace", NULL }, { "job", "job_sha256" }, { "prices", "prices_sha256" }, { NULL, NULL }
};
static void put_formats(struct sbuf *out)
{
	trace_format_names(TRACE_AVAIL, out);
}
static const struct world_flag flags[] = {
	{ "format", "F", WORLD_FLAG_KEY, "format", NULL, NULL, put_formats },
	{ "job", "J", WORLD_FLAG_KEY, "job", NULL, "job to train: a name (orrery model list --elastic) or FILE.json" },
	{ "prices", "FILE", WORLD_FLAG_KEY, "prices", NULL,
		"spot prices over time by zone: a file or the generator price:..\n(default: those of the trace, else spot.price); "
		"an instance's own\nprice in the trace takes precedence" },
	{ "repair", NULL, WORLD_FLAG_KEY, "trace_options.repair", "all",
		"sort the trace's rows by time, skip impossible rows and list them;\nwithout --repair, such rows are errors" },
	{ "exact", NULL, WORLD_FLAG_EXTRA, NULL, "", "one event per step, instead of one per run of steps between other events;\nthe results are bit-identical" },
	{ "until", "TIME", WORLD_FLAG_KEY, "until", NULL, "end of the simulation (30d, 12h, ...)" },
	{ "record", "WHAT", WORLD_FLAG_KEY, "record", NULL, "rows kept: metrics, summary, sample, all or explain (default: all,\nup to a million; explain: also the parts of orrery explain)" },
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
/* clang-format on */

static const struct report_file files[] = { { "iterations", false }, { "nodes", false }, { "accounts", false }, { NULL, false } };

/* Columns of the table, in order. docs/reference/schema.md defines the metrics. */
static const struct report_column columns[] = {
	{ "samples_per_s", "samples/s", REPORT_NUMBER, NULL, true, true },
	{ "usd_per_hour", "USD/h", REPORT_NUMBER, NULL },
	{ "value", "value", REPORT_NUMBER, NULL },
	{ "useful_part", "useful", REPORT_FRACTION, NULL },
	{ "redundant_part", "redundant", REPORT_FRACTION, NULL },
	{ "paused_part", "paused", REPORT_FRACTION, NULL },
	{ "wasted_part", "wasted", REPORT_FRACTION, NULL },
	{ "idle_part", "idle", REPORT_FRACTION, NULL },
	{ "preemptions", "preemptions", REPORT_NUMBER, NULL },
	{ "makespan_s", "time", REPORT_TIME, NULL },
	{ "usd", "USD", REPORT_NUMBER, NULL },
	{ NULL, NULL, REPORT_NUMBER, NULL },
};

const struct world world_spot = { .name = "spot",
	.doc = "train on preemptible capacity; progress and cost",
	.policies = policies,
	.ops_size = sizeof(struct orr_spot_ops),
	.functions = functions,
	.oracle = "removals to come",
	.template = spot_template,
	.example = "spot hazard:p=0.1 --job bamboo-bert --policy on-demand",
	.keys = keys,
	.objects = objects,
	.options = spot_options,
	.shown = shown,
	.inputs = inputs,
	.usage = "orrery spot TRACE --job NAME|FILE --policy A[,B..] [OPTIONS]",
	.about = "Trains an elastic job on preemptible capacity under each policy, and compares\nprogress and cost.",
	.source = "TRACE",
	.source_hint = "a file, or a generator such as hazard:p=0.1",
	.source_doc = "a file of instance availability (gzip and zstd too, - is standard\n"
		      "input), one per zone as zones:us-a=FILE,us-b=FILE, or a generator:\n"
		      "hazard:p=0.1 and others (orrery trace list)",
	.flags = flags,
	.examples = "Example: a day in which a tenth of the instances is removed each hour, and its cost:\n"
		    "  orrery spot hazard:p=0.1,slots=48,length=1d --job bamboo-bert --policy on-demand,bamboo \\\n"
		    "    --set spot.price=0.92 --set spot.on_demand_price=3.06\n",
	.form = { .columns = columns,
		.files = files,
		.series_if_any = true,
		.has_marks = true,
		.oracle = "the times of preemptions, unlike real policies" },
	.open = open_spot,
	.is_random = is_spot_random,
	.run = run_spot,
	.give = give_spot,
	.take = take_spot,
	.effects = effects,
	.used = used_by_spot,
	.note = note_spot,
	.finish = finish_spot,
	.close = close_spot };
