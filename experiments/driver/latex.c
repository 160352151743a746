/* SPDX-License-Identifier: MIT */
#include "experiments/driver/latex.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *plain, *latex;
} specials[] = {
    { "\\", "\\textbackslash{}" },
    { "{", "\\{" },
    { "}", "\\}" },
    { "$", "\\$" },
    { "&", "\\&" },
    { "#", "\\#" },
    { "%", "\\%" },
    { "_", "\\_" },
    { "^", "\\^{}" },
    { "~", "\\~{}" },
    { "<", "\\textless{}" },
    { ">", "\\textgreater{}" },
    { "×", "$\\times$" },
    { "µ", "$\\mu$" },
    { "±", "$\\pm$" },
    { "\n", " " },
};

void latex_escape(const char *text, char *out, size_t size)
{
    size_t used = 0;
    while (*text) {
        char own[8] = "";
        const char *word = own;
        size_t taken = 1;
        while (((unsigned char)text[taken] & 0xc0) == 0x80 && taken < 4) /* the rest of a UTF-8 character */
            taken++;
        memcpy(own, text, taken);
        for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
            if (strcmp(own, specials[i].plain) == 0)
                word = specials[i].latex;
        if (used + strlen(word) + 1 > size)
            break;
        used += (size_t)snprintf(out + used, size - used, "%s", word);
        text += taken;
    }
    out[used] = '\0';
}
