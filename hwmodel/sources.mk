# devices, models, prices: data and the code that evaluates them
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += hwmodel/json.c hwmodel/dnn_plan.c hwmodel/dnn_ops.c hwmodel/catalogue.c \
	hwmodel/dnn_transformer.c hwmodel/profile.c hwmodel/device.c hwmodel/cost_laws.c hwmodel/steptimes.c \
	hwmodel/dnn_json.c hwmodel/dnn_recommend.c hwmodel/dnn_spec.c hwmodel/dnn.c hwmodel/cost.c hwmodel/llm_step.c \
	hwmodel/served_layers.c hwmodel/profile_check.c hwmodel/served_llm.c hwmodel/throughput.c hwmodel/profile_json.c \
	hwmodel/profile_write.c hwmodel/prices.c hwmodel/served.c hwmodel/served_json.c hwmodel/elastic.c \
	hwmodel/elastic_json.c
liborrery_a_SOURCES += hwmodel/catalogue.h hwmodel/cost.h hwmodel/cost_laws.h hwmodel/device.h hwmodel/dnn.h \
	hwmodel/dnn_plan.h hwmodel/elastic.h hwmodel/embedded.h hwmodel/json.h hwmodel/llm_step.h hwmodel/prices.h \
	hwmodel/profile.h hwmodel/served.h hwmodel/served_llm.h hwmodel/steptimes.h hwmodel/throughput.h
# sources of hwmodel
# devices and what kernels cost on them
ORR_DEVICES = hwmodel/devices/k80.json hwmodel/devices/m40.json hwmodel/devices/titanx-maxwell.json \
	hwmodel/devices/p100.json hwmodel/devices/p100-pcie.json hwmodel/devices/1080ti.json \
	hwmodel/devices/v100.json hwmodel/devices/v100-32g.json hwmodel/devices/v100-pcie.json \
	hwmodel/devices/t4.json hwmodel/devices/2080.json hwmodel/devices/2080ti.json hwmodel/devices/a10.json hwmodel/devices/a40.json hwmodel/devices/a100.json \
	hwmodel/devices/a100-80g.json hwmodel/devices/l4.json hwmodel/devices/h100.json hwmodel/devices/h200.json \
	hwmodel/devices/jetson-nano.json hwmodel/devices/jetson-tx2.json hwmodel/devices/jetson-xavier.json \
	hwmodel/devices/jetson-orin.json hwmodel/devices/cpu-epyc-zen5-2.json
EXTRA_DIST += $(ORR_DEVICES) hwmodel/steptimes.json
nodist_liborrery_a_SOURCES += hwmodel/devices_data.c hwmodel/steptimes_data.c
CLEANFILES += hwmodel/devices_data.c hwmodel/devices_data.c.tmp hwmodel/steptimes_data.c hwmodel/steptimes_data.c.tmp
# From the source folder, so that names stay short; into a file of its own, so that no half is left.
hwmodel/devices_data.c: $(ORR_DEVICES) hwmodel/embed.sh hwmodel/sources.mk
	$(AM_V_GEN)$(MKDIR_P) hwmodel && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	embedded_devices $(ORR_DEVICES)) >$@.tmp && mv $@.tmp $@
hwmodel/steptimes_data.c: hwmodel/steptimes.json
	$(AM_V_GEN)$(MKDIR_P) hwmodel && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	embedded_steptimes hwmodel/steptimes.json) >$@.tmp && mv $@.tmp $@
# profiles of devices: laws fitted to measured points
ORR_PROFILES = hwmodel/profiles/k80.json hwmodel/profiles/p100.json hwmodel/profiles/v100.json hwmodel/profiles/t4.json \
	hwmodel/profiles/a40.json hwmodel/profiles/a100.json hwmodel/profiles/a100-80g.json hwmodel/profiles/h100.json \
	hwmodel/profiles/cpu-epyc-zen5-2.json
EXTRA_DIST += $(ORR_PROFILES) hwmodel/profiles.sh
nodist_liborrery_a_SOURCES += hwmodel/profiles_data.c
CLEANFILES += hwmodel/profiles_data.c hwmodel/profiles_data.c.tmp
hwmodel/profiles_data.c: $(ORR_PROFILES) hwmodel/embed.sh hwmodel/sources.mk
	$(AM_V_GEN)$(MKDIR_P) hwmodel && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	embedded_profiles $(ORR_PROFILES)) >$@.tmp && mv $@.tmp $@
# models as they are served
# what GPUs cost
EXTRA_DIST += hwmodel/prices.json
nodist_liborrery_a_SOURCES += hwmodel/prices_data.c
CLEANFILES += hwmodel/prices_data.c hwmodel/prices_data.c.tmp
hwmodel/prices_data.c: hwmodel/prices.json
	$(AM_V_GEN)$(MKDIR_P) hwmodel && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	embedded_prices hwmodel/prices.json) >$@.tmp && mv $@.tmp $@
ORR_SERVED = hwmodel/served/llama2-7b.json hwmodel/served/llama2-13b.json hwmodel/served/llama2-70b.json \
	hwmodel/served/irina-a.json hwmodel/served/irina-b.json hwmodel/served/irina-c.json hwmodel/served/irina-d.json \
	hwmodel/served/irina-yolov3.json hwmodel/served/irina-vgg16.json hwmodel/served/irina-googlenet.json \
	hwmodel/served/irina-alexnet.json hwmodel/served/irina-yolov3-curve.json hwmodel/served/irina-vgg16-curve.json \
	hwmodel/served/irina-googlenet-curve.json hwmodel/served/irina-alexnet-curve.json hwmodel/served/bert-base-t4.json \
	hwmodel/served/bert-large-t4.json hwmodel/served/bert-base-v100.json hwmodel/served/bert-large-v100.json \
	hwmodel/served/bert-student-2x768-t4.json
EXTRA_DIST += $(ORR_SERVED)
nodist_liborrery_a_SOURCES += hwmodel/served_data.c
CLEANFILES += hwmodel/served_data.c hwmodel/served_data.c.tmp
hwmodel/served_data.c: $(ORR_SERVED) hwmodel/embed.sh hwmodel/sources.mk
	$(AM_V_GEN)$(MKDIR_P) hwmodel && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	embedded_served $(ORR_SERVED)) >$@.tmp && mv $@.tmp $@
# elastic jobs
ORR_ELASTIC = hwmodel/elastic/bamboo-bert.json hwmodel/elastic/bamboo-gpt2.json hwmodel/elastic/bamboo-resnet.json \
	hwmodel/elastic/bamboo-gnmt.json hwmodel/elastic/bamboo-vgg.json hwmodel/elastic/bamboo-alexnet.json \
	hwmodel/elastic/oobleck-bert.json hwmodel/elastic/oobleck-gpt2.json hwmodel/elastic/oobleck-gpt3-medium.json \
	hwmodel/elastic/oobleck-gpt3-2.7b.json hwmodel/elastic/oobleck-gpt3-6.7b.json hwmodel/elastic/parcae-gpt-1.5b.json \
	hwmodel/elastic/parcae-gpt-6.7b.json hwmodel/elastic/parcae-bert.json hwmodel/elastic/parcae-resnet152.json \
	hwmodel/elastic/parcae-vgg19.json hwmodel/elastic/cbl-48h.json hwmodel/elastic/cbl-ml-72h.json \
	hwmodel/elastic/cbl-bio-22.5h.json hwmodel/elastic/cbl-analytics-27h.json hwmodel/elastic/spot-bert-large.json \
	hwmodel/elastic/spot-gpt2.json hwmodel/elastic/spot-resnet152.json hwmodel/elastic/spot-vgg19.json \
	hwmodel/elastic/spot-alexnet.json hwmodel/elastic/spot-gnmt16.json
EXTRA_DIST += $(ORR_ELASTIC)
nodist_liborrery_a_SOURCES += hwmodel/elastic_data.c
CLEANFILES += hwmodel/elastic_data.c hwmodel/elastic_data.c.tmp
hwmodel/elastic_data.c: $(ORR_ELASTIC) hwmodel/embed.sh hwmodel/sources.mk
	$(AM_V_GEN)$(MKDIR_P) hwmodel && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	embedded_elastic $(ORR_ELASTIC)) >$@.tmp && mv $@.tmp $@
