/* SPDX-License-Identifier: MIT */
/* For every pixel of the result: where in the image it comes from, then the four pixels around that place. The elastic
 * field is even noise smoothed by a Gaussian, rows first, then columns; beyond the image it is 0. */
#include "lib/distort.h"

#include "lib/checked.h"
#include "lib/names.h"
#include "lib/network.h"
#include "lib/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGMA_REACH 3.0 /* the Gaussian is cut there: 0.3 % of it lies beyond */
#define SIGMA_MAX 100.0
#define RADIANS (3.14159265358979323846 / 180)

struct cnn_distorter {
    struct cnn_distortion distortion;
    uint64_t seed;
    int channels, side;
    int reach;     /* taps on either side of the middle */
    float *weight; /* [2 reach + 1], sum 1 */
    float *line;   /* [reach + side + reach]: a row of noise between zeros */
    float *rows;   /* [side][side]: noise smoothed along rows */
    float *field;  /* [2][side][side]: displacements along columns, then rows, pixels */
};

static const char *const names[] = { "rotate", "zoom", "shear", "shift", "elastic", "sigma" };
static const double most[] = { 180, 0.9, 10, 1000, 10000, SIGMA_MAX };
#define NAMES ((int)(sizeof names / sizeof *names))

static double *strength(struct cnn_distortion *distortion, int at)
{
    double *const all[NAMES] = { &distortion->rotate, &distortion->zoom,    &distortion->shear,
                                 &distortion->shift,  &distortion->elastic, &distortion->sigma };
    return all[at];
}

/* One "name value" from *text on; a name that stands there twice is refused. */
static int parse_pair(struct cnn_distortion *out, const char **text, unsigned *seen, struct cnn_error *error)
{
    char word[16] = "";
    int length = 0, at = 0;
    char *end;
    sscanf(*text, "%15[a-z]%n", word, &length);
    while (at < NAMES && strcmp(word, names[at]))
        at++;
    if (at == NAMES)
        return cnn_error_set(error, CNN_INVALID,
                             "\"%.40s\": expected \"none\", or rotate, zoom, shear, shift, elastic, sigma, each with a "
                             "value, as in \"rotate 10 elastic 34 sigma 4\"",
                             *text);
    if (*seen & 1u << at)
        return cnn_error_set(error, CNN_INVALID, "\"%s\" is there twice", word);
    *seen |= 1u << at;
    double value = strtod(*text + length, &end);
    if (end == *text + length || !(value >= 0 && value <= most[at]))
        return cnn_error_set(error, CNN_INVALID, "\"%.40s\": expected a number from 0 to %g behind %s", *text, most[at],
                             word);
    *strength(out, at) = value;
    *text = end + strspn(end, " ,");
    return CNN_OK;
}

int cnn_distortion_parse(struct cnn_distortion *out, const char *text, struct cnn_error *error)
{
    unsigned seen = 0;
    *out = (struct cnn_distortion){ 0 };
    if (!*text || !strcmp(text, "none"))
        return CNN_OK;
    do
        if (parse_pair(out, &text, &seen, error))
            return CNN_INVALID;
    while (*text);
    if ((out->elastic > 0) != (out->sigma > 0))
        return cnn_error_set(error, CNN_INVALID, "elastic %g, sigma %g: expected both or none to be above 0",
                             out->elastic, out->sigma);
    return CNN_OK;
}

bool cnn_distortion_any(const struct cnn_distortion *d)
{
    return d->rotate > 0 || d->zoom > 0 || d->shear > 0 || d->shift > 0 || d->elastic > 0;
}

static void weights_init(struct cnn_distorter *d)
{
    double sigma = d->distortion.sigma, sum = 0;
    for (int i = -d->reach; i <= d->reach; i++)
        sum += exp(-i * i / (2 * sigma * sigma));
    for (int i = -d->reach; i <= d->reach; i++)
        d->weight[i + d->reach] = (float)(exp(-i * i / (2 * sigma * sigma)) / sum);
}

static int elastic_create(struct cnn_distorter *d, struct cnn_error *error)
{
    size_t plane = (size_t)d->side * (size_t)d->side;
    if (d->distortion.sigma > SIGMA_MAX)
        return cnn_error_set(error, CNN_INVALID, "distortion: sigma %g, expected at most %g", d->distortion.sigma,
                             SIGMA_MAX);
    d->reach = (int)ceil(SIGMA_REACH * d->distortion.sigma);
    d->weight = malloc((2 * (size_t)d->reach + 1) * sizeof *d->weight);
    d->line = calloc((size_t)d->side + 2 * (size_t)d->reach, sizeof *d->line);
    d->rows = malloc(plane * sizeof *d->rows);
    d->field = malloc(2 * plane * sizeof *d->field);
    if (!d->weight || !d->line || !d->rows || !d->field)
        return cnn_error_set(error, CNN_OOM, "distortion: no memory for fields of side %d", d->side);
    weights_init(d);
    return CNN_OK;
}

int cnn_distorter_create(struct cnn_distorter **out, const struct cnn_distortion *distortion, int channels, int side,
                         uint64_t seed, struct cnn_error *error)
{
    *out = NULL;
    if (channels < 1 || side < 1 || side > CNN_SIDE_MAX)
        return cnn_error_set(error, CNN_INVALID, "distortion of %d x %d x %d images: expected sides 1 to %d", channels,
                             side, side, CNN_SIDE_MAX);
    struct cnn_distorter *d = calloc(1, sizeof *d);
    if (!d)
        return cnn_error_set(error, CNN_OOM, "distortion: no memory");
    *d = (struct cnn_distorter){ .distortion = *distortion, .seed = seed, .channels = channels, .side = side };
    int status = distortion->elastic > 0 ? elastic_create(d, error) : CNN_OK;
    if (status)
        cnn_distorter_destroy(d);
    else
        *out = d;
    return status;
}

void cnn_distorter_destroy(struct cnn_distorter *d)
{
    if (!d)
        return;
    free(d->weight);
    free(d->line);
    free(d->rows);
    free(d->field);
    free(d);
}

/* [-1, 1), 16 bits: two for a word of the generator, since fields take many. */
static void draw_line(struct cnn_random *random, float *to, int count)
{
    uint32_t word = 0;
    for (int i = 0; i < count; i++) {
        word = i % 2 ? word >> 16 : cnn_random_word(random);
        to[i] = (float)(int16_t)(uint16_t)word * 0x1p-15f;
    }
}

static void draw_field(struct cnn_distorter *d, struct cnn_random *random, float *field)
{
    int side = d->side, taps = 2 * d->reach + 1;
    memset(d->rows, 0, (size_t)side * (size_t)side * sizeof *d->rows);
    memset(field, 0, (size_t)side * (size_t)side * sizeof *field);
    for (int row = 0; row < side; row++) {
        float *to = d->rows + (size_t)row * side;
        draw_line(random, d->line + d->reach, side);
        for (int tap = 0; tap < taps; tap++)
            for (int col = 0; col < side; col++)
                to[col] += d->weight[tap] * d->line[tap + col];
    }
    float alpha = (float)d->distortion.elastic;
    for (int row = 0; row < side; row++)
        for (int tap = 0; tap < taps; tap++) {
            int from = row + tap - d->reach;
            float weight = d->weight[tap] * alpha;
            for (int col = 0; from >= 0 && from < side && col < side; col++)
                field[(size_t)row * side + col] += weight * d->rows[(size_t)from * side + col];
        }
}

static double within(struct cnn_random *random, double limit)
{
    return limit * (2 * cnn_random_uniform(random) - 1);
}

/* Source place of a pixel, seen from the image's middle: x = a[0] col + a[1] row + a[2], y = a[3] col + a[4] row +
 * a[5].
 */
static void draw_affine(const struct cnn_distorter *d, struct cnn_random *random, float a[6])
{
    double angle = RADIANS * within(random, d->distortion.rotate);
    double wide = 1 + within(random, d->distortion.zoom), high = 1 + within(random, d->distortion.zoom);
    double shear = within(random, d->distortion.shear);
    double x = within(random, d->distortion.shift), y = within(random, d->distortion.shift);
    a[0] = (float)(cos(angle) / wide);
    a[1] = (float)((shear * cos(angle) - sin(angle)) / high);
    a[2] = (float)x;
    a[3] = (float)(sin(angle) / wide);
    a[4] = (float)((shear * sin(angle) + cos(angle)) / high);
    a[5] = (float)y;
}

static float pixel_at(const uint8_t *in, int side, int row, int col)
{
    return row >= 0 && row < side && col >= 0 && col < side ? in[(size_t)row * side + col] : 0;
}

static uint8_t sample(const uint8_t *in, int side, float y, float x)
{
    float top = floorf(y), left = floorf(x), down = y - top, right = x - left;
    int row = (int)top, col = (int)left;
    float upper = pixel_at(in, side, row, col) * (1 - right) + pixel_at(in, side, row, col + 1) * right;
    float lower = pixel_at(in, side, row + 1, col) * (1 - right) + pixel_at(in, side, row + 1, col + 1) * right;
    return (uint8_t)(int)(upper * (1 - down) + lower * down + 0.5f); /* at most 255.5 */
}

void cnn_distorter_apply(struct cnn_distorter *d, int epoch, int64_t image, const uint8_t *in, uint8_t *out)
{
    struct cnn_random random;
    float a[6], middle = (float)(d->side - 1) / 2;
    int side = d->side;
    size_t plane = (size_t)side * (size_t)side;
    bool elastic = d->distortion.elastic > 0;
    cnn_random_init(&random, d->seed, CNN_STREAM_DISTORTION, (uint32_t)epoch);
    random.index = (uint64_t)image << 32; /* each image has 2^32 blocks of its own */
    draw_affine(d, &random, a);
    if (elastic) {
        draw_field(d, &random, d->field);
        draw_field(d, &random, d->field + plane);
    }
    for (int row = 0; row < side; row++)
        for (int col = 0; col < side; col++) {
            size_t at = (size_t)row * side + col;
            float u = (float)col - middle, v = (float)row - middle;
            float x = a[0] * u + a[1] * v + a[2] + middle + (elastic ? d->field[at] : 0);
            float y = a[3] * u + a[4] * v + a[5] + middle + (elastic ? d->field[plane + at] : 0);
            for (int channel = 0; channel < d->channels; channel++)
                out[channel * plane + at] = sample(in + channel * plane, side, y, x);
        }
}
