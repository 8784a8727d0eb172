/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parcae (Duan et al., "Parcae: Proactive, Liveput-Optimized DNN Training on Preemptible Instances", NSDI 2024; code: JF-D/Parcae).
 *
 * Time is divided into intervals. At the start of each, the policy predicts the number of instances of the next intervals and
 * chooses the shape (D pipelines of P stages) with the most samples over these intervals, net of migrations. The paper calls
 * this expected throughput, under losses that hit any instance with equal probability, "liveput". A migration before a loss
 * saves time if the loss then hits idle instances. After a loss of workers the policy replans immediately, with the actual
 * losses and the rest of the interval.
 *
 * A parameter server keeps the model's state, so only the step in flight is lost. A planned change of shape waits for the end
 * of the step. Instances count as lost when they are given notice. Details that the publication does not state:
 * docs/models/spot-parcae.md.
 */
#include "parcae_plan.h"
#include "parcae_predict.h"

#include <orrery/spot.h>

#include <ctype.h>
#include <math.h>
#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("choose", "liveput", "liveput|throughput",
		"throughput: the fastest shape for the present instances, regardless of the cost of the change"),
	ORR_PARAM_TIME("checkpoint", "14s",
		"choose=throughput: time to save and load a checkpoint, added to every migration except the first start"),
	ORR_PARAM_CHOICE("predictor", "arima", "arima|oracle|last",
		"prediction of instance counts: ARIMA(1,1,0), the true future, or the present count"),
	ORR_PARAM_INT("lookahead", "12", 1, 60, "number of intervals planned ahead (published: 8, 10, 12)"),
	ORR_PARAM_TIME("interval", "60", "between plans"),
	ORR_PARAM_INT("draws", "0", 0, 1e6, "sets of losses sampled per expectation (published: 10000); 0: exact"),
	ORR_PARAM_INT("history", "12", 2, 1000, "number of past intervals used by the prediction"),
	ORR_PARAM_REAL("limit", "3", 0, 1e6, "largest predicted change over the look-ahead"),
	ORR_PARAM_INT("least", "8", 0, 1e6, "lower bound of predicted counts, unless past counts were lower"),
	ORR_PARAM_INT("most", "32", 1, 1e6, "upper bound of predicted counts, unless past counts were higher"),
	ORR_PARAM_CHOICE("family", "auto", "auto|gpt-1.5b|gpt-6.7b|bert|vgg19|resnet152",
		"model family of the migration costs; auto: by the job's name, else BERT"),
	ORR_PARAM_BOOL("ideal", false, "assume that migrations take no time"), ORR_PARAM_END
};

enum predictor { ARIMA, ORACLE, LAST };
enum { TAG_INTERVAL, TAG_MIGRATED };

struct parcae {
	struct parcae_planner planner;
	struct parcae_shape *shape;
	int64_t *step_ns; /* step time of each shape */
	uint32_t n;       /* number of shapes; used as an index, it means no shape */
	enum predictor predictor;
	bool is_liveput;
	double checkpoint_s; /* time added to migrations; 0 with liveput, which copies the state from peers */
	uint32_t lookahead, history;
	int64_t interval_ns, next_ns;
	struct parcae_bounds bounds;

	double *count; /* counts of the last `history` intervals, oldest first */
	uint32_t n_counts;
	double *work; /* scratch for predictions */
	struct parcae_period *period;
	struct orr_future *future;
	size_t future_cap;
	double forecast, error_sum; /* forecast of the next interval; sum of errors so far */
	uint64_t n_errors;
	double rate_sum; /* sum of the rates of the shapes chosen at the starts of intervals, ignoring migrations */
	uint64_t n_choices;

	orr_inst *owner; /* scratch for layouts */
	uint64_t layouts;
	uint32_t usable;          /* number of ready instances without notice */
	uint32_t current, target; /* the present shape, and the shape after the step in flight */
	bool is_hurt, is_draining, is_migrating;
	int64_t migrated_ns;
	uint64_t timer;
};

/* ---- making and freeing ---- */

/* Returns the family given by the parameter, else by the letters and digits of the job's name. */
static enum parcae_family family_of(const char *choice, const char *job)
{
	static const struct {
		const char *part;
		enum parcae_family family;
	} names[] = { { "gpt67b", PARCAE_GPT_6P7B }, { "gpt367b", PARCAE_GPT_6P7B }, { "gpt", PARCAE_GPT_1P5B }, { "bert", PARCAE_BERT },
		{ "vgg", PARCAE_VGG19 }, { "resnet", PARCAE_RESNET152 } };
	for (int f = 0; f < PARCAE_FAMILIES; f++)
		if (!strcmp(choice, parcae_family_name[f]))
			return f;
	char plain[64];
	size_t n = 0;
	for (const char *c = job; *c && n + 1 < sizeof plain; c++)
		if (isalnum((unsigned char)*c))
			plain[n++] = (char)tolower((unsigned char)*c);
	plain[n] = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(plain, names[i].part))
			return names[i].family;
	return PARCAE_BERT;
}

static void read_shapes(struct parcae *s, struct orr_spot *w, double samples_per_step)
{
	uint32_t d, p, points = 0;
	while (orr_step_point(w, points, &d, &p))
		points++;
	s->shape = orr_alloc(points + 1, sizeof *s->shape);
	s->step_ns = orr_alloc(points + 1, sizeof *s->step_ns);
	uint32_t widest = 0;
	for (uint32_t i = 0; orr_step_point(w, i, &d, &p); i++) {
		int64_t step_ns = orr_step_time(w, d, p, ORR_STEP_PLAIN);
		if (step_ns <= 0 || (uint64_t)d * p > UINT32_MAX)
			continue;
		s->shape[s->n] = (struct parcae_shape){ d, p, d * p, samples_per_step / (double)step_ns * 1e9 };
		s->step_ns[s->n++] = step_ns;
		widest = d * p > widest ? d * p : widest;
	}
	s->owner = orr_alloc((size_t)widest + 1, sizeof *s->owner);
}

static void destroy(void *self)
{
	struct parcae *s = self;
	parcae_planner_end(&s->planner);
	orr_free(s->shape);
	orr_free(s->step_ns);
	orr_free(s->count);
	orr_free(s->work);
	orr_free(s->period);
	orr_free(s->future);
	orr_free(s->owner);
	orr_free(s);
}

static void make_room(struct parcae *s)
{
	s->count = orr_alloc(s->history, sizeof *s->count);
	s->work = orr_alloc(2 * (size_t)s->history + s->lookahead, sizeof *s->work);
	s->period = orr_alloc((size_t)s->lookahead + 1, sizeof *s->period);
	s->future_cap = s->predictor == ORACLE ? 1024 : 0;
	s->future = orr_alloc(s->future_cap + 1, sizeof *s->future);
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct parcae *s = orr_alloc(1, sizeof *s);
	struct orr_elastic_info job;
	orr_state_from_peers(w, 0);
	orr_elastic_get(w, &job);
	const char *predictor = orr_arg_text(args, "predictor");
	s->predictor = !strcmp(predictor, "oracle") ? ORACLE : !strcmp(predictor, "last") ? LAST : ARIMA;
	s->is_liveput = !strcmp(orr_arg_text(args, "choose"), "liveput");
	s->lookahead = (uint32_t)orr_arg_int(args, "lookahead");
	s->history = (uint32_t)orr_arg_int(args, "history");
	s->interval_ns = orr_arg_time_ns(args, "interval");
	s->bounds = (struct parcae_bounds){ orr_arg_real(args, "limit"), (double)orr_arg_int(args, "least"),
		(double)orr_arg_int(args, "most") };
	enum parcae_family family = family_of(orr_arg_text(args, "family"), job.name);
	make_room(s);
	read_shapes(s, w, job.samples_per_step);
	parcae_planner_begin(&s->planner, s->shape, s->n, parcae_cost_of(family, job.parameters));
	if (!s->n || s->interval_ns < ORR_SECOND) {
		if (!s->n)
			orr_fail(err, ORR_EINPUT, "job \"%s\": expected step times by (pipelines, depth)", job.name);
		else
			orr_fail(err, ORR_EINPUT, "interval: expected at least 1s");
		destroy(s);
		return NULL;
	}
	s->planner.is_ideal = orr_arg_bool(args, "ideal");
	s->planner.is_fresh = true;
	if (!s->is_liveput && !s->planner.is_ideal)
		s->checkpoint_s = (double)orr_arg_time_ns(args, "checkpoint") / 1e9;
	s->planner.draws = (uint32_t)orr_arg_int(args, "draws");
	s->planner.key = s->planner.draws ? (uint64_t)(orr_spot_uniform(w) * 9007199254740992.0) : 0;
	s->current = s->target = s->n;
	orr_spot_count(w, "intra_migrations", 0);
	orr_spot_count(w, "inter_migrations", 0);
	orr_spot_count(w, "pipeline_migrations", 0);
	return s;
}

/* ---- survey and prediction ---- */

static bool is_usable(const struct orr_spot *w, orr_inst i)
{
	return i && orr_inst_is_ready(w, i) && !orr_inst_is_noticed(w, i);
}

/* Counts the losses of the present layout. */
static struct parcae_loss survey(const struct parcae *s, const struct orr_spot *w)
{
	if (s->current == s->n)
		return (struct parcae_loss){ 0 };
	const struct parcae_shape *c = &s->shape[s->current];
	struct parcae_loss loss = { .keep = c->pipelines };
	for (uint32_t stage = 0; stage < c->depth; stage++) {
		uint32_t kept = 0;
		for (uint32_t d = 0; d < c->pipelines; d++)
			kept += is_usable(w, orr_owner(w, d, stage));
		loss.workers += c->pipelines - kept;
		loss.keep = kept < loss.keep ? kept : loss.keep;
		loss.stages += kept == 0;
	}
	return loss;
}

static void remember(struct parcae *s)
{
	if (s->n_counts && s->predictor == ARIMA && s->is_liveput) {
		s->error_sum += fabs(s->forecast - s->usable);
		s->n_errors++;
	}
	if (s->n_counts == s->history)
		memmove(s->count, s->count + 1, --s->n_counts * sizeof *s->count);
	s->count[s->n_counts++] = s->usable;
}

/* Widens the bounds to past counts, so that a larger pool is not predicted to shrink. */
static void predict_arima(struct parcae *s)
{
	double *copy = s->work, *scratch = copy + s->history, *forecast = scratch + s->history;
	struct parcae_bounds b = s->bounds;
	for (uint32_t i = 0; i < s->n_counts; i++) {
		copy[i] = s->count[i];
		b.least = fmin(b.least, copy[i]);
		b.most = fmax(b.most, copy[i]);
	}
	parcae_forecast(copy, s->n_counts, &b, s->lookahead, forecast, scratch);
	s->forecast = forecast[0];
	for (uint32_t t = 2; t <= s->lookahead; t++)
		s->period[t].nodes = (uint32_t)forecast[t - 2];
	for (uint32_t t = 2; t <= s->lookahead; t++)
		if (s->period[t].nodes < s->period[t - 1].nodes)
			s->period[t].lost = s->period[t - 1].nodes - s->period[t].nodes;
}

/* Adds a change of the number of instances at at_ns to the period that starts then or next. */
static void expect_change(struct parcae *s, int64_t at_ns, int32_t change, int32_t *net)
{
	int64_t t = at_ns <= s->next_ns ? 2 : 2 + (at_ns - s->next_ns + s->interval_ns - 1) / s->interval_ns;
	if (t > s->lookahead)
		return;
	net[t] += change;
	s->period[t].lost += change < 0;
}

/* Adds the changes of usable instances in the true future. An instance is usable from its ready time until its notice. Instances already
 * given notice are excluded: they are not usable now. */
static void expect_future(struct parcae *s, const struct orr_spot *w, size_t n, int32_t *net)
{
	int64_t startup = orr_startup_time(w, false), notice = orr_notice_time(w);
	uint32_t noticed = 0;
	for (orr_inst i = notice ? orr_inst_first(w) : 0; i; i = orr_inst_next(w, i))
		noticed += orr_inst_is_noticed(w, i);
	for (size_t i = 0; i < n; i++) {
		const struct orr_future *f = &s->future[i];
		if (f->change > 0)
			expect_change(s, f->t_ns + startup, 1, net);
		else if (noticed && f->t_ns - notice <= orr_spot_now(w))
			noticed--;
		else
			expect_change(s, f->t_ns - notice, -1, net);
	}
}

/* Predicts from the true future, assuming that every offer is taken; starting instances count from their ready times on. */
static void predict_oracle(struct parcae *s, struct orr_spot *w)
{
	int64_t until = s->next_ns + (s->lookahead - 1) * s->interval_ns + orr_notice_time(w);
	size_t n = orr_spot_future(w, until, s->future, s->future_cap);
	if (n > s->future_cap) {
		s->future_cap = 2 * n;
		s->future = orr_realloc(s->future, s->future_cap, sizeof *s->future);
		n = orr_spot_future(w, until, s->future, s->future_cap);
	}
	int32_t net[64] = { 0 }; /* sufficient, because lookahead is at most 60 */
	expect_future(s, w, n < s->future_cap ? n : s->future_cap, net);
	for (orr_inst i = orr_inst_first(w); i && orr_inst_ready(w) < orr_inst_live(w); i = orr_inst_next(w, i)) {
		struct orr_inst_info info;
		if (orr_inst_get(w, i, &info) && !info.is_ready && !orr_inst_is_noticed(w, i))
			expect_change(s, info.ready_ns, 1, net);
	}
	for (uint32_t t = 2; t <= s->lookahead; t++) {
		int64_t nodes = (int64_t)s->period[t - 1].nodes + net[t];
		s->period[t].nodes = nodes > 0 ? (uint32_t)nodes : 0;
	}
}

static void predict(struct parcae *s, struct orr_spot *w, uint32_t workers_lost)
{
	double interval_s = (double)s->interval_ns / 1e9;
	s->period[0] = (struct parcae_period){ s->usable + workers_lost, 0, 0 };
	s->period[1] = (struct parcae_period){ s->usable, workers_lost, (double)(s->next_ns - orr_spot_now(w)) / 1e9 };
	for (uint32_t t = 2; t <= s->lookahead; t++)
		s->period[t] = (struct parcae_period){ s->usable, 0, interval_s };
	if (s->predictor == ARIMA)
		predict_arima(s);
	else if (s->predictor == ORACLE)
		predict_oracle(s, w);
}

/* ---- migrations ---- */

static void run_steps(struct parcae *s, struct orr_spot *w)
{
	s->is_migrating = false;
	if (s->current < s->n && !orr_steps_in_flight(w, NULL, NULL))
		orr_steps_run(w, &(struct orr_steps){ .step_ns = s->step_ns[s->current] });
}

/* Sets the mark of an instance: 2 * number of its last layout, + 1 if it counts as usable. */
static void take(struct parcae *s, struct orr_spot *w, orr_inst i, size_t place)
{
	s->owner[place] = i;
	orr_inst_set_mark(w, i, s->layouts << 1 | 1);
}

/* Lays out a shape. Owners of a stage keep it if the depth stays the same; other places are filled in the order in which instances
 * were taken. */
static void lay_out(struct parcae *s, struct orr_spot *w, uint32_t to)
{
	const struct parcae_shape *t = &s->shape[to];
	const struct parcae_shape *f = s->current < s->n ? &s->shape[s->current] : NULL;
	s->layouts++;
	memset(s->owner, 0, t->nodes * sizeof *s->owner);
	for (uint32_t stage = 0; f && f->depth == t->depth && stage < t->depth; stage++) {
		uint32_t kept = 0;
		for (uint32_t d = 0; d < f->pipelines && kept < t->pipelines; d++) {
			orr_inst i = orr_owner(w, d, stage);
			if (is_usable(w, i))
				take(s, w, i, (size_t)kept++ * t->depth + stage);
		}
	}
	size_t place = 0;
	for (orr_inst i = orr_inst_first(w); i && place < t->nodes; i = orr_inst_next(w, i)) {
		if (!is_usable(w, i) || orr_inst_mark(w, i) >> 1 == s->layouts)
			continue;
		while (place < t->nodes && s->owner[place])
			place++;
		if (place < t->nodes)
			take(s, w, i, place);
	}
	orr_layout(w, t->pipelines, t->depth, s->owner);
}

static void stand_by(struct parcae *s, struct orr_spot *w)
{
	orr_steps_stop(w);
	if (s->current < s->n)
		orr_layout(w, 0, 0, NULL);
	orr_pause_as(w, ORR_IDLE);
	if (s->is_migrating)
		orr_spot_cancel(w, s->timer);
	s->is_migrating = false;
	s->current = s->n;
}

/* A new migration does not shorten the one in progress. */
static void migrate(struct parcae *s, struct orr_spot *w, const struct parcae_loss *loss, uint32_t to)
{
	static const char *const counter[] = { NULL, "intra_migrations", "inter_migrations", "pipeline_migrations" };
	enum parcae_migration kind = parcae_migration_kind(&s->planner, s->current, loss, to);
	s->is_draining = s->is_hurt = false;
	if (to == s->n) {
		stand_by(s, w);
		return;
	}
	if (kind == PARCAE_NONE) {
		if (!s->is_migrating)
			run_steps(s, w);
		return;
	}
	double took_s = parcae_migration_s(&s->planner, s->current, loss, to) + (s->planner.is_fresh ? 0 : s->checkpoint_s);
	int64_t ends = orr_spot_now(w) + llround(took_s * 1e9);
	orr_spot_count(w, counter[kind], 1);
	orr_steps_stop(w);
	lay_out(s, w, to);
	s->current = to;
	s->planner.is_fresh = false;
	if (s->is_migrating) {
		ends = ends > s->migrated_ns ? ends : s->migrated_ns;
		orr_spot_cancel(w, s->timer);
	}
	s->is_migrating = true;
	s->migrated_ns = ends;
	orr_pause_as(w, ORR_RECONFIGURE);
	s->timer = orr_spot_timer(w, ends, 0, TAG_MIGRATED);
}

/* ---- the choice ---- */

static void choose(struct parcae *s, struct orr_spot *w, bool is_start_of_interval)
{
	struct parcae_loss loss = survey(s, w);
	uint32_t choice;
	if (!s->is_liveput) {
		choice = parcae_fastest(s->shape, s->n, s->usable);
	} else {
		predict(s, w, loss.workers);
		parcae_plan(&s->planner, s->current, &loss, s->period, s->lookahead, &choice, NULL);
	}
	if (is_start_of_interval) {
		s->rate_sum += choice < s->n ? s->shape[choice].rate : 0;
		s->n_choices++;
		orr_spot_event(
			w, "choice", "%ux%u", choice < s->n ? s->shape[choice].pipelines : 0, choice < s->n ? s->shape[choice].depth : 0);
	}
	if (!orr_steps_in_flight(w, NULL, NULL)) {
		migrate(s, w, &loss, choice);
		return;
	}
	s->is_hurt = false;
	s->target = choice;
	if (choice != s->current || loss.workers) {
		s->is_draining = true;
		orr_steps_last(w);
	}
}

static void decide(void *self, struct orr_spot *w)
{
	struct parcae *s = self;
	bool begins = orr_spot_now(w) >= s->next_ns;
	if (begins) {
		s->next_ns = orr_spot_now(w) + s->interval_ns;
		orr_spot_timer(w, s->next_ns, 7, TAG_INTERVAL);
		remember(s);
	}
	if (begins || s->is_hurt || (s->current == s->n && parcae_fastest(s->shape, s->n, s->usable) < s->n)) {
		choose(s, w, begins);
	} else if (s->is_draining && !orr_steps_in_flight(w, NULL, NULL)) {
		struct parcae_loss loss = survey(s, w);
		if (s->target < s->n && s->shape[s->target].nodes > s->usable)
			choose(s, w, false);
		else
			migrate(s, w, &loss, s->target);
	}
}

static void instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct parcae *s = self;
	uint64_t mark = orr_inst_mark(w, i);
	if (event == ORR_INST_READY && !orr_inst_is_noticed(w, i)) {
		s->usable++;
		orr_inst_set_mark(w, i, mark | 1);
	} else if (event == ORR_INST_NOTICE || event == ORR_INST_GONE) {
		s->usable -= mark & 1;
		s->is_hurt |= (mark & 1) && s->current < s->n && mark >> 1 == s->layouts;
		orr_inst_set_mark(w, i, mark & ~UINT64_C(1));
	}
	if (event == ORR_INST_GONE && s->current < s->n && orr_ownerless(w)) {
		orr_steps_stop(w);
		s->is_hurt = true;
	}
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	struct parcae *s = self;
	if (tag == TAG_MIGRATED && s->is_migrating)
		run_steps(s, w);
}

static void end(void *self, struct orr_spot *w)
{
	const struct parcae *s = self;
	if (s->n_errors)
		orr_spot_report(w, "forecast_error", s->error_sum / (double)s->n_errors);
	if (s->n_choices)
		orr_spot_report(w, "chosen_samples_per_s", s->rate_sum / (double)s->n_choices);
}

static const struct orr_spot_ops ops = {
	.create = create, .destroy = destroy, .instance = instance, .timer = timer, .decide = decide, .end = end
};

ORR_POLICY_SPOT_FLAGS(
	parcae, "shapes planned ahead by expected throughput under predicted losses (Parcae)", ORR_MAY_ORACLE | ORR_DRAWS, params, ops);
