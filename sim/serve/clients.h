/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clients.h - closed-loop clients (clients.c)
 */
#ifndef ORR_SERVE_CLIENTS_H
#define ORR_SERVE_CLIENTS_H

#include "serve/world.h"

/* Starts the clients; call it after serve_metrics_begin(). Returns true if clients send the rows and maintain w->has_next; false if
 * the run has no clients. */
bool clients_begin(struct orr_serve *w);
void clients_free(struct orr_serve *w);

#endif
