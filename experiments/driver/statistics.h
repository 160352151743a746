/* SPDX-License-Identifier: MIT */
/* What is said about a handful of samples, assuming nothing about their distribution. */
#ifndef DRIVER_STATISTICS_H
#define DRIVER_STATISTICS_H

#include <stdbool.h>

#define STATISTICS_SAMPLES_MIN 6 /* fewer have no 95 % interval of the median */

struct statistics {
    int count;
    double median, low, high; /* nonparametric 95 % interval of the median; NAN below STATISTICS_SAMPLES_MIN */
    double mean, q1, q3, min;
};

/* Of `count` >= 1 values in ascending order. */
void statistics_of(const double *sorted, int count, struct statistics *out);

/* Ranks, from 1, of the samples that bound the median with 95 % confidence: floor((n - 1.96 sqrt(n)) / 2) and
 * ceil(1 + (n + 1.96 sqrt(n)) / 2), within 1..n (Hoefler and Belli, SC 2015, after Le Boudec). False for n <= 5. */
bool statistics_median_ranks(int count, int *low, int *high);

/* The p-quantile, 0 <= p <= 1, by linear interpolation between the order statistics at (n - 1) p (type 7 of Hyndman and
 * Fan 1996, what R and NumPy do). */
double statistics_quantile(const double *sorted, int count, double p);

/* Puts `value` among `count` ascending values; there is room for one more. */
void statistics_insert(double *sorted, int count, double value);

/* Half the width of the interval over the median; infinity where there is no interval or no positive median. */
double statistics_half_width(const struct statistics *statistics);

#endif
