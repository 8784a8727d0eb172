# Common style of all figures. The script sets before: legend_share (of the height), key_rows, n,
# label[1..n], $data.
# Colours: Okabe and Ito, "Color Universal Design" (2008), without yellow, which
# is too pale on paper. Each colour has its own dash pattern, so that curves differ in greyscale too.
reset
set encoding utf8
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
# The legend occupies the top of the page.
set key at screen 0.02, screen 0.985 left top Left reverse vertical maxrows key_rows samplen 3 spacing 1.1
set tmargin at screen 1 - legend_share
set rmargin 1.5
