/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a profile as JSON; equal profiles give equal bytes. */
#include "hwmodel/profile.h"

#include <math.h>
#include <string.h>

static void put_text(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ')
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void put_pair(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\t\"%s\": ", key);
	put_text(out, value);
	fputs(",\n", out);
}

static void put_environment(FILE *out, const char *lines)
{
	if (!*lines)
		return;
	fputs("\t\"environment\": {", out);
	const char *between = "";
	while (*lines) {
		const char *end = strchr(lines, '\n'), *colon = strstr(lines, ": ");
		char key[64], value[512];
		size_t len = end ? (size_t)(end - lines) : strlen(lines);
		size_t key_len = colon && (!end || colon < end) ? (size_t)(colon - lines) : 0;
		snprintf(key, sizeof key, "%.*s", (int)key_len, lines);
		snprintf(value, sizeof value, "%.*s", (int)(len - key_len - (key_len ? 2 : 0)), lines + key_len + (key_len ? 2 : 0));
		fprintf(out, "%s\n\t\t", between);
		put_text(out, key_len ? key : "note");
		fputs(": ", out);
		put_text(out, value);
		between = ",";
		lines += len + (end != NULL);
	}
	fputs("\n\t},\n", out);
}

/* Writes six digits: the error of a fit is far larger, and anchors tolerate 1 %. */
static void put_parameters(FILE *out, const struct law *l)
{
	const char *between = "", *name;
	double unit;
	if (!l->n_params)
		return;
	fputs(",\n\t\t \"parameters\": {", out);
	for (uint32_t i = 0; (name = law_param_name(l->form, i, &unit)); i++) {
		bool is_left_out = isinf(l->param[i]) || (l->param[i] == 0 && !strncmp(name, "time", 4));
		if (!is_left_out) {
			fprintf(out, "%s\"%s\": %.6g", between, name, l->param[i] / unit);
			between = ", ";
		}
	}
	fputs("},\n\t\t \"covariance_of_logs\": [", out);
	for (uint32_t i = 0; i < l->n_params; i++)
		for (uint32_t k = 0; k < l->n_params; k++)
			fprintf(out, "%s%.8g%s", k ? ", " : i ? ", [" : "[", l->covariance[i][k], k + 1 < l->n_params ? "" : "]");
	fputs("]", out);
}

static void put_range(FILE *out, const struct law *l)
{
	static const char *const names[LAW_FEATURES] = { "flops", "bytes", "size" };
	const char *between = "";
	fputs(",\n\t\t \"range\": {", out);
	for (int i = 0; i < LAW_FEATURES; i++)
		if (!isnan(l->from[i])) {
			fprintf(out, "%s\"%s\": [%.10g, %.10g]", between, names[i], l->from[i], l->to[i]);
			between = ", ";
		}
	fputs("}", out);
}

static void put_error(FILE *out, const char *key, double mean, double median, double p90)
{
	if (!isnan(median))
		fprintf(out, ",\n\t\t \"%s\": {\"mean\": %.4g, \"median\": %.4g, \"p90\": %.4g}", key, mean, median, p90);
}

static void put_points(FILE *out, const char *key, const struct law_point *x, uint32_t n, bool has_mark)
{
	if (!n)
		return;
	fprintf(out, ",\n\t\t \"%s\": [", key);
	for (uint32_t i = 0; i < n; i++) {
		fprintf(out, "%s[%.10g, %.10g, %.10g, %.6g", i ? ", " : "", x[i].feature[0], x[i].feature[1], x[i].feature[2],
			x[i].time_s * 1e6);
		fputs(has_mark ? (x[i].is_held_out ? ", 1]" : ", 0]") : "]", out);
	}
	fputs("]", out);
}

static void put_law(FILE *out, const struct law *l)
{
	fputs("\t\t{\"family\": ", out);
	put_text(out, l->family);
	const char *const texts[][2] = { { "op", l->op }, { "precision", l->precision }, { "variant", l->variant } };
	for (size_t i = 0; i < 3; i++) {
		fprintf(out, ", \"%s\": ", texts[i][0]);
		put_text(out, texts[i][1]);
	}
	if (l->ranks > 0 || l->nodes > 0)
		fprintf(out, ", \"ranks\": %.10g, \"nodes\": %.10g", l->ranks, l->nodes);
	fprintf(out, ", \"form\": \"%s\"", law_form_name(l->form));
	put_parameters(out, l);
	put_range(out, l);
	fprintf(out, ",\n\t\t \"points\": %u, \"held_out\": %u, \"sigma_of_log\": %.4g", l->points, l->held_out, l->sigma);
	put_error(out, "error", l->mean_error, l->median_error, l->p90_error);
	put_error(out, "held_out_error", l->held_out_mean, l->held_out_median, l->held_out_p90);
	if (l->n_table) {
		fputs(",\n\t\t \"table_us\": [", out);
		for (uint32_t i = 0; i < l->n_table; i++)
			fprintf(out, "%s[%.10g, %.6g]", i ? ", " : "", l->table_x[i], l->table_y[i] * 1e6);
		fputs("]", out);
	}
	put_points(out, "anchors_us", l->anchor, l->n_anchors, false);
	put_points(out, "kept_points_us", l->point, l->n_points, true);
	fputs("}", out);
}

int profile_write(const struct profile *p, FILE *out, struct orr_error *err)
{
	fprintf(out, "{\n\t\"schema\": %d,\n", PROFILE_SCHEMA);
	put_pair(out, "name", p->name);
	put_pair(out, "device", p->device);
	put_pair(out, "title", p->title);
	put_pair(out, "source", p->source);
	put_pair(out, "date", p->date);
	put_pair(out, "backend", p->backend);
	if (*p->note)
		put_pair(out, "note", p->note);
	fprintf(out, "\t\"stable\": %s,\n\t\"measured_here\": %s,\n", p->is_stable ? "true" : "false",
		p->is_measured_here ? "true" : "false");
	put_environment(out, p->environment);
	fputs("\t\"laws\": [\n", out);
	for (size_t i = 0; i < p->n_laws; i++) {
		put_law(out, &p->law[i]);
		fputs(i + 1 < p->n_laws ? ",\n" : "\n", out);
	}
	fputs("\t]\n}\n", out);
	return ferror(out) ? orr_fail(err, ORR_EFAIL, "the profile cannot be written") : ORR_OK;
}
