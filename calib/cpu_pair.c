/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/cpu.h"

#include "base/mem.h"

#include <pthread.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* Invariant: is_running is true while work() may be running; it becomes false only if is_on is false. */
struct cpu_pair {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_on, is_running, is_over, has_thread;
	void (*work)(void *arg);
	void *arg;
};

uint32_t cpu_threads(void)
{
#ifdef _OPENMP
	return (uint32_t)omp_get_max_threads();
#else
	return 1;
#endif
}

void cpu_use_threads(uint32_t n)
{
#ifdef _OPENMP
	omp_set_num_threads((int)n);
#else
	(void)n;
#endif
}

static void *run(void *arg)
{
	struct cpu_pair *p = arg;
	pthread_mutex_lock(&p->lock);
	while (!p->is_over) {
		if (p->is_running != p->is_on) {
			p->is_running = p->is_on;
			pthread_cond_broadcast(&p->changed);
		}
		if (!p->is_on) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		p->work(p->arg);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct cpu_pair *pair_new(void (*work)(void *arg), void *arg)
{
	struct cpu_pair *p = mem_zalloc(1, sizeof *p);
	p->work = work;
	p->arg = arg;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->has_thread = !pthread_create(&p->thread, NULL, run, p);
	if (p->has_thread)
		return p;
	pair_free(p);
	return NULL;
}

static void turn(struct cpu_pair *p, bool is_on)
{
	pthread_mutex_lock(&p->lock);
	p->is_on = is_on;
	pthread_cond_broadcast(&p->changed);
	while (p->is_running != is_on)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void pair_on(struct cpu_pair *p)
{
	turn(p, true);
}

void pair_off(struct cpu_pair *p)
{
	turn(p, false);
}

void pair_free(struct cpu_pair *p)
{
	if (!p)
		return;
	if (p->has_thread) {
		pthread_mutex_lock(&p->lock);
		p->is_over = true;
		p->is_on = false;
		pthread_cond_broadcast(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
}
