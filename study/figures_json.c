/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys and messages of a book. */
#include "study/figures.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

int book_fail(const struct book *b, const char *where, struct orr_error *err, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return orr_fail(err, ORR_EINPUT, "%.160s: %.80s: %s", b->path, where, text);
}

int book_check_keys(const struct book *b, const cJSON *o, const char *where, const char *const *known, struct orr_error *err)
{
	if (!cJSON_IsObject(o))
		return book_fail(b, where, err, "expected an object");
	for (const cJSON *m = o->child; m; m = m->next) {
		const char *const *k = known;
		while (*k && strcmp(*k, m->string))
			k++;
		if (*k)
			continue;
		const char *near = nearest_name(m->string, known);
		return book_fail(b, where, err, "unknown key \"%.60s\": %s\"%.60s\"%s", m->string, near ? "did you mean " : "expected ",
			near ? near : known[0], near ? "?" : " or another known key");
	}
	return ORR_OK;
}

const char *book_string(const struct book *b, const cJSON *o, const char *key, const char *where, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	if (v && !cJSON_IsString(v))
		book_fail(b, where, err, "%s: expected a string", key);
	return cJSON_IsString(v) ? v->valuestring : NULL;
}

void book_put_text(FILE *f, const char *s)
{
	putc('"', f);
	for (; s && *s; s++) {
		if (*s == '"')
			putc('"', f);
		putc(*s, f);
	}
	putc('"', f);
}

void book_put_real(FILE *f, double v)
{
	if (isfinite(v))
		fprintf(f, ",%.17g", v);
	else
		putc(',', f);
}
