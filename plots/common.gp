# SPDX-License-Identifier: MIT
# What all figures share: colours, points, axes, legend, caption. A figure is drawn by
#
#     gnuplot -c plots/time.gp RUN/charts/time-train
#
# from RUN/charts/time-train.csv (the numbers: series, value of the axis, y, low, high, status, x) and
# RUN/charts/time-train.set (the words: title, labels, series, ranges, ticks). The program writes both; .svg and .png appear
# beside them. To change a figure's words edit its .set and draw again.
#
# The script of a figure sets `base` (ARG1), `folder` (of these scripts) and `extras`: plot elements that lie under the lines.

set encoding utf8
load base.'.set'
set datafile separator ','
csv = base.'.csv'

# Okabe and Ito's colours: told apart by colour-blind readers and, with the points, in grey print. The first is black.
array colour[8] = ['#000000', '#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#7F7F7F']
array symbol[8] = [7, 5, 9, 13, 11, 15, 4, 8]
array hollow[8] = [6, 4, 8, 12, 10, 14, 4, 8]
nth(i) = (place[i] - 1) % 8 + 1

# A cell as a number. A cell without one must be NaN and not merely missing, or a line would cross the gap.
number(column) = strlen(strcol(column)) ? real(strcol(column)) : NaN
foot = ylog ? ymin * (ymax / ymin) ** 0.015 : ymin + 0.015 * (ymax - ymin)
linked(i) = joined ? measured(i) : NaN
measured(i) = strcol(1) eq id[i] && strcol(6) eq 'ok' ? number(3) : NaN
uncertain(i) = strcol(1) eq id[i] && strcol(6) eq 'unstable' ? number(3) : NaN
shown(i) = strcol(1) eq id[i] && (strcol(6) eq 'ok' || strcol(6) eq 'unstable') ? number(3) : NaN
mark(i) = strcol(1) eq id[i] && strlen(strcol(3)) == 0 ? number(7) : NaN

# Where the plot lies: title, legend in two columns, plot, caption.
legend_rows = int((series + 1) / 2)
top = 0.875 - 0.042 * legend_rows
bottom = 0.135 + 0.030 * caption_lines
set tmargin at screen top
set bmargin at screen bottom
set lmargin at screen 0.13
set rmargin at screen 0.965
set label 1 title at screen 0.02,0.955 left font ',13'
set label 4 about at screen 0.02,0.912 left font ',9' textcolor '#505050'
set label 2 caption at screen 0.02,0.025 + 0.030 * (caption_lines - 1) left font ',8.5' textcolor '#505050'
set key at screen 0.12,0.887 left top horizontal maxcols 2 Left reverse noenhanced samplen 2.4 width 1 spacing 1.15

set border 3 linecolor '#404040' linewidth 0.8
set tics nomirror scale 0.5 textcolor '#202020'
set grid xtics ytics linecolor '#DCDCDC' linetype 1 linewidth 0.6
set errorbars 0.6
set style fill solid 1.0 noborder
set xlabel xlabel noenhanced offset 0,0.2
set label 3 ylabel at screen 0.02,0.5 * (top + bottom) center rotate noenhanced
set xrange [xmin:xmax]
set yrange [ymin:ymax]
if (xlog) { set logscale x }
if (ylog) { set logscale y }
set nomxtics
set nomytics

look = 'linecolor rgb colour[nth(i)] '
picture = 'plot '.extras. \
    'for [i = 1:series] csv using 7:(shown(i)):4:5 with yerrorbars '.look.'linewidth 0.9 pointtype 0 notitle, '. \
    'for [i = 1:series] csv using 7:(linked(i)) with lines '.look.'linewidth 1.5 dashtype 1 + flat[i] notitle, '. \
    'for [i = 1:series] csv using 7:(measured(i)) with points '.look.'pointtype symbol[nth(i)] pointsize 0.9 * (1 - flat[i]) notitle, '. \
    'for [i = 1:series] csv using 7:(uncertain(i)) with points '.look.'pointtype hollow[nth(i)] pointsize 0.9 * (1 - flat[i]) notitle, '. \
    'for [i = 1:series] csv using (mark(i)):(foot):6 with labels noenhanced left rotate offset 0.9 * (i - 1),0 font ",8" textcolor rgb colour[nth(i)] notitle, '. \
    'for [i = 1:series] keyentry with linespoints '.look.'linewidth 1.5 dashtype 1 + flat[i] pointtype symbol[nth(i)] pointsize 0.9 * (1 - flat[i]) title label[i]'

do for [kind in 'svg png'] {
    if (kind eq 'svg') {
        set terminal svg size 760,500 dynamic noenhanced font 'DejaVu Sans,12' linewidth 1.2 background '#FFFFFF'
    } else {
        set terminal pngcairo size 1520,1000 noenhanced font 'DejaVu Sans,12' fontscale 1.9 linewidth 2.4 pointscale 1.9 background '#FFFFFF'
    }
    set output base.'.'.kind
    eval picture
    set output
}
