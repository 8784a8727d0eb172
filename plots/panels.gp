# A panel for each of many series, which the others accompany in grey. $data index i: x, y, low, high. panel_label[i]: title of the panel.
# Marks belong to the line of their colour. Shares of the height: panel_title above each panel, panel_below all of them.
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
rows = int(ceil(panels / real(panel_columns)))
if (x_step > 0) { set xtics x_step }
if (y_step > 0) { set ytics y_step }
left = panel_left / page_w
across = (0.985 - left) / panel_columns
down = (1 - panel_below) / rows
set key off
set xtics offset 0, 0.2
set multiplot
set label 1 x_label at screen left + (0.985 - left) / 2, character 0.8 center
set label 2 y_label at screen 0.025, screen panel_below + (1 - panel_below) / 2 center rotate
panel = 0
do for [k=1:n] {
	if (!marks[k]) {
		column = panel % panel_columns
		row = panel / panel_columns
		set lmargin at screen left + column * across
		set rmargin at screen left + (column + 1) * across - (log_x ? 0.045 : 0.02)
		set tmargin at screen 1 - row * down - panel_title
		set bmargin at screen 1 - (row + 1) * down + 0.015
		set title panel_label[k] offset 0, -0.9
		if (column) { set format y '' } else { set format y '%g' }
		is_last = panel + panel_columns >= panels
		set format x (is_last ? '%g' : '')
		if (x_step < 0) { set xtics ((is_last ? gprintf('%g', x_from) : '') x_from, (is_last ? gprintf('%g', x_to) : '') x_to) }
		if (categories) {
			set xtics ('' 1)
			do for [i=1:categories] { set xtics add ((is_last ? category[i] : '') i) }
		}
		if (is_bars) {
			set style fill solid 1.0 noborder
			plot for [i=1:n] $data index i-1 using 1:(i == k || marks[i] ? NaN : $2) with points linecolor rgb '#c4c4c4' pointtype 0, \
				$data index k-1 using 1:(log_y ? NaN : $2):(0.7) with boxes linecolor rgb paint[1] dashtype solid, \
				$data index k-1 using 1:(log_y ? $2 : NaN) with points linecolor rgb paint[1] pointtype 7 pointsize 0.5*mark_scale, \
				$data index k-1 using 1:(bounds[k] ? NaN : $3):(0):($4-$3) with vectors nohead linecolor rgb '#555555' dashtype solid, \
				for [i=1:n] $data index i-1 using 1:(marks[i] && shade[i] == shade[k] ? $2 : NaN) with points linecolor rgb '#000000' pointtype 6 pointsize 0.6*mark_scale
		}
		if (is_steps) {
			plot for [i=1:n] $data index i-1 using 1:(i == k ? NaN : $2) with steps linecolor rgb '#c4c4c4' linewidth 0.7 dashtype solid, \
				$data index k-1 using 1:2 with steps linecolor rgb paint[1] linewidth 1.5 dashtype solid
		}
		if (!is_steps && !is_bars) {
			plot for [i=1:n] $data index i-1 using 1:(i == k || marks[i] ? NaN : $2) with lines linecolor rgb '#c4c4c4' linewidth 0.7 dashtype solid, \
				for [i=1:n] $data index i-1 using 1:(marks[i] && shade[i] == shade[k] ? $2 : NaN) with points linecolor rgb '#000000' pointtype 6 pointsize 0.6*mark_scale, \
				$data index k-1 using 1:(bounds[k] ? NaN : $3):(0):($4-$3) with vectors nohead linecolor rgb paint[1] dashtype solid, \
				$data index k-1 using 1:2 with linespoints linecolor rgb paint[1] linewidth 1.5 dashtype solid pointtype 7 pointsize 0.4*mark_scale
		}
		unset label 1
		unset label 2
		panel = panel + 1
	}
}
unset multiplot
