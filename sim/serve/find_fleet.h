/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * find_fleet.h - orrery serve --find-replicas with several deployments: the cheapest mix of replicas at which enough requests meet an SLO
 *
 * The numbers of replicas of a scenario's deployments are the largest that are tried. All mixes are tried in order of their price, or of
 * their GPUs if prices are unknown or no deployment differs in them: the share within the SLO need not rise with any number. Among mixes of
 * the same price the one with the highest share wins, the first on ties.
 */
#ifndef ORR_SERVE_FIND_FLEET_H
#define ORR_SERVE_FIND_FLEET_H

#include "serve/slo_run.h"

/* As find_replicas(), for an SLO that has been parsed. */
int find_fleet(struct scenario *s, const char *slo, const struct slo_search *of, struct sbuf *out, struct orr_error *err);

#endif
