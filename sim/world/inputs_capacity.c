/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/inputs_capacity.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct orr_param inputs_capacity_params[] = { ORR_PARAM_TEXT("trace", "",
							    "availability of instances: a file or a generator (orrery trace list)"),
	ORR_PARAM_TEXT("format", "auto", "format of the file"),
	ORR_PARAM_TEXT("options", "", "options of the format: NAME=VALUE,NAME=VALUE.."),
	ORR_PARAM_BOOL("repeat", false, "the trace starts again when it ends; instances present at that time remain"),
	ORR_PARAM_TIME("startup", "0", "time from taking an instance until its node is up"),
	ORR_PARAM_TIME("notice", "0", "time from the notice to the removal of a node; 0: no notice"),
	ORR_PARAM_REAL("price", "1", 0, 1e6, "USD per hour of an instance if neither the trace nor the price series has one"),
	ORR_PARAM_TEXT("prices", "", "price series in addition to the trace: a file or a generator"), ORR_PARAM_END };

/* Splits "a=1,b=2". */
static int split_options(const char *text, char *options[INPUTS_MOST_OPTIONS + 1], struct orr_error *err)
{
	int n = 0;
	options[0] = NULL;
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, ",");
		const char *eq = memchr(p, '=', len);
		if (!eq || eq == p)
			return orr_fail(err, ORR_EINPUT, "capacity.options: expected NAME=VALUE,NAME=VALUE.., found \"%.60s\"", p);
		if (n == INPUTS_MOST_OPTIONS)
			return orr_fail(err, ORR_EINPUT, "capacity.options: too many options: expected at most %d", INPUTS_MOST_OPTIONS);
		options[n++] = mem_strndup(p, len);
		options[n] = NULL;
		p += len + (p[len] == ',');
	}
	return ORR_OK;
}

bool inputs_has_instances(const struct availset *s)
{
	enum { MOST = 100000 };
	struct availcursor *c = availset_open(s, 0);
	struct avail_rec r = { .kind = AVAIL_PRICE };
	for (int i = 0; r.kind != AVAIL_ADD && i < MOST && availcursor_next(c, &r);)
		i++;
	availcursor_close(c);
	return r.kind == AVAIL_ADD;
}

static int load_sets(struct inputs_capacity *x, uint64_t seed, struct orr_error *err)
{
	char *options[INPUTS_MOST_OPTIONS + 1] = { NULL };
	const char *source = orr_arg_text(x->args, "trace"), *prices = orr_arg_text(x->args, "prices");
	int rc = split_options(orr_arg_text(x->args, "options"), options, err);
	if (!rc && !(x->set = availset_load(source, orr_arg_text(x->args, "format"), (const char *const *)options, seed, err)))
		rc = ORR_EINPUT;
	if (!rc && !inputs_has_instances(x->set))
		rc = orr_fail(err, ORR_EINPUT,
			"capacity.trace: %s: this trace has no instances: expected a trace of instances (capacity.prices names a file of "
			"prices)",
			source);
	if (!rc && *prices && !(x->prices = availset_load(prices, "auto", NULL, seed, err)))
		rc = ORR_EINPUT;
	if (!rc && x->prices && !availset_has_prices(x->prices))
		rc = orr_fail(err, ORR_EINPUT,
			"capacity.prices: %s: this file has no prices: expected rows with the columns time_s,zone,type,usd_per_hour",
			prices);
	inputs_options_free(options);
	return rc;
}

static int check_repeat(const struct inputs_capacity *x, struct orr_error *err)
{
	const struct availset *sets[] = { x->set, x->prices };
	for (int i = 0; orr_arg_bool(x->args, "repeat") && i < 2; i++)
		if (sets[i] && (!availset_has_end(sets[i]) || availset_end_ns(sets[i]) <= 0))
			return orr_fail(err, ORR_EINPUT,
				"capacity.repeat: %s: this trace has %s: expected a file with an end and a length above 0",
				availset_source(sets[i]), availset_has_end(sets[i]) ? "no length" : "no end");
	return ORR_OK;
}

int inputs_capacity(
	const cJSON *o, const struct cluster *c, uint64_t seed, bool has_failures, struct inputs_capacity *x, struct orr_error *err)
{
	x->is_given = cJSON_GetObjectItemCaseSensitive(o, "capacity");
	if (!x->is_given)
		return ORR_OK;
	if (!(x->args = scenario_args_at(o, "capacity", inputs_capacity_params, "capacity", err)))
		return ORR_EINPUT;
	if (!*orr_arg_text(x->args, "trace"))
		return orr_fail(err, ORR_EINPUT, "capacity: expected capacity.trace, a file or a generator of instances");
	if (has_failures)
		return orr_fail(err, ORR_EINPUT, "\"capacity\" and \"failures\" exclude each other: expected only one of them");
	if (!capacity_parts(c, err) || load_sets(x, seed, err) || check_repeat(x, err))
		return ORR_EINPUT;
	x->config = (struct capacity_config){ .set = x->set,
		.prices = x->prices,
		.repeats = orr_arg_bool(x->args, "repeat"),
		.startup_ns = orr_arg_time_ns(x->args, "startup"),
		.notice_ns = orr_arg_time_ns(x->args, "notice"),
		.usd_per_hour = orr_arg_real(x->args, "price") };
	return ORR_OK;
}

void inputs_tell_repairs(const struct availset *a)
{
	const struct avail_repairs *repairs = availset_repairs(a);
	for (int i = 0; i < AVAIL_REPAIRS; i++)
		if (repairs->rows[i])
			fprintf(stderr, "orrery: %s: %s: %" PRIu64 ", the first on line %" PRIu64 "\n", utf8_shown(availset_source(a)),
				avail_repair_name((enum avail_repair)i), repairs->rows[i], repairs->first_line[i]);
}

bool inputs_capacity_is_random(const struct inputs_capacity *x)
{
	return (x->set && !availset_is_loaded(x->set)) || (x->prices && !availset_is_loaded(x->prices));
}

void inputs_capacity_free(struct inputs_capacity *x)
{
	args_free(x->args);
	availset_free(x->set);
	availset_free(x->prices);
	*x = (struct inputs_capacity){ 0 };
}

void inputs_add_capacity(cJSON *o, const struct inputs_capacity *x)
{
	if (!x->is_given)
		return;
	cJSON_AddItemToObject(o, "capacity", scenario_args_json(x->args, inputs_capacity_params));
	cJSON_AddStringToObject(o, "capacity_sha256", availset_hash(x->set));
	if (x->prices)
		cJSON_AddStringToObject(o, "capacity_prices_sha256", availset_hash(x->prices));
}
