/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report.h"

#include "base/mem.h"
#include "plots/figure.h"
#include "tests/sample_run.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct orr_error err = { 0 };
	struct run_result *runs[3] = { sample_run("fifo", 2000, 2), sample_run("srtf", 3000, 3), sample_run("Bob's las_{2}|^x", 100, 4) };
	const struct run_result *const *v = (const struct run_result *const *)runs;
	struct sbuf out = { 0 };
	report_table(&out, v, 3, argc > 2 ? atoi(argv[2]) : 0);
	puts(sbuf_text(&out));
	sbuf_clear(&out);
	report_json(&out, v, 1);
	puts(sbuf_text(&out));
	if (argc > 1)
	  if (report_out_dir(argv[1], v, 3, &err) || figures_write(argv[1], v, 3, &err)) puts(err.text);
	sbuf_free(&out);
	for (int i = 0; i < 3; i++)
		result_free(runs[i]);
	return done();
}
