/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/map_names.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "traces/mapped.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const struct map_name map_job_names[] = {
	{ "job_id", " id jobid jobname name job uid uuid taskid podname pod instancesn runid " },
	{ "submit", " submittime submissiontime submitted submittedat submittedtime created createdat createtime creationtime "
		    "creationtimestamp "
		    "arrival arrivaltime arrivedat queuedat timestamp enqueuetime requestedat time " },
	{ "start", " starttime started startedat begin began begintime scheduled scheduledat scheduledtime launchedat launchtime " },
	{ "end", " endtime ended endedat finish finished finishedat finishtime completed completedat completiontime completetime stop "
		 "stoptime "
		 "stoppedat deletiontime deletedat " },
	{ "duration",
		" elapsed elapsedtime elapsedraw runtime runtimes runseconds walltime executiontime exectime servicetime seconds length "
		"durationseconds durationsec " },
	{ "wait", " waittime waiting waitingtime queuetime queueingtime queuedelay pendingtime delay " },
	{ "gpus", " gpu numgpu numgpus ngpu ngpus gpunum gpucount gpurequest gpusrequested gpureq reqgpus devices numdevices accelerators "
		  "numgpusrequested gpusallocated " },
	{ "gpu_milli", " gpumillis gpushare gpupermille " },
	{ "cpus", " cpu numcpu numcpus ncpu ncpus cpunum cpucount cores numcores ncores cpurequest vcpus reqcpus " },
	{ "mem", " memory memmib memorymib memorymb memmb reqmem ram memrequest " },
	{ "gpu_types", " gputype gpumodel gpu_spec gpuspec devicetype acceleratortype gpuname " },
	{ "limit", " timelimit walltimelimit requestedtime timeout limits maxruntime estimate timerequested " },
	{ "iterations", " iteration numiteration numiterations steps numsteps totalsteps iters " },
	{ "model", " modelname network application app type " },
	{ "user", " username owner userid account submitter creator tenant organization " },
	{ "queue", " partition vc virtualcluster cluster queuename namespace project group qos pool team " },
	{ "priority", " prio priorityweight weight " },
	{ "status", " state jobstate jobstatus phase result outcome exitstatus " },
	{ "strategy", " parallelism " },
	{ "batch", " localbatch " },
	{ "deadline", " deadlines ddl duetime due " },
	{ NULL, NULL },
};

const struct map_name map_request_names[] = {
	{ "arrival", " arrivals arrivaltime arrivedat timestamp time starttime requesttime createdat gmtcreate datetime " },
	{ "request_id", " id requestid reqid uuid " },
	{ "model", " modelname modelid engine " },
	{ "samples", " batchsize numsamples numimages numimagesperprompt " },
	{ "prompt_tokens",
		" prompt prompttokens numprompttokens contexttokens requesttokens inputtokens inputlength inputlen promptlen promptlength "
		"promptsize numprefilltokens " },
	{ "output_tokens", " output outputtokens generatedtokens responsetokens completiontokens numoutputtokens outputlength outputlen "
			   "generationlength numdecodetokens " },
	{ "max_output", " maxtokens maxnewtokens maxoutputtokens " },
	{ "priority", " prio " },
	{ "session", " sessionid conversation conversationid chatid " },
	{ "slo", " deadline slos " },
	{ NULL, NULL },
};

/* ---- names of ours ---- */

int map_field_of(const struct map_name *names, const char *ours)
{
	for (int i = 0; names[i].ours; i++) {
		size_t n = strlen(names[i].ours);
		if (!strncmp(ours, names[i].ours, n) && (!ours[n] || !strcmp(ours + n, "_s") || !strcmp(ours + n, "_mib")))
			return i;
	}
	return -1;
}

enum { MOST_NAMES = 32 };

int map_field_unknown(const struct map_name *names, const char *given, const char *where, struct orr_error *err)
{
	const char *ours[MOST_NAMES] = { NULL };
	struct sbuf all = { 0 };
	for (int i = 0; names[i].ours; i++) {
		ours[i] = names[i].ours;
		sbuf_printf(&all, "%s%s", i ? ", " : "", ours[i]);
	}
	const char *near = nearest_name(given, ours);
	int rc = orr_fail(err, ORR_EINPUT, "%s: unknown field \"%.60s\": %s%s%sexpected OURS=THEIRS,.. with OURS one of %s", where, given,
		near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "", sbuf_text(&all));
	sbuf_free(&all);
	return rc;
}

/* ---- suggestions ---- */

struct guess {
	char name[64]; /* the column, as in the file */
	int field;     /* nearest field; -1: none */
	int score;     /* 0: none, 1: contains the name of the field, 2: is spelt nearly like it, 3: is a usual name */
};

enum { MOST_COLUMNS = 40 };

static void plain_form(const char *name, char out[64])
{
	size_t n = 0;
	for (; *name && n < 63; name++)
		if (isalnum((unsigned char)*name))
			out[n++] = (char)tolower((unsigned char)*name);
	out[n] = '\0';
}

static int score_of(const struct map_name *f, const char *plain)
{
	char ours[64], word[70];
	const char *const candidates[] = { ours, NULL };
	plain_form(f->ours, ours);
	snprintf(word, sizeof word, " %s ", plain);
	if (!strcmp(plain, ours) || strstr(f->theirs, word))
		return 3;
	if (nearest_name(plain, candidates))
		return 2;
	return strlen(ours) > 2 && strstr(plain, ours) ? 1 : 0;
}

/* Returns whether the name of a column resembles that of a field although the column means something else. */
static bool is_misleading(const char *plain)
{
	static const char *const names[] = { "gputime", "gpuhours", "cputime", "cpumilli", "iterationtime" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(plain, names[i]))
			return true;
	return false;
}

static void guess_field(const struct map_name *names, struct guess *g)
{
	char plain[64];
	plain_form(g->name, plain);
	g->field = -1;
	g->score = 0;
	if (is_misleading(plain))
		return;
	for (int i = 0; *plain && names[i].ours; i++) {
		int score = score_of(&names[i], plain);
		if (score > g->score) {
			g->score = score;
			g->field = i;
		}
	}
}

/* Splits a header line. Returns the number of its columns; 0: the line is no header. */
static int split_header(const char *s, struct guess *g)
{
	int flag = table_separator(s), n = 0;
	char separator = flag & TABLE_TABS ? '\t' : flag & TABLE_SEMICOLONS ? ';' : flag & TABLE_BARS ? '|' : ',';
	double v;
	for (bool is_last = false; !is_last && n < MOST_COLUMNS; n++) {
		size_t length = strcspn(s, (const char[]){ separator, '\0' });
		is_last = !s[length];
		snprintf(g[n].name, sizeof g[n].name, "%.*s", (int)(length < 63 ? length : 63), s);
		char *name = g[n].name, *end = name + strlen(name);
		while (end > name && strchr(" \t\"\r", end[-1]))
			*--end = '\0';
		memmove(name, name + strspn(name, " \t\""), strlen(name + strspn(name, " \t\"")) + 1);
		if (num_real(name, strlen(name), &v) || strpbrk(name, "{}[]"))
			return 0;
		s += length + !is_last;
	}
	return n > 1 ? n : 0;
}

/* Returns the column of a field; -1: none. */
static int best_column(const struct guess *g, int n, int field)
{
	int best = -1;
	for (int i = 0; i < n; i++)
		if (g[i].field == field && g[i].score > (best < 0 ? 0 : g[best].score))
			best = i;
	return best;
}

static void put_map(const struct map_name *names, const struct guess *g, int n, bool is_jobs, struct sbuf *out)
{
	const char *comma = "";
	/* Requires GPUs, and one of two numbers of tokens: without them a table would be read with wrong jobs. */
	int gpus = is_jobs ? MAP_GPUS : -1, prompt = is_jobs ? -1 : map_field_of(names, "prompt_tokens");
	bool has_duration = best_column(g, n, MAP_DURATION) >= 0 || best_column(g, n, MAP_END) >= 0;
	bool lacks = false;
	sbuf_puts(out, "--map ");
	for (int i = 0; names[i].ours; i++) {
		int column = best_column(g, n, i);
		bool is_needed = i == gpus || (prompt >= 0 && (i == prompt || i == prompt + 1)) ||
				 (is_jobs ? i == MAP_SUBMIT || (i == MAP_DURATION && !has_duration) : i == 0);
		if (column < 0 && !is_needed)
			continue;
		lacks |= column < 0;
		const char *name = column < 0 ? "?" : g[column].name;
		bool is_quoted = strpbrk(name, " '\"()&;|<>$`\\") != NULL;
		sbuf_printf(out, "%s%s=%s%s%s", comma, names[i].ours, is_quoted ? "\"" : "", name, is_quoted ? "\"" : "");
		comma = ",";
	}
	if (lacks)
		sbuf_puts(out, " (? stands for a column that was not recognised)");
}

static bool suggest(const char *header, bool is_brief, struct sbuf *out)
{
	struct guess jobs[MOST_COLUMNS], requests[MOST_COLUMNS];
	int n = split_header(header, jobs);
	if (!n)
		return false;
	memcpy(requests, jobs, sizeof requests);
	int tokens = 0;
	for (int i = 0; i < n; i++) {
		guess_field(map_job_names, &jobs[i]);
		guess_field(map_request_names, &requests[i]);
		const char *ours = requests[i].score == 3 ? map_request_names[requests[i].field].ours : "";
		tokens += !strcmp(ours, "prompt_tokens") || !strcmp(ours, "output_tokens");
	}
	const struct map_name *names = tokens ? map_request_names : map_job_names;
	const struct guess *g = tokens ? requests : jobs;
	if (!is_brief)
		sbuf_puts(out, "its columns are ");
	for (int i = 0; i < n && !is_brief; i++) {
		if (out->len > 260) {
			sbuf_puts(out, ", ..");
			break;
		}
		sbuf_printf(out, "%s%.40s", i ? ", " : "", g[i].name);
		if (g[i].field >= 0)
			sbuf_printf(out, " (%s)", names[g[i].field].ours);
	}
	if (!is_brief)
		sbuf_printf(out, "; nearest fields of %s in brackets. To read it: ", tokens ? "requests" : "jobs");
	put_map(names, g, n, !tokens, out);
	return true;
}

bool map_suggest(const char *header, struct sbuf *out)
{
	return suggest(header, false, out);
}

bool map_suggest_map(const char *header, struct sbuf *out)
{
	return suggest(header, true, out);
}
