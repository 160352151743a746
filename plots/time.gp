# SPDX-License-Identifier: MIT
# Time of one step over an axis: a line for each series, bars for the 95 % interval of the median.
base = ARG1
formats = strlen(ARG2) ? ARG2 : 'svg png'
millimetres = strlen(ARG3) ? real(ARG3) : 0
folder = ARG0
while (strlen(folder) && folder[strlen(folder):*] ne '/') { folder = folder[1:strlen(folder) - 1] }
extras = ''
load folder.'common.gp'
