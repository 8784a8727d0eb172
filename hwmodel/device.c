/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/device.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "hwmodel/embedded.h"
#include "hwmodel/json.h"

#include <stdatomic.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_BYTES = 1 << 20, MAX_NAMES = 256 };
#define FLAT "flat:"

static const char *const precision_names[PRECISION_COUNT + 1] = { "fp32", "tf32", "fp16", "bf16", "fp8", NULL };

const char *precision_name(enum precision p)
{
	return p < PRECISION_COUNT ? precision_names[p] : "?";
}

double precision_element_bytes(enum precision p)
{
	return p == PRECISION_FP8 ? 1 : p == PRECISION_FP32 || p == PRECISION_TF32 ? 4 : 2;
}

bool precision_named(const char *name, enum precision *out)
{
	for (int i = 0; i < PRECISION_COUNT; i++)
		if (!strcasecmp(name, precision_names[i])) {
			*out = (enum precision)i;
			return true;
		}
	return false;
}

/* State while a file is read. */
struct reader {
	const char *path;
	const cJSON *root;
	struct orr_error *err;
};

static int real(const struct reader *r, const char *key, double unit, double high, bool is_needed, double *out)
{
	double v = 0;
	int rc = json_real(r->path, "$", r->root, key, 0, high, is_needed, &v, r->err);
	*out = v * unit;
	return rc;
}

/* Reads {"fp32": 15.7, ..}: one number per precision. */
static int by_precision(const struct reader *r, const char *key, double unit, double high, bool is_needed, double out[PRECISION_COUNT])
{
	const cJSON *object = cJSON_GetObjectItemCaseSensitive(r->root, key);
	char where[64];
	snprintf(where, sizeof where, "$.%s", key);
	if (!object && !is_needed)
		return ORR_OK;
	int rc = json_keys(r->path, where, object, precision_names, r->err);
	for (int i = 0; !rc && i < PRECISION_COUNT; i++) {
		rc = json_real(r->path, where, object, precision_names[i], 0, high, false, &out[i], r->err);
		out[i] *= unit;
	}
	return rc;
}

/* Reads [forward, data, weight], or one number for all three, into d->conv_share[p][shape]. */
static int read_shape(const struct reader *r, const cJSON *v, int p, int shape, struct device *d)
{
	if (cJSON_IsArray(v) && cJSON_GetArraySize(v) != 3)
		v = NULL;
	for (int i = 0; i < 3; i++) {
		const cJSON *x = cJSON_IsArray(v) ? cJSON_GetArrayItem(v, i) : v;
		/* Shares above 1 are possible: Winograd and FFT need fewer FLOPs than the direct form. */
		if (!cJSON_IsNumber(x) || !(x->valuedouble > 0 && x->valuedouble <= 4))
			return orr_fail(r->err, ORR_EINPUT,
				"%.200s: $.conv_efficiency.%s: expected a share of the peak above 0, a list of three (forward, data "
				"gradient, "
				"weight gradient), or an object of these for 1x1, 3x3 and other",
				r->path, precision_names[p]);
		d->conv_share[p][shape][i] = x->valuedouble;
	}
	return ORR_OK;
}

static int read_conv(const struct reader *r, struct device *d)
{
	static const char *const shapes[CONV_SHAPES + 1] = { "1x1", "3x3", "other", NULL };
	const cJSON *object = cJSON_GetObjectItemCaseSensitive(r->root, "conv_efficiency");
	if (!object)
		return ORR_OK;
	int rc = json_keys(r->path, "$.conv_efficiency", object, precision_names, r->err);
	for (int p = 0; !rc && p < PRECISION_COUNT; p++) {
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, precision_names[p]);
		if (cJSON_IsObject(v))
			rc = json_keys(r->path, "$.conv_efficiency", v, shapes, r->err);
		for (int s = 0; !rc && v && s < CONV_SHAPES; s++)
			rc = read_shape(r, cJSON_IsObject(v) ? cJSON_GetObjectItemCaseSensitive(v, shapes[s]) : v, p, s, d);
		d->conv_efficiency[p] = d->conv_share[p][CONV_OTHER][0];
	}
	return rc;
}

/* Returns whether a source states that the values are those of another device, or assumed. */
static bool is_carried_over(const char *source)
{
	return !strncmp(source, "not measured", 12) || !strncmp(source, "assumed", 7) || !strncmp(source, "a conventional", 14) ||
	       strstr(source, "carried over");
}

static int read_sources(const struct reader *r, struct device *d)
{
	const cJSON *sources = cJSON_GetObjectItemCaseSensitive(r->root, "sources"), *v;
	if (!cJSON_IsObject(sources) || !sources->child)
		return orr_fail(
			r->err, ORR_EINPUT, "%.200s: $.sources: expected an object whose members are texts that name sources", r->path);
	struct sbuf b = { 0 };
	cJSON_ArrayForEach(v, sources)
	{
		if (!cJSON_IsString(v)) {
			sbuf_free(&b);
			return orr_fail(r->err, ORR_EINPUT, "%.200s: $.sources.%.60s: expected a string", r->path, v->string);
		}
		sbuf_printf(&b, "%s%s: %s", b.len ? "\n" : "", v->string, v->valuestring);
		d->gemm_is_carried_over |= !strcmp(v->string, "gemm") && is_carried_over(v->valuestring);
		d->conv_is_carried_over |= !strcmp(v->string, "conv") && is_carried_over(v->valuestring);
	}
	d->source = sbuf_steal(&b);
	return ORR_OK;
}

static int check_aliases(const struct reader *r, struct device *d)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(r->root, "aliases"), *v;
	if (list && !cJSON_IsArray(list))
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.aliases: expected a list of names", r->path);
	struct sbuf b = { 0 };
	cJSON_ArrayForEach(v, list)
	{
		if (!cJSON_IsString(v)) {
			sbuf_free(&b);
			return orr_fail(r->err, ORR_EINPUT, "%.200s: $.aliases: expected a list of names", r->path);
		}
		sbuf_printf(&b, "%s%s", b.len ? ", " : "", v->valuestring);
	}
	d->aliases = sbuf_steal(&b);
	return ORR_OK;
}

static int read_numbers(const struct reader *r, struct device *d)
{
	const double big = 1e9;
	int rc = by_precision(r, "peak_tflops", 1e12, 1e6, true, d->peak_flops);
	if (!rc)
		rc = by_precision(r, "gemm_efficiency", 1, 1, true, d->gemm_efficiency);
	if (!rc)
		rc = read_conv(r, d);
	const struct {
		const char *key;
		double unit;
		bool is_needed;
		double *out;
	} numbers[] = {
		{ "vector_tflops", 1e12, true, &d->vector_flops },
		{ "memory_GiB", 1073741824.0, true, &d->memory_bytes },
		{ "memory_GBps", 1e9, true, &d->memory_Bps },
		{ "l2_MiB", 1048576.0, false, &d->l2_bytes },
		{ "sms", 1, false, &d->sms },
		{ "launch_us", 1e-6, false, &d->launch_s },
		{ "gemm_half_gflop", 1e9, false, &d->gemm_half_flops },
		{ "gemm_exposed_memory", 1, false, &d->gemm_exposed_memory },
		{ "network_conv_time", 1, false, &d->network_conv_time },
		{ "network_memory_time", 1, false, &d->network_memory_time },
		{ "memory_efficiency", 1, true, &d->memory_efficiency },
		{ "link_GBps", 1e9, false, &d->link_Bps },
		{ "link_latency_us", 1e-6, false, &d->link_latency_s },
		{ "pcie_GBps", 1e9, false, &d->pcie_Bps },
		{ "allreduce_GBps", 1e9, false, &d->allreduce_Bps },
		{ "allreduce_latency_us", 1e-6, false, &d->allreduce_latency_s },
		{ "nvls_GBps", 1e9, false, &d->nvls_Bps },
		{ "allreduce_law_us", 1e-6, false, &d->law_latency_s },
		{ "allreduce_law_GBps", 1e9, false, &d->law_Bps },
		{ "allreduce_law_us_per_sqrt_MB", 1e-9, false, &d->law_sqrt_s },
	};
	for (size_t i = 0; !rc && i < sizeof numbers / sizeof *numbers; i++)
		rc = real(r, numbers[i].key, numbers[i].unit,
			numbers[i].out == &d->memory_efficiency || numbers[i].out == &d->gemm_exposed_memory ? 1 : big,
			numbers[i].is_needed, numbers[i].out);
	return rc;
}

/* Checks that every precision with a peak has efficiencies, and that no later divisor is 0. */
static int check_numbers(const struct reader *r, struct device *d)
{
	double best = 0;
	for (int p = 0; p < PRECISION_COUNT; p++) {
		best = d->peak_flops[p] > best ? d->peak_flops[p] : best;
		if ((d->peak_flops[p] > 0) != (d->gemm_efficiency[p] > 0))
			return orr_fail(r->err, ORR_EINPUT,
				"%.200s: $.gemm_efficiency.%s: expected a value above 0 for exactly the precisions that have a peak",
				r->path, precision_names[p]);
		if (d->conv_efficiency[p] == 0) { /* if the key is missing, convolutions have the efficiency of other products */
			for (int i = 0; i < CONV_SHAPES * 3; i++)
				d->conv_share[p][i / 3][i % 3] = d->gemm_efficiency[p];
			d->conv_efficiency[p] = d->gemm_efficiency[p];
		}
	}
	if (best == 0)
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.peak_tflops: expected at least one peak above 0", r->path);
	const char *zero = d->vector_flops == 0        ? "vector_tflops"
			   : d->memory_Bps == 0        ? "memory_GBps"
			   : d->memory_bytes == 0      ? "memory_GiB"
			   : d->memory_efficiency == 0 ? "memory_efficiency"
						       : NULL;
	return zero ? orr_fail(r->err, ORR_EINPUT, "%.200s: $.%s: expected a number above 0", r->path, zero) : ORR_OK;
}

static int read_device(const struct reader *r, struct device *d)
{
	static const char *const keys[] = { "name", "title", "aliases", "architecture", "peak_tflops", "vector_tflops", "memory_GiB",
		"memory_GBps", "l2_MiB", "sms", "launch_us", "gemm_efficiency", "gemm_half_gflop", "gemm_exposed_memory",
		"network_conv_time", "network_memory_time", "conv_efficiency", "memory_efficiency", "link_GBps", "link_latency_us",
		"fabric", "pcie_GBps", "allreduce_GBps", "allreduce_latency_us", "nvls_GBps", "allreduce_law_us", "allreduce_law_GBps",
		"allreduce_law_us_per_sqrt_MB", "sources", "measured", "profile_of", NULL };
	const char *name = NULL, *title = NULL, *architecture = NULL, *profile_of = NULL, *fabric = NULL;
	int rc = json_keys(r->path, "$", r->root, keys, r->err);
	if (!rc)
		rc = json_text(r->path, "$", r->root, "name", true, &name, r->err);
	if (!rc)
		rc = json_text(r->path, "$", r->root, "title", false, &title, r->err);
	if (!rc)
		rc = json_text(r->path, "$", r->root, "architecture", false, &architecture, r->err);
	if (!rc)
		rc = json_text(r->path, "$", r->root, "profile_of", false, &profile_of, r->err);
	if (!rc)
		rc = json_text(r->path, "$", r->root, "fabric", false, &fabric, r->err);
	const cJSON *measured = cJSON_GetObjectItemCaseSensitive(r->root, "measured");
	if (!rc && measured && !cJSON_IsBool(measured))
		rc = orr_fail(r->err, ORR_EINPUT, "%.200s: $.measured: expected true or false", r->path);
	if (rc)
		return rc;
	d->name = mem_strdup(name);
	d->title = mem_strdup(title ? title : name);
	d->architecture = mem_strdup(architecture ? architecture : "");
	d->profile_of = mem_strdup(profile_of ? profile_of : name);
	d->fabric = mem_strdup(fabric ? fabric : "");
	d->is_measured = cJSON_IsTrue(measured);
	rc = check_aliases(r, d);
	if (!rc)
		rc = read_sources(r, d);
	if (!rc)
		rc = read_numbers(r, d);
	return rc ? rc : check_numbers(r, d);
}

struct device *device_parse(const char *path, const char *text, size_t n, struct orr_error *err)
{
	cJSON *root = json_parse(path, text, n, err);
	if (!root)
		return NULL;
	struct device *d = mem_zalloc(1, sizeof *d);
	struct reader r = { path, root, err };
	int rc = read_device(&r, d);
	cJSON_Delete(root);
	bytes_hash_text(text, n, d->hash);
	if (!rc)
		return d;
	device_free(d);
	return NULL;
}

void device_free(struct device *d)
{
	if (!d || d->is_shared)
		return;
	mem_free(d->name);
	mem_free(d->title);
	mem_free(d->architecture);
	mem_free(d->aliases);
	mem_free(d->profile_of);
	mem_free(d->fabric);
	mem_free(d->source);
	mem_free(d);
}

const char *device_catalogue(size_t i)
{
	for (size_t k = 0; embedded_devices[k].name; k++)
		if (k == i)
			return embedded_devices[k].name;
	return NULL;
}

static bool is_listed(const char *name, const char *list)
{
	size_t n = strlen(name);
	for (const char *c = list; *c; c += strspn(c, ", ")) {
		size_t len = strcspn(c, ",");
		if (len == n && !strncasecmp(c, name, n))
			return true;
		c += len;
	}
	return false;
}

/* Returns device i of the catalogue, parsed once. */
static struct device *embedded_device(size_t i, struct orr_error *err)
{
	static _Atomic(struct device *) parsed[MAX_NAMES];
	const struct embedded_file *f = &embedded_devices[i];
	struct device *d = i < MAX_NAMES ? atomic_load(&parsed[i]) : NULL, *other = NULL;
	if (d)
		return d;
	d = device_parse(f->name, (const char *)f->text, f->n, err);
	if (!d || i >= MAX_NAMES)
		return d;
	d->is_shared = true;
	if (atomic_compare_exchange_strong(&parsed[i], &other, d))
		return d;
	d->is_shared = false; /* another thread has stored the device first */
	device_free(d);
	return other;
}

static struct device *load_embedded(const char *name, struct orr_error *err)
{
	const char *names[MAX_NAMES + 1] = { NULL };
	for (size_t i = 0; embedded_devices[i].name; i++) {
		const struct embedded_file *f = &embedded_devices[i];
		if (i < MAX_NAMES)
			names[i] = f->name;
		struct device *d = embedded_device(i, err);
		if (!d || !strcasecmp(d->name, name) || is_listed(name, d->aliases))
			return d;
		device_free(d);
	}
	const char *near = nearest_name(name, names);
	orr_fail(err, ORR_EINPUT,
		"unknown device \"%.80s\": %s%s%s'orrery device list' shows all devices; the name of a file ends in .json", name,
		near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "");
	return NULL;
}

/* Makes a device from "flat:flops=RATE": products at that rate in any precision. Other kernels take no time, memory has no limit. */
static struct device *make_flat(const char *spec, struct orr_error *err)
{
	static const char key[] = "flops=";
	const char *text = spec + strlen(FLAT);
	double rate;
	if (strncmp(text, key, strlen(key)) || !num_real(text + strlen(key), strlen(text) - strlen(key), &rate) ||
		!(rate >= 1 && rate <= 1e24)) {
		orr_fail(err, ORR_EINPUT, "device %.80s: expected flat:flops=RATE with FLOP/s from 1 to 1e24, as in flat:flops=1e12", spec);
		return NULL;
	}
	struct device *d = mem_zalloc(1, sizeof *d);
	d->name = mem_strdup(spec);
	d->title = mem_strdup("a device that has only a rate of matrix products");
	d->architecture = mem_strdup("flat");
	d->aliases = mem_strdup("");
	d->profile_of = mem_strdup(spec);
	d->fabric = mem_strdup("");
	d->source = mem_strdup("the rate is given in the name; launches and other kernels take no time, and memory is unlimited");
	for (int p = 0; p < PRECISION_COUNT; p++) {
		d->peak_flops[p] = rate;
		d->gemm_efficiency[p] = d->conv_efficiency[p] = 1;
		for (int i = 0; i < CONV_SHAPES * 3; i++)
			d->conv_share[p][i / 3][i % 3] = 1;
	}
	d->vector_flops = d->memory_bytes = d->memory_Bps = INFINITY;
	d->memory_efficiency = 1;
	bytes_hash_text(spec, strlen(spec), d->hash);
	return d;
}

struct device *device_load(const char *name_or_file, struct orr_error *err)
{
	size_t n, len = strlen(name_or_file);
	if (!strncmp(name_or_file, FLAT, strlen(FLAT)))
		return make_flat(name_or_file, err);
	if (!strchr(name_or_file, '/') && (len < 5 || strcasecmp(name_or_file + len - 5, ".json")))
		return load_embedded(name_or_file, err);
	char hash[BYTES_HASH_SIZE];
	char *text = bytes_read_file(name_or_file, MAX_BYTES, &n, hash, err);
	if (!text)
		return NULL;
	struct device *d = device_parse(name_or_file, text, n, err);
	mem_free(text);
	if (d)
		memcpy(d->hash, hash, sizeof d->hash); /* SHA-256 of the file on disk, compressed or not */
	return d;
}

double device_ramp_s(const struct device *d)
{
	double best = 0;
	for (int p = 0; p < PRECISION_FP8; p++) {
		double rate = d->peak_flops[p] * d->gemm_efficiency[p];
		best = rate > best ? rate : best;
	}
	return best > 0 ? d->gemm_half_flops / best : 0;
}
