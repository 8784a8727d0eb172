/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_net LINKS FLOWS - times the network part of `orrery net flows`
 *
 * Prints the CPU seconds of netflows_run() (without reading the files), the peak memory
 * of the process in KiB, and the number of flows; then the largest relative
 * difference to the file's own column finish_s, if it has one.
 */
#include "base/mem.h"
#include "net/netflows.h"
#include "tests/bench/load.h"
#include "traces/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const struct table_column columns[] = { { "finish_s", true }, { NULL, false } };

static double worst_difference(const struct netflows *n, const char *path, struct orr_error *err)
{
	struct lines *in = lines_open(path, err);
	struct table *t = in ? table_new(in, columns, TABLE_HEADER, err) : NULL;
	struct netflows_row row;
	double worst = 0;
	for (uint32_t i = 0; t && table_next(t, NULL, NULL, err) == 1 && i < netflows_count(n); i++) {
		double want = table_real(t, 0, 0, 1e18);
		netflows_get(n, i, &row);
		worst = fmax(worst, fabs(row.finish_s - want) / want);
	}
	table_free(t);
	lines_close(in);
	return t ? worst : NAN;
}

int main(int argc, char **argv)
{
	struct orr_error err = { 0 };
	struct netflows_options o = { .fairness = FLOW_MAX_MIN };
	struct netflows *n = argc == 3 ? netflows_load(argv[1], argv[2], &err) : NULL;
	if (!n) {
		fprintf(stderr, "%s\n", argc == 3 ? err.text : "usage: bench_net LINKS FLOWS");
		return 2;
	}
	double begun = cpu_seconds();
	int rc = netflows_run(n, &o, &err);
	double spent = cpu_seconds() - begun;
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	if (rc)
		fprintf(stderr, "%s\n", err.text);
	else
		printf("%.6f %ld %u %.2g\n", spent, used.ru_maxrss, netflows_count(n), worst_difference(n, argv[2], &err));
	netflows_free(n);
	return rc;
}
