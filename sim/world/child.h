/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * child.h - processes that are copies of this one and run code of a plugin
 */
#ifndef ORR_WORLD_CHILD_H
#define ORR_WORLD_CHILD_H

#include <stddef.h>

/* Descriptor of the only file that a child keeps, apart from standard input, output and error. */
enum { CHILD_FD = 3 };

/* Called by a child after fork(). The child ends with its parent, has default signals and one thread in parallel regions, reads nothing
 * from standard input, is the first to be killed if the machine runs out of memory, and keeps the file `fd` as CHILD_FD. */
void child_begin(int fd);
/* Writes "was ended by signal 11 (Segmentation fault)" or "ended with status 0". status: of waitpid(). */
void child_end_text(int status, char *out, size_t size);

#endif
