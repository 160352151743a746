/* SPDX-License-Identifier: MIT */
/* Fills a text with data, in the core of Mustache's language: {{name}} with HTML's special characters escaped,
 * {{{name}}} as it is, {{#list}}...{{/list}} for every element, or once for an object or a text that is not empty,
 * {{^list}}...{{/list}} where there is none, {{.}} the element itself. Names are looked for in the innermost object
 * first. */
#ifndef DRIVER_TEMPLATE_H
#define DRIVER_TEMPLATE_H

#include "lib/status.h"

#include <cjson/cJSON.h>
#include <stdio.h>

/* CNN_INVALID where a section is not closed, or closed under another name; what came before it is then in `out`. */
int template_render(FILE *out, const char *text, const cJSON *data, struct cnn_error *error);

#endif
