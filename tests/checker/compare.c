/* SPDX-License-Identifier: MIT */
/* Values against the oracle: within the bound, or the first wrong one is named with its place. */
#include "tests/checker/check.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

bool check_fail(struct check_report *report, const char *format, ...)
{
    if (report->text[0])
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->text, sizeof report->text, format, arguments);
    va_end(arguments);
    return false;
}

/* NaN and infinity are never near anything, unless the case is about NaN and the oracle has one there too. */
static bool is_near(struct check_report *report, const char *what, double got, double expected, double bound,
                    bool nan_allowed)
{
    report->values++;
    if (nan_allowed && isnan(expected))
        return isnan(got);
    double error = fabs(got - expected);
    if (!(error <= bound))
        return false;
    if (bound > 0.0 && error / bound > report->worst) {
        report->worst = error / bound;
        snprintf(report->worst_what, sizeof report->worst_what, "%s", what);
    }
    return true;
}

bool check_values(struct check_report *report, const char *what, struct cnn_shape shape, const float *got,
                  const double *expected, const double *bound, int64_t images, bool nan_allowed)
{
    int64_t area = (int64_t)shape.rows * shape.cols, size = area * shape.maps;
    for (int64_t i = 0; i < images * size; i++)
        if (!is_near(report, what, (double)got[i], expected[i], bound[i], nan_allowed))
            return check_fail(report,
                              "%s, image %lld of %lld, map %lld of %d, row %lld of %d, column %lld of %d: got %.9g, "
                              "expected %.9g within %.3g",
                              what, (long long)(i / size), (long long)images, (long long)(i % size / area), shape.maps,
                              (long long)(i % area / shape.cols), shape.rows, (long long)(i % shape.cols), shape.cols,
                              (double)got[i], expected[i], bound[i]);
    return true;
}

bool check_number(struct check_report *report, const char *what, double got, double expected, double bound)
{
    if (is_near(report, what, got, expected, bound, true))
        return true;
    return check_fail(report, "%s: got %.12g, expected %.12g within %.3g", what, got, expected, bound);
}

/* "weight of output map 3 from input map 1, row 0, column 4", "gain of map 2", "bias of map 2" */
static void place_of(const struct cnn_layer *layer, int64_t i, char *text, size_t size)
{
    if (i >= layer->weights) {
        snprintf(text, size, "bias of map %lld", (long long)(i - layer->weights));
        return;
    }
    if (layer->kind == CNN_SUBSAMPLE) {
        snprintf(text, size, "gain of map %lld", (long long)i);
        return;
    }
    int64_t area = (int64_t)layer->kernel_rows * layer->kernel_cols, pair = i / area;
    int out_map = 0;
    while (pair >= cnn_layer_fan_in(layer, out_map))
        pair -= cnn_layer_fan_in(layer, out_map++);
    snprintf(text, size, "weight of output map %d from input map %d, row %lld, column %lld", out_map,
             cnn_layer_source(layer, out_map, (int)pair), (long long)(i % area / layer->kernel_cols),
             (long long)(i % layer->kernel_cols));
}

bool check_parameters(struct check_report *report, const char *what, const struct cnn_layer *layer, const float *got,
                      const double *expected, const double *bound)
{
    char place[128];
    for (int64_t i = 0; i < layer->weights + layer->biases; i++)
        if (!is_near(report, what, (double)got[i], expected[i], bound[i], false)) {
            place_of(layer, i, place, sizeof place);
            return check_fail(report, "%s, %s: got %.9g, expected %.9g within %.3g", what, place, (double)got[i],
                              expected[i], bound[i]);
        }
    return true;
}
