/* SPDX-License-Identifier: MIT */
#include "experiments/driver/crossing.h"

#include <math.h>
#include <stdbool.h>

#define Z 1.959964 /* of a 95 % interval */

double crossing_deviation(double low, double high)
{
    return low > 0 && high > low ? log(high / low) / (2 * Z) : 0;
}

int crossing_sign(const struct crossing_point *point)
{
    if (point->ratio > Z * point->sd)
        return 1;
    return point->ratio < -Z * point->sd ? -1 : 0;
}

/* The shares w of a segment for which |a + w (b - a)| <= Z sqrt((1-w)^2 s_a^2 + w^2 s_b^2), as far as they lie in 0..1.
 * The borders are where a quadratic is 0; it is negative where the ratio could be 1. False: nowhere. */
static bool could_be_one(const struct crossing_point *a, const struct crossing_point *b, double *low, double *high)
{
    double slope = b->ratio - a->ratio, va = Z * Z * a->sd * a->sd, vb = Z * Z * b->sd * b->sd;
    double square = slope * slope - va - vb, linear = 2 * (a->ratio * slope + va), constant = a->ratio * a->ratio - va;
    double border[4] = { 0, 1, NAN, NAN }, root = linear * linear - 4 * square * constant;
    if (square != 0 && root >= 0) {
        border[2] = (-linear - sqrt(root)) / (2 * square);
        border[3] = (-linear + sqrt(root)) / (2 * square);
    } else if (square == 0 && linear != 0) {
        border[2] = -constant / linear;
    }
    *low = INFINITY;
    *high = -INFINITY;
    for (int i = 0; i < 4; i++) {
        double w = border[i];
        bool ends = i < 2;
        if (!(w >= 0 && w <= 1) || (ends && (square * w + linear) * w + constant > 0))
            continue;
        *low = fmin(*low, w);
        *high = fmax(*high, w);
    }
    return *low <= *high;
}

/* How much of the segment, from 0 to 1, has the sign of the first decided point. */
static double share_before(const struct crossing_point *a, const struct crossing_point *b, int sign)
{
    double first = sign * a->ratio, last = sign * b->ratio;
    if (first >= 0 && last >= 0)
        return 1;
    if (first <= 0 && last <= 0)
        return 0;
    double at = first / (first - last);
    return first > 0 ? at : 1 - at;
}

/* Between two decided points of opposite sign; those between them are undecided. Their noise may cross 1 more than
 * once: the estimate is where it would cross if the stretches of each sign lay together. */
static struct crossing between(const struct crossing_point *points, int begin, int end, int sign)
{
    struct crossing out = { .low = INFINITY, .high = -INFINITY, .from = points[end].x, .sign = -sign };
    double at = log(points[begin].x);
    for (int i = begin; i < end; i++) {
        double from = log(points[i].x), length = log(points[i + 1].x) - from, low, high;
        at += length * share_before(&points[i], &points[i + 1], sign);
        if (!could_be_one(&points[i], &points[i + 1], &low, &high))
            continue;
        out.low = fmin(out.low, exp(from + low * length));
        out.high = fmax(out.high, exp(from + high * length));
    }
    out.x = exp(at);
    out.low = fmin(out.low, out.x);
    out.high = fmax(out.high, out.x);
    return out;
}

int crossings_find(const struct crossing_point *points, int count, struct crossing *out, int capacity)
{
    int found = 0, last = -1;
    for (int i = 0; i < count; i++) {
        int sign = crossing_sign(&points[i]);
        if (sign == 0)
            continue;
        if (last >= 0 && sign != crossing_sign(&points[last])) {
            if (found < capacity)
                out[found] = between(points, last, i, -sign);
            found++;
        }
        last = i;
    }
    return found;
}
