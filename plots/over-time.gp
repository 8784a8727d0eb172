# A value of each run over time. $data index i: time, value / y_scale. time_end: of the axis; is_smooth: lines instead of steps from 0.
set xrange [0:time_end]
if (is_smooth) { set ytics autofreq } else { eval sprintf('set yrange [%s:%s]', y_min, y_max) }
if (y_max eq '100') { set ytics 20 }
if (is_smooth) {
	plot for [i=1:n] $data index i-1 using 1:($2*y_scale) with lines linetype i notitle
} else {
	plot for [i=1:n] $stairs index i-1 using 1:($2*y_scale) with lines linetype i notitle
}
