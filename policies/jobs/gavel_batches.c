/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gavel_batches.h"
#include "csv_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATIC, ACCORDION, GNS, N_MODES };
enum { LM, RECOMMENDATION, RESNET18, RESNET50, TRANSFORMER, N_MODELS };
enum { MOST_FAILURES = 5, RESTART_S = 20, LONG_S = 115 };

/* Samples of an epoch, smallest and largest batch, as in the published code. */
static const struct {
	const char *name;
	double samples, least, most;
} models[N_MODELS] = { [LM] = { "LM", 59675, 5, 80 },
	[RECOMMENDATION] = { "Recommendation", 117907, 512, 8192 },
	[RESNET18] = { "ResNet-18", 50000, 16, 256 },
	[RESNET50] = { "ResNet-50", 100000, 16, 128 },
	[TRANSFORMER] = { "Transformer", 10000, 16, 128 } };
static const char *const modes[N_MODES] = { "static", "accordion", "gns" };

struct speed_row {
	int model;
	double batch, gpus, per_s;
};
struct schedule_row {
	int model;
	double first_batch, gpus, from_epoch, batch;
};

struct gavel_batches {
	struct speed_row *speed;
	size_t n_speeds, cap_speeds;
	struct schedule_row *schedule;
	size_t n_schedule, cap_schedule;
};

/* ---- files ---- */

void gavel_batches_free(struct gavel_batches *b)
{
	if (!b)
		return;
	orr_free(b->speed);
	orr_free(b->schedule);
	orr_free(b);
}

/* Returns N_MODELS for an unknown name. */
static int model_named(const char *text, size_t n)
{
	int i = 0;
	while (i < N_MODELS && !(strlen(models[i].name) == n && !memcmp(models[i].name, text, n)))
		i++;
	return i;
}

static void add_row(struct gavel_batches *b, bool is_schedule, int model, const double *v)
{
	if (is_schedule) {
		ORR_GROW(b->schedule, b->n_schedule, b->cap_schedule);
		b->schedule[b->n_schedule++] = (struct schedule_row){ model, v[0], v[1], v[2], v[3] };
	} else {
		ORR_GROW(b->speed, b->n_speeds, b->cap_speeds);
		b->speed[b->n_speeds++] = (struct speed_row){ model, v[0], v[1], v[2] };
	}
}

static int read_row(struct gavel_batches *b, bool is_schedule, char *row, struct orr_error *err)
{
	const char *name = csv_field(&row);
	int model = model_named(name, strlen(name)), n = is_schedule ? 4 : 3;
	double v[4];
	if (model == N_MODELS)
		return orr_fail(
			err, ORR_EINPUT, "model: expected LM, Recommendation, ResNet-18, ResNet-50 or Transformer, found \"%.60s\"", name);
	for (int i = 0; i < n; i++)
		if (!csv_number(csv_field(&row), &v[i]))
			return orr_fail(err, ORR_EINPUT, "column %d: expected a number of at least 0", i + 2);
	if (row)
		return orr_fail(err, ORR_EINPUT, "expected %d columns", n + 1);
	add_row(b, is_schedule, model, v);
	return ORR_OK;
}

static int read_file(
	struct gavel_batches *b, const struct orr_args *args, const char *key, const char *header, bool is_schedule, struct orr_error *err)
{
	size_t n = 0, at = 1;
	const char *given = orr_arg_file(args, key, &n), *file = orr_arg_text(args, key);
	struct orr_error why = { 0 };
	if (!given)
		return orr_fail(err, ORR_EINPUT, "rules=shockwave: expected %s=FILE, a CSV file with columns %s", key, header);
	char *text = orr_alloc(n + 1, 1), *rest = text;
	memcpy(text, given, n);
	char *row = csv_line(&rest);
	int rc = row && !strcmp(row, header) ? ORR_OK : orr_fail(err, ORR_EINPUT, "%.200s:1: expected the header %s", file, header);
	while (!rc && (row = csv_line(&rest))) {
		at++;
		if (*row && read_row(b, is_schedule, row, &why))
			rc = orr_fail(err, ORR_EINPUT, "%.200s:%zu: %.300s", file, at, why.text);
	}
	orr_free(text);
	return rc;
}

struct gavel_batches *gavel_batches_read(const struct orr_args *args, struct orr_error *err)
{
	struct gavel_batches *b = orr_alloc(1, sizeof *b);
	if (!read_file(b, args, "batch_throughputs", "model,batch,gpus,steps_per_s", false, err) &&
		!read_file(b, args, "batch_schedule", "model,initial_batch,gpus,from_epoch,batch", true, err))
		return b;
	gavel_batches_free(b);
	return NULL;
}

/* ---- a job ---- */

/* Returns steps/s; 0: the table has none, or says that the batch does not fit. */
static double steps_per_s(const struct gavel_batches *b, int model, double batch, double gpus)
{
	for (size_t i = 0; i < b->n_speeds; i++)
		if (b->speed[i].model == model && b->speed[i].batch == batch && b->speed[i].gpus == gpus)
			return b->speed[i].per_s;
	return 0;
}

struct gavel_batch_state *gavel_batches_job(const struct gavel_batches *b, struct orr_jobs *w, const struct gavel_member *m)
{
	struct orr_job_info info;
	if (!orr_job_get(w, m->job, &info))
		return NULL;
	const char *name = orr_name(w, info.model), *mode = orr_name(w, info.queue), *batch = strstr(name, " (batch size ");
	struct gavel_batch_state s = { .mode = 0, .gpus = info.gpus, .total = orr_job_iterations(w, m->job) };
	s.model = batch ? model_named(name, (size_t)(batch - name)) : N_MODELS;
	s.first_batch = s.batch = batch ? strtod(batch + strlen(" (batch size "), NULL) : 0;
	while (s.mode < N_MODES && strcmp(modes[s.mode], mode))
		s.mode++;
	s.limit_s = floor(1.5 * floor((double)orr_job_estimate_ns(w, m->job, ORR_ESTIMATE_EXACT, 1) / 1e9));
	s.per_s = s.model < N_MODELS ? steps_per_s(b, s.model, s.batch, s.gpus) : 0;
	if (!(s.per_s > 0) || s.mode == N_MODES || !(s.total > 0)) {
		orr_give_up(w, m->job,
			"rules=shockwave: expected iterations, a model \"NAME (batch size N)\" of batch_throughputs, and the queue static, "
			"accordion or gns");
		return NULL;
	}
	struct gavel_batch_state *made = orr_alloc(1, sizeof *made);
	*made = s;
	return made;
}

bool gavel_batches_begin(struct gavel_batch_state *s, double round_s, double now_s, bool is_first, double *finish_s)
{
	s->steps = fmax(fmin(floor(s->per_s * round_s), s->total - s->run), 0);
	*finish_s = now_s + s->steps / s->per_s;
	s->received_s = *finish_s - now_s;
	if (!is_first && !s->ran_last &&
		s->received_s > LONG_S) { /* a restart takes part of the round; the time of the finish stays the same */
		s->steps = floor(s->steps * (s->received_s - RESTART_S) / s->received_s);
		s->received_s -= RESTART_S;
	}
	s->runs = true;
	s->has_failed = s->steps <= 0 && s->received_s <= 0;
	s->failures = s->has_failed ? s->failures + 1 : 0;
	s->cum_s += s->received_s;
	if (s->has_failed)
		return s->failures >= MOST_FAILURES;
	s->run += s->steps;
	return s->run >= s->total || s->cum_s > s->limit_s;
}

static double epoch_steps(const struct gavel_batch_state *s, double batch)
{
	return ceil(models[s->model].samples / batch);
}

void gavel_batches_result(const struct gavel_batches *b, struct gavel_batch_state *s)
{
	double most = models[s->model].most, batch;
	int flag = s->has_failed ? 0 : s->flag;
	if (s->has_failed)
		return;
	s->flag = 0;
	if (!flag || (s->model != TRANSFORMER && s->first_batch == most))
		return;
	batch = s->mode == GNS ? 2 * s->batch : flag > 0 ? most : s->first_batch;
	double per_s = steps_per_s(b, s->model, batch, s->gpus);
	if (!(per_s > 0))
		return;
	double before = epoch_steps(s, s->batch), after = epoch_steps(s, batch);
	double epochs = ceil(s->total / before), total = ceil(s->total * (1 / (batch / s->batch)));
	s->total = ceil(total / after) != epochs ? epochs * after : total;
	s->run = ceil(s->run / before) * after;
	s->batch = batch;
	s->per_s = per_s;
}

/* Returns whether the gradient changes fast in this epoch (Accordion's critical regime). */
static bool is_critical(const struct gavel_batch_state *s, double epoch)
{
	switch (s->model) {
	case LM:
		return epoch < 10;
	case RECOMMENDATION:
		return epoch < (s->first_batch <= 1024 ? 30 : s->first_batch == 2048 ? 40 : 10);
	case RESNET50:
		return fmod(epoch, 30) < 10;
	default:
		return epoch < (s->first_batch == 256 ? 20 : 10) || (epoch >= 150 && epoch < 160) || (epoch >= 250 && epoch < 260);
	}
}

/* Returns the batch that the gradient noise scale requests in an epoch: the batch of the last row that has begun. */
static double scheduled(const struct gavel_batches *b, const struct gavel_batch_state *s, double epoch)
{
	double batch = s->first_batch, from = -1;
	for (size_t i = 0; i < b->n_schedule; i++) {
		const struct schedule_row *r = &b->schedule[i];
		if (r->model != s->model || r->first_batch != s->first_batch || r->gpus != s->gpus || r->from_epoch > epoch ||
			r->from_epoch < from)
			continue;
		from = r->from_epoch;
		batch = r->batch;
	}
	return batch;
}

void gavel_batches_check(const struct gavel_batches *b, struct gavel_batch_state *s)
{
	double epoch = ceil(s->run / epoch_steps(s, s->batch)), most = models[s->model].most;
	if (s->mode == GNS) {
		bool wants_more = scheduled(b, s, epoch) > s->batch || scheduled(b, s, epoch + 1) > s->batch;
		s->flag = wants_more && s->batch != most ? 1 : s->flag;
	}
	if (s->mode != ACCORDION || s->model == TRANSFORMER)
		return;
	if (s->batch == s->first_batch && !is_critical(s, epoch) && s->batch != most)
		s->flag = 1;
	if (s->batch != s->first_batch && is_critical(s, epoch) && s->batch != models[s->model].least)
		s->flag = -1;
}
