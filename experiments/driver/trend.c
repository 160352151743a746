/* SPDX-License-Identifier: MIT */
/* The exact distribution of the number of pairs out of order carries both: p of a tau, and which of the sorted slopes
 * bound the interval of their median. */
#include "experiments/driver/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 60 /* points; beyond, the normal limit is within 0.001 of it */

/* P(at most `most` of the pairs of `count` points are out of order), every order being equally likely. */
static double inversions_cdf(int count, int most)
{
    int pairs = count * (count - 1) / 2;
    if (most < 0 || most >= pairs)
        return most >= pairs;
    if (count > EXACT_MAX) {
        double deviation = sqrt(count * (count - 1.0) * (2.0 * count + 5) / 18) / 2;
        return 0.5 * erfc((pairs / 2.0 - most - 0.5) / deviation / sqrt(2));
    }
    /* shares of all orders of n points that have at most k inversions, from those of n - 1 points: the newest point
     * makes 0 to n - 1 more */
    double below[EXACT_MAX * (EXACT_MAX - 1) / 2 + 1], next[EXACT_MAX * (EXACT_MAX - 1) / 2 + 1];
    for (int k = 0; k <= pairs; k++)
        below[k] = 1;
    for (int n = 2; n <= count; n++) {
        double sum = 0;
        for (int k = 0; k <= most; k++) {
            sum += below[k] - (k >= n ? below[k - n] : 0);
            next[k] = sum / n;
        }
        memcpy(below, next, ((size_t)most + 1) * sizeof *below);
    }
    return below[most];
}

bool trend_order_of(const double *x, const double *y, int count, struct trend_order *out)
{
    int pairs = count * (count - 1) / 2, balance = 0;
    if (count < TREND_POINTS_MIN)
        return false;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++) {
            double product = (x[i] - x[j]) * (y[i] - y[j]);
            balance += (product > 0) - (product < 0); /* ties count for neither side, which errs to a larger p */
        }
    double tail = inversions_cdf(count, (pairs - abs(balance) + 1) / 2);
    *out = (struct trend_order){ (double)balance / pairs, fmin(1, 2 * tail) };
    return true;
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

bool trend_slope_of(const double *x, const double *y, int count, struct trend_slope *out)
{
    int pairs = count * (count - 1) / 2, made = 0, cut = 0;
    double *slope = count < TREND_POINTS_MIN ? NULL : malloc((size_t)pairs * sizeof *slope);
    for (int i = 0; slope && i < count; i++)
        for (int j = 0; j < i; j++)
            if (x[i] < x[j] || x[i] > x[j])
                slope[made++] = (y[i] - y[j]) / (x[i] - x[j]);
    bool whole = slope && made == pairs;
    if (whole) {
        qsort(slope, (size_t)pairs, sizeof *slope, compare_doubles);
        while (inversions_cdf(count, cut) <= 0.025) /* how many may be cut off at each end */
            cut++;
        cut = cut > 0 ? cut - 1 : 0;
        *out =
            (struct trend_slope){ (slope[(pairs - 1) / 2] + slope[pairs / 2]) / 2, slope[cut], slope[pairs - 1 - cut] };
    }
    free(slope);
    return whole;
}
