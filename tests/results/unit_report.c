/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report.h"

#include "base/mem.h"
#include "plots/figure.h"
#include "plots/figure_data.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-report.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][160];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static char *text_of(const char *path)
{
	struct sbuf b = { 0 };
	FILE *f = fopen(path, "rb");
	for (int c; f && (c = getc(f)) != EOF;)
		sbuf_putc(&b, (char)c);
	if (f)
		fclose(f);
	return sbuf_steal(&b);
}

static void same_file(const char *name, const char *want, const char *what)
{
	char *got = text_of(in_dir(name));
	same_text(got, want, what);
	mem_free(got);
}

/* Returns a result with three jobs: the first waits; the second was preempted once and has a name with special characters; the third
 * never starts. */
static struct run_result *three_jobs(const char *label)
{
	struct run_result *r = result_new();
	const int64_t s = ORR_SECOND;
	r->label = mem_strdup(label);
	r->policy = mem_strdup("fifo");
	r->n_jobs = 3;
	r->jobs = mem_zalloc(3, sizeof *r->jobs);
	r->jobs[0] = (struct job_row){
		.number = 0, .gpus = 4, .submit_ns = 0, .start_ns = 5 * s / 2, .end_ns = 10 * s, .wait_ns = 5 * s / 2, .duration_ns = 1
	};
	r->jobs[1] = (struct job_row){ .number = 1,
		.job_id = "a,\"b\"",
		.gpus = 8,
		.submit_ns = 1,
		.start_ns = 1,
		.end_ns = 90 * s + 1,
		.wait_ns = 30 * s,
		.preemptions = 1 };
	r->jobs[2] = (struct job_row){ .number = 2,
		.job_id = "c",
		.gpus = 512,
		.submit_ns = 3600 * s,
		.start_ns = -1,
		.end_ns = -1,
		.wait_ns = -1,
		.status = JOB_UNFINISHED };
	result_metric(r, "jct_mean", 50, 45, 55);
	result_metric(r, "jct_p50", 1.0 / 3, NAN, NAN);
	result_metric(r, "makespan", 7250, NAN, NAN);
	result_metric(r, "utilisation", 0.5, NAN, NAN);
	result_metric(r, "jobs_unfinished", 1, NAN, NAN);
	r->n_series = 1;
	r->series = mem_zalloc(1, sizeof *r->series);
	r->series[0] = (struct series){ "utilisation", 2, mem_zalloc(2, 8), mem_zalloc(2, 8) };
	r->series[0].time_ns[1] = s / 2;
	r->series[0].value[1] = 0.1;
	return r;
}

static void csv_files(void)
{
	struct orr_error err = { 0 };
	struct run_result *r = three_jobs("fifo");
	ok(!report_out_dir(in_dir("new/out"), (const struct run_result *const *)&r, 1, &err), "files are written");
	same_file("new/out/fifo.jobs.csv",
		"job_id,gpus,submit_s,start_s,end_s,jct_s,wait_s,preemptions,status,user,model,queue\n"
		"0,4,0.000000000,2.500000000,10.000000000,10.000000000,2.500000000,0,completed,,,\n"
		"\"a,\"\"b\"\"\",8,0.000000001,0.000000001,90.000000001,90.000000000,30.000000000,1,completed,,,\n"
		"c,512,3600.000000000,,,,,0,unfinished,,,\n",
		"P.jobs.csv: nine decimals, empty where it never happened, quoted where needed");
	same_file("new/out/summary.csv",
		"policy,metric,value,ci_low,ci_high\n"
		"fifo,jct_mean,50,45,55\n"
		"fifo,jct_p50,0.33333333333333331,,\n"
		"fifo,makespan,7250,,\n"
		"fifo,utilisation,0.5,,\n"
		"fifo,jobs_unfinished,1,,\n",
		"summary.csv: 17 significant digits, empty where there is no interval");
	same_file("new/out/fifo.series.csv",
		"time_s,name,value\n0.000000000,utilisation,0\n0.500000000,utilisation,0."
		"10000000000000001\n",
		"P.series.csv");
	result_free(r);
}

static void file_names(void)
{
	static const char *const labels[] = { "../../etc/passwd", "las@2h", "las/2h", "las_2h", "", ".x" };
	static const char *const want[] = { "_._.._etc_passwd", "las@2h", "las_2h", "las_2h-2", "run", "_x" };
	struct run_result *r[6];
	char *name[6];
	for (size_t i = 0; i < 6; i++)
		r[i] = three_jobs(labels[i]);
	report_file_names((const struct run_result *const *)r, 6, name);
	for (size_t i = 0; i < 6; i++) {
		char what[64];
		snprintf(what, sizeof what, "the label \"%s\" as a file name", labels[i]);
		same_text(name[i], want[i], what);
		mem_free(name[i]);
		result_free(r[i]);
	}
}

static size_t count_files(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* Tests a full disk, which a limit on the file size imitates: write() fails after part of the data. */
static void full_disk(void)
{
	struct run_result *r = sample_run("big", 5000, 1);
	struct orr_error err = { 0 };
	mkdir(in_dir("full"), 0777);
	FILE *f = fopen(in_dir("full/big.jobs.csv"), "w");
	if (f) {
		fputs("as before", f);
		fclose(f);
	}
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		struct rlimit limit = { 20000, 20000 };
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		int code = report_out_dir(in_dir("full"), (const struct run_result *const *)&r, 1, &err);
		_exit(code == ORR_EFAIL && strstr(err.text, "big.jobs.csv") ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	ok(status == 0, "a disk that fills up is an error that names the file");
	same_file("full/big.jobs.csv", "as before", "an existing file stays unchanged on an error");
	ok(count_files(in_dir("full")) == 1, "no partly written file remains");
	ok(report_out_dir(in_dir("full/big.jobs.csv"), (const struct run_result *const *)&r, 1, &err) == ORR_EFAIL,
		"a file in place of the directory is an error");
	result_free(r);
}

static size_t longest_line(const char *text)
{
	size_t longest = 0, n = 0;
	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
		longest = n > longest ? n : longest;
	}
	return longest;
}

static void tables(void)
{
	struct run_result *runs[2] = { three_jobs("fifo"), three_jobs("srtf") };
	const struct run_result *const *v = (const struct run_result *const *)runs;
	runs[1]->is_oracle = true;
	runs[1]->metrics[1].value = NAN;
	runs[1]->metrics[0] = (struct metric){ "jct_mean", 7200 * 30, 3600, 7200 * 40 };
	result_metric(runs[1], "jct_diff", -20, -30, 1);
	result_metric(runs[1], "base_jct_diff", 50, NAN, NAN);
	struct sbuf out = { 0 };
	report_table(&out, v, 2, NULL, (struct report_style){ .width = 65 });
	same_text(sbuf_text(&out),
		"policy                    JCT mean  JCT median  makespan\n"
		"fifo             0.833 ± 0.083 min     0.333 s    2.01 h\n"
		"srtf (oracle)  3600 [60, 4800] min           -    2.01 h\n"
		"\n"
		"policy         utilisation\n"
		"fifo                  50 %\n"
		"srtf (oracle)         50 %\n"
		"\n"
		"mean JCT against fifo, job by job:\n"
		"  srtf (oracle)  -20 s [-30, 1]  -40.0 %  (no clear difference)\n"
		"fifo: jobs not completed: unfinished 1\n"
		"srtf (oracle): jobs not completed: unfinished 1\n"
		"oracle: the policy knows true durations, unlike real schedulers\n",
		"a table: units, intervals, differences, oracles, and what the means leave out");
	sbuf_clear(&out);
	report_table(&out, v, 2, NULL, (struct report_style){ .width = 65 });
	ok(longest_line(sbuf_text(&out)) <= 66, "the table is at most as wide as the terminal");
	sbuf_clear(&out);
	report_table(&out, v, 1, NULL, (struct report_style){ 0 });
	ok(!strstr(sbuf_text(&out), "against") && !strstr(sbuf_text(&out), "oracle"), "a single run has no comparison");
	sbuf_free(&out);
	result_free(runs[0]);
	result_free(runs[1]);
}

/* Tests the CSV table: every metric of the table with the ends of its interval, empty where there is none. A run after the last one asked
 * for is not read. */
static void csv_table(void)
{
	struct run_result *runs[3] = { three_jobs("a,b"), three_jobs("srtf"), NULL };
	struct sbuf out = { 0 };
	result_metric(runs[1], "wait_mean", 4, 3, 5);
	runs[0]->metrics[3].value = NAN;
	report_table(&out, (const struct run_result *const *)runs, 2, NULL, (struct report_style){ .format = GRID_CSV });
	same_text(sbuf_text(&out),
		"policy,jct_mean,jct_mean_ci_low,jct_mean_ci_high,jct_p50,jct_p50_ci_low,jct_p50_ci_high,wait_mean,wait_mean_ci_low,"
		"wait_mean_ci_high,makespan,makespan_ci_low,makespan_ci_high,utilisation,utilisation_ci_low,utilisation_ci_high\n"
		"\"a,b\",50,45,55,0.3333333333333333,,,,,,7250,,,,,\n"
		"srtf,50,45,55,0.3333333333333333,,,4,3,5,7250,,,0.5,,\n",
		"the table as CSV");
	sbuf_clear(&out);
	report_table(&out, (const struct run_result *const *)runs + 1, 1, NULL, (struct report_style){ .format = GRID_CSV });
	ok(strstr(sbuf_text(&out), "\nsrtf,50,45,55,0.3333333333333333,,,4,3,5,7250,,,0.5,,\n"), "one run as CSV");
	sbuf_clear(&out);
	report_table(&out, (const struct run_result *const *)runs + 1, 1, NULL, (struct report_style){ 0 });
	ok(strstr(sbuf_text(&out), "srtf"), "one run as text");
	sbuf_free(&out);
	result_free(runs[0]);
	result_free(runs[1]);
}

/* Tests notes: a note of all runs is printed once; a note of some runs follows their names. The mark of a policy is excluded from the
 * notes. */
static void notes(void)
{
	static const char *const label[] = { "fifo", "srtf", "las" };
	struct run_result *runs[3];
	const struct run_result *const *v = (const struct run_result *const *)runs;
	struct orr_error err = { 0 };
	struct sbuf out = { 0 };
	for (size_t i = 0; i < 3; i++) {
		runs[i] = three_jobs(label[i]);
		result_note(runs[i], "remark", "jobs.x has no effect");
		result_note(runs[i], "assumption", "placement\x1b[2J: count");
		result_note(runs[i], "remark", "");
	}
	result_note(runs[1], "remark", "of, two");
	result_note(runs[2], "remark", "of, two");
	result_note(runs[2], "remark", "of, two");
	result_event(runs[0], (struct event_row){ .kind = "remark", .subject = 1, .detail = "a mark" });
	for (int i = 0; i < 100; i++)
		result_event(runs[0], (struct event_row){ .time_ns = i, .kind = "node-fail", .detail = "n0" });
	result_note(runs[0], "remark", "of one");
	report_table(&out, v, 3, NULL, (struct report_style){ 0 });
	const char *at = strstr(sbuf_text(&out), "placement");
	same_text(at ? at : "", "placement?[2J: count\njobs.x has no effect\nfifo: of one\nsrtf, las: of, two\n",
		"assumptions, then remarks, last in the table; without control characters");
	ok(!report_out_dir(in_dir("notes"), v, 3, &err), "the file of notes is written");
	same_file("notes/notes.csv",
		"policy,kind,text\n"
		"fifo,assumption,placement\x1b[2J: count\nfifo,remark,jobs.x has no effect\nfifo,remark,of one\n"
		"srtf,assumption,placement\x1b[2J: count\nsrtf,remark,jobs.x has no effect\nsrtf,remark,\"of, two\"\n"
		"las,assumption,placement\x1b[2J: count\nlas,remark,jobs.x has no effect\nlas,remark,\"of, two\"\n",
		"notes.csv");
	sbuf_clear(&out);
	report_json(&out, v, 3, NULL);
	cJSON *top = cJSON_Parse(sbuf_text(&out)), *run = cJSON_GetArrayItem(cJSON_GetObjectItem(top, "runs"), 2);
	const cJSON *list = cJSON_GetObjectItem(run, "remarks");
	ok(cJSON_GetArraySize(cJSON_GetObjectItem(run, "assumptions")) == 1 && cJSON_GetArraySize(list) == 2,
		"JSON has arrays of them, each text once");
	same_text(cJSON_GetStringValue(cJSON_GetArrayItem(list, 1)), "of, two", "remarks keep their order in JSON");
	cJSON_Delete(top);
	sbuf_free(&out);
	for (size_t i = 0; i < 3; i++)
		result_free(runs[i]);
}

/* Tests numbers, with texts written by hand: three significant digits; whole numbers have no decimals. */
static void digits(void)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = { { 12.34, " 12.3 s" }, { 9.996, " 10.0 s" }, { 9.99, " 9.99 s" }, { 9.995, " 10.0 s" }, { 1.234, " 1.23 s" },
		{ 1, " 1 s" }, { 0.9996, " 1.00 s" }, { 0.999, " 0.999 s" }, { 0.1234, " 0.123 s" }, { 99.9, " 99.9 s" },
		{ 99.96, " 100 s" }, { 119.9, " 120 s" }, { 120, " 2 min" }, { 7199, " 120 min" }, { 7200, " 2 h" }, { 172800, " 2 d" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct run_result *r = three_jobs("fifo");
		const struct run_result *v = r;
		struct sbuf out = { 0 };
		r->metrics[0] = (struct metric){ "jct_mean", cases[i].seconds, NAN, NAN };
		report_table(&out, &v, 1, NULL, (struct report_style){ 0 });
		ok(strstr(sbuf_text(&out), cases[i].text) != NULL, "%g s is printed as%s", cases[i].seconds, cases[i].text);
		sbuf_free(&out);
		result_free(r);
	}
}

static void json(void)
{
	struct run_result *r = sample_run("a \"label\"", 10, 3);
	struct sbuf out = { 0 };
	report_json(&out, (const struct run_result *const *)&r, 1, NULL);
	cJSON *top = cJSON_Parse(sbuf_text(&out));
	cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(top, "runs"), 0);
	cJSON *metrics = cJSON_GetObjectItem(run, "metrics"), *mean = cJSON_GetObjectItem(metrics, "jct_mean");
	ok(top && run && cJSON_GetArraySize(metrics) == (int)r->n_metrics, "JSON parses and has every metric");
	same_text(cJSON_GetStringValue(cJSON_GetObjectItem(run, "label")), "a \"label\"", "labels are quoted");
	ok(mean && cJSON_GetObjectItem(mean, "value")->valuedouble == r->metrics[0].value &&
			cJSON_GetObjectItem(mean, "ci_low")->valuedouble == r->metrics[0].ci_low,
		"numbers in JSON keep every bit");
	ok(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(metrics, "jct_p50"), "ci_low")), "a missing interval is null in JSON");
	same_text(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(run, "scenario"), "cluster")), "64x8:v100",
		"JSON output contains the scenario as JSON");
	cJSON_Delete(top);
	sbuf_free(&out);
	result_free(r);
}

/* The job runs from 0 to 4 s, loses its node, and runs from 6 to 16 s. */
static void gantt_of_eviction(void)
{
	static const struct event_row events[] = { { 0, "start", 0, NULL }, { 4000000000, "evict", 0, NULL },
		{ 4000000000, "node-fail", 0, NULL }, { 6000000000, "start", 0, NULL }, { 16000000000, "finish", 0, NULL } };
	struct job_row job = { .job_id = "'%d", .end_ns = 16000000000, .gpus = 1 };
	struct event_row copy[sizeof events / sizeof *events];
	memcpy(copy, events, sizeof events);
	struct run_result r = { .jobs = &job, .n_jobs = 1, .events = copy, .n_events = sizeof events / sizeof *events };
	struct sbuf script = { 0 };
	ok(figure_data_gantt(&script, &r, 30).rows == 1 && strstr(sbuf_text(&script), "\n0 4 1\n6 16 1\n"),
		"a job is not drawn as running while it has no node");
	ok(strstr(sbuf_text(&script), "'.\"'\".'%%d'") != NULL, "a job's name is neither used as a format nor ends a string");
	sbuf_free(&script);
}

static bool begins_with(const char *path, const char *magic)
{
	char *text = text_of(path);
	bool good = strstr(text, magic) == text || !strncmp(text + 1, magic, strlen(magic));
	mem_free(text);
	return good;
}

static void figures_on_full_disk(const struct run_result *const *v, size_t n)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		struct orr_error err = { 0 };
		struct rlimit limit = { 20000, 20000 };
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		int code = figures_write(in_dir("full-figures"), v, n, &err);
		_exit(code == ORR_EFAIL && strstr(err.text, "full") ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	ok(status == 0 && count_files(in_dir("full-figures")) == 0, "figures on a full disk: an error, no files");
}

static void figures(void)
{
	/* Labels with commands that create a file if a shell or gnuplot runs them. */
	static const char evil[] = "x'; system(\"touch pwned\"); `touch pwned` _{2}^|%s\n\\";
	struct run_result *runs[2] = { sample_run("fifo", 200, 1), sample_run(evil, 1500, 2) };
	const struct run_result *const *v = (const struct run_result *const *)runs;
	struct orr_error err = { 0 };
	for (size_t i = 0; i < 5; i++) /* names of rows of the Gantt chart */
		runs[0]->jobs[i].job_id = (const char *[]){ "'first", "two''", "%s%n%", "'", "{/*" }[i];
	int code = figures_write(in_dir("figures"), v, 2, &err);
	if (code == ORR_EDEVICE) {
		skip("no gnuplot: figures not tested");
	} else {
		if (code)
			printf("# %s\n", err.text);
		ok(!code && count_files(in_dir("figures")) == 15, "five figures, each as PDF, SVG and PNG; nothing else");
		ok(begins_with(in_dir("figures/jct-cdf.pdf"), "%PDF") && begins_with(in_dir("figures/jct-cdf.svg"), "<?xml") &&
				begins_with(in_dir("figures/gantt-fifo.png"), "PNG"),
			"each figure file has the format of its suffix");
		ok(access(in_dir("figures/pwned"), F_OK) && access("pwned", F_OK), "a label is never a command");
		ok(figures_write(in_dir("absent/\n"), v, 0, &err) == ORR_OK, "no runs, no figures");
	}
	if (code != ORR_EDEVICE)
		figures_on_full_disk(v, 2);
	char *path = mem_strdup(getenv("PATH"));
	setenv("PATH", "/nowhere", 1);
	ok(figures_write(in_dir("figures"), v, 2, &err) == ORR_EDEVICE && strstr(err.text, "install"),
		"without gnuplot an error says what to install");
	setenv("PATH", path, 1);
	mem_free(path);
	result_free(runs[0]);
	result_free(runs[1]);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	csv_files();
	file_names();
	full_disk();
	tables();
	csv_table();
	notes();
	digits();
	json();
	gantt_of_eviction();
	figures();
	char clean[64];
	snprintf(clean, sizeof clean, "rm -r %s", dir);
	if (system(clean))
		printf("# %s remains\n", dir);
	return done();
}
