/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of KV cache: who holds how many. */
#include "serve/world.h"

uint32_t orr_kv_block_tokens(const struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	return 0;
}

uint32_t orr_kv_total(const struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	return 0;
}

uint32_t orr_kv_free(const struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	return 0;
}

uint32_t orr_kv_held(const struct orr_serve *w, orr_req r)
{
	(void)w, (void)r;
	return 0;
}

uint32_t orr_kv_blocks(const struct orr_serve *w, uint32_t replica, uint32_t tokens)
{
	(void)w, (void)replica, (void)tokens;
	return 0;
}

bool orr_kv_grow(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free)
{
	(void)tokens, (void)keep_free;
	serve_fail(w, ORR_EINPUT, req_of(w, r), "orr_kv_grow(): not there yet");
	return false;
}
