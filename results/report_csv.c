/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report.h"

#include "base/mem.h"
#include "base/num.h"
#include "results/columns.h"
#include "results/form.h"
#include "base/outfile.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Writes a text, quoted if RFC 4180 requires it or a spreadsheet may take it for a formula. */
static void put_text(FILE *f, const char *s)
{
	if (!strpbrk(s, ",\"\r\n") && *s != '=' && *s != '@') {
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

static void put_real(FILE *f, double v)
{
	if (!isnan(v))
		fprintf(f, "%.17g", v);
}

/* Writes a time in seconds with nine decimals (exact); an empty cell unless has_happened. */
static void put_time(FILE *f, int64_t t_ns, bool has_happened)
{
	char text[NUM_SECONDS_MAX] = "";
	if (has_happened)
		num_put_seconds(text, t_ns);
	fputs(text, f);
}

/* Returns the time in the TIME column of that name. */
static int64_t time_of(const struct row_table *t, const char *row, const char *name)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (!strcmp(t->columns[i].name, name))
			return *(const int64_t *)(const void *)(row + t->columns[i].at);
	return -1;
}

static void put_cell(FILE *f, const struct row_table *t, const struct column *c, const char *row)
{
	const void *cell = row + c->at;
	switch (c->type) {
	case COLUMN_ID:
	case COLUMN_TEXT:
	case COLUMN_NAME: {
		const char *text;
		memcpy(&text, cell, sizeof text);
		if (text)
			put_text(f, text);
		else if (c->type == COLUMN_ID)
			fprintf(f, "%" PRIu64, *(const uint64_t *)(const void *)(row + t->columns[0].at));
		break;
	}
	case COLUMN_NUMBER:
	case COLUMN_COUNT64:
		fprintf(f, "%" PRIu64, *(const uint64_t *)cell);
		break;
	case COLUMN_TIME:
		put_time(f, *(const int64_t *)cell, *(const int64_t *)cell >= 0);
		break;
	case COLUMN_CLOCK:
		put_time(f, *(const int64_t *)cell, true);
		break;
	case COLUMN_COUNT:
		fprintf(f, "%" PRIu32, *(const uint32_t *)cell);
		break;
	case COLUMN_INDEX:
		if (*(const uint32_t *)cell != UINT32_MAX)
			fprintf(f, "%" PRIu32, *(const uint32_t *)cell);
		break;
	case COLUMN_REAL:
		put_real(f, *(const double *)cell);
		break;
	case COLUMN_SECONDS:
		if (!isnan(*(const double *)cell))
			fprintf(f, "%.9f", *(const double *)cell);
		break;
	case COLUMN_JOB_STATUS:
	case COLUMN_REQUEST_STATUS:
		fputs(column_words(c->type)[*(const uint8_t *)cell & 3], f);
		break;
	case COLUMN_DIFF: {
		int64_t left = time_of(t, row, c->left), right = time_of(t, row, c->right);
		put_time(f, left - right, left >= 0);
		break;
	}
	case COLUMN_SQL:
		break;
	}
}

/* Lists the columns of the CSV file in order; returns their number. */
static size_t csv_columns(const struct row_table *t, const struct column **out)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		if (!c->csv)
			continue;
		size_t k = n++;
		for (; k && out[k - 1]->csv > c->csv; k--)
			out[k] = out[k - 1];
		out[k] = c;
	}
	return n;
}

static void put_rows(FILE *f, const struct row_table *t, const struct run_result *r)
{
	const struct column **column = mem_zalloc(t->n_columns, sizeof *column);
	size_t columns = csv_columns(t, column), n = rows_count(t, r);
	struct sbuf name = { 0 };
	for (size_t k = 0; k < columns; k++) {
		sbuf_clear(&name);
		column_csv_name(&name, t, column[k]);
		fprintf(f, "%s%s", k ? "," : "", sbuf_text(&name));
	}
	putc('\n', f);
	for (size_t i = 0; i < n && !ferror(f); i++) {
		const char *row = rows_get(t, r, i);
		for (size_t k = 0; k < columns; k++) {
			if (k)
				putc(',', f);
			put_cell(f, t, column[k], row);
		}
		putc('\n', f);
	}
	sbuf_free(&name);
	mem_free(column);
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
			putc(',', f);
			put_real(f, s->value[k]);
			putc('\n', f);
		}
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
			putc(',', f.file);
			put_real(f.file, m->value);
			putc(',', f.file);
			put_real(f.file, m->ci_low);
			putc(',', f.file);
			put_real(f.file, m->ci_high);
			putc('\n', f.file);
		}
	return outfile_close(&f, false, err);
}

static int write_notes(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	static const char *const kinds[] = { "assumption", "remark" };
	struct outfile f;
	int code = outfile_open(&f, dir, "notes", ".csv", err);
	if (code)
		return code;
	fputs("policy,kind,text\n", f.file);
	for (size_t i = 0; i < n; i++)
		for (size_t kind = 0; kind < 2; kind++) {
			const char *text;
			for (size_t k = 0; (text = result_note_at(runs[i], kinds[kind], k)); k++) {
				put_text(f.file, runs[i]->label ? runs[i]->label : "");
				fprintf(f.file, ",%s,", kinds[kind]);
				put_text(f.file, text);
				putc('\n', f.file);
			}
		}
	return outfile_close(&f, false, err);
}

static char *safe_name(const char *label)
{
	enum { NAME_MAX_BYTES = 100 }; /* length limit that leaves room for suffixes within the 255 bytes of a file name */
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

/* Writes one file; with t NULL, the series. */
static int write_one(const char *dir, const char *name, const struct row_table *t, const struct run_result *r, struct orr_error *err)
{
	struct outfile f;
	char suffix[64];
	snprintf(suffix, sizeof suffix, ".%s.csv", t ? t->name : "series");
	int code = outfile_open(&f, dir, name, suffix, err);
	if (code)
		return code;
	if (t)
		put_rows(f.file, t, r);
	else
		put_series(f.file, r);
	return outfile_close(&f, false, err);
}

static int write_files(
	const char *dir, const char *name, const struct report_file *files, const struct run_result *r, struct orr_error *err)
{
	int code = ORR_OK;
	for (const struct report_file *f = files; !code && f && f->table; f++)
		if ((!f->if_paid || r->n_accounts) && (!f->if_any || rows_count(row_table_find(f->table), r)))
			code = write_one(dir, name, row_table_find(f->table), r, err);
	return code;
}

/* Returns whether a run of several worlds includes this world as a part. */
static bool has_part(const struct run_result *r, const char *part, const struct report_form *form)
{
	char metric[80];
	snprintf(metric, sizeof metric, "%.40s.%.30s", part, form && form->counted ? form->counted : "");
	return result_find(r, metric) != NULL;
}

static int write_rows(const char *dir, const char *name, const struct run_result *r, struct orr_error *err)
{
	const struct report_form *form = report_form_of(r->world);
	int code = ORR_OK;
	if (form)
		code = write_files(dir, name, form->files, r, err);
	for (const char *const *p = form ? form->parts : NULL; !code && p && *p; p++) {
		const struct report_form *part = report_form_of(*p);
		if (has_part(r, *p, part))
			code = write_files(dir, name, part->files, r, err);
	}
	if (!code && (!form || !form->series_if_any || r->n_series))
		code = write_one(dir, name, NULL, r, err);
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
		code = write_notes(dir, runs, n, err);
	if (!code)
		code = write_summary(dir, runs, n, err);
	for (size_t i = 0; i < n; i++)
		mem_free(name[i]);
	mem_free(name);
	return code;
}

/* ---- comparisons ---- */

static void put_comparison(FILE *f, const struct report_comparison *x, const char *a, const char *b)
{
	put_text(f, x->metric);
	fprintf(f, ",%s,%zu,", report_family(x->c->options.family), x->c->n_values);
	put_real(f, x->c->options.level);
	putc(',', f);
	put_text(f, a);
	putc(',', f);
	put_text(f, b);
}

static void put_reals(FILE *f, const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		putc(',', f);
		put_real(f, v[i]);
	}
}

static void put_pairs(FILE *f, const struct report_comparison *x, const struct run_result *const *runs)
{
	const struct compare_options *o = &x->c->options;
	for (size_t i = 0; i < x->c->n_pairs; i++) {
		const struct compare_pair *p = &x->c->pair[i];
		double v[] = { p->difference.mean, p->difference.low, p->difference.high, p->p, p->p_holm, p->p_t,
			o->within > 0 ? o->within : NAN, p->p_equal, p->p_equal_holm, p->p_equal_t };
		put_comparison(f, x, runs[p->a]->label, runs[p->b]->label);
		put_reals(f, v, sizeof v / sizeof *v);
		fprintf(f, ",%d,%s\n", o->within > 0 && o->is_relative, report_verdict(p->verdict));
	}
}

static void put_best(FILE *f, const struct report_comparison *x, const struct run_result *const *runs)
{
	for (size_t i = 0; x->c->options.family == COMPARE_BEST && i < x->c->n_policies; i++) {
		const struct compare_policy *p = &x->c->policy[i];
		double v[] = { p->to_best.mean, p->to_best.low, p->to_best.high, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
		put_comparison(f, x, "best of the others", runs[i]->label);
		put_reals(f, v, sizeof v / sizeof *v);
		fprintf(f, ",0,%s\n", !compare_is_possible(x->c) ? "not tested" : p->may_be_best ? "may be the best" : "not the best");
	}
}

int report_comparisons_csv(const char *dir, const struct report_comparisons *x, const struct run_result *const *runs, struct orr_error *err)
{
	struct outfile f;
	if (!x || !x->n)
		return ORR_OK;
	int code = outfile_open(&f, dir, "comparisons", ".csv", err);
	if (code)
		return code;
	fputs("metric,family,replications,level,a,b,difference,low,high,p,p_holm,p_t,equal_within,p_equal,p_equal_holm,p_equal_t,is_"
	      "relative,"
	      "verdict\n",
		f.file);
	for (size_t i = 0; i < x->n; i++) {
		put_pairs(f.file, &x->item[i], runs);
		put_best(f.file, &x->item[i], runs);
	}
	return outfile_close(&f, ferror(f.file), err);
}
