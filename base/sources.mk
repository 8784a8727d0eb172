# errors, memory, numbers, text, parameters, files, random streams: what every floor stands on
liborrery_a_SOURCES += base/bitset.c base/bitset.h base/bytes.c base/bytes.h base/error.c base/expr.c base/expr.h \
	base/mem.c base/mem.h base/num.c base/num.h base/param.c base/param.h base/rng.c base/rng.h base/sbuf.c base/sbuf.h \
	base/strtab.c base/strtab.h
