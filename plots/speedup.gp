# SPDX-License-Identifier: MIT
# Speed-up over the base series on a logarithmic axis: base median / series median, bars for its interval [base low /
# series high, base high / series low]. What a paper claims is shaded; the line at 1 is the base.
base = ARG1
formats = strlen(ARG2) ? ARG2 : 'svg png'
millimetres = strlen(ARG3) ? real(ARG3) : 0
folder = ARG0
while (strlen(folder) && folder[strlen(folder):*] ne '/') { folder = folder[1:strlen(folder) - 1] }
extras = '1 with lines linecolor rgb "#404040" linewidth 1.0 dashtype 3 notitle, '
latex = formats eq 'tex'
load base.(latex ? '-latex.set' : '.set')
do for [i = 1:claims] {
    set object i rectangle from graph 0, first claim_low[i] to graph 1, first claim_high[i] behind \
        fillcolor rgb (i == 1 ? '#56B4E9' : '#E69F00') fillstyle solid 0.18 noborder
    set label 10 + i 'claim: '.claim_text[i] at graph 0.99, first claim_low[i] right offset 0,0.7 front noenhanced \
        font millimetres > 0 && millimetres < 132 ? ',7' : ',9' \
        textcolor rgb (i == 1 ? '#2A6F97' : '#8A5F00')
}
load folder.'common.gp'
