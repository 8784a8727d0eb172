/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/pace.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Sums over finished runs, separately for runs of known and of unknown size. */
struct sums {
	char *label; /* NULL: sums over all labels */
	double size, cpu_s, runs, unsized_s;
};

struct pace {
	struct sums all, *of;
	size_t n, cap;
};

struct pace *pace_new(void)
{
	return mem_zalloc(1, sizeof(struct pace));
}

void pace_free(struct pace *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		mem_free(p->of[i].label);
	mem_free(p->of);
	mem_free(p);
}

static const struct sums *find(const struct pace *p, const char *label)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->of[i].label, label))
			return &p->of[i];
	return NULL;
}

static void add(struct sums *s, double size, double cpu_s)
{
	if (size > 0) {
		s->size += size;
		s->cpu_s += cpu_s;
	} else {
		s->runs++;
		s->unsized_s += cpu_s;
	}
}

void pace_learn(struct pace *p, const char *label, double size, double cpu_s)
{
	const struct sums *known = find(p, label);
	if (!known) {
		MEM_GROW(p->of, p->n, p->cap);
		p->of[p->n] = (struct sums){ .label = mem_strdup(label) };
		known = &p->of[p->n++];
	}
	add(&p->all, size, cpu_s);
	add(&p->of[known - p->of], size, cpu_s);
}

double pace_expect(const struct pace *p, const char *label, double size)
{
	const struct sums *s = find(p, label);
	if (size > 0) {
		s = s && s->size > 0 ? s : &p->all;
		return s->size > 0 ? size * s->cpu_s / s->size : size;
	}
	s = s && s->runs > 0 ? s : &p->all;
	return s->runs > 0 ? s->unsized_s / s->runs : 1;
}

static int longest_first(const void *a, const void *b)
{
	const struct pace_run *x = a, *y = b;
	if (x->expected != y->expected)
		return x->expected > y->expected ? -1 : 1;
	return x->run < y->run ? -1 : x->run > y->run;
}

void pace_order(struct pace_run *list, size_t n, size_t window)
{
	size_t last = n < window ? n : window;
	if (last)
		qsort(list + (n - last), last, sizeof *list, longest_first);
}
