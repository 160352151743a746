/* SPDX-License-Identifier: MIT */
/* Brings images to the side a study asks for: zeros around them, or a separable triangle filter. When enlarging the
 * triangle is one source pixel wide on each side, which is bilinear interpolation; when shrinking it grows with the
 * step, so that no source pixel is skipped. Weights are normalised: a flat image stays flat. */
#include "lib/checked.h"
#include "lib/dataset_parts.h"
#include "lib/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cnn_fitter {
    int own, side;
    int pad;       /* zeros before; -1: scaled */
    int taps;      /* source pixels per result, at most */
    int *first;    /* [side]: first source pixel */
    float *weight; /* [side][taps]; 0 behind the last */
    float *rows;   /* [own][side]: the image after its rows are scaled */
    float *line;   /* [side]: one row of the result */
};

static bool pads(int own, int side, enum cnn_fit fit)
{
    return fit == CNN_FIT_PAD || side == own || (fit == CNN_FIT_AUTO && own < side && 2 * side < 3 * own);
}

/* Weights of result pixel `at`: a triangle around its centre, seen in source pixels and cut at the image's ends. */
static void weights_init(struct cnn_fitter *fitter, int at)
{
    double step = (double)fitter->own / fitter->side, reach = step > 1 ? step : 1;
    double centre = (at + 0.5) * step - 0.5, sum = 0;
    float *weight = fitter->weight + (size_t)at * fitter->taps;
    int first = (int)floor(centre - reach) + 1, last = (int)ceil(centre + reach) - 1; /* weight 0 beyond */
    first = first < 0 ? 0 : first;
    last = last >= fitter->own ? fitter->own - 1 : last;
    for (int i = first; i <= last; i++)
        sum += 1 - fabs(i - centre) / reach;
    for (int i = first; i <= last; i++)
        weight[i - first] = (float)((1 - fabs(i - centre) / reach) / sum);
    fitter->first[at] = first;
}

static int scaling_create(struct cnn_fitter *fitter, struct cnn_error *error)
{
    size_t first, weight, rows, line;
    double step = (double)fitter->own / fitter->side;
    int64_t count;
    fitter->pad = -1;
    fitter->taps = 2 * (int)ceil(step > 1 ? step : 1);
    if (!cnn_bytes(fitter->side, sizeof *fitter->first, &first) || !cnn_mul(fitter->side, fitter->taps, &count) ||
        !cnn_bytes(count, sizeof *fitter->weight, &weight) || !cnn_mul(fitter->own, fitter->side, &count) ||
        !cnn_bytes(count, sizeof *fitter->rows, &rows) || !cnn_bytes(fitter->side, sizeof *fitter->line, &line))
        return cnn_error_set(error, CNN_INVALID, "images of side %d scaled to %d: too large", fitter->own,
                             fitter->side);
    fitter->first = malloc(first);
    fitter->weight = calloc(1, weight);
    fitter->rows = malloc(rows);
    fitter->line = malloc(line);
    if (!fitter->first || !fitter->weight || !fitter->rows || !fitter->line)
        return cnn_error_set(error, CNN_OOM, "images of side %d scaled to %d: no memory", fitter->own, fitter->side);
    for (int at = 0; at < fitter->side; at++)
        weights_init(fitter, at);
    return CNN_OK;
}

int cnn_fitter_create(struct cnn_fitter **out, int own, int side, enum cnn_fit fit, struct cnn_error *error)
{
    *out = NULL;
    if (own < 1 || own > CNN_SIDE_MAX || side < 1 || side > CNN_SIDE_MAX)
        return cnn_error_set(error, CNN_INVALID, "images of side %d to side %d: expected sides 1 to %d", own, side,
                             CNN_SIDE_MAX);
    if (fit == CNN_FIT_PAD && side < own)
        return cnn_error_set(error, CNN_INVALID, "images of side %d cannot be padded to %d: scale them instead", own,
                             side);
    struct cnn_fitter *fitter = calloc(1, sizeof *fitter);
    if (!fitter)
        return cnn_error_set(error, CNN_OOM, "images of side %d to side %d: no memory", own, side);
    *fitter = (struct cnn_fitter){ .own = own, .side = side, .pad = (side - own) / 2 };
    if (!pads(own, side, fit)) {
        int status = scaling_create(fitter, error);
        if (status) {
            cnn_fitter_destroy(fitter);
            return status;
        }
    }
    *out = fitter;
    return CNN_OK;
}

static void pad(const struct cnn_fitter *fitter, const uint8_t *in, uint8_t *out)
{
    size_t own = (size_t)fitter->own, side = (size_t)fitter->side, before = (size_t)fitter->pad;
    memset(out, 0, side * side);
    for (size_t row = 0; row < own; row++)
        memcpy(out + (before + row) * side + before, in + row * own, own);
}

static void scale_rows(struct cnn_fitter *fitter, const uint8_t *in)
{
    int own = fitter->own, side = fitter->side, taps = fitter->taps;
    for (int row = 0; row < own; row++)
        for (int col = 0; col < side; col++) {
            const uint8_t *from = in + (size_t)row * own + fitter->first[col];
            const float *weight = fitter->weight + (size_t)col * taps;
            int left = own - fitter->first[col];
            float sum = 0;
            for (int i = 0; i < taps && i < left; i++)
                sum += weight[i] * from[i];
            fitter->rows[(size_t)row * side + col] = sum;
        }
}

static void scale_cols(struct cnn_fitter *fitter, uint8_t *out)
{
    int own = fitter->own, side = fitter->side, taps = fitter->taps;
    float *line = fitter->line;
    for (int row = 0; row < side; row++) {
        const float *weight = fitter->weight + (size_t)row * taps;
        for (int col = 0; col < side; col++)
            line[col] = 0.5f; /* rounds to nearest below; at most 255.5 then, as weights add up to 1 */
        for (int i = 0; i < taps && fitter->first[row] + i < own; i++) {
            const float *from = fitter->rows + (size_t)(fitter->first[row] + i) * side;
            for (int col = 0; col < side; col++)
                line[col] += weight[i] * from[col];
        }
        for (int col = 0; col < side; col++)
            out[(size_t)row * side + col] = (uint8_t)(int)line[col];
    }
}

void cnn_fitter_apply(struct cnn_fitter *fitter, const uint8_t *in, uint8_t *out)
{
    if (fitter->pad >= 0) {
        pad(fitter, in, out);
        return;
    }
    scale_rows(fitter, in);
    scale_cols(fitter, out);
}

void cnn_fitter_destroy(struct cnn_fitter *fitter)
{
    if (!fitter)
        return;
    free(fitter->first);
    free(fitter->weight);
    free(fitter->rows);
    free(fitter->line);
    free(fitter);
}
