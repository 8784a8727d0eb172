# A map. $data: rows of x, y, value; x and y are exponents of powers of two. The scale of colours stands above the map, as a legend.
set label 2 y_label at screen y_label_in / page_w, screen 0.5 center rotate
set lmargin at screen 0.52 / page_w
set rmargin at screen 1 - 0.12 / page_w
set bmargin at screen 0.42 / page_h
set tmargin at screen 1 - 0.42 / page_h
set label 3 x_label at screen 0.56, screen 0.1 / page_h center
set label 1 z_label at screen 0.02, screen 1 - 0.14 / page_h left
set colorbox horizontal user origin screen 0.42, screen 1 - 0.2 / page_h size screen 0.5, screen 0.12 / page_h
set cbtics 0.2 offset 0, 0.6 scale 0.3
set cbrange [0:1]
set palette defined (0 '#f7fbff', 0.5 '#6baed6', 1 '#08306b')
unset grid
set key off
set xrange [x_min-0.5:x_max+0.5]
set yrange [y_min-0.5:y_max+0.5]
set xtics ('' x_min)
set ytics ('' y_min)
do for [i=x_min:x_max:2] { set xtics add (sprintf('%d', 2**i) i) }
do for [i=y_min:y_max:2] { set ytics add (sprintf('%d', 2**i) i) }
plot $data using 1:2:3 with image
