/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery trace get: downloads a published trace with curl and checks its SHA-256 */
#include "cli/cli.h"
#include "cli/cmd_trace.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "base/program.h"
#include "base/sbuf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A published file. sha256: of the file as published. HEAD in an address is the newest revision of a repository; the hash states which
 * contents are accepted. */
struct source {
	const char *name, *verb, *url, *sha256;
	long bytes;
	const char *licence, *doc;
};

#define GITHUB "https://raw.githubusercontent.com/"
#define MURI GITHUB "Rivendile/Muri/HEAD/simulator/trace-data/"
#define OPENB GITHUB "alibaba/clusterdata/HEAD/cluster-trace-gpu-v2023/csv/"
#define AZURE GITHUB "Azure/AzurePublicDataset/HEAD/data/"

static const struct source sources[] = {
	{ "philly", "jobs", GITHUB "pkusys/ElasticFlow/HEAD/pollux/pollux_simulator/traces/philly.csv",
		"ebffb3dd1589bdf4e7bcd74496201c5ded1d557d498ee14f560463f37ec353da", 3444496, "CC-BY-4.0",
		"Microsoft Philly 2017, list of the Pollux authors: 82,247 jobs (Jeon et al., ATC 2019)" },
	{ "muri-1", "jobs", MURI "trace1.csv", "534d02a4ebe53aee1f60d3fb33e3b2207550bb28813e677c962051058ebafbc5", 97574, "Apache-2.0",
		"Philly, virtual cluster 1: 1,494 jobs (Zhao et al., SIGCOMM 2022)" },
	{ "muri-2", "jobs", MURI "trace2.csv", "5c29e1c49ed7929bff67c8008e6f2abcafc64e70bb55cdc91801490ce2df7003", 374400, "Apache-2.0",
		"Philly, virtual cluster 2: 5,755 jobs" },
	{ "muri-3", "jobs", MURI "trace3.csv", "fc8d59783486122d9f522b430c1d5a59fbee119b41feb67a3f67e0751340ce93", 63755, "Apache-2.0",
		"Philly, virtual cluster 3: 992 jobs" },
	{ "muri-4", "jobs", MURI "trace4.csv", "69754a0fc95b75de47923eb755d81b4cd7f8df37d82f007f870881e12470f0d1", 167691, "Apache-2.0",
		"Philly, virtual cluster 4: 2,638 jobs" },
	{ "openb-pods", "jobs", OPENB "openb_pod_list_default.csv", "1ee7ed79c27a3b0861cda8ddba86a004c6aba904caafa329a76ae93ca63834a8",
		575468, "see alibaba/clusterdata", "Alibaba 2023: 8,152 pods (Weng et al., ATC 2023)" },
	{ "openb-pods-gpuspec33", "jobs", OPENB "openb_pod_list_gpuspec33.csv",
		"eca4f746db1e5b25864ad021b55ece3943e101a3ebd4574d09dcb95c46117652", 587467, "see alibaba/clusterdata",
		"the same pods, a third with accepted GPU types" },
	{ "openb-nodes", "cluster", OPENB "openb_node_list_gpu_node.csv",
		"2beca64b4d3dfa342036a34b56a495c6cef9225db836c81f541282cb1df320b5", 42353, "see alibaba/clusterdata",
		"the 1,213 nodes with GPUs of that cluster, for --cluster" },
	{ "hpc2n", "jobs", GITHUB "aleasimulator/alea/HEAD/Alea/data-set/hpc2n.swf",
		"eaaccb339ef0f313d1b975cf02cc518b7cc012fb0c609ef2af2dbd0291aa74ba", 292761, "Parallel Workloads Archive",
		"HPC2N Seth, first 57 days: 3,170 jobs with waits and limits (SWF)" },
	{ "nasa-ipsc", "jobs",
		GITHUB "cloudsimplus/cloudsimplus-examples/HEAD/src/main/resources/workload/swf/NASA-iPSC-1993-3.1-cln.swf.gz",
		"5589ae9b2fb78e3bf92de097497cf33a91607de1ad54563e43533f7827597f29", 207976, "Parallel Workloads Archive",
		"NASA iPSC/860, 1993: 18,239 jobs (SWF)" },
	{ "azure-llm-code", "serve", AZURE "AzureLLMInferenceTrace_code.csv",
		"54e9a6d2a4bd06ba1e060304b900abbc74cbea53de96506e60fe5bb4f2277fb6", 320117, "CC-BY-4.0",
		"Azure LLM inference 2023, code: 8,819 requests (Patel et al., ISCA 2024)" },
	{ "azure-llm-conversation", "serve", AZURE "AzureLLMInferenceTrace_conv.csv",
		"2f1e5b666d4e3055fdbba98598ce2ec307767b9064e03e2fa46676dbcc7d0bf8", 719188, "CC-BY-4.0",
		"the same, conversation: 19,366 requests" },
	{ "mooncake-conversation", "serve", GITHUB "kvcache-ai/Mooncake/HEAD/FAST25-release/traces/conversation_trace.jsonl",
		"b8cbb061a85206d729d91cdc2981f43c9e0d99209dce588d3af5f7934408b9df", 3029533, "Apache-2.0",
		"Kimi chat with prefix blocks: 12,031 requests (Qin et al., FAST 2025)" },
};
enum { N_SOURCES = sizeof sources / sizeof *sources };

static int list(void)
{
	printf("%-24s %-8s %10s  %-27s %s\n", "trace", "for", "bytes", "licence", "");
	for (size_t i = 0; i < N_SOURCES; i++) {
		const struct source *x = &sources[i];
		printf("%-24s %-8s %10ld  %-27s %s\n", x->name, x->verb, x->bytes, x->licence, x->doc);
	}
	return ORR_OK;
}

/* ---- one download ---- */

struct download {
	char *url, *out, *part; /* part: OUT.part, which a later call continues */
	const char *sha256;     /* "": not given */
};

static bool is_address(const char *text)
{
	return !strncmp(text, "https://", 8) || !strncmp(text, "http://", 7);
}

/* Returns the part of an address after its last slash, without a query. */
static char *file_of(const char *url)
{
	const char *slash = strrchr(url, '/');
	struct sbuf b = { 0 };
	sbuf_add(&b, slash + 1, strcspn(slash + 1, "?#"));
	return sbuf_steal(&b);
}

static int find_source(const char *name, const struct source **out, struct orr_error *err)
{
	const char *names[N_SOURCES + 1] = { NULL };
	for (size_t i = 0; i < N_SOURCES; i++) {
		names[i] = sources[i].name;
		if (!strcmp(name, names[i])) {
			*out = &sources[i];
			return ORR_OK;
		}
	}
	const char *near = nearest_name(name, names);
	return orr_fail(err, ORR_EINPUT,
		"unknown trace \"%.80s\": %s%s%s'orrery trace get' lists all names; an address begins with https:// or http://", name,
		near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "");
}

/* Hashes the file as it is on the disk. */
static int hash_of(const char *path, char hash[BYTES_HASH_SIZE], struct orr_error *err)
{
	static char block[65536];
	struct bytes *b = bytes_open(path, err);
	if (!b)
		return err->code;
	int64_t n;
	while ((n = bytes_read(b, block, sizeof block)) > 0)
		;
	int rc = n < 0 ? orr_fail(err, ORR_EFAIL, "%.400s: %.400s", path, bytes_fault(b)) : ORR_OK;
	bytes_hash(b, hash);
	bytes_close(b);
	return rc;
}

/* Returns whether the file exists already; it must have the expected hash. */
static bool has_it(const struct download *d, struct orr_error *err)
{
	char hash[BYTES_HASH_SIZE];
	struct stat st;
	if (stat(d->out, &st))
		return false;
	if (!*d->sha256)
		orr_fail(
			err, ORR_EINPUT, "%.400s: this file exists already: expected another name (-o), or --sha256 to compare it", d->out);
	else if (!hash_of(d->out, hash, err) && strcmp(hash, d->sha256) != 0)
		orr_fail(err, ORR_EINPUT, "%.400s: this file exists already with the SHA-256 %s: expected %s, or another name (-o)", d->out,
			hash, d->sha256);
	return true;
}

static int check_part(const struct download *d, char hash[BYTES_HASH_SIZE], struct orr_error *err)
{
	struct orr_error unread = { 0 };
	hash_of(d->part, hash, &unread);
	if (!*d->sha256 && unread.code)
		return orr_fail(err, unread.code, "%s", unread.text);
	if (!*d->sha256 || (!unread.code && !strcmp(hash, d->sha256)))
		return ORR_OK;
	unlink(d->part);
	return orr_fail(err, ORR_EFAIL,
		"%.400s: the downloaded file has the SHA-256 %s: expected %s; it is removed. Another address of the file: orrery trace get "
		"URL "
		"--sha256 %s",
		d->url, hash, d->sha256, d->sha256);
}

static int fetch(const struct download *d, struct orr_error *err)
{
	struct sbuf curl = { 0 };
	struct stat st;
	if (!program_find("curl", &curl)) {
		sbuf_free(&curl);
		return orr_fail(err, ORR_EDEVICE,
			"trace get: curl is not installed: expected curl in PATH, or the file %.300s fetched by hand", d->url);
	}
	bool is_begun = !stat(d->part, &st);
	if (is_begun)
		fprintf(stderr, "orrery: continues %s after %lld bytes\n", d->part, (long long)st.st_size);
	const char *const argv[] = { "curl", "--fail", "--location", "--silent", "--show-error", "--proto", "=https,http", "--retry", "2",
		"--continue-at", "-", "--output", d->part, "--", d->url, NULL };
	int status = program_run(sbuf_text(&curl), argv);
	/* Servers without ranges (33, 36) and complete parts (22: 416) need a new start. */
	if (is_begun && (status == 33 || status == 36 || status == 22) && !unlink(d->part))
		status = program_run(sbuf_text(&curl), argv);
	sbuf_free(&curl);
	if (!status)
		return ORR_OK;
	return orr_fail(err, ORR_EFAIL, "%.400s: curl ended with status %d (above: its message); the same command continues with %.300s",
		d->url, status, d->part);
}

static int carry_out(const struct download *d, struct orr_error *err)
{
	char hash[BYTES_HASH_SIZE];
	if (has_it(d, err)) {
		if (!err->code)
			printf("%s: complete already\n", d->out);
		return err->code;
	}
	/* A part that is whole, as after a signal at the end, needs no download. */
	struct orr_error unread = { 0 };
	bool is_whole = *d->sha256 && !access(d->part, R_OK) && !hash_of(d->part, hash, &unread) && !strcmp(hash, d->sha256);
	int rc = is_whole ? ORR_OK : fetch(d, err);
	if (!rc)
		rc = check_part(d, hash, err);
	if (!rc && rename(d->part, d->out))
		rc = orr_fail(err, ORR_EFAIL, "%.400s: cannot be written: %s", d->out, strerror(errno));
	if (!rc)
		printf("%s: SHA-256 %s%s\n", d->out, hash, *d->sha256 ? ", as expected" : "");
	return rc;
}

static int check_hash(const char *text, struct orr_error *err)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64
		       ? ORR_OK
		       : orr_fail(err, ORR_EINPUT, "--sha256: expected 64 digits of 0-9 and a-f, found \"%.80s\"", text);
}

static int get(const char *what, const char *mirror, const char *sha256, const char *out, struct orr_error *err)
{
	struct sbuf url = { 0 }, part = { 0 };
	const struct source *x = NULL;
	if (!is_address(what) && find_source(what, &x, err))
		return err->code;
	if (x && *sha256)
		return orr_fail(err, ORR_EINPUT, "--sha256: expected this option only with an address: the hash of %s is known", x->name);
	char *file = file_of(x ? x->url : what);
	if (!*file) {
		mem_free(file);
		return orr_fail(err, ORR_EINPUT, "%.300s: expected an address of a file, such as https://host/trace.csv", what);
	}
	if (mirror && x)
		sbuf_printf(&url, "%s%s%s", mirror, mirror[strlen(mirror) - 1] == '/' ? "" : "/", file);
	else
		sbuf_puts(&url, x ? x->url : what);
	sbuf_printf(&part, "%s.part", out ? out : file);
	struct download d = { url.text, out ? (char *)(uintptr_t)out : file, part.text, x ? x->sha256 : sha256 };
	int rc = carry_out(&d, err);
	if (!rc && x)
		printf("licence: %s\nnext: orrery %s\n", x->licence, !strcmp(x->verb, "cluster") ? "jobs TRACE --cluster FILE" : x->verb);
	mem_free(file);
	sbuf_free(&url);
	sbuf_free(&part);
	return rc;
}

int trace_get(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "mirror", required_argument, NULL, 'm' }, { "sha256", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 } };
	const char *mirror = NULL, *sha256 = "", *out = NULL;
	int opt, rc = ORR_OK;
	optind = 1;
	opterr = 0;
	while (!rc && (opt = getopt_long(argc, argv, ":o:", longs, NULL)) != -1)
		if (opt == 'm')
			mirror = optarg;
		else if (opt == 's')
			rc = check_hash(sha256 = optarg, err);
		else if (opt == 'o')
			out = optarg;
		else
			rc = cli_bad_option(argc, argv, opt, longs, err);
	if (rc)
		return rc;
	if (mirror && !is_address(mirror))
		return orr_fail(err, ORR_EINPUT, "--mirror: expected an address such as https://host/traces, found \"%.100s\"", mirror);
	if (argc == optind)
		return list();
	if (argc != optind + 1)
		return orr_fail(err, ORR_EINPUT, "trace get: expected one name or address, found %d", argc - optind);
	return get(argv[optind], mirror, sha256, out, err);
}
