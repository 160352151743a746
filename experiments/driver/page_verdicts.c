/* SPDX-License-Identifier: MIT */
#include "experiments/driver/page_parts.h"

#include <string.h>

static const char *const word_classes[CLAIM_WORD_COUNT] = { "yes", "part", "no", "open" };
static const char *const word_signs[CLAIM_WORD_COUNT] = { "✓", "◐", "✗", "–" };

static void add_ratio(cJSON *row, const char *name, const struct claim_ratio *ratio)
{
    char text[256];
    snprintf(text, sizeof text, "%.3g", ratio->value);
    cJSON_AddStringToObject(row, name, text);
    snprintf(text, sizeof text, "[%.3g, %.3g]", ratio->low, ratio->high);
    char key[32];
    snprintf(key, sizeof key, "%s_interval", name);
    cJSON_AddStringToObject(row, key, text);
    snprintf(key, sizeof key, "%s_at", name);
    cJSON_AddStringToObject(row, key, ratio->at);
}

static cJSON *finding_row(const struct claim_finding *finding, bool machines)
{
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "series", finding->series);
    cJSON_AddStringToObject(row, "base", finding->base);
    cJSON_AddStringToObject(row, "phase", chart_phase_noun(finding->phase));
    cJSON_AddStringToObject(row, "machine", machines ? finding->machine : "");
    cJSON_AddStringToObject(row, "word", claim_word_text(finding->word));
    cJSON_AddStringToObject(row, "class", word_classes[finding->word]);
    cJSON_AddStringToObject(row, "sign", word_signs[finding->word]);
    cJSON_AddStringToObject(row, "why", finding->why);
    if (finding->points > 0) {
        add_ratio(row, "least", &finding->least);
        add_ratio(row, "most", &finding->most);
    }
    return row;
}

/* Findings of one claim may stand apart where several runs follow each other. */
cJSON *page_verdicts(const struct claim_findings *merged, bool machines)
{
    cJSON *claims = cJSON_CreateArray();
    for (int i = 0; i < merged->count; i++) {
        const struct claim_finding *finding = &merged->list[i];
        cJSON *claim = NULL, *element = NULL;
        cJSON_ArrayForEach(element, claims)
        {
            if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(element, "claim")), finding->claim))
                claim = element;
        }
        if (!claim) {
            claim = cJSON_CreateObject();
            cJSON_AddStringToObject(claim, "claim", finding->claim);
            cJSON_AddItemToObject(claim, "rows", cJSON_CreateArray());
            cJSON_AddBoolToObject(claim, "machines", machines);
            cJSON_AddItemToArray(claims, claim);
        }
        cJSON_AddItemToArray(cJSON_GetObjectItem(claim, "rows"), finding_row(finding, machines));
    }
    return claims;
}
