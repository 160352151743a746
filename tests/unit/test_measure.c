/* SPDX-License-Identifier: MIT */
/* The gate and the way of a point, on the oracle as a backend: a right program passes, every kind of wrong one is a
 * mismatch that names its first wrong element; what cannot be measured says why before anything large is allocated. */
#include "tests/unit/core.h"
#include "tests/unit/files.h"

#include "experiments/driver/measure.h"
#include "tests/checker/oracle_backend.h"

#include <math.h>
#include <stdlib.h>

enum fault {
    RIGHT,
    OUTPUT_OFF,     /* one output of the last image off by a thousandth */
    OUTPUT_NAN,     /* NaN there */
    OUTPUT_INF,     /* infinity there */
    IMAGES_SKIPPED, /* images after the fourth keep what was there */
    LABEL_OFF,      /* one label is another class */
    LABEL_NONE,     /* one label is -1 */
    LOSS_OFF,       /* loss sum off by a hundredth of a per cent */
    LOSS_NAN,
    CORRECT_OFF,     /* one more called correct */
    IMAGES_OFF,      /* one image more counted */
    GRADIENT_OFF,    /* of one weight, by a thousandth */
    GRADIENT_NONE,   /* training changes nothing */
    GRADIENT_SUM,    /* of the sum of the losses instead of their mean */
    PARAMETERS_MOVE, /* evaluate changes a parameter */
    NOT_WAITED       /* the device works on when sync() returns: its clock says so */
};

static enum fault fault;
static const char *answers = ""; /* folder where points share what the oracle said */
static struct cnn_backend faulty;
static const struct cnn_network *seen; /* of the compiled program */
static int seen_batch;
static float *written; /* parameters as last written, to exaggerate from */

static int faulty_compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                          const struct cnn_program_options *options, struct cnn_error *error)
{
    seen = network;
    seen_batch = options->batch;
    return check_oracle_backend.compile(out, device, network, options, error);
}

static int faulty_write(struct cnn_program *program, const float *parameters, struct cnn_error *error)
{
    free(written);
    written = calloc((size_t)seen->parameters, sizeof *written);
    memcpy(written, parameters, (size_t)seen->parameters * sizeof *written);
    return check_oracle_backend.write_parameters(program, parameters, error);
}

static int faulty_read(struct cnn_program *program, float *parameters, struct cnn_error *error)
{
    int status = check_oracle_backend.read_parameters(program, parameters, error);
    int64_t last = seen->parameters - 1, victim = 0;
    for (int64_t i = 0; i < last; i++)
        victim = fabsf(parameters[i] - written[i]) > fabsf(parameters[victim] - written[victim]) ? i : victim;
    if (fault == GRADIENT_OFF)
        parameters[victim] += 1e-3f * (parameters[victim] - written[victim]);
    if (fault == PARAMETERS_MOVE)
        parameters[last] = nextafterf(parameters[last], 2);
    return status;
}

static int faulty_rates(struct cnn_program *program, const struct cnn_rates *rates, struct cnn_error *error)
{
    struct cnn_rates other = *rates;
    if (fault == GRADIENT_NONE)
        other.rate = 0;
    if (fault == GRADIENT_SUM)
        other.rate *= (float)seen_batch;
    return check_oracle_backend.set_rates(program, &other, error);
}

static int faulty_fetch(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error)
{
    int status = check_oracle_backend.fetch(program, answer, error);
    int last = (seen_batch - 1) * seen->classes;
    if (status || answer->images == 0)
        return status;
    if (answer->outputs && (fault == OUTPUT_OFF || fault == OUTPUT_NAN || fault == OUTPUT_INF))
        answer->outputs[last] *= fault == OUTPUT_OFF ? 1.001f : fault == OUTPUT_NAN ? NAN : INFINITY;
    for (int i = 4 * seen->classes; answer->outputs && fault == IMAGES_SKIPPED && i < last + seen->classes; i++)
        answer->outputs[i] = 0;
    if (answer->labels && fault == LABEL_OFF)
        answer->labels[seen_batch / 2] ^= 1;
    if (answer->labels && fault == LABEL_NONE)
        answer->labels[0] = -1;
    answer->loss_sum *= fault == LOSS_OFF ? 1.0001 : fault == LOSS_NAN ? (double)NAN : 1;
    answer->correct += fault == CORRECT_OFF;
    answer->images += fault == IMAGES_OFF;
    return status;
}

static int device_threads = 1, plan_threads;

static int faulty_describe(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error)
{
    int status = check_oracle_backend.describe(device, info, error);
    info->threads = device_threads;
    return status;
}

static int faulty_plan(struct cnn_device *device, const struct cnn_network *network,
                       const struct cnn_program_options *options, struct cnn_plan *out, struct cnn_error *error)
{
    int status = check_oracle_backend.plan(device, network, options, out, error);
    out->threads = plan_threads;
    return status;
}

static int faulty_counters(struct cnn_program *program, struct cnn_counters *out, struct cnn_error *error)
{
    int status = check_oracle_backend.counters(program, out, error);
    out->event_seconds += fault == NOT_WAITED;
    return status;
}

static int make_faulty(void **state)
{
    (void)state;
    faulty = check_oracle_backend;
    faulty.describe = faulty_describe;
    faulty.plan = faulty_plan;
    faulty.compile = faulty_compile;
    faulty.write_parameters = faulty_write;
    faulty.read_parameters = faulty_read;
    faulty.set_rates = faulty_rates;
    faulty.fetch = faulty_fetch;
    faulty.counters = faulty_counters;
    return 0;
}

static int free_faulty(void **state)
{
    (void)state;
    free(written);
    return 0;
}

/* A small network that has a bit of everything. */
static struct point small_point(enum point_phase phase, int batch)
{
    struct point point = { .phase = phase,
                           .batch = batch,
                           .series = "x",
                           .backend = "oracle",
                           .algorithm = "oracle",
                           .min_time = 1e-4,
                           .max_time = 0.02,
                           .min_samples = 6,
                           .max_samples = 20,
                           .interval = 0.5,
                           .data = "normal",
                           .rates = { 0.01f, 0, 0 },
                           .rate_decay = 1,
                           .epochs = 2 };
    snprintf(point.answers, sizeof point.answers, "%s", answers);
    point.spec = core_empty(12);
    core_add(&point.spec, CNN_CONV, 3, 3, 1)->activation = CNN_TANH;
    core_add(&point.spec, CNN_MAXPOOL, 0, 2, 2);
    core_add(&point.spec, CNN_FULL, 0, 0, 0);
    point.spec.loss = CNN_SOFTMAX;
    return point;
}

static struct result measure(const struct point *point, enum fault wrong)
{
    struct result result;
    fault = wrong;
    measure_point(point, &faulty, &result);
    result_free(&result);
    return result;
}

static void assert_mismatch(enum point_phase phase, enum fault wrong, const char *says)
{
    struct point point = small_point(phase, 11);
    struct result result = measure(&point, wrong);
    if (result.status != CNN_MISMATCH || !strstr(result.reason, says))
        fail_msg("fault %d, %s: %s: %s", wrong, point_phase_name(phase), cnn_status_word(result.status), result.reason);
    assert_true(isnan(result.median)); /* a wrong program has no time */
    assert_int_equal(result.samples, -1);
}

static void a_right_program_passes(void **state)
{
    (void)state;
    static const int batches[] = { 1, 2, 7, 8, 9, 33 };
    for (int phase = POINT_TRAIN; phase <= POINT_EVALUATE; phase++)
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            struct point point = small_point((enum point_phase)phase, batches[b]);
            struct result result = measure(&point, RIGHT);
            if (result.status != CNN_OK && result.status != CNN_UNSTABLE)
                fail_msg("%s", result.reason);
            assert_true(result.verified_error <= 1);
            assert_true(result.median > 0 && result.low <= result.median && result.median <= result.high);
            assert_true(result.samples >= 6 && result.steps_per_sample >= 1);
            assert_true(result.flops_useful > 0 && result.plan_bytes > 0 && result.peak_bytes > 0);
            assert_true(result.setup_seconds >= 0 && result.compile_seconds >= 0 && result.verify_seconds > 0);
            assert_true(result.parameters_checksum != 0);
            assert_true(fabs(result.event_seconds - 1e-9) < 1e-18); /* that device's clock says a nanosecond a step */
            assert_true(result.copy_seconds > 0);
            assert_int_equal(result.peak_device_bytes, 1024 * batches[b]);
        }
}

static void a_wrong_output_is_a_mismatch(void **state)
{
    (void)state;
    for (int phase = POINT_TRAIN; phase <= POINT_EVALUATE; phase++) {
        if (phase == POINT_CLASSIFY)
            continue; /* its answers have no images by which faulty_fetch() knows a step */
        assert_mismatch((enum point_phase)phase, OUTPUT_OFF, "output 0 of image 10 in a batch of 11");
        assert_mismatch((enum point_phase)phase, OUTPUT_NAN, "found nan");
        assert_mismatch((enum point_phase)phase, OUTPUT_INF, "found");
        assert_mismatch((enum point_phase)phase, IMAGES_SKIPPED, "of image 4 in a batch of 11: found 0");
    }
}

static void a_wrong_label_or_sum_is_a_mismatch(void **state)
{
    (void)state;
    static const enum point_phase phases[] = { POINT_TRAIN, POINT_EVALUATE };
    for (int i = 0; i < 2; i++) {
        assert_mismatch(phases[i], LABEL_OFF, "image 5 in a batch of 11 got label");
        assert_mismatch(phases[i], LABEL_NONE, "image 0 in a batch of 11 got label -1");
        assert_mismatch(phases[i], LOSS_OFF, "sum of the losses of 11 images");
        assert_mismatch(phases[i], LOSS_NAN, "found nan");
        assert_mismatch(phases[i], CORRECT_OFF, "counted correct");
        assert_mismatch(phases[i], IMAGES_OFF, "12 images");
    }
}

static void a_wrong_gradient_is_a_mismatch(void **state)
{
    (void)state;
    assert_mismatch(POINT_TRAIN, GRADIENT_OFF, "gradient of");
    assert_mismatch(POINT_TRAIN, GRADIENT_NONE, "gradient of weight 0 of layer");
    assert_mismatch(POINT_TRAIN, GRADIENT_SUM, "gradient of");
    assert_mismatch(POINT_EVALUATE, PARAMETERS_MOVE, "parameters changed");
    assert_mismatch(POINT_CLASSIFY, PARAMETERS_MOVE, "parameters changed");
}

/* The gate is the same where another point has asked the oracle before. */
static void shared_answers_excuse_nothing(void **state)
{
    void *folder = NULL;
    assert_int_equal(files_folder_make(&folder), 0);
    answers = folder;
    struct point point = small_point(POINT_TRAIN, 11);
    struct result computed = measure(&point, RIGHT), shared = measure(&point, RIGHT);
    assert_true(computed.verified_error > 0 && computed.verified_error == shared.verified_error);
    assert_int_equal(rmdir(folder), -1); /* something was left there */
    a_right_program_passes(state);
    a_wrong_output_is_a_mismatch(state);
    a_wrong_label_or_sum_is_a_mismatch(state);
    a_wrong_gradient_is_a_mismatch(state);
    answers = "";
    assert_int_equal(files_folder_remove(&folder), 0);
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    struct point point = small_point(POINT_TRAIN, 4);
    point.spec.image = 2;
    struct result result = measure(&point, RIGHT);
    assert_int_equal(result.status, CNN_INVALID);
    assert_non_null(strstr(result.reason, "kernel"));
    point = small_point(POINT_TRAIN, 4);
    snprintf(point.algorithm, sizeof point.algorithm, "magic");
    result = measure(&point, RIGHT);
    assert_int_equal(result.status, CNN_INVALID);
    assert_true(result.parameters > 0); /* what was known stays */
    point = small_point(POINT_TRAIN, 0);
    assert_int_equal(measure(&point, RIGHT).status, CNN_INVALID);
    point = small_point(POINT_TRAIN, 4);
    point.copies = CNN_COPIES_PIPELINED;
    assert_int_equal(measure(&point, RIGHT).status, CNN_UNAVAILABLE);
}

static void fewer_threads_than_asked_for_are_said(void **state)
{
    (void)state;
    struct point point = small_point(POINT_CLASSIFY, 4);
    device_threads = 4;
    plan_threads = 4;
    struct result result = measure(&point, RIGHT);
    assert_int_equal(result.threads, 4);
    assert_null(strstr(result.reason, "threads"));
    plan_threads = 1;
    result = measure(&point, RIGHT);
    assert_int_equal(result.threads, 1);
    assert_non_null(strstr(result.reason, "ran 1 thread: too small for more"));
    device_threads = 1;
    plan_threads = 0;
}

static void what_does_not_fit_is_oom_before_it_is_taken(void **state)
{
    (void)state;
    struct point point = small_point(POINT_TRAIN, 400000000); /* about 1 TB of images */
    struct result result = measure(&point, RIGHT);
    assert_int_equal(result.status, CNN_OOM);
    assert_non_null(strstr(result.reason, "MiB are available"));
    assert_true(result.plan_bytes > (int64_t)1 << 39);
    assert_true(result.peak_bytes < (int64_t)1 << 30);
}

static struct point digits_point(void)
{
    struct point point = small_point(POINT_ACCURACY, 16);
    point.spec.classes = 10;
    snprintf(point.data, sizeof point.data, "digits");
    point.train_limit = 50; /* no multiple of the batch */
    point.test_limit = 20;
    point.rates.rate = 0.05f;
    return point;
}

static void training_that_diverges_is_an_error(void **state)
{
    (void)state;
    struct point points[] = { small_point(POINT_TRAIN, 4), digits_point() };
    for (int i = 0; i < 2; i++) {
        points[i].rates.rate = INFINITY;
        points[i].min_time = 5e-3;
        struct result result = measure(&points[i], RIGHT);
        assert_int_equal(result.status, CNN_ERROR);
        assert_true(i == 1 || strstr(result.reason, "smaller rate"));
        assert_true(isnan(result.median));
    }
}

static void timed_steps_take_images_of_a_set_too(void **state)
{
    (void)state;
    struct point point = digits_point();
    point.phase = POINT_TRAIN;
    struct result result = measure(&point, RIGHT);
    assert_true(result.status == CNN_OK || result.status == CNN_UNSTABLE);
}

static void data_that_is_not_there_or_does_not_fit_is_said(void **state)
{
    (void)state;
    struct point point = digits_point();
    snprintf(point.data, sizeof point.data, "mnist");
    snprintf(point.data_folder, sizeof point.data_folder, "/nowhere/at/all");
    struct result result = measure(&point, RIGHT);
    assert_int_equal(result.status, CNN_UNAVAILABLE);
    point = digits_point();
    point.spec.classes = 3;
    result = measure(&point, RIGHT);
    assert_int_equal(result.status, CNN_INVALID);
    assert_non_null(strstr(result.reason, "10 classes"));
    point.spec.classes = 10;
    point.spec.channels = 2;
    result = measure(&point, RIGHT);
    assert_int_equal(result.status, CNN_INVALID);
}

static void steps_that_were_not_waited_for_have_no_time(void **state)
{
    (void)state;
    struct point point = small_point(POINT_CLASSIFY, 2);
    struct result result = measure(&point, NOT_WAITED);
    assert_int_equal(result.status, CNN_ERROR);
    assert_non_null(strstr(result.reason, "by the device's own clock"));
    assert_true(isnan(result.median));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_program_passes),
        cmocka_unit_test(a_wrong_output_is_a_mismatch),
        cmocka_unit_test(a_wrong_label_or_sum_is_a_mismatch),
        cmocka_unit_test(steps_that_were_not_waited_for_have_no_time),
        cmocka_unit_test(a_wrong_gradient_is_a_mismatch),
        cmocka_unit_test(shared_answers_excuse_nothing),
        cmocka_unit_test(what_cannot_be_is_said),
        cmocka_unit_test(fewer_threads_than_asked_for_are_said),
        cmocka_unit_test(what_does_not_fit_is_oom_before_it_is_taken),
        cmocka_unit_test(training_that_diverges_is_an_error),
        cmocka_unit_test(timed_steps_take_images_of_a_set_too),
        cmocka_unit_test(data_that_is_not_there_or_does_not_fit_is_said),
    };
    return cmocka_run_group_tests(tests, make_faulty, free_faulty);
}
