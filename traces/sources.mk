# formats, generators and statistics of traces. Bottom first: a file calls only files before it.
liborrery_a_SOURCES += traces/civil.c traces/civil.h traces/chakra_wire.c traces/chakra_write.c traces/chakra_groups.c traces/chakra_rank.c traces/chakra_load.h traces/chakra.c traces/chakra.h traces/lines.c traces/lines.h traces/table.c traces/table.h \
	traces/draw.c traces/draw.h traces/profile.c traces/profile.h traces/profile_rows.c traces/profile_rows.h \
	traces/status.c traces/status.h traces/stamp.c traces/stamp.h traces/quantity.c traces/quantity.h
# tables with column names of other programs
liborrery_a_SOURCES += traces/map_names.c traces/map_names.h traces/mapped.c traces/mapped.h traces/gather.c traces/gather.h \
	traces/items.c traces/items.h traces/k8s_object.c traces/k8s_object.h traces/k8s_events.c traces/k8s_events.h
# one file per format, and the table of them
liborrery_a_SOURCES += traces/format.h traces/head.c traces/philly.c traces/tiresias.c traces/muri.c traces/pollux.c traces/shockwave.c traces/gavel.c traces/openb.c \
	traces/openb_nodes.c traces/swf.c traces/orrery.c traces/flow.h traces/flow.c traces/flow_read.c traces/flow_unshared.c \
	traces/flow_format.c traces/csv.c traces/job_lists.c traces/slurm.c traces/philly_raw.c traces/kubernetes.c traces/pai.c traces/req_mapped.c \
	traces/req_format.h traces/req_azure.c traces/req_mooncake.c traces/req_burstgpt.c traces/req_splitwise.c traces/req_vidur.c \
	traces/req_csv.c traces/avail_format.h traces/av_events.c traces/av_counts.c traces/av_json.c traces/av_aws.c \
	traces/formats.c traces/formats.def
# the rows of one file; the store of rows
liborrery_a_SOURCES += traces/load.h traces/trace.c traces/trace.h traces/rowset.c traces/rowset.h traces/load.c traces/resample.c traces/resample.h
# one file per family of generators, and the table of them
liborrery_a_SOURCES += traces/generator.h traces/synth_poisson.c traces/synth_philly.c traces/synth_openb.c traces/synth_lublin.c \
	traces/synth_tiresias.c traces/synth_explore.c traces/req_law.c traces/req_law.h traces/req_content.c traces/req_content.h traces/req_arrivals.c traces/req_chat.c \
	traces/req_irina.c traces/avail_shift.c traces/av_hazard.c traces/av_renewal.c traces/av_churn.c traces/av_price.c \
	traces/generators.c traces/generators.def
# traces of jobs, of requests, of instance availability
liborrery_a_SOURCES += traces/open.c traces/jobset.c traces/requests.c traces/requests.h traces/avail_rows.c traces/avail.c traces/avail.h \
	traces/req_profile.c traces/req_profile.h traces/avail_profile.c traces/avail_profile.h traces/describe.c \
	traces/writer.c traces/writer.h
