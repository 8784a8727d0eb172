/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/verb.h"

#include "cli/request.h"

#include <stdio.h>
#include <string.h>

/* ---- help ---- */

static void put_flag(struct sbuf *out, const struct world_flag *f)
{
	char name[40];
	snprintf(name, sizeof name, "--%.30s", f->name);
	struct sbuf doc = { 0 };
	if (f->put_doc)
		f->put_doc(&doc);
	request_put_option(out, name, f->arg, f->put_doc ? sbuf_text(&doc) : f->doc);
	sbuf_free(&doc);
}

static void put_set(struct sbuf *out, const struct world *w)
{
	struct sbuf doc = { 0 };
	sbuf_puts(&doc, "change one value: policy.NAME.PARAM");
	if (w->options)
		sbuf_printf(&doc, ", %s.OPTION", w->name);
	size_t line = 0;
	for (const struct world_object *o = w->objects; o && o->key; o++) {
		if (!o->table && strcmp(o->key, "trace_options") != 0)
			continue;
		bool is_long = doc.len - line + strlen(o->key) > 62;
		sbuf_printf(&doc, ",%s%s.NAME", is_long ? "\n" : " ", o->key);
		line = is_long ? doc.len : line;
	}
	sbuf_puts(&doc, "\nor a key of the scenario (repeatable)");
	request_put_option(out, "--set", "PATH=VALUE", sbuf_text(&doc));
	sbuf_free(&doc);
}

void verb_help(const struct world *w, struct sbuf *out)
{
	sbuf_printf(out, "usage: %s\n       orrery %s [%s] --scenario FILE [OPTIONS]\n\n%s\n\n", w->usage, w->name, w->source, w->about);
	request_put_option(out, w->source, NULL, w->source_doc);
	request_put_option(out, "--policy", "LIST",
		"names (orrery policy list), plugins (./mine.so) or files of Python\n(./mine.py); NAME@LABEL runs a policy again under "
		"another label");
	for (const struct world_flag *f = w->flags; f && f->name; f++)
		put_flag(out, f);
	put_set(out, w);
	request_put_option(out, "--scenario", "FILE", "a scenario file; other options override its values");
	request_put_common(out);
	sbuf_printf(out, "\n%s", w->examples);
}

/* ---- the run ---- */

/* Combines the argument, the flags, the file of --scenario (which flags override) and --set into one scenario of the world. */
static int complete(struct request *r, const struct world *w, struct orr_error *err)
{
	const struct world *is;
	bool has_format = cJSON_GetObjectItemCaseSensitive(r->scenario, "format");
	int rc = r->file ? request_load_below(r, r->file, err) : ORR_OK;
	if (rc)
		return rc;
	if (r->source && !has_format) /* the format in the file belongs to the file's trace */
		cJSON_DeleteItemFromObjectCaseSensitive(r->scenario, "format");
	if (!r->file)
		request_put(r, "world", w->name);
	if (r->source)
		request_put(r, w->keys[0].name, r->source);
	rc = request_apply_sets(r, err);
	if (!rc)
		rc = scenario_world(r->scenario, &is, err);
	if (!rc && is != w)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.world: expected \"%s\" ('orrery run' runs scenarios of any world)", w->name);
	return rc;
}

/* Calls the world's replacement for runs if flags of its verb request it. */
static int do_instead(const struct request *r, const struct world *w, bool *did, struct orr_error *err)
{
	struct scenario *s = scenario_open(r->scenario, &r->output, err);
	struct sbuf out = { 0 };
	if (!s)
		return err->code;
	int rc = w->instead(s, &out, did, err);
	fputs(sbuf_text(&out), stdout);
	sbuf_free(&out);
	scenario_close(s);
	return rc;
}

int verb_run(const struct world *w, int argc, char **argv, struct orr_error *err)
{
	struct request r;
	bool did = false;
	int rc = request_parse(argc, argv, w, &r, err);
	bool is_replaced = !rc && w->source_key && cJSON_GetObjectItemCaseSensitive(r.scenario, w->source_key);
	if (!rc && !r.source && !r.file && !is_replaced)
		rc = orr_fail(err, ORR_EINPUT, "%s: expected %s (%s); --help shows the forms", w->name, w->source, w->source_hint);
	if (!rc)
		rc = complete(&r, w, err);
	if (!rc && w->instead && r.output.n_extras)
		rc = do_instead(&r, w, &did, err);
	if (!rc && !did)
		rc = study_run(r.scenario, &r.output, err);
	if (rc && r.file)
		request_name_file(&r, err);
	request_free(&r);
	return rc;
}
