/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/writer.h"

#include "traces/avail.h"
#include "traces/requests.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/outfile.h"
#include "base/sbuf.h"
#include "base/strtab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { FLUSH_AT = 128 * 1024 };

struct writer {
	char *path;
	struct outfile out; /* unused for standard output */
	FILE *file;
	gzFile gz; /* owns a duplicate of the descriptor */
	ZSTD_CCtx *zstd;
	int (*put)(struct writer *w, const struct orr_trace_job *row, struct orr_error *err);
	struct sbuf text;
	uint64_t rows;
	int64_t last_submit;
	struct strtab *users, *queues; /* SWF needs numbers */
	bool failed;
};

/* ---- output ---- */

static int write_failed(struct writer *w, struct orr_error *err)
{
	w->failed = true;
	return orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s", w->out.file ? w->path : "standard output", strerror(errno));
}

static bool pack_zstd(struct writer *w, bool is_last)
{
	char out[64 * 1024];
	ZSTD_inBuffer in = { w->text.text, w->text.len, 0 };
	size_t left;
	do {
		ZSTD_outBuffer to = { out, sizeof out, 0 };
		left = ZSTD_compressStream2(w->zstd, &to, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left) || fwrite(out, 1, to.pos, w->file) != to.pos)
			return false;
	} while (is_last ? left > 0 : in.pos < in.size);
	return true;
}

static int flush(struct writer *w, bool is_last, struct orr_error *err)
{
	bool good;
	if (w->zstd)
		good = pack_zstd(w, is_last);
	else if (!w->text.len)
		good = true;
	else if (w->gz)
		good = gzwrite(w->gz, w->text.text, (unsigned)w->text.len) == (int)w->text.len;
	else
		good = fwrite(w->text.text, 1, w->text.len, w->file) == w->text.len;
	sbuf_clear(&w->text);
	return good ? ORR_OK : write_failed(w, err);
}

/* ---- values ---- */

static void put_seconds(struct sbuf *b, int64_t ns)
{
	char s[NUM_SECONDS_MAX];
	size_t n = num_put_seconds(s, ns);
	while (s[n - 1] == '0')
		n--;
	sbuf_add(b, s, s[n - 1] == '.' ? n - 1 : n);
}

/* Writes the shortest text that reads back as the same number. */
static void put_real(struct sbuf *b, double v)
{
	char s[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(s, sizeof s, "%.*g", digits, v);
		if (strtod(s, NULL) == v)
			break;
	}
	sbuf_puts(b, s);
}

static void put_text(struct sbuf *b, const char *s)
{
	if (!s)
		return;
	if (!s[strcspn(s, ",\"\r\n")] && *s != ' ' && *s != '=' && *s != '@') {
		sbuf_puts(b, s);
		return;
	}
	sbuf_putc(b, '"');
	for (; *s; s++) {
		if (*s == '"')
			sbuf_putc(b, '"');
		sbuf_putc(b, *s);
	}
	sbuf_putc(b, '"');
}

static void put_id(struct writer *w, const char *id)
{
	if (id)
		put_text(&w->text, id);
	else
		sbuf_printf(&w->text, "%" PRIu64, w->rows);
}

/* ---- formats ---- */

static const char orrery_header[] =
	"job_id,submit_s,duration_s,gpus,gpu_milli,cpus,mem_mib,gpu_types,limit_s,wait_s,"
	"iterations,model,user,queue,priority,speedup,status,strategy,batch,deadline_s,gpu_mem_mib,occupancy,stages\n";

static int put_orrery(struct writer *w, const struct orr_trace_job *row, struct orr_error *err)
{
	(void)err;
	struct sbuf *b = &w->text;
	put_id(w, row->id);
	sbuf_putc(b, ',');
	put_seconds(b, row->submit_ns);
	sbuf_putc(b, ',');
	if (row->duration_ns >= 0)
		put_seconds(b, row->duration_ns);
	sbuf_printf(b, ",%u,%u,", row->gpus, row->gpu_milli);
	if (row->cpu_milli)
		put_real(b, (double)row->cpu_milli / 1000);
	sbuf_putc(b, ',');
	if (row->mem_mib)
		sbuf_printf(b, "%" PRId64, row->mem_mib);
	sbuf_putc(b, ',');
	put_text(b, row->gpu_types);
	sbuf_putc(b, ',');
	if (row->limit_ns >= 0)
		put_seconds(b, row->limit_ns);
	sbuf_putc(b, ',');
	if (row->wait_ns >= 0)
		put_seconds(b, row->wait_ns);
	sbuf_putc(b, ',');
	if (row->iterations > 0)
		put_real(b, row->iterations);
	const char *texts[] = { row->model, row->user, row->queue };
	for (size_t i = 0; i < 3; i++) {
		sbuf_putc(b, ',');
		put_text(b, texts[i]);
	}
	sbuf_putc(b, ',');
	if (row->priority < 0 || row->priority > 0)
		put_real(b, row->priority);
	sbuf_putc(b, ',');
	put_text(b, row->speedup);
	sbuf_putc(b, ',');
	put_text(b, row->status);
	sbuf_putc(b, ',');
	put_text(b, row->strategy);
	sbuf_putc(b, ',');
	if (row->batch > 0)
		put_real(b, row->batch);
	sbuf_putc(b, ',');
	if (row->deadline_ns >= 0)
		put_seconds(b, row->submit_ns + row->deadline_ns);
	sbuf_putc(b, ',');
	if (row->gpu_mem_mib)
		sbuf_printf(b, "%" PRId64, row->gpu_mem_mib);
	sbuf_putc(b, ',');
	if (row->occupancy > 0)
		put_real(b, row->occupancy);
	sbuf_putc(b, ',');
	put_text(b, row->stages);
	sbuf_putc(b, '\n');
	return ORR_OK;
}

static int put_tiresias(struct writer *w, const struct orr_trace_job *row, struct orr_error *err)
{
	struct sbuf *b = &w->text;
	if (row->duration_ns < 0)
		return orr_fail(err, ORR_EINPUT,
			"job %s (line %" PRIu64 "): the format tiresias requires a duration: expected a job with a duration",
			row->id ? row->id : "without a name", row->line);
	put_id(w, row->id);
	sbuf_printf(b, ",%u,", row->gpus);
	put_seconds(b, row->submit_ns);
	sbuf_putc(b, ',');
	put_real(b, row->iterations);
	sbuf_putc(b, ',');
	put_text(b, row->model);
	sbuf_putc(b, ',');
	put_seconds(b, row->duration_ns);
	sbuf_putc(b, ',');
	put_seconds(b, w->rows ? row->submit_ns - w->last_submit : 0);
	sbuf_putc(b, '\n');
	w->last_submit = row->submit_ns;
	return ORR_OK;
}

static const char requests_header[] =
	"request_id,arrival_s,model,samples,prompt_tokens,output_tokens,max_output,priority,session,slo_s,blocks\n";

static void put_known(struct sbuf *b, uint64_t v)
{
	if (v)
		sbuf_printf(b, "%" PRIu64, v);
	sbuf_putc(b, ',');
}

static void put_request(struct writer *w, const struct strtab *t, const struct request_rec *r)
{
	struct sbuf *b = &w->text;
	if (r->id)
		put_text(b, strtab_text(t, r->id));
	else
		sbuf_printf(b, "%" PRIu64, r->number);
	sbuf_putc(b, ',');
	put_seconds(b, r->arrival_ns);
	sbuf_putc(b, ',');
	put_text(b, r->model ? strtab_text(t, r->model) : NULL);
	sbuf_printf(b, ",%" PRIu32 ",", r->samples);
	put_known(b, r->prompt_tokens);
	put_known(b, r->output_tokens);
	put_known(b, r->max_output);
	put_known(b, r->priority);
	put_known(b, r->session);
	if (r->slo_ns >= 0)
		put_seconds(b, r->slo_ns);
	for (uint32_t i = 0; i < r->n_blocks; i++)
		sbuf_printf(b, "%c%" PRIu64, i ? ' ' : ',', r->block[i]);
	sbuf_puts(b, r->n_blocks ? "\n" : ",\n");
}

static const char avail_header[] = "time_s,event,node,zone,type,price\n";

static void put_avail(struct writer *w, const struct availset *s, const struct avail_rec *r)
{
	static const char *const event[] = { [AVAIL_ADD] = "add", [AVAIL_REMOVE] = "remove", [AVAIL_PRICE] = "price" };
	const struct strtab *t = availset_strings(s);
	struct sbuf *b = &w->text;
	char text[NUM_REAL_MAX + AVAIL_NAME_MAX];
	put_seconds(b, r->t_ns);
	sbuf_printf(b, ",%s,", event[r->kind]);
	if (r->kind != AVAIL_PRICE)
		put_text(b, availset_name(s, r, text));
	sbuf_putc(b, ',');
	put_text(b, strtab_text(t, r->zone));
	sbuf_putc(b, ',');
	put_text(b, strtab_text(t, r->type));
	sbuf_putc(b, ',');
	if (r->usd_per_hour >= 0)
		sbuf_add(b, text, num_put_real(text, r->usd_per_hour));
	sbuf_putc(b, '\n');
}

static int refuse_job_in_avail(struct writer *w, const struct orr_trace_job *row, struct orr_error *err)
{
	(void)w;
	(void)row;
	return orr_fail(err, ORR_EINPUT, "the format \"availability\" is for instances: expected orrery, tiresias or swf");
}

static int refuse_job(struct writer *w, const struct orr_trace_job *row, struct orr_error *err)
{
	(void)w;
	(void)row;
	return orr_fail(err, ORR_EINPUT, "the format \"requests\" is for requests: expected orrery, tiresias or swf");
}

/* Returns the number of a name in SWF: the name itself if it is a number, else its number in order of first use. */
static int64_t swf_number(struct strtab *names, const char *name)
{
	int64_t v;
	if (!name)
		return -1;
	if (num_int(name, strlen(name), &v) && v >= 0 && v <= INT32_MAX)
		return v;
	return strtab_add_z(names, name);
}

static void put_known_seconds(struct sbuf *b, int64_t ns)
{
	if (ns < 0)
		sbuf_puts(b, "-1");
	else
		put_seconds(b, ns);
	sbuf_putc(b, ' ');
}

static int put_swf(struct writer *w, const struct orr_trace_job *row, struct orr_error *err)
{
	(void)err;
	struct sbuf *b = &w->text;
	int64_t id, status = -1;
	if (!row->id || !num_int(row->id, strlen(row->id), &id) || id < 0)
		id = (int64_t)w->rows + 1;
	if (row->status && (!num_int(row->status, strlen(row->status), &status) || status < 0 || status > 9))
		status = -1;
	sbuf_printf(b, "%" PRId64 " ", id);
	put_seconds(b, row->submit_ns);
	sbuf_putc(b, ' ');
	put_known_seconds(b, row->wait_ns);
	put_known_seconds(b, row->duration_ns);
	sbuf_printf(b, "%u -1 -1 %u ", row->gpus, row->gpus);
	put_known_seconds(b, row->limit_ns);
	sbuf_printf(b, "-1 %" PRId64 " %" PRId64 " -1 -1 %" PRId64 " -1 -1 -1\n", status, swf_number(w->users, row->user),
		swf_number(w->queues, row->queue));
	return ORR_OK;
}

/* Writes the names at the end, when all are known; SWF allows comments anywhere. */
static void put_swf_names(struct writer *w)
{
	for (uint32_t i = 1; i < strtab_count(w->users); i++)
		sbuf_printf(&w->text, "; Note: user %u is %s\n", i, strtab_text(w->users, i));
	for (uint32_t i = 1; i < strtab_count(w->queues); i++)
		sbuf_printf(&w->text, "; Queue: %u %s\n", i, strtab_text(w->queues, i));
}

static int choose_format(struct writer *w, const char *format, struct orr_error *err)
{
	if (!strcmp(format, "orrery")) {
		w->put = put_orrery;
		sbuf_puts(&w->text, orrery_header);
	} else if (!strcmp(format, "tiresias")) {
		w->put = put_tiresias;
		sbuf_puts(&w->text, "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n");
	} else if (!strcmp(format, "swf")) {
		w->put = put_swf;
		sbuf_puts(&w->text, "; Version: 2.2\n; Note: written by orrery; a GPU counts as a processor\n");
	} else if (!strcmp(format, "requests")) {
		w->put = refuse_job;
		sbuf_puts(&w->text, requests_header);
	} else if (!strcmp(format, "availability")) {
		w->put = refuse_job_in_avail;
		sbuf_puts(&w->text, avail_header);
	} else {
		return orr_fail(err, ORR_EINPUT,
			"the format \"%.60s\" cannot be written: expected orrery, tiresias, swf, requests or availability", format);
	}
	return ORR_OK;
}

/* ---- files ---- */

static bool ends_in(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);
	return n > m && !strcmp(s + n - m, tail);
}

static int open_file(struct writer *w, struct orr_error *err)
{
	if (!strcmp(w->path, "-")) {
		w->file = stdout;
		return ORR_OK;
	}
	int rc = outfile_open_path(&w->out, w->path, err);
	if (rc)
		return rc;
	w->file = w->out.file;
	bool is_gz = ends_in(w->path, ".gz"), is_zst = ends_in(w->path, ".zst");
	if (is_gz)
		w->gz = gzdopen(dup(fileno(w->file)), "wb");
	if (is_zst)
		w->zstd = ZSTD_createCCtx();
	if ((is_gz && !w->gz) || (is_zst && !w->zstd))
		return orr_fail(err, ORR_EFAIL,
			"%s: the compressor cannot be initialised: expected enough free memory and file descriptors", w->path);
	return ORR_OK;
}

static void writer_free(struct writer *w)
{
	if (w->gz)
		gzclose(w->gz);
	if (w->out.file)
		outfile_close(&w->out, true, NULL);
	ZSTD_freeCCtx(w->zstd);
	strtab_free(w->users);
	strtab_free(w->queues);
	sbuf_free(&w->text);
	mem_free(w->path);
	mem_free(w);
}

struct writer *writer_open(const char *path, const char *format, struct orr_error *err)
{
	struct writer *w = mem_zalloc(1, sizeof *w);
	w->path = mem_strdup(path);
	w->users = strtab_new();
	w->queues = strtab_new();
	if (!choose_format(w, format, err) && !open_file(w, err))
		return w;
	writer_free(w);
	return NULL;
}

int writer_request(struct writer *w, const struct reqset *s, const struct request_rec *r, struct orr_error *err)
{
	if (w->put != refuse_job)
		return orr_fail(err, ORR_EINPUT, "the trace has requests: expected the format \"requests\"");
	put_request(w, reqset_strings(s), r);
	return w->text.len >= FLUSH_AT ? flush(w, false, err) : ORR_OK;
}

int writer_avail(struct writer *w, const struct availset *s, const struct avail_rec *r, int64_t end_ns, struct orr_error *err)
{
	if (w->put != refuse_job_in_avail)
		return orr_fail(err, ORR_EINPUT, "the trace has instances: expected the format \"availability\"");
	if (r) {
		put_avail(w, s, r);
	} else {
		put_seconds(&w->text, end_ns);
		sbuf_puts(&w->text, ",end,,,,\n");
	}
	return w->text.len >= FLUSH_AT ? flush(w, false, err) : ORR_OK;
}

int writer_row(struct writer *w, const struct orr_trace_job *row, struct orr_error *err)
{
	int rc = w->put(w, row, err);
	w->rows++;
	if (!rc && w->text.len >= FLUSH_AT)
		rc = flush(w, false, err);
	return rc;
}

int writer_close(struct writer *w, struct orr_error *err)
{
	int rc = w->failed ? ORR_EFAIL : ORR_OK;
	if (w->put == put_swf)
		put_swf_names(w);
	if (!rc)
		rc = flush(w, true, err);
	if (!rc && w->gz) {
		int z = gzclose(w->gz);
		w->gz = NULL;
		rc = z == Z_OK ? ORR_OK : write_failed(w, err);
	}
	if (!rc && w->out.file)
		rc = outfile_close(&w->out, false, err);
	else if (!rc)
		rc = outfile_flush_stdout(err);
	writer_free(w);
	return rc;
}

void writer_discard(struct writer *w)
{
	if (w)
		writer_free(w);
}
