/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery net flows: end times of the flows of a file, over the links of another file */
#include "cli/cli.h"
#include "study/progress.h"

#include "base/mem.h"
#include "base/param.h"
#include "net/netflows.h"
#include "base/outfile.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct wish {
	const char *links, *flows, *out;
	bool is_weighted, is_json, is_checked, is_quiet;
};

static void report_progress(void *ctx, double done)
{
	progress_report(ctx, 0, done);
}

static void print_rows(const struct netflows *n, FILE *to)
{
	struct netflows_row row;
	fputs("id,start_s,finish_s\n", to);
	for (uint32_t i = 0; i < netflows_count(n); i++) {
		netflows_get(n, i, &row);
		bool is_plain = !strpbrk(row.id, ",\"\n\r") && *row.id != '=' && *row.id != '@';
		if (!is_plain)
			putc('"', to);
		for (const char *s = row.id; *s; s++) {
			if (*s == '"')
				putc('"', to);
			putc(*s, to);
		}
		fprintf(to, is_plain ? ",%.17g,%.17g\n" : "\",%.17g,%.17g\n", row.start_s, row.finish_s);
	}
}

static int write_rows(const struct netflows *n, const char *path, struct orr_error *err)
{
	struct outfile out;
	int rc = outfile_open_path(&out, path, err);
	if (rc)
		return rc;
	print_rows(n, out.file);
	return outfile_close(&out, false, err);
}

/* ---- the summary ---- */

struct totals {
	double bytes, last_s, longest_s, mean_s;
};

static struct totals total(const struct netflows *n)
{
	struct totals t = { 0 };
	struct netflows_row row;
	for (uint32_t i = 0; i < netflows_count(n); i++) {
		netflows_get(n, i, &row);
		t.bytes += row.bytes;
		t.last_s = fmax(t.last_s, row.finish_s);
		t.longest_s = fmax(t.longest_s, row.finish_s - row.start_s);
		t.mean_s += (row.finish_s - row.start_s) / netflows_count(n);
	}
	return t;
}

static void print_json(const struct netflows *n, const struct wish *w)
{
	struct totals t = total(n);
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "links_file", w->links);
	cJSON_AddStringToObject(o, "flows_file", w->flows);
	cJSON_AddStringToObject(o, "fairness", w->is_weighted ? "rtt-weighted" : "max-min");
	cJSON_AddBoolToObject(o, "checked", w->is_checked);
	cJSON_AddNumberToObject(o, "links", netflows_links(n));
	cJSON_AddNumberToObject(o, "flows", netflows_count(n));
	cJSON_AddNumberToObject(o, "steps", netflows_steps(n));
	cJSON_AddNumberToObject(o, "steps_simulated", netflows_steps_simulated(n));
	cJSON_AddNumberToObject(o, "bytes", t.bytes);
	cJSON_AddNumberToObject(o, "last_finish_s", t.last_s);
	cJSON_AddNumberToObject(o, "mean_duration_s", t.mean_s);
	cJSON_AddNumberToObject(o, "longest_duration_s", t.longest_s);
	char *text = cJSON_Print(o);
	puts(text);
	cJSON_free(text);
	cJSON_Delete(o);
}

static void print_summary(const struct netflows *n)
{
	struct totals t = total(n);
	printf("%u flows, %.6g bytes, %u links", netflows_count(n), t.bytes, netflows_links(n));
	if (netflows_steps(n))
		printf(", %u steps (%u different)", netflows_steps(n), netflows_steps_simulated(n));
	printf("\nthe last flow ends at %.9g s; a flow takes %.9g s on average, %.9g s at most\n", t.last_s, t.mean_s, t.longest_s);
}

static int run_flows(const struct wish *w, struct orr_error *err)
{
	struct netflows *n = netflows_load(w->links, w->flows, err);
	if (!n)
		return err->code;
	struct progress *bar = progress_new("flows", 1, w->is_quiet);
	struct netflows_options o = { .fairness = w->is_weighted ? FLOW_RTT_WEIGHTED : FLOW_MAX_MIN,
		.is_checked = w->is_checked,
		.progress = bar ? report_progress : NULL,
		.ctx = bar };
	int rc = netflows_run(n, &o, err);
	progress_free(bar);
	if (!rc && w->out)
		rc = write_rows(n, w->out, err);
	if (!rc && w->is_json)
		print_json(n, w);
	else if (!rc && !w->out)
		print_rows(n, stdout);
	else if (!rc && !w->is_quiet)
		print_summary(n);
	netflows_free(n);
	return rc;
}

/* ---- arguments ---- */

static const struct option longs[] = { { "links", required_argument, NULL, 'l' }, { "flows", required_argument, NULL, 'f' },
	{ "rtt-weighted", no_argument, NULL, 'r' }, { "check", no_argument, NULL, 'c' }, { "json", no_argument, NULL, 'j' },
	{ NULL, 0, NULL, 0 } };

static int parse(int argc, char **argv, struct wish *w, struct orr_error *err)
{
	int c;
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, ":o:q", longs, NULL)) != -1) {
		if (c == 'l')
			w->links = optarg;
		else if (c == 'f')
			w->flows = optarg;
		else if (c == 'o')
			w->out = strcmp(optarg, "-") ? optarg : NULL;
		else if (c == 'r')
			w->is_weighted = true;
		else if (c == 'c')
			w->is_checked = true;
		else if (c == 'j')
			w->is_json = true;
		else if (c == 'q')
			w->is_quiet = true;
		else
			return cli_bad_option(argc, argv, c, longs, err);
	}
	if (optind < argc)
		return orr_fail(err, ORR_EINPUT,
			"net flows: unexpected argument \"%.60s\": expected the names of files only after --links and --flows",
			argv[optind]);
	if (!w->links || !w->flows)
		return orr_fail(err, ORR_EINPUT,
			"net flows: expected the options --links FILE and --flows FILE; 'orrery net --help' shows the forms");
	return ORR_OK;
}

static int run_net(int argc, char **argv, struct orr_error *err)
{
	static const char *const verbs[] = { "flows", NULL };
	struct wish w = { 0 };
	if (argc < 2)
		return orr_fail(err, ORR_EINPUT, "net: expected the verb \"flows\"; 'orrery net --help' shows the forms");
	if (strcmp(argv[1], verbs[0])) {
		const char *near = nearest_name(argv[1], verbs);
		return orr_fail(err, ORR_EINPUT, "net: unknown verb \"%.60s\": %s", argv[1],
			near ? "did you mean \"flows\"?" : "expected \"flows\"");
	}
	int rc = parse(argc - 1, argv + 1, &w, err);
	return rc ? rc : run_flows(&w, err);
}

const struct cli_command cmd_net = {
	.name = "net",
	.doc = "compute the end times of flows that share links",
	.help = "usage: orrery net flows --links L.csv --flows F.csv [--rtt-weighted] [-o OUT.csv]\n"
		"\n"
		"Computes the start and end times of flows that share links max-min fairly. L.csv has the\n"
		"columns link,bandwidth_Bps,latency_s (bytes per second, one line per direction\n"
		"of a cable), F.csv id,step,src,dst,bytes,start_s,links (names of links joined by ';', in the\n"
		"order of the path); other columns are ignored, and both files may be compressed with gzip or\nzstd. A flow waits for the "
		"sum of the latencies of its links, then sends its bytes.\n"
		"\n"
		"A flow of step -1 starts at start_s. In other steps start_s has no effect: flows of step 0\nstart at 0, and flows of a "
		"later step start when the previous step has ended. The output has\n"
		"id,start_s,finish_s in the order of F.csv, with 17 significant digits.\n"
		"\n"
		"options:\n"
		"  --links FILE    the links\n"
		"  --flows FILE    the flows\n"
		"  --rtt-weighted  a flow's share of a bottleneck is in proportion to 1 / (sum of its\n"
		"                  latencies), as with TCP and SimGrid's model CM02 (default: equal shares)\n"
		"  -o FILE         file for the rows (default: standard output)\n"
		"  --check         verify at every instant that no link is above its capacity and no flow\n"
		"                  could be faster, and at the end that each link carried its flows' bytes\n"
		"  --json          a summary as JSON on standard output; rows go to -o only\n"
		"  -q              no progress, no summary\n"
		"\n"
		"Example: two flows that share a link for some time:\n"
		"  printf 'link,bandwidth_Bps,latency_s\\nup,1e9,1e-6\\n' > links.csv\n"
		"  printf 'id,step,src,dst,bytes,start_s,links\\n0,-1,a,b,3e6,0,up\\n1,-1,a,c,1e6,0.001,up\\n' > flows.csv\n"
		"  orrery net flows --links links.csv --flows flows.csv -o finish.csv\n",
	.run = run_net,
};
