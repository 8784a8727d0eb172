/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_mooncake.c - Mooncake's traces of Kimi (Qin et al., FAST 2025), and Alibaba's traces of Bailian
 *
 * JSON lines: {"timestamp": ms, "input_length": tokens, "output_length": tokens, "hash_ids": [..]}. A hash identifies a
 * block of 512 tokens and all blocks before it, so equal leading hashes are a reusable prefix. There is at most one hash
 * per block of the prompt; tokens after the last hash are not reusable.
 *
 * Arrivals were recorded about every 3 s, with one timestamp per tick. spread=true distributes the n rows of a tick evenly
 * over the time to the next tick, at most `tick`, in file order: row k at t + k/n of that time. This is not in the paper.
 *
 * Bailian (Alibaba's qwen-bailian-usagetraces) has the same fields, but seconds and blocks of 16 tokens, and also "chat_id" and
 * "parent_chat_id" (-1: the first turn). A session is the first turn with all turns that follow from it.
 */
#include "traces/req_format.h"

#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_BOOL(
		"spread", false, "distribute the rows of a timestamp evenly until the next timestamp: arrivals were recorded every 3 s"),
	ORR_PARAM_TIME("tick", "3s", "longest time over which spread distributes rows"),
	ORR_PARAM_INT("block_tokens", "512", 1, REQUEST_MAX_TOKENS, "tokens per block, for hash_ids"), REQUEST_PARAMS, ORR_PARAM_END
};

struct mooncake {
	struct lines *in;
	bool is_spread;
	int64_t tick_ns;
	uint32_t block_tokens;
	uint64_t *block;
	size_t cap;
	/* Unread rest of the current line. */
	char *s, *end;
	int n_fields;
	/* Bailian: session of each chat, by number of the text of its chat_id. */
	struct strtab *chats;
	uint64_t *session;
	size_t n_sessions;
	int64_t chat, parent;
	unsigned seen; /* fields seen so far, a bit per field */
	struct req_row *row;
	struct orr_error *err;
};

/* The last two are those of Bailian alone. */
enum { FIELD_TIMESTAMP, FIELD_INPUT, FIELD_OUTPUT, FIELD_HASHES, N_FIELDS, FIELD_CHAT = N_FIELDS, FIELD_PARENT, N_BAILIAN };
static const char *const field_name[] = { "timestamp", "input_length", "output_length", "hash_ids", "chat_id", "parent_chat_id", NULL };

static bool sniff(const struct trace_head *head)
{
	return *head->line == '{' && strstr(head->line, "\"input_length\"");
}

static void *open_mooncake(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	struct mooncake *m = mem_zalloc(1, sizeof *m);
	m->in = in;
	m->n_fields = N_FIELDS;
	m->is_spread = orr_arg_bool(args, "spread");
	m->tick_ns = orr_arg_time_ns(args, "tick");
	m->block_tokens = (uint32_t)orr_arg_int(args, "block_tokens");
	return m;
}

/* ---- the JSON of a line ---- */

static void skip_blanks(struct mooncake *m)
{
	while (m->s < m->end && (*m->s == ' ' || *m->s == '\t'))
		m->s++;
}

static int refuse(struct mooncake *m, const char *field, const char *expected)
{
	skip_blanks(m);
	size_t left = (size_t)(m->end - m->s);
	return lines_fail(m->in, m->err, "%s%sexpected %s, found %s%.*s%s", field ? field : "", field ? ": " : "", expected,
		left ? "\"" : "nothing", left > 40 ? 40 : (int)left, m->s,
		left > 40 ? "...\""
		: left    ? "\""
			  : "");
}

static bool take(struct mooncake *m, char c)
{
	skip_blanks(m);
	if (m->s == m->end || *m->s != c)
		return false;
	m->s++;
	return true;
}

/* Returns the raw text between the quotes of a string; NULL: no string. */
static const char *take_string(struct mooncake *m, size_t *n)
{
	if (!take(m, '"'))
		return NULL;
	const char *text = m->s;
	while (m->s < m->end && *m->s != '"')
		m->s += *m->s == '\\' ? 2 : 1;
	if (m->s >= m->end) {
		m->s = m->end;
		return NULL;
	}
	*n = (size_t)(m->s++ - text);
	return text;
}

/* Returns the length of a number or word. */
static size_t take_word(struct mooncake *m, const char **text)
{
	skip_blanks(m);
	*text = m->s;
	while (m->s < m->end && !strchr(",]}[{:\" \t", *m->s))
		m->s++;
	return (size_t)(m->s - *text);
}

/* Skips an unused value. Counts nesting levels instead of recursing. */
static int skip_value(struct mooncake *m, const char *key, size_t length)
{
	size_t depth = 0, n;
	const char *text;
	char name[48];
	snprintf(name, sizeof name, "%.*s", (int)(length < 40 ? length : 40), key);
	do {
		if (take(m, '{') || take(m, '['))
			depth++;
		else if (depth && (take(m, '}') || take(m, ']')))
			depth--;
		else if (depth && (take(m, ',') || take(m, ':')))
			;
		else if (!take_string(m, &n) && !take_word(m, &text))
			return refuse(m, name, "a value");
	} while (depth);
	return ORR_OK;
}

/* ---- the fields ---- */

static int read_number(struct mooncake *m, int field)
{
	const char *text;
	char *start = m->s;
	size_t n = take_word(m, &text);
	double v;
	bool is_number = num_real(text, n, &v);
	if (field == FIELD_TIMESTAMP && m->n_fields == N_BAILIAN) {
		if (num_seconds_ns(text, n, &m->row->arrival_ns) && v >= 0 && v <= TRACE_MAX_SECONDS)
			return ORR_OK;
		m->s = start;
		return refuse(m, field_name[field], "seconds from 0 to 4000000000");
	}
	if (field >= FIELD_CHAT) {
		if (num_int(text, n, field == FIELD_CHAT ? &m->chat : &m->parent) && v >= (field == FIELD_CHAT ? 0 : -1) &&
			v < REQUEST_MAX_SESSION)
			return ORR_OK;
		m->s = start;
		return refuse(m, field_name[field], "a whole number below 1000000000000, or -1 for no parent");
	}
	if (field == FIELD_TIMESTAMP) {
		if (is_number && v >= 0 && v <= TRACE_MAX_SECONDS * 1e3) {
			int64_t whole;
			m->row->arrival_ns = num_int(text, n, &whole) ? whole * 1000000 : (int64_t)llround(v * 1e6);
			return ORR_OK;
		}
		m->s = start;
		return refuse(m, field_name[field], "milliseconds from 0 to 4000000000000");
	}
	if (is_number && v >= 0 && v <= REQUEST_MAX_TOKENS && floor(v) == v) {
		*(field == FIELD_INPUT ? &m->row->prompt_tokens : &m->row->output_tokens) = (uint32_t)v;
		return ORR_OK;
	}
	m->s = start;
	return refuse(m, field_name[field], "a whole number from 0 to 100000000");
}

static int read_hashes(struct mooncake *m)
{
	size_t n = 0;
	if (!take(m, '['))
		return refuse(m, field_name[FIELD_HASHES], "a list of whole numbers");
	bool is_empty = take(m, ']');
	if (!is_empty)
		do {
			const char *text;
			char *start = m->s;
			int64_t v;
			size_t length = take_word(m, &text);
			if (!num_int(text, length, &v) || v < 0) {
				m->s = start;
				return refuse(m, field_name[FIELD_HASHES], "a whole number from 0");
			}
			if (n == REQUEST_MAX_BLOCKS)
				return lines_fail(m->in, m->err, "hash_ids: expected at most %d", REQUEST_MAX_BLOCKS);
			MEM_GROW(m->block, n, m->cap);
			m->block[n++] = (uint64_t)v;
		} while (take(m, ','));
	if (!is_empty && !take(m, ']'))
		return refuse(m, field_name[FIELD_HASHES], "',' or ']'");
	m->row->block = m->block;
	m->row->n_blocks = (uint32_t)n;
	return ORR_OK;
}

static int read_member(struct mooncake *m)
{
	size_t n;
	const char *key = take_string(m, &n);
	if (!key)
		return refuse(m, NULL, "the name of a field in quotes");
	if (!take(m, ':'))
		return refuse(m, NULL, "':' after the name of a field");
	int field = 0;
	while (field < m->n_fields && (strlen(field_name[field]) != n || memcmp(key, field_name[field], n)))
		field++;
	if (field == m->n_fields)
		return skip_value(m, key, n);
	if (m->seen & 1U << field)
		return lines_fail(m->in, m->err, "%s: appears twice: expected it once", field_name[field]);
	m->seen |= 1U << field;
	return field == FIELD_HASHES ? read_hashes(m) : read_number(m, field);
}

static int read_line(struct mooncake *m)
{
	if (!take(m, '{'))
		return refuse(m, NULL, "an object {\"timestamp\": .., \"input_length\": .., \"output_length\": ..}");
	if (!take(m, '}')) {
		do {
			int rc = read_member(m);
			if (rc)
				return rc;
		} while (take(m, ','));
		if (!take(m, '}'))
			return refuse(m, NULL, "',' or '}'");
	}
	skip_blanks(m);
	if (m->s != m->end)
		return refuse(m, NULL, "the end of the line");
	for (int i = 0; i <= FIELD_OUTPUT; i++)
		if (!(m->seen & 1U << i))
			return lines_fail(m->in, m->err, "expected a field \"%s\"", field_name[i]);
	uint64_t most = ((uint64_t)m->row->prompt_tokens + m->block_tokens - 1) / m->block_tokens;
	if (m->row->n_blocks > most)
		return lines_fail(m->in, m->err,
			"hash_ids: expected at most %llu, the number of blocks of %u tokens in input_length, found %u",
			(unsigned long long)most, m->block_tokens, m->row->n_blocks);
	return ORR_OK;
}

/* Returns the place of the session of a chat. */
static uint64_t *session_of(struct mooncake *m, int64_t chat)
{
	char text[24];
	int n = snprintf(text, sizeof text, "%lld", (long long)chat);
	uint32_t number = strtab_add(m->chats, text, (size_t)n);
	if (number >= m->n_sessions) {
		size_t cap = 2 * (size_t)number + 64;
		m->session = mem_realloc(m->session, cap, sizeof *m->session);
		memset(m->session + m->n_sessions, 0, (cap - m->n_sessions) * sizeof *m->session);
		m->n_sessions = cap;
	}
	return &m->session[number];
}

/* A session has the number of its first chat plus 1. The parent of a chat may be older than the trace. */
static void set_session(struct mooncake *m)
{
	uint64_t session = (uint64_t)(m->parent < 0 ? m->chat : m->parent) + 1;
	if (m->parent >= 0) {
		uint64_t *of_parent = session_of(m, m->parent);
		*of_parent = *of_parent ? *of_parent : session;
		session = *of_parent;
	}
	*session_of(m, m->chat) = session;
	m->row->session = session;
}

static int next_mooncake(void *state, struct req_row *row, struct orr_error *err)
{
	struct mooncake *m = state;
	size_t n;
	do {
		int rc = lines_next(m->in, &m->s, &n, err);
		if (rc <= 0)
			return rc;
		m->end = m->s + n;
		skip_blanks(m);
	} while (m->s == m->end);
	m->row = row;
	m->parent = -1;
	m->err = err;
	m->seen = 0;
	if (read_line(m))
		return -1;
	if (m->n_fields == N_BAILIAN && !(m->seen & 1U << FIELD_CHAT)) {
		lines_fail(m->in, err, "expected a field \"chat_id\"");
		return -1;
	}
	if (m->n_fields == N_BAILIAN)
		set_session(m);
	return 1;
}

/* ---- ticks ---- */

static void spread(const void *state, struct request_rec *row, uint64_t n)
{
	const struct mooncake *m = state;
	if (!m->is_spread)
		return;
	for (uint64_t first = 0, next; first < n; first = next) {
		int64_t at = row[first].arrival_ns, room = m->tick_ns;
		for (next = first + 1; next < n && row[next].arrival_ns == at; next++)
			;
		if (next < n && row[next].arrival_ns - at < room)
			room = row[next].arrival_ns - at;
		__extension__ typedef __int128 wide;
		for (uint64_t k = 0; k < next - first; k++)
			row[first + k].arrival_ns = at + (int64_t)((wide)room * (int64_t)k / (int64_t)(next - first));
	}
}

static uint32_t block_tokens(const void *state)
{
	return ((const struct mooncake *)state)->block_tokens;
}

static void close_mooncake(void *state)
{
	struct mooncake *m = state;
	strtab_free(m->chats);
	mem_free(m->session);
	mem_free(m->block);
	mem_free(m);
}

const struct trace_format format_mooncake = {
	.kind = TRACE_REQUESTS,
	.name = "mooncake",
	.doc = "Mooncake's JSON lines: timestamp (ms), input_length, output_length, hash_ids of 512-token blocks",
	.params = params,
	.sniff = sniff,
	.open = open_mooncake,
	.request = next_mooncake,
	.block_tokens = block_tokens,
	.arrange = spread,
	.close = close_mooncake,
};

/* ---- Bailian ---- */

static const struct orr_param bailian_params[] = {
	ORR_PARAM_INT("block_tokens", "16", 1, REQUEST_MAX_TOKENS, "tokens per block, for hash_ids"), REQUEST_PARAMS, ORR_PARAM_END
};

static bool sniff_bailian(const struct trace_head *head)
{
	return sniff(head) && strstr(head->line, "\"chat_id\"");
}

static void *open_bailian(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	struct mooncake *m = mem_zalloc(1, sizeof *m);
	m->in = in;
	m->n_fields = N_BAILIAN;
	m->chats = strtab_new();
	m->block_tokens = (uint32_t)orr_arg_int(args, "block_tokens");
	return m;
}

const struct trace_format format_bailian = {
	.kind = TRACE_REQUESTS,
	.name = "bailian",
	.doc = "Alibaba Bailian's JSON lines: as mooncake, with seconds, blocks of 16 tokens, chat_id and parent_chat_id",
	.params = bailian_params,
	.sniff = sniff_bailian,
	.open = open_bailian,
	.request = next_mooncake,
	.block_tokens = block_tokens,
	.close = close_mooncake,
};
