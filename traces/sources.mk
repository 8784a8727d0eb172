# sources of traces
liborrery_a_SOURCES += traces/trace.h
