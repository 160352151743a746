/* SPDX-License-Identifier: MIT */
/* A generator of handwritten-looking digits. A digit is a pen path (digits_shapes.h) whose points are jittered and
 * joined by Catmull-Rom splines, bent by a smooth random field, sheared, turned and stretched, placed in the frame, and
 * inked by distance to the path, so that every side is drawn alike and anti-aliased.
 *
 * The same digit comes out on every machine: random numbers are Philox words counted from (seed, index), arithmetic is
 * IEEE +, -, * and / alone (no libm), and ink is a maximum over path pieces, which knows no order. Everything
 * lives in fixed arrays on the stack. */
#include "lib/dataset.h"
#include "lib/digits_shapes.h"
#include "lib/random.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* How far writers differ. Larger values make the set harder for any classifier; at these and with 10,000 digits to
 * learn from, a linear one reaches 83 % and LeNet-5 nearly 99 % (tests/unit/test_accuracy.c). Lengths are in digit
 * heights unless said otherwise. */
#define JITTER 0.020    /* deviation of each point of a path */
#define BEND 0.100      /* deviation of a control value of the bending field */
#define SHEAR 0.35      /* at most, to either side */
#define TURN 0.12       /* at most, tangent of half the angle: 14 degrees */
#define STRETCH 0.22    /* width against height, at most, to either side */
#define HEIGHT_LOW 0.70 /* of the room that the frame leaves */
#define DRIFT 0.75      /* of the free room that the place may use */
#define PEN_LOW 0.032   /* half the line width, in sides */
#define PEN_HIGH 0.066
#define PRESSURE 0.16 /* deviation of the line width along the path, relative */
#define SOFT_LOW 0.9  /* width of the ink's edge, in 28ths of a side: blur */
#define SOFT_HIGH 1.9
#define INK_LOW 0.65    /* of full black */
#define NOISE_HIGH 24.0 /* grey levels, at most, to either side */

#define SIDE_OWN 28   /* the side that lengths in pixels are meant for */
#define FIELD_CELLS 3 /* of the bending field, over the unit square */
#define FIELD_KNOTS (FIELD_CELLS + 3)
#define STEPS_SMALL 4 /* pieces of path between two points, below side SMALL; a piece strays 0.1 pixel */
#define STEPS_MAX 6
#define SMALL 64
#define PATH_MAX_POINTS (CNN_DIGIT_STROKES_MAX * CNN_DIGIT_POINTS_MAX * STEPS_MAX)
#define SUB_LABELS 0x80000000u /* Philox sub-streams: digits count up from 0, pixels from SUB_PIXELS */
#define SUB_PIXELS 0x40000000u

/* Random numbers of one digit. */
struct dice {
    uint64_t seed, index;
    uint32_t sub, words[4];
    int left;
};

/* A point of the flattened path: place and half line width. */
struct pen {
    double x, y, r;
};

struct drawing {
    struct dice dice;
    int side, count;
    bool lifted[PATH_MAX_POINTS]; /* no ink between this point and the one before */
    struct pen path[PATH_MAX_POINTS];
};

static uint32_t dice_word(struct dice *dice)
{
    if (dice->left == 0) {
        cnn_philox(dice->seed, CNN_STREAM_DIGITS, dice->sub++, dice->index, dice->words);
        dice->left = 4;
    }
    return dice->words[--dice->left];
}

static double dice_between(struct dice *dice, double low, double high)
{
    return low + (high - low) * (dice_word(dice) * 0x1p-32);
}

static int dice_below(struct dice *dice, int n)
{
    return (int)((uint64_t)dice_word(dice) * (uint32_t)n >> 32);
}

/* Mean 0, deviation 1, never beyond 3.5: the sum of four 16-bit uniform numbers, nearly normal and without libm. */
static double dice_bell(struct dice *dice)
{
    uint32_t a = dice_word(dice), b = dice_word(dice);
    int64_t sum = (int64_t)(a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16);
    return (double)(2 * sum - 4 * 0xffff) * (1.7320508075688772 / (2 * 65536.0));
}

/* Position `index` within its ten, shuffled (Fisher-Yates; ten does not divide 2^32, which biases by 10^-9). */
static int label_of(uint64_t seed, uint64_t index)
{
    struct dice dice = { .seed = seed, .index = index / 10, .sub = SUB_LABELS };
    int labels[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    for (int i = 9; i > 0; i--) {
        int other = dice_below(&dice, i + 1), label = labels[i];
        labels[i] = labels[other];
        labels[other] = label;
    }
    return labels[index % 10];
}

/* The direction of a stroke at point i: half the way between its neighbours; at an end or a corner towards the point
 * on the same side, `towards`. */
static struct pen tangent(const struct pen *points, const struct cnn_digit_stroke *stroke, int i, int towards)
{
    int last = stroke->count - 1, from = i - 1, to = i + 1;
    double half = 0.5;
    if (i == 0 || i == last || stroke->points[i].corner) {
        from = i < towards ? i : towards;
        to = i < towards ? towards : i;
        half = 1;
    }
    return (struct pen){ half * (points[to].x - points[from].x), half * (points[to].y - points[from].y),
                         half * (points[to].r - points[from].r) };
}

/* Cubic Hermite: value at t between a and b with slopes da and db. */
static double hermite(double a, double da, double b, double db, double t)
{
    double d = b - a;
    return a + t * (da + t * (3 * d - 2 * da - db + t * (da + db - 2 * d)));
}

static void stroke_flatten(struct drawing *drawing, const struct cnn_digit_stroke *stroke, int steps)
{
    struct pen points[CNN_DIGIT_POINTS_MAX];
    struct dice *dice = &drawing->dice;
    for (int i = 0; i < stroke->count; i++) {
        points[i].x = stroke->points[i].x + JITTER * dice_bell(dice);
        points[i].y = stroke->points[i].y + JITTER * dice_bell(dice);
        points[i].r = 1 + PRESSURE * dice_bell(dice);
    }
    points[0].r *= dice_between(dice, 0.7, 1);
    points[stroke->count - 1].r *= dice_between(dice, 0.55, 1);
    drawing->lifted[drawing->count] = true;
    drawing->path[drawing->count++] = points[0];
    for (int i = 0; i + 1 < stroke->count; i++) {
        struct pen a = points[i], b = points[i + 1];
        struct pen da = tangent(points, stroke, i, i + 1), db = tangent(points, stroke, i + 1, i);
        for (int step = 1; step <= steps; step++) {
            double t = (double)step / steps;
            drawing->lifted[drawing->count] = false;
            drawing->path[drawing->count++] =
                (struct pen){ hermite(a.x, da.x, b.x, db.x, t), hermite(a.y, da.y, b.y, db.y, t),
                              hermite(a.r, da.r, b.r, db.r, t) };
        }
    }
}

/* Weights of the four uniform cubic B-splines at u in a cell; returns the cell. */
static int spline_weights(double at, double weight[4])
{
    double scaled = at * FIELD_CELLS;
    int cell = scaled < 0 ? 0 : scaled >= FIELD_CELLS ? FIELD_CELLS - 1 : (int)scaled;
    double u = scaled - cell;
    u = u < 0 ? 0 : u > 1 ? 1 : u;
    weight[0] = (1 - u) * (1 - u) * (1 - u) / 6;
    weight[1] = (3 * u * u * u - 6 * u * u + 4) / 6;
    weight[2] = (-3 * u * u * u + 3 * u * u + 3 * u + 1) / 6;
    weight[3] = u * u * u / 6;
    return cell;
}

/* Elastic distortion: every point moves by a smooth random field (after Simard, Steinkraus and Platt 2003; here a cubic
 * B-spline through random knots, evaluated on the path alone). */
static void path_bend(struct drawing *drawing)
{
    double field[2][FIELD_KNOTS][FIELD_KNOTS];
    for (int axis = 0; axis < 2; axis++)
        for (int i = 0; i < FIELD_KNOTS; i++)
            for (int j = 0; j < FIELD_KNOTS; j++)
                field[axis][i][j] = BEND * dice_bell(&drawing->dice);
    for (int at = 0; at < drawing->count; at++) {
        double across[4], down[4], dx = 0, dy = 0;
        int col = spline_weights(drawing->path[at].x, across), row = spline_weights(drawing->path[at].y, down);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                dx += down[i] * across[j] * field[0][row + i][col + j];
                dy += down[i] * across[j] * field[1][row + i][col + j];
            }
        drawing->path[at].x += dx;
        drawing->path[at].y += dy;
    }
}

/* Slant, turn and stretch. The turn's sine and cosine come from the tangent of half its angle, exactly. */
static void path_transform(struct drawing *drawing)
{
    struct dice *dice = &drawing->dice;
    double tan_half = dice_between(dice, -TURN, TURN), unit = 1 / (1 + tan_half * tan_half);
    double cosine = (1 - tan_half * tan_half) * unit, sine = 2 * tan_half * unit;
    double shear = dice_between(dice, -SHEAR, SHEAR), stretch = 1 + dice_between(dice, -STRETCH, STRETCH);
    for (int at = 0; at < drawing->count; at++) {
        struct pen *pen = &drawing->path[at];
        double x = stretch * (pen->x - 0.5) - shear * (pen->y - 0.5), y = pen->y - 0.5;
        pen->x = cosine * x - sine * y;
        pen->y = sine * x + cosine * y;
    }
}

static double fit_axis(struct dice *dice, double low, double high, double scale, double margin, double room)
{
    double free = room - scale * (high - low);
    double place = 0.5 + 0.5 * DRIFT * dice_between(dice, -1, 1);
    return margin + place * free - scale * low;
}

/* Scales and shifts the path so that all of its ink lies inside the frame; widths become pixels. */
static void path_place(struct drawing *drawing, double soft)
{
    struct dice *dice = &drawing->dice;
    double pen = dice_between(dice, PEN_LOW, PEN_HIGH) * drawing->side, thickest = 0;
    struct pen low = drawing->path[0], high = low;
    for (int at = 0; at < drawing->count; at++) {
        struct pen *p = &drawing->path[at];
        p->r = pen * (p->r > 0.3 ? p->r : 0.3);
        thickest = p->r > thickest ? p->r : thickest;
        low.x = p->x < low.x ? p->x : low.x;
        low.y = p->y < low.y ? p->y : low.y;
        high.x = p->x > high.x ? p->x : high.x;
        high.y = p->y > high.y ? p->y : high.y;
    }
    double margin = thickest + soft / 2 + (double)drawing->side / SIDE_OWN, room = drawing->side - 2 * margin;
    double tall = room * dice_between(dice, HEIGHT_LOW, 1) / (high.y - low.y), wide = room / (high.x - low.x);
    double scale = tall < wide ? tall : wide;
    double dx = fit_axis(dice, low.x, high.x, scale, margin, room);
    double dy = fit_axis(dice, low.y, high.y, scale, margin, room);
    for (int at = 0; at < drawing->count; at++) {
        drawing->path[at].x = scale * drawing->path[at].x + dx;
        drawing->path[at].y = scale * drawing->path[at].y + dy;
    }
}

static int clamp_pixel(double at, int side)
{
    return at < 0 ? 0 : at >= side ? side : (int)at;
}

/* To 0..1, without a branch: a comparison of floats would keep gcc from vectorising the loop below. */
static float clamp_unit(float t)
{
    return 0.5f + 0.5f * (fabsf(t) - fabsf(t - 1));
}

/* Inks one piece of path. With r the half width and s = soft / 2, ink falls with the squared distance from 1 at r - s
 * to 0 at r + s, so that no root is needed; a line thinner than s reaches (r + s) / 2s. A pixel keeps the darkest
 * piece. Pixel (row, col) has its centre at (col + 0.5, row + 0.5). */
static void piece_ink(uint8_t *pixels, int side, const struct pen *a, const struct pen *b, double soft)
{
    double reach = (a->r > b->r ? a->r : b->r) + soft / 2;
    int left = clamp_pixel((a->x < b->x ? a->x : b->x) - reach, side);
    int right = clamp_pixel((a->x > b->x ? a->x : b->x) + reach + 1, side);
    int top = clamp_pixel((a->y < b->y ? a->y : b->y) - reach, side);
    int bottom = clamp_pixel((a->y > b->y ? a->y : b->y) + reach + 1, side);
    float ax = (float)a->x - 0.5f, ay = (float)a->y - 0.5f, ar = (float)a->r;
    float dx = (float)(b->x - a->x), dy = (float)(b->y - a->y), dr = (float)(b->r - a->r);
    float length2 = dx * dx + dy * dy, inverse = length2 > 0 ? 1 / length2 : 0;
    float edge = (float)(soft / 2), mean = ar + dr / 2, steep = 1 / (2 * edge * (mean + (mean > edge ? mean : edge)));
    for (int row = top; row < bottom; row++) {
        uint8_t *line = pixels + (size_t)row * side;
        float y = row - ay;
        for (int col = left; col < right; col++) {
            float x = col - ax, t = clamp_unit((x * dx + y * dy) * inverse);
            float ex = x - t * dx, ey = y - t * dy, outer = ar + t * dr + edge;
            int level = (int)(255 * clamp_unit((outer * outer - ex * ex - ey * ey) * steep));
            line[col] = (uint8_t)(level > line[col] ? level : line[col]);
        }
    }
}

/* Ink level and grain: the sum of two uniform numbers from the 16 bytes of a Philox block for every 8 pixels. */
static void pixels_finish(struct drawing *drawing, uint8_t *pixels)
{
    float ink = (float)dice_between(&drawing->dice, INK_LOW, 1);
    float noise = (float)(dice_between(&drawing->dice, 0, NOISE_HIGH) / 255);
    int64_t size = (int64_t)drawing->side * drawing->side;
    for (int64_t first = 0; first < size; first += 8) {
        uint32_t words[4];
        cnn_philox(drawing->dice.seed, CNN_STREAM_DIGITS, SUB_PIXELS + (uint32_t)(first / 8), drawing->dice.index,
                   words);
        for (int i = 0; i < 8 && first + i < size; i++) {
            uint32_t pair = words[i / 2] >> 16 * (i % 2);
            float level = ink * pixels[first + i] + noise * ((int)(pair & 0xff) + (int)(pair >> 8 & 0xff) - 255);
            pixels[first + i] = (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level + 0.5f);
        }
    }
}

void cnn_digit_draw(uint64_t seed, uint64_t index, int side, uint8_t *pixels, int32_t *label)
{
    struct drawing drawing;
    int ways, steps = side < SMALL ? STEPS_SMALL : STEPS_MAX;
    *label = label_of(seed, index);
    drawing.dice = (struct dice){ .seed = seed, .index = index };
    drawing.side = side;
    drawing.count = 0;
    const struct cnn_digit_shape *shapes = cnn_digit_shapes(*label, &ways);
    const struct cnn_digit_shape *shape = &shapes[dice_below(&drawing.dice, ways)];
    for (int i = 0; i < shape->stroke_count; i++)
        stroke_flatten(&drawing, &shape->strokes[i], steps);
    path_bend(&drawing);
    path_transform(&drawing);
    double soft = dice_between(&drawing.dice, SOFT_LOW, SOFT_HIGH) * (side > SIDE_OWN ? (double)side / SIDE_OWN : 1);
    path_place(&drawing, soft);
    memset(pixels, 0, (size_t)side * side);
    for (int i = 1; i < drawing.count; i++)
        if (!drawing.lifted[i])
            piece_ink(pixels, side, &drawing.path[i - 1], &drawing.path[i], soft);
    pixels_finish(&drawing, pixels);
}
