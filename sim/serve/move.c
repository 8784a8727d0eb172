/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KV caches on their way from replica to replica. */
#include "serve/world.h"

void orr_move(struct orr_serve *w, orr_req r, uint32_t replica)
{
	(void)replica;
	serve_fail(w, ORR_EINPUT, req_of(w, r), "orr_move(): not there yet");
}
