# Values over time. $data index i: time, value, which holds until the next time.
set autoscale xfix
if (log_y) { set logscale y }
if (x_apart > 0) { set xtics x_apart }
if (x_single) { set xtics (gprintf('%g', x_only) x_only) }
eval sprintf('set yrange [%s:%s]', y_min, y_max)
plot for [i=1:n] $stairs index i-1 using 1:2 with lines linetype i title label[i]
