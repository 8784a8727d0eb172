/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serverless functions and costs. Formulas: docs/models/step-dorylus.md, "Money". */
#include "step/functions.h"

#include "step/exec.h"
#include "step/wire.h"

#include "base/mem.h"
#include "base/num.h"
#include "hwmodel/prices.h"

#include <gsl/gsl_randist.h>
#include <string.h>

struct functions {
	struct orr_functions what;
	double *since_s; /* start of the running invocation, by function; NAN: idle */
	uint64_t invoked, returned, running;
	uint64_t units;          /* number of billed units of rounding_s */
	double billed_s, used_s; /* billed and used time of invocations that have returned, s */
	struct rng rng;
};

double functions_memory(const struct orr_step *s, uint32_t function)
{
	(void)function;
	return s->functions->what.memory_bytes;
}

void functions_free(struct orr_step *s)
{
	if (!s->functions)
		return;
	mem_free(s->functions->since_s);
	mem_free(s->functions);
}

/* ---- in create() ---- */

static bool is_possible(struct orr_step *s, const struct orr_functions *f)
{
	const struct {
		const char *name;
		double value, least;
	} v[] = { { "bandwidth_Bps", f->bandwidth_Bps, 1e-9 }, { "latency_s", f->latency_s, 0 }, { "start_s", f->start_s, 0 },
		{ "start_spread", f->start_spread, 0 }, { "memory_bytes", f->memory_bytes, 1 }, { "usd_per_GB_s", f->usd_per_GB_s, 0 },
		{ "usd_per_request", f->usd_per_request, 0 }, { "rounding_s", f->rounding_s, 0 } };
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		if (!(v[i].value >= v[i].least) || isinf(v[i].value))
			step_fail(s, ORR_EFAIL, "orr_functions: %s: expected a number of at least %g, found %g", v[i].name, v[i].least,
				v[i].value);
	if (!f->n || f->n > STEP_MAX_FUNCTIONS)
		step_fail(s, ORR_EFAIL, "orr_functions: expected 1 to %d functions, found %u", STEP_MAX_FUNCTIONS, f->n);
	return !s->error.code;
}

/* Extends the arrays indexed by endpoint and initialises their new elements. */
static void extend(struct orr_step *s, uint32_t n)
{
	uint32_t before = s->endpoints, all = before + n;
	s->endpoints = all;
	s->node_of = mem_realloc(s->node_of, all + 1, sizeof *s->node_of);
	s->device = mem_realloc(s->device, all, sizeof *s->device);
	memset(s->device + before, 0, n * sizeof *s->device);
	for (uint32_t i = before; i < all; i++) {
		s->node_of[i] = NONE;
		s->device[i].first_s = NAN;
		s->device[i].speed = 1;
	}
	mem_free(s->stream);
	mem_free(s->recent);
	mem_free(s->total);
	s->stream = mem_zalloc((size_t)all * STEP_STREAMS, sizeof *s->stream);
	s->recent = mem_zalloc((size_t)all * STEP_MAX_PERIOD, sizeof *s->recent);
	s->total = mem_zalloc(all, sizeof *s->total);
}

uint32_t orr_functions(struct orr_step *s, const struct orr_functions *what)
{
	if (s->error.code)
		return NONE;
	if (s->built || s->building || s->functions || s->corun || s->map || !what)
		step_fail(s, ORR_EFAIL,
			"orr_functions: called too late, twice or with lanes: expected one call in create(), before orr_step_co_run(), by "
			"a policy without lanes");
	else if (s->shared_net)
		step_fail(s, ORR_EINPUT, "jobs share the network: expected a policy without functions");
	else if (is_possible(s, what)) {
		struct functions *f = s->functions = mem_zalloc(1, sizeof *f);
		f->what = *what;
		f->since_s = mem_alloc(what->n * sizeof *f->since_s);
		for (uint32_t i = 0; i < what->n; i++)
			f->since_s[i] = NAN;
		rng_init(&f->rng, s->config->seed, "function-start", 0);
		s->first_function = s->endpoints;
		extend(s, what->n);
		wire_extend(s, what);
		s->keeps_money = true;
		return s->first_function;
	}
	return NONE;
}

/* ---- invocations ---- */

double functions_start_s(struct orr_step *s)
{
	struct functions *f = s->functions;
	if (!(f->what.start_spread > 0))
		return f->what.start_s;
	*s->uses |= STEP_USED_RANDOM;
	return f->what.start_s * gsl_ran_lognormal(rng_gsl(&f->rng), 0, f->what.start_spread);
}

static void begin(struct orr_step *s, uint32_t function)
{
	struct functions *f = s->functions;
	double *since = &f->since_s[function - s->first_function];
	if (!isnan(*since)) {
		step_fail(s, ORR_EFAIL,
			"orr_invoke: function %u has been running an invocation since %.9g s: expected an earlier call of orr_returns()",
			function, *since);
		return;
	}
	*since = s->now_s;
	f->invoked++;
	f->running++;
}

static void end(struct orr_step *s, uint32_t function)
{
	struct functions *f = s->functions;
	double *since = &f->since_s[function - s->first_function];
	if (isnan(*since)) {
		step_fail(s, ORR_EFAIL, "orr_returns: function %u has no running invocation: expected an earlier call of orr_invoke()",
			function);
		return;
	}
	double used = s->now_s - *since, unit = f->what.rounding_s;
	/* Rounds up to whole units. A relative tolerance of 1e-9 keeps rounding errors from adding a unit to an exact multiple. */
	double units = unit > 0 ? ceil(used / unit * (1 - 1e-9)) : 0;
	f->units += (uint64_t)units;
	f->billed_s += unit > 0 ? units * unit : used;
	f->used_s += used;
	f->returned++;
	f->running--;
	*since = NAN;
}

void functions_op_starts(struct orr_step *s, const struct op *o, uint32_t device, uint32_t peer)
{
	const uint32_t used[] = { device, peer };
	for (uint32_t i = 0; i < 2 && !s->error.code; i++)
		if (used[i] != NONE && used[i] >= s->first_function && isnan(s->functions->since_s[used[i] - s->first_function]))
			step_fail(s, ORR_EFAIL, "at %.9g s: %s on function %u, which runs no invocation: expected an op after orr_invoke()",
				s->now_s, o->type == OP_COMPUTE ? "work" : "a message", used[i]);
}

void functions_op_ended(struct orr_step *s, const struct op *o)
{
	if (o->is_invoke)
		begin(s, o->function - 1);
	else
		end(s, o->function - 1);
}

/* ---- money ---- */

int money_begin(struct orr_step *s)
{
	const struct cluster *c = s->config->cluster;
	const char *text = orr_arg_text(s->config->options, "prices");
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++)
		s->usd_per_hour[t] = NAN;
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		const char *equals = memchr(p, '=', n);
		double usd;
		uint32_t t = 0;
		if (!equals || !num_real(equals + 1, n - (size_t)(equals + 1 - p), &usd) || !(usd >= 0) || usd > 1e6)
			return orr_fail(&s->error, ORR_EINPUT,
				"step.prices: expected TYPE=USD_PER_HOUR,.. with prices from 0 to 1e6, such as v100=3.06, found \"%.80s\"",
				p);
		size_t len = (size_t)(equals - p);
		while (t < c->n_types && (strlen(c->type_name[t]) != len || memcmp(c->type_name[t], p, len)))
			t++;
		if (t == c->n_types)
			return orr_fail(&s->error, ORR_EINPUT,
				"step.prices: unknown GPU type \"%.*s\": expected types of the cluster, such as %s",
				(int)(len < 60 ? len : 60), p, c->n_types ? c->type_name[0] : "-");
		s->usd_per_hour[t] = usd;
		p += n + (p[n] == ',');
	}
	return ORR_OK;
}

void orr_step_money(struct orr_step *s)
{
	if (s->built || s->building)
		step_fail(s, ORR_EFAIL, "orr_step_money: called outside create(): expected a call in create()");
	s->keeps_money = true;
}

int money_prices(struct orr_step *s)
{
	const struct cluster *c = s->config->cluster;
	for (uint32_t t = 0; t < c->n_types && s->keeps_money; t++) {
		struct price p;
		*s->uses |= STEP_USED_MONEY;
		const char *device = s->config->device[t] ? s->config->device[t]->name : c->type_name[t];
		if (!isnan(s->usd_per_hour[t]))
			continue;
		if (!price_find(device, &p, &s->error)) {
			if (!s->error.code)
				orr_fail(&s->error, ORR_EINPUT, "no price of %s is known: expected --set step.prices=%s=USD_PER_HOUR",
					c->type_name[t], c->type_name[t]);
			return s->error.code;
		}
		s->usd_per_hour[t] = p.usd_per_gpu_hour;
	}
	return ORR_OK;
}

static double node_usd(const struct orr_step *s, double time_s)
{
	const struct cluster *c = s->config->cluster;
	double per_hour = 0;
	for (uint32_t n = 0; n < c->n_nodes; n++)
		per_hour += c->node[n].gpus ? c->node[n].gpus * s->usd_per_hour[c->node[n].type] : 0;
	return per_hour * time_s / 3600;
}

static double gigabytes(const struct functions *f)
{
	return f->what.memory_bytes / 0x1p30;
}

static double function_usd(const struct functions *f)
{
	return f ? f->billed_s * gigabytes(f) * f->what.usd_per_GB_s + (double)f->invoked * f->what.usd_per_request : 0;
}

double orr_step_usd(const struct orr_step *s)
{
	return s->keeps_money ? node_usd(s, fmax(s->now_s, 0)) + function_usd(s->functions) : 0;
}

int functions_returned(struct orr_step *s)
{
	const struct functions *f = s->functions;
	for (uint32_t i = 0; f && f->running && !s->error.code && i < f->what.n; i++)
		if (!isnan(f->since_s[i]))
			step_fail(s, ORR_EFAIL,
				"function %u runs an invocation at the end of the run: expected orr_returns() for each orr_invoke()",
				s->first_function + i);
	return s->error.code;
}

int money_check(struct orr_step *s)
{
	const struct functions *f = s->functions;
	if (!f || s->error.code)
		return s->error.code;
	double unit = f->what.rounding_s, more = f->billed_s - f->used_s, slack = 1e-9 * (f->billed_s + unit);
	if (f->invoked != f->returned + f->running || f->running)
		return orr_fail(&s->error, ORR_EFAIL,
			"check: %llu invocations: expected the sum of %llu that returned and %llu that run at the end",
			(unsigned long long)f->invoked, (unsigned long long)f->returned, (unsigned long long)f->running);
	if (more < -slack || more > unit * (double)f->returned + slack || (unit > 0 && fabs((double)f->units * unit - f->billed_s) > slack))
		return orr_fail(&s->error, ORR_EFAIL,
			"check: functions ran for %.17g s: expected at most the billed time, %.17g s in units of %g s", f->used_s,
			f->billed_s, unit);
	return wire_check_functions(s);
}

void money_result(const struct orr_step *s, double time_s, struct step_money *out)
{
	const struct functions *f = s->functions;
	*out = (struct step_money){ .is_kept = s->keeps_money };
	if (!s->keeps_money)
		return;
	out->time_s = time_s;
	out->node_usd = node_usd(s, time_s);
	if (!f)
		return;
	out->functions = f->what.n;
	out->function_GB_s = f->billed_s * gigabytes(f);
	out->function_s = f->used_s;
	out->invocations = f->invoked;
	out->function_usd = function_usd(f);
}
