# Bars side by side in each category. $data index i: position from 1, y, low, high. marks[i]: a mark instead of a bar. shade[i]: line
# type, and slot among `slots` in a category. bounds[i]: low and high are bounds, shaded over the slot or, if compares_all, the category;
# column 5: 1 if they are missed. Their outline is seen on the bars.
if (log_y) { set logscale y }
if (y_large) { set format y '%.0s%c' }
do for [v in y_between] { set ytics add ((y_large ? gprintf('%.0s%c', real(v)) : v) real(v)) }
eval sprintf('set yrange [%s:%s]', y_min, y_max)
wide = 0.8 / slots
at(x, i) = x + (shade[i] - (slots + 1) / 2.0) * wide
set xrange [0.4:categories+0.6]
set xtics scale 0 ('' 1)
if (tics_turned) { set xtics rotate by tics_angle right }
do for [i=1:categories] { set xtics add (category[i] i) }
set style fill solid 1.0 noborder
set grid noxtics
# The length of a bar means nothing on a log axis: there a mark replaces each bar.
is_bar(i) = !marks[i] && !log_y
reach = compares_all ? 0.4 : wide * 0.5
middle(x, i) = compares_all ? x : at(x, i)
mark_at(x, i) = bounds[i] ? middle(x, i) : at(x, i)
plot for [i=1:n] $data index i-1 using (middle($1, i)):(bounds[i] ? $2 : NaN):(middle($1, i) - reach):(middle($1, i) + reach):3:4 \
		with boxxyerror fillcolor rgb bounds_colour notitle noautoscale, \
	for [i=1:n] $data index i-1 using (at($1, i)):(is_bar(i) ? $2 : NaN):(wide * 0.92) with boxes linetype shade[i] dashtype solid notitle, \
	for [i=1:n] $data index i-1 using (at($1, i)):(is_bar(i) || marks[i] ? NaN : $2) with points linecolor rgb paint[i] \
		pointtype filled[shape_of(shape[i])] pointsize 0.7*mark_scale notitle, \
	for [i=1:n] $data index i-1 using (at($1, i)):(bounds[i] ? NaN : $3):(0):($4-$3) with vectors nohead linecolor rgb '#555555' linewidth 1 dashtype solid notitle, \
	for [i=1:n] $data index i-1 using (middle($1, i)):(bounds[i] ? $2 : NaN):(middle($1, i) - reach):(middle($1, i) + reach):3:4 \
		with boxxyerror fillstyle empty border linecolor rgb '#777777' linewidth 0.5 dashtype solid notitle noautoscale, \
	for [i=1:n] $data index i-1 using (mark_at($1, i)):(marks[i] ? $2 : NaN) with points linecolor rgb '#ffffff' pointtype disc[shape_of(shape[i])] pointsize 0.7*mark_scale notitle, \
	for [i=1:n] $data index i-1 using (mark_at($1, i)):(marks[i] ? $2 : NaN) with points linecolor rgb '#000000' linewidth 1 \
		pointtype hollow[shape_of(shape[i])] pointsize 0.7*mark_scale notitle, \
	for [i=1:n] $data index i-1 using (mark_at($1, i)):(bounds[i] && $5 > 0.5 ? $2 : NaN) with points linecolor rgb '#000000' pointtype 2 pointsize 1.2*mark_scale linewidth 1.2 notitle
