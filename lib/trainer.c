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
    float *images;                   /* one batch */
    int32_t *labels;                 /* one batch */
    uint8_t *pixels;                 /* one batch, distorted */
    struct cnn_distorter *distorter; /* NULL: images stay as they are */
    int32_t *order;                  /* of the training images */
    float *parameters;               /* for the checksum */
    cnn_epoch_callback callback;
    void *context;
    struct cnn_epoch epoch;
    bool stop; /* the callback wants no more */
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
    const struct cnn_distortion *distortion = run->options->distortion;
    struct cnn_shape input = run->network->input;
    if (!cnn_mul(cnn_shape_size(run->network->input), run->options->batch, &pixels) ||
        !cnn_bytes(pixels, sizeof(float), &image_bytes) ||
        !cnn_bytes(run->options->batch, sizeof(int32_t), &label_bytes) ||
        !cnn_bytes(train_count, sizeof(int32_t), &order_bytes) ||
        !cnn_bytes(run->network->parameters, sizeof(float), &parameter_bytes))
        return cnn_error_set(error, CNN_INVALID, "training: a batch of %d images does not fit in 63 bits",
                             run->options->batch);
    if (distortion && cnn_distortion_any(distortion)) {
        if (cnn_distorter_create(&run->distorter, distortion, input.maps, input.rows, run->options->seed, error))
            return error->status;
        run->pixels = malloc((size_t)pixels);
    }
    run->images = malloc(image_bytes);
    run->labels = malloc(label_bytes);
    run->order = malloc(order_bytes);
    run->parameters = malloc(parameter_bytes);
    if (!run->images || !run->labels || !run->order || !run->parameters || (run->distorter && !run->pixels))
        return cnn_error_set(error, CNN_OOM, "training: no memory for a batch of %d images and %lld parameters",
                             run->options->batch, (long long)run->network->parameters);
    return CNN_OK;
}

static void give_memory(struct run *run)
{
    cnn_distorter_destroy(run->distorter);
    free(run->pixels);
    free(run->images);
    free(run->labels);
    free(run->order);
    free(run->parameters);
}

static bool told(struct run *run, enum cnn_epoch_stage stage)
{
    run->stop = run->stop || (run->callback && !run->callback(run->context, stage, &run->epoch));
    return !run->stop;
}

/* The set as it is seen in this epoch: `count` images of it, from `order` or from `first` on, distorted. */
static void distort(struct run *run, const struct cnn_dataset *dataset, const int32_t *order, int count)
{
    int64_t size = cnn_shape_size(run->network->input);
    struct cnn_dataset view = *dataset;
    view.pixels = run->pixels;
    for (int i = 0; i < count; i++) {
        cnn_distorter_apply(run->distorter, run->epoch.epoch, order[i], dataset->pixels + order[i] * size,
                            run->pixels + i * size);
        run->labels[i] = dataset->labels[order[i]];
    }
    cnn_dataset_batch(&view, NULL, 0, count, run->images, NULL);
}

/* Fills the slots with the images from *first on and moves it behind them; *steps: how many slots. */
static int load(struct run *run, const struct cnn_dataset *dataset, const int32_t *order, int64_t *first, int *steps,
                struct cnn_error *error)
{
    int slots = run->options->slots > 1 ? run->options->slots : 1, status = CNN_OK;
    for (*steps = 0; !status && *steps < slots && *first < dataset->count; ++*steps) {
        int64_t left = dataset->count - *first;
        int count = left < run->options->batch ? (int)left : run->options->batch;
        if (order && run->distorter)
            distort(run, dataset, order + *first, count);
        else
            cnn_dataset_batch(dataset, order ? order + *first : NULL, order ? 0 : *first, count, run->images,
                              run->labels);
        status = run->backend->load(run->program, *steps, run->images, run->labels, count, error);
        *first += count;
    }
    return status;
}

/* Every image of a set once: a training pass in this order, an evaluation (order NULL) as they come. Mean loss and
 * accuracy are over the images that ran. */
static int pass(struct run *run, const struct cnn_dataset *dataset, const int32_t *order, double *loss,
                double *accuracy, struct cnn_error *error)
{
    const struct cnn_backend *backend = run->backend;
    struct cnn_answer answer = { 0 };
    int status, steps;
    for (int64_t first = 0; first < dataset->count;) {
        if (order && !told(run, CNN_EPOCH_LOADS))
            return CNN_OK;
        if ((status = load(run, dataset, order, &first, &steps, error)))
            return status;
        if (order && !told(run, CNN_EPOCH_TRAINS))
            return CNN_OK;
        status = order ? backend->train(run->program, steps, error) : backend->evaluate(run->program, steps, error);
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

static int checksum(struct run *run, struct cnn_error *error)
{
    int status = run->backend->read_parameters(run->program, run->parameters, error);
    if (!status)
        run->epoch.parameters_checksum = cnn_checksum_floats(run->parameters, run->network->parameters);
    return status;
}

static int run_epoch(struct run *run, const struct cnn_dataset *train, const struct cnn_dataset *test, int number,
                     struct cnn_error *error)
{
    struct cnn_epoch *epoch = &run->epoch;
    *epoch = (struct cnn_epoch){
        .epoch = number, .train_loss = NAN, .train_accuracy = NAN, .test_loss = NAN, .test_accuracy = NAN
    };
    cnn_trainer_order(run->options->seed, number, run->order, train->count);
    int status = pass(run, train, run->order, &epoch->train_loss, &epoch->train_accuracy, error);
    if (status || run->stop)
        return status;
    if (!isfinite(epoch->train_loss))
        return cnn_error_set(error, CNN_ERROR,
                             "training: the loss of epoch %d is not finite; the rate %g may be too high", number,
                             (double)run->options->rates.rate);
    if (!told(run, CNN_EPOCH_TESTS))
        return CNN_OK;
    status = checksum(run, error);
    if (!status && test)
        status = pass(run, test, NULL, &epoch->test_loss, &epoch->test_accuracy, error);
    if (!status)
        told(run, CNN_EPOCH_DONE);
    return status;
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
    int status = check(network, train, options, error);
    if (!status && test)
        status = check(network, test, options, error);
    if (!status)
        status = take_memory(&run, train->count, error);
    if (!status) /* sums of whoever used the program before */
        status = backend->fetch(program, &stale, error);
    for (int epoch = 1; !status && !run.stop && epoch <= options->epochs; epoch++, rate *= options->rate_decay) {
        status = set_rate(&run, rate, error);
        if (!status)
            status = run_epoch(&run, train, test, epoch, error);
    }
    give_memory(&run);
    return status;
}
