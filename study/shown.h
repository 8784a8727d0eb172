/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shown.h - the width of printed tables
 */
#ifndef ORR_STUDY_SHOWN_H
#define ORR_STUDY_SHOWN_H

#include <stddef.h>

/* Returns the number of characters in a line of standard output: the value of COLUMNS if it is a whole number from 20 to 10,000, else the
 * width of the terminal. 0: neither is known, so lines have no limit. */
size_t shown_width(void);

#endif
