/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * faultvfs.h - an SQLite file system on which the n-th write fails
 *
 * Passes everything on to the default file system, and counts what changes a file:
 * write, sync, truncate, delete, and opening with leave to create. Not for threads.
 */
#ifndef ORR_TESTS_FAULTVFS_H
#define ORR_TESTS_FAULTVFS_H

#include <stdbool.h>

/* Its name for sqlite3_open_v2(). */
#define FAULT_VFS "fault"

void fault_register(void);
/* From now on the n-th change (from 1) fails with SQLite's result code, and with
 * lasting set, all that come after it. */
void fault_arm(int n, int code, bool lasting);
void fault_disarm(void);
bool fault_has_struck(void);

#endif
