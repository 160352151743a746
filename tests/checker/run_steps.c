/* SPDX-License-Identifier: MIT */
/* The steps that a program is put through, each compared with the oracle. */
#include "lib/loss.h"
#include "tests/checker/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define U 0x1p-24
#define LABEL_GUARD 16
#define LABEL_CANARY INT32_MIN

bool run_worked(const struct run *run, int status, const char *what, const struct cnn_error *error)
{
    return status == CNN_OK ||
           check_fail(run->report, "%s: %s: %s", what, cnn_status_word((enum cnn_status)status), error->text);
}

bool run_start(struct run *run)
{
    const struct check_material *material = run->material;
    int64_t parameters = material->network->parameters;
    int64_t pixels = cnn_shape_size(material->network->input) * material->c.batch;
    run->labels = calloc((size_t)material->c.batch + LABEL_GUARD, sizeof *run->labels);
    run->velocity = calloc((size_t)parameters * 4, sizeof *run->velocity);
    if (!run->labels || !run->velocity || !check_buffer_create(&run->tensor, material->largest) ||
        !check_buffer_create(&run->before, parameters) || !check_buffer_create(&run->after, parameters) ||
        !check_buffer_create(&run->staging, pixels) ||
        !check_buffer_create(&run->outputs, (int64_t)material->c.batch * material->network->classes))
        return check_fail(run->report, "checker: no memory for its buffers");
    run->velocity_bound = run->velocity + parameters;
    run->expected = run->velocity + 2 * parameters;
    run->bound = run->velocity + 3 * parameters;
    return true;
}

void run_finish(struct run *run)
{
    run->target->backend->release(run->program);
    check_buffer_destroy(&run->tensor);
    check_buffer_destroy(&run->before);
    check_buffer_destroy(&run->after);
    check_buffer_destroy(&run->outputs);
    check_buffer_destroy(&run->staging);
    free(run->labels);
    free(run->velocity);
}

bool run_intact(const struct run *run, const struct check_buffer *buffer, const char *what)
{
    return check_buffer_intact(buffer) ||
           check_fail(run->report, "%s: wrote outside the caller's buffer of %lld floats", what,
                      (long long)buffer->count);
}

bool run_synchronised(const struct run *run, const char *what)
{
    struct cnn_error error = { 0 };
    return run_worked(run, run->target->backend->sync(run->program, &error), what, &error);
}

const struct check_oracle *run_oracle(struct run *run, int b, bool backward)
{
    const struct check_oracle *oracle =
        check_material_oracle(run->material, b, run->before.data, run->precision, backward);
    if (!oracle)
        check_fail(run->report, "checker: no memory for the oracle");
    return oracle;
}

bool run_load(struct run *run, int slot, int b, bool labelled)
{
    const struct check_material *material = run->material;
    int count = material->c.counts[b];
    struct cnn_error error = { 0 };
    check_buffer_reset(&run->staging, cnn_shape_size(material->network->input) * count);
    memcpy(run->staging.data, material->images[b], (size_t)run->staging.count * sizeof(float));
    memcpy(run->labels, material->labels[b], (size_t)count * sizeof *run->labels);
    int status =
        run->target->backend->load(run->program, slot, run->staging.data, labelled ? run->labels : NULL, count, &error);
    check_buffer_reset(&run->staging, run->staging.count);
    memset(run->labels, 0x7f, (size_t)count * sizeof *run->labels);
    return run_worked(run, status, "load", &error);
}

static bool inspect(struct run *run, enum cnn_inspection what, int layer, int64_t count, const char *name)
{
    struct cnn_error error = { 0 };
    check_buffer_reset(&run->tensor, count);
    return run_worked(run, run->target->backend->inspect(run->program, what, layer, run->tensor.data, count, &error),
                      name, &error) &&
           run_intact(run, &run->tensor, name);
}

static bool inspect_output(struct run *run, const struct cnn_reference *oracle, int64_t images, int i)
{
    const struct cnn_layer *layer = &run->material->network->layers[i];
    char what[96];
    snprintf(what, sizeof what, "layer %s, output", layer->name);
    return inspect(run, CNN_INSPECT_OUTPUT, i, images * cnn_shape_size(layer->out), what) &&
           check_values(run->report, what, layer->out, run->tensor.data, cnn_reference_output(oracle, i),
                        cnn_reference_output_bound(oracle, i), images, false);
}

static bool inspect_delta(struct run *run, const struct cnn_reference *oracle, int64_t images, int i)
{
    const struct cnn_layer *layer = &run->material->network->layers[i];
    char what[96];
    snprintf(what, sizeof what, "layer %s, delta", layer->name);
    return inspect(run, CNN_INSPECT_DELTA, i, images * cnn_shape_size(layer->out), what) &&
           check_values(run->report, what, layer->out, run->tensor.data, cnn_reference_delta(oracle, i),
                        cnn_reference_delta_bound(oracle, i), images, false);
}

static bool inspect_gradient(struct run *run, const struct cnn_reference *oracle, int i)
{
    const struct cnn_layer *layer = &run->material->network->layers[i];
    char what[96];
    snprintf(what, sizeof what, "layer %s, gradient", layer->name);
    return inspect(run, CNN_INSPECT_PARAMETER_GRADIENT, i, layer->weights + layer->biases, what) &&
           check_parameters(run->report, what, layer, run->tensor.data,
                            cnn_reference_gradient(oracle) + layer->weight_at,
                            cnn_reference_gradient_bound(oracle) + layer->weight_at);
}

/* In the order in which a step makes them, so that the first wrong value is where it went wrong. */
bool run_inspect_all(struct run *run, const struct cnn_reference *oracle, int b)
{
    const struct cnn_network *network = run->material->network;
    int64_t images = run->material->c.counts[b];
    for (int i = 0; i < network->layer_count; i++)
        if (!inspect_output(run, oracle, images, i))
            return false;
    for (int i = network->layer_count - 1; i >= run->material->first_with_delta; i--) {
        if (!inspect_delta(run, oracle, images, i))
            return false;
        if (network->layers[i].weights > 0 && !inspect_gradient(run, oracle, i))
            return false;
    }
    return !network->spec.input_gradient ||
           (inspect(run, CNN_INSPECT_INPUT_GRADIENT, 0, images * cnn_shape_size(network->input), "input gradient") &&
            check_values(run->report, "input gradient", network->input, run->tensor.data,
                         cnn_reference_input_gradient(oracle), cnn_reference_input_gradient_bound(oracle), images,
                         false));
}

/* Each label is the place of the largest output that the backend itself gave; those outputs are near the oracle's. */
static bool check_labels(struct run *run, const char *what, int b, int64_t *correct)
{
    const struct check_material *material = run->material;
    int count = material->c.counts[b];
    *correct = 0;
    for (int i = 0; i < count; i++) {
        int32_t best = cnn_answer_label(material->network, run->outputs.data + (int64_t)i * material->network->classes);
        if (run->labels[i] != best)
            return check_fail(run->report, "%s, label of image %d of %d: got %d, but its outputs say %d", what, i,
                              count, run->labels[i], best);
        *correct += best == material->labels[b][i];
    }
    for (int i = 0; i < LABEL_GUARD; i++)
        if (run->labels[count + i] != LABEL_CANARY)
            return check_fail(run->report, "%s: wrote %d labels or more for %d images", what, count + i + 1, count);
    return true;
}

bool run_fetch(struct run *run, const struct check_oracle *oracle, const char *what, int b, bool summed)
{
    const struct check_material *material = run->material;
    const struct cnn_network *network = material->network;
    int last = network->layer_count - 1, count = material->c.counts[b];
    struct cnn_answer answer = { .labels = run->labels, .outputs = run->outputs.data };
    struct cnn_error error = { 0 };
    bool nan = material->c.data == CHECK_NAN;
    check_buffer_reset(&run->outputs, (int64_t)count * network->classes);
    for (int i = 0; i < material->c.batch + LABEL_GUARD; i++)
        run->labels[i] = LABEL_CANARY;
    if (!run_worked(run, run->target->backend->fetch(run->program, &answer, &error), what, &error) ||
        !run_intact(run, &run->outputs, what) ||
        !check_values(run->report, what, network->layers[last].out, run->outputs.data,
                      cnn_reference_output(oracle->reference, last),
                      cnn_reference_output_bound(oracle->reference, last), count, nan) ||
        !check_labels(run, what, b, &run->correct[b]))
        return false;
    if (!summed)
        return true;
    if (answer.images != count || answer.correct != run->correct[b])
        return check_fail(run->report, "%s: %lld correct of %lld images, expected %lld of %d", what,
                          (long long)answer.correct, (long long)answer.images, (long long)run->correct[b], count);
    char loss[64];
    snprintf(loss, sizeof loss, "%s, loss", what);
    return check_number(run->report, loss, answer.loss_sum, oracle->loss, cnn_reference_loss_bound(oracle->reference));
}

bool run_read_parameters(struct run *run, struct check_buffer *buffer)
{
    struct cnn_error error = { 0 };
    check_buffer_reset(buffer, run->material->network->parameters);
    return run_worked(run, run->target->backend->read_parameters(run->program, buffer->data, &error), "read_parameters",
                      &error) &&
           run_intact(run, buffer, "read_parameters");
}

/* What the parameters of one layer should be now: v = momentum v + g + decay w, w -= rate v, with the gradient's bound
 * and the roundings of these few operations. */
static void expect_update(struct run *run, const struct cnn_reference *oracle, const struct cnn_layer *layer)
{
    const struct cnn_rates *rates = &run->material->c.rates;
    const double *g = cnn_reference_gradient(oracle), *g_bound = cnn_reference_gradient_bound(oracle);
    double rate = (double)rates->rate, momentum = (double)rates->momentum;
    for (int64_t i = layer->weight_at; i < layer->bias_at + layer->biases; i++) {
        bool decays = i < layer->bias_at && layer->kind != CNN_SUBSAMPLE;
        double w = (double)run->before.data[i], carried = momentum * run->velocity[i];
        double decay = decays ? (double)rates->decay * w : 0.0;
        double magnitude = fabs(carried) + fabs(g[i]) + fabs(decay);
        run->velocity[i] = carried + g[i] + decay;
        run->velocity_bound[i] = momentum * run->velocity_bound[i] + g_bound[i] + 4.0 * U * magnitude;
        run->expected[i] = w - rate * run->velocity[i];
        run->bound[i] = rate * run->velocity_bound[i] + 2.0 * U * fabs(rate * run->velocity[i]) +
                        2.0 * U * fmax(fabs(w), fabs(run->expected[i])) + 0x1p-120;
    }
}

bool run_check_update(struct run *run, const struct cnn_reference *oracle)
{
    const struct cnn_network *network = run->material->network;
    if (!run_read_parameters(run, &run->after))
        return false;
    for (int i = 0; i < network->layer_count; i++) {
        const struct cnn_layer *layer = &network->layers[i];
        char what[64];
        expect_update(run, oracle, layer);
        snprintf(what, sizeof what, "layer %s, updated", layer->name);
        if (!check_parameters(run->report, what, layer, run->after.data + layer->weight_at,
                              run->expected + layer->weight_at, run->bound + layer->weight_at))
            return false;
    }
    memcpy(run->before.data, run->after.data, (size_t)network->parameters * sizeof(float));
    return true;
}

bool run_write_parameters(struct run *run, bool rates)
{
    const struct check_material *material = run->material;
    int64_t count = material->network->parameters;
    struct cnn_error error = { 0 };
    const struct cnn_backend *backend = run->target->backend;
    for (int64_t i = 0; i < count; i++)
        run->velocity[i] = run->velocity_bound[i] = 0.0;
    return run_worked(run, backend->write_parameters(run->program, material->parameters, &error), "write_parameters",
                      &error) &&
           (!rates ||
            run_worked(run, backend->set_rates(run->program, &material->c.rates, &error), "set_rates", &error)) &&
           run_read_parameters(run, &run->before) &&
           (!memcmp(run->before.data, material->parameters, (size_t)count * sizeof(float)) ||
            check_fail(run->report, "parameters: what was read is not what was written"));
}
