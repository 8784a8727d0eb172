/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Residents and iterations of a replica that serves a language model. */
#include "serve/world.h"

struct lane *lane_new(struct orr_serve *w, uint32_t replica, struct orr_error *err)
{
	(void)w, (void)replica, (void)err;
	orr_fail(err, ORR_EINPUT, "language models: not there yet");
	return NULL;
}

void lane_free(struct lane *l)
{
	(void)l;
}

void lane_lost(struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
}

bool lane_is_busy(const struct lane *l)
{
	(void)l;
	return false;
}

uint32_t lane_blocks(const struct lane *l)
{
	(void)l;
	return 0;
}

uint32_t lane_blocks_for(const struct lane *l, uint32_t tokens)
{
	(void)l, (void)tokens;
	return 0;
}

void lane_forget(struct orr_serve *w, struct req *q)
{
	(void)w, (void)q;
}

void lane_settle(const struct orr_serve *w, struct req *q)
{
	(void)w, (void)q;
}

void lane_arrival(struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
}

const char *lane_check(const struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	return NULL;
}

double lane_kv_in_use(const struct lane *l)
{
	(void)l;
	return 0;
}

bool orr_admit(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free)
{
	(void)w, (void)r, (void)tokens, (void)keep_free;
	serve_fail(w, ORR_EINPUT, req_of(w, r), "orr_admit(): not there yet");
	return false;
}

void orr_evict(struct orr_serve *w, orr_req r, enum orr_evict_how how)
{
	(void)w, (void)r, (void)how;
	serve_fail(w, ORR_EINPUT, req_of(w, r), "orr_evict(): not there yet");
}

void orr_pause(struct orr_serve *w, orr_req r)
{
	(void)w, (void)r;
	serve_fail(w, ORR_EINPUT, req_of(w, r), "orr_pause(): not there yet");
}

void orr_resume(struct orr_serve *w, orr_req r)
{
	(void)w, (void)r;
	serve_fail(w, ORR_EINPUT, req_of(w, r), "orr_resume(): not there yet");
}

bool orr_is_decoding(const struct orr_serve *w, orr_req r)
{
	(void)w, (void)r;
	return false;
}

orr_req orr_resident_first(const struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	return 0;
}

orr_req orr_resident_next(const struct orr_serve *w, orr_req r)
{
	(void)w, (void)r;
	return 0;
}

uint32_t orr_residents(const struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	return 0;
}

uint32_t orr_decodes(const struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	return 0;
}

uint32_t orr_decodes_need(const struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	return 0;
}

void orr_iter_prefill(struct orr_serve *w, orr_req r, uint32_t tokens)
{
	(void)w, (void)r, (void)tokens;
	serve_fail(w, ORR_EINPUT, req_of(w, r), "orr_iter_prefill(): not there yet");
}

void orr_iter_run(struct orr_serve *w, uint32_t replica, uint64_t most, uint32_t keep_free, unsigned flags)
{
	(void)w, (void)replica, (void)most, (void)keep_free, (void)flags;
	serve_fail(w, ORR_EINPUT, NULL, "orr_iter_run(): not there yet");
}

void orr_iter_cut(struct orr_serve *w, uint32_t replica)
{
	(void)w, (void)replica;
	serve_fail(w, ORR_EINPUT, NULL, "orr_iter_cut(): not there yet");
}

double orr_iter_estimate(const struct orr_serve *w, uint32_t replica, uint32_t decodes, double context, uint32_t tokens, uint32_t before)
{
	(void)w, (void)replica, (void)decodes, (void)context, (void)tokens, (void)before;
	return 0;
}
