# Distribution functions of times in seconds. $data index i: value, share of values up to it. A curve that ends below 1:
# some rows have no such event. calendar: times of seconds to years.
if (log_x) {
	set logscale x
	if (calendar) {
		set xtics ('1 ms' 0.001, '10 ms' 0.01 1, '0.1 s' 0.1 1, '1 s' 1, '10 s' 10 1, '1 min' 60, '10 min' 600 1, \
			'1 h' 3600, '1 d' 86400, '10 d' 864000, '100 d' 8640000 1, '3 y' 94608000)
	} else {
		set xtics ('1 us' 1e-6, '10 us' 1e-5 1, '0.1 ms' 1e-4 1, '1 ms' 0.001, '10 ms' 0.01, '0.1 s' 0.1, '1 s' 1, '10 s' 10, \
			'100 s' 100, '1000 s' 1000, '10,000 s' 10000)
	}
}
set yrange [0:1]
set ytics 0.2 format '%.1f'
plot for [i=1:n] $stairs index i-1 using 1:2 with lines linetype i notitle
