# sources of sim/results
liborrery_a_SOURCES += sim/results/result.h sim/results/result.c sim/results/stats.h sim/results/stats.c \
	sim/results/hist.c sim/results/store.h sim/results/store.c sim/results/store_read.c \
	sim/results/store_write.c sim/results/digest.c sim/results/db.h sim/results/db.c sim/results/schema.c
liborrery_a_SOURCES += sim/results/report.h sim/results/report_table.c sim/results/report_json.c \
	sim/results/report_csv.c sim/results/outfile.h sim/results/outfile.c sim/results/timeline.c \
	sim/results/timeline.h sim/results/summary.c sim/results/summary.h
