/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results as bytes for another process: all tables, series and texts come back; bytes that are missing, left over or wrong are refused. */
#include "results/pack.h"

#include "base/mem.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

struct packed {
	char *body;
	size_t size;
	struct sbuf texts;
};

static struct packed pack(const struct run_result *r)
{
	struct packed p = { .size = result_pack_size(r) };
	p.body = mem_alloc(p.size + 1);
	p.body[p.size] = 'x';
	result_pack(p.body, &p.texts, r);
	return p;
}

/* Unpacks copies of the bytes in arrays of just their size, so that sanitizers see a read beyond them. NULL: they are refused. */
static struct run_result *unpack(const char *body, size_t size, const char *texts, size_t length)
{
	struct orr_error err = { 0 };
	struct run_result *r = result_new();
	char *a = mem_alloc(size + !size), *b = mem_alloc(length + !length);
	memcpy(a, body, size);
	memcpy(b, texts, length);
	int code = result_unpack(r, a, size, b, length, &err);
	mem_free(a);
	mem_free(b);
	if (!code)
		return r;
	result_free(r);
	return NULL;
}

static void round_trip(void)
{
	struct run_result *r = sample_run("fifo", 30, 3);
	sample_add_step(r, 4);
	sample_add_requests(r, 8);
	sample_add_spot(r, 3);
	r->is_oracle = true;
	r->rows_total = 12345;
	struct packed p = pack(r);
	ok(p.body[p.size] == 'x', "no byte is written after the last one");
	struct run_result *back = unpack(p.body, p.size, sbuf_text(&p.texts), p.texts.len);
	if (!ok(back != NULL, "the bytes are read"))
		return;
	/* These stay with the caller. */
	back->label = mem_strdup(r->label);
	back->policy = mem_strdup(r->policy);
	back->world = r->world ? mem_strdup(r->world) : NULL;
	back->scenario = mem_strdup(r->scenario);
	back->hash = mem_strdup(r->hash);
	back->seed_text = mem_strdup(r->seed_text);
	back->wall_s = r->wall_s;
	back->cpu_s = r->cpu_s;
	ok(back->is_oracle && back->rows_total == 12345 && same_run(r, back), "all tables and series come back");
	result_metric(back, "one_more", 1, NAN, NAN);
	result_note(back, "remark", "one more");
	ok(back->n_metrics == r->n_metrics + 1 && !strcmp(back->metrics[0].name, r->metrics[0].name) && back->n_events == r->n_events + 1,
		"metrics and events may follow");
	result_free(back);
	size_t accepted = 0;
	for (size_t n = 0; n < p.size; n += n < 200 ? 1 : 97) {
		back = unpack(p.body, n, sbuf_text(&p.texts), p.texts.len);
		accepted += back != NULL;
		result_free(back);
	}
	for (size_t n = 0; n < p.texts.len; n++) {
		back = unpack(p.body, p.size, sbuf_text(&p.texts), n);
		accepted += back != NULL;
		result_free(back);
	}
	ok(!accepted, "bytes that end early are refused (%zu accepted)", accepted);
	back = unpack(p.body, p.size + 1, sbuf_text(&p.texts), p.texts.len);
	ok(!back, "a byte too many is refused");
	mem_free(p.body);
	sbuf_free(&p.texts);
	result_free(r);
}

static void empty(void)
{
	struct run_result *r = result_new();
	struct packed p = pack(r);
	struct run_result *back = unpack(p.body, p.size, sbuf_text(&p.texts), p.texts.len);
	ok(back && !back->n_jobs && !back->n_metrics && !back->n_series && !back->is_oracle && !back->rows_total, "an empty result");
	result_free(back);
	mem_free(p.body);
	sbuf_free(&p.texts);
	result_free(r);
}

/* A result of one metric without a name, and one of a job whose status is 9. */
static void wrong_cells(void)
{
	struct run_result *r = result_new();
	result_metric(r, NULL, 1, NAN, NAN);
	struct packed p = pack(r);
	struct run_result *back = unpack(p.body, p.size, sbuf_text(&p.texts), p.texts.len);
	ok(!back, "a metric without a name is refused");
	mem_free(p.body);
	sbuf_free(&p.texts);
	result_free(r);
	for (int status = JOB_UNFINISHED; status <= JOB_UNFINISHED + 1; status++) {
		r = result_new();
		r->n_jobs = 1;
		r->jobs = mem_zalloc(1, sizeof *r->jobs);
		r->jobs[0].status = (uint8_t)status;
		p = pack(r);
		back = unpack(p.body, p.size, sbuf_text(&p.texts), p.texts.len);
		ok(!back == (status > JOB_UNFINISHED), "status %d of a job", status);
		result_free(back);
		mem_free(p.body);
		sbuf_free(&p.texts);
		result_free(r);
	}
}

int main(void)
{
	round_trip();
	empty();
	wrong_cells();
	return done();
}
