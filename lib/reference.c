/* SPDX-License-Identifier: MIT */
/* The oracle: memory, and the way of a batch through the layers. What a layer does is in reference_layers.c,
 * reference_pooling.c and reference_curves.c. */
#include "lib/checked.h"
#include "lib/reference_internal.h"

#include <stdlib.h>
#include <string.h>

/* A layer with fewer terms than this is done before a second thread has begun. An output with its curve and bounds
 * costs as much as so many terms. */
#define SHARED_TERMS 250000.0
#define CURVE_TERMS 32

/* First pass with base NULL: counts. Second pass: hands out. */
struct carving {
    double *base;
    int64_t used;
    bool fits;
};

static double *carve(struct carving *carving, int64_t per_image, int64_t images)
{
    double *place = carving->base ? carving->base + carving->used : NULL;
    carving->fits = carving->fits && cnn_accumulate(per_image, images, &carving->used);
    return place;
}

static struct cnn_span carve_span(struct carving *carving, int64_t per_image, int64_t images)
{
    struct cnn_span span;
    span.value = carve(carving, per_image, images);
    span.bound = carve(carving, per_image, images);
    span.scale = carve(carving, per_image, images);
    return span;
}

static void carve_all(struct cnn_reference *reference, struct carving *carving)
{
    const struct cnn_network *network = reference->network;
    int64_t batch = reference->batch, input = cnn_shape_size(network->input);
    reference->parameters = carve(carving, network->parameters, 1);
    reference->velocities = carve(carving, network->parameters, 1);
    reference->gradient = carve_span(carving, network->parameters, 1);
    reference->input = carve_span(carving, input, batch);
    reference->input_gradient = carve_span(carving, input, batch);
    reference->weights = carve(carving, 1, batch);
    for (int i = 0; i < network->layer_count; i++) {
        int64_t size = cnn_shape_size(network->layers[i].out);
        reference->layers[i].output = carve_span(carving, size, batch);
        reference->layers[i].delta = carve_span(carving, size, batch);
    }
}

/* [batch][the largest layer input] */
static struct cnn_tally *make_tallies(const struct cnn_network *network, int batch)
{
    int64_t largest = 0, count;
    for (int i = 0; i < network->layer_count; i++) {
        int64_t size = cnn_shape_size(network->layers[i].in);
        largest = size > largest ? size : largest;
    }
    return cnn_mul(largest, batch, &count) ? calloc((size_t)count, sizeof(struct cnn_tally)) : NULL;
}

static void run_alone(cnn_reference_work *work, void *what, int64_t count)
{
    work(what, 0, count);
}

int cnn_reference_create(struct cnn_reference **out, const struct cnn_network *network, int batch,
                         struct cnn_error *error)
{
    if (batch < 1)
        return cnn_error_set(error, CNN_INVALID, "oracle: a batch of %d images, expected at least 1", batch);
    struct carving carving = { .fits = true };
    struct cnn_reference *reference = calloc(1, sizeof *reference);
    if (!reference)
        return cnn_error_set(error, CNN_OOM, "oracle: no memory for its head");
    reference->network = network;
    reference->batch = batch;
    reference->layers = calloc((size_t)network->layer_count, sizeof *reference->layers);
    reference->labels = calloc((size_t)batch, sizeof *reference->labels);
    reference->tallies = make_tallies(network, batch);
    reference->run = run_alone;
    if (!reference->layers || !reference->labels || !reference->tallies)
        goto fail;
    carve_all(reference, &carving);
    /* calloc: velocities that no update touches stay unmapped. */
    if (!carving.fits || !(carving.base = reference->doubles = calloc((size_t)carving.used, sizeof(double))))
        goto fail;
    carving.used = 0;
    carve_all(reference, &carving);
    *out = reference;
    return CNN_OK;
fail:
    cnn_reference_destroy(reference);
    return cnn_error_set(error, CNN_OOM,
                         "oracle: no memory for %lld doubles (%d images of a network with %lld parameters)",
                         (long long)carving.used, batch, (long long)network->parameters);
}

void cnn_reference_destroy(struct cnn_reference *reference)
{
    if (!reference)
        return;
    free(reference->doubles);
    free(reference->tallies);
    free(reference->labels);
    free(reference->layers);
    free(reference);
}

void cnn_reference_set_precision(struct cnn_reference *reference, enum cnn_precision precision)
{
    reference->rounding = precision == CNN_TF32 ? CNN_TF32_ROUNDING : 0.0;
}

void cnn_reference_set_runner(struct cnn_reference *reference, cnn_reference_runner *runner)
{
    reference->run = runner ? runner : run_alone;
}

void cnn_reference_skip_input_gradient(struct cnn_reference *reference)
{
    reference->skips_input_gradient = true;
}

void cnn_reference_write_parameters(struct cnn_reference *reference, const float *parameters)
{
    int64_t count = reference->network->parameters;
    for (int64_t i = 0; i < count; i++)
        reference->parameters[i] = parameters[i];
    if (reference->moving)
        memset(reference->velocities, 0, (size_t)count * sizeof(double));
    reference->moving = false;
}

/* ---- independent pieces ---- */

/* One layer's work. */
struct task {
    struct cnn_reference *reference;
    const struct cnn_layer *layer;
    int index;
};

/* Maps `begin` up to `end` of an image: as much of a range over (image, map) as lies in one image. */
struct piece {
    int image, begin, end;
};

static struct piece piece_of(int64_t begin, int64_t end, int maps)
{
    int first = (int)(begin % maps);
    return (struct piece){ (int)(begin / maps), first, (int)(end - begin < maps - first ? first + end - begin : maps) };
}

/* What enters the layer, all images. */
static struct cnn_span input_of(const struct task *task)
{
    return task->index ? task->reference->layers[task->index - 1].output : task->reference->input;
}

static void forward_work(void *what, int64_t begin, int64_t end)
{
    const struct task *task = what;
    const struct cnn_layer *layer = task->layer;
    const struct cnn_reference *reference = task->reference;
    for (struct piece at; begin < end; begin += at.end - at.begin) {
        at = piece_of(begin, end, layer->out.maps);
        cnn_reference_layer_forward(
            layer, reference->parameters, reference->rounding,
            cnn_span_at(input_of(task), at.image * cnn_shape_size(layer->in)),
            cnn_span_at(reference->layers[task->index].output, at.image * cnn_shape_size(layer->out)), at.begin,
            at.end);
    }
}

/* The gradient by the layer's output, which is in `delta`, becomes its delta. */
static void delta_work(void *what, int64_t begin, int64_t end)
{
    const struct task *task = what;
    const struct cnn_reference_layer *layer = &task->reference->layers[task->index];
    int64_t area = (int64_t)task->layer->out.rows * task->layer->out.cols;
    cnn_reference_deactivate(task->layer->activation, cnn_span_at(layer->output, begin * area),
                             cnn_span_at(layer->delta, begin * area), (end - begin) * area);
}

/* The gradient by the layer's input, which goes to the layer below. */
static void backward_work(void *what, int64_t begin, int64_t end)
{
    const struct task *task = what;
    const struct cnn_layer *layer = task->layer;
    const struct cnn_reference *reference = task->reference;
    struct cnn_span below = task->index ? reference->layers[task->index - 1].delta : reference->input_gradient;
    int64_t size = cnn_shape_size(layer->in);
    for (struct piece at; begin < end; begin += at.end - at.begin) {
        at = piece_of(begin, end, layer->in.maps);
        cnn_reference_layer_backward(
            layer, reference->parameters, reference->rounding, cnn_span_at(input_of(task), at.image * size),
            cnn_span_at(reference->layers[task->index].delta, at.image * cnn_shape_size(layer->out)),
            reference->tallies + at.image * size, cnn_span_at(below, at.image * size), at.begin, at.end);
    }
}

static void gradient_work(void *what, int64_t begin, int64_t end)
{
    const struct task *task = what;
    const struct cnn_reference *reference = task->reference;
    cnn_reference_layer_gradient(task->layer, reference->weights, reference->rounding, reference->count, input_of(task),
                                 reference->layers[task->index].delta, reference->gradient, (int)begin, (int)end);
}

static void run(struct task *task, cnn_reference_work *work, int64_t count)
{
    const struct cnn_layer *layer = task->layer;
    double terms = (double)task->reference->count *
                   (double)(layer->macs + CURVE_TERMS * (cnn_shape_size(layer->in) + cnn_shape_size(layer->out)));
    (terms < SHARED_TERMS ? run_alone : task->reference->run)(work, task, count);
}

static void take_batch(struct cnn_reference *reference, const float *images, const int32_t *labels,
                       const double *weights, int count)
{
    int64_t pixels = count * cnn_shape_size(reference->network->input);
    for (int64_t i = 0; i < pixels; i++)
        reference->input.value[i] = images[i];
    reference->count = count;
    reference->labelled = labels != NULL;
    reference->total_weight = 0.0;
    for (int i = 0; i < count; i++) {
        reference->weights[i] = weights ? weights[i] : 1.0;
        reference->total_weight += reference->weights[i];
        reference->labels[i] = labels ? labels[i] : 0;
    }
}

/* Image `image` of the network's output. */
static struct cnn_span answer_of(const struct cnn_reference *reference, int image)
{
    const struct cnn_network *network = reference->network;
    return cnn_span_at(reference->layers[network->layer_count - 1].output, (int64_t)image * network->classes);
}

static double loss_sum(struct cnn_reference *reference)
{
    struct cnn_tally sum = { 0 };
    for (int i = 0; i < reference->count; i++)
        cnn_tally_add(&sum, reference->weights[i],
                      cnn_reference_loss(reference->network, answer_of(reference, i), reference->labels[i]),
                      reference->weights[i]);
    reference->loss_bound = cnn_tally_number(&sum).bound;
    return sum.value;
}

double cnn_reference_forward(struct cnn_reference *reference, const float *images, const int32_t *labels,
                             const double *weights, int count)
{
    const struct cnn_network *network = reference->network;
    take_batch(reference, images, labels, weights, count);
    for (int index = 0; index < network->layer_count; index++) {
        struct task task = { reference, &network->layers[index], index };
        run(&task, forward_work, (int64_t)count * task.layer->out.maps);
    }
    reference->loss_bound = 0.0;
    return labels ? loss_sum(reference) : 0.0;
}

void cnn_reference_backward(struct cnn_reference *reference)
{
    const struct cnn_network *network = reference->network;
    int last = network->layer_count - 1;
    if (!reference->labelled || reference->total_weight <= 0.0)
        return;
    for (int image = 0; image < reference->count; image++)
        cnn_reference_loss_gradient(network, answer_of(reference, image), reference->labels[image],
                                    reference->weights[image] / reference->total_weight,
                                    cnn_span_at(reference->layers[last].delta, (int64_t)image * network->classes));
    for (int index = last; index >= 0; index--) {
        struct task task = { reference, &network->layers[index], index };
        run(&task, delta_work, (int64_t)reference->count * task.layer->out.maps);
        if (index > 0 || !reference->skips_input_gradient)
            run(&task, backward_work, (int64_t)reference->count * task.layer->in.maps);
        run(&task, gradient_work, task.layer->out.maps);
    }
}

void cnn_reference_update(struct cnn_reference *reference, double rate, double momentum, double decay)
{
    for (int index = 0; index < reference->network->layer_count; index++) {
        const struct cnn_layer *layer = &reference->network->layers[index];
        bool decays = layer->kind == CNN_CONV || layer->kind == CNN_FULL;
        for (int64_t i = 0; i < layer->weights + layer->biases; i++) {
            int64_t at = i < layer->weights ? layer->weight_at + i : layer->bias_at + i - layer->weights;
            double v = reference->gradient.value[at];
            if (decays && i < layer->weights)
                v += decay * reference->parameters[at];
            if (reference->moving)
                v += momentum * reference->velocities[at];
            reference->velocities[at] = v;
            reference->parameters[at] -= rate * v;
        }
    }
    reference->moving = true;
}
