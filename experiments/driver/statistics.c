/* SPDX-License-Identifier: MIT */
/* Order statistics of samples: median, its interval, quartiles. Times are skewed and have outliers, so that nothing
 * here assumes a normal distribution. */
#include "experiments/driver/statistics.h"

#include <math.h>
#include <string.h>

bool statistics_median_ranks(int count, int *low, int *high)
{
    if (count < STATISTICS_SAMPLES_MIN)
        return false;
    double spread = 1.96 * sqrt(count);
    int first = (int)floor((count - spread) / 2);
    int last = (int)ceil(1 + (count + spread) / 2);
    *low = first < 1 ? 1 : first;
    *high = last > count ? count : last;
    return true;
}

double statistics_quantile(const double *sorted, int count, double p)
{
    double place = (count - 1) * p;
    int below = (int)floor(place);
    if (below >= count - 1)
        return sorted[count - 1];
    return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

void statistics_of(const double *sorted, int count, struct statistics *out)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += sorted[i];
    *out = (struct statistics){
        .count = count,
        .median = statistics_quantile(sorted, count, 0.5),
        .low = NAN,
        .high = NAN,
        .mean = sum / count,
        .q1 = statistics_quantile(sorted, count, 0.25),
        .q3 = statistics_quantile(sorted, count, 0.75),
        .min = sorted[0],
    };
    int low, high;
    if (statistics_median_ranks(count, &low, &high)) {
        out->low = sorted[low - 1];
        out->high = sorted[high - 1];
    }
}

void statistics_insert(double *sorted, int count, double value)
{
    int place = count;
    while (place > 0 && sorted[place - 1] > value)
        place--;
    memmove(sorted + place + 1, sorted + place, (size_t)(count - place) * sizeof *sorted);
    sorted[place] = value;
}

double statistics_half_width(const struct statistics *statistics)
{
    if (!(statistics->median > 0) || isnan(statistics->low))
        return INFINITY;
    return (statistics->high - statistics->low) / 2 / statistics->median;
}
