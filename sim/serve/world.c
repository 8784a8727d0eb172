/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors and time; see world.h. */
#include "serve/requests.h"

#include "base/num.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

int64_t serve_ns(double s)
{
	if (!(s > 0))
		return 0;
	return s < 9.2e9 ? llrint(s * 1e9) : INT64_MAX;
}

void serve_fail(struct orr_serve *w, int code, const struct req *q, const char *fmt, ...)
{
	if (w->error.code)
		return;
	char text[512], name[96] = "";
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (q && q->id)
		snprintf(name, sizeof name, "request %.80s ", strtab_text(reqset_strings(w->config->requests), q->id));
	else if (q)
		snprintf(name, sizeof name, "request %llu ", (unsigned long long)q->number);
	orr_fail(&w->error, code, "policy %.100s: %sat %.9f s: %s", w->label, name, w->now_s, text);
	w->is_over = true;
}

void serve_refuse_handle(const struct orr_serve *w, orr_req r)
{
	if (r)
		serve_fail((struct orr_serve *)(uintptr_t)w, ORR_EFAIL, NULL,
			"no request ever had the handle %llx: expected a handle that the world gave", (unsigned long long)r);
}

bool serve_may_act(struct orr_serve *w, const char *what)
{
	if (w->error.code)
		return false;
	if (!w->is_acting)
		serve_fail(w, ORR_EFAIL, NULL, "%s: expected a call in arrive(), run_end(), replica(), timer() or schedule()", what);
	return w->is_acting;
}
