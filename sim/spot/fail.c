/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors that end a run, and the check whether a policy may act now. */
#include "spot/world.h"

#include <stdarg.h>
#include <stdio.h>

const char *slot_name(const struct orr_spot *w, const struct slot *s, char buf[AVAIL_NAME_MAX])
{
	if (s->is_on_demand) {
		snprintf(buf, AVAIL_NAME_MAX, "od%u", s->instance + 1);
		return buf;
	}
	struct avail_rec r = { .node = s->node, .instance = s->instance };
	return availset_name(w->config->capacity, &r, buf);
}

void spot_fail(struct orr_spot *w, int code, const struct slot *s, const char *fmt, ...)
{
	if (w->error.code)
		return;
	char text[512], name[64] = "", id[AVAIL_NAME_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (s)
		snprintf(name, sizeof name, "instance %s ", slot_name(w, s, id));
	orr_fail(&w->error, code, "policy %.100s: %sat %.9f s: %s", w->label, name, (double)w->now / 1e9, text);
	w->is_over = true;
}

bool spot_may_act(struct orr_spot *w, const char *what)
{
	if (w->error.code)
		return false;
	if (!w->is_acting)
		spot_fail(w, ORR_EFAIL, NULL, "%s: expected a call from a function of the policy", what);
	if (w->is_noticing)
		w->used |= SPOT_USED_NOTICE | SPOT_USED_NOTICE_ACT;
	return w->is_acting && !w->is_over;
}
