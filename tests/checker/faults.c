/* SPDX-License-Identifier: MIT */
/* Backends that are wrong in one way each: the oracle's functions, and a lie on top. */
#include "tests/checker/oracle_backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[FAULT_COUNT] = {
    [FAULT_NONE] = "none",
    [FAULT_OUTPUT] = "an output element off by a thousandth",
    [FAULT_DELTA] = "a delta off by a thousandth",
    [FAULT_GRADIENT] = "a parameter gradient off by a thousandth",
    [FAULT_INPUT_GRADIENT] = "an input gradient off by a thousandth",
    [FAULT_NAN] = "NaN in an output",
    [FAULT_UNWRITTEN] = "a delta never written",
    [FAULT_BEYOND_TENSOR] = "a float written behind a tensor",
    [FAULT_BEYOND_LABELS] = "a label written behind the labels",
    [FAULT_LABEL] = "a wrong label",
    [FAULT_LOSS] = "a loss off by a hundredth of a per cent",
    [FAULT_CORRECT] = "one more called correct",
    [FAULT_IMAGES] = "a short batch counted as a full one",
    [FAULT_MOMENTUM] = "momentum forgotten",
    [FAULT_DECAY] = "decay forgotten",
    [FAULT_VELOCITY] = "velocities kept when parameters are written",
    [FAULT_PARAMETER] = "a parameter read back wrong",
    [FAULT_LAST_BIT] = "another last bit in another run",
    [FAULT_ROTATION] = "steps that stay on slot 0",
    [FAULT_KEEPS_HOST_MEMORY] = "host memory used after load() returned",
    [FAULT_SYNC] = "a fault latched on the device",
    [FAULT_PLAN] = "a plan that does not add up",
};

static enum check_fault active;
static int programs;

static bool trained; /* since parameters were written */

/* What load() was given, for the fault that uses the images too late. */
static struct {
    const float *images;
    int32_t labels[64];
    int slot, count;
} kept;

static struct cnn_backend faulty;

static int faulty_inspect(struct cnn_program *program, enum cnn_inspection what, int layer, float *out,
                          int64_t capacity, struct cnn_error *error)
{
    static const enum cnn_inspection aims[FAULT_COUNT] = { [FAULT_OUTPUT] = CNN_INSPECT_OUTPUT,
                                                           [FAULT_NAN] = CNN_INSPECT_OUTPUT,
                                                           [FAULT_DELTA] = CNN_INSPECT_DELTA,
                                                           [FAULT_UNWRITTEN] = CNN_INSPECT_DELTA,
                                                           [FAULT_GRADIENT] = CNN_INSPECT_PARAMETER_GRADIENT,
                                                           [FAULT_INPUT_GRADIENT] = CNN_INSPECT_INPUT_GRADIENT };
    int64_t victim = 0;
    float poison = out[capacity - 1];
    int status = check_oracle_backend.inspect(program, what, layer, out, capacity, error);
    if (status)
        return status;
    if (active == FAULT_BEYOND_TENSOR)
        out[capacity] = 0.0f;
    if (what != aims[active])
        return CNN_OK;
    for (int64_t i = 0; i < capacity; i++)
        victim = fabsf(out[i]) > fabsf(out[victim]) ? i : victim;
    if (active == FAULT_NAN)
        out[victim] = NAN;
    else if (active == FAULT_UNWRITTEN)
        out[victim] = poison;
    else if (active == FAULT_OUTPUT || active == FAULT_DELTA || active == FAULT_GRADIENT ||
             active == FAULT_INPUT_GRADIENT)
        out[victim] *= 1.001f;
    return CNN_OK;
}

static int faulty_fetch(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error)
{
    int status = check_oracle_backend.fetch(program, answer, error);
    if (status)
        return status;
    if (active == FAULT_LOSS)
        answer->loss_sum *= 1.0001;
    if (active == FAULT_CORRECT && answer->images > 0)
        answer->correct++;
    if (active == FAULT_IMAGES && answer->images > 0)
        answer->images++;
    if (active == FAULT_LABEL && answer->labels)
        answer->labels[0] = answer->labels[0] == 0;
    if (active == FAULT_BEYOND_LABELS && answer->labels)
        answer->labels[kept.count] = 0;
    return CNN_OK;
}

static int faulty_set_rates(struct cnn_program *program, const struct cnn_rates *rates, struct cnn_error *error)
{
    struct cnn_rates other = *rates;
    if (active == FAULT_MOMENTUM)
        other.momentum = 0.0f;
    if (active == FAULT_DECAY)
        other.decay = 0.0f;
    return check_oracle_backend.set_rates(program, &other, error);
}

/* A step without rate over no momentum would clear velocities as well; so the old ones are put back by training once
 * more at rate 0, which leaves the parameters and fills the velocities. */
static int faulty_write_parameters(struct cnn_program *program, const float *parameters, struct cnn_error *error)
{
    const struct cnn_rates still = { 0.0f, 0.0f, 0.0f };
    struct cnn_answer answer = { 0 };
    int status = check_oracle_backend.write_parameters(program, parameters, error);
    trained = false;
    if (status || active != FAULT_VELOCITY)
        return status;
    check_oracle_backend.set_rates(program, &still, error);
    if (!check_oracle_backend.train(program, 1, error))
        check_oracle_backend.fetch(program, &answer, error);
    return CNN_OK;
}

static int faulty_read_parameters(struct cnn_program *program, float *parameters, struct cnn_error *error)
{
    int status = check_oracle_backend.read_parameters(program, parameters, error);
    if (active == FAULT_PARAMETER || (active == FAULT_LAST_BIT && trained && programs % 2 == 1))
        parameters[0] = nextafterf(parameters[0], 2.0f);
    return status;
}

static int faulty_load(struct cnn_program *program, int slot, const float *images, const int32_t *labels, int count,
                       struct cnn_error *error)
{
    kept.images = images;
    kept.slot = slot;
    kept.count = count;
    if (labels && count <= (int)(sizeof kept.labels / sizeof *kept.labels))
        memcpy(kept.labels, labels, (size_t)count * sizeof *labels);
    return check_oracle_backend.load(program, slot, images, labels, count, error);
}

static int faulty_train(struct cnn_program *program, int steps, struct cnn_error *error)
{
    int status = CNN_OK;
    trained = true;
    if (active == FAULT_KEEPS_HOST_MEMORY)
        check_oracle_backend.load(program, kept.slot, kept.images, kept.labels, kept.count, error);
    if (active == FAULT_ROTATION)
        for (int i = 0; i < steps && !status; i++)
            status = check_oracle_backend.train(program, 1, error);
    else
        status = check_oracle_backend.train(program, steps, error);
    return status;
}

static int faulty_compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                          const struct cnn_program_options *options, struct cnn_error *error)
{
    programs += options->slots > 1;
    return check_oracle_backend.compile(out, device, network, options, error);
}

static int faulty_sync(struct cnn_program *program, struct cnn_error *error)
{
    (void)program;
    return active == FAULT_SYNC ? cnn_error_set(error, CNN_ERROR, "tensor 3: its canary was written over") : CNN_OK;
}

static int faulty_plan(struct cnn_device *device, const struct cnn_network *network,
                       const struct cnn_program_options *options, struct cnn_plan *out, struct cnn_error *error)
{
    int status = check_oracle_backend.plan(device, network, options, out, error);
    if (!status && active == FAULT_PLAN)
        out->total--;
    return status;
}

const struct cnn_backend *check_faulty_backend(enum check_fault fault)
{
    active = fault;
    programs = 0;
    faulty = check_oracle_backend;
    faulty.name = "faulty";
    faulty.inspect = faulty_inspect;
    faulty.fetch = faulty_fetch;
    faulty.set_rates = faulty_set_rates;
    faulty.write_parameters = faulty_write_parameters;
    faulty.read_parameters = faulty_read_parameters;
    faulty.load = faulty_load;
    faulty.train = faulty_train;
    faulty.compile = faulty_compile;
    faulty.sync = faulty_sync;
    faulty.plan = faulty_plan;
    return &faulty;
}

const char *check_fault_name(enum check_fault fault)
{
    return names[fault];
}
