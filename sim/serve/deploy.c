/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deployments of models, and prices of their GPUs. */
#include "serve/group.h"
#include "serve/scenario.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"
#include "hwmodel/prices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_REPLICAS = 1 << 20, MAX_DEPLOYMENTS = 4096, MAX_GPUS = 4096 };

static const char *const role_names[] = { [ORR_ROLE_BOTH] = "both", [ORR_ROLE_PREFILL] = "prefill", [ORR_ROLE_DECODE] = "decode", NULL };

#define SCALAR "{\"$ref\": \"#/$defs/scalar\"}"
const char serve_deployment_schema[] =
	"{\"type\": \"array\", \"minItems\": 1, \"items\": {\"type\": \"object\", \"additionalProperties\": false,"
	" \"properties\": {\"model\": {\"type\": \"string\"}, \"replicas\": " SCALAR ", \"tp\": " SCALAR ", \"pp\": " SCALAR
	", \"role\": {\"enum\": [\"both\", \"prefill\", \"decode\"]},"
	" \"gpu_types\": {\"type\": \"string\"}, \"kv_blocks\": " SCALAR ", \"least\": " SCALAR ", \"most\": " SCALAR "}}}";

/* ---- one deployment ---- */

static int wrong(const char *where, const char *key, const char *expected, const cJSON *v, struct orr_error *err)
{
	char *text = scenario_scalar(v);
	int rc = orr_fail(err, ORR_EINPUT, "scenario: $.%s%s: expected %s, found %s%.60s%s", where, key, expected, text ? "\"" : "",
		text ? text : "a list or an object", text ? "\"" : "");
	mem_free(text);
	return rc;
}

/* Finds a model by its name, or by its text in the list of models. */
static int find_model(const cJSON *o, const char *where, const struct serve_state *s, uint32_t *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "model"), *given = s->models->child;
	*out = s->n_models == 1 ? 0 : UINT32_MAX;
	if (!v || (cJSON_IsString(v) && !strcmp(v->valuestring, "any")))
		return ORR_OK;
	for (uint32_t m = 0; cJSON_IsString(v) && m < s->n_models; m++, given = given->next)
		if (!strcmp(s->model[m]->name, v->valuestring) || (cJSON_IsString(given) && !strcmp(given->valuestring, v->valuestring))) {
			*out = m;
			return ORR_OK;
		}
	struct sbuf b = { 0 };
	sbuf_puts(&b, "\"any\" or one of the models:");
	for (uint32_t m = 0; m < s->n_models && b.len < 300; m++)
		sbuf_printf(&b, "%s %.60s", m ? "," : "", s->model[m]->name);
	int rc = wrong(where, "model", sbuf_text(&b), v, err);
	sbuf_free(&b);
	return rc;
}

static int find_role(const cJSON *o, const char *where, enum orr_replica_role *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "role");
	int i = 0;
	*out = ORR_ROLE_BOTH;
	if (!v)
		return ORR_OK;
	while (role_names[i] && !(cJSON_IsString(v) && !strcmp(role_names[i], v->valuestring)))
		i++;
	if (!role_names[i])
		return wrong(where, "role", "both, prefill or decode", v, err);
	*out = (enum orr_replica_role)i;
	return ORR_OK;
}

/* Finds a model by its name, or by its text in the list of models. */
static int find_types(const cJSON *o, const char *where, const struct cluster *c, uint64_t *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "gpu_types");
	*out = 0;
	if (!v || (cJSON_IsString(v) && !*v->valuestring))
		return ORR_OK;
	if (!cJSON_IsString(v))
		return wrong(where, "gpu_types", "GPU types separated by commas", v, err);
	for (const char *p = v->valuestring; *p;) {
		size_t n = strcspn(p, ",");
		uint32_t type = cluster_type(c, p, n);
		if (type == CLUSTER_NO_TYPE)
			return wrong(where, "gpu_types", "types that the cluster has", v, err);
		*out |= UINT64_C(1) << type;
		p += n + (p[n] == ',');
	}
	return ORR_OK;
}

static uint64_t gpus_of(const struct cluster *c, uint64_t types)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < c->n_nodes; i++)
		if (!types || (c->node[i].type < CLUSTER_MAX_TYPES && types >> c->node[i].type & 1))
			n += c->node[i].gpus;
	return n;
}

/* Reads "a100,h100": types of the cluster. */
static int number(const cJSON *scenario, const cJSON *o, const char *where, const char *key, int64_t def, int64_t low, int64_t high,
	int64_t *out, struct orr_error *err)
{
	if (cJSON_GetObjectItemCaseSensitive(scenario, key))
		return inputs_int(scenario, "", key, def, low, high, out, err);
	return inputs_int(o, where, key, def, low, high, out, err);
}

static int check_scale(const char *where, const struct serve_deployment *d, struct orr_error *err)
{
	if (d->most && d->most < d->least)
		return orr_fail(err, ORR_EINPUT, "scenario: $.%smost: expected at least %u, the value of \"least\", found %u", where,
			d->least, d->most);
	if (d->most && (d->replicas < d->least || d->replicas > d->most))
		return orr_fail(err, ORR_EINPUT, "scenario: $.%sreplicas: expected from %u (\"least\") to %u (\"most\"), found %u", where,
			d->least, d->most, d->replicas);
	return ORR_OK;
}

static int read_deployment(
	const struct scenario *s, const cJSON *o, const char *where, bool is_only, struct serve_deployment *d, struct orr_error *err)
{
	static const char *const keys[] = { "model", "replicas", "tp", "pp", "role", "gpu_types", "kv_blocks", "least", "most", NULL };
	int64_t tp = 1, pp = 1, replicas = 1, blocks = 0, least = 0, most = 0;
	if (!cJSON_IsObject(o))
		return orr_fail(err, ORR_EINPUT, "scenario: $.%.*s: expected an object", (int)strlen(where) - 1, where);
	int rc = scenario_check_keys_at(o, where, keys, err);
	if (!rc)
		rc = find_model(o, where, s->state, &d->model, err);
	if (!rc)
		rc = find_role(o, where, &d->role, err);
	if (!rc)
		rc = find_types(o, where, s->cluster, &d->gpu_types, err);
	if (!rc)
		rc = number(s->given, o, where, "tp", 1, 1, MAX_GPUS, &tp, err);
	if (!rc)
		rc = number(s->given, o, where, "pp", 1, 1, MAX_GPUS, &pp, err);
	if (!rc)
		rc = number(s->given, o, where, "kv_blocks", 0, 0, 1000000000, &blocks, err);
	if (!rc)
		rc = inputs_int(o, where, "least", 0, 0, MAX_REPLICAS, &least, err);
	if (!rc)
		rc = inputs_int(o, where, "most", 0, 0, MAX_REPLICAS, &most, err);
	/* A single deployment gets the whole cluster, unless autoscaling applies. */
	int64_t room = rc ? 0 : (int64_t)(gpus_of(s->cluster, d->gpu_types) / (uint64_t)(tp * pp));
	if (!rc)
		rc = number(s->given, o, where, "replicas",
			most              ? (least ? least : 1)
			: is_only && room ? room
					  : 1,
			0, MAX_REPLICAS, &replicas, err);
	d->tp = (uint32_t)tp;
	d->pp = (uint32_t)pp;
	d->kv_blocks = (uint32_t)blocks;
	d->replicas = (uint32_t)replicas;
	d->least = (uint32_t)least;
	d->most = (uint32_t)most;
	if (!rc && !replicas && !most)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.%sreplicas: expected at least 1, because \"most\" is 0", where);
	return rc ? rc : check_scale(where, d, err);
}

/* ---- all deployments ---- */

/* Checks that the cluster has the GPUs requested at the start, in total and for the types of each deployment. */
static int check_room(const struct scenario *x, struct orr_error *err)
{
	const struct serve_state *s = x->state;
	const struct cluster *c = x->cluster;
	uint64_t all = 0;
	for (uint32_t i = 0; i < s->n_deployments; i++) {
		const struct serve_deployment *d = &s->deployment[i];
		uint64_t asked = (uint64_t)d->replicas * d->tp * d->pp, there = gpus_of(c, d->gpu_types);
		all += asked;
		if (asked > there)
			return orr_fail(err, ORR_EINPUT,
				"scenario: $.deployments[%u]: %u replicas of %u x %u GPUs are %llu GPUs: expected at most %llu, the GPUs "
				"of the cluster%s",
				i, d->replicas, d->tp, d->pp, (unsigned long long)asked, (unsigned long long)there,
				d->gpu_types ? " of these types" : "");
	}
	if (all > gpus_of(c, 0))
		return orr_fail(err, ORR_EINPUT,
			"scenario: $.deployments: request %llu GPUs in total: expected at most %llu, the GPUs of the cluster",
			(unsigned long long)all, (unsigned long long)gpus_of(c, 0));
	return ORR_OK;
}

int serve_state_deploy(struct scenario *x, struct orr_error *err)
{
	struct serve_state *s = x->state;
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(x->given, "deployments"), *d;
	cJSON *only = cJSON_CreateArray();
	int rc = ORR_OK;
	cJSON_AddItemToArray(only, cJSON_CreateObject());
	if (!list)
		list = only;
	int n = cJSON_GetArraySize(list);
	if (!cJSON_IsArray(list) || n < 1 || n > MAX_DEPLOYMENTS)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.deployments: expected a list of 1 to %d objects", MAX_DEPLOYMENTS);
	else
		s->deployment = mem_zalloc((size_t)n, sizeof *s->deployment);
	cJSON_ArrayForEach(d, list)
	{
		char where[48];
		if (rc)
			break;
		snprintf(where, sizeof where, "deployments[%u].", s->n_deployments);
		rc = read_deployment(x, d, where, n == 1, &s->deployment[s->n_deployments++], err);
	}
	cJSON_Delete(only);
	return rc ? rc : check_room(x, err);
}

static void put_number(cJSON *o, const char *key, uint32_t v)
{
	char text[16];
	snprintf(text, sizeof text, "%u", v);
	cJSON_AddStringToObject(o, key, text);
}

cJSON *serve_state_deployments(const struct scenario *x)
{
	const struct serve_state *s = x->state;
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < s->n_deployments; i++) {
		const struct serve_deployment *d = &s->deployment[i];
		struct sbuf types = { 0 };
		cJSON *o = cJSON_CreateObject();
		for (uint32_t t = 0; t < x->cluster->n_types; t++)
			if (d->gpu_types >> t & 1)
				sbuf_printf(&types, "%s%s", types.len ? "," : "", x->cluster->type_name[t]);
		cJSON_AddStringToObject(o, "model", d->model == UINT32_MAX ? "any" : s->model[d->model]->name);
		put_number(o, "replicas", d->replicas);
		put_number(o, "tp", d->tp);
		put_number(o, "pp", d->pp);
		cJSON_AddStringToObject(o, "role", role_names[d->role]);
		cJSON_AddStringToObject(o, "gpu_types", sbuf_text(&types));
		put_number(o, "kv_blocks", d->kv_blocks);
		put_number(o, "least", d->least);
		put_number(o, "most", d->most);
		cJSON_AddItemToArray(list, o);
		sbuf_free(&types);
	}
	return list;
}

/* ---- sources of cost models ---- */

/* Adds "llama2-7b on a100: ..", once. */
static void add_note(struct sbuf *b, const char *model, const char *type, const char *source)
{
	char text[512];
	snprintf(text, sizeof text, "%.80s%s%.60s: %.300s", model, *type ? " on " : "", type, source);
	if (!strstr(sbuf_text(b), text))
		sbuf_printf(b, "%s%s", b->len ? "; " : "", text);
}

/* Adds "llama2-7b on a100 (tp 1, pp 1): 31216 tokens", once. */
static void add_cache(const struct scenario *x, const struct serve_deployment *d, uint32_t type, const struct served_on *on,
	const struct served *m, struct sbuf *b)
{
	char text[256];
	double block = (double)orr_arg_int(x->options, "kv_block"), part = orr_arg_real(x->options, "kv_part");
	double tokens = d->kv_blocks ? d->kv_blocks * block : floor(served_kv_tokens(on, part) / block) * block;
	if (!isfinite(tokens))
		return;
	snprintf(text, sizeof text, "%.80s on %.60s (tp %u, pp %u): %.0f tokens (%s)", m->name, x->cluster->type_name[type], d->tp, d->pp,
		tokens, d->kv_blocks ? "kv_blocks" : "serve.kv_part");
	if (!strstr(sbuf_text(b), text))
		sbuf_printf(b, "%s%s", b->len ? "; " : "", text);
}

/* Texts on the models and their devices. */
struct model_notes {
	struct sbuf times, caches;
};

/* Finds the GPUs of a group: the first ones of the type. Returns false if the cluster has too few. */
static bool find_group(const struct cluster *c, uint32_t type, uint32_t n, uint32_t *node, uint32_t *index)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < c->n_nodes && found < n; i++)
		for (uint32_t g = 0; c->node[i].type == type && g < c->node[i].gpus && found < n; g++) {
			node[found] = i;
			index[found++] = g;
		}
	return found == n;
}

/* Makes the table of a model by layers on the GPUs of a deployment. A group on several nodes is timed on the first nodes of its type. */
static int place_table(const struct scenario *x, const struct serve_deployment *d, uint32_t model, struct served_place *p, uint32_t type,
	struct model_notes *note, struct orr_error *err)
{
	struct serve_state *s = x->state;
	const struct served *m = s->model[model];
	const struct topo *topo = s->set.topo ? s->set.topo : s->default_topo;
	uint32_t n = d->tp * d->pp, *node = mem_alloc(n * sizeof *node), *index = mem_alloc(n * sizeof *index);
	struct group_place at = { .cluster = x->cluster,
		.topo = topo,
		.dnn = served_dnn(m),
		.device = (const struct device *const *)s->set.device,
		.profile = p->profile,
		.precision = p->precision,
		.type = type,
		.tp = d->tp,
		.pp = d->pp,
		.node = node,
		.index = index };
	struct orr_error why = { 0 };
	bool is_possible = find_group(x->cluster, type, n, node, index), may_span = topo && n > 1 && is_possible && p->device;
	struct group_net *net = may_span ? group_net_at(&at, &why) : NULL;
	struct served *table = NULL;
	p->net = group_net_served(net);
	if (is_possible && !why.code)
		table = served_placed(m, p, &why);
	if (net && !why.code)
		why = *group_net_error(net);
	s->placed[((size_t)(d - s->deployment) * x->cluster->n_types + type) * s->n_models + model] = table;
	if (table)
		add_note(&note->times, m->name, x->cluster->type_name[type], table->source);
	group_net_free(net);
	mem_free(node);
	mem_free(index);
	return why.code ? orr_fail(err, why.code, "scenario: $.deployments[%u]: %s", (unsigned)(d - s->deployment), why.text) : ORR_OK;
}

static int try_model(const struct scenario *x, const struct serve_deployment *d, uint32_t model, uint32_t type, struct model_notes *note,
	struct orr_error *err)
{
	const struct serve_state *s = x->state;
	const struct served *m = s->model[model];
	const struct device *device = s->set.device[type];
	uint32_t widest = 0;
	struct served_place p = { .device = device,
		.profile = s->set.profile[type],
		.tp = d->tp,
		.pp = d->pp,
		.precision = s->set.precision,
		.kv_reads = serve_kv_reads(x->options),
		.host = serve_engine_host(x->options),
		.tp_Bps = device ? device->link_Bps : 0,
		.tp_latency_s = device ? device->link_latency_s : 0,
		.pp_Bps = device ? device->link_Bps : 0,
		.pp_latency_s = device ? device->link_latency_s : 0 };
	for (uint32_t i = 0; i < x->cluster->n_nodes; i++)
		widest = x->cluster->node[i].type == type && x->cluster->node[i].gpus > widest ? x->cluster->node[i].gpus : widest;
	p.is_spread = d->tp > widest;
	struct orr_error why = { 0 };
	if (m->network)
		return place_table(x, d, model, &p, type, note, err);
	if (m->kind == SERVED_TABLE) {
		add_note(&note->times, m->name, "", m->source ? m->source : "table");
		return ORR_OK;
	}
	struct served_on *on = served_on_new(m, &p, &why);
	if (!on)
		return orr_fail(err, why.code, "scenario: $.deployments[%u]: %s", (unsigned)(d - s->deployment), why.text);
	add_note(&note->times, m->name, x->cluster->type_name[type], served_source(on));
	add_cache(x, d, type, on, m, &note->caches);
	served_on_free(on);
	return ORR_OK;
}

int serve_state_try_models(struct scenario *x, struct orr_error *err)
{
	struct serve_state *s = x->state;
	const struct cluster *c = x->cluster;
	struct model_notes note = { 0 };
	int rc = ORR_OK;
	s->n_placed = (size_t)s->n_deployments * c->n_types * s->n_models;
	s->placed = mem_zalloc(s->n_placed + 1, sizeof(struct served *));
	for (uint32_t i = 0; i < s->n_deployments; i++) {
		const struct serve_deployment *d = &s->deployment[i];
		for (uint32_t m = 0; m < s->n_models; m++)
			for (uint32_t t = 0; t < c->n_types && !rc; t++)
				if ((d->model == UINT32_MAX || d->model == m) && (!d->gpu_types || d->gpu_types >> t & 1))
					rc = try_model(x, d, m, t, &note, err);
	}
	s->times_note = sbuf_steal(&note.times);
	s->cache_note = note.caches.len ? sbuf_steal(&note.caches) : NULL;
	return rc;
}

/* ---- prices ---- */

static int set_price(struct serve_prices *x, const struct cluster *c, const char *type, size_t n, const char *usd, struct orr_error *err)
{
	double v;
	uint32_t t = cluster_type(c, type, n);
	if (t == CLUSTER_NO_TYPE)
		return orr_fail(err, ORR_EINPUT, "scenario: $.prices: expected GPU types of the cluster, found \"%.*s\"",
			(int)(n < 60 ? n : 60), type);
	if (!usd || !num_real(usd, strlen(usd), &v) || !(v >= 0) || v > 1e6)
		return orr_fail(err, ORR_EINPUT, "scenario: $.prices.%.*s: expected USD per GPU and hour, from 0 to 1e6, found \"%.60s\"",
			(int)(n < 60 ? n : 60), type, usd ? usd : "");
	x->usd_per_gpu_hour[t] = v;
	x->is_known = true;
	return ORR_OK;
}

/* Reads "a100=3.67,h100=12.29". */
static int prices_from_text(struct serve_prices *x, const struct cluster *c, const char *text, struct orr_error *err)
{
	int rc = ORR_OK;
	for (const char *p = text; !rc && *p;) {
		size_t n = strcspn(p, ","), name = strcspn(p, "=,");
		char *usd = name < n ? mem_strndup(p + name + 1, n - name - 1) : NULL;
		rc = usd ? set_price(x, c, p, name, usd, err)
			 : orr_fail(err, ORR_EINPUT, "scenario: $.prices: expected auto, none or TYPE=USD,.., found \"%.60s\"", text);
		mem_free(usd);
		p += n + (p[n] == ',');
	}
	return rc;
}

/* Returns whether the type is a spot type: the catalogue has no spot prices. */
static bool is_spot(const char *type)
{
	size_t n = strlen(type), tail = strlen("-spot");
	return n > tail && !strcmp(type + n - tail, "-spot");
}

/* Returns whether the catalogue has a price of this type. A damaged catalogue fills in err. */
static bool catalogue_price(const struct cluster *c, struct device *const *of, uint32_t t, struct price *out, struct orr_error *err)
{
	return !is_spot(c->type_name[t]) && price_find(of && of[t] ? of[t]->name : c->type_name[t], out, err);
}

/* Sets the prices of the types that are in the catalogue. */
static void prices_from_catalogue(struct serve_prices *x, const struct cluster *c, struct device *const *of, struct orr_error *damaged)
{
	for (uint32_t t = 0; t < c->n_types; t++) {
		struct price p;
		if (!catalogue_price(c, of, t, &p, damaged))
			continue;
		x->usd_per_gpu_hour[t] = p.usd_per_gpu_hour;
		x->is_known = true;
	}
}

/* Notes the source of each price that equals the catalogue's, because the resolved scenario contains only the price. */
static void note_sources(struct serve_prices *x, const struct cluster *c, struct device *const *of, struct orr_error *damaged)
{
	struct sbuf note = { 0 };
	for (uint32_t t = 0; t < c->n_types; t++) {
		struct price p;
		double usd = x->usd_per_gpu_hour[t];
		if (isnan(usd) || !catalogue_price(c, of, t, &p, damaged) || usd < p.usd_per_gpu_hour || usd > p.usd_per_gpu_hour)
			continue;
		sbuf_printf(&note, "%s%s: %.4g USD per GPU hour (%s; %s)", note.len ? "; " : "", c->type_name[t], usd, p.of, p.source);
	}
	x->note = note.len ? sbuf_steal(&note) : NULL;
}

static int prices_from_json(struct serve_prices *x, const cJSON *v, const struct cluster *c, struct orr_error *err)
{
	int rc = ORR_OK;
	if (cJSON_IsString(v))
		return strcmp(v->valuestring, "none") ? prices_from_text(x, c, v->valuestring, err) : ORR_OK;
	if (!cJSON_IsObject(v))
		return wrong("", "prices", "auto, none, TYPE=USD,.. or an object with such keys", v, err);
	for (const cJSON *m = v->child; !rc && m; m = m->next) {
		char *usd = scenario_scalar(m);
		rc = set_price(x, c, m->string, strlen(m->string), usd, err);
		mem_free(usd);
	}
	return rc;
}

int serve_prices_read(struct serve_prices *x, const cJSON *o, const struct cluster *c, struct device *const *device, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "prices");
	struct orr_error damaged = { 0 };
	int rc = ORR_OK;
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++)
		x->usd_per_gpu_hour[t] = NAN;
	if (!v || (cJSON_IsString(v) && !strcmp(v->valuestring, "auto")))
		prices_from_catalogue(x, c, device, &damaged);
	else
		rc = prices_from_json(x, v, c, err);
	if (!rc)
		note_sources(x, c, device, &damaged);
	return !rc && damaged.code ? orr_fail(err, damaged.code, "%s", damaged.text) : rc;
}

void serve_prices_free(struct serve_prices *x)
{
	mem_free(x->note);
	x->note = NULL;
}

cJSON *serve_price_list(const struct serve_prices *x, const struct cluster *c)
{
	if (!x->is_known)
		return cJSON_CreateString("none");
	cJSON *o = cJSON_CreateObject();
	for (uint32_t t = 0; t < c->n_types; t++)
		if (!isnan(x->usd_per_gpu_hour[t])) {
			char text[NUM_REAL_MAX];
			num_put_real(text, x->usd_per_gpu_hour[t]);
			cJSON_AddStringToObject(o, c->type_name[t], text);
		}
	return o;
}
