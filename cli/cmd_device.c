/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery device list|show */
#include "cli/cli.h"
#include "cli/data_file.h"

#include "base/mem.h"
#include "hwmodel/device.h"
#include "hwmodel/profile.h"
#include "hwmodel/steptimes.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char help[] = "usage: orrery device list\n"
			   "       orrery device show NAME|FILE.json [--json]\n\n"
			   "  list   the devices included with the program: peaks, memory, links\n"
			   "  show   one device: achievable shares of its peaks, the source of each value, published measurements\n\n"
			   "A device is a JSON file: copy a file of hwmodel/devices/, edit the copy, and pass its name.\n\n"
			   "Example:\n"
			   "  orrery device show a100-80g\n";

/* Returns the peak rate of mixed-precision training. */
static double half_peak(const struct device *d)
{
	double p = d->peak_flops[PRECISION_FP16];
	return p > 0 ? p : d->peak_flops[PRECISION_BF16];
}

static int list(struct orr_error *err)
{
	printf("%-15s %8s %8s %8s %9s %9s  %s\n", "device", "fp32 TF", "fp16 TF", "mem GiB", "mem GB/s", "link GB/s", "");
	const char *name;
	for (size_t i = 0; (name = device_catalogue(i)); i++) {
		struct device *d = device_load(name, err);
		if (!d)
			return ORR_EFAIL;
		printf("%-15s %8.4g %8.4g %8.4g %9.5g %9.4g  %s%s%s%s\n", d->name, d->peak_flops[PRECISION_FP32] / 1e12,
			half_peak(d) / 1e12, d->memory_bytes / 1073741824.0, d->memory_Bps / 1e9, d->link_Bps / 1e9, d->title,
			*d->aliases ? " (" : "", d->aliases, *d->aliases ? ")" : "");
		device_free(d);
	}
	return ORR_OK;
}

static void show_rates(const struct device *d)
{
	printf("\n%-9s %12s %12s   %s\n", "products", "peak TF/s", "GEMM share",
		"convolution shares (forward, data and weight gradient): 1x1, 3x3, other");
	for (int p = 0; p < PRECISION_COUNT; p++) {
		if (d->peak_flops[p] <= 0)
			continue;
		printf("  %-7s %12.4g %12.2f  ", precision_name((enum precision)p), d->peak_flops[p] / 1e12, d->gemm_efficiency[p]);
		for (int shape = 0; shape < CONV_SHAPES; shape++) {
			const double *share = d->conv_share[p][shape];
			printf(" %.2f %.2f %.2f%s", share[0], share[1], share[2], shape + 1 < CONV_SHAPES ? "," : "\n");
		}
	}
	printf("\n  element-wise %.4g TFLOP/s\n", d->vector_flops / 1e12);
	printf("  memory       %.4g GiB, %.5g GB/s, of which %.0f %% is reached\n", d->memory_bytes / 1073741824.0, d->memory_Bps / 1e9,
		100 * d->memory_efficiency);
	if (d->l2_bytes > 0)
		printf("  L2 cache     %.4g MiB\n", d->l2_bytes / 1048576);
	printf("  launch       %.3g us per kernel; a matrix product takes %.3g us more than the time of its FLOPs\n", d->launch_s * 1e6,
		device_ramp_s(d) * 1e6);
	printf("  link         %.4g GB/s, %.3g us (GPU to GPU in a node); PCI Express %.4g GB/s\n", d->link_Bps / 1e9,
		d->link_latency_s * 1e6, d->pcie_Bps / 1e9);
	if (d->allreduce_Bps > 0)
		printf("  all-reduce   %.4g GB/s of bus bandwidth on 8 GPUs, latency %.3g us\n", d->allreduce_Bps / 1e9,
			d->allreduce_latency_s * 1e6);
}

/* Prints published measurements, which runs use with cost.measured. */
static int show_steps(const struct device *d, struct orr_error *err)
{
	struct steptimes *t = steptimes_load(err);
	if (!t)
		return ORR_EFAIL;
	bool is_first = true;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct steptime *e = &t->entry[i];
		if (strcasecmp(e->device, d->name))
			continue;
		if (is_first)
			puts("\npublished training steps on one");
		is_first = false;
		for (uint32_t k = 0; k < e->n; k++)
			printf("  %-25s %-5s batch %-5.5g %8.1f ms %9.1f samples/s  %s\n", e->model, precision_name(e->precision),
				e->batch[k], 1e3 * e->seconds[k], e->batch[k] / e->seconds[k], e->setup);
	}
	steptimes_free(t);
	return ORR_OK;
}

/* Prints the profile that runs use by default. */
static int show_profile(const struct device *d, struct orr_error *err)
{
	const char *name = profile_for_device(d->profile_of);
	struct profile *p = name ? profile_load(name, err) : NULL;
	if (name && !p)
		return ORR_EFAIL;
	char *summary = p ? profile_summary(p) : NULL;
	if (p)
		printf("profile %s\n", summary);
	else
		puts("no profile is included for this device: kernel times follow the data sheet, unless --profile names a profile");
	mem_free(summary);
	profile_free(p);
	return ORR_OK;
}

static int show(const char *name, struct orr_error *err)
{
	struct device *d = device_load(name, err);
	if (!d)
		return ORR_EINPUT;
	printf("%s: %s%s%s\n", d->name, d->title, *d->architecture ? ", " : "", d->architecture);
	if (*d->aliases)
		printf("also called %s\n", d->aliases);
	puts(d->is_measured ? "measured" : "from data sheets and published measurements");
	int rc = show_profile(d, err);
	show_rates(d);
	puts("\nsources");
	for (const char *line = d->source; *line;) {
		int n = (int)strcspn(line, "\n");
		printf("  %.*s\n", n, line);
		line += n + (line[n] == '\n');
	}
	if (!rc)
		rc = show_steps(d, err);
	printf("\nSHA-256 %s\n", d->hash);
	device_free(d);
	return rc;
}

/* Prints the file of the device; an alias counts as its device. */
static int show_file(const char *name, struct orr_error *err)
{
	struct device *d = device_load(name, err);
	if (!d)
		return ORR_EINPUT;
	bool is_file = strchr(name, '/') || strchr(name, ':') || (strlen(name) > 5 && !strcasecmp(name + strlen(name) - 5, ".json"));
	int rc = data_file_put(embedded_devices, "device", "orrery device list", is_file ? name : d->name, err);
	device_free(d);
	return rc;
}

static int run(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' }, { NULL, 0, NULL, 0 } };
	bool as_json = false;
	int opt;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt != 'j')
			return cli_bad_option(argc, argv, opt, longs, err);
		as_json = true;
	}
	int n = argc - optind;
	const char *verb = n > 0 ? argv[optind] : "";
	if (!strcmp(verb, "list") && n == 1 && !as_json)
		return list(err);
	if (!strcmp(verb, "show") && n == 2)
		return as_json ? show_file(argv[optind + 1], err) : show(argv[optind + 1], err);
	return orr_fail(err, ORR_EINPUT, "device: expected \"list\" or \"show NAME\"; 'orrery device --help' shows the forms");
}

const struct cli_command cmd_device = { "device", "list and show GPUs: peaks, achievable shares, sources", help, run, NULL };
