/* SPDX-License-Identifier: GPL-3.0-or-later */
/* messages.h - messages of a replica in one iteration, in the order in which they become ready */
#ifndef ORR_POLICIES_MESSAGES_H
#define ORR_POLICIES_MESSAGES_H

#include "chunks.h"

struct messages {
	struct message *message;
	uint32_t n;
};

static inline void messages_free(struct messages *m)
{
	orr_free(m->message);
	m->message = NULL;
}

/* Makes one message per chunk with parameters. */
static inline void messages_by_chunk(struct messages *m, const struct chunks *c)
{
	m->n = 0;
	m->message = orr_alloc(c->n + 1u, sizeof *m->message);
	for (uint32_t i = c->n; i--;)
		if (c->chunk[i].params > 0)
			m->message[m->n++] = (struct message){ i, c->chunk[i].first, c->chunk[i].count, c->chunk[i].params };
}

static inline uint32_t count_tensors_(const struct orr_step *s, uint32_t layers)
{
	uint32_t n = 0;
	for (uint32_t l = 0; l < layers; l++) {
		struct orr_layer_info info;
		orr_step_layer(s, l, &info);
		struct layer_tensors t = layer_tensors(&info);
		n += t.matrices + t.rests;
	}
	return n;
}

/* Makes one message per tensor. */
static inline void messages_by_tensor(struct messages *m, const struct chunks *c, const struct orr_step *s)
{
	uint32_t layers = c->n ? c->chunk[c->n - 1].first + c->chunk[c->n - 1].count : 0;
	m->n = 0;
	m->message = orr_alloc(count_tensors_(s, layers) + 1u, sizeof *m->message);
	for (uint32_t i = c->n; i--;)
		for (uint32_t l = c->chunk[i].first + c->chunk[i].count; l-- > c->chunk[i].first;) {
			struct orr_layer_info info;
			orr_step_layer(s, l, &info);
			struct layer_tensors t = layer_tensors(&info);
			for (uint32_t k = 0; k < t.rests; k++)
				m->message[m->n++] = (struct message){ i, l, 1, t.rest };
			for (uint32_t k = 0; k < t.matrices; k++)
				m->message[m->n++] = (struct message){ i, l, 1, t.matrix };
		}
}

/* Cuts each message into equal parts of at most `params` parameters. */
static inline void messages_partition(struct messages *m, double params)
{
	size_t n = 0;
	for (uint32_t i = 0; i < m->n; i++)
		n += (size_t)fmax(1, ceil(m->message[i].params / params));
	struct message *part = orr_alloc(n + 1, sizeof *part);
	size_t at = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		size_t parts = (size_t)fmax(1, ceil(m->message[i].params / params));
		for (size_t k = 0; k < parts; k++) {
			part[at] = m->message[i];
			part[at++].params /= (double)parts;
		}
	}
	orr_free(m->message);
	m->message = part;
	m->n = (uint32_t)at;
}

#endif
