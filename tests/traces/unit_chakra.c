/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reader of Chakra execution traces (traces/chakra.h), from bytes written by hand after protobuf's encoding and from its own writer.
 * Each hostile input gives an error that names file, rank and node or record.
 */
#include "tests/tap.h"
#include "traces/chakra.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define TEXT(s)                  \
	(struct chakra_text)     \
	{                        \
		s, sizeof(s) - 1 \
	}

/* A file of bytes: length, then the message; the head is an empty GlobalMetadata. */
static struct sbuf file_of(const char *bytes, size_t n)
{
	struct sbuf b = { 0 };
	sbuf_putc(&b, 0);
	sbuf_putc(&b, (char)n);
	sbuf_add(&b, bytes, n);
	return b;
}

static struct chakra *read_bytes(const struct sbuf *b, struct orr_error *err)
{
	*err = (struct orr_error){ 0 };
	return chakra_from_memory("t.0.et", sbuf_text(b), b->len, 0, 4, err);
}

static void fails(const struct sbuf *b, const char *want, const char *what)
{
	struct orr_error err;
	struct chakra *c = read_bytes(b, &err);
	bool good = !c && err.code == ORR_EINPUT && strstr(err.text, want);
	if (!good)
		printf("# got \"%s\"\n", err.text);
	ok(good, "%s: %s", what, want);
	chakra_free(c);
}

/* ---- the wire format ---- */

/* Each type of attribute, by its field number and bytes (schema 1.0; protobuf encoding). */
static void attributes(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum chakra_value kind;
		double value;
		const char *what;
	} cases[] = {
		{ "\x19\0\0\0\0\0\0\xf8\x3f", 9, CHAKRA_REAL, 1.5, "double 1.5" },
		{ "\x2d\0\0\xc0\xbf", 5, CHAKRA_REAL, -1.5, "float -1.5" },
		{ "\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, CHAKRA_SIGNED, -1, "int32 -1" },
		{ "\x48\x80\x80\x40", 4, CHAKRA_SIGNED, 1048576, "int64 2^20" },
		{ "\x58\x96\x01", 3, CHAKRA_UNSIGNED, 150, "uint32 150" },
		{ "\x68\x96\x01", 3, CHAKRA_UNSIGNED, 150, "uint64 150" },
		{ "\x78\x03", 2, CHAKRA_SIGNED, -2, "sint32 -2, zigzag" },
		{ "\x88\x01\x04", 3, CHAKRA_SIGNED, 2, "sint64 2, zigzag" },
		{ "\x9d\x01\x07\0\0\0", 6, CHAKRA_UNSIGNED, 7, "fixed32 7" },
		{ "\xa9\x01\x07\0\0\0\0\0\0\0", 10, CHAKRA_UNSIGNED, 7, "fixed64 7" },
		{ "\xbd\x01\xf9\xff\xff\xff", 6, CHAKRA_SIGNED, -7, "sfixed32 -7" },
		{ "\xc9\x01\xf9\xff\xff\xff\xff\xff\xff\xff", 10, CHAKRA_SIGNED, -7, "sfixed64 -7" },
		{ "\xd8\x01\x01", 3, CHAKRA_BOOL, 1, "bool" },
		{ "\xea\x01\x02hi", 5, CHAKRA_TEXT, 2, "string" },
		{ "\x52\x02\x0a\x00", 4, CHAKRA_LIST, 2, "a list" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sbuf a = { 0 };
		struct orr_error err = { 0 };
		const struct chakra_record *r = NULL;
		sbuf_puts(&a, "\x52");
		sbuf_putc(&a, (char)(cases[i].n + 3));
		sbuf_add(&a, "\x0a\x01q", 3);
		sbuf_add(&a, cases[i].bytes, cases[i].n);
		struct sbuf b = file_of(a.text, a.len);
		struct chakra_file *f = chakra_open_memory("t", b.text, b.len, 0, &err);
		bool good = f && chakra_next(f, &r, &err) == 1 && r->n_attributes == 1 && r->attribute[0].kind == cases[i].kind;
		double v = !good                              ? 0
			   : cases[i].kind == CHAKRA_REAL     ? r->attribute[0].real
			   : cases[i].kind == CHAKRA_SIGNED   ? (double)r->attribute[0].i
			   : cases[i].kind == CHAKRA_UNSIGNED ? (double)r->attribute[0].u
			   : cases[i].kind == CHAKRA_BOOL     ? (double)r->attribute[0].u
							      : (double)r->attribute[0].text.n;
		ok(good && fabs(v - cases[i].value) < 1e-12, "attribute %s (%s)", cases[i].what, err.text);
		chakra_close(f);
		sbuf_free(&a);
		sbuf_free(&b);
	}
}

/* id 300, type 4; dependencies 1 and 2 packed, 3 alone; an unknown varint, fixed and text field; duration 5. */
static void fields(void)
{
	static const char bytes[] =
		"\x08\xac\x02\x18\x04\x22\x02\x01\x02\x20\x03\x2a\x01\x09\xf8\x06\x01\xfd\x06\x01\x02\x03\x04\xfa\x06\x01x\x38\x05";
	struct sbuf b = file_of(bytes, sizeof bytes - 1);
	struct orr_error err = { 0 };
	const struct chakra_record *r = NULL;
	struct chakra_file *f = chakra_open_memory("t", b.text, b.len, 0, &err);
	bool good = f && chakra_next(f, &r, &err) == 1;
	ok(good && r->id == 300 && r->type == CHAKRA_COMPUTE && r->duration_us == 5, "id, type, duration beside unknown fields (%s)",
		err.text);
	ok(good && r->n_ctrl == 3 && r->ctrl[0] == 1 && r->ctrl[1] == 2 && r->ctrl[2] == 3 && r->n_data == 1 && r->data[0] == 9,
		"packed and single dependencies");
	ok(good && !chakra_next(f, &r, &err), "the end of the file");
	chakra_close(f);
	sbuf_free(&b);
}

/* ---- traces from the writer ---- */

static void put(struct sbuf *b, uint64_t id, enum chakra_type type, uint64_t us, const uint64_t *dep, size_t n)
{
	struct chakra_attribute a = { .name = TEXT("is_cpu_op"), .kind = CHAKRA_BOOL };
	struct chakra_record r = { .id = id,
		.type = type,
		.duration_us = us,
		.data = (uint64_t *)(uintptr_t)dep,
		.n_data = n,
		.name = TEXT("x"),
		.attribute = &a,
		.n_attributes = 1 };
	chakra_put_node(b, &r);
}
#define PUT(b, id, type, ...) put(b, id, type, 1, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static void put_with(struct sbuf *b, uint64_t id, enum chakra_type type, struct chakra_attribute *a, size_t n)
{
	struct chakra_record r = { .id = id, .type = type, .attribute = a, .n_attributes = n };
	chakra_put_node(b, &r);
}

static void sorted(void)
{
	struct sbuf b = { 0 };
	struct orr_error err;
	chakra_put_head(&b);
	PUT(&b, 7, CHAKRA_COMPUTE, 2, 5);
	PUT(&b, 2, CHAKRA_COMPUTE, 5);
	put(&b, 5, CHAKRA_COMPUTE, 4, NULL, 0);
	struct chakra *c = read_bytes(&b, &err);
	const struct chakra_rank *k = c ? &c->rank[0] : NULL;
	ok(c && k->n == 3 && k->node[0].id == 2 && k->node[1].id == 5 && k->node[2].id == 7, "nodes are sorted by id (%s)", err.text);
	ok(c && k->node[1].first_child + 2 == k->node[2].first_child &&
			k->child[k->node[1].first_child] + k->child[k->node[1].first_child + 1] == 2,
		"node 5 has the children 2 and 7");
	ok(c && k->node[2].waits == 2 && k->node[1].duration_ns == 4000 && c->nodes == 3, "node 7 waits for two");
	chakra_free(c);
	sbuf_free(&b);
	chakra_put_head(&b);
	PUT(&b, 1, CHAKRA_COMPUTE, UINT64_C(1) << 60);
	put(&b, UINT64_C(1) << 60, CHAKRA_COMPUTE, 4, NULL, 0);
	c = read_bytes(&b, &err);
	ok(c && c->rank[0].node[0].waits == 1, "ids far apart (%s)", err.text);
	chakra_free(c);
	sbuf_free(&b);
}

static void graphs(void)
{
	struct sbuf b = { 0 };
	chakra_put_head(&b);
	PUT(&b, 1, CHAKRA_COMPUTE, 3);
	PUT(&b, 2, CHAKRA_COMPUTE, 1);
	PUT(&b, 3, CHAKRA_COMPUTE, 2);
	PUT(&b, 4, CHAKRA_COMPUTE, 3);
	fails(&b, "t.0.et: rank 0: node 1: waits for node 3, which waits for node 2, which waits for node 1",
		"a cycle behind which a node waits");
	sbuf_free(&b);
	chakra_put_head(&b);
	PUT(&b, 1, CHAKRA_COMPUTE, 1);
	fails(&b, "node 1: waits for node 1", "a node that waits for itself");
	sbuf_free(&b);
	chakra_put_head(&b);
	PUT(&b, 1, CHAKRA_COMPUTE, 9);
	fails(&b, "t.0.et: rank 0: node 1: waits for node 9, which the file lacks", "a missing dependency");
	sbuf_free(&b);
	chakra_put_head(&b);
	put(&b, 1, CHAKRA_COMPUTE, 1, NULL, 0);
	put(&b, 1, CHAKRA_COMPUTE, 1, NULL, 0);
	fails(&b, "node 1: the file has two nodes of this id", "an id twice");
	sbuf_free(&b);
	chakra_put_head(&b);
	put(&b, 6, (enum chakra_type)9, 1, NULL, 0);
	fails(&b, "t.0.et: rank 0: node 6 (record 1): type 9: expected 0 to 7", "an unknown type");
	sbuf_free(&b);
	chakra_put_head(&b);
	put(&b, 6, CHAKRA_COMPUTE, UINT64_C(1) << 50, NULL, 0);
	fails(&b, "node 6: duration_micros: expected at most 1000000000000", "a duration of 35 years");
	sbuf_free(&b);
}

static void communication(void)
{
	struct chakra_attribute a[4] = { { .name = TEXT("comm_dst"), .kind = CHAKRA_SIGNED, .i = 1 },
		{ .name = TEXT("comm_size"), .kind = CHAKRA_SIGNED, .i = 10 }, { .name = TEXT("comm_src"), .kind = CHAKRA_SIGNED, .i = 0 },
		{ .name = TEXT("comm_tag"), .kind = CHAKRA_UNSIGNED, .u = 3 } };
	struct sbuf b = { 0 };
	struct orr_error err;
	chakra_put_head(&b);
	put_with(&b, 4, CHAKRA_SEND, a, 4);
	struct chakra *c = read_bytes(&b, &err);
	const struct chakra_node *v = c ? c->rank[0].node : NULL;
	ok(c && v->peer == 1 && v->bytes == 10 && v->tag == 3 && v->type == CHAKRA_SEND, "a send (%s)", err.text);
	chakra_free(c);
	sbuf_free(&b);
	static const struct {
		int field;
		int64_t value;
		enum chakra_value kind;
		enum chakra_type type;
		const char *want;
	} wrong[] = {
		{ 0, 4, CHAKRA_SIGNED, CHAKRA_SEND, "node 4: comm_dst: expected at most 3, found 4" },
		{ 0, 0, CHAKRA_SIGNED, CHAKRA_SEND, "node 4: comm_dst: expected another rank" },
		{ 1, -1, CHAKRA_SIGNED, CHAKRA_SEND, "node 4: comm_size: expected at least 0, found -1" },
		{ 1, INT64_MAX, CHAKRA_SIGNED, CHAKRA_SEND, "node 4: comm_size: expected at most 9007199254740992" },
		{ 1, 1, CHAKRA_REAL, CHAKRA_SEND, "node 4: comm_size: expected an integer" },
		{ 2, 2, CHAKRA_SIGNED, CHAKRA_SEND, "node 4: comm_src: expected 0, the rank of the file, found 2" },
		{ 2, 0, CHAKRA_SIGNED, CHAKRA_COLLECTIVE, "node 4: a collective without comm_type" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct chakra_attribute w[4];
		memcpy(w, a, sizeof w);
		w[wrong[i].field].i = wrong[i].value;
		w[wrong[i].field].kind = wrong[i].kind;
		chakra_put_head(&b);
		put_with(&b, 4, wrong[i].type, w, 4);
		fails(&b, wrong[i].want, "communication");
		sbuf_free(&b);
	}
	chakra_put_head(&b);
	put_with(&b, 4, CHAKRA_SEND, a + 1, 1);
	fails(&b, "node 4: a send without comm_dst", "a send without a receiver");
	sbuf_free(&b);
	struct chakra_attribute g[2] = { { .name = TEXT("comm_type"), .kind = CHAKRA_SIGNED },
		{ .name = TEXT("pg_name"), .kind = CHAKRA_TEXT, .text = TEXT("tp") } };
	chakra_put_head(&b);
	put_with(&b, 8, CHAKRA_COLLECTIVE, g, 2);
	fails(&b, "node 8: pg_name \"tp\": expected a group of the file of groups", "an unknown group");
	sbuf_free(&b);
}

/* ---- hostile bytes ---- */

static void hostile(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *want, *what;
	} cases[] = {
		{ "", 0, "t.0.et: rank 0: record 0 (at byte 0): the file is empty", "an empty file" },
		{ "\x00\x80", 2, "record 1 (at byte 1): the file ends within the length of a record", "a truncated length" },
		{ "\x00\xff\xff\xff\xff\xff\x01", 7, "the length of the record has more than 5 bytes", "a length of six bytes" },
		{ "\x00\xff\xff\xff\xff\x7f", 6, "length 34359738367: expected at most 268435456 bytes", "a record of 2^35 bytes" },
		{ "\x00\x05\x08\x01", 4, "the file ends after 2 of 5 bytes of the record", "a truncated record" },
		{ "\x00\x02\x08\x80", 4, "record 1 (at byte 1): a damaged field of a node", "a truncated varint" },
		{ "\x00\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 13, "a damaged field", "a varint above 64 bits" },
		{ "\x00\x0b\x12\x80\x80\x80\x80\x80\x80\x80\x80\x10z", 13, "a damaged field", "a name of 2^60 bytes" },
		{ "\x00\x0b\x2a\x80\x80\x80\x80\x80\x80\x80\x80\x10z", 13, "a damaged field", "a list of 2^60 bytes" },
		{ "\x00\x04\x52\x02\x0a\x05", 6, "a damaged field", "an attribute whose name ends behind it" },
		{ "\x00\x05\x52\x03\xea\x01\x09", 7, "a damaged field", "an attribute whose text ends behind it" },
		{ "\x00\x02\x0f\x00", 4, "a damaged field", "wire type 7" },
		{ "\x00\x02\x00\x00", 4, "a damaged field", "field 0" },
		{ "\x00\x03\x0a\x01\x01", 5, "a damaged field", "an id that is a text" },
		{ "\x02\x08\x01", 3, "expected GlobalMetadata", "a file without metadata" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sbuf b = { 0 };
		sbuf_add(&b, cases[i].bytes, cases[i].n);
		fails(&b, cases[i].want, cases[i].what);
		sbuf_free(&b);
	}
}

/* ---- files ---- */

static void write_file(const char *dir, const char *name, const void *data, size_t n)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, n, f) != n || fclose(f))
		printf("# cannot write %s\n", path);
}

/* Compresses `blocks` times the bytes as gzip. */
static struct sbuf gzip(const void *data, size_t n, unsigned blocks)
{
	struct sbuf out = { 0 };
	unsigned char room[1 << 14];
	z_stream z = { 0 };
	deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
	for (unsigned i = 0; i < blocks; i++) {
		z.next_in = (unsigned char *)(uintptr_t)data;
		z.avail_in = (unsigned)n;
		do {
			z.next_out = room;
			z.avail_out = sizeof room;
			deflate(&z, i + 1 == blocks ? Z_FINISH : Z_NO_FLUSH);
			sbuf_add(&out, (char *)room, sizeof room - z.avail_out);
		} while (!z.avail_out);
	}
	deflateEnd(&z);
	return out;
}

static void load_fails(const char *place, const char *groups, const char *want, const char *what)
{
	struct orr_error err = { 0 };
	struct chakra *c = chakra_load(place, groups, &err);
	bool good = !c && strstr(err.text, want);
	if (!good)
		printf("# got \"%s\"\n", err.text);
	ok(good, "%s: %s", what, want);
	chakra_free(c);
}

static void files(void)
{
	char dir[] = "/tmp/orr-chakra-XXXXXX", text[600];
	if (!mkdtemp(dir)) {
		skip("no temporary folder");
		return;
	}
	struct orr_error err = { 0 };
	struct sbuf b = { 0 };
	struct chakra_attribute g[2] = { { .name = TEXT("comm_type"), .kind = CHAKRA_SIGNED },
		{ .name = TEXT("pg_name"), .kind = CHAKRA_TEXT, .text = TEXT("tp") } };
	chakra_put_head(&b);
	put_with(&b, 8, CHAKRA_COLLECTIVE, g, 2);
	load_fails(dir, NULL, "no execution trace: expected files NAME.0.et", "an empty folder");
	write_file(dir, "a.1.et", b.text, b.len);
	load_fails(dir, NULL, "rank 0: the file a.0.et is missing", "a missing rank");
	struct sbuf z = gzip(b.text, b.len, 1);
	write_file(dir, "a.0.et", z.text, z.len);
	load_fails(dir, NULL, "pg_name \"tp\"", "a group without a file");
	write_file(dir, "groups.json", "{\"tp\": [1, 0], \"0\": [0, 1]}", 28);
	struct chakra *c = chakra_load(dir, NULL, &err);
	ok(c && c->n_ranks == 2 && c->rank[0].node[0].group == 1 && c->group[1].member[0] == 1 && c->group[1].n == 2,
		"a folder with a compressed file and groups.json (%s)", err.text);
	char hash[65] = "";
	snprintf(hash, sizeof hash, "%s", c ? c->hash : "");
	chakra_free(c);
	write_file(dir, "a.0.et", b.text, b.len);
	snprintf(text, sizeof text, "%s/a", dir);
	c = chakra_load(text, NULL, &err);
	ok(c && strcmp(c->hash, hash) != 0, "DIR/NAME; the hash is that of the files");
	chakra_free(c);
	snprintf(text, sizeof text, "%s/bad.json", dir);
	write_file(dir, "bad.json", "{\"tp\": [0, 2]}", 14);
	load_fails(dir, text, "$.\"tp\": expected a list of different ranks", "a group of a rank that the trace lacks");
	write_file(dir, "bad.json", "{\"tp\": [0, 0]}", 14);
	load_fails(dir, text, "$.\"tp\": expected a list of different ranks", "a group with a rank twice");
	write_file(dir, "bad.json", "{\"0\": [0]}", 10);
	load_fails(dir, text, "expected every rank", "another meaning of group 0");
	write_file(dir, "bad.json", "{\"tp\": [0]}", 11);
	load_fails(dir, text, "a.1.et: rank 1: node 8: pg_name \"tp\": the group does not hold rank 1", "a rank outside its group");
	/* 128 MiB of zeros, 130 kB compressed: nodes without fields, then a node with one unknown field of 127 MiB. */
	static char zeros[1 << 20];
	struct sbuf bomb = gzip(zeros, sizeof zeros, 128);
	write_file(dir, "a.1.et", bomb.text, bomb.len);
	load_fails(dir, NULL, "a.1.et: rank 1: node 0: the file has two nodes of this id", "zeros");
	sbuf_free(&bomb);
	memcpy(zeros, "\0\x84\x80\xc0\x3f\x62\xff\xff\xbf\x3f", 10);
	bomb = gzip(zeros, sizeof zeros, 128);
	write_file(dir, "a.1.et", bomb.text, bomb.len);
	load_fails(dir, NULL, "decompresses to more than 200 times its size", "a gzip bomb");
	write_file(dir, "b.0.et", b.text, b.len);
	load_fails(dir, NULL, "expected one, or --graph", "two traces in a folder");
	static const char *const names[] = { "a.0.et", "a.1.et", "b.0.et", "bad.json", "groups.json" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(text, sizeof text, "%s/%s", dir, names[i]);
		unlink(text);
	}
	rmdir(dir);
	sbuf_free(&b);
	sbuf_free(&z);
	sbuf_free(&bomb);
}

int main(void)
{
	attributes();
	fields();
	sorted();
	graphs();
	communication();
	hostile();
	files();
	return done();
}
