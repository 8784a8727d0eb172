# scenarios, the runs of a study, scenario books. Bottom first: a file calls only files before it (tests/house/order.sh).
libstudy_a_SOURCES =
libstudy_a_SOURCES += study/shown.c study/progress.c study/pace.c study/compare.c study/study.c study/study_run.c study/figures_json.c study/figures_traces.c study/axis.c study/figures_expr.c study/axes.c study/figures_book.c \
	study/figures_run.c study/figures_cdf.c study/figures_timeline.c study/figures_spans.c study/figures_draw.c study/figures_table.c study/sweep_tasks.c study/sweep_rows.c study/sweep_report.c study/sweep_schema.c study/share.c study/board.c study/mpi.c study/sweep.c \
	study/page_set.c study/page_points.c study/page_rows.c study/page_pairs.c study/page_book.c study/page.c
libstudy_a_SOURCES += study/compare.h study/board.h study/figures.h study/pace.h study/page.h study/page_parts.h study/page_set.h study/progress.h study/shown.h study/share.h study/study.h study/sweep.h study/sweep_report.h study/sweep_rows.h study/sweep_tasks.h study/sweep_schema.h
