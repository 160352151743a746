# SPDX-License-Identifier: MIT
# Speed-up of each series over its own time on one thread. Dashed grey: ideal. Dotted: Amdahl's law, fitted. The upright line
# is where physical cores end, as far as that is known.
base = ARG1
formats = strlen(ARG2) ? ARG2 : 'svg png'
millimetres = strlen(ARG3) ? real(ARG3) : 0
folder = ARG0
while (strlen(folder) && folder[strlen(folder):*] ne '/') { folder = folder[1:strlen(folder) - 1] }
extras = 'x with lines linecolor rgb "#404040" linewidth 1.0 dashtype 2 notitle, '
latex = formats eq 'tex'
load base.(latex ? '-latex.set' : '.set')
if (cores > xmin && cores < xmax) {
    set arrow 1 from first cores, graph 0 to first cores, graph 1 nohead back linecolor '#909090' dashtype 3
    set label 20 cores_text at first cores, graph 0.02 left offset 0.4,0 noenhanced font ',9' textcolor '#606060'
}
load folder.'common.gp'
