# errors, memory, numbers, strings, parameters, files: what every floor stands on
liborrery_a_SOURCES += sim/base/bitset.c sim/base/bitset.h sim/base/bytes.c sim/base/bytes.h sim/base/error.c \
	 sim/base/mem.c sim/base/mem.h sim/base/num.c sim/base/num.h \
	sim/base/param.c sim/base/param.h sim/base/sbuf.c sim/base/sbuf.h sim/base/strtab.c sim/base/strtab.h
liborrery_a_SOURCES += sim/base/expr.c sim/base/expr.h
