/* SPDX-License-Identifier: GPL-3.0-or-later */
/* coll_bytes.h - closed form of the bytes sent by a collective, the reference for plans and compression */
#ifndef ORR_TESTS_COLL_BYTES_H
#define ORR_TESTS_COLL_BYTES_H

#include "net/collective.h"

/* Bytes that leave the busiest rank. */
double coll_bytes_per_rank(const struct coll_shape *s);

#endif
