# rows and columns, SQLite store, intervals, tables, CSV, JSON
liborrery_a_SOURCES += results/db.c results/db.h results/digest.c results/hist.c results/outfile.c results/outfile.h \
	results/report.h results/report_csv.c results/report_json.c results/report_table.c results/result.c results/result.h \
	results/schema.c results/stats.c results/stats.h results/store.c results/store.h results/store_read.c \
	results/store_write.c results/summary.c results/summary.h results/timeline.c results/timeline.h
