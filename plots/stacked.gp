# Stacked bars in each category. $data index i: position from 1, size, begin and end of the piece.
eval sprintf('set yrange [%s:%s]', y_min, y_max)
set xrange [0.4:categories+0.6]
set xtics scale 0 ('' 1)
if (tics_turned) { set xtics rotate by tics_angle right }
do for [i=1:categories] { set xtics add (category[i] i) }
set style fill solid 1.0 noborder
set grid noxtics
plot for [i=1:n] $data index i-1 using 1:3:($1-0.32):($1+0.32):3:4 with boxxyerror linecolor rgb paint[i] notitle
