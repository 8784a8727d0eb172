# rows and columns, SQLite store, intervals, tables, CSV, JSON
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += results/parts.c results/columns.c results/overrides.c results/db.c results/lists.c results/lists_read.c results/scenarios.c results/digest.c results/result.c results/pack.c results/parts_text.c results/stats.c results/estimate.c results/compare.c results/hist.c results/warmup.c results/schema.c \
	results/timeline.c results/batches.c results/report_text.c results/grid.c results/recorded.c results/recorded.h results/report_compare.c results/report_csv.c results/report_rows.c results/report_json.c results/report_table.c results/store.c \
	results/parts_read.c results/store_read.c results/store_write.c results/failed.c results/merge.c results/check.c results/diff.c results/summary.c
liborrery_a_SOURCES += results/batches.h results/columns.def results/columns.h results/compare.h results/db.h results/digest.h results/entities.def results/estimate.h results/failed.h results/form.h results/grid.h results/inspect.h results/lists.h results/merge.h results/overrides.h results/parts.def results/pack.h results/parts.h results/report.h results/report_compare.h results/report_rows.h results/report_text.h results/result.h \
	results/scenarios.h results/stats.h \
	results/store.h results/summary.h results/timeline.h results/warmup.h
