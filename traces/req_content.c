/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* memrchr() */
#include "traces/req_content.h"

#include "traces/req_format.h"
#include "traces/trace.h"

#include "base/mem.h"
#include "base/num.h"

#include <string.h>

/* ---- models by weight ---- */

void req_mix_free(struct req_mix *m)
{
	mem_free(m->model);
	mem_free(m->samples);
	mem_free(m->end);
}

/* Parses "NAME", "NAME*3" or "NAME:8*3" in s[0..n). */
static bool read_part(struct req_mix *m, const char *s, size_t n, bool has_samples, struct rowset *set)
{
	const char *star = memchr(s, '*', n);
	double weight = 1;
	int64_t samples = 1;
	size_t left = star ? (size_t)(star - s) : n;
	if (star && (!num_real(star + 1, n - left - 1, &weight) || !(weight > 0 && weight <= 1e9)))
		return false;
	const char *colon = has_samples ? memrchr(s, ':', left) : NULL;
	if (colon) {
		if (!num_int(colon + 1, left - (size_t)(colon + 1 - s), &samples) || samples < 1 || samples > REQUEST_MAX_SAMPLES)
			return false;
		left = (size_t)(colon - s);
	}
	if (!left)
		return false;
	m->model[m->n] = rowset_text(set, s, left);
	m->samples[m->n] = (uint32_t)samples;
	m->end[m->n] = weight + (m->n ? m->end[m->n - 1] : 0);
	m->n++;
	return true;
}

int req_mix_parse(struct req_mix *m, const char *where, const char *name, const char *text, bool has_samples, struct rowset *set,
	struct orr_error *err)
{
	size_t parts = *text != '\0';
	for (const char *s = text; *s; s++)
		parts += *s == '|';
	m->model = mem_zalloc(parts + 1, sizeof *m->model);
	m->samples = mem_zalloc(parts + 1, sizeof *m->samples);
	m->end = mem_zalloc(parts + 1, sizeof *m->end);
	for (const char *s = text; parts--;) {
		size_t n = strcspn(s, "|");
		if (!read_part(m, s, n, has_samples, set))
			return orr_fail(err, ORR_EINPUT,
				"generator %s: %s: expected models separated by |, each with an optional suffix %s*WEIGHT, found "
				"\"%.60s\"",
				where, name, has_samples ? ":SAMPLES and " : "", text);
		s += n + 1;
	}
	for (uint32_t i = 0; i < m->n; i++)
		m->end[i] /= m->end[m->n - 1];
	return ORR_OK;
}

uint32_t req_mix_draw(const struct req_mix *m, struct rng *r)
{
	if (m->n < 2)
		return 0;
	double u = rng_uniform(r);
	uint32_t low = 0, high = m->n - 1;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (u < m->end[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* ---- lengths of a trace ---- */

static int read_lengths(struct req_content *c, const char *where, const char *name, const char *text, size_t n, struct orr_error *err)
{
	struct trace *t = trace_open_memory(name, text, n, "auto", NULL, err);
	struct req_row row;
	size_t cap = 0;
	int rc = t ? 1 : -1;
	while (rc == 1 && (rc = trace_next_request(t, &row, err)) == 1) {
		MEM_GROW(c->row, c->n_rows, cap);
		c->row[c->n_rows++] = (struct req_lengths){ row.prompt_tokens, row.output_tokens };
	}
	trace_close(t);
	if (!rc && !c->n_rows)
		return orr_fail(err, ORR_EINPUT, "generator %s: lengths: expected a trace of requests, found %s", where, name);
	return rc ? ORR_EINPUT : ORR_OK;
}

/* ---- rows ---- */

int req_content_plan(struct req_content *c, const char *where, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	int rc = req_mix_parse(&c->mix, where, "model", orr_arg_text(args, "model"), false, set, err);
	if (!rc)
		rc = req_law_parse(&c->samples, where, "samples", orr_arg_text(args, "samples"), LAW_OF_SAMPLES, err);
	if (!rc)
		rc = req_law_parse(&c->prompt, where, "prompt", orr_arg_text(args, "prompt"), LAW_OF_PROMPTS, err);
	if (!rc)
		rc = req_law_parse(&c->output, where, "output", orr_arg_text(args, "output"), LAW_OF_OUTPUTS, err);
	size_t n;
	const char *text = orr_arg_file(args, "lengths", &n);
	if (!rc && text && *orr_arg_text(args, "lengths"))
		rc = read_lengths(c, where, orr_arg_text(args, "lengths"), text, n, err);
	if (!rc && c->row && (strcmp(orr_arg_text(args, "prompt"), "0") || strcmp(orr_arg_text(args, "output"), "0")))
		return orr_fail(
			err, ORR_EINPUT, "generator %s: \"lengths\" replaces \"prompt\" and \"output\": expected neither of these", where);
	c->max_output = (uint32_t)orr_arg_int(args, "max_output");
	c->priority = (uint32_t)orr_arg_int(args, "priority");
	c->slo_ns = orr_arg_time_ns(args, "slo");
	c->slo_ns = c->slo_ns > 0 ? c->slo_ns : -1;
	c->is_constant = c->mix.n < 2 && c->samples.kind == LAW_CONSTANT && c->prompt.kind == LAW_CONSTANT &&
			 c->output.kind == LAW_CONSTANT && !c->row;
	return rc;
}

void req_content_free(struct req_content *c)
{
	req_mix_free(&c->mix);
	mem_free(c->row);
}

void req_content_start(struct req_content_draw *d, const struct req_content *c, uint64_t seed, uint64_t index)
{
	d->law = c;
	rng_init(&d->models, seed, "request model", index);
	rng_init(&d->samples, seed, "request samples", index);
	rng_init(&d->prompts, seed, "request prompt", index);
	rng_init(&d->outputs, seed, "request output", index);
	rng_init(&d->rows, seed, "request lengths", index);
}

void req_content_draw(struct req_content_draw *d, struct request_rec *row)
{
	const struct req_content *c = d->law;
	row->slo_ns = c->slo_ns;
	row->priority = c->priority;
	row->max_output = c->max_output;
	row->model = c->mix.n ? c->mix.model[c->is_constant ? 0 : req_mix_draw(&c->mix, &d->models)] : 0;
	row->samples = req_law_draw(&c->samples, &d->samples);
	if (c->row) {
		const struct req_lengths *l = &c->row[rng_below(&d->rows, c->n_rows)];
		row->prompt_tokens = l->prompt;
		row->output_tokens = l->output;
	} else {
		row->prompt_tokens = req_law_draw(&c->prompt, &d->prompts);
		row->output_tokens = req_law_draw(&c->output, &d->outputs);
	}
	if (row->max_output && row->output_tokens > row->max_output)
		row->output_tokens = row->max_output;
}
