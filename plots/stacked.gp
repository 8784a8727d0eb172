# Stacked bars in each category. $data index i: position from 1, size, begin and end of the piece.
# Accounts of the spot world have the same colour in all figures.
set xlabel x_label
set ylabel y_label offset (strstrt(y_label, "\n") ? -0.8 : 0), 0
eval sprintf('set yrange [%s:%s]', y_min, y_max)
set xrange [0.4:categories+0.6]
set xtics scale 0 ('' 1)
if (tics_turned) { set xtics rotate by 30 right }
do for [i=1:categories] { set xtics add (category[i] i) }
set style fill solid 1.0 noborder
set grid noxtics
accounts = 'useful redundant wasted checkpoint restart reconfigure starting idle rounding egress'
array of_account[10] = ['#0072B2', '#56B4E9', '#D55E00', '#F0E442', '#E69F00', '#CC79A7', '#999999', '#DDDDDD', '#666666', '#000000']
array of_other[8] = ['#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#D55E00', '#999999', '#000000', '#0072B2']
array piece[n]
do for [i=1:n] {
	piece[i] = of_other[(i-1)%8+1]
	do for [k=1:10] { if (label[i] eq word(accounts, k)) { piece[i] = of_account[k] } }
}
plot for [i=1:n] $data index i-1 using 1:3:($1-0.32):($1+0.32):3:4 with boxxyerror linecolor rgb piece[i] title label[i]
