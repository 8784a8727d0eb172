/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * served_mutation.c - a damaged file of a served model neither crashes orrery nor is accepted silently
 *
 * The base files together contain every key. Each token is replaced by hostile tokens and by tokens of the same file, removed, and
 * doubled. Files are truncated after every byte. Each case ends in an input error that names the file and the JSON path (or line and
 * column), or in a model whose times are above 0.
 */
#include "hwmodel/served.h"

#include "tests/mutate.h"
#include "tests/tap.h"

#include <ctype.h>
#include <stdlib.h>

static const char *const files[] = { "{\"name\":\"t\",\"title\":\"a table\",\"source\":\"made "
				     "up\",\"kind\":\"table\",\"exit_points\":12,\"load_ms\":3,\"weight_bytes\":1e9,"
				     "\"slo_ms\":200,\"between\":\"linear\",\"noise\":\"exponential\",\"batch\":[1,2,9],\"length\":[10,20],"
				     "\"latency_ms\":[[1,2,3],[2,3,4.5]],"
				     "\"memory_unit_bytes\":1000,\"memory\":[5,{\"before\":1,\"peak\":7,\"peak_from_ms\":0.5},9],"
				     "\"utilisation\":0.5,\"occupancy\":0.25}",
	"{\"name\":\"c\",\"source\":\"made "
	"up\",\"kind\":\"llm\",\"load_ms\":3,\"slo_ms\":200,\"weight_bytes\":1e9,\"kv_bytes_per_token\":100,"
	"\"longest\":4096,\"closed\":{\"constant_ms\":5,\"token_ms\":0.05,\"context_ms\":1e-4,\"pair_ms\":1e-6}}",
	"{\"name\":\"v\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1e9,\"kv_bytes_per_token\":100,\"curves\":{"
	"\"prompt_tokens\":[1,10,100],\"prompt_s\":[0.1,0.2,0.5],\"decodes\":[1,8],\"decode_s\":[0.01,0.02],\"mixed_factor\":1.1}}",
	"{\"name\":\"l\",\"source\":\"made "
	"up\",\"kind\":\"llm\",\"longest\":2048,\"layers\":{\"dnn\":\"llama:hidden=64,layers=2,heads=4,seq=32,vocab=100\","
	"\"bytes_per_element\":2,\"overhead_ms\":1,\"attention_efficiency\":0.5}}" };

static struct device *device;
static unsigned long cases, accepted, refused, insane, unnamed, wrong_code;

/* Matches "in: $..: text" or "in:LINE:COLUMN: text" */
static bool names_its_place(const char *text)
{
	if (!strncmp(text, "in: $", 5))
		return strchr(text + 5, ':') != NULL;
	const char *s = text + 3 + strspn(text + 3, "0123456789");
	return !strncmp(text, "in:", 3) && isdigit((unsigned char)text[3]) && s[0] == ':' && isdigit((unsigned char)s[1]);
}

static bool is_time(double s)
{
	return s > 0 && isfinite(s);
}

static bool table_is_sane(const struct served *m)
{
	bool is_good = m->n_batches > 0 && m->n_batches <= SERVED_MAX_BATCHES && m->n_lengths <= SERVED_MAX_LENGTHS;
	for (uint32_t i = 0; is_good && i < m->n_batches; i++) {
		struct served_memory x = served_memory_of(m, m->batch[i]);
		is_good = is_time(served_latency(m, m->batch[i], m->n_lengths ? m->length[m->n_lengths - 1] : 0)) && x.peak >= x.before &&
			  x.before >= 0;
	}
	return is_good && served_batch_for(m, m->batch[0]) == m->batch[0];
}

static bool llm_is_sane(const struct served *m)
{
	struct orr_error e = { 0 };
	struct served_place p = { .device = device, .tp = 2, .pp = 1, .precision = PRECISION_FP16, .tp_Bps = 1e11 };
	struct served_on *x = served_on_new(m, &p, &e);
	if (!x)
		return strstr(e.text, "cannot be split") != NULL;
	struct llm_load w[] = { { .decodes = 3, .decode_context = 70 }, { .prompts = 1, .prompt_tokens = 9, .prompt_pairs = 90 },
		{ 3, 1, 9, 70, 90 } };
	bool is_good = served_kv_tokens(x, 0.9) >= 0;
	for (int i = 0; i < 3; i++)
		is_good &= is_time(served_iteration(x, &w[i]));
	served_on_free(x);
	return is_good;
}

static void parse(const char *text, size_t n)
{
	struct orr_error e = { 0 };
	struct served *m = served_parse("in", text, n, &e);
	bool is_good = !m || (m->kind == SERVED_TABLE ? table_is_sane(m) : llm_is_sane(m));
	cases++;
	accepted += m != NULL;
	refused += !m;
	insane += !is_good;
	wrong_code += !m && e.code != ORR_EINPUT;
	if (!is_good)
		printf("# insane: %.*s\n", (int)n, text);
	if (!m && !names_its_place(e.text)) {
		unnamed++;
		printf("# %s\n", e.text);
	}
	served_free(m);
}

int main(void)
{
	struct orr_error e = { 0 };
	device = device_load("a100-80g", &e);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		unsigned long before = accepted;
		parse(files[i], strlen(files[i]));
		ok(accepted == before + 1 && !insane, "file %zu as it is", i);
		mutate(files[i], parse);
	}
	printf("# %lu cases, %lu accepted, %lu refused\n", cases, accepted, refused);
	ok(cases > 5000 && refused > cases / 2 && accepted > cases / 200, "most damaged files are refused, some are still valid");
	ok(!insane, "accepted files give times above 0 (%lu do not)", insane);
	ok(!unnamed, "every error names its place (%lu do not)", unnamed);
	ok(!wrong_code, "every error has the code of an input error");
	device_free(device);
	return done();
}
