# sources of plots
