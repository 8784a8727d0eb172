# Share of requests completed within a time. $data index i: seconds, share.
set logscale x
set xtics ('1 us' 1e-6, '10 us' 1e-5 1, '0.1 ms' 1e-4 1, '1 ms' 0.001, '10 ms' 0.01, '0.1 s' 0.1, '1 s' 1, '10 s' 10, '100 s' 100, \
	'1000 s' 1000, '10,000 s' 10000)
set xlabel 'time from arrival to completion' offset 0, 0.3
set ylabel 'share of requests'
set yrange [0:1]
set ytics 0.2 format '%.1f'
plot for [i=1:n] $data index i-1 using 1:2 with steps linetype i title label[i]
