# drawing: gnuplot, styles, images, timelines
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += plots/gnuplot.c plots/album.c plots/chart_bounds.c plots/chart_axes.c plots/chart_panels.c plots/chart.c plots/figure_data.c plots/curves.c plots/spot_figures.c \
	plots/timeline_data.c plots/figure.c plots/profile_figures.c \
	plots/html.c plots/svg_frame.c plots/svg.c plots/svg_bars.c
liborrery_a_SOURCES += plots/album.h plots/chart.h plots/chart_parts.h plots/curves.h plots/figure.h plots/figure_data.h plots/gnuplot.h \
	plots/profile_figures.h plots/spot_figures.h plots/html.h plots/svg.h plots/svg_frame.h
# sources of plots
plotsdir = $(pkgdatadir)/plots
dist_plots_DATA = plots/style.gp plots/over-time.gp plots/gantt.gp plots/lines.gp plots/panels.gp plots/bars.gp plots/timeline.gp \
	plots/map.gp plots/cdf.gp plots/stacked.gp plots/steps.gp
# style and script of the page of orrery report
PAGE_FILES = plots/page.css plots/page.js
EXTRA_DIST += $(PAGE_FILES)
nodist_liborrery_a_SOURCES += plots/page_data.c
CLEANFILES += plots/page_data.c plots/page_data.c.tmp
plots/page_data.c: $(PAGE_FILES) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) plots && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	page_files $(PAGE_FILES)) >$@.tmp && mv $@.tmp $@
