/* SPDX-License-Identifier: MIT */
/* Break-even: where along an axis one series overtakes another, and how sure that is. */
#ifndef DRIVER_CROSSING_H
#define DRIVER_CROSSING_H

/* The two series at one place of the axis. */
struct crossing_point {
    double x;     /* > 0 */
    double ratio; /* log(base seconds / other seconds): > 0 where the other is faster */
    double sd;    /* standard deviation of `ratio` */
};

struct crossing {
    double x, low, high; /* where both take the same time, and its 95 % interval */
    double from;         /* first measured place from which the verdict has turned */
    int sign;            /* +1: the other is faster behind it, -1: before it */
};

/* The standard deviation of a logarithm whose 95 % interval is that of [low, high]; 0 where there is none. */
double crossing_deviation(double low, double high);

/* +1: the other series is faster here, -1: slower, 0: the 95 % interval of the ratio holds 1. */
int crossing_sign(const struct crossing_point *point);

/* The crossings between points of opposite sign, along ascending x. Between neighbours the logarithm of the ratio is
 * taken as a straight line over the logarithm of x; the interval is the set of places whose ratio could be 1 (Fieller
 * 1954), so that it holds the true place 95 times of 100 as far as the line is right. Writes at most `capacity`;
 * returns how many there are. */
int crossings_find(const struct crossing_point *points, int count, struct crossing *out, int capacity);

#endif
