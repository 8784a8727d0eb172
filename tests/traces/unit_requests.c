/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_requests.c - traces of requests: readers, options, errors, whole traces */
#include "tests/tap.h"

#include "traces/profile.h"
#include "traces/requests.h"
#include "traces/trace.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <inttypes.h>
#include <stdlib.h>

static struct orr_error err;

static const char *fixture(const char *name)
{
	static char path[512];
	const char *srcdir = getenv("srcdir");
	snprintf(path, sizeof path, "%s/tests/data/traces/%s", srcdir ? srcdir : ".", name);
	return path;
}

static struct reqset *load(const char *name, const char *option)
{
	const char *options[] = { option, NULL };
	struct reqset *s = reqset_load(fixture(name), NULL, options, 1, &err);
	if (!s)
		printf("# %s\n", err.text);
	return s;
}

/* Prints the rows of a set, one line per request: number, ns, prompt, output, and fields that differ from the default. */
static char *rows_text(const struct reqset *s)
{
	struct sbuf b = { 0 };
	struct request_rec r;
	struct reqcursor *c = s ? reqset_open(s, 0) : NULL;
	while (c && reqcursor_next(c, &r)) {
		sbuf_printf(&b, "%" PRIu64 ":%" PRId64 " %u+%u", r.number, r.arrival_ns, r.prompt_tokens, r.output_tokens);
		if (r.id)
			sbuf_printf(&b, " id=%s", strtab_text(reqset_strings(s), r.id));
		if (r.model)
			sbuf_printf(&b, " %s", strtab_text(reqset_strings(s), r.model));
		if (r.samples != 1)
			sbuf_printf(&b, " x%u", r.samples);
		if (r.max_output || r.priority)
			sbuf_printf(&b, " max=%u priority=%u", r.max_output, r.priority);
		if (r.session)
			sbuf_printf(&b, " session=%" PRIu64, r.session);
		if (r.slo_ns >= 0)
			sbuf_printf(&b, " slo=%" PRId64, r.slo_ns);
		for (uint32_t i = 0; i < r.n_blocks; i++)
			sbuf_printf(&b, "%s%" PRIu64, i ? "," : " [", r.block[i]);
		sbuf_puts(&b, r.n_blocks ? "]\n" : "\n");
	}
	reqcursor_close(c);
	return sbuf_steal(&b);
}

static void holds(const char *name, const char *option, const char *format, const char *want, const char *what)
{
	struct reqset *s = load(name, option);
	char *got = rows_text(s);
	if (s && strcmp(reqset_format(s), format))
		printf("# format %s\n", reqset_format(s));
	same_text(s && !strcmp(reqset_format(s), format) ? got : NULL, want, what);
	mem_free(got);
	reqset_free(s);
}

/* Expected values are computed by hand from the fixtures. */
static void formats(void)
{
	holds("azure_llm.csv", NULL, "azure-llm", "0:0 110+27\n1:100 4808+10\n2:52000200 3180+8\n",
		"azure-llm: 100 ns are kept, rows are sorted and count from the first, CRLF, no line end at the end");
	holds("mooncake.jsonl", NULL, "mooncake",
		"0:0 1025+500 [0,1,2]\n1:0 1000+1 [0,9007199254740993]\n2:2999000000 512+0 [0]\n3:2999500000 3+7\n"
		"4:9000000000 1536+2 [0,1]\n",
		"mooncake: whole hashes beyond 2^53, fields in any order, others skipped, fewer hashes than blocks");
	/* Two rows are in the tick from 0 to 2.999 s; the second one is moved to the middle of the tick. The last row has its own
	 * tick. */
	holds("mooncake.jsonl", "spread=true", "mooncake",
		"0:0 1025+500 [0,1,2]\n1:1499500000 1000+1 [0,9007199254740993]\n2:2999000000 512+0 [0]\n3:2999500000 3+7\n"
		"4:9000000000 1536+2 [0,1]\n",
		"mooncake: spread divides the time until the next tick");
	holds("burstgpt.csv", NULL, "burstgpt",
		"0:5000000000 472+18 ChatGPT session=1\n1:118000000000 417+276 GPT-4\n2:118500000000 1360+647 ChatGPT session=2\n",
		"burstgpt: failures are skipped, sessions get numbers");
	holds("burstgpt.csv", "failures=keep", "burstgpt",
		"0:5000000000 472+18 ChatGPT session=1\n1:45000000000 1087+0 ChatGPT session=1\n2:118000000000 417+276 GPT-4\n"
		"3:118500000000 1360+647 ChatGPT session=2\n",
		"burstgpt: failures=keep");
	holds("burstgpt.csv", "log=api", "burstgpt", "0:118000000000 417+276 GPT-4\n", "burstgpt: one type of log");
	holds("splitwise.csv", NULL, "splitwise", "0:10000 1+1 id=x\n1:1000000000 4096+32 id=0\n2:5892655000 2048+8 id=1 x3\n",
		"splitwise: sorted, 5.8926549999999995 s is 5,892,655,000 ns");
	holds("vidur.csv", NULL, "vidur", "0:0 374+44\n1:4314579000 396+109\n2:4314579000 879+0\n",
		"vidur: other columns are ignored, file order on ties, an output of 0");
	holds("requests.csv", NULL, "requests",
		"0:1 0+0 id=a vgg16 x8 slo=200000000\n1:2000000000 12+0 bert session=7 slo=1500000000\n"
		"2:10500000000 700+30 id=b, quoted max=64 priority=2 session=7 [5,6]\n",
		"requests: every column, and empty fields");
}

static void sets(void)
{
	struct reqset *s = load("burstgpt.csv", NULL);
	ok(reqset_count(s) == 3 && reqset_is_loaded(s) && reqset_left_out(s) == 1 && reqset_at(s, 2)->line == 5 && !reqset_at(s, 3),
		"counts, lines of the file, skipped rows");
	/* sha256sum tests/data/traces/burstgpt.csv */
	same_text(reqset_hash(s), "eca7b919ef096fdeedb9943e12e648f6b40c340be406c7d9440ddf419b5a74ff", "the hash is that of the file");
	reqset_compress(s, 2);
	ok(reqset_at(s, 0)->arrival_ns == 2500000000 && reqset_at(s, 2)->arrival_ns == 59250000000, "compress by 2 halves arrivals");
	reqset_free(s);
	holds("burstgpt.csv", "compress=0.5", "burstgpt",
		"0:10000000000 472+18 ChatGPT session=1\n1:236000000000 417+276 GPT-4\n2:237000000000 1360+647 ChatGPT session=2\n",
		"compress below 1 lengthens the trace");
	holds("vidur.csv", "first=1", "vidur", "0:0 374+44\n", "first");
	/* The span of 113.5 s has two gaps with a mean of 56.75 s, so the copy begins 56.75 s after the last row. */
	holds("burstgpt.csv", "repeat=2", "burstgpt",
		"0:5000000000 472+18 ChatGPT session=1\n1:118000000000 417+276 GPT-4\n2:118500000000 1360+647 ChatGPT session=2\n"
		"3:175250000000 472+18 ChatGPT session=3\n4:288250000000 417+276 GPT-4\n5:288750000000 1360+647 ChatGPT session=4\n",
		"repeat: end to end at the same rate, with new sessions");
	s = load("mooncake.jsonl", "repeat=3");
	ok(reqset_count(s) == 15 && reqset_at(s, 10)->n_blocks == 3 && reqset_at(s, 10)->block[2] == 2 && reqset_block_tokens(s) == 512,
		"repeat keeps the hashes of prompts");
	reqset_free(s);
	ok(trace_kind_knows(TRACE_REQUESTS, "mooncake") && trace_kind_knows(TRACE_REQUESTS, "irina") &&
			!trace_kind_knows(TRACE_REQUESTS, "philly") && !trace_kind_knows(TRACE_REQUESTS, "auto") &&
			!trace_kind_knows(TRACE_REQUESTS, NULL),
		"formats of requests are distinguished from those of jobs");
}

/* ---- errors ---- */

static const char *error_of(const char *format, const char *text, const char *option)
{
	const char *options[] = { option, NULL };
	err = (struct orr_error){ 0 };
	struct trace *t = trace_open_memory("t", text, strlen(text), format, options, &err);
	struct reqset *s = t ? reqset_from(t, "t", &err) : NULL;
	if (s)
		err.text[0] = '\0';
	reqset_free(s);
	return err.text;
}

static void errors(void)
{
	static const struct {
		const char *format, *text, *option, *want;
	} wrong[] = {
		{ "azure-llm", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9,-1,10\n", NULL,
			"t:2: ContextTokens: expected a whole number from 0 to 100000000, found \"-1\"" },
		{ "azure-llm", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9,1,1000000000000000000\n", NULL,
			"t:2: GeneratedTokens: expected a whole number from 0 to 100000000, found \"1000000000000000000\"" },
		{ "azure-llm", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-29 18:17:03.9,1,1\n", NULL,
			"t:2: TIMESTAMP: expected a time from 1970 to 2199 such as 2023-11-16 18:17:03.9799600, found \"2023-02-29 "
			"18:17:03.9\"" },
		{ "azure-llm", "TIMESTAMP,ContextTokens\n", NULL,
			"t:1: expected a column \"GeneratedTokens\", found TIMESTAMP,ContextTokens" },
		{ "azure-llm", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9,1\n", NULL,
			"t:2: expected 3 fields, found 2" },
		{ "vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\nnan,1,1\n", NULL,
			"t:2: arrived_at: expected seconds from 0 to 4000000000, found \"nan\"" },
		{ "splitwise", "request_id,request_type,arrival_timestamp,batch_size,prompt_size,token_size\n0,1,0,1,1,1\n", NULL,
			"t:2: request_type: expected 2 (LLM inference), found \"1\"" },
		{ "splitwise", "request_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,0,0,1,1\n", NULL,
			"t:2: batch_size: expected a whole number from 1 to 100000000, found \"0\"" },
		{ "burstgpt", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n1,m,5,6,12,API log\n", NULL,
			"t:2: Total tokens: expected the sum of Request tokens and Response tokens, found \"12\"" },
		{ "burstgpt", "Timestamp,Model,Request tokens,Response tokens\n1,m,5,6\n", "log=api",
			"t:1: log=api: expected a column \"Log Type\"" },
		{ "requests", "arrival_s,promt_tokens\n0,1\n", NULL,
			"t:1: unknown column \"promt_tokens\": did you mean \"prompt_tokens\"?" },
		{ "requests", "arrival_s,output_tokens,max_output\n0,9,8\n", NULL,
			"t:2: max_output: expected 0 (unknown), or at least output_tokens, found \"8\"" },
		{ "requests", "arrival_s,prompt_tokens,blocks\n0,512,1 2\n", NULL,
			"t:2: blocks: expected at most one hash per block of the prompt (option block_tokens), found \"1 2\"" },
		{ "requests", "arrival_s,prompt_tokens,blocks\n0,512,1 \n", NULL,
			"t:2: blocks: expected a number after the last blank, found \"1 \"" },
		{ "requests", "arrival_s\n1\n", "repeat=2", "t: repeat: expected at least 2 requests, found 1" },
		{ "requests", "arrival_s\n0\n4e9\n", "repeat=2",
			"t: repeat=2: expected at most 1000000000 requests and 127 years in total" },
		{ "requests", "arrival_s\n1\n", "first=-1",
			"trace format requests: first: expected a number from 0 to 1000000000000, found \"-1\"" },
		{ "mooncake", "{\"timestamp\": 0, \"input_length\": 5}\n", NULL, "t:1: expected a field \"output_length\"" },
		{ "mooncake", "{\"timestamp\": NaN, \"input_length\": 5}\n", NULL,
			"t:1: timestamp: expected milliseconds from 0 to 4000000000000, found \"NaN, \"input_length\": 5}\"" },
		{ "mooncake", "{\"timestamp\": 0, \"input_length\": -5}\n", NULL,
			"t:1: input_length: expected a whole number from 0 to 100000000, found \"-5}\"" },
		{ "mooncake", "{\"timestamp\": 0, \"timestamp\": 0}\n", NULL, "t:1: timestamp: appears twice: expected it once" },
		{ "mooncake", "{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1, 2]}\n", NULL,
			"t:1: hash_ids: expected at most 1, the number of blocks of 512 tokens in input_length, found 2" },
		{ "mooncake", "{\"timestamp\": 0, \"hash_ids\": [1, 2.5]}\n", NULL,
			"t:1: hash_ids: expected a whole number from 0, found \"2.5]}\"" },
		{ "mooncake", "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1} x\n", NULL,
			"t:1: expected the end of the line, found \"x\"" },
		{ "mooncake", "{\"a\": {\"b\": [1, }\n", NULL, "t:1: a: expected a value, found nothing" },
		{ "mooncake", "[1]\n", NULL,
			"t:1: expected an object {\"timestamp\": .., \"input_length\": .., \"output_length\": ..}, found \"[1]\"" },
		{ "philly", "timestamp,duration,num_gpus\n", NULL,
			"t:1: format philly contains jobs: expected requests: 'orrery trace list' shows the formats of requests" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		same_text(error_of(wrong[i].format, wrong[i].text, wrong[i].option), wrong[i].want, wrong[i].want);
	same_text(error_of("requests", "arrival_s\n", NULL), "", "a trace without rows is valid");
	struct orr_trace_job job;
	struct trace *t = trace_open(fixture("vidur.csv"), NULL, NULL, &err);
	ok(trace_next(t, &job, &err) < 0 &&
			strstr(err.text, ":1: format vidur contains requests: expected jobs: 'orrery serve' replays it"),
		"a file of requests is refused as a trace of jobs");
	trace_close(t);
	const char *options[] = { "repeat=2", NULL };
	ok(!reqset_load("poisson:n=1", NULL, options, 1, &err) &&
			strstr(err.text, "option \"repeat=2\": expected a parameter of the generator"),
		"a generator has no options");
}

/* ---- whole traces ---- */

static const char *data(const char *name)
{
	static char path[1024];
	const char *traces = getenv("ORRERY_TRACE_PATH"), *all = getenv("ORRERY_DATA_PATH");
	snprintf(path, sizeof path, "%s%s/%s", traces ? traces : all ? all : ".", traces ? "" : "/traces", name);
	FILE *f = fopen(path, "rb");
	if (f)
		fclose(f);
	return f ? path : NULL;
}

static double fact(const struct trace_profile *p, const char *name)
{
	const struct trace_profile_fact *f;
	for (size_t i = 0; (f = trace_profile_get_fact(p, i)); i++)
		if (!strcmp(f->name, name))
			return f->number;
	return NAN;
}

struct whole {
	const char *file;
	struct {
		const char *name;
		double value;
	} want[8];
};

/* Compares with values counted in the files with Python; the tenth digit is rounded. */
static void whole_trace(const struct whole *w)
{
	const char *path = data(w->file);
	char what[256];
	if (!path) {
		snprintf(what, sizeof what, "no %s (set ORRERY_TRACE_PATH or ORRERY_DATA_PATH)", w->file);
		skip(what);
		return;
	}
	struct trace *t = trace_open(path, NULL, NULL, &err);
	struct trace_profile *p = trace_profile_new();
	ok(t && !trace_describe(t, p, &err), "%s is read %s", w->file, err.text);
	for (size_t i = 0; w->want[i].name; i++) {
		snprintf(what, sizeof what, "%s: %s is %.10g", w->file, w->want[i].name, w->want[i].value);
		near_to(fact(p, w->want[i].name), w->want[i].value, 1e-9, what);
	}
	trace_profile_free(p);
	trace_close(t);
}

static void whole_traces(void)
{
	static const struct whole all[] = {
		{ "azure_llm_2023/AzureLLMInferenceTrace_code.csv",
			{ { "requests", 8819 }, { "prompt tokens", 18059974 }, { "output tokens", 245896 }, { "span s", 3435.948056 },
				{ "distinct arrival times", 8819 }, { "coefficient of variation of gaps", 13.151290974 } } },
		{ "azure_llm_2023/AzureLLMInferenceTrace_conv.csv",
			{ { "requests", 19366 }, { "prompt tokens", 22361870 }, { "output tokens", 4088665 }, { "span s", 3501.721937 },
				{ "distinct arrival times", 19366 } } },
		{ "mooncake_conversation/conversation_trace.jsonl.gz",
			{ { "requests", 12031 }, { "prompt tokens", 144793823 }, { "output tokens", 4122048 },
				{ "block references", 288500 }, { "distinct blocks", 182790 }, { "distinct arrival times", 1180 },
				{ "share of references seen before", 0.3664124782322218 } } },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		whole_trace(&all[i]);
}

/* Tests spread rows. Ticks have 2.998 to 3.001 s. Rows stay in their tick, so the longest gap comes from a tick with one row or from
 * empty ticks. */
static void spread_trace(void)
{
	const char *path = data("mooncake_conversation/conversation_trace.jsonl.gz");
	if (!path) {
		skip("no Mooncake trace");
		return;
	}
	const char *options[] = { "spread=true", NULL };
	struct reqset *a = reqset_load(path, NULL, NULL, 1, &err), *b = reqset_load(path, NULL, options, 1, &err);
	uint64_t moved_back = 0, too_far = 0, ties = 0;
	for (uint64_t i = 0; i < reqset_count(b); i++) {
		int64_t shift = reqset_at(b, i)->arrival_ns - reqset_at(a, i)->arrival_ns;
		moved_back += shift < 0;
		too_far += shift >= 3 * ORR_SECOND;
		ties += i && reqset_at(b, i)->arrival_ns <= reqset_at(b, i - 1)->arrival_ns;
	}
	ok(reqset_count(b) == 12031 && !moved_back && !too_far && !ties,
		"spread: every row stays in its tick, in order, at a distinct time");
	reqset_free(a);
	reqset_free(b);
}

int main(void)
{
	formats();
	sets();
	errors();
	whole_traces();
	spread_trace();
	return done();
}
