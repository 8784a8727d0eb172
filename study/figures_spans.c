/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timelines of devices in a book: the last iterations of a run of the step world, drawn as by `orrery step --out`. */
#include "study/figures.h"

#include "base/mem.h"
#include "plots/figure.h"
#include "base/outfile.h"

#include <inttypes.h>
#include <string.h>

static int write_spans(const struct run_result *r, const char *out_dir, const char *file, struct orr_error *err)
{
	struct outfile f;
	int rc = outfile_open(&f, out_dir, file, ".csv", err);
	if (rc)
		return rc;
	fputs("device,stream,iteration,kind,label,start_s,end_s\n", f.file);
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct span_row *s = &r->spans[i];
		fprintf(f.file, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%s,", s->device, s->stream, s->iteration, s->kind);
		book_put_text(f.file, s->label);
		book_put_real(f.file, s->start_s);
		book_put_real(f.file, s->end_s);
		putc('\n', f.file);
	}
	return outfile_close(&f, false, err);
}

int book_spans(struct book *b, const cJSON *figure, const char *where, const char *file, const char *out_dir, struct album *album,
	const struct run_result **shown, struct orr_error *err)
{
	static const char *const known[] = { "name", "kind", "each", "title", "rows", NULL };
	const struct run_result *r = NULL;
	const char *name = NULL;
	int rc = book_check_keys(b, figure, where, known, err);
	const char *template = rc ? NULL : book_string(b, figure, "rows", where, err);
	if (rc || !template)
		return rc ? rc : book_fail(b, where, err, "\"rows\": expected RUN.LABEL.spans, such as \"amazon.lambda.spans\"");
	char *text = book_text(b, template, where, err);
	rc = text ? book_result(b, text, where, &r, &name, err) : ORR_EINPUT;
	if (!rc && r && strcmp(name, "spans"))
		rc = book_fail(b, where, err, "%.80s: expected RUN.LABEL.spans", text);
	else if (!rc && r && !r->n_spans)
		rc = book_fail(b, where, err,
			"%.80s: this run has no spans: expected a run of the step world; --fresh repeats a run that a database keeps "
			"without spans",
			text);
	if (!rc && r && out_dir)
		rc = write_spans(r, out_dir, file, err);
	if (!rc && r && album)
		rc = figures_timeline(album, r, file, err);
	mem_free(text);
	*shown = rc ? NULL : r;
	return rc;
}
