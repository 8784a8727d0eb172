/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace_event.h - spans in the Trace Event format, for Perfetto and chrome://tracing
 *
 * Google, "Trace Event Format" (2016), JSON object form. A process is a device, a thread is one of its streams. Messages
 * without a stream use additional threads, as many as overlap. A message to another device is a slice on both devices and an
 * arrow between them. A collective is on the device of its first rank. Times are microseconds.
 */
#ifndef ORR_STEP_TRACE_EVENT_H
#define ORR_STEP_TRACE_EVENT_H

#include "base/sbuf.h"
#include "step/step.h"

/* Begins a file, which can hold several runs: open, add each run (numbers from 0, in order), close. */
void trace_event_open(struct sbuf *out);
void trace_event_add(struct sbuf *out, const struct step_result *r, const char *label, uint32_t number);
void trace_event_close(struct sbuf *out);

/* The same as CSV: a row per span, ordered by run, device and start. Times are seconds with all digits; stream: 0 for work, empty for
 * messages that use no stream. */
void trace_rows_open(struct sbuf *out);
void trace_rows_add(struct sbuf *out, const struct step_result *r, const char *label);

#endif
