/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of a run. */
#include "step/world.h"

#include <stdarg.h>
#include <stdio.h>

void step_fail(struct orr_step *s, int code, const char *format, ...)
{
	char what[512], when[64] = "";
	va_list ap;
	if (s->error.code)
		return;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	if (s->building)
		snprintf(when, sizeof when, " iteration %llu:", (unsigned long long)s->building->number);
	orr_fail(&s->error, code, "policy %.100s:%s %s", s->label, when, what);
}
