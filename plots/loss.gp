# Training loss over time. $data index i: time in time_unit, loss.
set xlabel sprintf('time (%s)', time_unit) offset 0, 0.3
set ylabel 'loss'
set xrange [0:time_end]
plot for [i=1:n] $data index i-1 using 1:2 with lines linetype i title label[i]
