# sources of hwmodel
liborrery_a_SOURCES += hwmodel/throughput.c hwmodel/throughput.h
liborrery_a_SOURCES += hwmodel/dnn.h hwmodel/device.h hwmodel/cost.h
