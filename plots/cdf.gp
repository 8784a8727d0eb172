# Distribution functions of times in seconds. $data index i: value, share of values up to it. A curve that ends below 1:
# some rows have no such event.
if (log_x) { set logscale x }
if (log_x) { set xtics ('1 us' 1e-6, '10 us' 1e-5 1, '0.1 ms' 1e-4 1, '1 ms' 0.001, '10 ms' 0.01, '0.1 s' 0.1, '1 s' 1, '10 s' 10, '100 s' 100, \
	'1000 s' 1000, '10,000 s' 10000) }
set xlabel x_label offset 0, 0.3
set ylabel y_label offset (strstrt(y_label, "\n") ? -0.8 : 0), 0
set yrange [0:1]
set ytics 0.2 format '%.1f'
plot for [i=1:n] $data index i-1 using 1:2 with steps linetype i title label[i]
