# SPDX-License-Identifier: MIT
# What all figures share: colours, points, axes, legend, caption, formats. A figure is drawn by
#
#     gnuplot -c plots/time.gp RUN/charts/time-train ['svg png pdf tex' [MILLIMETRES]]
#
# from RUN/charts/time-train.csv (the numbers: series, value of the axis, y, low, high, status, x) and
# RUN/charts/time-train.set (the words: title, labels, series, ranges, ticks). The program writes both; pictures appear beside
# them. To change a figure's words edit its .set and draw again. `tex` draws time-train-latex.tex and .pdf for
# \input{time-train-latex} in a LaTeX document, words from time-train-latex.set; title and caption are left to the document.
#
# The script of a figure sets `base`, `formats` and `millimetres` (its arguments), `folder` (of these scripts) and `extras`: plot elements that lie under the lines.

set encoding utf8
latex = formats eq 'tex'
load base.(latex ? '-latex.set' : '.set')
set datafile separator ','

# In the figure's own folder a LaTeX picture is found beside its text.
place_of = base
while (strlen(place_of) && place_of[strlen(place_of):*] ne '/') { place_of = place_of[1:strlen(place_of) - 1] }
name = base[strlen(place_of) + 1:*]
if (strlen(place_of)) { cd place_of }
csv = name.'.csv'

# Okabe and Ito's colours: told apart by colour-blind readers and, with the points, in grey print. The first is black.
array colour[8] = ['#000000', '#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#7F7F7F']
array symbol[8] = [7, 5, 9, 13, 11, 15, 4, 8]
array hollow[8] = [6, 4, 8, 12, 10, 14, 4, 8]
nth(i) = (place[i] - 1) % 8 + 1

# What only some figures have: a column of fitted values, room below the ticks (in letters), a picture of their own.
if (!exists('fits')) { fits = 0 }
if (!exists('room')) { room = 0 }
if (!exists('instead')) { instead = '' }
# A cell as a number. A cell without one must be NaN and not merely missing, or a line would cross the gap.
number(c) = strlen(strcol(c)) ? column(c) : NaN # real() of a text refuses '4e-05'
foot = ylog ? ymin * (ymax / ymin) ** 0.015 : ymin + 0.015 * (ymax - ymin)
linked(i) = joined ? measured(i) : NaN
measured(i) = strcol(1) eq id[i] && strcol(6) eq 'ok' ? number(3) : NaN
uncertain(i) = strcol(1) eq id[i] && strcol(6) eq 'unstable' ? number(3) : NaN
shown(i) = strcol(1) eq id[i] && (strcol(6) eq 'ok' || strcol(6) eq 'unstable') ? number(3) : NaN
mark(i) = strcol(1) eq id[i] && strlen(strcol(3)) == 0 ? number(7) : NaN
fitted(i) = fits && strcol(1) eq id[i] ? number(8) : NaN
typed(i) = strcol(1) eq published_id[i] && strcol(6) eq 'published' ? number(3) : NaN

# Sizes in units of 1/96 inch, all from the width and the size F of the letters. A column of a journal (88 mm) gets letters
# of 7 points and one legend entry a line; LaTeX sets its own, \footnotesize (8 points) is what fits.
W = millimetres > 0 ? millimetres * 96 / 25.4 : 760
F = latex ? 10.7 : W < 500 ? 9.3 : 12
entries = strlen(instead) ? 0 : series + published
longest = 0
do for [i = 1:series] { longest = strlen(label[i]) > longest ? strlen(label[i]) : longest }
columns = W < 500 || longest > 34 ? 1 : 2 # of the legend; labels with a machine's name are long
legend_rows = int((entries + columns - 1) / columns)
words = latex ? 0 : 1
above = words * 4.9 * F + 0.4 * F + 1.75 * F * legend_rows
below = (4.6 + room) * F + words * (F + 1.25 * F * caption_lines)
H = above + below + (W < 500 ? 0.62 : 0.42) * W
top = 1 - above / H
bottom = below / H
set tmargin at screen top
set bmargin at screen bottom
set lmargin at screen 8.2 * F / W
set rmargin at screen 1 - 1.8 * F / W
small(share) = sprintf(',%.1f', share * F)
if (words) {
    set label 1 title at screen 0.02, 1 - 1.9 * F / H left font small(W < 500 ? 1.0 : 1.08)
    set label 4 about at screen 0.02, 1 - 3.6 * F / H left font small(0.75) textcolor '#505050'
    set label 2 caption at screen 0.02, (1.04 * F + 1.25 * F * (caption_lines - 1)) / H left font small(0.7) textcolor '#505050'
}
set key at screen 7.6 * F / W, 1 - words * 4.7 * F / H left top horizontal Left reverse noenhanced samplen 2.4 width 1 spacing 1.15
if (columns == 1) { set key maxcols 1 } else { set key maxcols 2 }

set border 3 linecolor '#404040' linewidth 0.8
set tics nomirror scale 0.5 textcolor '#202020'
set grid xtics ytics linecolor '#DCDCDC' linetype 1 linewidth 0.6
set errorbars 0.6
set style fill solid 1.0 noborder
set xlabel xlabel noenhanced offset 0,0.2
set label 3 ylabel at screen 1.3 * F / W, 0.5 * (top + bottom) center rotate noenhanced
set xrange [xmin:xmax]
set yrange [ymin:ymax]
if (xlog) { set logscale x }
if (ylog) { set logscale y }
set nomxtics
set nomytics

look = 'linecolor rgb colour[nth(i)] '
overlay = 'linecolor rgb "#404040" linewidth 1.2 pointtype 1 + i pointsize 1.3 '
picture = 'plot '.extras. \
    'for [i = 1:series] csv using 7:(shown(i)):4:5 with yerrorbars '.look.'linewidth 0.9 pointtype 0 notitle, '. \
    'for [i = 1:series] csv using 7:(linked(i)) with lines '.look.'linewidth 1.5 dashtype 1 + flat[i] notitle, '. \
    (fits ? 'for [i = 1:series] csv using 7:(fitted(i)) with lines '.look.'linewidth 0.9 dashtype 3 notitle, ' : ''). \
    'for [i = 1:series] csv using 7:(measured(i)) with points '.look.'pointtype symbol[nth(i)] pointsize 0.9 * (1 - flat[i]) notitle, '. \
    'for [i = 1:series] csv using 7:(uncertain(i)) with points '.look.'pointtype hollow[nth(i)] pointsize 0.9 * (1 - flat[i]) notitle, '. \
    (published ? 'for [i = 1:published] csv using 7:(typed(i)) with points '.overlay.'notitle, ' : ''). \
    'for [i = 1:series] csv using (mark(i)):(foot):6 with labels noenhanced left rotate offset 0.9 * (i - 1),0 font small(0.67) textcolor rgb colour[nth(i)] notitle, '. \
    'for [i = 1:series] keyentry with linespoints '.look.'linewidth 1.5 dashtype 1 + flat[i] pointtype symbol[nth(i)] pointsize 0.9 * (1 - flat[i]) title label[i]'. \
    (published ? ', for [i = 1:published] keyentry with points '.overlay.'title published_label[i]' : '')
if (strlen(instead)) { picture = 'plot '.instead }

do for [kind in formats] {
    file = name.'.'.kind
    if (kind eq 'svg') {
        set terminal svg size W,H dynamic noenhanced font 'DejaVu Sans,'.sprintf('%g', F) linewidth 1.2 background '#FFFFFF'
    }
    if (kind eq 'png') { # twice the size of a screen; 300 dots per inch where a width in print is given
        dots = millimetres > 0 ? 300.0 / 96 : 2
        set terminal pngcairo size dots * W, dots * H noenhanced font 'DejaVu Sans,'.sprintf('%g', F) fontscale 0.8 * dots linewidth 1.2 * dots pointscale 0.95 * dots background '#FFFFFF'
    }
    if (kind eq 'pdf') {
        set terminal pdfcairo size W / 96, H / 96 noenhanced font 'DejaVu Sans,'.sprintf('%g', F) fontscale 0.75 linewidth 1.2 background '#FFFFFF'
    }
    if (kind eq 'tex') {
        set terminal cairolatex pdf input size W / 96, H / 96 font ',8' linewidth 1.2
        file = name.'-latex.tex'
    }
    set output file
    eval picture
    set output
}
