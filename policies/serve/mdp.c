/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MDP (Wang et al., MSN 2023): a vision transformer as an ensemble of independent sub-models, one per device. Each request runs on all
 * devices at once. If all sub-models answer by the deadline, their outputs are summed; otherwise the outputs received by then are
 * averaged. A request without any output is shed.
 *
 * Only the abstract was available, so the following is assumed. Sub-models are chosen once, from the served models. A device runs requests
 * one at a time, in the order in which their inputs arrive. The front, which sends inputs and fuses outputs, is not one of the devices.
 * The quality for each set of devices that answered is a parameter.
 *
 * variant=single is the baseline of one whole model per request: each request runs on the device that would complete it first.
 */
#include <orrery/serve.h>

#include "kinds.h"
#include "mdp_plan.h"
#include "queues.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 32, MAX_MODELS = 256 };

struct device {
	uint32_t replica, model;
	double time_s;  /* time from arrival to the receipt of the answer, without other requests */
	double run_s;   /* part of time_s: computation */
	double input_s; /* part of time_s: transfer of the input, alone on its link */
	double free_s;  /* variant=single: time at which its queue is empty */
	bool is_up;
};

struct mdp {
	struct device device[MAX_DEVICES];
	uint32_t n;
	bool is_single;
	double deadline_s, fuse_s; /* deadline_s from arrival; INFINITY: none */
	enum orr_late_how late;
	const double *quality; /* quality by number of answers or by set of devices; owned by the arguments */
	size_t n_quality;
	bool reads_world;     /* the quality is that of serve.quality: device k has sub-learner k */
	struct orr_fifo open; /* requests that wait for answers */
	struct orr_fifo held; /* requests that wait for a device */
};

/*
 * The mark of a request is a set of devices: those whose answers it has received or waits for (bit k: device k). Instead of a set, a
 * decided request has the mark DECIDED or SKIP. SKIP: the deadline of the request precedes the end of the fusion, so its next timer
 * is ignored.
 */
#define DECIDED UINT64_C(0)
#define SKIP (UINT64_C(1) << 63)
/* Mark of a request that waits for a device. */
#define HELD (UINT64_C(1) << 62)

/* ---- the end of a request ---- */

static double quality_of(const struct mdp *m, struct orr_serve *w, orr_req r)
{
	uint32_t n = orr_req_answers(w, r), set = 0;
	if (m->n_quality == m->n + 1u)
		return m->quality[n];
	for (uint32_t k = 0; k < m->n; k++)
		set |= (uint32_t)orr_req_has_answer(w, r, m->device[k].replica) << k;
	return m->n_quality ? m->quality[set] : orr_serve_quality(w, set);
}

/* Ends a request with the answers received so far. */
static void decide(struct mdp *m, struct orr_serve *w, orr_req r, bool is_late)
{
	uint32_t n = orr_req_answers(w, r);
	double now = orr_serve_now(w);
	struct orr_req_info info;
	orr_req_observe(w, r, "answers", n);
	orr_req_observe(w, r, "deadline_share", is_late);
	orr_req_observe(w, r, "unanswered_share", !n);
	if (m->n_quality || m->reads_world)
		orr_req_observe(w, r, "quality", quality_of(m, w, r));
	orr_fifo_remove(w, orr_req_mark(w, r) == HELD ? &m->held : &m->open, r);
	if (orr_req_get(w, r, &info) && info.state == ORR_REQ_RUNNING)
		orr_leave_runs(w, r, m->late);
	bool is_timer_left = !is_late && orr_req_arrival(w, r) + m->deadline_s <= now + m->fuse_s;
	orr_req_set_mark(w, r, is_timer_left ? SKIP : DECIDED);
	if (!n)
		orr_refuse_because(w, r, ORR_REQ_SHED, "no device answered in time");
	else if (m->fuse_s > 0)
		orr_req_timer(w, r, now + m->fuse_s);
	else
		orr_complete(w, r);
}

static uint32_t devices_in(uint64_t set)
{
	uint32_t n = 0;
	for (; set; set &= set - 1)
		n++;
	return n;
}

static bool is_open(uint64_t mark)
{
	return mark != DECIDED && mark != SKIP;
}

static void run_end(void *self, struct orr_serve *w, orr_run run)
{
	struct mdp *m = self;
	orr_req r = orr_run_request(w, run, 0); /* 0: the request has left the run */
	uint64_t mark = r ? orr_req_mark(w, r) : DECIDED;
	if (is_open(mark) && orr_req_answers(w, r) >= devices_in(mark))
		decide(m, w, r, false);
}

static void timer(void *self, struct orr_serve *w, orr_req r)
{
	struct mdp *m = self;
	uint64_t mark = orr_req_mark(w, r);
	if (is_open(mark))
		decide(m, w, r, true);
	else if (mark == SKIP)
		orr_req_set_mark(w, r, DECIDED);
	else
		orr_complete(w, r);
}

/* ---- the start of a request ---- */

/* Starts the request on the device, padded to a size of the table. Returns false if no batch of the request fits on the device. */
static bool start_on(struct orr_serve *w, const struct device *d, orr_req r)
{
	struct orr_batch b = { .model = d->model, .req = &r, .n = 1, .flags = ORR_RUN_PART | ORR_RUN_QUEUE };
	if (orr_run_fits(w, d->replica, &b, 0))
		return orr_run_start(w, d->replica, &b) != 0;
	b.samples = orr_model_batch_for(w, d->model, orr_req_samples(w, r));
	return b.samples && orr_run_fits(w, d->replica, &b, 0) && orr_run_start(w, d->replica, &b);
}

/* Returns whether the device is up and has its model; loads the model. */
static bool is_ready(struct orr_serve *w, const struct device *d)
{
	return d->is_up && model_is_ready(w, d->replica, d->model);
}

/* Returns the device that would complete a request first; NULL: none is ready. */
static struct device *earliest(struct mdp *m, struct orr_serve *w)
{
	struct device *best = NULL;
	double best_s = INFINITY, now = orr_serve_now(w);
	for (uint32_t k = 0; k < m->n; k++) {
		struct device *d = &m->device[k];
		double end_s = fmax(d->free_s, now + d->input_s) + d->run_s;
		if (is_ready(w, d) && end_s < best_s) {
			best = d;
			best_s = end_s;
		}
	}
	if (best)
		best->free_s = best_s;
	return best;
}

/* Starts a request on the devices that are ready. It waits if none is. */
static void begin(struct mdp *m, struct orr_serve *w, orr_req r)
{
	struct device *only = m->is_single ? earliest(m, w) : NULL;
	uint64_t set = 0;
	uint32_t ready = 0;
	for (uint32_t k = 0; k < m->n; k++) {
		if (!is_ready(w, &m->device[k]))
			continue;
		ready++;
		if ((!m->is_single || only == &m->device[k]) && start_on(w, &m->device[k], r))
			set |= UINT64_C(1) << k;
	}
	orr_req_set_mark(w, r, set ? set : HELD);
	if (set)
		orr_fifo_push(w, &m->open, r);
	else if (!ready)
		orr_fifo_push(w, &m->held, r);
	else
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "no batch of it fits on a device that is up");
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct mdp *m = self;
	bool is_new = orr_req_mark(w, r) == DECIDED; /* else it arrives again because its replica was lost, and its timer is already set */
	/* A request that an explicit router has routed: the loss of that replica must not take it from the other devices. */
	if (orr_req_replica(w, r) != ORR_NO_REPLICA && !orr_forward(w, r, orr_req_model(w, r)))
		return;
	begin(m, w, r);
	struct orr_req_info info;
	if (is_new && orr_req_get(w, r, &info) && info.state != ORR_REQ_ENDED)
		orr_req_timer(w, r, orr_req_arrival(w, r) + m->deadline_s);
}

static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	(void)self, (void)w, (void)r;
	return ORR_NO_REPLICA;
}

static void begin_held(struct mdp *m, struct orr_serve *w)
{
	for (size_t n = m->held.n; n; n--)
		begin(m, w, orr_fifo_pop(w, &m->held));
}

/* Queued runs start without an action of the policy. A model may have been loaded. */
static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)replica;
	begin_held(self, w);
}

/* A request does not wait for a device that is lost. */
static void forget_device(struct mdp *m, struct orr_serve *w, uint32_t k)
{
	for (orr_req r = m->open.first, next; r; r = next) {
		next = orr_fifo_next(w, r);
		uint64_t mark = orr_req_mark(w, r);
		if (!(mark >> k & 1) || orr_req_has_answer(w, r, m->device[k].replica))
			continue;
		mark &= ~(UINT64_C(1) << k);
		orr_req_set_mark(w, r, mark);
		if (orr_req_answers(w, r) >= devices_in(mark))
			decide(m, w, r, false);
	}
}

static void replica(void *self, struct orr_serve *w, uint32_t number, enum orr_replica_event event)
{
	struct mdp *m = self;
	for (uint32_t k = 0; k < m->n; k++) {
		if (m->device[k].replica != number)
			continue;
		m->device[k].is_up = event == ORR_REPLICA_UP;
		m->device[k].free_s = 0;
		if (event == ORR_REPLICA_DOWN)
			forget_device(m, w, k);
		if (event == ORR_REPLICA_UP)
			begin_held(m, w);
	}
}

/* ---- sub-models ---- */

/* Sets the size by which models are compared: the smallest batch and the shortest length of the table. */
static void least_size(const struct orr_serve *w, const struct device *d, uint32_t model, uint32_t *samples, uint32_t *length)
{
	enum { MAX_LENGTH = 65536 };
	*samples = orr_model_batch_for(w, model, 1);
	*length = 0;
	while (*length < MAX_LENGTH && isnan(orr_model_latency(w, d->replica, model, *samples, *length)))
		++*length;
}

/* Returns the time of the model on the device, from the start of a run to its answer; INFINITY: the device cannot run it. */
static double trip_s(const struct orr_serve *w, const struct device *d, uint32_t model)
{
	struct orr_replica_info info;
	uint32_t samples, length;
	if (!orr_replica_get(w, d->replica, &info) || (info.model != UINT32_MAX && info.model != model))
		return INFINITY;
	least_size(w, d, model, &samples, &length);
	struct orr_batch b = { .model = model, .samples = samples, .length = length };
	if (info.is_up && !orr_run_fits_alone(w, d->replica, &b))
		return INFINITY;
	double s = orr_model_round_trip(w, d->replica, model, samples, length);
	return isnan(s) ? INFINITY : s;
}

static bool shares_link(const struct mdp *m, const struct orr_serve *w)
{
	return orr_front_get(w).kind == ORR_FRONT_SHARED && !m->is_single;
}

/* Returns the part of trip_s() for which the input occupies a link that the inputs of all devices share; 0: its link is its own. */
static double shared_input_s(const struct mdp *m, const struct orr_serve *w, const struct device *d, uint32_t model)
{
	if (!shares_link(m, w))
		return 0;
	struct orr_model_info info = { 0 };
	uint32_t samples, length;
	least_size(w, d, model, &samples, &length);
	orr_model_get(w, model, &info);
	return samples * info.input_bytes / orr_front_get(w).bandwidth_Bps;
}

/* Writes the sub-models of the device that meet the target, alone; returns their number. */
static uint32_t menu_of(const struct mdp *m, const struct orr_serve *w, const struct device *d, double target_s, struct mdp_choice *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < orr_models(w); i++) {
		double t = trip_s(w, d, i);
		if (t <= target_s && t < INFINITY)
			out[n++] = (struct mdp_choice){ i, t, shared_input_s(m, w, d, i) };
	}
	return n;
}

static bool balance(struct mdp *m, const struct orr_serve *w, double target_s, struct orr_error *err)
{
	struct mdp_choice *choice[MAX_DEVICES], *all = orr_alloc((size_t)m->n * MAX_MODELS, sizeof *all);
	uint32_t n[MAX_DEVICES], picked[MAX_DEVICES], k = 0;
	for (; k < m->n; k++) {
		choice[k] = all + (size_t)k * MAX_MODELS;
		n[k] = menu_of(m, w, &m->device[k], target_s, choice[k]);
		if (!n[k])
			break;
	}
	if (k < m->n) {
		orr_fail(err, ORR_EINPUT,
			"submodels=balanced: no served model answers from replica %u within %.9g s: expected a larger target",
			m->device[k].replica, target_s);
		orr_free(all);
		return false;
	}
	bool found = true;
	if (shares_link(m, w))
		found = mdp_balance_shared(choice, n, m->n, target_s, picked);
	else
		mdp_balance(choice, n, m->n, picked);
	for (k = 0; k < m->n; k++)
		m->device[k].model = choice[k][picked[k]].model;
	if (!found)
		orr_fail(err, ORR_EINPUT,
			"submodels=balanced: no choice found whose answers all arrive within %.9g s while the inputs share a link "
			"(serve.front=shared): expected a larger target",
			target_s);
	orr_free(all);
	return found;
}

/* Chooses for all devices the model that takes longest among those that answer from every device within the target. */
static bool choose_uniform(struct mdp *m, const struct orr_serve *w, double target_s, struct orr_error *err)
{
	double longest = 0;
	for (uint32_t i = 0; i < orr_models(w); i++) {
		double slowest = 0;
		for (uint32_t k = 0; k < m->n; k++)
			slowest = fmax(slowest, trip_s(w, &m->device[k], i) + (m->n - 1) * shared_input_s(m, w, &m->device[k], i));
		if (!(slowest <= target_s) || slowest == INFINITY || slowest <= longest)
			continue;
		longest = slowest;
		for (uint32_t k = 0; k < m->n; k++)
			m->device[k].model = i;
	}
	if (longest == 0)
		orr_fail(err, ORR_EINPUT,
			"submodels=uniform: no served model answers from every device within %.9g s: expected a larger target", target_s);
	return longest > 0;
}

static uint32_t model_named(const struct orr_serve *w, const char *name, size_t n)
{
	struct orr_model_info info;
	for (uint32_t i = 0; i < orr_models(w) && orr_model_get(w, i, &info); i++)
		if (strlen(info.name) == n && !memcmp(info.name, name, n))
			return i;
	return UINT32_MAX;
}

/* Reads "NAME", for all devices, or "NAME+NAME+..", one for each. */
static bool read_names(struct mdp *m, const struct orr_serve *w, const char *text, struct orr_error *err)
{
	uint32_t k = 0;
	for (const char *at = text;; k++) {
		size_t n = strcspn(at, "+");
		uint32_t model = model_named(w, at, n);
		if (model == UINT32_MAX) {
			orr_fail(err, ORR_EINPUT,
				"submodels: expected balanced, uniform or names of served models joined by +, found \"%.*s\"",
				(int)(n < 80 ? n : 80), at);
			return false;
		}
		for (uint32_t i = k; i < m->n; i++)
			m->device[i].model = model; /* a single name applies to all devices */
		at += n + (at[n] == '+');
		if (!*at)
			break;
	}
	if (k && k + 1 != m->n) {
		orr_fail(err, ORR_EINPUT, "submodels: expected 1 or %u names, one for each device, found %u", m->n, k + 1);
		return false;
	}
	for (uint32_t i = 0; i < m->n; i++)
		if (trip_s(w, &m->device[i], m->device[i].model) == INFINITY) {
			orr_fail(err, ORR_EINPUT,
				"submodels: the model of device %u is not served by replica %u, does not fit into its memory, or its table "
				"has no "
				"batch of 1: expected a model that this replica serves",
				i, m->device[i].replica);
			return false;
		}
	return true;
}

/* ---- the plan ---- */

static struct orr_model_info model_of(const struct orr_serve *w, const struct device *d)
{
	struct orr_model_info info = { 0 };
	orr_model_get(w, d->model, &info);
	return info;
}

/* Returns the time of the input of device k if all inputs of a request start at once: on a shared link of bandwidth B they share it
 * equally, so an input of I bytes takes sum over j of min(I_j, I) / B. */
static double input_time(const struct mdp *m, const struct orr_serve *w, uint32_t k)
{
	struct orr_front_info f = orr_front_get(w);
	double own = model_of(w, &m->device[k]).input_bytes, bytes = 0;
	for (uint32_t j = 0; j < m->n; j++)
		if (j == k || shares_link(m, w))
			bytes += fmin(own, model_of(w, &m->device[j]).input_bytes);
	return bytes / f.bandwidth_Bps + f.latency_s;
}

static void plan_times(struct mdp *m, struct orr_serve *w)
{
	double slowest = 0, fastest = INFINITY;
	for (uint32_t k = 0; k < m->n; k++) {
		struct device *d = &m->device[k];
		uint32_t samples, length;
		least_size(w, d, d->model, &samples, &length);
		double alone = orr_model_round_trip(w, d->replica, d->model, samples, length);
		struct orr_front_info f = orr_front_get(w);
		d->run_s = orr_model_latency(w, d->replica, d->model, samples, length);
		d->input_s = samples * input_time(m, w, k) - (samples - 1) * f.latency_s;
		d->time_s = alone - (samples * model_of(w, d).input_bytes / f.bandwidth_Bps + f.latency_s) + d->input_s;
		slowest = fmax(slowest, d->time_s);
		fastest = fmin(fastest, d->time_s);
	}
	for (uint32_t k = 0; k < m->n; k++) {
		char name[32];
		snprintf(name, sizeof name, "submodel_%u", k);
		orr_serve_observe(w, name, m->device[k].model + 1.);
	}
	orr_serve_observe(w, "submodel_slowest", slowest);
	orr_serve_observe(w, "submodel_spread", slowest / fastest);
}

static double slowest_s(const struct mdp *m)
{
	double slowest = 0;
	for (uint32_t k = 0; k < m->n; k++)
		slowest = fmax(slowest, m->device[k].time_s);
	return slowest;
}

/* ---- the policy ---- */

/* Reads the numbers of the replicas; none: all. */
static bool read_devices(struct mdp *m, const struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	size_t n = 0;
	const double *list = orr_arg_list(args, "devices", &n);
	size_t count = n ? n : orr_replicas(w);
	if (count > MAX_DEVICES) {
		orr_fail(err, ORR_EINPUT, "devices: expected at most %d, found %zu", MAX_DEVICES, count);
		return false;
	}
	for (size_t k = 0; k < count; k++) {
		double number = n ? list[k] : (double)k;
		bool is_good = number >= 0 && number < orr_replicas(w) && number == floor(number);
		for (size_t j = 0; j < k && is_good; j++)
			is_good = m->device[j].replica != (uint32_t)number;
		if (!is_good) {
			orr_fail(err, ORR_EINPUT, "devices: expected different numbers of replicas from 0 to %u, found %.15g",
				orr_replicas(w) - 1, number);
			return false;
		}
		struct orr_replica_info info;
		m->device[k].replica = (uint32_t)number;
		m->device[k].is_up = orr_replica_get(w, (uint32_t)number, &info) && info.is_up && !info.is_draining;
	}
	m->n = (uint32_t)count;
	return true;
}

static bool read_quality(struct mdp *m, const struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	uint32_t members = m->is_single ? 0 : orr_serve_quality_members(w);
	m->quality = orr_arg_list(args, "quality", &m->n_quality);
	m->reads_world = members && !m->n_quality;
	if (m->reads_world && members != m->n) {
		orr_fail(err, ORR_EINPUT, "serve.quality: expected %u sub-learners, one per device, found %u", m->n, members);
		return false;
	}
	bool by_set = m->n < 24 && m->n_quality == (size_t)1 << m->n;
	if (!m->n_quality || m->n_quality == m->n + 1u || by_set)
		return true;
	uint32_t later = 0;
	for (uint32_t k = 0; k < m->n; k++)
		later += !m->device[k].is_up;
	orr_fail(err, ORR_EINPUT,
		"quality: expected %u numbers, for 0 to %u answers, or 2^%u, by the sum of 2^device over the devices that answered, found "
		"%zu%s",
		m->n + 1, m->n, m->n, m->n_quality,
		later ? " (devices include replicas that come up later, by serve.notice or autoscaling: policy.mdp.devices names fewer)"
		      : "");
	return false;
}

static bool choose(struct mdp *m, const struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	const char *how = orr_arg_text(args, "submodels");
	int64_t target = orr_arg_time_ns(args, "target");
	double target_s = target ? (double)target / 1e9 : INFINITY;
	if (orr_models(w) > MAX_MODELS) {
		orr_fail(err, ORR_EINPUT, "submodels: expected at most %d served models, found %u", MAX_MODELS, orr_models(w));
		return false;
	}
	return !strcmp(how, "balanced")  ? balance(m, w, target_s, err)
	       : !strcmp(how, "uniform") ? choose_uniform(m, w, target_s, err)
					 : read_names(m, w, how, err);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_TABLE, err))
		return NULL;
	struct mdp *m = orr_alloc(1, sizeof *m);
	m->is_single = !strcmp(orr_arg_text(args, "variant"), "single");
	m->late = !strcmp(orr_arg_text(args, "late"), "cancel") ? ORR_LATE_CANCEL : ORR_LATE_DETACH;
	m->fuse_s = (double)orr_arg_time_ns(args, "fusion") / 1e9;
	if (!read_devices(m, w, args, err) || !read_quality(m, w, args, err) || !choose(m, w, args, err)) {
		orr_free(m);
		return NULL;
	}
	plan_times(m, w);
	double factor = orr_arg_real(args, "deadline_factor");
	int64_t given = orr_arg_time_ns(args, "deadline");
	m->deadline_s = given ? (double)given / 1e9 : factor > 0 ? factor * slowest_s(m) : INFINITY;
	return m;
}

static void destroy(void *self)
{
	orr_free(self);
}

static const struct orr_param params[] = { ORR_PARAM_CHOICE("variant", "all", "all|single",
						   "a request runs on all devices, or on the one that would end it first"),
	ORR_PARAM_LIST("devices", "", "numbers of the replicas that are devices; empty: all"),
	ORR_PARAM_TEXT("submodels", "balanced",
		"balanced: the models with the most even times; uniform: the largest model that meets the target on all devices; or names "
		"joined by +: one for all devices, or one for each"),
	ORR_PARAM_TIME("target", "0", "longest time of a sub-model that balanced and uniform choose, links included; 0: no limit"),
	ORR_PARAM_TIME("deadline", "0", "time from arrival at which a request ends with the answers received; 0: by deadline_factor"),
	ORR_PARAM_REAL("deadline_factor", "0", 0, 1e6, "deadline as a multiple of the time of the slowest device; 0: no deadline"),
	ORR_PARAM_TIME("fusion", "0", "time to combine the answers"),
	ORR_PARAM_CHOICE("late", "detach", "detach|cancel", "devices that are late at the deadline compute to the end, or stop"),
	ORR_PARAM_LIST("quality", "",
		"quality of the result by number of answers (0, 1, ..), or by set of devices that answered (sum of 2^device); empty: that "
		"of "
		"serve.quality, if set"),
	ORR_PARAM_END };

static const struct orr_serve_ops ops = {
	.create = create,
	.destroy = destroy,
	.route = route,
	.arrive = arrive,
	.run_end = run_end,
	.schedule = schedule,
	.replica = replica,
	.timer = timer,
};

ORR_POLICY_SERVE(mdp, "sub-models of a vision transformer, one per device, and answers up to a deadline (MDP)", params, ops);
