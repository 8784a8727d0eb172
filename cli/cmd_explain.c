/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery explain: where the time of a job, a request, an iteration or a node went */
#include "cli/cli.h"

#include "base/num.h"
#include "base/utf8.h"
#include "results/parts.h"
#include "results/store.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The options that name a subject. table: rows whose names the option accepts in addition to numbers; NULL: numbers only. */
static const struct entity {
	const char *option, *name, *table;
} entities[] = {
#define ENTITY_NAMED(option, name, table) { #option, #name, #table },
#define ENTITY(option, name) { #option, #name, NULL },
#include "results/entities.def"
#undef ENTITY
#undef ENTITY_NAMED
};
enum { ENTITIES = sizeof entities / sizeof *entities };

struct options {
	const struct entity *entity;
	const char *file, *id;
	int64_t run; /* 0: all runs */
	bool json;
};

/* State while the runs of a database are read. */
struct explanation {
	const struct options *o;
	struct store *s;
	cJSON *list; /* with --json */
	size_t printed;
	struct orr_error *err;
};

static int parse(int argc, char **argv, struct options *o, struct orr_error *err)
{
	struct option longs[ENTITIES + 3] = { 0 };
	for (int i = 0; i < ENTITIES; i++)
		longs[i] = (struct option){ entities[i].option, required_argument, NULL, i };
	longs[ENTITIES] = (struct option){ "run", required_argument, NULL, 'r' };
	longs[ENTITIES + 1] = (struct option){ "json", no_argument, NULL, 'j' };
	opterr = 0;
	optind = 1;
	int c;
	while ((c = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (c == 'j') {
			o->json = true;
		} else if (c == 'r') {
			if (!num_int(optarg, strlen(optarg), &o->run) || o->run < 1)
				return orr_fail(err, ORR_EINPUT, "--run: expected a whole number from 1, found \"%.60s\"", optarg);
		} else if (c >= 0 && c < ENTITIES) {
			if (o->id)
				return orr_fail(
					err, ORR_EINPUT, "explain: expected only one of the options --job, --request, --step and --node");
			o->entity = &entities[c];
			o->id = optarg;
		} else {
			return cli_bad_option(argc, argv, c, longs, err);
		}
	}
	if (argc - optind != 1 || !o->id)
		return orr_fail(err, ORR_EINPUT,
			"explain: expected a database and one of --job ID, --request ID, --step K and --node N; 'orrery explain --help' "
			"shows the forms");
	o->file = argv[optind];
	return ORR_OK;
}

/* Sets *number to the number of the subject in the run; -1: the run has no such row. */
static int find_subject(const struct explanation *x, int64_t run, int64_t *number)
{
	const struct options *o = x->o;
	if (o->entity->table) {
		int code = store_find_subject(x->s, run, o->entity->table, o->id, number, x->err);
		int64_t n;
		if (*number < 0 && num_int(o->id, strlen(o->id), &n) && n >= 0) /* a world other than the jobs world has no rows of jobs */
			*number = n;
		return code;
	}
	if (!num_int(o->id, strlen(o->id), number) || *number < 0)
		return orr_fail(x->err, ORR_EINPUT, "--%s: expected a whole number from 0, found \"%.60s\"", o->entity->option, o->id);
	return ORR_OK;
}

static void print_table(const struct part_row *rows, size_t n)
{
	char begin[NUM_SECONDS_MAX], end[NUM_SECONDS_MAX], time[NUM_SECONDS_MAX];
	printf("%20s  %20s  %18s  %-14s  %-24s  %s\n", "begin, s", "end, s", "time, s", "kind", "cause", "numbers");
	for (size_t i = 0; i < n; i++) {
		num_put_seconds(begin, rows[i].begin_ns);
		num_put_seconds(end, rows[i].end_ns);
		num_put_seconds(time, rows[i].end_ns - rows[i].begin_ns);
		printf("%20s  %20s  %18s  %-14s", begin, end, time, utf8_shown(rows[i].kind));
		if (rows[i].cause || rows[i].detail)
			printf("  %-*s", rows[i].detail ? 24 : 0, utf8_shown(rows[i].cause));
		printf("%s%s\n", rows[i].detail ? "  " : "", utf8_shown(rows[i].detail));
	}
}

static void add_text(cJSON *o, const char *key, const char *text)
{
	if (text)
		cJSON_AddStringToObject(o, key, text);
	else
		cJSON_AddNullToObject(o, key);
}

static void add_number(cJSON *o, const char *key, int64_t v)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, v);
	cJSON_AddRawToObject(o, key, text);
}

static void add_json(
	const struct explanation *x, const struct stored_run *run, uint64_t number, const char *sentence, const struct run_result *r)
{
	cJSON *o = cJSON_CreateObject(), *list;
	add_number(o, "run", run->run);
	cJSON_AddStringToObject(o, "label", run->label);
	cJSON_AddStringToObject(o, "policy", run->policy);
	cJSON_AddStringToObject(o, "entity", x->o->entity->name);
	cJSON_AddStringToObject(o, "id", x->o->id);
	add_number(o, "subject", (int64_t)number);
	cJSON_AddStringToObject(o, "sentence", sentence);
	list = cJSON_AddArrayToObject(o, "parts");
	for (size_t i = 0; i < r->n_parts; i++) {
		cJSON *part = cJSON_CreateObject();
		add_number(part, "begin_ns", r->parts[i].begin_ns);
		add_number(part, "end_ns", r->parts[i].end_ns);
		cJSON_AddStringToObject(part, "kind", r->parts[i].kind);
		add_text(part, "cause", r->parts[i].cause);
		add_text(part, "detail", r->parts[i].detail);
		cJSON_AddItemToArray(list, part);
	}
	cJSON_AddItemToArray(x->list, o);
}

/* A job that starts at once and only computes has no parts. Appends its sentence; appends nothing for other subjects. */
static int say_plain(const struct explanation *x, int64_t run, uint64_t number, struct sbuf *sentence)
{
	int64_t wait, ran;
	bool found;
	if (strcmp(x->o->entity->name, "job") != 0 || number > UINT32_MAX)
		return ORR_OK;
	int code = store_read_job(x->s, run, number, &wait, &ran, &found, x->err);
	if (code || !found || wait)
		return code;
	sbuf_printf(sentence, "job %s started at once; ran ", x->o->id);
	part_put_time(sentence, ran);
	return ORR_OK;
}

static int explain_subject(struct explanation *x, const struct stored_run *run, uint64_t number)
{
	struct run_result *r = result_new();
	struct sbuf sentence = { 0 };
	int code = store_read_parts(x->s, run->run, x->o->entity->name, number, r, x->err);
	if (!code && r->n_parts)
		part_sentence(&sentence, x->o->id, r->parts, r->n_parts);
	else if (!code)
		code = say_plain(x, run->run, number, &sentence);
	if (!code && sentence.len) {
		if (x->list) {
			add_json(x, run, number, sbuf_text(&sentence), r);
		} else {
			printf("%srun %" PRId64 ", %s: %s\n", x->printed ? "\n" : "", run->run, utf8_shown(run->label),
				utf8_shown(sbuf_text(&sentence)));
			if (r->n_parts)
				print_table(r->parts, r->n_parts);
		}
		x->printed++;
	}
	sbuf_free(&sentence);
	result_free(r);
	return code;
}

static int no_parts(const struct explanation *x)
{
	static const char remedy[] = "expected a run that was made with --record explain";
	const struct options *o = x->o;
	if (o->run)
		return orr_fail(
			x->err, ORR_EINPUT, "%s: run %" PRId64 " has no parts of %ss: %s", o->file, o->run, o->entity->name, remedy);
	return orr_fail(x->err, ORR_EINPUT, "%s: no run has parts of %ss: %s", o->file, o->entity->name, remedy);
}

static int explain_run(struct explanation *x, const struct stored_run *run, bool *has_any)
{
	int64_t number;
	bool has;
	int code = store_has_parts(x->s, run->run, x->o->entity->name, &has, x->err);
	if (!code && !has && !strcmp(x->o->entity->name, "job")) /* all jobs of the run started at once */
		code = store_has_parts(x->s, run->run, "node", &has, x->err);
	if (code || !has)
		return code;
	*has_any = true;
	code = find_subject(x, run->run, &number);
	return code || number < 0 ? code : explain_subject(x, run, (uint64_t)number);
}

static int explain_runs(struct explanation *x)
{
	const struct options *o = x->o;
	struct stored_run *list;
	size_t n;
	bool has_run = false, has_any = false;
	int code = store_list(x->s, &list, &n, x->err);
	if (code)
		return code;
	for (size_t i = 0; !code && i < n; i++) {
		if (o->run && list[i].run != o->run)
			continue;
		has_run = true;
		code = explain_run(x, &list[i], &has_any);
	}
	store_list_free(list, n);
	if (code)
		return code;
	if (!has_run && o->run)
		return orr_fail(x->err, ORR_EINPUT, "%s: no run %" PRId64 ": expected a run that 'orrery db runs' lists", o->file, o->run);
	if (!has_any)
		return no_parts(x);
	if (!x->printed)
		return orr_fail(x->err, ORR_EINPUT,
			"%s: no %s %.60s with parts: expected an id of the table of %ss; a subject without duration has no parts, and a "
			"run with too many rows keeps a sample of the subjects",
			o->file, o->entity->name, o->id, o->entity->name);
	return ORR_OK;
}

static int run_explain(int argc, char **argv, struct orr_error *err)
{
	struct options o = { 0 };
	int code = parse(argc, argv, &o, err);
	if (code)
		return code;
	struct explanation x = { .o = &o, .s = store_open_readonly(o.file, err), .err = err };
	if (!x.s)
		return err->code;
	cJSON *top = cJSON_CreateObject();
	if (o.json)
		x.list = cJSON_AddArrayToObject(top, "explanations");
	code = explain_runs(&x);
	if (!code && o.json)
		cli_put_json(top);
	cJSON_Delete(top);
	store_close(x.s, NULL);
	return code;
}

const struct cli_command cmd_explain = {
	.name = "explain",
	.doc = "where the time of a job, a request, an iteration or a node went, and why",
	.help = "usage: orrery explain DB --job ID | --request ID | --step K | --node N [--run N] [--json]\n"
		"\n"
		"Divides the time of one subject by cause. The runs must have been made with --record explain.\n"
		"\n"
		"  --job ID             a job: its id in the trace, or its number\n"
		"  --request ID         a request\n"
		"  --step K             an iteration of a training step, from 0\n"
		"  --node N             a node or an instance, by number, from 0\n"
		"  --run N              only this run of the database; default: every run that has the subject\n"
		"  --json               the sentence and the parts as JSON\n"
		"\n"
		"Each part is a stretch of time with its kind, its cause and numbers. The parts of a subject follow\n"
		"one another without gaps, from submission or arrival to the end. A job that starts at once and only\n"
		"computes has no parts.\n"
		"\n"
		"Example:\n"
		"  orrery jobs philly-like:n=500 --cluster 4x8 --policy fifo --record explain --db runs.db -q\n"
		"  orrery explain runs.db --job 17\n",
	.run = run_explain,
};
