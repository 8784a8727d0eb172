/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * page.h - orrery report: one HTML page about the runs of a database
 *
 * Invariant: the page depends on the contents of the database and the options alone, so the same database gives the same bytes. The
 * database is only read.
 */
#ifndef ORR_STUDY_PAGE_H
#define ORR_STUDY_PAGE_H

#include <orrery/api.h>

#include <stddef.h>

enum { PAGE_ROWS = 1000 };

struct page_request {
	const char *db, *study;       /* study: a study file or the figures.json of a book, for title and question; NULL: none */
	const char *title, *question; /* NULL: the title and question of the study */
	const char *out;              /* file to write */
	size_t rows;                  /* largest number of rows of the table of jobs or requests */
	int64_t run;                  /* draws the rows of this run; 0: of the first runs */
};

/* Writes the page. ORR_EINPUT: no database of orrery, no runs, or no such run; ORR_EFAIL: the file cannot be written. */
int page_write(const struct page_request *q, struct orr_error *err);

#endif
