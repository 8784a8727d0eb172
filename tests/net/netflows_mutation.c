/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * netflows_mutation.c - a damaged file of links or flows neither crashes orrery nor is accepted wrongly
 *
 * Each field of each line is replaced by hostile texts, lines are doubled and removed, files are truncated after every
 * byte. Each case must end with valid times or with an error that names file and line.
 */
#include "tests/tap.h"

#include "base/sbuf.h"
#include "net/netflows.h"

#include <ctype.h>

static const char links_text[] = "link,bandwidth_Bps,latency_s\n"
				 "up,1e9,1e-6\n"
				 "down,2000000000,0\n"
				 "slow,1000,0.5\n";

static const char flows_text[] = "id,step,src,dst,bytes,start_s,links\n"
				 "a,-1,h0,h1,1000,0.5,up;down\n"
				 "b,0,h0,h1,1e6,0,up;down\n"
				 "c,0,h1,h0,1e6,0,down\n"
				 "d,1,h0,h0,5,0,\n"
				 "e,1,h0,h2,2000,0,up;slow\n";

static const char *const hostile[] = { "", "-1", "-2", "-0", "nan", "inf", "-inf", "1e400", "1e-400", "1e308", "1e18", "1e-300",
	"9223372036854775807", "9223372036854775808", "4294967296", "0x10", "1.5", " 1", "1 ", "+1", "1,1", "1e", ".", "-", "\"", "\"a",
	"a\"b", "\"\"", "\xff\xfe", "a\tb", "a\nb", "%s%n", "up", "up;", ";up", "up;;down", "up;up", "nowhere", "up;nowhere", "b", "2",
	"h9" };
enum { N_HOSTILE = sizeof hostile / sizeof *hostile };

static unsigned long cases, accepted, refused, insane, unnamed, wrong_code;

/* Matches "links.csv:LINE: text" or "flows.csv:LINE: text" */
static bool names_its_place(const char *text)
{
	if (strncmp(text, "links.csv:", 10) && strncmp(text, "flows.csv:", 10))
		return false;
	const char *s = text + 10 + strspn(text + 10, "0123456789");
	return isdigit((unsigned char)text[10]) && s[0] == ':' && s[1] == ' ' && s[2];
}

static void run_accepted(struct netflows *n)
{
	struct netflows_options o = { .fairness = accepted % 2 ? FLOW_RTT_WEIGHTED : FLOW_MAX_MIN, .is_checked = true };
	struct orr_error err = { 0 };
	struct netflows_row row;
	int rc = netflows_run(n, &o, &err);
	insane += rc && !strstr(err.text, "never end");
	for (uint32_t i = 0; !rc && i < netflows_count(n); i++) {
		netflows_get(n, i, &row);
		insane += !(row.start_s >= 0 && row.finish_s >= row.start_s && isfinite(row.finish_s) && row.bytes >= 0);
	}
}

static void parse(const char *links, size_t n_links, const char *flows, size_t n_flows)
{
	struct orr_error err = { 0 };
	struct lines *l = lines_open_memory("links.csv", links, n_links), *f = lines_open_memory("flows.csv", flows, n_flows);
	struct netflows *n = netflows_read(l, f, &err);
	cases++;
	if (n) {
		accepted++;
		run_accepted(n);
	} else {
		refused++;
		wrong_code += err.code != ORR_EINPUT;
		if (!names_its_place(err.text)) {
			unnamed++;
			printf("# %s\n", err.text);
		}
	}
	netflows_free(n);
	lines_close(l);
	lines_close(f);
}

static void parse_text(bool is_links, const char *text, size_t n)
{
	if (is_links)
		parse(text, n, flows_text, strlen(flows_text));
	else
		parse(links_text, strlen(links_text), text, n);
}

static void replace_fields(bool is_links, const char *text)
{
	struct sbuf b = { 0 };
	for (const char *s = text; *s; s++) {
		const char *end = s + strcspn(s, ",\n");
		for (int i = 0; i < N_HOSTILE; i++) {
			sbuf_clear(&b);
			sbuf_add(&b, text, (size_t)(s - text));
			sbuf_puts(&b, hostile[i]);
			sbuf_puts(&b, end);
			parse_text(is_links, b.text, b.len);
		}
		s = end;
	}
	sbuf_free(&b);
}

static void damage_lines(bool is_links, const char *text)
{
	struct sbuf b = { 0 };
	for (const char *s = text; *s; s += strcspn(s, "\n") + 1) {
		size_t n = strcspn(s, "\n") + 1;
		for (int twice = 0; twice < 2; twice++) {
			sbuf_clear(&b);
			sbuf_add(&b, text, (size_t)(s - text));
			for (int k = 0; k < 2 * twice; k++)
				sbuf_add(&b, s, n);
			sbuf_puts(&b, s + n);
			parse_text(is_links, sbuf_text(&b), b.len);
		}
	}
	for (size_t i = 0; text[i]; i++)
		parse_text(is_links, text, i);
	sbuf_free(&b);
}

int main(void)
{
	parse(links_text, strlen(links_text), flows_text, strlen(flows_text));
	ok(accepted == 1 && !insane, "the unchanged files run");
	for (int is_links = 0; is_links < 2; is_links++) {
		replace_fields(is_links, is_links ? links_text : flows_text);
		damage_lines(is_links, is_links ? links_text : flows_text);
	}
	printf("# %lu cases, %lu accepted, %lu refused\n", cases, accepted, refused);
	ok(cases > 2000 && refused > cases / 2 && accepted > cases / 20, "most damaged files are refused, some are still valid");
	ok(!insane, "every accepted file runs, fair at every instant, or the error names flows that never end (%lu do not)", insane);
	ok(!unnamed, "every error names file and line (%lu do not)", unnamed);
	ok(!wrong_code, "every error is an input error");
	return done();
}
