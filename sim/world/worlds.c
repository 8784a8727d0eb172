/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/world.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <string.h>

#define ORR_WORLD(name) extern const struct world world_##name;
#include "world/worlds.def"
#undef ORR_WORLD

#define ORR_WORLD(name) &world_##name,
const struct world *const worlds[] = {
#include "world/worlds.def"
	NULL
};

const struct world *world_named(const char *name)
{
	for (size_t i = 0; name && worlds[i]; i++)
		if (!strcmp(worlds[i]->name, name))
			return worlds[i];
	return NULL;
}

const struct report_form *report_form_of(const char *name)
{
	const struct world *w = world_named(name ? name : worlds[0]->name);
	return w ? &w->form : NULL;
}

void world_names(struct sbuf *out, bool with_policies, const char *quote)
{
	const char *names[64];
	size_t n = 0;
	for (size_t i = 0; worlds[i] && n < 64; i++)
		if (!with_policies || worlds[i]->policies)
			names[n++] = worlds[i]->name;
	for (size_t i = 0; i < n; i++)
		sbuf_printf(out, "%s%s%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", quote, names[i], quote);
}

const struct world_flag *world_flag(const struct world *w, const char *name)
{
	for (const struct world_flag *f = w->flags; f && f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const char *world_extra(const struct world_output *o, const char *name)
{
	for (size_t i = 0; i < o->n_extras; i++)
		if (!strcmp(o->extra[i].name, name))
			return o->extra[i].value;
	return NULL;
}

int world_threads(const struct world_output *o)
{
	int n = o->threads;
#ifdef _OPENMP
	if (!n)
		n = omp_get_max_threads();
#endif
	return n < 1 ? 1 : n;
}
