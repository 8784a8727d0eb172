/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * faultvfs.h - an SQLite file system whose n-th change fails
 *
 * Passes all calls to the default file system and counts those that change a file: write, sync, truncate, delete, and open with
 * permission to create. Not thread-safe.
 */
#ifndef ORR_TESTS_FAULTVFS_H
#define ORR_TESTS_FAULTVFS_H

#include <stdbool.h>

/* Name for sqlite3_open_v2(). */
#define FAULT_VFS "fault"

void fault_register(void);
/* Makes the n-th change (counted from 1) fail with an SQLite result code, and if `lasting` all later changes too. */
void fault_arm(int n, int code, bool lasting);
void fault_disarm(void);
bool fault_has_struck(void);

#endif
