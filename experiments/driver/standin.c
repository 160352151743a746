/* SPDX-License-Identifier: MIT */
/* The stand-in computes in fp32, so that its own error counts, too. What a program may differ by, per parameter:
 *   both roundings   u (4 + 6 sqrt(h)) * sum|terms| for the stand-in's chain of h terms, and for the program's, which
 * adds up the whole batch (Higham and Mary 2019). The sum is bounded by norms (Cauchy and Schwarz): of the deltas of
 * the output map and of the pixels of the input map. tf32 adds 2 * 2^-11 * sum|terms|; what came along  8 times the
 * divergence of the layer's gradient when every weight moves by a unit in its last place (of tf32 where the program
 * computes in it). */
#include "experiments/driver/standin.h"
#include "experiments/driver/backends.h"
#include "experiments/driver/resources.h"
#include "lib/checked.h"
#include "lib/random.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDOFF 0x1p-24
#define TF32_PRODUCT 0x1p-10 /* both factors rounded to 11 bits */
#define DIVERGENCES 8.0

struct standin {
    const struct standin_question *question;
    const struct cnn_backend *backend;
    struct cnn_device *device;
    struct cnn_program *program;
    float *first, *second; /* gradients, arena order: of the parameters, and of moved ones */
    float *moved;          /* parameters */
    float *tensor;         /* the largest output of a layer */
    double *in, *out;      /* norms by map of a layer's input and deltas */
    struct cnn_error *error;
};

static int64_t largest_output(const struct cnn_network *network)
{
    int64_t largest = cnn_shape_size(network->input);
    for (int l = 0; l < network->layer_count; l++)
        largest = cnn_shape_size(network->layers[l].out) > largest ? cnn_shape_size(network->layers[l].out) : largest;
    return largest;
}

static int fits(struct standin *standin, const struct cnn_program_options *options)
{
    const struct cnn_network *network = standin->question->network;
    struct cnn_plan plan;
    struct resources resources;
    if (standin->backend->plan(standin->device, network, options, &plan, standin->error))
        return standin->error->status;
    int64_t need = plan.total;
    resources_read(&resources, "");
    if (!cnn_accumulate(network->parameters, 3 * sizeof(float), &need) ||
        (resources.memory_available >= 0 && need > resources.memory_available))
        return cnn_error_set(standin->error, CNN_OOM, "no memory for plain loops beside it");
    return CNN_OK;
}

static int open_standin(struct standin *standin)
{
    static const struct cnn_device_options one = { .threads = 1 };
    const struct cnn_network *network = standin->question->network;
    const struct cnn_program_options options = {
        .batch = 1, .slots = 1, .phases = CNN_PHASE_TRAIN, .algorithm = "naive", .isa = "scalar", .inspectable = true
    };
    size_t parameters = (size_t)network->parameters, values = (size_t)largest_output(network);
    if (!(standin->backend = backend_find("cpu", standin->error)) ||
        standin->backend->open(&standin->device, &one, standin->error) || fits(standin, &options) ||
        standin->backend->compile(&standin->program, standin->device, network, &options, standin->error))
        return standin->error->status;
    standin->first = calloc(parameters, sizeof *standin->first);
    standin->second = calloc(parameters, sizeof *standin->second);
    standin->moved = calloc(parameters, sizeof *standin->moved);
    standin->tensor = calloc(values, sizeof *standin->tensor);
    standin->in = calloc(values, sizeof *standin->in);
    standin->out = calloc(values, sizeof *standin->out);
    return standin->first && standin->second && standin->moved && standin->tensor && standin->in && standin->out
               ? CNN_OK
               : cnn_error_set(standin->error, CNN_OOM, "no memory for plain loops beside it");
}

static void close_standin(struct standin *standin)
{
    if (standin->program)
        standin->backend->release(standin->program);
    if (standin->device)
        standin->backend->close(standin->device);
    free(standin->first);
    free(standin->second);
    free(standin->moved);
    free(standin->tensor);
    free(standin->in);
    free(standin->out);
}

/* One step that moves nothing (all rates are 0), and its gradients. */
static int run(struct standin *standin, const float *parameters, float *gradient)
{
    const struct standin_question *question = standin->question;
    const struct cnn_network *network = question->network;
    const struct cnn_backend *backend = standin->backend;
    if (backend->write_parameters(standin->program, parameters, standin->error) ||
        backend->load(standin->program, 0, question->image, &question->label, 1, standin->error) ||
        backend->train(standin->program, 1, standin->error) || backend->sync(standin->program, standin->error))
        return standin->error->status;
    for (int l = 0; l < network->layer_count; l++) {
        const struct cnn_layer *layer = &network->layers[l];
        int64_t count = layer->weights + layer->biases;
        if (count > 0 && backend->inspect(standin->program, CNN_INSPECT_PARAMETER_GRADIENT, l,
                                          gradient + layer->weight_at, count, standin->error))
            return standin->error->status;
    }
    return CNN_OK;
}

/* Norm of every map of what is in `tensor`. */
static void take_norms(const struct standin *standin, struct cnn_shape shape, double *norm)
{
    int64_t area = (int64_t)shape.rows * shape.cols;
    for (int map = 0; map < shape.maps; map++) {
        double sum = 0;
        for (int64_t i = 0; i < area; i++)
            sum += (double)standin->tensor[map * area + i] * (double)standin->tensor[map * area + i];
        norm[map] = sqrt(sum);
    }
}

static int read_norms(struct standin *standin, int l)
{
    const struct cnn_network *network = standin->question->network;
    const struct cnn_layer *layer = &network->layers[l];
    int64_t room = largest_output(network);
    if (l == 0)
        for (int64_t i = 0; i < cnn_shape_size(network->input); i++)
            standin->tensor[i] = standin->question->image[i];
    else if (standin->backend->inspect(standin->program, CNN_INSPECT_OUTPUT, l - 1, standin->tensor, room,
                                       standin->error))
        return standin->error->status;
    take_norms(standin, layer->in, standin->in);
    if (standin->backend->inspect(standin->program, CNN_INSPECT_DELTA, l, standin->tensor, room, standin->error))
        return standin->error->status;
    take_norms(standin, layer->out, standin->out);
    return CNN_OK;
}

/* Of both computations, for `terms` terms whose absolute values sum up to `sum`. */
static double roundings(const struct standin_question *question, double terms, double sum)
{
    double chains = 8 + 6 * sqrt(terms) + 6 * sqrt(terms * question->batch);
    return (ROUNDOFF * chains + (question->precision == CNN_TF32 ? TF32_PRODUCT : 0)) * sum;
}

/* Roundings of a layer's weights and biases, to bound[]. */
static void bound_layer(const struct standin *standin, const struct cnn_layer *layer, double *bound)
{
    const struct standin_question *question = standin->question;
    double area = (double)layer->out.rows * layer->out.cols;
    int taps = layer->kernel_rows * layer->kernel_cols;
    bool subsample = layer->kind == CNN_SUBSAMPLE; /* a gain sees window sums, each of at most sqrt(taps) * its norm */
    for (int map = 0; map < layer->out.maps; map++) {
        double delta = standin->out[map];
        if (layer->biases > 0)
            bound[layer->bias_at + map] = roundings(question, area, sqrt(area) * delta);
        if (subsample)
            bound[layer->weight_at + map] = roundings(question, area * taps, delta * sqrt(taps) * standin->in[map]);
        for (int k = 0; k < cnn_layer_fan_in(layer, map) && !subsample; k++)
            for (int tap = 0; tap < taps; tap++)
                bound[cnn_layer_kernel_at(layer, map, k) + tap] =
                    roundings(question, area, delta * standin->in[cnn_layer_source(layer, map, k)]);
    }
}

/* Every parameter by a unit in its last place, up or down. */
static void move_parameters(struct standin *standin)
{
    const struct cnn_network *network = standin->question->network;
    double unit = standin->question->precision == CNN_TF32 ? 0x1p-11 : 0x1p-23;
    struct cnn_random random;
    cnn_random_init(&random, network->spec.seed, CNN_STREAM_VERIFY, 1);
    for (int64_t i = 0; i < network->parameters; i++) {
        double sign = cnn_random_below(&random, 2) ? 1 : -1;
        standin->moved[i] = (float)(standin->question->parameters[i] * (1 + sign * unit));
    }
}

/* Adds what the layer's gradient diverged by. */
static void add_divergence(const struct standin *standin, const struct cnn_layer *layer, double *bound)
{
    double most = 0;
    int64_t end = layer->weight_at + layer->weights + layer->biases;
    for (int64_t i = layer->weight_at; i < end; i++)
        most = fmax(most, fabs((double)standin->first[i] - (double)standin->second[i]));
    for (int64_t i = layer->weight_at; i < end; i++)
        bound[i] += DIVERGENCES * most;
}

/* The plain loops must be right themselves before anything is compared with them. */
static int check_outputs(struct standin *standin)
{
    const struct standin_question *question = standin->question;
    struct cnn_answer answer = { .outputs = standin->tensor };
    if (standin->backend->fetch(standin->program, &answer, standin->error))
        return standin->error->status;
    for (int c = 0; c < question->network->classes; c++)
        if (!(fabs((double)answer.outputs[c] - question->output[c]) <= question->output_bound[c]))
            return cnn_error_set(standin->error, CNN_MISMATCH,
                                 "the plain loops that stand in for the oracle: output %d is %.9g, the oracle has %.9g",
                                 c, (double)answer.outputs[c], question->output[c]);
    return CNN_OK;
}

static int ask(struct standin *standin, double *gradient, double *bound)
{
    const struct cnn_network *network = standin->question->network;
    if (open_standin(standin) || run(standin, standin->question->parameters, standin->first) || check_outputs(standin))
        return standin->error->status;
    for (int l = 0; l < network->layer_count; l++) {
        if (network->layers[l].weights + network->layers[l].biases == 0)
            continue;
        if (read_norms(standin, l))
            return standin->error->status;
        bound_layer(standin, &network->layers[l], bound);
    }
    move_parameters(standin);
    if (run(standin, standin->moved, standin->second))
        return standin->error->status;
    for (int l = 0; l < network->layer_count; l++)
        add_divergence(standin, &network->layers[l], bound);
    for (int64_t i = 0; i < network->parameters; i++)
        gradient[i] = standin->first[i];
    return CNN_OK;
}

int standin_gradient(const struct standin_question *question, double *gradient, double *bound, struct cnn_error *error)
{
    struct standin standin = { .question = question, .error = error };
    int status = ask(&standin, gradient, bound);
    close_standin(&standin);
    return status ? cnn_error_prefix(error, "gate") : CNN_OK;
}
