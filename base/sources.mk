# errors, memory, numbers, text, parameters, files, random streams; used by all floors; files are listed bottom first
liborrery_a_SOURCES += base/mem.c base/mem.h base/num.c base/num.h base/sbuf.c base/sbuf.h base/utf8.c base/utf8.h base/error.c base/bytes.c base/bytes.h \
	base/bitset.c base/bitset.h base/hash.h base/heap.h base/simd.h base/strtab.c base/strtab.h base/rng.c base/rng.h \
	base/expr.c base/expr.h base/param.c base/param.h base/cleanup.c base/cleanup.h base/program.c base/program.h base/limits.c base/limits.h base/outfile.c base/outfile.h base/json_text.c base/json_text.h base/search.c base/search.h base/spool.c base/spool.h base/sources.h
# The hash of the sources; its rule is at the end of Makefile.am.
nodist_liborrery_a_SOURCES += base/sources_data.c
CLEANFILES += base/sources_data.c base/sources_data.c.tmp
