# sources of hwmodel
liborrery_a_SOURCES += hwmodel/throughput.c hwmodel/throughput.h
