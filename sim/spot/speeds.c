/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spot/speeds.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int bad(struct orr_error *err, const char *at, size_t n)
{
	return orr_fail(err, ORR_EINPUT,
		"spot.speeds: '%.*s': expected TYPE=SPEED, with 0.001 to 1000 times the speed of the job's own nodes (k80=0.2,a100=2.5)",
		(int)(n < 60 ? n : 60), at);
}

int speeds_read(struct speeds *out, const char *text, struct orr_error *err)
{
	*out = (struct speeds){ 0 };
	while (*text) {
		size_t n = strcspn(text, ",");
		const char *equals = memchr(text, '=', n);
		char *end = NULL;
		double x = equals ? strtod(equals + 1, &end) : NAN;
		if (!equals || equals == text || end != text + n || !(x >= 0.001 && x <= 1000))
			return bad(err, text, n);
		MEM_GROW(out->speed, out->n, out->cap);
		char *type = mem_zalloc((size_t)(equals - text) + 1, 1);
		memcpy(type, text, (size_t)(equals - text));
		out->speed[out->n++] = (struct speed){ type, x };
		text += n + (text[n] == ',');
	}
	return ORR_OK;
}

double speeds_of(const struct speeds *s, const char *type)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->speed[i].type, type))
			return s->speed[i].speed;
	return NAN;
}

void speeds_free(struct speeds *s)
{
	for (size_t i = 0; i < s->n; i++)
		mem_free(s->speed[i].type);
	mem_free(s->speed);
	*s = (struct speeds){ 0 };
}
