/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * allox_assign.h - jobs assigned to workers and positions (Le, Sun, Chowdhury, Liu, "AlloX: Compute Allocation in Hybrid Clusters",
 * EuroSys 2020)
 *
 * A job at position k from the end of a worker's queue delays k jobs, itself included, by its run time. So the sum of completion times of
 * n jobs on workers is the sum of k time[job][worker], and its minimum is an assignment of jobs to pairs (worker, position).
 *
 * The algorithm is that of scipy's linear_sum_assignment (D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE
 * Transactions on Aerospace and Electronic Systems 52(4), 2016), with its order of columns, so that equal optima are chosen alike.
 */
#ifndef ORR_POLICIES_ALLOX_ASSIGN_H
#define ORR_POLICIES_ALLOX_ASSIGN_H

#include <stddef.h>

/*
 * Assigns each of n jobs to a worker and a position k = 1 .. n from the end. time[job * workers + worker]: run times, finite;
 * delay[job] (may be NULL) is added to each cost of the job. It changes no optimum, but its rounding may decide ties. Column c
 * of the cost matrix is worker c mod workers, position c / workers + 1. O(n^3 workers) at worst. workers >= 1.
 */
void allox_assign(size_t n, size_t workers, const double *time, const double *delay, size_t *worker, size_t *position);

#endif
