/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace_mutation.c - damaged traces do not crash a reader and are not accepted silently
 *
 * Each field of each line of each fixture is replaced by hostile texts, each fixture is truncated after every byte, every
 * byte of compressed fixtures is changed, and random places are damaged: at least 5,000 mutants of each fixture. Each parse must give valid
 * rows or an error with file and line.
 */
#include "tests/tap.h"

#include "traces/avail.h"
#include "traces/profile.h"
#include "traces/requests.h"
#include "traces/trace.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/sbuf.h"

#include <ctype.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

static const struct {
	const char *format, *file;
	char separator;     /* ' ' stands for any number of blanks */
	const char *option; /* NULL: none */
} fixtures[] = { { "philly", "philly.csv", ',' }, { "tiresias", "tiresias.csv", ',' }, { "muri", "muri.csv", ',' },
	{ "gavel", "gavel.trace", '\t' }, { "openb", "openb.csv", ',' }, { "openb-nodes", "openb-nodes.csv", ',' },
	{ "swf", "swf.swf", ' ' }, { "orrery", "orrery.csv", ',' }, { "azure-llm", "azure_llm.csv", ',' },
	{ "mooncake", "mooncake.jsonl", ',' }, { "mooncake", "mooncake.jsonl", ' ' }, { "burstgpt", "burstgpt.csv", ',' },
	{ "splitwise", "splitwise.csv", ',' }, { "vidur", "vidur.csv", ',' }, { "requests", "requests.csv", ',' },
	{ "bamboo", "bamboo.csv", ',' }, { "gcp-polls", "gcp_polls.txt", ',' }, { "step-curve", "step_curve.csv", ',' },
	{ "parcae-counts", "parcae_counts.csv", ',' }, { "parcae-segment", "parcae_segment.txt", ',' },
	{ "parcae-segment", "parcae_segment.txt", ' ' }, { "skypilot", "skypilot.json", ',' }, { "skypilot", "skypilot.json", ' ' },
	{ "availability", "availability.csv", ',' }, { "prices", "prices.csv", ',' }, { "acme", "acme_seren.csv", ',' },
	{ "acme", "acme_kalos.csv", ',' }, { "helios", "helios.csv", ',' }, { "itp", "itp.csv", ',' }, { "dlrm", "dlrm.csv", ',' },
	{ "spot-gpu", "spot_gpu.csv", ',' }, { "shockwave", "shockwave.csv", ',' }, { "slurm", "slurm.txt", '|' },
	{ "slurm", "slurm_more.txt", '|' }, { "philly-raw", "philly_raw.json", ',' }, { "philly-raw", "philly_raw.json", ':' },
	{ "kubernetes", "kubernetes.json", ',' }, { "kubernetes", "kubernetes_more.json", ',' }, { "aws-prices", "aws_prices.json", ',' },
	{ "bailian", "bailian.jsonl", ',' }, { "bailian", "bailian.jsonl", ':' }, { "swf", "metacentrum.swf", ' ' },
	{ "swf", "workflows.swf", '\t' }, { "azure-llm", "azure_2024.csv", ',' }, { "azure-llm", "azure_2025.csv", ',' },
	{ "burstgpt", "burstgpt_1.csv", ',' }, { "pollux", "pollux.csv", ',' }, { "pai", "pai_job.csv", ',', "tasks=pai_task.csv" },
	{ "csv", "own.csv", ';', "map=job_id=id,submit=created_at,gpus=num_gpu,duration=elapsed,user=owner,mem=ram,cpus=cores,limit=most" },
	{ "csv-requests", "own_requests.tsv", '\t', "map=arrival=when,prompt_tokens=in,output_tokens=out,session=chat,slo=within" } };

enum { LEAST = 5000 };
static char long_text[1000], very_long[(1 << 20) + 2];

static const struct {
	const char *text;
	size_t n; /* 0: strlen */
} hostile[] = { { "", 0 }, { "-1", 0 }, { "-0", 0 }, { "nan", 0 }, { "inf", 0 }, { "-inf", 0 }, { "1e400", 0 }, { "1e-400", 0 },
	{ "9223372036854775807", 0 }, { "9223372036854775808", 0 }, { "-9223372036854775809", 0 }, { "18446744073709551616", 0 },
	{ "4294967296", 0 }, { "1e18", 0 }, { "0x10", 0 }, { "1.5", 0 }, { " 1", 0 }, { "1 ", 0 }, { "+1", 0 }, { "1,1", 0 }, { "1e", 0 },
	{ ".", 0 }, { "-", 0 }, { "\"", 0 }, { "\"a", 0 }, { "a\"b", 0 }, { "\"a\"b", 0 }, { "\"\"", 0 }, { "a\0b", 3 }, { "\xff\xfe", 0 },
	{ "\xe2\x82\xac", 0 }, { "a\tb", 0 }, { "a\nb", 0 }, { "a\r\nb", 0 }, { "%s%n", 0 }, { "2017-02-29 00:00:00", 0 },
	{ "9999-99-99 99:99:99", 0 }, { "1:1;1:2", 0 }, { "[", 0 }, { "{\"a\":", 0 }, { "]}", 0 }, { "\\\"", 0 },
	{ "1000000000000000000", 0 }, { "0.00000000000000000000000000000000001", 0 }, { long_text, sizeof long_text } };

static const char *option[2]; /* of the format under test */
static unsigned long cases, rows, errors, silent, insane, unnamed;

static void check_row(const struct orr_trace_job *row)
{
	bool good = row->submit_ns >= 0 && row->duration_ns >= -1 && row->limit_ns >= -1 && row->wait_ns >= -1 && row->deadline_ns >= -1 &&
		    row->iterations >= 0 && row->gpus <= 1000000 && row->gpu_milli <= 1000 && row->cpu_milli >= 0 && row->mem_mib >= 0 &&
		    row->id && row->line > 0 && isfinite(row->priority) && isfinite(row->iterations);
	rows++;
	insane += !good;
}

/* Checks that rows of requests are in order of arrival. */
static void check_requests(const struct reqset *s)
{
	int64_t last = 0;
	for (uint64_t i = 0; s && i < reqset_count(s); i++) {
		const struct request_rec *r = reqset_at(s, i);
		bool good = r->arrival_ns >= last && r->slo_ns >= -1 && r->samples >= 1 && r->samples <= REQUEST_MAX_SAMPLES &&
			    r->prompt_tokens <= REQUEST_MAX_TOKENS && r->output_tokens <= REQUEST_MAX_TOKENS &&
			    r->max_output <= REQUEST_MAX_TOKENS && r->line > 0 && r->number == i && (r->block || !r->n_blocks) &&
			    (!r->n_blocks || (uint64_t)(r->n_blocks - 1) * reqset_block_tokens(s) < r->prompt_tokens);
		last = r->arrival_ns;
		rows++;
		insane += !good;
	}
}

/* Checks that no instance is removed before its addition. */
static void check_avail(const struct availset *s)
{
	int64_t last = 0;
	uint32_t live = 0, added = 0;
	for (uint64_t i = 0; s && i < availset_count(s); i++) {
		const struct avail_rec *r = availset_at(s, i);
		bool good = r->t_ns >= last && r->t_ns <= availset_end_ns(s) && r->line > 0 && r->number == i && r->usd_per_hour >= -1 &&
			    r->usd_per_hour <= 1e6 &&
			    (r->kind == AVAIL_ADD ? r->instance == added : r->kind == AVAIL_PRICE || r->instance < added);
		added += r->kind == AVAIL_ADD;
		live += r->kind == AVAIL_ADD ? 1 : r->kind == AVAIL_REMOVE ? -1u : 0;
		last = r->t_ns;
		rows++;
		insane += !good || r->live != live;
	}
}

/* "mutant:LINE: text" */
static bool names_its_place(const char *text)
{
	if (strncmp(text, "mutant:", 7) || !isdigit((unsigned char)text[7]))
		return false;
	const char *s = text + 7 + strspn(text + 7, "0123456789");
	return s[0] == ':' && s[1] == ' ' && s[2];
}

static void parse(const char *format, const char *data, size_t n)
{
	struct orr_error err = { 0 };
	struct orr_trace_job row;
	int rc = -1;
	struct trace *t = trace_open_memory("mutant", data, n, format, option, &err);
	cases++;
	if (t && !strcmp(format, "openb-nodes")) {
		struct trace_profile *p = trace_profile_new();
		rc = trace_describe(t, p, &err);
		trace_profile_free(p);
	} else if (t && trace_kind(t) == TRACE_REQUESTS) {
		struct reqset *s = reqset_from(t, "mutant", &err);
		check_requests(s);
		rc = s ? 0 : -1;
		reqset_free(s);
		t = NULL;
	} else if (t && trace_kind(t) == TRACE_AVAIL) {
		struct availset *s = availset_from(t, "mutant", &err);
		check_avail(s);
		rc = s ? 0 : -1;
		availset_free(s);
		t = NULL;
	} else if (t) {
		while ((rc = trace_next(t, &row, &err)) == 1)
			check_row(&row);
	}
	trace_close(t);
	if (rc == 0)
		return;
	errors++;
	silent += !err.text[0];
	if (!names_its_place(err.text)) {
		unnamed++;
		printf("# %s\n", err.text);
	}
}

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): SplitMix64. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Returns the end of the field at s. */
static const char *field_end(const char *s, const char *end, char separator)
{
	while (s < end && *s != '\n' && *s != '\r' && *s != separator)
		s++;
	return s;
}

static void replace_fields(const char *format, const char *text, size_t n, char separator)
{
	const char *end = text + n;
	struct sbuf b = { 0 };
	for (const char *s = text; s < end; s++) {
		const char *stop = field_end(s, end, separator);
		for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
			sbuf_clear(&b);
			sbuf_add(&b, text, (size_t)(s - text));
			sbuf_add(&b, hostile[i].text, hostile[i].n ? hostile[i].n : strlen(hostile[i].text));
			sbuf_add(&b, stop, (size_t)(end - stop));
			parse(format, b.text, b.len);
		}
		s = stop;
	}
	sbuf_free(&b);
}

static void replace_by_a_megabyte(const char *format, const char *text, size_t n)
{
	struct sbuf b = { 0 };
	const char *last = text + n;
	for (const char *s = text; s < text + n; s++)
		if (*s == '\n' && s + 1 < text + n)
			last = s + 1;
	sbuf_add(&b, text, (size_t)(last - text));
	sbuf_add(&b, very_long, sizeof very_long);
	parse(format, b.text, b.len);
	sbuf_free(&b);
}

/* Damages the text at 1 to 4 random places until there are `least` cases of this format: a bit, a byte, a copied, removed or hostile part.
 */
static void scramble(const char *format, const char *text, size_t n, unsigned long least)
{
	uint64_t state = 0x9e3779b97f4a7c15;
	struct sbuf b = { 0 };
	for (; cases < least; parse(format, b.text, b.len)) {
		sbuf_clear(&b);
		sbuf_add(&b, text, n);
		for (uint64_t k = next(&state) % 4 + 1; k && b.len; k--) {
			size_t at = next(&state) % b.len, length = next(&state) % (b.len - at < 40 ? b.len - at : 40) + 1, i;
			struct sbuf c = { 0 };
			sbuf_add(&c, b.text, at);
			switch (next(&state) % 5) {
			case 0:
				sbuf_putc(&c, (char)(b.text[at] ^ (1 << next(&state) % 8)));
				sbuf_add(&c, b.text + at + 1, b.len - at - 1);
				break;
			case 1:
				sbuf_putc(&c, (char)next(&state));
				sbuf_add(&c, b.text + at, b.len - at);
				break;
			case 2:
				sbuf_add(&c, b.text + at, length);
				sbuf_add(&c, b.text + at, b.len - at);
				break;
			case 3:
				sbuf_add(&c, b.text + at + length, b.len - at - length);
				break;
			default:
				i = next(&state) % (sizeof hostile / sizeof *hostile);
				sbuf_add(&c, hostile[i].text, hostile[i].n ? hostile[i].n : strlen(hostile[i].text));
				sbuf_add(&c, b.text + at + length, b.len - at - length);
			}
			sbuf_free(&b);
			b = c;
		}
	}
	sbuf_free(&b);
}

static void cut(const char *format, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *copy = mem_alloc(i + !i); /* a copy of the exact size, so that sanitizers detect reads past the end */
		memcpy(copy, text, i);
		parse(format, copy, i);
		mem_free(copy);
	}
}

static void damage_packed(const char *format, const unsigned char *data, size_t n)
{
	char *copy = mem_alloc(n);
	cut(format, (const char *)data, n);
	for (size_t i = 0; i < n; i++) {
		memcpy(copy, data, n);
		copy[i] = (char)(copy[i] ^ 0x55);
		parse(format, copy, n);
	}
	mem_free(copy);
}

static void pack_and_damage(const char *format, const char *text, size_t n)
{
	unsigned char out[16384];
	z_stream z = { 0 };
	deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (unsigned char *)(uintptr_t)text;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	z.avail_out = sizeof out;
	deflate(&z, Z_FINISH);
	damage_packed(format, out, sizeof out - z.avail_out);
	deflateEnd(&z);
	damage_packed(format, out, ZSTD_compress(out, sizeof out, text, n, 3));
}

int main(void)
{
	const char *srcdir = getenv("srcdir");
	memset(long_text, 'x', sizeof long_text);
	memset(very_long, '7', sizeof very_long);
	for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
		char path[512];
		struct orr_error err = { 0 };
		size_t n;
		snprintf(path, sizeof path, "%s/tests/data/traces/%s", srcdir ? srcdir : ".", fixtures[i].file);
		char *text = bytes_read_file(path, 1 << 20, &n, NULL, &err);
		if (!ok(text != NULL, "%s is there %s", fixtures[i].file, err.text))
			continue;
		unsigned long before = cases;
		char tasks[600];
		snprintf(tasks, sizeof tasks, "tasks=%s/tests/data/traces/pai_task.csv", srcdir ? srcdir : ".");
		option[0] = strcmp(fixtures[i].format, "pai") ? fixtures[i].option : tasks;
		replace_fields(fixtures[i].format, text, n, fixtures[i].separator);
		replace_by_a_megabyte(fixtures[i].format, text, n);
		cut(fixtures[i].format, text, n);
		pack_and_damage(fixtures[i].format, text, n);
		scramble(fixtures[i].format, text, n, before + LEAST);
		mem_free(text);
		ok(cases - before >= LEAST, "%s: %lu mutants parsed", fixtures[i].file, cases - before);
	}
	printf("# %lu cases, %lu rows, %lu errors\n", cases, rows, errors);
	ok(errors > cases / 4 && rows > cases / 4, "some damaged traces are refused, some are accepted");
	ok(!insane, "every row is within bounds (%lu are not)", insane);
	ok(!silent, "every error has a text");
	ok(!unnamed, "every error names file and line (%lu do not)", unnamed);
	return done();
}
