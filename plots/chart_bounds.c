/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds of published values: which values of a chart are compared with them. */
#include "plots/chart.h"

#include "base/mem.h"

#include <math.h>

size_t chart_shades(const struct chart *c, size_t *shade)
{
	size_t n[2] = { 0, 0 }, drawn = 0;
	for (size_t i = 0; i < c->n_series; i++)
		drawn += !c->series[i].marks_alone;
	for (size_t i = 0; i < c->n_series; i++) {
		size_t k = n[c->series[i].marks_alone]++;
		shade[i] = c->series[i].marks_alone && k >= drawn ? drawn + k : k;
	}
	/* If there are more series of marks than of bars, each series of marks has its own slot. */
	return drawn >= c->n_series - drawn ? drawn : c->n_series;
}

bool chart_compares_all(const struct chart *c)
{
	size_t marks = 0;
	for (size_t i = 0; i < c->n_series; i++)
		marks += c->series[i].marks_alone;
	return 2 * marks != c->n_series;
}

bool chart_misses(const struct chart *c, size_t series, size_t k)
{
	const struct chart_point *mark = &c->series[series].point[k];
	size_t *shade = mem_zalloc(c->n_series + 1, sizeof *shade), drawn = 0, within = 0;
	bool is_any = chart_compares_all(c), is_bounded = isfinite(mark->low) || isfinite(mark->high);
	chart_shades(c, shade);
	for (size_t i = 0; i < c->n_series; i++) {
		const struct chart_series *s = &c->series[i];
		if (s->marks_alone || k >= s->n || !isfinite(s->point[k].y) || (!is_any && shade[i] != shade[series]))
			continue;
		drawn++;
		within += !(s->point[k].y < mark->low) && !(s->point[k].y > mark->high);
	}
	mem_free(shade);
	return c->series[series].has_bounds && is_bounded && isfinite(mark->y) && drawn && !within;
}

void chart_bounds_shown(const struct chart *c, bool *has_bounds, bool *has_missed)
{
	*has_bounds = *has_missed = false;
	for (size_t i = 0; i < c->n_series; i++)
		for (size_t k = 0; k < c->series[i].n && c->series[i].has_bounds; k++) {
			const struct chart_point *p = &c->series[i].point[k];
			*has_bounds |= isfinite(p->y) && (isfinite(p->low) || isfinite(p->high));
			*has_missed |= chart_misses(c, i, k);
		}
}
