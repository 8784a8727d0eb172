/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/spot/spot_runs.h"

#include "base/param.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct availset *load_rows(const char *rows, struct orr_error *err)
{
	char path[] = "/tmp/spot_runs_XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NULL;
	fputs(rows, f);
	fclose(f);
	struct availset *set = availset_load(path, strncmp(rows, "time_s", 6) ? "bamboo" : "availability", NULL, 1, err);
	unlink(path);
	return set;
}

static bool set_all(struct orr_args *args, const char *pairs, struct orr_error *err)
{
	char pair[200];
	bool good = args != NULL;
	for (const char *s = pairs + strspn(pairs, " "); good && *s; s += strspn(s, " ")) {
		size_t n = strcspn(s, " ");
		snprintf(pair, sizeof pair, "%.*s", (int)n, s);
		good = !args_set_pair(args, pair, err);
		s += n;
	}
	return good;
}

bool spot_runs_open(struct spot_runs *s, const char *capacity, const char *rows, const char *job, const struct orr_policy *policy,
	const char *settings, const char *options, struct orr_error *err)
{
	memset(s, 0, sizeof *s);
	memset(err, 0, sizeof *err);
	s->policy = policy;
	s->set = rows ? load_rows(rows, err) : availset_load(capacity, NULL, NULL, 1, err);
	s->job = *job == '{' ? elastic_parse("job", job, strlen(job), err) : elastic_load(job, err);
	s->options = args_new(spot_options, "spot", err);
	s->args = args_new(policy->params, "policy", err);
	s->config = (struct spot_config){ .capacity = s->set,
		.job = s->job,
		.options = s->options,
		.seed = 1,
		.until_ns = ORR_NEVER,
		.check = true,
		.max_rows = 1000000,
		.policy_timeout_s = 60 };
	return s->set && s->job && set_all(s->options, options, err) && set_all(s->args, settings, err);
}

void spot_runs_close(struct spot_runs *s)
{
	args_free(s->options);
	args_free(s->args);
	elastic_free(s->job);
	availset_free(s->set);
}

struct run_result *spot_runs_run(struct spot_runs *s, uint64_t replication, struct orr_error *err)
{
	struct run_result *r = result_new();
	memset(err, 0, sizeof *err);
	s->config.replication = replication;
	if (!spot_run(&s->config, s->policy, s->args, s->policy->name, r, err))
		return r;
	result_free(r);
	return NULL;
}

double spot_runs_metric(const struct run_result *r, const char *name)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	return m ? m->value : NAN;
}
