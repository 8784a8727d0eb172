/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clients.h - closed-loop clients (clients.c)
 */
#ifndef ORR_SERVE_CLIENTS_H
#define ORR_SERVE_CLIENTS_H

#include "serve/world.h"

/* After serve_metrics_begin(). True: clients send the rows and keep w->has_next; false: there are none. */
bool clients_begin(struct orr_serve *w);
void clients_free(struct orr_serve *w);

#endif
