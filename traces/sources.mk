# sources of traces
liborrery_a_SOURCES += traces/trace.h traces/trace.c traces/format.h traces/formats.c \
	traces/lines.c traces/lines.h traces/table.c traces/table.h \
	traces/profile.c traces/profile.h traces/profile_rows.c traces/profile_rows.h \
	traces/writer.c traces/writer.h traces/jobset.c traces/generator.h traces/generators.c traces/civil.c traces/civil.h
# one file per format
liborrery_a_SOURCES += traces/philly.c traces/tiresias.c traces/muri.c traces/gavel.c traces/openb.c traces/openb_nodes.c \
	traces/swf.c traces/orrery.c
# one file per family of generators
liborrery_a_SOURCES += traces/draw.c traces/draw.h traces/synth_poisson.c traces/synth_philly.c \
	traces/synth_openb.c traces/synth_lublin.c traces/synth_tiresias.c
# requests for inference
liborrery_a_SOURCES += traces/requests.h traces/requests.c traces/req_format.h traces/req_profile.c traces/req_profile.h \
	traces/req_azure.c traces/req_mooncake.c traces/req_burstgpt.c traces/req_splitwise.c traces/req_vidur.c traces/req_csv.c \
	traces/req_generator.h traces/req_generators.c traces/req_arrivals.c traces/req_irina.c \
	traces/req_content.c traces/req_content.h traces/req_law.c traces/req_law.h
# instances that come and go
liborrery_a_SOURCES += traces/avail.h traces/avail.c traces/avail_format.h traces/avail_rows.c traces/avail_shift.c \
	traces/avail_profile.h traces/avail_profile.c traces/av_events.c traces/av_counts.c traces/av_json.c \
	traces/avail_generator.h traces/avail_generators.c traces/av_hazard.c traces/av_renewal.c traces/av_churn.c traces/av_price.c
