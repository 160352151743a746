# SPDX-License-Identifier: MIT
# A map of speed-up over two axes: a square for each point with its ratio, and lines where it is 1, 2, 24 and 100: contours of
# the ratio's logarithm over logarithmic axes, straight between neighbouring points.
base = ARG1
formats = strlen(ARG2) ? ARG2 : 'svg png'
millimetres = strlen(ARG3) ? real(ARG3) : 0
folder = ARG0
while (strlen(folder) && folder[strlen(folder):*] ne '/') { folder = folder[1:strlen(folder) - 1] }
extras = ''
latex = formats eq 'tex'
load base.(latex ? '-latex.set' : '.set')
set contour base
set cntrparam levels discrete 0, log10(2), log10(24), 2
unset surface
set table $contours
splot $grid using 1:2:3
unset table
set surface
unset contour
# A block of lines for each contour, or none.
lines = 0
if (|$contours| > 0) {
    stats $contours using 3 nooutput
    lines = exists('STATS_records') ? STATS_records : 0
}
set palette defined (-1 '#D55E00', 0 '#F7F7F7', 1 '#56B4E9', 2 '#0072B2')
set cbrange [-1:2]
unset colorbox
instead = "csv using 7:(number(3)):(log10(number(8))) with points pointtype 5 pointsize 4.2 palette notitle, ". \
    "csv using 7:(number(3)):(sprintf('%.3g', number(8))) with labels noenhanced center font small(0.72) notitle"
if (lines > 0) {
    # Columns of a block are told apart by blanks, those of the figure's CSV by commas.
    part(n) = strstrt(word(strcol(1), n), 'e-') ? 0 : real(word(strcol(1), n))
    line = '$contours using (10 ** part(1)):(10 ** part(2))'
    instead = instead.', '.line.' with lines linecolor rgb "#202020" linewidth 1.4 notitle, '. \
        line.':(sprintf("%.3g", 10 ** part(3))) every 100000::0 with labels noenhanced left offset 0.5,0.5 font small(0.72) notitle'
}
load folder.'common.gp'
