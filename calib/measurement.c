/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/measurement.h"

#include "base/num.h"
#include "base/outfile.h"
#include "base/sbuf.h"

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void measurement_begin(struct measurement *m, const struct backend *b, void *device, const struct sweep_options *o)
{
	time_t t = time(NULL);
	struct tm tm;
	snprintf(m->backend, sizeof m->backend, "%s", b->name);
	strftime(m->date, sizeof m->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	b->describe(device, &m->device);
	m->ended = "in progress";
	m->budget_s = o->budget_s;
	m->seed = o->seed;
}

static void put_string(struct sbuf *out, const char *s, size_t n)
{
	sbuf_putc(out, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\')
			sbuf_putc(out, '\\');
		if (c < 0x20)
			sbuf_printf(out, "\\u%04x", c);
		else
			sbuf_putc(out, (char)c);
	}
	sbuf_putc(out, '"');
}

static void text(struct sbuf *out, const char *key, const char *value)
{
	sbuf_printf(out, "  \"%s\": ", key);
	put_string(out, value, strlen(value));
	sbuf_puts(out, ",\n");
}

/* Writes a number; NAN as null. */
static void number(struct sbuf *out, const char *key, double v)
{
	char digits[NUM_REAL_MAX] = "null";
	if (isfinite(v))
		num_put_real(digits, v);
	sbuf_printf(out, "  \"%s\": %s,\n", key, digits);
}

static void clocks(struct sbuf *out, const char *key, const struct backend_clocks *c)
{
	const struct {
		const char *key;
		double v;
	} of[] = { { "clock_MHz", c->clock_MHz }, { "memory_MHz", c->memory_MHz }, { "power_W", c->power_W },
		{ "temperature_C", c->temperature_C } };
	sbuf_printf(out, "  \"%s\": {", key);
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		char digits[NUM_REAL_MAX] = "null";
		if (isfinite(of[i].v))
			num_put_real(digits, of[i].v);
		sbuf_printf(out, " \"%s\": %s,", of[i].key, digits);
	}
	sbuf_puts(out, " \"throttle\": ");
	put_string(out, c->throttle, strlen(c->throttle));
	sbuf_puts(out, " },\n");
}

/* Writes "key=value" lines as an object of strings. */
static void details(struct sbuf *out, const char *lines)
{
	sbuf_puts(out, "  \"details\": {");
	for (const char *at = lines; *at;) {
		size_t n = strcspn(at, "\n"), name = strcspn(at, "=\n");
		sbuf_puts(out, at == lines ? " " : ", ");
		put_string(out, at, name);
		sbuf_puts(out, ": ");
		put_string(out, at + name + (name < n), n - name - (name < n));
		at += n + (at[n] == '\n');
	}
	sbuf_puts(out, " },\n");
}

static void describe(const struct measurement *m, struct sbuf *out)
{
	const struct sweep_report *r = &m->report;
	sbuf_puts(out, "{\n  \"schema\": \"orrery-measurement-1\",\n");
	text(out, "tool", PACKAGE_STRING);
	text(out, "backend", m->backend);
	text(out, "date", m->date);
	text(out, "ended", m->ended);
	text(out, "device", m->device.name);
	text(out, "architecture", m->device.architecture);
	text(out, "software", m->device.software);
	number(out, "memory_bytes", m->device.memory_bytes);
	number(out, "cache_bytes", m->device.cache_bytes);
	number(out, "units", m->device.units);
	details(out, m->device.details);
	text(out, "warnings", m->device.warnings);
	number(out, "seed", (double)m->seed);
	number(out, "budget_s", m->budget_s);
	number(out, "seconds", r->seconds);
	number(out, "points_planned", r->planned);
	number(out, "points_measured", r->measured);
	number(out, "points_refused", r->refused);
	number(out, "points_imprecise", r->imprecise);
	number(out, "points_throttled", r->throttled);
	text(out, "first_refusal", r->first_refusal);
	clocks(out, "clocks_before", &r->before);
	clocks(out, "clocks_after", &r->after);
	text(out, "throttle", r->throttle);
	number(out, "anchors", r->anchors);
	number(out, "anchor_revisits", r->revisits);
	number(out, "drift", r->drift);
	number(out, "worst_drift", r->worst_drift);
	sbuf_printf(out, "  \"is_settled\": %s,\n", r->is_settled ? "true" : "false");
	sbuf_printf(out, "  \"is_stable\": %s\n}\n", r->is_stable ? "true" : "false");
}

int measurement_write(const struct measurement *m, const char *points_path, struct orr_error *err)
{
	struct sbuf path = { 0 }, out = { 0 };
	size_t n = strlen(points_path);
	sbuf_add(&path, points_path, n > 4 && !strcmp(points_path + n - 4, ".csv") ? n - 4 : n);
	sbuf_puts(&path, ".device.json");
	describe(m, &out);
	int rc = outfile_put(path.text, out.text, out.len, err);
	sbuf_free(&path);
	sbuf_free(&out);
	return rc;
}
