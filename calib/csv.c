/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/csv.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int fail(const struct csv *c, const char *what, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "%.300s:%" PRIu64 ": %s", c->path, c->line, what);
}

/* Takes one field from *s and advances *s past its separator. Returns NULL on an unterminated quote. */
static char *take_field(char **s, bool *is_last)
{
	char *field = *s, *in = *s, *out = *s;
	bool is_quoted = *in == '"';
	in += is_quoted;
	for (;; in++) {
		if (is_quoted && *in == '"' && in[1] == '"')
			in++;
		else if (is_quoted && *in == '"') {
			in++;
			break;
		} else if (!*in || (!is_quoted && *in == ',')) {
			break;
		}
		*out++ = *in;
	}
	if (is_quoted && (in == field + 1 || in[-1] != '"'))
		return NULL;
	if (*in && *in != ',')
		return NULL; /* text after the closing quote */
	*is_last = !*in;
	*s = in + !*is_last;
	*out = '\0';
	return field;
}

/* Splits the next non-empty line into fields. Returns their number, 0 at the end, -1 on error. */
static int split(struct csv *c, char **field, struct orr_error *err)
{
	char *line = c->at;
	do {
		if (c->at >= c->end)
			return 0;
		line = c->at;
		char *stop = memchr(line, '\n', (size_t)(c->end - line));
		stop = stop ? stop : c->end;
		c->at = stop + 1;
		c->line++;
		if (memchr(line, '\0', (size_t)(stop - line)))
			return -!!fail(c, "NUL byte: expected a text file", err);
		*stop = '\0';
		if (stop > line && stop[-1] == '\r')
			stop[-1] = '\0';
	} while (!*line);
	int n = 0;
	for (bool is_last = false; !is_last; n++) {
		if (n >= CSV_MAX_COLUMNS)
			return -!!fail(c, "too many fields: expected at most 64", err);
		field[n] = take_field(&line, &is_last);
		if (!field[n])
			return -!!fail(c, "a quoted field does not end: expected a closing quote", err);
	}
	return n;
}

int csv_open(struct csv *c, const char *path, const char *text, size_t n, struct orr_error *err)
{
	*c = (struct csv){ .path = path };
	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		n -= 3;
	}
	c->text = mem_alloc(n + 1);
	memcpy(c->text, text, n);
	c->text[n] = '\0';
	c->end = c->text + n;
	c->at = c->text;
	c->n = split(c, c->name, err);
	if (c->n <= 0)
		return c->n ? ORR_EINPUT : fail(c, "empty file: expected a header that names the columns", err);
	for (int i = 0; i < c->n; i++)
		for (int k = 0; k < i; k++)
			if (!strcmp(c->name[i], c->name[k]))
				return orr_fail(err, ORR_EINPUT, "%.300s:%" PRIu64 ": duplicate column \"%.60s\": expected unique names",
					c->path, c->line, c->name[i]);
	return ORR_OK;
}

int csv_open_file(struct csv *c, const char *path, struct orr_error *err)
{
	size_t n;
	*c = (struct csv){ .path = path };
	char *text = bytes_read_file(path, CSV_MAX_BYTES, &n, NULL, err);
	int rc = text ? csv_open(c, path, text, n, err) : ORR_EINPUT;
	mem_free(text);
	return rc;
}

void csv_close(struct csv *c)
{
	mem_free(c->text);
	c->text = NULL;
}

int csv_next(struct csv *c, struct orr_error *err)
{
	int n = split(c, c->field, err);
	if (n > 0 && n != c->n) {
		orr_fail(err, ORR_EINPUT, "%.300s:%" PRIu64 ": expected %d fields as in the header, found %d", c->path, c->line, c->n, n);
		return -1;
	}
	return n > 0 ? 1 : n < 0 ? -1 : 0;
}

/* Returns the index of a column; -1: no such column. */
static int csv_column(const struct csv *c, const char *name)
{
	for (int i = 0; i < c->n; i++)
		if (!strcmp(c->name[i], name))
			return i;
	return -1;
}

int csv_need(const struct csv *c, const char *const *names, struct orr_error *err)
{
	for (; *names; names++)
		if (csv_column(c, *names) < 0)
			return orr_fail(err, ORR_EINPUT, "%.300s:%" PRIu64 ": expected a column \"%s\"", c->path, c->line, *names);
	return ORR_OK;
}

const char *csv_text(const struct csv *c, const char *name)
{
	int i = csv_column(c, name);
	return i < 0 ? "" : c->field[i];
}

int csv_refuse(const struct csv *c, const char *name, const char *expected, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "%.300s:%" PRIu64 ": %s: expected %s, found \"%.60s\"", c->path, c->line, name, expected,
		csv_text(c, name));
}

int csv_real(const struct csv *c, const char *name, double low, double high, double missing, double *out, struct orr_error *err)
{
	const char *s = csv_text(c, name);
	if (!*s && !isnan(missing)) {
		*out = missing;
		return ORR_OK;
	}
	if (num_real(s, strlen(s), out) && *out >= low && *out <= high)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "%.300s:%" PRIu64 ": %s: expected a number from %g to %g, found \"%.60s\"", c->path, c->line, name,
		low, high, s);
}
