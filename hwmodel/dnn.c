/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/dnn.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "hwmodel/dnn_plan.h"
#include "hwmodel/dnn_profile.h"
#include "hwmodel/embedded.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1 << 26, MAX_NAMES = 256 };

const char *dnn_catalogue(size_t i)
{
	return embedded_models[i].name;
}

/* Keeps lower-case letters and digits only: "ResNet-50" and "resnet_50" are "resnet50". */
static void squeeze(const char *name, char *out, size_t size)
{
	size_t n = 0;
	for (; *name && n + 1 < size; name++)
		if (!strchr("-_. ", *name))
			out[n++] = (char)tolower((unsigned char)*name);
	out[n] = '\0';
}

/* Aliases. */
static const struct {
	const char *alias, *name;
} aliases[] = { { "gpt2", "gpt2_117m" }, { "gpt2small", "gpt2_117m" }, { "gpt2xl", "gpt2_1p5b" }, { "gpt3", "gpt3_175b" },
	{ "inception3", "inception_v3" }, { "resnet50v15", "resnet50" }, { "wideresnet502", "wrn_50_2" },
	{ "wrn2610", "wrn_26_10_cifar10" }, { "bertbase", "bert_base_s128" }, { "bertlarge", "bert_large_s128" },
	{ "bertlargeqa", "bert_large_qa_s384" }, { "caffenet", "alexnet_bvlc" }, { "deits", "deit_s16" }, { "gnmt", "gnmt_v2" },
	{ "deepfm", "deepfm_criteo" }, { "lenet", "lenet5" } };

static const struct embedded_file *find(const char *spec)
{
	char want[80], have[80];
	squeeze(spec, want, sizeof want);
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (!strcmp(aliases[i].alias, want))
			squeeze(aliases[i].name, want, sizeof want);
	for (const struct embedded_file *m = embedded_models; m->name; m++) {
		squeeze(m->name, have, sizeof have);
		if (!strcmp(want, have))
			return m;
	}
	return NULL;
}

const char *dnn_catalogue_name(const char *name)
{
	const struct embedded_file *m = find(name);
	return m ? m->name : NULL;
}

static void unknown(const char *spec, struct orr_error *err)
{
	char want[80], store[MAX_NAMES][80];
	const char *names[MAX_NAMES + 1] = { NULL };
	size_t n = 0;
	for (; n < MAX_NAMES && embedded_models[n].name; n++) {
		squeeze(embedded_models[n].name, store[n], sizeof store[n]);
		names[n] = store[n];
	}
	squeeze(spec, want, sizeof want);
	const char *near = nearest_name(want, names);
	for (size_t i = 0; near && i < n; i++)
		if (names[i] == near) {
			orr_fail(err, ORR_EINPUT, "unknown model \"%.80s\": did you mean \"%s\"?", spec, embedded_models[i].name);
			return;
		}
	orr_fail(err, ORR_EINPUT,
		"unknown model \"%.80s\": expected a name from 'orrery model list', dimensions as in "
		"gpt:hidden=1024,layers=24,heads=16,seq=1024,vocab=50257, a file FILE.json, or measured layers FILE.csv:batch=32",
		spec);
}

static struct dnn *load_file(const char *path, struct orr_error *err)
{
	size_t n;
	char hash[BYTES_HASH_SIZE];
	char *text = bytes_read_file(path, MAX_BYTES, &n, hash, err);
	if (!text)
		return NULL;
	struct dnn *d = dnn_parse(path, text, n, err);
	mem_free(text);
	if (d)
		memcpy(d->hash, hash, sizeof d->hash);
	return d;
}

struct dnn *dnn_load(const char *spec, struct orr_error *err)
{
	size_t n = strlen(spec);
	if (dnn_profile_options(spec))
		return dnn_profile_load(spec, err);
	if (strchr(spec, '/') || (n > 5 && !strcmp(spec + n - 5, ".json")))
		return load_file(spec, err);
	if (strchr(spec, ':')) {
		struct plan *p = plan_from_spec(spec, err);
		struct dnn *d = p ? plan_expand(p) : NULL;
		if (d)
			bytes_hash_text(spec, n, d->hash);
		return d;
	}
	const struct embedded_file *m = find(spec);
	if (m)
		return dnn_parse(m->name, (const char *)m->text, m->n, err);
	unknown(spec, err);
	return NULL;
}

double dnn_active_params(const struct dnn *d)
{
	double active = d->params;
	for (uint32_t i = 0; i < d->n_layers; i++)
		if (d->layer[i].experts > 0)
			active -= d->layer[i].params / d->layer[i].experts * (d->layer[i].experts - d->moe.top_k);
	return active;
}

double dnn_flops(const struct dnn *d, uint32_t layer, enum dnn_pass pass)
{
	const struct dnn_layer *l = &d->layer[layer];
	bool has_weights = l->params > 0 || l->kind == ORR_LAYER_CONV || l->kind == ORR_LAYER_LINEAR || l->kind == ORR_LAYER_RNN;
	switch (pass) {
	case DNN_FORWARD:
		return l->fwd_flops;
	case DNN_BACKWARD_DATA:
		if (layer == 0 || l->kind == ORR_LAYER_EMBEDDING)
			return 0;
		return (l->kind == ORR_LAYER_MATMUL ? 2 : 1) * l->fwd_flops; /* both operands are activations */
	default:
		return has_weights ? l->fwd_flops : 0; /* a tied layer has its own gradient */
	}
}
