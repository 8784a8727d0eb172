/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/quotient.h"
struct quotient *quotient_new(const struct topo *t){(void)t;return 0;}
void quotient_free(struct quotient *q){(void)q;}
uint32_t quotient_flow(struct quotient *q, uint32_t a, uint32_t b, uint64_t k, uint32_t c){(void)q;(void)a;(void)b;(void)k;(void)c;return 0;}
void quotient_refine(struct quotient *q){(void)q;}
uint32_t quotient_class(const struct quotient *q, uint32_t f){(void)q;return f;}
uint32_t quotient_links(const struct quotient *q){(void)q;return 0;}
void quotient_link(const struct quotient *q, uint32_t l, struct flow_link *o, uint32_t *m){(void)q;(void)l;(void)o;(void)m;}
uint32_t quotient_route(const struct quotient *q, uint32_t c, struct flow_hop o[TOPO_MAX_HOPS]){(void)q;(void)c;(void)o;return 0;}
