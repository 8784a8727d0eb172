# The last iterations of one run. $data index k-1: from, to, upper and lower edge of each span of kind k, whose colour is hue[k].
# device[1..devices] names the rows; few_tics: they need some of the place of the time.
set xrange [0:time_end]
set yrange [devices+0.5:0.5]
unset grid
set ytics scale 0 ('' 1)
do for [i=1:devices] { set ytics add (device[i] i) }
# At most six tics, so that their numbers do not run together.
least = time_end / (few_tics ? 4.0 : 5.0)
power = 10.0**floor(log10(least))
step = least <= 2*power ? 2*power : least <= 5*power ? 5*power : 10*power
set xtics step
set style fill solid 1.0 noborder
plot for [k=1:kinds] $data index k-1 using 1:3:1:2:3:4 with boxxyerror linecolor rgb hue[k] notitle
