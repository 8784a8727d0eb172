# Common style of all figures. The script sets before: legend_share (of the height), key_rows, n,
# label[1..n], $data; key_places, and the arrays of the legend with key_n entries if it is 1: those of the series, bounds and missed bounds.
# Colours: Okabe and Ito, "Color Universal Design" (2008), without yellow, which
# is too pale on paper. Each colour has its own dash pattern, so that curves differ in greyscale too.
reset
set encoding utf8
if (!exists('mark_scale')) { mark_scale = 1 }
array colour[7] = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#000000', '#E69F00', '#56B4E9']
do for [i=1:7] { set linetype i linecolor rgb colour[i] linewidth 1.5 pointsize 0.6 }
set linetype 1 dashtype solid
set linetype 2 dashtype (12,4)
set linetype 3 dashtype (3,3)
set linetype 4 dashtype (12,3,3,3)
set linetype 5 dashtype (20,4,3,4,3,4)
set linetype 6 dashtype (6,6)
set linetype 7 dashtype (2,6)
set linetype cycle 7
set border 3 linewidth 0.75
set tics nomirror out scale 0.6
set grid linetype 1 linecolor rgb '#dddddd' linewidth 0.5 dashtype solid
set format '%g'
# Numbers of the axes stand near the axes, labels of the axes at the edges of the page.
set xtics offset 0, 0.25
set ytics offset 0.5, 0
y_label_in = 0.1
# A shape for each series, so that curves differ without colour; hollow: published values.
array filled[7] = [7, 5, 9, 11, 13, 15, 3]
array hollow[7] = [6, 4, 8, 10, 12, 14, 1]
array disc[7] = [7, 5, 9, 11, 13, 15, 7]
# Bounds of published values: a shade; a cross on the mark if no value lies within.
bounds_colour = '#d4d4d4'
shape_of(i) = (i-1) % 7 + 1
# Curves of steps are lines through their corners, because gnuplot's steps lose the dashes in PDF and PNG.
if (key_places && is_stairs) {
	set print $stairs
	before = ''
	do for [k=1:|$data|] {
		row = $data[k]
		if (words(row) < 2) { print ''; before = '' } else {
			if (before ne '' && before ne word(row, 2)) { print word(row, 1).' '.before }
			print word(row, 1).' '.word(row, 2)
			before = word(row, 2)
		}
	}
	set print
}
# The legend occupies the top of the page.
set key at screen 0.02, screen 0.985 left top Left reverse vertical maxrows key_rows samplen 3 spacing 1.1
set tmargin at screen 1 - legend_share
set rmargin 1.5
# Entries placed one by one: key_x (share of the width), key_y (row), key_sample: 1 line, 2 line with mark, 3 bar, 4 hollow mark, 5 mark, 6 bounds, 7 cross, 8 thin dashed line.
# Margins chart_left, chart_right and chart_below, in inches at 8 pt, leave most of the page to the data.
if (key_places) {
	set key off
	set lmargin at screen chart_left / page_w
	set bmargin at screen chart_below / page_h
	set rmargin at screen 1 - chart_right / page_w
	if (y_apart > 0) { set ytics y_apart }
	if (y_tics ne '') { eval 'set ytics ('.y_tics.')' }
	x_label_lines = strstrt(x_label, "\n") ? 2 : 1
	if (x_label ne '') { set label 97 x_label at screen (chart_left + page_w - chart_right) / 2 / page_w, screen (0.1 + 0.14 * (x_label_lines - 1)) / page_h center }
	# In the middle of the data, but below the legend if it is longer than they are high, and within the page: 0.058 in for each character.
	y_length = 0
	y_rest = y_label."\n"
	while (strlen(y_rest)) {
		line_end = strstrt(y_rest, "\n")
		y_length = line_end > y_length ? line_end : y_length
		y_rest = y_rest[line_end+1:*]
	}
	y_middle = (1 - legend_share + chart_below / page_h) / 2
	y_half = 0.058 * y_length / 2 / page_h
	y_middle = y_middle + y_half < 1 - legend_share ? y_middle : 1 - legend_share - y_half
	if (y_label ne '') { set label 98 y_label at screen y_label_in / page_w, screen (y_middle > y_half ? y_middle : y_half) center rotate }
	if (key_title ne '') { set label 99 key_title at screen 0.02, screen 1 - key_top - key_row * 0.5 left front }
	do for [i=1:key_n] {
		if (key_sample[i]) {
			y = 1 - key_top - key_row * (key_y[i] + 0.5)
			x = key_x[i]
			wide = 0.078 * key_scale
			key_text = i <= n ? label[i] : i == n+1 ? bounds_name : missed_name
			set label 100+i key_text at screen x + wide * 1.2, screen y left front
			if (key_sample[i] <= 2) { set arrow 100+i from screen x, screen y to screen x + wide, screen y nohead linetype shade[i] front }
			if (key_sample[i] == 3) { set object 100+i rectangle from screen x + wide * 0.15, screen y - key_row * 0.27 to \
				screen x + wide, screen y + key_row * 0.27 fillcolor rgb paint[i] fillstyle solid noborder front }
			if (key_sample[i] == 2) { set label 200+i '' at screen x + wide / 2, screen y point linetype shade[i] pointtype filled[shape_of(shape[i])] pointsize 0.5*mark_scale front }
			if (key_sample[i] == 4) { set label 200+i '' at screen x + wide / 2, screen y point linecolor rgb (marks_black ? '#000000' : paint[i]) \
				pointtype hollow[shape_of(shape[i])] pointsize 0.9*mark_scale front }
			if (key_sample[i] == 6) { set object 100+i rectangle from screen x + wide * 0.15, screen y - key_row * 0.27 to \
				screen x + wide, screen y + key_row * 0.27 fillcolor rgb bounds_colour fillstyle solid noborder front }
			if (key_sample[i] == 8) { set arrow 100+i from screen x, screen y to screen x + wide, screen y nohead linecolor rgb paint[i] \
				linewidth 1 dashtype (2,2) front }
			if (key_sample[i] == 7) { set label 200+i '' at screen x + wide / 2, screen y point linecolor rgb '#000000' pointtype 2 pointsize 1.2*mark_scale linewidth 1.2 front }
			if (key_sample[i] == 5) { set label 200+i '' at screen x + wide / 2, screen y point linecolor rgb paint[i] pointtype filled[shape_of(shape[i])] pointsize 0.7*mark_scale front }
		}
	}
}
