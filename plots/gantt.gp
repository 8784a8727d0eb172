# The first jobs of one run. $data index 0: from, to, row of each wait; index 1: of each
# running period. job[1..jobs] names the rows; label_width is the number of
# characters of the longest name.
set xlabel sprintf('time (%s)', time_unit)
set ylabel 'job (GPUs)'
set xrange [time_start:time_end]
set yrange [jobs+0.7:0.3]
unset grid
set grid xtics linetype 1 linecolor rgb '#dddddd' linewidth 0.5 dashtype solid
set ytics scale 0
do for [i=1:jobs] { set ytics add (job[i] i) }
set style fill solid 1.0 noborder
set key title label[1] left maxrows 1
set lmargin label_width + 4.5
plot $data index 0 using 1:3:($2-$1):(0) with vectors nohead linecolor rgb '#777777' linewidth 1 \
		dashtype (2,2) title 'waiting', \
	$data index 1 using 1:3:1:2:($3-0.35):($3+0.35) with boxxyerror linetype 1 linecolor rgb '#0072B2' title 'running'
