# The last iterations of one run. $data index k-1: from, to, upper and lower edge of each span of kind[k].
# device[1..devices] names the rows.
set xlabel sprintf('time (%s)', time_unit) offset 0, 0.3
set ylabel 'device'
set xrange [0:time_end]
set yrange [devices+0.5:0.5]
unset grid
set ytics scale 0 ('' 1)
do for [i=1:devices] { set ytics add (device[i] i) }
# At most six tics, fewer beside long names, so that their numbers do not run together.
longest = 0
do for [i=1:devices] { longest = strlen(device[i]) > longest ? strlen(device[i]) : longest }
least = time_end / (longest > 8 ? 4.0 : 5.0)
power = 10.0**floor(log10(least))
step = least <= 2*power ? 2*power : least <= 5*power ? 5*power : 10*power
set xtics step
if (longest > 4) { set ylabel "" }
set lmargin at screen ((longest > 4 ? 0.12 : 0.28) + 0.07 * longest) / page_w
set rmargin at screen 1 - 0.1 / page_w
set bmargin at screen 0.46 / page_h
set style fill solid 1.0 noborder
# Horizontal, because the page may be one row high: a vertical legend would be cut off or cover the rows.
set key horizontal maxcols (titles > 3 ? 2 : 3) samplen 1.5 width 1 title label[1] left
array shade[8] = ['#0072B2', '#D55E00', '#F0A070', '#009E73', '#CC79A7', '#777777', '#E69F00', '#56B4E9']
plot for [k=1:kinds] $data index k-1 using 1:3:1:2:3:4 with boxxyerror linecolor rgb shade[k] \
	title (is_there[k] ? kind[k] : '')
