/* SPDX-License-Identifier: MIT */
/* The oracle as a backend: every function of the seam, none of it fast. */
#include "tests/checker/oracle_backend.h"

#include "lib/loss.h"
#include "lib/reference.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS 64 /* as many as training takes */
#define CLASSES_MAX 256

struct cnn_device {
    int unused;
};

struct slot {
    float *images;
    int32_t *labels;
    int count; /* 0: not loaded */
    bool labelled;
};

struct cnn_program {
    const struct cnn_network *network;
    struct cnn_reference *reference;
    struct cnn_program_options options;
    struct cnn_rates rates;
    struct slot slots[MAX_SLOTS];
    int count; /* images of the last step */
    int last_steps;
    struct cnn_answer sums;
};

static const char *const algorithm_names[] = { "oracle", NULL };

static int oracle_open(struct cnn_device **out, const struct cnn_device_options *options, struct cnn_error *error)
{
    (void)options;
    *out = calloc(1, sizeof **out);
    return *out ? CNN_OK : cnn_error_set(error, CNN_OOM, "oracle: no memory for a device");
}

static void oracle_close(struct cnn_device *device)
{
    free(device);
}

static int oracle_describe(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error)
{
    (void)device;
    (void)error;
    *info = (struct cnn_device_info){ .name = "oracle", .threads = 1 };
    return CNN_OK;
}

static const char *const *oracle_algorithms(void)
{
    return algorithm_names;
}

static int oracle_candidates(struct cnn_device *device, const struct cnn_network *network,
                             const struct cnn_operation *operation, const struct cnn_program_options *options,
                             struct cnn_candidate *out, int capacity)
{
    (void)device;
    (void)network;
    (void)operation;
    (void)options;
    if (capacity > 0)
        *out = (struct cnn_candidate){ .algorithm = "oracle", .file = __FILE__ };
    return 1;
}

static int oracle_plan(struct cnn_device *device, const struct cnn_network *network,
                       const struct cnn_program_options *options, struct cnn_plan *out, struct cnn_error *error)
{
    (void)device;
    if (strcmp(options->algorithm, "oracle") != 0)
        return cnn_error_set(error, CNN_INVALID, "oracle: algorithm \"%s\" does not exist", options->algorithm);
    if (network->classes > CLASSES_MAX)
        return cnn_error_set(error, CNN_INVALID, "oracle: %d classes, expected at most %d", network->classes,
                             CLASSES_MAX);
    if (options->batch < 1 || options->slots < 1 || options->slots > MAX_SLOTS)
        return cnn_error_set(error, CNN_INVALID, "oracle: batch %d, %d slots: expected at least 1 and 1 to %d",
                             options->batch, options->slots, MAX_SLOTS);
    *out = (struct cnn_plan){ .parameters = 8 * network->parameters, .gradients = 24 * network->parameters };
    out->batches = 4 * cnn_shape_size(network->input) * options->batch * options->slots;
    out->total = out->parameters + out->gradients + out->batches;
    return CNN_OK;
}

static void oracle_release(struct cnn_program *program)
{
    if (!program)
        return;
    for (int i = 0; i < MAX_SLOTS; i++) {
        free(program->slots[i].images);
        free(program->slots[i].labels);
    }
    cnn_reference_destroy(program->reference);
    free(program);
}

static int oracle_compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                          const struct cnn_program_options *options, struct cnn_error *error)
{
    struct cnn_plan plan;
    int status = oracle_plan(device, network, options, &plan, error);
    if (status)
        return status;
    struct cnn_program *program = calloc(1, sizeof *program);
    if (!program)
        return cnn_error_set(error, CNN_OOM, "oracle: no memory for a program");
    program->network = network;
    program->options = *options;
    size_t pixels = (size_t)cnn_shape_size(network->input) * (size_t)options->batch;
    status = cnn_reference_create(&program->reference, network, options->batch, error);
    for (int i = 0; i < options->slots && !status; i++) {
        program->slots[i].images = calloc(pixels, sizeof(float));
        program->slots[i].labels = calloc((size_t)options->batch, sizeof(int32_t));
        if (!program->slots[i].images || !program->slots[i].labels)
            status = cnn_error_set(error, CNN_OOM, "oracle: no memory for a slot");
    }
    if (status)
        oracle_release(program);
    else
        *out = program;
    return status;
}

static int oracle_write_parameters(struct cnn_program *program, const float *parameters, struct cnn_error *error)
{
    (void)error;
    cnn_reference_write_parameters(program->reference, parameters);
    return CNN_OK;
}

static int oracle_read_parameters(struct cnn_program *program, float *parameters, struct cnn_error *error)
{
    (void)error;
    for (int64_t i = 0; i < program->network->parameters; i++)
        parameters[i] = (float)cnn_reference_parameters(program->reference)[i];
    return CNN_OK;
}

static int oracle_set_rates(struct cnn_program *program, const struct cnn_rates *rates, struct cnn_error *error)
{
    (void)error;
    program->rates = *rates;
    return CNN_OK;
}

static int oracle_load(struct cnn_program *program, int slot, const float *images, const int32_t *labels, int count,
                       struct cnn_error *error)
{
    if (slot < 0 || slot >= program->options.slots || count < 1 || count > program->options.batch)
        return cnn_error_set(error, CNN_INVALID, "oracle: %d images into slot %d: expected 1 to %d and 0 to %d", count,
                             slot, program->options.batch, program->options.slots - 1);
    for (int i = 0; labels && i < count; i++)
        if (labels[i] < 0 || labels[i] >= program->network->label_count)
            return cnn_error_set(error, CNN_INVALID, "oracle: label %d of image %d: expected 0 to %d", labels[i], i,
                                 program->network->label_count - 1);
    struct slot *to = &program->slots[slot];
    memcpy(to->images, images, (size_t)(cnn_shape_size(program->network->input) * count) * sizeof(float));
    if (labels)
        memcpy(to->labels, labels, (size_t)count * sizeof *labels);
    to->labelled = labels != NULL;
    to->count = count;
    return CNN_OK;
}

/* From the outputs as fp32 has them, where two may tie that differ in double. */
static int32_t label_of(const struct cnn_program *program, int image)
{
    float outputs[CLASSES_MAX];
    const struct cnn_network *network = program->network;
    const double *from = cnn_reference_output(program->reference, network->layer_count - 1);
    for (int i = 0; i < network->classes; i++)
        outputs[i] = (float)from[(int64_t)image * network->classes + i];
    return cnn_answer_label(network, outputs);
}

static void step(struct cnn_program *program, const struct slot *slot, enum cnn_phase phase)
{
    struct cnn_reference *reference = program->reference;
    bool tf32 = program->options.precision == CNN_TF32;
    double loss = cnn_reference_forward(reference, slot->images, phase == CNN_PHASE_CLASSIFY ? NULL : slot->labels,
                                        NULL, slot->count);
    if (tf32)
        loss = check_tf32_forward(reference);
    program->count = slot->count;
    if (phase == CNN_PHASE_CLASSIFY)
        return;
    program->sums.loss_sum += loss;
    program->sums.images += slot->count;
    for (int i = 0; i < slot->count; i++)
        program->sums.correct += label_of(program, i) == slot->labels[i];
    if (phase == CNN_PHASE_EVALUATE)
        return;
    if (tf32)
        check_tf32_backward(reference);
    else
        cnn_reference_backward(reference);
    cnn_reference_update(reference, (double)program->rates.rate, (double)program->rates.momentum,
                         (double)program->rates.decay);
    for (int64_t i = 0; i < program->network->parameters; i++) /* what fp32 keeps of them */
        cnn_reference_parameters(reference)[i] = (double)(float)cnn_reference_parameters(reference)[i];
}

static int run(struct cnn_program *program, int steps, enum cnn_phase phase, struct cnn_error *error)
{
    int loaded = 0;
    while (loaded < program->options.slots && program->slots[loaded].count > 0)
        loaded++;
    if (!loaded || !(program->options.phases & phase))
        return cnn_error_set(error, CNN_INVALID, "oracle: %d slots are loaded, phases %u: this step cannot run", loaded,
                             program->options.phases);
    for (int i = 0; i < steps; i++) {
        if (phase != CNN_PHASE_CLASSIFY && !program->slots[i % loaded].labelled)
            return cnn_error_set(error, CNN_INVALID, "oracle: slot %d has no labels", i % loaded);
        step(program, &program->slots[i % loaded], phase);
    }
    program->last_steps = steps;
    return CNN_OK;
}

static int oracle_train(struct cnn_program *program, int steps, struct cnn_error *error)
{
    return run(program, steps, CNN_PHASE_TRAIN, error);
}

static int oracle_classify(struct cnn_program *program, int steps, struct cnn_error *error)
{
    return run(program, steps, CNN_PHASE_CLASSIFY, error);
}

static int oracle_evaluate(struct cnn_program *program, int steps, struct cnn_error *error)
{
    return run(program, steps, CNN_PHASE_EVALUATE, error);
}

static int oracle_fetch(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error)
{
    const struct cnn_network *network = program->network;
    const double *outputs = cnn_reference_output(program->reference, network->layer_count - 1);
    (void)error;
    answer->loss_sum = program->sums.loss_sum;
    answer->correct = program->sums.correct;
    answer->images = program->sums.images;
    for (int i = 0; answer->labels && i < program->count; i++)
        answer->labels[i] = label_of(program, i);
    for (int64_t i = 0; answer->outputs && i < (int64_t)program->count * network->classes; i++)
        answer->outputs[i] = (float)outputs[i];
    program->sums = (struct cnn_answer){ 0 };
    return CNN_OK;
}

static int oracle_sync(struct cnn_program *program, struct cnn_error *error)
{
    (void)program;
    (void)error;
    return CNN_OK;
}

static int oracle_inspect(struct cnn_program *program, enum cnn_inspection what, int layer, float *out,
                          int64_t capacity, struct cnn_error *error)
{
    const struct cnn_network *network = program->network;
    if (layer < 0 || layer >= network->layer_count ||
        (what == CNN_INSPECT_INPUT_GRADIENT && !network->spec.input_gradient))
        return cnn_error_set(error, CNN_INVALID, "oracle: layer %d of %d has no such tensor", layer,
                             network->layer_count);
    const struct cnn_layer *of = &network->layers[layer];
    const double *from = cnn_reference_output(program->reference, layer);
    int64_t count = program->count * cnn_shape_size(of->out);
    if (what == CNN_INSPECT_DELTA)
        from = cnn_reference_delta(program->reference, layer);
    if (what == CNN_INSPECT_PARAMETER_GRADIENT) {
        from = cnn_reference_gradient(program->reference) + of->weight_at;
        count = of->weights + of->biases;
    }
    if (what == CNN_INSPECT_INPUT_GRADIENT) {
        from = cnn_reference_input_gradient(program->reference);
        count = program->count * cnn_shape_size(network->input);
    }
    if (!program->options.inspectable || capacity < count)
        return cnn_error_set(error, CNN_INVALID,
                             "oracle: %lld floats of room, expected %lld and an inspectable program",
                             (long long)capacity, (long long)count);
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)from[i];
    return CNN_OK;
}

/* The whole step is one fused operation, that of the first layer. */
static int oracle_profile(struct cnn_program *program, enum cnn_phase phase, double (*clock)(void),
                          struct cnn_profile_entry *out, int capacity, int *count, struct cnn_error *error)
{
    static const enum cnn_operation_kind kinds[] = {
        [CNN_CONV] = CNN_OP_CONV_FORWARD,           [CNN_FULL] = CNN_OP_FULL_FORWARD,
        [CNN_SUBSAMPLE] = CNN_OP_SUBSAMPLE_FORWARD, [CNN_MAXPOOL] = CNN_OP_MAXPOOL_FORWARD,
        [CNN_AVGPOOL] = CNN_OP_AVGPOOL_FORWARD,
    };
    *count = 0;
    int64_t flops = phase == CNN_PHASE_TRAIN ? cnn_network_flops_train(program->network, program->count, false)
                                             : cnn_network_flops_forward(program->network, program->count, false);
    double start = clock();
    if (run(program, 1, phase, error))
        return error ? (int)error->status : CNN_INVALID;
    struct cnn_profile_entry whole = { .kind = kinds[program->network->layers[0].kind],
                                       .algorithm = "oracle",
                                       .file = __FILE__,
                                       .flops_executed = flops,
                                       .seconds = clock() - start };
    if (capacity > 0)
        *out = whole;
    *count = 1;
    return CNN_OK;
}

/* A made-up device with a clock and memory of its own: a nanosecond a step, a kilobyte an image. */
static int oracle_counters(struct cnn_program *program, struct cnn_counters *out, struct cnn_error *error)
{
    (void)error;
    *out = (struct cnn_counters){ .event_seconds = 1e-9 * program->last_steps,
                                  .device_bytes = 1024 * program->options.batch };
    return CNN_OK;
}

/* Made up: it has no limit of its own. */
static int oracle_ceiling(struct cnn_device *device, double (*clock)(void), double seconds, struct cnn_ceiling *out,
                          int capacity, int *count, struct cnn_error *error)
{
    static const struct cnn_ceiling made_up[] = {
        { CNN_CEILING_FMA, "scalar", CNN_FP32, 0, 1e9 },
        { CNN_CEILING_MEMORY, "memory", CNN_FP32, INT64_MAX, 1e9 },
        { CNN_CEILING_STEP, "step", CNN_FP32, 0, 1e-6 },
    };
    (void)device, (void)clock, (void)seconds, (void)error;
    *count = sizeof made_up / sizeof *made_up;
    for (int i = 0; i < *count && i < capacity; i++)
        out[i] = made_up[i];
    return CNN_OK;
}

static void oracle_watch(struct cnn_program *program, bool on)
{
    (void)program;
    (void)on;
}

const struct cnn_backend check_oracle_backend = {
    .name = "oracle",
    .label = "Oracle",
    .open = oracle_open,
    .close = oracle_close,
    .describe = oracle_describe,
    .algorithms = oracle_algorithms,
    .candidates = oracle_candidates,
    .plan = oracle_plan,
    .compile = oracle_compile,
    .release = oracle_release,
    .write_parameters = oracle_write_parameters,
    .read_parameters = oracle_read_parameters,
    .set_rates = oracle_set_rates,
    .load = oracle_load,
    .train = oracle_train,
    .classify = oracle_classify,
    .evaluate = oracle_evaluate,
    .fetch = oracle_fetch,
    .sync = oracle_sync,
    .inspect = oracle_inspect,
    .profile = oracle_profile,
    .counters = oracle_counters,
    .ceiling = oracle_ceiling,
    .watch = oracle_watch,
};
