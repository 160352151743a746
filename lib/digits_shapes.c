/* SPDX-License-Identifier: MIT */
/* The pen paths of the digits, drawn by hand for this project. Every variant is one that people write: open and closed
 * 4, 7 with and without a bar, 1 with and without flag and foot, 9 with a straight or a curled tail, and so on. */
#include "lib/digits_shapes.h"

#define P(x, y) \
    {           \
        x, y, 0 \
    }
#define CORNER(x, y) \
    {                \
        x, y, 1      \
    }
#define STROKE(points)                                    \
    {                                                     \
        points, (int)(sizeof(points) / sizeof(points)[0]) \
    }
#define ONE(a)        \
    {                 \
        1,            \
        {             \
            STROKE(a) \
        }             \
    }
#define TWO(a, b)                \
    {                            \
        2,                       \
        {                        \
            STROKE(a), STROKE(b) \
        }                        \
    }
#define PATH(name) static const struct cnn_digit_point name[]

/* clang-format off */
PATH(zero_round) = { P(.58f, .02f), P(.28f, .10f), P(.09f, .38f), P(.12f, .72f), P(.38f, .97f), P(.70f, .90f),
                     P(.91f, .60f), P(.88f, .25f), P(.68f, .05f), P(.50f, .03f) };
PATH(zero_open) = { P(.66f, .10f), P(.42f, .02f), P(.20f, .25f), P(.14f, .62f), P(.32f, .95f), P(.62f, .96f),
                    P(.83f, .66f), P(.84f, .32f), P(.66f, .06f), P(.40f, .00f) };
PATH(zero_slim) = { P(.50f, .00f), P(.28f, .24f), P(.24f, .60f), P(.38f, .96f), P(.62f, .92f), P(.75f, .56f),
                    P(.68f, .20f), P(.46f, .02f), P(.36f, .12f) };

PATH(one_bare) = { P(.54f, .00f), P(.51f, .35f), P(.49f, .70f), P(.47f, 1.0f) };
PATH(one_flag) = { P(.22f, .28f), P(.38f, .17f), CORNER(.56f, .00f), P(.56f, .35f), P(.55f, .70f), P(.54f, 1.0f) };
PATH(one_foot) = { P(.24f, .99f), P(.52f, 1.0f), P(.84f, .98f) };
PATH(one_hook) = { P(.36f, .16f), CORNER(.55f, .00f), P(.53f, .35f), P(.50f, .70f), P(.48f, 1.0f) };

PATH(two_plain) = { P(.12f, .26f), P(.28f, .06f), P(.60f, .02f), P(.82f, .22f), P(.70f, .50f), P(.42f, .76f),
                    CORNER(.08f, .98f), P(.50f, .97f), P(.92f, .96f) };
PATH(two_loop) = { P(.16f, .18f), P(.42f, .00f), P(.74f, .10f), P(.76f, .38f), P(.54f, .70f), P(.26f, .95f),
                   P(.08f, .90f), P(.18f, .76f), P(.42f, .84f), P(.66f, .97f), P(.94f, .90f) };
PATH(two_flat) = { P(.14f, .10f), P(.44f, .03f), P(.74f, .08f), P(.78f, .30f), P(.55f, .58f), P(.30f, .82f),
                   P(.14f, .97f), P(.44f, .93f), P(.86f, .98f) };

PATH(three_round) = { P(.14f, .14f), P(.40f, .00f), P(.72f, .08f), P(.74f, .32f), CORNER(.40f, .47f), P(.74f, .56f),
                      P(.86f, .78f), P(.60f, .98f), P(.28f, .98f), P(.08f, .84f) };
PATH(three_flat) = { P(.14f, .05f), P(.46f, .05f), CORNER(.80f, .04f), P(.62f, .22f), CORNER(.42f, .40f), P(.74f, .48f),
                     P(.86f, .72f), P(.62f, .96f), P(.32f, .98f), P(.10f, .88f) };
PATH(three_loop) = { P(.18f, .10f), P(.48f, .00f), P(.74f, .14f), P(.66f, .38f), P(.44f, .50f), P(.36f, .43f),
                     P(.50f, .46f), P(.76f, .60f), P(.80f, .84f), P(.48f, 1.0f), P(.14f, .90f) };

PATH(four_open) = { P(.26f, .00f), P(.18f, .28f), CORNER(.08f, .58f), P(.50f, .58f), P(.94f, .55f) };
PATH(four_stem) = { P(.72f, .12f), P(.69f, .45f), P(.66f, .75f), P(.63f, 1.0f) };
PATH(four_closed) = { P(.64f, 1.0f), P(.66f, .68f), P(.69f, .34f), CORNER(.72f, .00f), P(.38f, .34f),
                      CORNER(.05f, .66f), P(.48f, .66f), P(.94f, .63f) };
PATH(four_cup) = { P(.14f, .04f), P(.10f, .30f), P(.22f, .52f), P(.50f, .54f), P(.82f, .46f) };
PATH(four_cup_stem) = { P(.84f, .02f), P(.81f, .36f), P(.77f, .70f), P(.74f, 1.0f) };

PATH(five_bar) = { P(.30f, .04f), P(.60f, .03f), P(.90f, .00f) };
PATH(five_body) = { P(.30f, .04f), P(.26f, .22f), CORNER(.22f, .42f), P(.52f, .36f), P(.80f, .48f), P(.84f, .74f),
                    P(.62f, .96f), P(.34f, 1.0f), P(.08f, .90f) };
PATH(five_single) = { P(.88f, .02f), P(.58f, .03f), CORNER(.28f, .05f), P(.25f, .23f), CORNER(.20f, .44f),
                      P(.50f, .42f), P(.78f, .54f), P(.80f, .80f), P(.54f, 1.0f), P(.12f, .95f) };
PATH(five_round) = { P(.84f, .05f), P(.54f, .02f), P(.30f, .12f), P(.26f, .34f), P(.52f, .45f), P(.78f, .58f),
                     P(.78f, .82f), P(.52f, .99f), P(.14f, .92f) };

PATH(six_curved) = { P(.72f, .02f), P(.42f, .16f), P(.20f, .44f), P(.14f, .74f), P(.34f, .98f), P(.66f, .95f),
                     P(.84f, .74f), P(.70f, .54f), P(.42f, .54f), P(.18f, .72f) };
PATH(six_straight) = { P(.58f, .00f), P(.40f, .26f), P(.22f, .56f), P(.18f, .82f), P(.38f, .99f), P(.64f, .90f),
                       P(.70f, .72f), P(.52f, .60f), P(.32f, .68f), P(.20f, .82f) };
PATH(six_curl) = { P(.84f, .14f), P(.66f, .00f), P(.38f, .10f), P(.18f, .38f), P(.12f, .70f), P(.30f, .97f),
                   P(.62f, .98f), P(.80f, .78f), P(.70f, .58f), P(.42f, .54f), P(.16f, .66f) };

PATH(seven_plain) = { P(.08f, .06f), P(.48f, .05f), CORNER(.88f, .03f), P(.66f, .36f), P(.50f, .68f), P(.40f, 1.0f) };
PATH(seven_bar) = { P(.32f, .52f), P(.56f, .50f), P(.82f, .47f) };
PATH(seven_serif) = { P(.10f, .24f), CORNER(.12f, .04f), P(.48f, .07f), CORNER(.86f, .02f), P(.60f, .34f),
                      P(.46f, .66f), P(.42f, 1.0f) };
PATH(seven_round) = { P(.10f, .12f), P(.36f, .04f), P(.66f, .06f), P(.80f, .16f), P(.68f, .42f), P(.54f, .70f),
                      P(.46f, 1.0f) };

PATH(eight_right) = { P(.76f, .16f), P(.56f, .01f), P(.28f, .08f), P(.26f, .30f), P(.50f, .46f), P(.76f, .64f),
                      P(.76f, .88f), P(.50f, 1.0f), P(.24f, .88f), P(.24f, .66f), P(.50f, .48f), P(.72f, .32f),
                      P(.76f, .12f) };
PATH(eight_left) = { P(.50f, .46f), P(.28f, .30f), P(.32f, .08f), P(.56f, .01f), P(.74f, .16f), P(.66f, .36f),
                     P(.42f, .52f), P(.20f, .72f), P(.28f, .94f), P(.56f, 1.0f), P(.78f, .82f), P(.70f, .60f),
                     P(.44f, .44f) };
PATH(eight_top) = { P(.50f, .45f), P(.28f, .30f), P(.32f, .07f), P(.56f, .00f), P(.72f, .15f), P(.66f, .36f),
                    P(.46f, .46f) };
PATH(eight_bottom) = { P(.50f, .46f), P(.24f, .60f), P(.18f, .84f), P(.42f, 1.0f), P(.70f, .94f), P(.80f, .72f),
                       P(.64f, .52f), P(.46f, .45f) };

PATH(nine_straight) = { P(.76f, .18f), P(.54f, .01f), P(.26f, .10f), P(.18f, .34f), P(.36f, .52f), P(.62f, .44f),
                        CORNER(.80f, .14f), P(.78f, .44f), P(.74f, .74f), P(.70f, 1.0f) };
PATH(nine_curled) = { P(.78f, .22f), P(.58f, .02f), P(.28f, .08f), P(.16f, .32f), P(.34f, .50f), P(.62f, .42f),
                      P(.80f, .20f), P(.84f, .50f), P(.72f, .84f), P(.44f, 1.0f), P(.16f, .90f) };
PATH(nine_leaning) = { P(.82f, .08f), P(.54f, .03f), P(.28f, .18f), P(.24f, .40f), P(.46f, .46f), P(.70f, .28f),
                       CORNER(.84f, .08f), P(.70f, .42f), P(.56f, .72f), P(.42f, 1.0f) };

static const struct cnn_digit_shape zeros[] = { ONE(zero_round), ONE(zero_open), ONE(zero_slim) };
static const struct cnn_digit_shape ones[] = { ONE(one_bare), ONE(one_flag), ONE(one_hook), TWO(one_hook, one_foot) };
static const struct cnn_digit_shape twos[] = { ONE(two_plain), ONE(two_loop), ONE(two_flat) };
static const struct cnn_digit_shape threes[] = { ONE(three_round), ONE(three_flat), ONE(three_loop) };
static const struct cnn_digit_shape fours[] = { TWO(four_open, four_stem), ONE(four_closed),
                                                TWO(four_cup, four_cup_stem) };
static const struct cnn_digit_shape fives[] = { TWO(five_body, five_bar), ONE(five_single), ONE(five_round) };
static const struct cnn_digit_shape sixes[] = { ONE(six_curved), ONE(six_straight), ONE(six_curl) };
static const struct cnn_digit_shape sevens[] = { ONE(seven_plain), TWO(seven_plain, seven_bar), ONE(seven_serif),
                                                 ONE(seven_round), TWO(seven_round, seven_bar) };
static const struct cnn_digit_shape eights[] = { ONE(eight_right), ONE(eight_left), TWO(eight_top, eight_bottom) };
static const struct cnn_digit_shape nines[] = { ONE(nine_straight), ONE(nine_curled), ONE(nine_leaning) };
/* clang-format on */

#define WAYS(list)                                  \
    {                                               \
        list, (int)(sizeof(list) / sizeof(list)[0]) \
    }

const struct cnn_digit_shape *cnn_digit_shapes(int label, int *count)
{
    static const struct {
        const struct cnn_digit_shape *shapes;
        int count;
    } ways[10] = { WAYS(zeros), WAYS(ones),  WAYS(twos),   WAYS(threes), WAYS(fours),
                   WAYS(fives), WAYS(sixes), WAYS(sevens), WAYS(eights), WAYS(nines) };
    *count = ways[label].count;
    return ways[label].shapes;
}
