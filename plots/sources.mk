# drawing: gnuplot, styles, images, timelines
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += plots/gnuplot.c plots/album.c plots/figure_data.c plots/chart.c plots/spot_figures.c \
	plots/timeline_data.c plots/figure.c plots/profile_figures.c
liborrery_a_SOURCES += plots/album.h plots/chart.h plots/figure.h plots/figure_data.h plots/gnuplot.h \
	plots/profile_figures.h plots/spot_figures.h
# sources of plots
plotsdir = $(pkgdatadir)/plots
dist_plots_DATA = plots/style.gp plots/jct-cdf.gp plots/utilisation.gp plots/queue-length.gp plots/gantt.gp \
	plots/lines.gp plots/bars.gp plots/timeline.gp plots/loss.gp plots/accuracy.gp plots/map.gp plots/latency-cdf.gp plots/ttft-cdf.gp \
	plots/in-system.gp plots/cdf.gp plots/stacked.gp plots/steps.gp plots/instances.gp plots/samples-per-s.gp
