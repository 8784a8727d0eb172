# A map. $data: rows of x, y, value; x and y are exponents of powers of two.
set xlabel x_label
set ylabel y_label
set rmargin 9
set cblabel z_label offset 1, 0
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
