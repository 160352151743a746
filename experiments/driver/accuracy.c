/* SPDX-License-Identifier: MIT */
/* Epochs by the core's trainer; the seconds are taken here, in its callback, with the device waited for. */
#include "experiments/driver/accuracy.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/meter.h"
#include "experiments/driver/nvml.h"
#include "experiments/driver/statistics.h"
#include "lib/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct epochs {
    struct bench *bench;
    struct result *result;
    struct meter *meter;
    int capacity;
    enum cnn_epoch_stage stage; /* that runs since `mark` */
    double mark, seconds[CNN_EPOCH_DONE + 1];
    struct cnn_error *error; /* of a sync */
};

#define SLOTS_BYTES ((double)(64 << 20))
#define SLOTS_MAX 64 /* a GPU records a step for each */

int accuracy_slots(const struct point *point)
{
    const struct cnn_network_spec *spec = &point->spec;
    double batch = (double)point->batch * spec->channels * spec->image * spec->image * sizeof(float);
    return batch > 0 ? (int)fmin(SLOTS_MAX, fmax(1, SLOTS_BYTES / batch)) : 1;
}

int accuracy_open(const struct bench *bench, struct cnn_dataset **train, struct cnn_dataset **test,
                  struct cnn_error *error)
{
    const struct point *point = bench->point;
    struct cnn_dataset_options options = {
        .folder = *point->data_folder ? point->data_folder : NULL,
        .side = bench->network->input.rows,
        .fit = point->fit,
        .pixels = point->pixels,
        .seed = point->spec.seed,
        .limit = point->train_limit,
    };
    *train = *test = NULL;
    if (cnn_dataset_open(train, point->data, CNN_SPLIT_TRAIN, &options, error))
        return error->status;
    options.limit = point->test_limit;
    options.train = *train;
    if (cnn_dataset_open(test, point->data, CNN_SPLIT_TEST, &options, error))
        return error->status;
    int status = batches_fit(*train, bench->network, error);
    return status != CNN_OK ? status : batches_fit(*test, bench->network, error);
}

/* What lies between two epochs, the order of the next one's images, belongs to loading. Where every step copies, its
 * loading is part of it. */
static void add_epoch(struct epochs *epochs, const struct cnn_epoch *epoch)
{
    double *seconds = epochs->seconds, loading = seconds[CNN_EPOCH_LOADS] + seconds[CNN_EPOCH_DONE];
    bool copies = epochs->bench->point->copies != CNN_COPIES_NONE;
    epochs->result->epoch[epochs->result->epochs++] = (struct epoch_result){
        .epoch = epoch->epoch,
        .train_loss = epoch->train_loss,
        .train_accuracy = epoch->train_accuracy,
        .test_loss = epoch->test_loss,
        .test_accuracy = epoch->test_accuracy,
        .load_seconds = loading,
        .train_seconds = seconds[CNN_EPOCH_TRAINS] + (copies ? loading : 0),
        .test_seconds = seconds[CNN_EPOCH_TESTS],
    };
    memset(epochs->seconds, 0, sizeof epochs->seconds);
}

/* Each stage's clock stops where the next one begins, with the device waited for. */
static bool on_stage(void *context, enum cnn_epoch_stage stage, const struct cnn_epoch *epoch)
{
    struct epochs *epochs = context;
    if (epochs->bench->backend->sync(epochs->bench->program, epochs->error))
        return false;
    double now = clock_seconds();
    epochs->seconds[epochs->stage] += now - epochs->mark;
    if (stage == CNN_EPOCH_DONE && epochs->result->epochs < epochs->capacity)
        add_epoch(epochs, epoch);
    epochs->stage = stage;
    meter_look(epochs->meter); /* in nobody's seconds */
    epochs->mark = clock_seconds();
    return true;
}

static int summarise(struct result *result, struct cnn_error *error)
{
    struct statistics statistics;
    double *sorted = calloc((size_t)result->epochs, sizeof *sorted);
    if (!sorted)
        return cnn_error_set(error, CNN_OOM, "no memory for %d epochs", result->epochs);
    for (int e = 0; e < result->epochs; e++)
        statistics_insert(sorted, e, result->epoch[e].train_seconds);
    statistics_of(sorted, result->epochs, &statistics);
    result->median = statistics.median;
    result->low = statistics.low;
    result->high = statistics.high;
    result->mean = statistics.mean;
    result->q1 = statistics.q1;
    result->q3 = statistics.q3;
    result->min = statistics.min;
    free(sorted);
    return CNN_OK;
}

static int train_epochs(struct epochs *epochs, const struct cnn_dataset *train, const struct cnn_dataset *test,
                        const struct cnn_trainer_options *options, struct cnn_error *error)
{
    const struct bench *bench = epochs->bench;
    if (cnn_trainer_run(bench->backend, bench->program, bench->network, train, test, options, on_stage, epochs, error))
        return error->status;
    if (epochs->error->status != CNN_OK) {
        *error = *epochs->error;
        return error->status;
    }
    if (epochs->result->epochs != options->epochs)
        return cnn_error_set(error, CNN_ERROR, "training ended after %d of %d epochs", epochs->result->epochs,
                             options->epochs);
    return summarise(epochs->result, error);
}

int accuracy_run(struct bench *bench, const struct cnn_dataset *train, const struct cnn_dataset *test,
                 struct result *result, struct cnn_error *error)
{
    const struct point *point = bench->point;
    struct cnn_error fault = { CNN_OK, "" };
    struct cnn_distortion distortion;
    struct epochs epochs = {
        .bench = bench, .result = result, .capacity = point->epochs, .stage = CNN_EPOCH_DONE, .error = &fault
    };
    if (cnn_distortion_parse(&distortion, point->distort, error))
        return cnn_error_prefix(error, "distort");
    const struct cnn_trainer_options options = {
        .batch = point->batch,
        .epochs = point->epochs,
        .slots = bench->options.slots,
        .rates = point->rates,
        .rate_decay = point->rate_decay,
        .seed = point->spec.seed,
        .distortion = &distortion,
    };
    result->pixel_mean = (double)train->mean;
    result->pixel_deviation = (double)train->deviation;
    result->train_images = train->count;
    result->test_images = test->count;
    result->epoch = calloc((size_t)point->epochs, sizeof *result->epoch);
    if (!result->epoch)
        return cnn_error_set(error, CNN_OOM, "no memory for %d epochs", point->epochs);
    if (bench->backend->write_parameters(bench->program, bench->parameters, error))
        return error->status;
    epochs.meter = meter_open("", NVML_LIBRARY, bench->pci);
    meter_start(epochs.meter);
    epochs.mark = clock_seconds();
    int status = train_epochs(&epochs, train, test, &options, error);
    if (status == CNN_OK)
        meter_report(epochs.meter, (double)result->train_images / result->median, result);
    meter_close(epochs.meter);
    return status;
}
