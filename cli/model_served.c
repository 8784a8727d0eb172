/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/model_served.h"

#include "base/num.h"
#include "hwmodel/profile.h"
#include "hwmodel/served.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int whole(const char *name, const char *value, int64_t most, int64_t *out, struct orr_error *err)
{
	if (num_int(value, strlen(value), out) && *out >= 1 && *out <= most)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "--%s: expected a whole number from 1 to %lld, found \"%.40s\"", name, (long long)most, value);
}

int model_served_option(struct model_served *o, int opt, const char *value, struct orr_error *err)
{
	static const char letters[] = "dpTPrcwkgGh";
	static const char *const names[] = { "device", "profile", "tp", "pp", "precision", "context", "weights", "kv-precision",
		"weight-group", "weight-group-bits", "quantised-head" };
	if (opt == 's') {
		o->is_wanted = true;
		return ORR_OK;
	}
	size_t i = (size_t)(strchr(letters, opt) - letters);
	o->needs_wanted = names[i];
	switch (opt) {
	case 'T':
		return whole(names[i], value, 1024, &o->tp, err);
	case 'P':
		return whole(names[i], value, 1024, &o->pp, err);
	case 'c':
		return whole(names[i], value, 100000000, &o->context, err);
	case 'g':
		return whole(names[i], value, 1000000, &o->group, err);
	case 'G':
		return whole(names[i], value, 1024, &o->group_bits, err);
	case 'h':
		o->has_head = true;
		return ORR_OK;
	case 'w':
		o->weights = value;
		return ORR_OK;
	case 'k':
		o->kv = value;
		return ORR_OK;
	default:
		*(opt == 'd' ? &o->device : opt == 'p' ? &o->profile : &o->precision) = value;
		return ORR_OK;
	}
}

static int print_json(cJSON *o)
{
	char *text = cJSON_Print(o);
	puts(text ? text : "");
	cJSON_free(text);
	cJSON_Delete(o);
	return ORR_OK;
}

static cJSON *head_json(const struct served *m)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "name", m->name);
	cJSON_AddStringToObject(o, "title", m->title);
	cJSON_AddStringToObject(o, "source", m->source);
	cJSON_AddStringToObject(o, "kind", m->kind == SERVED_TABLE ? "table" : "llm");
	cJSON_AddStringToObject(o, "sha256", m->hash);
	cJSON_AddNumberToObject(o, "load_s", m->load_s);
	cJSON_AddNumberToObject(o, "weight_bytes", m->weight_bytes);
	if (isfinite(m->slo_s))
		cJSON_AddNumberToObject(o, "slo_s", m->slo_s);
	if (m->kind == SERVED_LLM)
		cJSON_AddNumberToObject(o, "kv_bytes_per_token", m->kv_bytes);
	if (m->longest)
		cJSON_AddNumberToObject(o, "longest", m->longest);
	return o;
}

int model_served_list(const struct model_served *o, struct orr_error *err)
{
	cJSON *all = cJSON_CreateArray();
	if (!o->as_json)
		printf("%-24s %-6s %-18s %9s  %s\n", "model", "kind", "batches", "weights", "description");
	for (size_t i = 0; served_catalogue(i); i++) {
		struct served *m = served_load(served_catalogue(i), err);
		if (!m) {
			cJSON_Delete(all);
			return err->code;
		}
		char batches[40] = "";
		if (m->kind == SERVED_TABLE)
			snprintf(batches, sizeof batches, m->n_batches > 1 ? "%u, %u to %u" : "%u, of %u", m->n_batches, m->batch[0],
				m->batch[m->n_batches - 1]);
		if (o->as_json)
			cJSON_AddItemToArray(all, head_json(m));
		else
			printf("%-24s %-6s %-18s %5.1f GiB  %s\n", m->name, m->kind == SERVED_TABLE ? "table" : "llm", batches,
				m->weight_bytes / 1073741824, m->title);
		served_free(m);
	}
	if (o->as_json)
		return print_json(all);
	cJSON_Delete(all);
	return ORR_OK;
}

/* ---- tables ---- */

static void put_head(const struct served *m)
{
	printf("%s: %s\nsource      %s\nweights     %.3f GiB, loaded in %g s\n", m->name, m->title, m->source, m->weight_bytes / 1073741824,
		m->load_s);
	if (m->longest)
		printf("longest     %u tokens of prompt and output\n", m->longest);
}

static void show_table(const struct served *m)
{
	static const char *const between[] = { "refused", "padded up to the next", "interpolated between their neighbours" };
	put_head(m);
	printf("other sizes %s\n", between[m->between]);
	printf("\n%8s", "samples");
	for (uint32_t l = 0; l < (m->n_lengths ? m->n_lengths : 1); l++)
		m->n_lengths ? printf("%8u tokens", m->length[l]) : printf("%15s", "ms");
	printf("%14s %12s %12s %10s\n", "samples/s", "before MiB", "peak MiB", "from ms");
	for (uint32_t b = 0; b < m->n_batches; b++) {
		const struct served_memory *x = &m->memory[b];
		printf("%8u", m->batch[b]);
		for (uint32_t l = 0; l < (m->n_lengths ? m->n_lengths : 1); l++)
			printf("%15.6g", 1e3 * m->latency_s[l * m->n_batches + b]);
		printf("%14.5g %12.1f %12.1f %10.4g\n", m->batch[b] / m->latency_s[b], x->before / 1048576, x->peak / 1048576,
			1e3 * x->peak_from_s);
	}
}

static void table_json(const struct served *m, cJSON *o)
{
	cJSON *list = cJSON_AddArrayToObject(o, "runs");
	for (uint32_t l = 0; l < (m->n_lengths ? m->n_lengths : 1); l++)
		for (uint32_t b = 0; b < m->n_batches; b++) {
			cJSON *r = cJSON_CreateObject();
			cJSON_AddNumberToObject(r, "samples", m->batch[b]);
			if (m->n_lengths)
				cJSON_AddNumberToObject(r, "length", m->length[l]);
			cJSON_AddNumberToObject(r, "latency_s", m->latency_s[l * m->n_batches + b]);
			cJSON_AddNumberToObject(r, "peak_bytes", m->memory[b].peak);
			cJSON_AddItemToArray(list, r);
		}
}

/* ---- language models ---- */

static const char *const part_names[] = { "linear", "elementwise", "collective", "attention", "output", "hops", "overhead", NULL };

static void part_values(const struct served_parts *p, double out[7])
{
	const double v[] = { p->linear, p->elementwise, p->collective, p->attention_prompt + p->attention_decode, p->head, p->hops,
		p->overhead };
	memcpy(out, v, sizeof v);
}

static void put_iteration(struct served_on *x, const struct llm_load *w, const char *what, cJSON *list)
{
	struct served_parts p;
	double part[7], s = served_iteration(x, w), tokens = w->decodes + w->prompt_tokens;
	bool has_parts = served_iteration_parts(x, w, &p);
	if (has_parts)
		part_values(&p, part);
	if (list) {
		cJSON *o = cJSON_CreateObject();
		cJSON_AddNumberToObject(o, "decodes", w->decodes);
		cJSON_AddNumberToObject(o, "prompt_tokens", w->prompt_tokens);
		cJSON_AddNumberToObject(o, "decode_context", w->decode_context);
		cJSON_AddNumberToObject(o, "iteration_s", s);
		for (int i = 0; has_parts && part_names[i]; i++)
			cJSON_AddNumberToObject(o, part_names[i], part[i]);
		cJSON_AddItemToArray(list, o);
		return;
	}
	printf("%-26s %10.3f %11.5g", what, 1e3 * s, tokens / s);
	for (int i = 0; has_parts && part_names[i]; i++)
		printf(" %11.3f", 1e3 * part[i]);
	putchar('\n');
}

static void put_iterations(struct served_on *x, const struct served *m, double context, cJSON *list)
{
	char what[64];
	if (!list) {
		printf("\n%-26s %10s %11s", "iteration", "ms", "tokens/s");
		for (int i = 0; part_names[i]; i++)
			printf(" %11s", part_names[i]);
		putchar('\n');
	}
	for (uint32_t n = 1; n <= 256; n *= 2) {
		struct llm_load w = { .decodes = n, .decode_context = n * context };
		snprintf(what, sizeof what, "%u decode%s", n, n > 1 ? "s" : "");
		put_iteration(x, &w, what, list);
	}
	for (uint32_t n = 128; n <= 8192 && (!m->longest || n <= m->longest); n *= 2) {
		struct llm_load w = { .prompts = 1, .prompt_tokens = n, .prompt_pairs = (double)n * n };
		snprintf(what, sizeof what, "a prompt of %u tokens", n);
		put_iteration(x, &w, what, list);
	}
}

static int find_place(
	const struct model_served *o, struct device **d, struct profile **p, struct served_place *place, struct orr_error *err)
{
	enum precision precision = PRECISION_FP16;
	if (o->precision && !precision_named(o->precision, &precision))
		return orr_fail(err, ORR_EINPUT, "--precision: expected fp32, tf32, fp16, bf16 or fp8, found \"%.40s\"", o->precision);
	*d = device_load(o->device, err);
	if (!*d)
		return ORR_EINPUT;
	const char *profile = o->profile ? o->profile : profile_for_device((*d)->profile_of);
	if (profile && strcmp(profile, "none") && !(*p = profile_load(profile, err)))
		return ORR_EINPUT;
	*place = (struct served_place){ .device = *d, .profile = *p, .tp = (uint32_t)o->tp, .pp = (uint32_t)o->pp, .precision = precision };
	return ORR_OK;
}

static int find_formats(const struct model_served *o, enum precision precision, struct quantisation *q, struct orr_error *err)
{
	*q = quant_default;
	q->precision = precision;
	q->has_head = o->has_head;
	if (o->group)
		q->group = (double)o->group;
	if (o->group_bits)
		q->group_bits = (double)o->group_bits;
	if (o->weights && (!format_named(o->weights, &q->weights) || (q->weights != FORMAT_AUTO && q->weights < FORMAT_FP8)))
		return orr_fail(err, ORR_EINPUT, "--weights: expected auto, fp8, int8 or int4, found \"%.40s\"", o->weights);
	if (o->kv && !format_named(o->kv, &q->kv))
		return orr_fail(
			err, ORR_EINPUT, "--kv-precision: expected auto, fp32, fp16, bf16, fp8, int8 or int4, found \"%.40s\"", o->kv);
	return ORR_OK;
}

static int show_llm(struct served *m, const struct model_served *o, cJSON *json, struct orr_error *err)
{
	struct device *d = NULL;
	struct profile *p = NULL;
	struct served_place place;
	struct quantisation q;
	bool is_placed = !find_place(o, &d, &p, &place, err) && !find_formats(o, place.precision, &q, err);
	if (is_placed)
		served_set_precision(m, &q);
	struct served_on *x = is_placed ? served_on_new(m, &place, err) : NULL;
	int rc = x ? ORR_OK : ORR_EINPUT;
	if (x && json) {
		cJSON_AddStringToObject(json, "device", d->name);
		cJSON_AddStringToObject(json, "precision", precision_name(place.precision));
		cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(json, "weight_bytes"), m->weight_bytes);
		cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(json, "kv_bytes_per_token"), m->kv_bytes);
		cJSON_AddStringToObject(json, "weights", format_name(q.weights));
		cJSON_AddStringToObject(json, "kv_precision", format_name(q.kv));
		cJSON_AddNumberToObject(json, "tp", place.tp);
		cJSON_AddNumberToObject(json, "pp", place.pp);
		cJSON_AddStringToObject(json, "times", served_source(x));
		cJSON_AddNumberToObject(json, "kv_tokens_of_90_percent", served_kv_tokens(x, 0.9));
		put_iterations(x, m, (double)o->context, cJSON_AddArrayToObject(json, "iterations"));
	} else if (x) {
		put_head(m);
		printf("a token of KV cache %.6g KiB over all GPUs; %.0f fit into 90 %% of the memory of %u x %s (tp %u, pp %u)\n",
			m->kv_bytes / 1024, served_kv_tokens(x, 0.9), place.tp * place.pp, d->name, place.tp, place.pp);
		printf("times       %s\n", served_source(x));
		printf("context     %lld tokens at each decode\n", (long long)o->context);
		put_iterations(x, m, (double)o->context, NULL);
	}
	served_on_free(x);
	profile_free(p);
	device_free(d);
	return rc;
}

/* Shows the table of a network on a device. */
static int show_network(struct served *m, const struct model_served *o, cJSON *json, struct orr_error *err)
{
	struct device *d = NULL;
	struct profile *p = NULL;
	struct served_place place;
	struct quantisation q = quant_default;
	bool is_placed = !find_place(o, &d, &p, &place, err);
	if (is_placed) {
		q.precision = place.precision;
		served_set_precision(m, &q);
	}
	struct served *x = is_placed ? served_placed(m, &place, err) : NULL;
	int rc = x ? ORR_OK : ORR_EINPUT;
	if (x && json) {
		cJSON_AddStringToObject(json, "device", d->name);
		cJSON_AddStringToObject(json, "precision", precision_name(place.precision));
		cJSON_AddNumberToObject(json, "tp", place.tp);
		cJSON_AddNumberToObject(json, "pp", place.pp);
		cJSON_AddStringToObject(json, "times", x->source);
		cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(json, "weight_bytes"), x->weight_bytes);
		cJSON_AddNumberToObject(json, "input_bytes", x->input_bytes);
		cJSON_AddNumberToObject(json, "output_bytes", x->output_bytes);
		table_json(x, json);
	} else if (x) {
		show_table(x);
		printf("\n%u x %s (tp %u, pp %u), %s\ninput %.0f bytes, answer %.0f bytes per sample\n", place.tp * place.pp, d->name,
			place.tp, place.pp, precision_name(place.precision), x->input_bytes, x->output_bytes);
	}
	served_free(x);
	profile_free(p);
	device_free(d);
	return rc;
}

int model_served_show(const char *name, const struct model_served *o, struct orr_error *err)
{
	struct served *m = served_load(name, err);
	if (!m)
		return err->code;
	cJSON *json = o->as_json ? head_json(m) : NULL;
	int rc = ORR_OK;
	if (m->kind == SERVED_LLM)
		rc = show_llm(m, o, json, err);
	else if (m->network)
		rc = show_network(m, o, json, err);
	else if (json)
		table_json(m, json);
	else
		show_table(m);
	served_free(m);
	if (json && !rc)
		return print_json(json);
	cJSON_Delete(json);
	return rc;
}
