/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sources.h - hash of the sources from which the program was built
 *
 * make generates base/sources_data.c from all sources and embedded data of the program. The hash is part of the hash of a run
 * (world/text.c), so a stored run is reused only by builds of the same sources.
 */
#ifndef ORR_BASE_SOURCES_H
#define ORR_BASE_SOURCES_H

/* SHA-256 of the contents of the sources, as 64 hex digits. */
extern const char sources_hash[];

#endif
