/* SPDX-License-Identifier: MIT */
/* Few terms, so the non-negative optimum is found by trying: it is the plain least squares over some subset of the
 * terms, and of the subsets whose costs come out non-negative the one with the smallest error (Lawson and Hanson 1974,
 * chapter 23, without their search). */
#include "experiments/driver/model.h"

#include <math.h>
#include <string.h>

#define N MODEL_TERMS_MAX
#define PIVOT_MIN \
    1e-10 /* of a normal matrix scaled to ones on its diagonal: below it terms are the same but for noise */

/* The normal equations of min sum (sum_j cost_j term_j / seconds - 1)^2, scaled: cost_j = solution_j / scale_j. */
struct equations {
    int terms;
    double matrix[N][N], right[N], scale[N];
};

static void equations_make(struct equations *out, const struct model_point *points, int count, int terms, int left_out)
{
    *out = (struct equations){ .terms = terms };
    for (int i = 0; i < count; i++)
        for (int j = 0; i != left_out && j < terms; j++) {
            double of = points[i].term[j] / points[i].seconds;
            out->right[j] += of;
            for (int k = 0; k < terms; k++)
                out->matrix[j][k] += of * (points[i].term[k] / points[i].seconds);
        }
    for (int j = 0; j < terms; j++)
        out->scale[j] = sqrt(out->matrix[j][j]);
    for (int j = 0; j < terms; j++) {
        out->right[j] /= out->scale[j];
        for (int k = 0; k < terms; k++)
            out->matrix[j][k] /= out->scale[j] * out->scale[k];
    }
}

/* Inverts the rows and columns of `subset`; the others of `inverse` are zero. By Gauss and Jordan without pivoting: the
 * matrix is positive definite. False where it is nearly singular. */
static bool invert(const struct equations *of, unsigned subset, double inverse[N][N])
{
    double work[N][N];
    memcpy(work, of->matrix, sizeof work);
    memset(inverse, 0, sizeof(double[N][N]));
    for (int j = 0; j < of->terms; j++)
        inverse[j][j] = subset >> j & 1;
    for (int p = 0; p < of->terms; p++) {
        if (!(subset >> p & 1))
            continue;
        double pivot = work[p][p];
        if (!(pivot > PIVOT_MIN))
            return false;
        for (int k = 0; k < of->terms; k++) {
            work[p][k] /= pivot;
            inverse[p][k] /= pivot;
        }
        for (int j = 0; j < of->terms; j++) {
            double factor = work[j][p];
            if (j == p || !(subset >> j & 1))
                continue;
            for (int k = 0; k < of->terms; k++) {
                work[j][k] -= factor * work[p][k];
                inverse[j][k] -= factor * inverse[p][k];
            }
        }
    }
    return true;
}

static bool solve(const struct equations *of, unsigned subset, double cost[N])
{
    double inverse[N][N];
    if (!invert(of, subset, inverse))
        return false;
    for (int j = 0; j < of->terms; j++) {
        cost[j] = 0;
        for (int k = 0; k < of->terms && (subset >> j & 1); k++)
            cost[j] += subset >> k & 1 ? inverse[j][k] * of->right[k] : 0;
        cost[j] /= of->scale[j];
    }
    return true;
}

static double sum_of(const double *cost, const double *term, int terms)
{
    double seconds = 0;
    for (int j = 0; j < terms; j++)
        seconds += cost[j] * term[j];
    return seconds;
}

static double squared_error(const struct model_point *points, int count, int left_out, const double *cost, int terms)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double relative = sum_of(cost, points[i].term, terms) / points[i].seconds - 1;
        sum += i == left_out ? 0 : relative * relative;
    }
    return sum;
}

/* The non-negative optimum without point `left_out` (-1: with all); false where no subset has one. */
static bool best(const struct model_point *points, int count, int terms, int left_out, double cost[N])
{
    struct equations equations;
    double least = INFINITY;
    equations_make(&equations, points, count, terms, left_out);
    for (unsigned subset = 1; subset < 1u << terms; subset++) {
        double tried[N], error;
        bool fine = solve(&equations, subset, tried);
        for (int j = 0; fine && j < terms; j++)
            fine = tried[j] >= 0;
        if (!fine || (error = squared_error(points, count, left_out, tried, terms)) >= least)
            continue;
        least = error;
        memcpy(cost, tried, sizeof tried);
    }
    return least < INFINITY;
}

double model_student(int freedom)
{
    static const double table[] = { NAN,   12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                    2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086 };
    int known = sizeof table / sizeof *table;
    if (freedom < 1)
        return NAN;
    /* beyond the table the first terms of its expansion in 1/n are exact to three digits */
    return freedom < known ? table[freedom] : 1.959964 + 2.372 / freedom + 2.82 / ((double)freedom * freedom);
}

/* Costs of all terms without the bound, and how far they can be off. False where terms cannot be told apart. */
static bool set_intervals(struct model *out, const struct model_point *points, int count)
{
    struct equations equations;
    double inverse[N][N], plain[N];
    unsigned all = (1u << out->terms) - 1;
    int freedom = count - out->terms;
    equations_make(&equations, points, count, out->terms, -1);
    if (!invert(&equations, all, inverse) || !solve(&equations, all, plain))
        return false;
    double variance = freedom > 0 ? squared_error(points, count, -1, plain, out->terms) / freedom : NAN;
    for (int j = 0; j < out->terms; j++) {
        for (int k = 0; k < out->terms; k++)
            out->covariance[j * N + k] = variance * inverse[j][k] / (equations.scale[j] * equations.scale[k]);
        double half = model_student(freedom) * sqrt(out->covariance[j * N + j]);
        out->low[j] = isnan(half) ? NAN : fmin(fmax(plain[j] - half, 0), out->cost[j]);
        out->high[j] = isnan(half) ? NAN : fmax(plain[j] + half, out->cost[j]);
    }
    return true;
}

static double held_out(const struct model_point *points, int count, int terms)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double cost[N] = { 0 };
        if (count <= terms || !best(points, count, terms, i, cost))
            return NAN;
        sum += fabs(sum_of(cost, points[i].term, terms) / points[i].seconds - 1);
    }
    return sum / count;
}

bool model_fit(struct model *out, const struct model_point *points, int count, int terms)
{
    double constant[N] = { 0 }, ones = 0, squares = 0;
    *out = (struct model){ .points = count, .terms = terms };
    if (count < terms || !best(points, count, terms, -1, out->cost) || !set_intervals(out, points, count))
        return false;
    for (int i = 0; i < count; i++) {
        ones += 1 / points[i].seconds;
        squares += 1 / (points[i].seconds * points[i].seconds);
    }
    for (int i = 0; i < count; i++) { /* sum (c / y - 1)^2 at its least, c = ones / squares */
        double relative = ones / squares / points[i].seconds - 1;
        constant[0] += relative * relative;
    }
    double error = squared_error(points, count, -1, out->cost, terms);
    out->r2 = constant[0] > 0 ? 1 - error / constant[0] : NAN;
    out->held_out = held_out(points, count, terms);
    return true;
}

double model_seconds(const struct model *model, const double *term)
{
    return sum_of(model->cost, term, model->terms);
}
