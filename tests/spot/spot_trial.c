/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/spot/spot_trial.h"

#include "base/param.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct availset *load_rows(const struct spot_trial *t, struct orr_error *err)
{
	char path[] = "/tmp/spot_trial_XXXXXX";
	if (t->generator)
		return availset_load(t->generator, NULL, NULL, t->seed, err);
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NULL;
	fputs(t->rows, f);
	fclose(f);
	struct availset *set = availset_load(path, "bamboo", NULL, 1, err);
	unlink(path);
	return set;
}

static bool set_all(struct orr_args *args, const char *pairs, struct orr_error *err)
{
	char pair[200];
	bool good = args != NULL;
	for (const char *s = pairs ? pairs : ""; good && *s; s += strspn(s, " ")) {
		size_t n = strcspn(s, " ");
		snprintf(pair, sizeof pair, "%.*s", (int)n, s);
		good = !args_set_pair(args, pair, err);
		s += n;
	}
	return good;
}

struct run_result *spot_try(const struct spot_trial *t, struct orr_error *err)
{
	memset(err, 0, sizeof *err);
	struct run_result *r = NULL;
	struct availset *set = load_rows(t, err);
	struct elastic *job = elastic_parse("job", t->job, strlen(t->job), err);
	struct orr_args *options = args_new(spot_options, "spot", err), *args = args_new(t->policy->params, "policy", err);
	struct spot_config c = { .capacity = set,
		.job = job,
		.options = options,
		.seed = t->seed,
		.replication = t->replication,
		.until_ns = t->until_ns ? t->until_ns : ORR_NEVER,
		.exact = t->exact,
		.check = t->check,
		.record_iterations = t->record,
		.record_nodes = t->record,
		.explain = t->explain,
		.max_rows = 1000000,
		.policy_timeout_s = 60 };
	if (set && job && set_all(options, t->options, err) && set_all(args, t->settings, err)) {
		r = result_new();
		if (spot_run(&c, t->policy, args, t->policy->name, r, err)) {
			result_free(r);
			r = NULL;
		}
	}
	args_free(options);
	args_free(args);
	elastic_free(job);
	availset_free(set);
	return r;
}

double spot_metric(const struct run_result *r, const char *name)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	return m ? m->value : NAN;
}

double spot_account(const struct run_result *r, const char *name)
{
	for (size_t i = 0; r && i < r->n_accounts; i++)
		if (!strcmp(r->accounts[i].account, name))
			return r->accounts[i].node_s;
	return NAN;
}

static bool same_number(double a, double b)
{
	return !memcmp(&a, &b, sizeof a);
}

bool spot_same(const struct run_result *a, const struct run_result *b)
{
	bool same = a->n_metrics == b->n_metrics && a->n_accounts == b->n_accounts && a->n_iterations == b->n_iterations &&
		    a->n_nodes == b->n_nodes && a->n_events == b->n_events;
	for (size_t i = 0; same && i < a->n_metrics; i++)
		same = !strcmp(a->metrics[i].name, b->metrics[i].name) && same_number(a->metrics[i].value, b->metrics[i].value);
	for (size_t i = 0; same && i < a->n_accounts; i++)
		same = same_number(a->accounts[i].node_s, b->accounts[i].node_s) && same_number(a->accounts[i].usd, b->accounts[i].usd);
	for (size_t i = 0; same && i < a->n_iterations; i++) {
		const struct iteration_row *x = &a->iterations[i], *y = &b->iterations[i];
		same = x->number == y->number && same_number(x->start_s, y->start_s) && same_number(x->end_s, y->end_s) &&
		       same_number(x->samples, y->samples);
	}
	for (size_t i = 0; same && i < a->n_nodes; i++) {
		const struct node_row *x = &a->nodes[i], *y = &b->nodes[i];
		same = x->time_ns == y->time_ns && x->live == y->live && x->ready == y->ready && x->in_use == y->in_use &&
		       same_number(x->usd, y->usd);
	}
	for (size_t i = 0; same && i < a->n_events; i++)
		same = a->events[i].time_ns == b->events[i].time_ns && !strcmp(a->events[i].kind, b->events[i].kind);
	return same;
}

bool spot_both_ways(struct spot_trial t, int *trained)
{
	struct orr_error err = { 0 };
	struct run_result *one = spot_try(&t, &err);
	t.exact = true;
	struct run_result *each = one ? spot_try(&t, &err) : NULL;
	bool good = one && each && spot_same(one, each);
	*trained += one && spot_metric(one, "samples") > 0;
	if (!good)
		printf("# seed %llu %s %s %s: %s\n", (unsigned long long)t.seed, t.generator, t.options, t.settings,
			each ? "not the same" : err.text);
	result_free(one);
	result_free(each);
	return good;
}
