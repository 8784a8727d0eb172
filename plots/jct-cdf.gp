# Share of jobs completed within a time. $data index i: seconds, share.
set logscale x
set xtics ('1 ms' 0.001, '10 ms' 0.01 1, '0.1 s' 0.1 1, '1 s' 1, '10 s' 10 1, '1 min' 60, '10 min' 600 1, \
	'1 h' 3600, '1 d' 86400, '10 d' 864000, '100 d' 8640000 1, '3 y' 94608000)
set xlabel 'job completion time' offset 0, 0.3
set ylabel 'share of jobs'
set yrange [0:1]
set ytics 0.2 format '%.1f'
plot for [i=1:n] $data index i-1 using 1:2 with steps linetype i title label[i]
