# Accuracy over training time. $data index i: time in time_unit, accuracy (a fraction).
set xlabel sprintf('time (%s)', time_unit) offset 0, 0.3
set ylabel 'accuracy'
set xrange [0:time_end]
plot for [i=1:n] $data index i-1 using 1:2 with lines linetype i title label[i]
