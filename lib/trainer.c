/* SPDX-License-Identifier: MIT */
/* Epochs over batches. The order of images is drawn from the seed and the epoch's number, so a backend, a thread count
 * or a resumed run changes nothing of it. */
#include "lib/trainer.h"

#include "lib/checked.h"
#include "lib/parameters.h"
#include "lib/random.h"

#include <math.h>
#include <stdlib.h>

/* What a run needs in memory, taken once. */
struct run {
    const struct cnn_backend *backend;
    struct cnn_program *program;
    const struct cnn_network *network;
    const struct cnn_trainer_options *options;
    float *images;     /* one batch */
    int32_t *labels;   /* one batch */
    int32_t *order;    /* of the training images */
    float *parameters; /* for the checksum */
    cnn_epoch_callback callback;
    void *context;
};

void cnn_trainer_order(uint64_t seed, int epoch, int32_t *order, int64_t count)
{
    struct cnn_random random;
    cnn_random_init(&random, seed, CNN_STREAM_BATCHES, (uint32_t)epoch);
    for (int64_t i = 0; i < count; i++)
        order[i] = (int32_t)i;
    cnn_random_shuffle(&random, order, count);
}

static bool fits(const struct cnn_network *network, const struct cnn_dataset *dataset)
{
    return dataset->channels == network->input.maps && dataset->side == network->input.rows &&
           dataset->side == network->input.cols && dataset->classes <= network->label_count && dataset->count > 0 &&
           dataset->count <= INT32_MAX;
}

static int check(const struct cnn_network *network, const struct cnn_dataset *dataset,
                 const struct cnn_trainer_options *options, struct cnn_error *error)
{
    if (options->batch < 1 || options->epochs < 1)
        return cnn_error_set(error, CNN_INVALID, "training: batch %d and %d epochs, expected both to be at least 1",
                             options->batch, options->epochs);
    if (!fits(network, dataset))
        return cnn_error_set(error, CNN_INVALID,
                             "training: data set %s has %lld images of %d x %d x %d in %d classes, the network expects "
                             "%d x %d x %d and has %d classes",
                             dataset->name, (long long)dataset->count, dataset->channels, dataset->side, dataset->side,
                             dataset->classes, network->input.maps, network->input.rows, network->input.cols,
                             network->label_count);
    return CNN_OK;
}

static int take_memory(struct run *run, int64_t train_count, struct cnn_error *error)
{
    int64_t pixels;
    size_t image_bytes, label_bytes, order_bytes, parameter_bytes;
    if (!cnn_mul(cnn_shape_size(run->network->input), run->options->batch, &pixels) ||
        !cnn_bytes(pixels, sizeof(float), &image_bytes) ||
        !cnn_bytes(run->options->batch, sizeof(int32_t), &label_bytes) ||
        !cnn_bytes(train_count, sizeof(int32_t), &order_bytes) ||
        !cnn_bytes(run->network->parameters, sizeof(float), &parameter_bytes))
        return cnn_error_set(error, CNN_INVALID, "training: a batch of %d images does not fit in 63 bits",
                             run->options->batch);
    run->images = malloc(image_bytes);
    run->labels = malloc(label_bytes);
    run->order = malloc(order_bytes);
    run->parameters = malloc(parameter_bytes);
    if (!run->images || !run->labels || !run->order || !run->parameters)
        return cnn_error_set(error, CNN_OOM, "training: no memory for a batch of %d images and %lld parameters",
                             run->options->batch, (long long)run->network->parameters);
    return CNN_OK;
}

static void give_memory(struct run *run)
{
    free(run->images);
    free(run->labels);
    free(run->order);
    free(run->parameters);
}

/* Every image of a set once, `order` NULL: as they come. Mean loss and accuracy are over the images that ran. */
static int pass(struct run *run, const struct cnn_dataset *dataset, const int32_t *order, bool training, double *loss,
                double *accuracy, struct cnn_error *error)
{
    const struct cnn_backend *backend = run->backend;
    struct cnn_answer answer = { 0 };
    int status;
    for (int64_t first = 0; first < dataset->count; first += run->options->batch) {
        int64_t left = dataset->count - first;
        int count = left < run->options->batch ? (int)left : run->options->batch;
        cnn_dataset_batch(dataset, order ? order + first : NULL, order ? 0 : first, count, run->images, run->labels);
        status = backend->load(run->program, 0, run->images, run->labels, count, error);
        if (!status)
            status = training ? backend->train(run->program, 1, error) : backend->evaluate(run->program, 1, error);
        if (status)
            return status;
    }
    if ((status = backend->fetch(run->program, &answer, error)) || (status = backend->sync(run->program, error)))
        return status;
    if (answer.images != dataset->count)
        return cnn_error_set(error, CNN_ERROR, "training: backend %s answered for %lld images, expected %lld",
                             backend->name, (long long)answer.images, (long long)dataset->count);
    *loss = answer.loss_sum / (double)answer.images;
    *accuracy = (double)answer.correct / (double)answer.images;
    return CNN_OK;
}

static int set_rate(struct run *run, float rate, struct cnn_error *error)
{
    struct cnn_rates rates = run->options->rates;
    rates.rate = rate;
    return run->backend->set_rates(run->program, &rates, error);
}

static int train_epoch(struct run *run, const struct cnn_dataset *train, struct cnn_epoch *epoch,
                       struct cnn_error *error)
{
    int status;
    cnn_trainer_order(run->options->seed, epoch->epoch, run->order, train->count);
    status = pass(run, train, run->order, true, &epoch->train_loss, &epoch->train_accuracy, error);
    if (!status)
        status = run->backend->read_parameters(run->program, run->parameters, error);
    if (status)
        return status;
    epoch->parameters_checksum = cnn_checksum_floats(run->parameters, run->network->parameters);
    if (!isfinite(epoch->train_loss))
        return cnn_error_set(error, CNN_ERROR,
                             "training: the loss of epoch %d is not finite; the rate %g may be too high", epoch->epoch,
                             (double)run->options->rates.rate);
    return CNN_OK;
}

static bool told(const struct run *run, int stage, const struct cnn_epoch *epoch)
{
    return !run->callback || run->callback(run->context, stage, epoch);
}

/* *stop: the callback wants no more. */
static int run_epoch(struct run *run, const struct cnn_dataset *train, const struct cnn_dataset *test, int number,
                     bool *stop, struct cnn_error *error)
{
    struct cnn_epoch epoch = {
        .epoch = number, .train_loss = NAN, .train_accuracy = NAN, .test_loss = NAN, .test_accuracy = NAN
    };
    int status;
    *stop = !told(run, 0, &epoch);
    if (*stop)
        return CNN_OK;
    if ((status = train_epoch(run, train, &epoch, error)))
        return status;
    *stop = !told(run, 1, &epoch);
    if (*stop)
        return CNN_OK;
    if (test && (status = pass(run, test, NULL, false, &epoch.test_loss, &epoch.test_accuracy, error)))
        return status;
    *stop = !told(run, 2, &epoch);
    return CNN_OK;
}

int cnn_trainer_run(const struct cnn_backend *backend, struct cnn_program *program, const struct cnn_network *network,
                    const struct cnn_dataset *train, const struct cnn_dataset *test,
                    const struct cnn_trainer_options *options, cnn_epoch_callback callback, void *context,
                    struct cnn_error *error)
{
    struct run run = { .backend = backend,
                       .program = program,
                       .network = network,
                       .options = options,
                       .callback = callback,
                       .context = context };
    struct cnn_answer stale = { 0 };
    float rate = options->rates.rate;
    bool stop = false;
    int status = check(network, train, options, error);
    if (!status && test)
        status = check(network, test, options, error);
    if (!status)
        status = take_memory(&run, train->count, error);
    if (!status) /* sums of whoever used the program before */
        status = backend->fetch(program, &stale, error);
    for (int epoch = 1; !status && !stop && epoch <= options->epochs; epoch++, rate *= options->rate_decay) {
        status = set_rate(&run, rate, error);
        if (!status)
            status = run_epoch(&run, train, test, epoch, &stop, error);
    }
    give_memory(&run);
    return status;
}
