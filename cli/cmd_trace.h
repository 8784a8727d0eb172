/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd_trace.h - the verbs of "orrery trace", one file each; argv[0] is the verb. */
#ifndef ORR_CLI_CMD_TRACE_H
#define ORR_CLI_CMD_TRACE_H

#include <orrery/api.h>

#include <getopt.h>

int trace_info(int argc, char **argv, struct orr_error *err);
int trace_convert(int argc, char **argv, struct orr_error *err); /* convert and slice */
int trace_synth(int argc, char **argv, struct orr_error *err);
int trace_get(int argc, char **argv, struct orr_error *err);  /* downloads published traces */
int trace_list(int argc, char **argv, struct orr_error *err); /* formats, generators, their parameters */

/* Reports an option that getopt_long() refused. */
int trace_bad_option(char **argv, const struct option *longs, struct orr_error *err);

int trace_seed(const char *text, uint64_t *out, struct orr_error *err);

struct reqset;
struct trace_profile;

/* Returns whether this generator or format is one of requests. */
bool trace_wants_requests(const char *source, const char *format);

/* Filter of the rows of requests to write, and the file. */
struct trace_cut {
	const char *out, *to;
	int64_t from_ns, until_ns, count;
	double sample;
	uint64_t seed;
	bool is_rebased;
};
int trace_write_requests(const struct reqset *s, const struct trace_cut *cut, struct orr_error *err);

/* Writes rows of availability traces. A slice begins at 0 with the instances available at that time. */
struct availset;
bool trace_wants_avail(const char *source, const char *format);
int trace_write_avail(struct availset *s, const struct trace_cut *cut, struct orr_error *err);

/* The "name=value" texts given with -O, and a final NULL. */
enum { TRACE_MAX_OPTIONS = 16 };
struct trace_options {
	const char *text[TRACE_MAX_OPTIONS + 1];
	size_t n;
};
int trace_options_add(struct trace_options *o, const char *text, struct orr_error *err);
/* Adds "map=TEXT" of --map; the caller frees *kept with mem_free(). */
int trace_options_map(struct trace_options *o, const char *text, char **kept, struct orr_error *err);

/* Prints to standard error the number of rows left out by options, and the number left out by --repair with the first message. */
void trace_tell_left_out(const char *source, uint64_t left_out, uint64_t repaired, const char *first);

#endif
