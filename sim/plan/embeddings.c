/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problems of kind embeddings: the table, its compression, and the results. Formulas: docs/models/embed.md. */
#include "plan/world.h"

#include "base/param.h"
#include "base/sbuf.h"

#include <math.h>
#include <string.h>

/* ---- the problem ---- */

static const char prefix[] = "embeddings:";

bool embeddings_named(const char *problem)
{
	return !strncmp(problem, prefix, sizeof prefix - 1);
}

static struct embed_table *generate(const char *spec, bool *is_held, struct orr_error *err)
{
	struct embed_shape shape;
	struct embed_table *t = NULL;
	struct orr_args *a = args_new(embed_shape_params, "embeddings", err);
	int rc = a ? args_set_pairs(a, spec, ',', err) : ORR_EFAIL;
	if (!rc && !embed_shape_read(&shape, a, err)) {
		*is_held = shape.is_held;
		shape.is_held = false;
		t = embed_table_generate(&shape);
	}
	args_free(a);
	return t;
}

struct embed_table *embeddings_open(const char *problem, bool *is_held, struct orr_error *err)
{
	const char *spec = problem + sizeof prefix - 1, file[] = "file=";
	*is_held = false;
	if (!strncmp(spec, file, sizeof file - 1))
		return embed_table_read(spec + sizeof file - 1, err);
	return generate(spec, is_held, err);
}

/* ---- the interface ---- */

void orr_plan_field(const struct orr_plan *p, uint32_t field, struct orr_plan_field *out)
{
	*out = (struct orr_plan_field){ 0 };
	if (!p->of->table || field >= embed_fields(p->of->table))
		return;
	out->features = embed_field_features(p->of->table, field);
	out->frequency = embed_frequencies(p->of->table, field);
	out->cumulated = embed_cumulated(p->of->table, field);
}

static const char *what_is_wrong(const struct orr_plan *p, const struct orr_plan_code *c)
{
	if (!p->of->table)
		return "expected a problem of kind embeddings";
	if ((unsigned)c->method > ORR_CODE_PRODUCT)
		return "unknown method";
	if ((c->method == ORR_CODE_SHARED || c->method == ORR_CODE_HASHED) && !(c->reduction >= 1))
		return "reduction: expected at least 1 feature per vector";
	if (c->method == ORR_CODE_SHARED && !(c->head_share > 0 && c->head_share <= 1))
		return "head_share: expected a share above 0, at most 1";
	if (c->method == ORR_CODE_SHARED && (!c->id_bytes || c->id_bytes > 4))
		return "id_bytes: expected 1 to 4";
	if ((c->method == ORR_CODE_SHARED || c->method == ORR_CODE_PRODUCT) && !c->iterations)
		return "iterations: expected at least 1";
	if (c->method == ORR_CODE_ROUNDED && c->bits != 8 && c->bits != 16 && c->bits != 32)
		return "bits: expected 8, 16 or 32";
	return NULL;
}

static void tell(void *ctx, uint32_t done, uint32_t fields)
{
	struct orr_plan *p = ctx;
	if (p->progress)
		p->progress(p->progress_ctx, (double)done / fields);
}

bool orr_plan_compress(struct orr_plan *p, const struct orr_plan_code *c, struct orr_plan_code_value *out)
{
	struct orr_error e = { 0 };
	const char *wrong = c && out ? what_is_wrong(p, c) : "a pointer is NULL: expected an object";
	if (out)
		*out = (struct orr_plan_code_value){ .bytes = INFINITY };
	if (p->error.code || p->is_ended)
		return false;
	if (wrong) {
		search_fail(p, ORR_EFAIL, "orr_plan_compress: %s", wrong);
		return false;
	}
	struct embed_options o = { .method = (enum embed_method)c->method,
		.reduction = c->method == ORR_CODE_SHARED || c->method == ORR_CODE_HASHED ? c->reduction : 1,
		.head_share = c->head_share,
		.head_mass = NAN,
		.iterations = c->iterations,
		.is_weighted = c->is_weighted,
		.id_bytes = c->id_bytes,
		.bits = c->bits,
		.parts = c->method == ORR_CODE_PRODUCT ? c->parts : 0,
		.seed = p->of->seed,
		.is_stopped = search_interrupt(),
		.progress = tell,
		.ctx = p };
	if (c->head_mass > 0)
		o.head_mass = c->head_mass;
	*p->uses |= c->method == ORR_CODE_SHARED || c->method == ORR_CODE_PRODUCT ? PLAN_USED_RANDOM : 0;
	if (p->watch)
		watch_pause(p->watch);
	struct embed_code *code = embed_compress(p->of->table, &o, &e);
	struct embed_error error = { 0 };
	if (code)
		error = embed_error(p->of->table, code);
	if (p->watch)
		watch_again(p->watch);
	p->used++;
	if (!code) {
		search_fail(p, e.code, "%s", e.text);
		return false;
	}
	embed_code_free(p->code);
	p->code = code;
	*out = (struct orr_plan_code_value){ embed_code_bytes(code), (double)embed_code_vectors(code), error.plain, error.weighted };
	p->code_value = *out;
	return true;
}

/* ---- results ---- */

static void put(struct run_result *r, const char *name, double value)
{
	result_metric(r, name, value, NAN, NAN);
}

/* Notes the assumptions about errors and accuracy. */
static void note_assumptions(const struct orr_plan *p, struct run_result *r)
{
	struct sbuf b = { 0 };
	const struct embed_shape *s = embed_shape_of(p->of->table);
	if (s && s->clusters)
		sbuf_printf(&b,
			"vectors are generated: %u planted clusters per field, values with standard deviation %g around centres of "
			"standard deviation 1; the errors depend on these numbers",
			s->clusters, s->noise);
	else if (s)
		sbuf_puts(&b, "vectors are generated without clusters: compression by clustering has large errors on them");
	if (b.len)
		result_note(r, "assumption", b.text);
	if (p->of->task.train)
		result_note(r, "assumption",
			"AUC and log loss are those of a small logistic model with generated labels: they do not predict those of a "
			"production model");
	sbuf_free(&b);
}

/* Adds the accuracy of the logistic model on the uncompressed and on the compressed vectors. */
static void add_accuracy(const struct orr_plan *p, struct run_result *r)
{
	if (!p->of->task.train)
		return;
	*p->uses |= PLAN_USED_RANDOM;
	struct embed_model *m = embed_model_train(p->of->table, &p->of->task);
	struct embed_accuracy plain = embed_model_test(m, NULL), coded = embed_model_test(m, p->code);
	embed_model_free(m);
	put(r, "auc", coded.auc);
	put(r, "auc_uncompressed", plain.auc);
	put(r, "auc_change", coded.auc - plain.auc);
	put(r, "log_loss", coded.log_loss);
	put(r, "log_loss_uncompressed", plain.log_loss);
}

static void note_choice(const struct orr_plan *p, struct run_result *r)
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%.0f vectors for %llu features in %u fields", p->code_value.vectors,
		(unsigned long long)embed_features(p->of->table), embed_fields(p->of->table));
	if (embed_code_head(p->code))
		sbuf_printf(&b, "; %llu features clustered", (unsigned long long)embed_code_head(p->code));
	result_note(r, "choice", b.text);
	sbuf_free(&b);
}

int embeddings_report(struct orr_plan *p, struct run_result *r, struct orr_error *err)
{
	const struct embed_table *t = p->of->table;
	if (!p->code)
		return orr_fail(
			err, ORR_EFAIL, "policy %.100s: search() compressed no table: expected a call of orr_plan_compress()", p->label);
	struct embed_work w = embed_code_work(p->code);
	double before = embed_table_bytes(t), bytes = p->code_value.bytes;
	put(r, "table_bytes", before);
	put(r, "code_bytes", bytes);
	put(r, "compression", before / bytes);
	put(r, "vectors", p->code_value.vectors);
	put(r, "plain_error", p->code_value.plain_error);
	put(r, "weighted_error", p->code_value.weighted_error);
	put(r, "cluster_madds", (double)w.cluster + (double)w.last_pass);
	put(r, "start_madds", (double)w.start);
	put(r, "head_features", (double)embed_code_head(p->code));
	put(r, "evaluations", (double)p->used);
	add_accuracy(p, r);
	lookups_report(p, r);
	note_choice(p, r);
	note_assumptions(p, r);
	return ORR_OK;
}
