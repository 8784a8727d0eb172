/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/progress.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct progress {
	const char *what;
	size_t n;
	double *done;
	double begun, shown;
	pthread_mutex_t lock;
};

double clock_read_s(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct progress *progress_new(const char *what, size_t parts, bool is_quiet)
{
	if (is_quiet || !isatty(STDERR_FILENO) || !parts)
		return NULL;
	struct progress *p = mem_zalloc(1, sizeof *p);
	p->what = what;
	p->n = parts;
	p->done = mem_zalloc(parts, sizeof *p->done);
	p->begun = p->shown = clock_read_s(CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

static void show(const struct progress *p, double done, double t)
{
	char bar[31], left[40] = "";
	int full = (int)(done * 30);
	for (int i = 0; i < 30; i++)
		bar[i] = i < full ? '#' : '.';
	bar[30] = '\0';
	double eta = done > 0 ? (t - p->begun) * (1 - done) / done : 0;
	if (done > 0.01)
		snprintf(left, sizeof left, eta < 90 ? ", %.0f s left" : ", %.0f min left", eta < 90 ? eta : eta / 60);
	fprintf(stderr, "\r%s [%s] %3.0f %%%s \033[K", p->what, bar, 100 * done, left);
	fflush(stderr);
}

void progress_report(struct progress *p, size_t part, double done)
{
	if (!p || pthread_mutex_trylock(&p->lock))
		return;
	double t = clock_read_s(CLOCK_MONOTONIC), sum = 0;
	p->done[part] = done;
	if (t - p->shown > 0.2) {
		p->shown = t;
		for (size_t i = 0; i < p->n; i++)
			sum += p->done[i];
		show(p, sum / (double)p->n, t);
	}
	pthread_mutex_unlock(&p->lock);
}

void progress_free(struct progress *p)
{
	if (!p)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	pthread_mutex_destroy(&p->lock);
	mem_free(p->done);
	mem_free(p);
}
