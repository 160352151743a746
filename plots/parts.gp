# SPDX-License-Identifier: MIT
# The parts of a speed-up: a bar for each step of the explanation, from the time of the step before it to its own, with the
# factor between the two above (÷ faster, × slower) and the time of an image below it.
base = ARG1
formats = strlen(ARG2) ? ARG2 : 'svg png'
millimetres = strlen(ARG3) ? real(ARG3) : 0
folder = ARG0
while (strlen(folder) && folder[strlen(folder):*] ne '/') { folder = folder[1:strlen(folder) - 1] }
extras = ''
room = 7
first_of(i) = strcol(3) eq strcol(8)
low_of(i) = first_of(i) ? ymin : number(8)
time_text(s) = s >= 1 ? sprintf('%.3g s', s) : s >= 1e-3 ? sprintf('%.3g ms', s * 1e3) : sprintf('%.3g us', s * 1e6)
factor_text(was, is) = was >= is ? sprintf('÷ %.3g', was / is) : sprintf('× %.3g', is / was)
factor(i) = strlen(strcol(3)) && !first_of(i) ? factor_text(number(8), number(3)) : ''
ink(i) = first_of(i) ? 0x7F7F7F : number(3) <= number(8) ? 0x009E73 : 0xD55E00
upper(i) = number(8) > number(3) ? number(8) : number(3)
instead = 'for [i = 1:series] csv using 7:(shown(i)):($7 - 0.38):($7 + 0.38):(low_of(i)):(shown(i)):(ink(i)) with boxxyerror fillstyle solid 0.55 linecolor rgb variable notitle, '. \
    'for [i = 1:series] csv using 7:(shown(i)):4:5 with yerrorbars linecolor rgb "#404040" linewidth 0.9 pointtype 0 notitle, '. \
    'for [i = 1:series] csv using 7:(shown(i) > 0 ? upper(i) : NaN):(factor(i)) with labels noenhanced center offset 0,0.7 font small(0.67) notitle, '. \
    'for [i = 1:series] csv using 7:(shown(i)):(time_text(number(3))) with labels noenhanced center offset 0,-0.8 font small(0.72) notitle, '. \
    'for [i = 1:series] csv using (mark(i)):(foot):6 with labels noenhanced left rotate font small(0.67) notitle'
set xtics rotate by 32 right font ',9'
load folder.'common.gp'
