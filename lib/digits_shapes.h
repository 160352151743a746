/* SPDX-License-Identifier: MIT */
/* How people write the ten digits: pen paths through a few points, several ways for each. */
#ifndef CNN_LIB_DIGITS_SHAPES_H
#define CNN_LIB_DIGITS_SHAPES_H

#define CNN_DIGIT_STROKES_MAX 2
#define CNN_DIGIT_POINTS_MAX 16 /* of a stroke */

/* A point the pen goes through; x to the right and y down, both about 0..1 over the digit. At a corner the direction
 * changes at once; elsewhere the path is smooth. */
struct cnn_digit_point {
    float x, y;
    int corner;
};

struct cnn_digit_stroke {
    const struct cnn_digit_point *points;
    int count;
};

struct cnn_digit_shape {
    int stroke_count;
    struct cnn_digit_stroke strokes[CNN_DIGIT_STROKES_MAX];
};

/* The ways to write `label` (0..9), and how many there are. */
const struct cnn_digit_shape *cnn_digit_shapes(int label, int *count);

#endif
