# SPDX-License-Identifier: MIT
# Test error (%) of training runs, over epochs or over the seconds of training: a line for each series, and
# a band where it stands for several seeds.
base = ARG1
formats = strlen(ARG2) ? ARG2 : 'svg png'
millimetres = strlen(ARG3) ? real(ARG3) : 0
folder = ARG0
while (strlen(folder) && folder[strlen(folder):*] ne '/') { folder = folder[1:strlen(folder) - 1] }
extras = 'for [i = 1:series] csv using (shown(i) > 0 ? number(7) : NaN):4:5 with filledcurves fillcolor rgb colour[nth(i)] fillstyle transparent solid 0.18 noborder notitle, '
load folder.'common.gp'
