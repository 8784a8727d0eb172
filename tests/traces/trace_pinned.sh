# Compares sums over the rows of each generator, for one seed, with recorded values. A change of any of its constants,
# or of the order of its draws, changes the traces of stored studies and must be intended. The tolerance is 1e-10, since
# mathematical libraries differ in the last digit.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

# sums MODEL KIND: prints the number of rows, and for each column a sum in which row i is counted 1 + i mod 13 times; for
# texts, the sum of character codes
sums() {
  "$ORRERY" trace synth "$1" --seed 7 --to "$2" | awk -F, '
    BEGIN { for (i = 32; i < 127; i++) code[sprintf("%c", i)] = i }
    NR == 1 || /^#/ { next }
    {
      rows++
      for (i = 1; i <= NF; i++) {
        if ($i ~ /^-?[0-9.]+$/) { sum[i] += $i * (1 + rows % 13); continue }
        if (!($i in known)) { v = 0; for (k = 1; k <= length($i); k++) v += k * code[substr($i, k, 1)]; known[$i] = v }
        sum[i] += known[$i] * (1 + rows % 13)
      }
    }
    END { printf "%d", rows; for (i = 1; i <= NF; i++) printf " %.14g", sum[i] }'
}

while read -r model kind want; do
  got=$(sums "$model" "$kind")
  echo "$got|$want" | awk -F'|' '{
    n = split($1, g, " ")
    bad = n != split($2, w, " ")
    for (i = 1; i <= n; i++) { d = g[i] - w[i]; d = d < 0 ? -d : d; bad = bad || d > 1e-10 * (w[i] < 0 ? -w[i] : w[i]) }
    exit bad }'
  ok $? "$model as $kind: $got"
done <<'ROWS'
poisson:n=2000,service=hyper,gpus=4,models=vgg16|lenet5 orrery 2000 14009022 28431673.680218 13397.793120324 56000 14000000 0 0 0 0 0 0 21406706 0 0 0 0 0 0 0 0 0 0 0
mmpp:n=2000,service=det,mean=3,hold1=3000,hold2=600 orrery 2000 14009022 14215836.840089 42000 14000 14000000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
philly-like:n=100000,days=0 orrery 100000 34999050008 4224876340002 9839352106 911221 699986000 0 0 0 0 0 0 0 0 2698596920 0 0 0 0 0 0 0 0 0
philly-like:days=0.9,load=1.5 orrery 1116 4364140 289107828.00002 97081464 9264 7812000 0 0 0 0 0 0 0 0 13832933 0 0 0 0 0 0 0 0 0
openb-like:n=100000,types=0.3 orrery 100000 34999050008 53721681093274 17431263690 637899 490336880 6989029.4399981 24067308867 407903361 0 0 0 0 0 198499032 0 0 0 0 0 0 0 0 0
lublin:n=30000,nodes=256 orrery 30000 3149865033 2415958411524 1020339552 4685435 209991000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
tiresias-like:n=30000 orrery 30000 3149865033 377427504738 660776884 670735 209991000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
poisson:prompt=azure-code,output=azure-conv requests 10000 349925002 34977094.459636 0 69988 139720714 14290385 0 0 0 0 0
gamma:prompt=mooncake,output=lognormal:200:900:1000 requests 10000 349925002 34954829.499922 0 69988 841866735 13716315 0 0 0 0 0
periodic:n=2000,prompt=exp:50,output=3-9,model=a|b*2 requests 2000 14009022 1402302.2 1367490 14000 720041 83525 0 0 0 0 0
mmpp:n=2000 requests 2000 14009022 1977348.4212761 0 14000 0 0 0 0 0 0 0
alternating:n=2000 requests 2000 14009022 3236019.0136158 0 14000 0 0 0 0 0 0 0
irina:n=2000,arrivals=cameras,burst=4 requests 2000 14009022 192594.16421177 115711989 427432 0 0 0 0 0 0 0
hazard availability 247 72228659 2202321 2919300 0 0 0
hazard:a=diurnal,length=23.5h,hour=9 availability 82 28693565 626118 857051 0 0 0
renewal:zones=a|b,nodes=2,law=lognormal,cv=2 availability 289 572757179.6939 2869803 3416967 195866 0 0
churn:zones=a|b availability 161 36136194.141441 1395732 1748925 107912 0 0
bulk:zones=a|b,cross=0.3 availability 741 228946291.55166 7546017 9671848 505595 0 0
price:zones=a|b,most=1 availability 337 719740800 3667785 0 229326 0 2216.8583565969
poisson:n=3000,prompt=azure-conv,output=azure-code requests 3000 31498530 3195214.5068812 0 20995 23961500 620577 0 0 0 0 0
poisson:n=3000,prompt=mooncake,output=mooncake,max_output=300 requests 3000 31498530 3195214.5068812 0 20995 254533109 4538154 6298500 0 0 0 0
ROWS
tap_done
