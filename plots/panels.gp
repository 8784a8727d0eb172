# A panel for each of many series, which the others accompany in grey. $data index i: x, y / y_scale, low, high. panel_label[i]: title of its panel,
# if is_panel[i]. Marks belong to the line of their colour. Shares of the height: panel_title above each panel, panel_top and panel_below above
# and below all of them. Inches: panel_left, panel_gap between columns, panel_edge at the right, panel_foot below each panel.
log_x = log_x && !categories
if (log_x) { set logscale x }
if (log_y) { set logscale y }
eval sprintf('set yrange [%s:%s]', y_min, y_max)
if (is_cdf) { set yrange [0:1] }
if (categories) {
	set xrange [0.5:categories+0.5]
	set xtics rotate by 30 right
}
if (!categories && !log_x) { set autoscale xfix; set offsets graph (x_step < 0 ? 0.15 : 0.05), graph (x_step < 0 ? 0.15 : 0.05), 0, 0 }
if (is_steps && !log_x) { set xrange [x_from:x_to]; set offsets 0, 0, 0, 0 }
if (log_x && x_high > x_low) { set xrange [x_low:x_high] }
rows = int(ceil(panels / real(panel_columns)))
if (x_step > 0) { set xtics x_step }
if (y_step > 0) { set ytics y_step }
left = panel_left / page_w
right = 1 - panel_edge / page_w
across = (right - left) / panel_columns
down = (1 - panel_top - panel_below) / rows
left_of(x) = log_x ? x / bounds_half : x - bounds_half
right_of(x) = log_x ? x * bounds_half : x + bounds_half
belongs(i, k) = marks[i] && !is_panel[i] && shade[i] == shade[k]
# Names of times on a logarithmic axis: for each power of ten if each_power, or as many as have room.
array time_name[10] = ['1 us', '10 us', '0.1 ms', '1 ms', '10 ms', '0.1 s', '1 s', '10 s', '100 s', '1000 s']
array date_name[9] = ['1 ms', '1 s', '10 s', '1 min', '10 min', '1 h', '1 d', '10 d', '100 d']
array date_s[9] = [0.001, 1, 10, 60, 600, 3600, 86400, 864000, 8640000]
set style fill solid 1.0 noborder
unset label 97
unset label 98
# The name at the left end of a panel would touch that of the panel before.
named(x) = is_last && (column == 0 || x > 1.01 * x_low)
set multiplot
set label 1 x_label at screen (left + right) / 2, screen 0.1 / page_h center
y_middle = panel_below + (1 - panel_below - panel_top) / 2
y_middle = y_middle + y_half < 1 - panel_top ? y_middle : 1 - panel_top - y_half
set label 2 y_label at screen y_label_in / page_w, screen (y_middle > y_half ? y_middle : y_half) center rotate
panel = 0
do for [k=1:n] {
	if (is_panel[k]) {
		column = panel % panel_columns
		row = panel / panel_columns
		set lmargin at screen left + column * across
		set rmargin at screen left + (column + 1) * across - panel_gap / page_w
		set tmargin at screen 1 - panel_top - row * down - panel_title
		set bmargin at screen 1 - panel_top - (row + 1) * down + panel_foot / page_h
		set title panel_label[k] offset 0, -0.9
		if (column) { set format y '' } else { set format y (y_large ? '%.0s%c' : y_tics ne '' ? '%.1s%c' : '%g') }
		is_last = panel + panel_columns >= panels
		set format x (is_last ? (x_large ? '%.0s%c' : '%g') : '')
		if (x_step < 0) { set xtics ((is_last ? gprintf('%g', x_from) : '') x_from, (is_last ? gprintf('%g', x_to) : '') x_to) }
		if (log_x && !is_cdf) { set xtics 10**x_decades }
		if (log_x && is_cdf) {
			set xtics ('' 1)
			if (calendar) {
				do for [i=1:9] { if (each_power || i == 2 || i == 6 || i == 9 || (x_decades <= 2 && (i == 4 || i == 7))) { set xtics add ((named(date_s[i]) ? date_name[i] : '') date_s[i]) } }
			} else {
				do for [i=1:10] { if (each_power || i % 3 == 1) { set xtics add ((named(10.0**(i - 7)) ? time_name[i] : '') 10.0**(i - 7)) } }
			}
		}
		if (categories) {
			set xtics ('' 1)
			do for [i=1:categories] { set xtics add ((is_last ? category[i] : '') i) }
		}
		if (is_bars) {
			plot for [i=1:n] $data index i-1 using 1:(bounds[i] && belongs(i, k) ? $2 : NaN):($1-0.5):($1+0.5):3:4 with boxxyerror fillcolor rgb bounds_colour noautoscale, \
				for [i=1:n] $data index i-1 using 1:(i == k || marks[i] ? NaN : $2) with points linecolor rgb '#c4c4c4' pointtype 0, \
				$data index k-1 using 1:(log_y ? NaN : $2):(0.7) with boxes linecolor rgb paint[1] dashtype solid, \
				$data index k-1 using 1:(log_y ? $2 : NaN) with points linecolor rgb paint[1] pointtype 7 pointsize 0.5*mark_scale, \
				$data index k-1 using 1:(bounds[k] ? NaN : $3):(0):($4-$3) with vectors nohead linecolor rgb '#555555' dashtype solid, \
				for [i=1:n] $data index i-1 using 1:(belongs(i, k) ? $2 : NaN) with points linecolor rgb '#000000' linewidth 1 pointtype hollow[shape_of(shape[i])] pointsize 0.6*mark_scale, \
				for [i=1:n] $data index i-1 using 1:(bounds[i] && belongs(i, k) && $5 > 0.5 ? $2 : NaN) with points linecolor rgb '#000000' pointtype 2 pointsize 1.0*mark_scale linewidth 1.2
		}
		if (is_steps) {
			plot for [i=1:n] $stairs index i-1 using 1:(i == k ? NaN : $2*y_scale) with lines linecolor rgb '#c4c4c4' linewidth 0.7 dashtype solid, \
				$stairs index k-1 using 1:($2*y_scale) with lines linecolor rgb paint[1] linewidth 1.5 dashtype solid
		}
		if (!is_steps && !is_bars) {
			plot for [i=1:n] $data index i-1 using 1:(bounds[i] && belongs(i, k) ? $2 : NaN):(left_of($1)):(right_of($1)):3:4 with boxxyerror fillcolor rgb bounds_colour noautoscale, \
				for [i=1:n] $data index i-1 using 1:(i == k || marks[i] ? NaN : $2) with lines linecolor rgb '#c4c4c4' linewidth 0.7 dashtype solid, \
				for [i=1:n] $data index i-1 using 1:(i != k && is_panel[i] && marks[i] ? $2 : NaN) with points linecolor rgb '#c4c4c4' pointtype 7 pointsize 0.2*mark_scale, \
				$data index k-1 using 1:(bounds[k] ? NaN : $3):(0):($4-$3) with vectors nohead linecolor rgb paint[1] dashtype solid, \
				for [i=1:n] $data index i-1 using 1:(belongs(i, k) ? $2 : NaN) with points linecolor rgb '#000000' linewidth 1 pointtype hollow[shape_of(shape[i])] pointsize 0.7*mark_scale, \
				$data index k-1 using 1:(marks[k] ? NaN : $2) with lines linecolor rgb paint[1] linewidth 1.5 dashtype solid, \
				$data index k-1 every every[k] using 1:2 with points linecolor rgb paint[1] pointtype 7 pointsize 0.35*mark_scale, \
				for [i=1:n] $data index i-1 using 1:(bounds[i] && belongs(i, k) && $5 > 0.5 ? $2 : NaN) with points linecolor rgb '#000000' pointtype 2 pointsize 1.0*mark_scale linewidth 1.2
		}
		unset label
		unset arrow
		unset object
		panel = panel + 1
	}
}
unset multiplot
