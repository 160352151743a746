# SPDX-License-Identifier: MIT
# Energy of one image over an axis, where the device tells it: a line for each series.
base = ARG1
formats = strlen(ARG2) ? ARG2 : 'svg png'
millimetres = strlen(ARG3) ? real(ARG3) : 0
folder = ARG0
while (strlen(folder) && folder[strlen(folder):*] ne '/') { folder = folder[1:strlen(folder) - 1] }
extras = ''
load folder.'common.gp'
