/* SPDX-License-Identifier: MIT */
/* Epochs by the core's trainer; the seconds are taken here, in its callback, with the device waited for. */
#include "experiments/driver/accuracy.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/statistics.h"
#include "lib/trainer.h"

#include <stdlib.h>

struct epochs {
    struct bench *bench;
    struct result *result;
    int capacity;
    double mark, train_seconds;
    struct cnn_error *error; /* of a sync */
};

int accuracy_open(const struct bench *bench, struct cnn_dataset **train, struct cnn_dataset **test,
                  struct cnn_error *error)
{
    const struct point *point = bench->point;
    struct cnn_dataset_options options = {
        .folder = *point->data_folder ? point->data_folder : NULL,
        .side = bench->network->input.rows,
        .fit = point->fit,
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

/* Stage 0 starts the clock of training, 1 stops it and starts that of testing, 2 brings the figures. */
static bool on_epoch(void *context, int stage, const struct cnn_epoch *epoch)
{
    struct epochs *epochs = context;
    struct result *result = epochs->result;
    if (epochs->bench->backend->sync(epochs->bench->program, epochs->error))
        return false;
    double now = clock_seconds();
    if (stage == 1)
        epochs->train_seconds = now - epochs->mark;
    if (stage == 2 && result->epochs < epochs->capacity)
        result->epoch[result->epochs++] = (struct epoch_result){
            .epoch = epoch->epoch,
            .train_loss = epoch->train_loss,
            .train_accuracy = epoch->train_accuracy,
            .test_loss = epoch->test_loss,
            .test_accuracy = epoch->test_accuracy,
            .train_seconds = epochs->train_seconds,
            .test_seconds = now - epochs->mark,
        };
    epochs->mark = now;
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

int accuracy_run(struct bench *bench, const struct cnn_dataset *train, const struct cnn_dataset *test,
                 struct result *result, struct cnn_error *error)
{
    const struct point *point = bench->point;
    struct cnn_error fault = { CNN_OK, "" };
    struct epochs epochs = { .bench = bench, .result = result, .capacity = point->epochs, .error = &fault };
    const struct cnn_trainer_options options = {
        .batch = point->batch,
        .epochs = point->epochs,
        .rates = point->rates,
        .rate_decay = point->rate_decay,
        .seed = point->spec.seed,
    };
    result->train_images = train->count;
    result->test_images = test->count;
    result->epoch = calloc((size_t)point->epochs, sizeof *result->epoch);
    if (!result->epoch)
        return cnn_error_set(error, CNN_OOM, "no memory for %d epochs", point->epochs);
    if (bench->backend->write_parameters(bench->program, bench->parameters, error) ||
        cnn_trainer_run(bench->backend, bench->program, bench->network, train, test, &options, on_epoch, &epochs,
                        error))
        return error->status;
    if (fault.status != CNN_OK) {
        *error = fault;
        return fault.status;
    }
    if (result->epochs != point->epochs)
        return cnn_error_set(error, CNN_ERROR, "training ended after %d of %d epochs", result->epochs, point->epochs);
    return summarise(result, error);
}
