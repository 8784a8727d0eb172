/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/world.h"

#include "base/num.h"

#include <stdarg.h>
#include <stdio.h>

/* Formats "policy srtf: job 17 at 3600.000000000 s: ..." */
void world_fail(struct orr_jobs *w, int code, const struct job *job, const char *fmt, ...)
{
	if (w->error.code)
		return;
	char text[512], time[NUM_SECONDS_MAX], name[96] = "";
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	num_put_seconds(time, w->engine ? eng_now(w->engine) : 0);
	if (job && job->id)
		snprintf(name, sizeof name, "job %.80s ", strtab_text(w->strings, job->id));
	else if (job)
		snprintf(name, sizeof name, "job %llu ", (unsigned long long)job->number);
	orr_fail(&w->error, code, "policy %.100s: %sat %s s: %s", w->label, name, time, text);
	w->is_over = true;
}

void world_refuse_handle(const struct orr_jobs *w, orr_job j)
{
	if (j)
		world_fail((struct orr_jobs *)(uintptr_t)w, ORR_EFAIL, NULL,
			"no job ever had the handle %llx: expected a handle that the world gave", (unsigned long long)j);
}
