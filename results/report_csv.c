/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report.h"

#include "base/mem.h"
#include "base/num.h"
#include "results/outfile.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Quoted where RFC 4180 asks for it. */
static void put_text(FILE *f, const char *s)
{
	if (!strpbrk(s, ",\"\r\n")) {
		fputs(s, f);
		return;
	}
	putc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			putc('"', f);
		putc(*s, f);
	}
	putc('"', f);
}

/* ",12.000000000", or "," for what never happened. */
static void put_time(FILE *f, int64_t t_ns, bool has_happened)
{
	char text[NUM_SECONDS_MAX] = "";
	if (has_happened)
		num_put_seconds(text, t_ns);
	putc(',', f);
	fputs(text, f);
}

static void put_real(FILE *f, double v)
{
	if (isnan(v))
		putc(',', f);
	else
		fprintf(f, ",%.17g", v);
}

static void put_jobs(FILE *f, const struct run_result *r)
{
	fputs("job_id,gpus,submit_s,start_s,end_s,jct_s,wait_s,preemptions\n", f);
	for (size_t i = 0; i < r->n_jobs && !ferror(f); i++) {
		const struct job_row *j = &r->jobs[i];
		if (j->job_id)
			put_text(f, j->job_id);
		else
			fprintf(f, "%" PRIu64, j->number);
		fprintf(f, ",%" PRIu32, j->gpus);
		put_time(f, j->submit_ns, true);
		put_time(f, j->start_ns, j->start_ns >= 0);
		put_time(f, j->end_ns, j->end_ns >= 0);
		put_time(f, j->end_ns - j->submit_ns, j->end_ns >= 0);
		put_time(f, j->wait_ns, j->wait_ns >= 0);
		fprintf(f, ",%" PRIu32 "\n", j->preemptions);
	}
}

static void put_series(FILE *f, const struct run_result *r)
{
	fputs("time_s,name,value\n", f);
	for (size_t i = 0; i < r->n_series; i++) {
		const struct series *s = &r->series[i];
		for (size_t k = 0; k < s->n && !ferror(f); k++) {
			char text[NUM_SECONDS_MAX];
			num_put_seconds(text, s->time_ns[k]);
			fprintf(f, "%s,", text);
			put_text(f, s->name);
			put_real(f, s->value[k]);
			putc('\n', f);
		}
	}
}

static void put_iterations(FILE *f, const struct run_result *r)
{
	fputs("iteration,start_s,end_s,samples\n", f);
	for (size_t i = 0; i < r->n_iterations && !ferror(f); i++) {
		const struct iteration_row *x = &r->iterations[i];
		fprintf(f, "%" PRIu64, x->number);
		put_real(f, x->start_s);
		put_real(f, x->end_s);
		put_real(f, x->samples);
		putc('\n', f);
	}
}

static void put_devices(FILE *f, const struct run_result *r)
{
	fputs("device,node,compute_s,optimizer_s,codec_s,exposed_s,bubble_s,idle_s,peak_memory_bytes,sent_bytes\n", f);
	for (size_t i = 0; i < r->n_devices && !ferror(f); i++) {
		const struct device_row *d = &r->devices[i];
		const double values[] = { d->compute_s, d->optimizer_s, d->codec_s, d->exposed_s, d->bubble_s, d->idle_s,
			d->peak_memory_bytes, d->sent_bytes };
		fprintf(f, "%" PRIu32 ",%" PRIu32, d->device, d->node);
		for (size_t k = 0; k < sizeof values / sizeof *values; k++)
			put_real(f, values[k]);
		putc('\n', f);
	}
}

/* ",12.000000000"; nothing for what never happened. Exact to the ns, as the clock is. */
static void put_seconds(FILE *f, double s)
{
	putc(',', f);
	if (!isnan(s))
		fprintf(f, "%.9f", s);
}

static void put_requests(FILE *f, const struct run_result *r)
{
	static const char *const status[] = { "completed", "refused", "shed", "unfinished" };
	fputs("request_id,arrival_s,first_token_s,completed_s,queue_s,preemptions,model,prompt_tokens,output_tokens,status,replica\n", f);
	for (size_t i = 0; i < r->n_requests && !ferror(f); i++) {
		const struct request_row *q = &r->requests[i];
		if (q->request_id)
			put_text(f, q->request_id);
		else
			fprintf(f, "%" PRIu64, q->number);
		put_seconds(f, q->arrival_s);
		put_seconds(f, q->first_token_s);
		put_seconds(f, q->completed_s);
		put_seconds(f, q->queue_s);
		fprintf(f, ",%" PRIu32 ",", q->preemptions);
		put_text(f, q->model ? q->model : "");
		fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%s,", q->prompt_tokens, q->output_tokens, status[q->status & 3]);
		if (q->replica != UINT32_MAX)
			fprintf(f, "%" PRIu32, q->replica);
		putc('\n', f);
	}
}

static void put_nodes(FILE *f, const struct run_result *r)
{
	fputs("time_s,live,ready,in_use,usd\n", f);
	for (size_t i = 0; i < r->n_nodes && !ferror(f); i++) {
		const struct node_row *x = &r->nodes[i];
		char text[NUM_SECONDS_MAX];
		num_put_seconds(text, x->time_ns);
		fprintf(f, "%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32, text, x->live, x->ready, x->in_use);
		put_real(f, x->usd);
		putc('\n', f);
	}
}

static void put_accounts(FILE *f, const struct run_result *r)
{
	fputs("account,node_s,usd\n", f);
	for (size_t i = 0; i < r->n_accounts && !ferror(f); i++) {
		put_text(f, r->accounts[i].account);
		put_real(f, r->accounts[i].node_s);
		put_real(f, r->accounts[i].usd);
		putc('\n', f);
	}
}

static int write_summary(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	struct outfile f;
	int code = outfile_open(&f, dir, "summary", ".csv", err);
	if (code)
		return code;
	fputs("policy,metric,value,ci_low,ci_high\n", f.file);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < runs[i]->n_metrics; k++) {
			const struct metric *m = &runs[i]->metrics[k];
			put_text(f.file, runs[i]->label ? runs[i]->label : "");
			putc(',', f.file);
			put_text(f.file, m->name);
			put_real(f.file, m->value);
			put_real(f.file, m->ci_low);
			put_real(f.file, m->ci_high);
			putc('\n', f.file);
		}
	return outfile_close(&f, false, err);
}

static int write_one(const char *dir, const char *name, const char *suffix, void (*put)(FILE *, const struct run_result *),
	const struct run_result *r, struct orr_error *err)
{
	struct outfile f;
	int code = outfile_open(&f, dir, name, suffix, err);
	if (code)
		return code;
	put(f.file, r);
	return outfile_close(&f, false, err);
}

static char *safe_name(const char *label)
{
	enum { NAME_MAX_BYTES = 100 }; /* room for suffixes within a file system's 255 */
	static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+=@-";
	struct sbuf b = { 0 };
	for (const char *c = label; *c && b.len < NAME_MAX_BYTES; c++)
		sbuf_putc(&b, strchr(fine, *c) && !(b.len == 0 && strchr(".-", *c)) ? *c : '_');
	if (!b.len)
		sbuf_puts(&b, "run");
	return sbuf_steal(&b);
}

void report_file_names(const struct run_result *const *runs, size_t n, char **name)
{
	for (size_t i = 0; i < n; i++) {
		char *base = safe_name(runs[i]->label ? runs[i]->label : "");
		struct sbuf b = { 0 };
		sbuf_puts(&b, base);
		size_t k = 0, copies = 1;
		while (k < i) {
			if (strcmp(name[k++], sbuf_text(&b)))
				continue;
			sbuf_clear(&b);
			sbuf_printf(&b, "%s-%zu", base, ++copies);
			k = 0;
		}
		name[i] = sbuf_steal(&b);
		mem_free(base);
	}
}

/* The files of one run: what its world has rows of. */
static const struct rows_file {
	const char *world, *suffix;
	void (*put)(FILE *, const struct run_result *);
	bool is_if_lent; /* only where nodes come and go and are paid for */
} rows_files[] = {
	{ "jobs", ".jobs.csv", put_jobs, false },
	{ "jobs", ".nodes.csv", put_nodes, true },
	{ "jobs", ".accounts.csv", put_accounts, true },
	{ "step", ".iterations.csv", put_iterations, false },
	{ "step", ".devices.csv", put_devices, false },
	{ "serve", ".requests.csv", put_requests, false },
	{ "spot", ".iterations.csv", put_iterations, false },
	{ "spot", ".nodes.csv", put_nodes, false },
	{ "spot", ".accounts.csv", put_accounts, false },
};

/* A mixed run has those of the worlds that it had. */
static bool has_rows_of(const struct run_result *r, const char *world)
{
	const char *of = r->world ? r->world : "jobs";
	if (strcmp(of, "mixed") != 0)
		return !strcmp(of, world);
	return result_find(r, !strcmp(world, "jobs") ? "jobs.jobs" : !strcmp(world, "serve") ? "serve.requests" : "") != NULL;
}

static int write_rows(const char *dir, const char *name, const struct run_result *r, struct orr_error *err)
{
	int code = ORR_OK;
	for (size_t i = 0; !code && i < sizeof rows_files / sizeof *rows_files; i++)
		if (has_rows_of(r, rows_files[i].world) && (!rows_files[i].is_if_lent || r->n_accounts))
			code = write_one(dir, name, rows_files[i].suffix, rows_files[i].put, r, err);
	bool has_own = has_rows_of(r, "step") || has_rows_of(r, "spot"); /* rows over time */
	if (!code && (!has_own || r->n_series))
		code = write_one(dir, name, ".series.csv", put_series, r, err);
	return code;
}

int report_out_dir(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	int code = outfile_make_dir(dir, err);
	if (code)
		return code;
	char **name = mem_zalloc(n + 1, sizeof *name);
	report_file_names(runs, n, name);
	for (size_t i = 0; i < n && !code; i++)
		code = write_rows(dir, name[i], runs[i], err);
	if (!code)
		code = write_summary(dir, runs, n, err);
	for (size_t i = 0; i < n; i++)
		mem_free(name[i]);
	mem_free(name);
	return code;
}
