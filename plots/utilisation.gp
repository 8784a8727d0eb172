# GPUs in use over time. $data index i: time in time_unit, share of the GPUs.
set xlabel sprintf('time (%s)', time_unit) offset 0, 0.3
set ylabel 'GPUs in use (%)'
set xrange [0:time_end]
set yrange [0:100]
set ytics 20
plot for [i=1:n] $data index i-1 using 1:($2*100) with steps linetype i title label[i]
