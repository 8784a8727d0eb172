# sources of plots
liborrery_a_SOURCES += plots/figure.h plots/figure.c plots/figure_data.h plots/figure_data.c \
	plots/gnuplot.h plots/gnuplot.c plots/album.h plots/album.c plots/chart.h plots/chart.c plots/timeline_data.c \
	plots/profile_figures.c plots/profile_figures.h plots/spot_figures.c plots/spot_figures.h
plotsdir = $(pkgdatadir)/plots
dist_plots_DATA = plots/style.gp plots/jct-cdf.gp plots/utilisation.gp plots/queue-length.gp plots/gantt.gp \
	plots/lines.gp plots/bars.gp plots/timeline.gp plots/loss.gp plots/map.gp plots/latency-cdf.gp plots/ttft-cdf.gp \
	plots/in-system.gp plots/cdf.gp plots/stacked.gp plots/steps.gp plots/instances.gp plots/samples-per-s.gp
