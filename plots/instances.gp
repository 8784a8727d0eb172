# Instances over time. $data index i: time in time_unit, instances.
set xlabel sprintf('time (%s)', time_unit) offset 0, 0.3
set ylabel 'instances'
set xrange [0:time_end]
set yrange [0:*]
plot for [i=1:n] $data index i-1 using 1:2 with steps linetype i title label[i]
