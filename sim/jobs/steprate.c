/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/steprate.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "base/strtab.h"
#include "step/setting.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct network { /* a DNN and its costs on each GPU type */
	struct dnn *dnn;
	struct cost *cost[CLUSTER_MAX_TYPES];
};

struct strategy {
	const struct orr_policy *policy;
	struct orr_args *args;
	char label[128];
};

struct class
{
	const struct network *network;
	const struct strategy *strategy;
	double batch;
};

struct answer {
	bool is_there;
	struct steprate_value value;
};

struct input {
	char *name;
	char hash[65];
};

/* The lock protects all fields except the config. Finished answers and classes never move or change. */
struct steprate {
	struct steprate_config c;
	bool check;
	struct ground ground;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct strtab *network_names, *strategy_names, *class_names, *questions; /* number n + 1 is element n */
	struct network **network;
	struct strategy **strategy;
	struct class **class;
	struct answer **answer;
	size_t cap_networks, cap_strategies, cap_classes, cap_answers;
	struct input *input;
	size_t n_inputs, cap_inputs;
	uint64_t alone, together, unsettled, by_law, outside;
};

/* ---- making and freeing ---- */

static int check_options(const struct steprate_config *c, struct orr_error *err)
{
	static const char *const of_one_cluster[] = { "speeds", "background", "link_changes" };
	for (size_t i = 0; i < sizeof of_one_cluster / sizeof *of_one_cluster; i++)
		if (*orr_arg_text(c->options, of_one_cluster[i]))
			return orr_fail(err, ORR_EINPUT,
				"step.%s: the value names single devices or links, but jobs change their placement: expected this option "
				"only for 'orrery step'",
				of_one_cluster[i]);
	if (c->link_use && (!strcmp(orr_arg_text(c->options, "fidelity"), "analytic") || orr_arg_real(c->options, "contention_p") > 0))
		return orr_fail(err, ORR_EINPUT,
			"step.fidelity=analytic and step.contention_p do not simulate shared links: expected them only together with "
			"--sharing off");
	return ORR_OK;
}

struct steprate *steprate_new(const struct steprate_config *c, struct orr_error *err)
{
	if (check_options(c, err))
		return NULL;
	struct steprate *s = mem_zalloc(1, sizeof *s);
	s->c = *c;
	ground_init(&s->ground, c->cluster, c->topo);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->answered, NULL);
	s->network_names = strtab_new();
	s->strategy_names = strtab_new();
	s->class_names = strtab_new();
	s->questions = strtab_new();
	return s;
}

static void network_free(struct network *x)
{
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++)
		cost_free(x->cost[t]);
	dnn_free(x->dnn);
	mem_free(x);
}

void steprate_free(struct steprate *s)
{
	if (!s)
		return;
	for (size_t i = 0; i + 1 < strtab_count(s->network_names); i++)
		if (s->network[i])
			network_free(s->network[i]);
	for (size_t i = 0; i + 1 < strtab_count(s->strategy_names); i++)
		if (s->strategy[i]) {
			args_free(s->strategy[i]->args);
			mem_free(s->strategy[i]);
		}
	for (size_t i = 0; i + 1 < strtab_count(s->class_names); i++)
		mem_free(s->class[i]);
	for (size_t i = 0; i + 1 < strtab_count(s->questions); i++) {
		mem_free(s->answer[i]->value.link);
		mem_free(s->answer[i]->value.of);
		mem_free(s->answer[i]);
	}
	for (size_t i = 0; i < s->n_inputs; i++)
		mem_free(s->input[i].name);
	strtab_free(s->network_names);
	strtab_free(s->strategy_names);
	strtab_free(s->class_names);
	strtab_free(s->questions);
	mem_free(s->network);
	mem_free(s->strategy);
	mem_free(s->class);
	mem_free(s->answer);
	mem_free(s->input);
	ground_free(&s->ground);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->answered);
	mem_free(s);
}

void steprate_check(struct steprate *s, bool check)
{
	s->check = check;
}

const struct ground *steprate_ground(const struct steprate *s)
{
	return &s->ground;
}

bool steprate_costs_change(struct steprate *s, const struct setting *setting, const char *name)
{
	pthread_mutex_lock(&s->lock);
	bool changes = false;
	for (size_t i = 0; !changes && i < strtab_count(s->network_names); i++) {
		const struct network *x = s->network[i];
		changes = x && setting_costs_change(setting, s->c.cluster, x->dnn, (const struct cost *const *)x->cost, name);
	}
	pthread_mutex_unlock(&s->lock);
	return changes;
}

void steprate_count(struct steprate *s, uint64_t *alone, uint64_t *together, uint64_t *unsettled)
{
	pthread_mutex_lock(&s->lock);
	*alone = s->alone;
	*together = s->together;
	*unsettled = s->unsettled;
	pthread_mutex_unlock(&s->lock);
}

void steprate_outside(struct steprate *s, uint64_t *by_law, uint64_t *outside)
{
	pthread_mutex_lock(&s->lock);
	*by_law = s->by_law;
	*outside = s->outside;
	pthread_mutex_unlock(&s->lock);
}

/* ---- models, strategies, classes ---- */

/* Makes room for element `number`; new elements are NULL. */
#define ELEMENT(v, cap, number)                          \
	do {                                             \
		size_t was_ = (cap);                     \
		MEM_GROW(v, (size_t)(number), cap);      \
		for (size_t i_ = was_; i_ < (cap); i_++) \
			(v)[i_] = NULL;                  \
	} while (0)

static void add_input(struct steprate *s, const char *name, const char *hash)
{
	MEM_GROW(s->input, s->n_inputs, s->cap_inputs);
	struct input *x = &s->input[s->n_inputs++];
	x->name = mem_strdup(name);
	snprintf(x->hash, sizeof x->hash, "%s", hash);
}

bool steprate_input(const struct steprate *s, size_t i, const char **name, const char **hash)
{
	if (i >= s->n_inputs)
		return false;
	*name = s->input[i].name;
	*hash = s->input[i].hash;
	return true;
}

static const struct network *network_named(struct steprate *s, const char *name, struct orr_error *err)
{
	uint32_t i = strtab_add_z(s->network_names, name) - 1;
	ELEMENT(s->network, s->cap_networks, i);
	if (s->network[i])
		return s->network[i];
	struct network *x = mem_zalloc(1, sizeof *x);
	bool is_good = (x->dnn = dnn_load(name, err)) != NULL;
	for (uint32_t t = 0; is_good && t < s->c.cluster->n_types; t++) {
		struct cost_options costs = s->c.costs;
		costs.profile = s->c.profile ? s->c.profile[t] : NULL;
		is_good = (x->cost[t] = cost_new(x->dnn, s->c.device[t], &costs, err)) != NULL;
	}
	if (!is_good) {
		network_free(x);
		return NULL;
	}
	add_input(s, name, x->dnn->hash);
	return s->network[i] = x;
}

/* Parses "allreduce:fusion=none,overlap=no"; if the text has a ';', that is the separator. */
static int read_settings(struct orr_args *a, const char *text, struct orr_error *err)
{
	return args_set_pairs(a, text, strchr(text, ';') ? ';' : ',', err);
}

static void add_files(struct steprate *s, const char *name, const struct strategy *x)
{
	for (size_t i = 0; x->policy->params && x->policy->params[i].name; i++)
		if (*args_file_hash(x->args, i)) {
			char what[160];
			snprintf(what, sizeof what, "%.80s.%.60s", name, x->policy->params[i].name);
			add_input(s, what, args_file_hash(x->args, i));
		}
}

static const struct strategy *strategy_named(struct steprate *s, const char *text, struct orr_error *err)
{
	uint32_t i = strtab_add_z(s->strategy_names, text) - 1;
	ELEMENT(s->strategy, s->cap_strategies, i);
	if (s->strategy[i])
		return s->strategy[i];
	struct strategy *x = mem_zalloc(1, sizeof *x);
	size_t n = strcspn(text, ":");
	char *name = mem_strndup(text, n), hash[65] = "";
	snprintf(x->label, sizeof x->label, "%.120s", text);
	int rc = s->c.find(name, &x->policy, hash, err);
	if (!rc && !(x->args = args_new(x->policy->params, name, err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = read_settings(x->args, text[n] ? text + n + 1 : "", err);
	if (!rc && *hash)
		add_input(s, name, hash);
	if (!rc)
		add_files(s, name, x);
	mem_free(name);
	if (!rc)
		return s->strategy[i] = x;
	args_free(x->args);
	mem_free(x);
	return NULL;
}

static int class_make(struct steprate *s, const char *model, const char *strategy, double batch, uint32_t i, struct orr_error *err)
{
	struct orr_error e = { 0 };
	const struct network *network = network_named(s, model, &e);
	if (!network)
		return orr_fail(err, ORR_EINPUT, "model: %s", e.text);
	const struct strategy *x = strategy_named(s, strategy, &e);
	if (!x)
		return orr_fail(err, ORR_EINPUT, "strategy: %s", e.text);
	s->class[i] = mem_zalloc(1, sizeof **s->class);
	*s->class[i] = (struct class){ network, x, batch };
	return ORR_OK;
}

int steprate_class(struct steprate *s, const char *model, const char *strategy, double batch, uint32_t *out, struct orr_error *err)
{
	char number[NUM_REAL_MAX];
	batch = batch > 0 ? batch : s->c.batch;
	num_put_real(number, batch);
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s\n%s\n%s", model, strategy, number);
	pthread_mutex_lock(&s->lock);
	*out = strtab_add_z(s->class_names, sbuf_text(&b)) - 1;
	ELEMENT(s->class, s->cap_classes, *out);
	int rc = s->class[*out] ? ORR_OK : class_make(s, model, strategy, batch, *out, err);
	pthread_mutex_unlock(&s->lock);
	sbuf_free(&b);
	return rc;
}

/* ---- asking the step world ---- */

/* Makes a cluster of the nodes of a place, with the types of the whole cluster. */
static void sub_cluster(const struct steprate *s, const struct place *p, struct cluster *out)
{
	const struct cluster *c = s->c.cluster;
	*out = (struct cluster){ .n_nodes = p->n_nodes, .n_types = c->n_types, .gpus = p->part.n_gpus };
	memcpy(out->type_name, c->type_name, sizeof out->type_name);
	out->node = mem_alloc((p->n_nodes + 1) * sizeof *out->node);
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		out->n_racks += !i || p->node[i].rack != p->node[i - 1].rack;
		out->node[i] = c->node[p->node[i].node];
		out->node[i].gpus = p->node[i].gpus;
		out->node[i].rack = out->n_racks - 1;
		out->max_node_gpus = out->max_node_gpus > p->node[i].gpus ? out->max_node_gpus : p->node[i].gpus;
	}
}

/* The inputs of one run of the step world. */
struct setup {
	struct cluster cluster;
	struct topo *topo;
	struct step_config config;
};

static void setup_begin(const struct steprate *s, const struct class *class, const struct place *p, const uint32_t *link, uint32_t n_links,
	double stretch, struct setup *x)
{
	sub_cluster(s, p, &x->cluster);
	x->topo = topo_part_view(s->c.topo, &p->part, link, n_links, stretch);
	x->config = (struct step_config){ .cluster = &x->cluster,
		.topo = x->topo,
		.dnn = class->network->dnn,
		.cost = (const struct cost *const *)class->network->cost,
		.device = (const struct device *const *)s->c.device,
		.options = s->c.options,
		.batch = class->batch,
		.precision = s->c.precision,
		.seed = s->c.seed,
		.check = s->check };
}

static void setup_end(struct setup *x)
{
	topo_free(x->topo);
	mem_free(x->cluster.node);
}

/* Rates within this relative distance may give the same times. */
static const double SAME_RATE = 1e-8;

static bool is_other(double a, double b, double tolerance)
{
	return fabs(a - b) > tolerance * fabs(b);
}

static bool is_other_link(const struct step_link *a, const struct step_link *b, double tolerance)
{
	return is_other(a->bytes_per_s, b->bytes_per_s, tolerance) || is_other(a->busy, b->busy, tolerance) ||
	       is_other(a->peak_Bps, b->peak_Bps, tolerance);
}

/* Returns a copy in which `option` has its default; NULL if the option already has its default. */
static struct orr_args *by_default(const struct orr_args *of, const char *option)
{
	struct orr_args *copy = args_new(step_options, "step", NULL);
	bool differs = false;
	for (size_t i = 0; step_options[i].name; i++)
		if (!strcmp(step_options[i].name, option))
			differs = strcmp(args_value(of, i), args_value(copy, i)) != 0;
		else if (*args_value(of, i))
			args_set(copy, step_options[i].name, args_value(of, i), NULL);
	if (!differs)
		args_free(copy);
	return differs ? copy : NULL;
}

/* Returns whether the rate of a job alone, or its use of a link, differs by more than the relative tolerance under the default of
 * this option. Simulates the job again. */
static bool differs_by_default(
	const struct class *class, const struct step_config *c, const struct steprate_value *v, const char *option, double tolerance)
{
	struct orr_args *plain = by_default(c->options, option);
	struct step_config config = *c;
	struct step_result r = { 0 };
	bool differs = plain != NULL;
	config.options = plain;
	if (plain && !step_run(&config, class->strategy->policy, class->strategy->args, class->strategy->label, &r, NULL)) {
		differs = is_other(r.samples_per_s, v->samples_per_s, tolerance) || r.n_links != v->n_links;
		for (uint32_t i = 0; !differs && i < v->n_links; i++)
			differs = is_other_link(&r.link[i], &v->link[i], tolerance);
	}
	step_result_free(&r);
	args_free(plain);
	return differs;
}

/* Adds bits of options that change the rate of a job alone. */
static void note_options(const struct class *class, const struct step_config *c, struct steprate_value *v)
{
	v->used |= differs_by_default(class, c, v, "merge", 0) ? STEP_USED_MERGE : 0;
	if (v->used & STEP_USED_EVERY_ITERATION) /* else step.iterations has no effect */
		v->used |= differs_by_default(class, c, v, "iterations", SAME_RATE) ? STEP_USED_ITERATIONS : 0;
	if (v->used & STEP_USED_STEADY_STATE) /* else step.exact has no effect */
		v->used |= differs_by_default(class, c, v, "exact", SAME_RATE) ? STEP_USED_EXACT : 0;
}

static void run_alone(const struct steprate *s, const struct class *class, const struct place *p, double stretch, struct steprate_value *v)
{
	struct setup x;
	struct step_result r = { 0 };
	setup_begin(s, class, p, p->part.link, p->part.n_links, stretch, &x);
	x.config.link_use = s->c.link_use && stretch == 1;
	if (!step_run(&x.config, class->strategy->policy, class->strategy->args, class->strategy->label, &r, &v->error)) {
		for (size_t i = 0; i < r.n_iterations; i++)
			v->samples += r.iteration[i].samples;
		v->samples /= (double)r.n_iterations;
		v->samples_per_s = r.samples_per_s;
		v->used = r.used & ~(unsigned)STEP_USED_UPDATE;
		v->kernels_by_law = r.kernels_by_law;
		v->kernels_outside = r.kernels_outside;
		v->link = r.link;
		v->n_links = (uint32_t)r.n_links;
		r.link = NULL;
		if (!(v->samples_per_s > 0) || isinf(v->samples_per_s))
			orr_fail(&v->error, ORR_EINPUT, "%s: an iteration of %s takes no time: expected a time above 0",
				class->strategy->label, class->network->dnn->name);
	}
	step_result_free(&r);
	if (!v->error.code)
		note_options(class, &x.config, v);
	setup_end(&x);
}

static void run_together(const struct steprate *s, const struct class *const *of, const struct steprate_member *m, uint32_t n,
	const uint32_t *all, uint32_t n_links, struct steprate_value *v)
{
	struct setup *x = mem_zalloc(n, sizeof *x);
	struct step_member *member = mem_zalloc(n, sizeof *member);
	for (uint32_t i = 0; i < n; i++) {
		const struct class *class = of[i];
		setup_begin(s, class, m[i].place, all, n_links, 1, &x[i]);
		member[i] = (struct step_member){ &x[i].config, class->strategy->policy, class->strategy->args, class->strategy->label,
			m[i].start_s };
	}
	v->of = mem_zalloc(n, sizeof *v->of);
	struct step_together t = {
		.tolerance = s->c.tolerance, .most = s->c.most_iterations, .most_flows = s->c.most_flows, .samples_per_s = v->of
	};
	step_run_together(member, n, &t, &v->error);
	v->has_settled = t.has_settled;
	v->used = (t.used & ~(unsigned)STEP_USED_UPDATE) | STEP_USED_ITERATIONS | STEP_USED_EXACT;
	for (uint32_t i = 0; i < n; i++)
		setup_end(&x[i]);
	mem_free(x);
	mem_free(member);
}

/* ---- each question once ---- */

/* Looks up the answer to a question; the caller holds the lock. *is_mine: the question is new and the caller must answer it. */
static struct answer *ask(struct steprate *s, const char *question, bool *is_mine)
{
	size_t before = strtab_count(s->questions);
	uint32_t i = strtab_add_z(s->questions, question) - 1;
	*is_mine = strtab_count(s->questions) > before;
	ELEMENT(s->answer, s->cap_answers, i);
	if (*is_mine)
		s->answer[i] = mem_zalloc(1, sizeof *s->answer[i]);
	struct answer *a = s->answer[i];
	while (!*is_mine && !a->is_there)
		pthread_cond_wait(&s->answered, &s->lock);
	return a;
}

static void answered(struct steprate *s, struct answer *a)
{
	a->is_there = true;
	pthread_cond_broadcast(&s->answered);
	pthread_mutex_unlock(&s->lock);
}

const struct steprate_value *steprate_alone(struct steprate *s, uint32_t class, const struct place *p, double stretch)
{
	char question[160];
	bool is_mine;
	snprintf(question, sizeof question, "alone %u %.17g %s", class, stretch, p->key);
	pthread_mutex_lock(&s->lock);
	struct answer *a = ask(s, question, &is_mine);
	const struct class *k = s->class[class];
	pthread_mutex_unlock(&s->lock);
	if (is_mine) {
		run_alone(s, k, p, stretch, &a->value);
		pthread_mutex_lock(&s->lock);
		s->alone++;
		s->by_law += a->value.kernels_by_law;
		s->outside += a->value.kernels_outside;
		answered(s, a);
	}
	return &a->value;
}

const struct steprate_value *steprate_reference(struct steprate *s, uint32_t class, uint32_t gpus, uint32_t type)
{
	struct place *p = place_reference(&s->ground, gpus, type);
	const struct steprate_value *v = p ? steprate_alone(s, class, p, 1) : NULL;
	place_free(p);
	return v;
}

const struct steprate_value *steprate_together(
	struct steprate *s, const struct steprate_member *m, uint32_t n, const uint32_t *all, uint32_t n_links)
{
	struct sbuf b = { 0 };
	bool is_mine;
	sbuf_puts(&b, "together");
	for (uint32_t i = 0; i < n; i++) {
		sbuf_printf(&b, " %u %s", m[i].class, m[i].place->key);
		for (uint32_t l = 0; l < m[i].place->part.n_links; l++)
			sbuf_printf(&b, ",%u", m[i].link[l]);
	}
	const struct class **of = mem_alloc((n + 1) * sizeof *of);
	pthread_mutex_lock(&s->lock);
	struct answer *a = ask(s, sbuf_text(&b), &is_mine);
	for (uint32_t i = 0; i < n; i++)
		of[i] = s->class[m[i].class];
	pthread_mutex_unlock(&s->lock);
	sbuf_free(&b);
	if (is_mine) {
		run_together(s, of, m, n, all, n_links, &a->value);
		pthread_mutex_lock(&s->lock);
		s->together++;
		s->unsettled += !a->value.has_settled;
		answered(s, a);
	}
	mem_free(of);
	return &a->value;
}
