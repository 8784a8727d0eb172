/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * modes.h - what the policies modes_WORLD.c have in common: each works, and misbehaves as its parameter `how` says
 *
 * The 39 modes are those of a hostile audit: harm to the process (harm.h) in the main function, harm in the other functions, and wrong
 * uses of the interface. tests/world/modes.sh runs them.
 */
#include "harm.h"

#include <orrery/policy.h>

static const struct orr_param params[] = { ORR_PARAM_TEXT("how", "", "way to misbehave"), ORR_PARAM_END };

struct state {
	const char *how;
	MODES_FIELDS
};

static jmp_buf left;
static const char *const directives = "%s%s%s%n%n%n"; /* as a text, or as a format without arguments */

static bool is(const struct state *s, const char *how)
{
	return !strcmp(s->how, how);
}

/* Modes of any function: spin-NAME, exit-NAME, segv-NAME. */
static void within(const struct state *s, const char *name)
{
	char way[40] = "";
	const char *dash = strchr(s->how, '-');
	if (!dash || strcmp(dash + 1, name) != 0)
		return;
	snprintf(way, sizeof way, "%.*s", (int)(dash - s->how), s->how);
	harm_as(!strcmp(way, "exit") ? "exit0" : way);
}

static struct state *begin(const struct orr_args *args)
{
	struct state *s = orr_alloc(1, sizeof *s);
	s->how = orr_arg_text(args, "how");
	within(s, "create");
	if (is(s, "jmp") && setjmp(left))
		return s;
	if (is(s, "null-field"))
		s->how = NULL;
	return s;
}

/* Ends the object. Returns whether the caller frees what the object holds. */
static bool end(struct state *s)
{
	within(s, "destroy");
	if (is(s, "double-free"))
		orr_free(s);
	return !is(s, "leakq");
}

static void take_all_memory(void)
{
	for (char *p; (p = malloc(1 << 26));)
		memset(p, 1, 1 << 26);
}

/* The modes of the main function that need nothing of the world. */
static void mislead(struct state *s, void *world)
{
	if (is(s, "jmp"))
		longjmp(left, 1);
	if (is(s, "smash"))
		memset(world, 0x5a, 64);
	if (is(s, "smash-heap"))
		memset((void *)s, 0x41, 65536);
	if (is(s, "malloc"))
		take_all_memory();
	harm_as(s->how);
}
