# Series over x. $data index i: x, y, low, high. marks[i]: marks instead of a line. category[1..categories]
# names the positions 1, 2, .. of x. shade[i]: line type. bounds[i]: low and high are bounds, drawn as a shade of half width bounds_half;
# column 5: 1 if they are missed.
if (log_x) { set logscale x }
if (log_y) { set logscale y }
if (x_apart > 0) { set xtics x_apart }
if (x_single) { set xtics (gprintf('%g', x_only) x_only); set xrange [(log_x ? x_only / 3 : x_only - x_single_half):(log_x ? x_only * 3 : x_only + x_single_half)] }
if (x_large) { set format x '%.0s%c' }
if (y_large) { set format y '%.0s%c' }
do for [v in x_between] { set xtics add ((x_large ? gprintf('%.0s%c', real(v)) : v) real(v)) }
do for [v in y_between] { set ytics add ((y_large ? gprintf('%.0s%c', real(v)) : v) real(v)) }
eval sprintf('set yrange [%s:%s]', y_min, y_max)
if (categories) {
	set xrange [0.5:categories+0.5]
	set xtics ('' 1)
	if (tics_turned) { set xtics rotate by tics_angle right }
	do for [i=1:categories] { set xtics add (category[i] i) }
}
if (x_high > x_low) { set xrange [x_low:x_high] }
left_of(x) = log_x && !categories ? x / bounds_half : x - bounds_half
right_of(x) = log_x && !categories ? x * bounds_half : x + bounds_half
set style fill solid 1.0 noborder
# Published values are rings, so that a mark of a line within shows that they agree.
plot for [i=1:n] $data index i-1 using 1:(bounds[i] ? $2 : NaN):(left_of($1)):(right_of($1)):3:4 with boxxyerror fillcolor rgb bounds_colour \
		notitle noautoscale, \
	for [i=1:n] $data index i-1 using 1:(bounds[i] ? NaN : $3):(0):($4-$3) with vectors nohead linetype shade[i] dashtype solid notitle, \
	for [i=1:n] $data index i-1 using 1:(marks[i] ? NaN : $2) with lines linetype shade[i] notitle, \
	for [i=1:n] $data index i-1 using 1:(marks[i] ? $2 : NaN) with points linecolor rgb '#ffffff' pointtype disc[shape_of(shape[i])] pointsize 1.0*mark_scale notitle, \
	for [i=1:n] $data index i-1 using 1:(marks[i] ? $2 : NaN) with points linecolor rgb paint[i] pointtype hollow[shape_of(shape[i])] \
		pointsize 1.0*mark_scale linewidth 1 notitle, \
	for [i=1:n] $data index i-1 every every[i] using 1:(marks[i] ? NaN : $2) with points linecolor rgb paint[i] \
		pointtype filled[shape_of(shape[i])] pointsize 0.5*mark_scale linewidth 1 notitle, \
	for [i=1:n] $data index i-1 using 1:(bounds[i] && $5 > 0.5 ? $2 : NaN) with points linecolor rgb '#000000' pointtype 2 pointsize 1.2*mark_scale linewidth 1.2 notitle
