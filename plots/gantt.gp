# The jobs of one run that waited longest. $data index 0: from, to, row of each wait; index 1: of each
# running period; index 2: from first start to end of jobs whose pauses are not known. job[1..jobs] names the rows.
set xrange [time_start:time_end]
set yrange [jobs+0.7:0.3]
unset grid
set grid xtics linetype 1 linecolor rgb '#dddddd' linewidth 0.5 dashtype solid
set ytics scale 0
do for [i=1:jobs] { set ytics add (job[i] i) }
set style fill solid 1.0 noborder
plot $data index 0 using 1:3:($2-$1):(0) with vectors nohead linecolor rgb '#777777' linewidth 1 dashtype (2,2) notitle, \
	$data index 1 using 1:3:1:2:($3-0.35):($3+0.35) with boxxyerror linetype 1 linecolor rgb '#0072B2' notitle, \
	$data index 2 using 1:3:1:2:($3-0.35):($3+0.35) with boxxyerror linecolor rgb '#56B4E9' notitle
