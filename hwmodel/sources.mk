# sources of hwmodel
liborrery_a_SOURCES += hwmodel/throughput.c hwmodel/throughput.h
liborrery_a_SOURCES += hwmodel/dnn.h hwmodel/device.h hwmodel/cost.h
liborrery_a_SOURCES += hwmodel/dnn.c hwmodel/dnn_json.c hwmodel/dnn_ops.c hwmodel/dnn_plan.c hwmodel/dnn_plan.h \
	hwmodel/dnn_spec.c hwmodel/dnn_transformer.c
