/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Link use: bytes, busy time and peak rate of each link, from the end of the first iteration to the end of the last
 * simulated one.
 */
#include "step/wire.h"

#include "base/mem.h"

static uint32_t links_run(const struct orr_step *s)
{
	uint32_t n = 0;
	for (uint32_t l = 0; l < s->config->topo->n_links; l++) {
		uint32_t i = wire_link(s, l);
		n = i != NONE && i + 1 > n ? i + 1 : n;
	}
	return n;
}

void use_begin(struct orr_step *s)
{
	if (!s->config->link_use || s->is_analytic)
		return;
	s->n_use = links_run(s);
	s->use = mem_zalloc(s->n_use + 1, sizeof *s->use);
}

void use_pass(struct orr_step *s, double t)
{
	if (!s->use || s->period)
		return;
	uint32_t n = s->n_use;
	if (!s->is_use_open && s->n_rows && !isnan(s->row[0].end_s)) {
		s->is_use_open = true;
		s->use_from_s = s->now_s;
		for (uint32_t i = 0; i < n; i++)
			s->use[i] = (struct step_link){ 0 };
	}
	for (uint32_t i = 0; i < n; i++) {
		double rate = flownet_link_rate(wire_net(s), i);
		s->use[i].bytes_per_s += rate * (t - s->now_s);
		s->use[i].busy += rate > 0 ? t - s->now_s : 0;
		s->use[i].peak_Bps = fmax(s->use[i].peak_Bps, rate);
	}
	s->use_until_s = t;
}

void use_result(const struct orr_step *s, struct step_result *out)
{
	double time = s->use_until_s - s->use_from_s;
	if (!s->use)
		return;
	out->n_links = s->config->topo->n_links;
	out->link = mem_zalloc(out->n_links + 1, sizeof *out->link);
	for (uint32_t l = 0; l < out->n_links && time > 0; l++) {
		uint32_t i = wire_link(s, l);
		if (i != NONE)
			out->link[l] =
				(struct step_link){ s->use[i].bytes_per_s / time, fmin(1, s->use[i].busy / time), s->use[i].peak_Bps };
	}
}
