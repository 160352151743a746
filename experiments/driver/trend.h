/* SPDX-License-Identifier: MIT */
/* Whether and how fast one thing grows with another, from ranks alone: Kendall's tau, and the median of all slopes with
 * its interval (Theil 1950; Sen 1968: Estimates of the regression coefficient based on Kendall's tau). No normal
 * distribution is assumed, and a single wild point moves neither. */
#ifndef DRIVER_TREND_H
#define DRIVER_TREND_H

#include <stdbool.h>

/* With fewer points not even a perfect order has p < 0.05 on two sides: 4 points have 24 orders, 5 have 120. */
#define TREND_POINTS_MIN 5

struct trend_order {
    double tau; /* -1 to 1 */
    double p;   /* of a tau this far from 0, on either side, where there is no order */
};

/* False with fewer than TREND_POINTS_MIN points, or without memory. */
bool trend_order_of(const double *x, const double *y, int count, struct trend_order *out);

struct trend_slope {
    double value, low, high; /* dy/dx, and its interval of at least 95 % */
};

/* False with fewer than TREND_POINTS_MIN points, where two x are equal, or without memory. */
bool trend_slope_of(const double *x, const double *y, int count, struct trend_slope *out);

#endif
