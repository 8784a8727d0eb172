/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario, with results on standard output. */
#include "study/study.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "base/utf8.h"
#include "plots/figure.h"
#include "results/report.h"
#include "study/shown.h"

#include <stdio.h>

void study_say_reused(const struct world_output *o, size_t reused, size_t runs)
{
	if (reused && !o->quiet)
		fprintf(stderr, "orrery: %zu of %zu runs are taken from %s (--fresh repeats them)\n", reused, runs, utf8_shown(o->db));
}

static int show_results(const struct world_output *o, const struct run_result *const *runs, size_t n, const struct report_comparisons *x,
	struct orr_error *err)
{
	struct sbuf text = { 0 };
	struct sbuf shown_text = { 0 };
	bool is_json = o->json || o->table == GRID_JSON;
	if (is_json)
		report_json(&text, runs, n, x);
	else if (!o->quiet)
		report_table(&text, runs, n, x, (struct report_style){ o->table, shown_width() });
	(is_json ? utf8_put_valid : utf8_put_shown)(&shown_text, sbuf_text(&text), text.len);
	fputs(sbuf_text(&shown_text), stdout);
	sbuf_free(&shown_text);
	sbuf_free(&text);
	int shown = outfile_flush_stdout(err);
	if (!o->out_dir)
		return shown;
	/* The files are written even if standard output is full. */
	struct orr_error why = { 0 };
	int rc = report_out_dir(o->out_dir, runs, n, &why);
	if (!rc)
		rc = report_comparisons_csv(o->out_dir, x, runs, &why);
	if (!rc && !o->no_figures && (rc = figures_write(o->out_dir, runs, n, &why)) != 0)
		return orr_fail(err, rc, "no figures were drawn: %.600s (the CSV files are complete)", why.text);
	if (rc && !shown)
		*err = why;
	return shown ? shown : rc;
}

/* Prints errors after the first, which is the error of the study. */
static void say_further_errors(const struct study *t)
{
	const char *label;
	size_t seen = 0;
	for (size_t i = 0; i < study_policies(t, 0); i++) {
		const struct orr_error *e = study_error(t, 0, i, &label);
		if (e && seen++)
			fprintf(stderr, "orrery: %s\n", e->text);
	}
}

int study_run(const cJSON *scenario, const struct world_output *o, struct orr_error *err)
{
	struct study *t = study_new(o);
	int rc = study_add(t, scenario, NULL, err);
	if (!rc) {
		char what[40];
		const char *label;
		study_key(t, 0, 0, &label);
		snprintf(what, sizeof what, study_runs(t) == 1 ? "%.30s" : "%.30s and others", label);
		rc = study_carry_out(t, what, err);
	}
	if (study_has_ended(t)) {
		say_further_errors(t);
		struct orr_error other = { 0 };
		size_t n;
		struct run_result *const *results = study_results(t, 0, &n);
		const struct run_result **runs = mem_zalloc(n + 1, sizeof *runs);
		for (size_t i = 0; i < n; i++)
			runs[i] = results[i];
		int shown = n ? show_results(o, runs, n, study_comparisons(t, 0), rc ? &other : err) : ORR_OK;
		mem_free(runs);
		if (shown && rc)
			fprintf(stderr, "orrery: %s\n", other.text);
		rc = rc ? rc : shown;
	}
	study_free(t);
	return rc;
}
