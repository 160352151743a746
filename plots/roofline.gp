# SPDX-License-Identifier: MIT
# Roofline (Williams, Waterman, Patterson 2009): executed FLOP/s over FLOPs per byte, under what the device was measured to do at
# most. Flat: multiply-adds; sloped: reading from a level of memory.
base = ARG1
formats = strlen(ARG2) ? ARG2 : 'svg png'
millimetres = strlen(ARG3) ? real(ARG3) : 0
folder = ARG0
while (strlen(folder) && folder[strlen(folder):*] ne '/') { folder = folder[1:strlen(folder) - 1] }
latex = formats eq 'tex'
load base.(latex ? '-latex.set' : '.set')
edge = '#404040'
extras = ''
if (rates) { extras = extras.'for [i = 1:rates] (rate[i]) with lines linecolor rgb edge linewidth 1.0 dashtype i notitle, ' }
if (slopes) { extras = extras.'for [i = 1:slopes] (slope[i] * x <= rate[1] ? slope[i] * x : NaN) with lines linecolor rgb edge linewidth 0.8 dashtype i notitle, ' }
do for [i = 1:rates] { set label 20 + i rate_text[i] at graph 0.985, first rate[i] right offset 0,0.5 noenhanced font ',9' textcolor rgb edge }
do for [i = 1:slopes] {
    foot_at = 1.1 * (xmin * slope[i] > ymin ? xmin : ymin / slope[i])
    if (slope[i] * foot_at < rate[1]) {
        set label 40 + i slope_text[i] at first foot_at, first slope[i] * foot_at left offset 0.8,0 noenhanced font ',9' textcolor rgb edge
    }
}
set samples 500
load folder.'common.gp'
