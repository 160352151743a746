/* SPDX-License-Identifier: MIT */
/* What lib/backend.h promises apart from numbers: every function is there, bad arguments give CNN_INVALID with a
 * sentence, a fresh program has parameters and rates of zero, sums start anew. */
#include "experiments/driver/clock.h"
#include "lib/parameters.h"
#include "tests/checker/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 5
#define SIDE 8
#define CLASSES 3
#define PARAMETERS_MAX 512
#define ENTRIES_MAX 64
#define CEILINGS_MAX 32
#define CEILING_SECONDS 0.002

struct contract {
    const struct cnn_backend *backend;
    struct cnn_device *device;
    const char *algorithm;
    struct cnn_network *network;
    float images[BATCH * SIDE * SIDE], parameters[PARAMETERS_MAX], read[PARAMETERS_MAX];
    int32_t labels[BATCH];
    int broken;
};

__attribute__((format(printf, 3, 4))) static void promise(struct contract *contract, bool kept, const char *format, ...)
{
    va_list arguments;
    if (kept)
        return;
    contract->broken++;
    printf("%s %s: ", contract->backend->name, contract->algorithm);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

/* A refusal: the expected status and a sentence. */
static void refused(struct contract *contract, int status, const struct cnn_error *error, const char *what)
{
    promise(contract, status == CNN_INVALID && error->status == CNN_INVALID && strlen(error->text) > 10,
            "%s: status %s, \"%s\": expected invalid and a sentence", what, cnn_status_word((enum cnn_status)status),
            status ? error->text : "");
}

static bool make_network(struct contract *contract)
{
    struct cnn_error error;
    struct cnn_network_spec spec = { .name = "contract", .channels = 1, .image = SIDE, .classes = CLASSES };
    spec.width = spec.depth = 1;
    spec.loss = CNN_SOFTMAX;
    spec.connections.paper = true;
    spec.layer_count = 3;
    spec.layers[0] = (struct cnn_layer_spec){ .kind = CNN_CONV, .maps = 4, .kernel = 3, .stride = 1 };
    spec.layers[0].activation = CNN_TANH;
    spec.layers[1] = (struct cnn_layer_spec){ .kind = CNN_MAXPOOL, .kernel = 2 };
    spec.layers[2] = (struct cnn_layer_spec){ .kind = CNN_FULL };
    if (cnn_network_create(&contract->network, &spec, &error) || contract->network->parameters > PARAMETERS_MAX) {
        promise(contract, false, "the checker's own network: %s", error.text);
        return false;
    }
    cnn_parameters_init(contract->network, contract->parameters);
    for (int i = 0; i < BATCH * SIDE * SIDE; i++)
        contract->images[i] = (float)(i % 7) - 3.0f;
    for (int i = 0; i < BATCH; i++)
        contract->labels[i] = i % CLASSES;
    return true;
}

static struct cnn_program_options options_of(const struct contract *contract)
{
    return (struct cnn_program_options){
        .batch = BATCH, .slots = 2, .phases = CNN_PHASE_ALL, .algorithm = contract->algorithm, .inspectable = true
    };
}

static void try_refused_options(struct contract *contract, struct cnn_program_options options, const char *what)
{
    struct cnn_program *program = NULL;
    struct cnn_error error = { 0 };
    struct cnn_plan plan;
    refused(contract, contract->backend->plan(contract->device, contract->network, &options, &plan, &error), &error,
            what);
    memset(&error, 0, sizeof error);
    refused(contract, contract->backend->compile(&program, contract->device, contract->network, &options, &error),
            &error, what);
    contract->backend->release(program);
}

static void options_are_checked(struct contract *contract)
{
    struct cnn_program_options options = options_of(contract);
    options.algorithm = "no-such-algorithm";
    try_refused_options(contract, options, "an unknown algorithm");
    options = options_of(contract);
    options.batch = 0;
    try_refused_options(contract, options, "a batch of 0");
    options = options_of(contract);
    options.slots = 0;
    try_refused_options(contract, options, "no slot");
}

/* The algorithms that candidates() offers are among algorithms(), and its capacity holds. */
static void candidates_are_known(struct contract *contract)
{
    struct cnn_program_options options = options_of(contract);
    struct cnn_operations *operations = NULL;
    struct cnn_error error;
    if (cnn_operations_create(&operations, contract->network, &error)) {
        promise(contract, false, "operations: %s", error.text);
        return;
    }
    for (int i = 0; i < operations->count; i++) {
        struct cnn_candidate found[8] = { 0 }, one[2] = { { 0 }, { .algorithm = "untouched" } };
        int count = contract->backend->candidates(contract->device, contract->network, &operations->list[i], &options,
                                                  found, 8);
        contract->backend->candidates(contract->device, contract->network, &operations->list[i], &options, one, 1);
        promise(contract, !strcmp(one[1].algorithm, "untouched"), "candidates: wrote beyond its capacity");
        for (int k = 0; k < count && k < 8; k++) {
            const char *const *names = contract->backend->algorithms();
            while (*names && strcmp(*names, found[k].algorithm) != 0)
                names++;
            promise(contract, *names && found[k].file && found[k].workspace >= 0,
                    "candidates: \"%s\" of %s is no known algorithm, or has no file", found[k].algorithm,
                    cnn_operation_kind_name(operations->list[i].kind));
        }
    }
    cnn_operations_destroy(operations);
}

static void loads_are_checked(struct contract *contract, struct cnn_program *program)
{
    const struct cnn_backend *backend = contract->backend;
    struct cnn_error error = { 0 };
    refused(contract, backend->train(program, 1, &error), &error, "training before anything is loaded");
    refused(contract, backend->load(program, 0, contract->images, contract->labels, 0, &error), &error, "0 images");
    refused(contract, backend->load(program, 0, contract->images, contract->labels, BATCH + 1, &error), &error,
            "more images than the batch");
    refused(contract, backend->load(program, 2, contract->images, contract->labels, BATCH, &error), &error,
            "a slot that does not exist");
    refused(contract, backend->load(program, -1, contract->images, contract->labels, BATCH, &error), &error, "slot -1");
    contract->labels[3] = CLASSES;
    refused(contract, backend->load(program, 0, contract->images, contract->labels, BATCH, &error), &error,
            "a label outside the classes");
    promise(contract, strstr(error.text, "3") != NULL,
            "a label outside the classes: \"%s\" names neither value nor image", error.text);
    contract->labels[3] = -1;
    refused(contract, backend->load(program, 0, contract->images, contract->labels, BATCH, &error), &error, "label -1");
    contract->labels[3] = 0;
    promise(contract, backend->load(program, 0, contract->images, NULL, BATCH, &error) == CNN_OK,
            "images without labels: %s", error.text);
    refused(contract, backend->train(program, 1, &error), &error, "training without labels");
    refused(contract, backend->evaluate(program, 1, &error), &error, "evaluating without labels");
}

static bool all_zero(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] != 0.0f)
            return false;
    return true;
}

static void starts_from_zero(struct contract *contract, struct cnn_program *program)
{
    const struct cnn_backend *backend = contract->backend;
    struct cnn_error error = { 0 };
    struct cnn_answer first = { 0 }, second = { 0 };
    int64_t count = contract->network->parameters;
    memset(contract->read, 0x55, sizeof contract->read);
    promise(contract, !backend->read_parameters(program, contract->read, &error) && all_zero(contract->read, count),
            "a new program's parameters are not zero");
    promise(contract,
            !backend->write_parameters(program, contract->parameters, &error) &&
                !backend->load(program, 0, contract->images, contract->labels, BATCH, &error) &&
                !backend->train(program, 3, &error) && !backend->sync(program, &error) &&
                !backend->fetch(program, &first, &error) && !backend->fetch(program, &second, &error) &&
                !backend->read_parameters(program, contract->read, &error),
            "three steps at the rates of a new program: %s", error.text);
    promise(contract, !memcmp(contract->read, contract->parameters, (size_t)count * sizeof(float)),
            "a new program's rate is not zero: training moved the parameters");
    promise(contract, first.images == 3 * BATCH && second.images == 0 && second.correct == 0 && second.loss_sum == 0.0,
            "fetch: %lld images after three steps of %d, then %lld; expected the sums to start anew",
            (long long)first.images, BATCH, (long long)second.images);
}

static void inspections_are_checked(struct contract *contract, struct cnn_program *program)
{
    const struct cnn_backend *backend = contract->backend;
    struct cnn_error error = { 0 };
    float small[4] = { 0 };
    refused(contract, backend->inspect(program, CNN_INSPECT_OUTPUT, 0, small, 4, &error), &error,
            "inspecting into too little room");
    refused(contract, backend->inspect(program, CNN_INSPECT_OUTPUT, 3, small, 4, &error), &error,
            "inspecting a layer that does not exist");
    refused(contract,
            backend->inspect(program, CNN_INSPECT_INPUT_GRADIENT, 0, contract->images, BATCH * SIDE * SIDE, &error),
            &error, "an input gradient that the network did not ask for");
}

/* A clock that goes on by one second at each look: an entry of n seconds took n looks. */
static double looks;

static double next_look(void)
{
    return looks++;
}

static void entries_are_told(struct contract *contract, const struct cnn_profile_entry *entries, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const struct cnn_profile_entry *entry = &entries[i];
        const char *const *names = contract->backend->algorithms();
        while (*names && strcmp(*names, entry->algorithm) != 0)
            names++;
        promise(contract, (*names || !*entry->algorithm) && entry->file && entry->layer >= 0 && entry->layer < 3,
                "profile: %s of layer %d by \"%s\": no such algorithm or layer, or no file",
                cnn_operation_kind_name(entry->kind), entry->layer, entry->algorithm);
        promise(contract, entry->flops_executed >= 0, "profile: %s of layer %d executed %lld FLOPs",
                cnn_operation_kind_name(entry->kind), entry->layer, (long long)entry->flops_executed);
        promise(contract, entry->seconds > 0, "profile: %s of layer %d took %g s by a clock that moves at every look",
                cnn_operation_kind_name(entry->kind), entry->layer, entry->seconds);
        for (int k = 0; k < i; k++)
            promise(contract, entries[k].kind != entry->kind || entries[k].layer != entry->layer,
                    "profile: %s of layer %d is told twice", cnn_operation_kind_name(entry->kind), entry->layer);
        sum += entry->seconds;
    }
    promise(contract, sum <= looks - 1, "profile: the entries add up to %g s of the %g s that went by", sum, looks - 1);
}

/* A profiled step is a step: it is counted, it trains, and leaves the bits that train() leaves. */
static void profiles_are_steps(struct contract *contract, struct cnn_program *program)
{
    const struct cnn_backend *backend = contract->backend;
    struct cnn_profile_entry entries[ENTRIES_MAX], one[2] = { { 0 }, { .algorithm = "untouched" } };
    struct cnn_error error = { 0 };
    struct cnn_answer before = { 0 }, answer = { 0 };
    const struct cnn_rates rates = { .rate = 0.125f };
    float trained[PARAMETERS_MAX];
    int64_t size = contract->network->parameters;
    int count = -1, again = -1, forward = -1;
    promise(contract,
            !backend->write_parameters(program, contract->parameters, &error) &&
                !backend->set_rates(program, &rates, &error) && !backend->train(program, 1, &error) &&
                !backend->read_parameters(program, trained, &error) &&
                !backend->write_parameters(program, contract->parameters, &error) &&
                !backend->fetch(program, &before, &error),
            "a step to compare a profiled one with: %s", error.text);
    looks = 0;
    promise(contract,
            !backend->profile(program, CNN_PHASE_TRAIN, next_look, entries, ENTRIES_MAX, &count, &error) &&
                !backend->sync(program, &error) && !backend->fetch(program, &answer, &error) &&
                !backend->read_parameters(program, contract->read, &error),
            "profiling a training step: %s", error.text);
    promise(contract, count > 0 && count <= ENTRIES_MAX, "profile: %d operations in a training step", count);
    entries_are_told(contract, entries, count > ENTRIES_MAX ? 0 : count);
    promise(contract, answer.images == BATCH && answer.loss_sum > 0, "profile: %lld images counted, expected %d",
            (long long)answer.images, BATCH);
    promise(contract, !memcmp(contract->read, trained, (size_t)size * sizeof(float)),
            "profile: the step left other parameters than train()");
    promise(contract,
            !backend->profile(program, CNN_PHASE_TRAIN, next_look, one, 1, &again, &error) && again == count &&
                !strcmp(one[1].algorithm, "untouched"),
            "profile: wrote beyond its capacity, or told %d operations and then %d", count, again);
    promise(contract,
            !backend->profile(program, CNN_PHASE_CLASSIFY, next_look, entries, ENTRIES_MAX, &forward, &error) &&
                forward > 0 && forward <= count,
            "profile: %d operations in a classifying step, %d in a training one: %s", forward, count, error.text);
}

/* A device that has a clock says what the last call took: more for many steps than for one. */
static void counters_are_told(struct contract *contract, struct cnn_program *program)
{
    const struct cnn_backend *backend = contract->backend;
    struct cnn_error error = { 0 };
    struct cnn_counters one = { 0 }, many = { 0 };
    promise(contract,
            !backend->classify(program, 1, &error) && !backend->counters(program, &one, &error) &&
                !backend->classify(program, 100, &error) && !backend->counters(program, &many, &error),
            "counters: %s", error.text);
    promise(contract, isnan(one.event_seconds) == isnan(many.event_seconds), "counters: a clock that comes and goes");
    promise(contract, isnan(one.event_seconds) || (one.event_seconds > 0 && many.event_seconds > one.event_seconds),
            "counters: %g s for a step, %g s for 100", one.event_seconds, many.event_seconds);
    promise(contract, one.device_bytes == -1 || one.device_bytes > 0, "counters: %lld bytes on the device",
            (long long)one.device_bytes);
}

static void whole_program(struct contract *contract)
{
    struct cnn_program_options options = options_of(contract);
    struct cnn_program *program = NULL;
    struct cnn_error error = { 0 };
    int status = contract->backend->compile(&program, contract->device, contract->network, &options, &error);
    promise(contract, status == CNN_OK, "compile: %s", error.text);
    if (!status) {
        loads_are_checked(contract, program);
        starts_from_zero(contract, program);
        profiles_are_steps(contract, program);
        counters_are_told(contract, program);
        inspections_are_checked(contract, program);
    }
    contract->backend->release(program);
}

/* Only what was asked for exists. */
static void lean_program(struct contract *contract)
{
    struct cnn_program_options options = options_of(contract);
    struct cnn_program *program = NULL;
    struct cnn_error error = { 0 };
    const struct cnn_backend *backend = contract->backend;
    options.phases = CNN_PHASE_CLASSIFY;
    options.inspectable = false;
    int status = backend->compile(&program, contract->device, contract->network, &options, &error);
    promise(contract, status == CNN_OK, "compile for classification: %s", error.text);
    if (!status && !backend->load(program, 0, contract->images, contract->labels, BATCH, &error)) {
        refused(contract, backend->train(program, 1, &error), &error, "training a program that only classifies");
        refused(contract, backend->evaluate(program, 1, &error), &error, "evaluating a program that only classifies");
        int count;
        refused(contract, backend->profile(program, CNN_PHASE_TRAIN, next_look, NULL, 0, &count, &error), &error,
                "profiling a phase that was not compiled");
        promise(contract, backend->classify(program, 1, &error) == CNN_OK, "classify: %s", error.text);
        refused(contract, backend->inspect(program, CNN_INSPECT_OUTPUT, 2, contract->read, PARAMETERS_MAX, &error),
                &error, "inspecting a program that is not inspectable");
    }
    backend->release(program);
}

/* Of each device once. Every limit is a number that can be divided by, and what rows are held against is there. */
static void ceilings_are_told(struct contract *contract)
{
    const struct cnn_backend *backend = contract->backend;
    struct cnn_ceiling ceilings[CEILINGS_MAX], one[2] = { { 0 }, { .of = "untouched" } };
    struct cnn_error error = { CNN_OK, "" };
    int count = 0, again = 0;
    bool found[CNN_CEILING_KIND_COUNT] = { false };
    if (strcmp(contract->algorithm, backend->algorithms()[0]))
        return;
    promise(
        contract,
        !backend->ceiling(contract->device, clock_seconds, CEILING_SECONDS, ceilings, CEILINGS_MAX, &count, &error) &&
            count > 0 && count <= CEILINGS_MAX,
        "ceiling: %d limits: %s", count, error.text);
    for (int i = 0; i < count && i < CEILINGS_MAX; i++) {
        promise(contract, ceilings[i].value > 0 && ceilings[i].value < 1e18, "ceiling: %s of %s is %g",
                cnn_ceiling_name(ceilings[i].kind), ceilings[i].of, ceilings[i].value);
        promise(contract, ceilings[i].kind != CNN_CEILING_MEMORY || ceilings[i].bytes > 0,
                "ceiling: memory %s holds %lld bytes", ceilings[i].of, (long long)ceilings[i].bytes);
        found[ceilings[i].kind] = true;
    }
    promise(contract, found[CNN_CEILING_FMA] && found[CNN_CEILING_MEMORY] && found[CNN_CEILING_STEP],
            "ceiling: multiply-adds, memory or the empty step are missing");
    promise(contract,
            !backend->ceiling(contract->device, clock_seconds, CEILING_SECONDS, one, 1, &again, &error) &&
                again == count && !strcmp(one[1].of, "untouched"),
            "ceiling: wrote beyond its capacity, or told %d limits and then %d: %s", count, again, error.text);
}

static bool table_is_full(const struct cnn_backend *b)
{
    return b->name && b->label && b->open && b->close && b->describe && b->algorithms && b->candidates && b->plan &&
           b->compile && b->release && b->write_parameters && b->read_parameters && b->set_rates && b->load &&
           b->train && b->classify && b->evaluate && b->fetch && b->sync && b->inspect && b->profile && b->counters &&
           b->ceiling;
}

int check_contract(const struct cnn_backend *backend, struct cnn_device *device, const char *algorithm)
{
    struct contract *contract = calloc(1, sizeof *contract);
    if (!contract)
        return 1;
    contract->backend = backend;
    contract->device = device;
    contract->algorithm = algorithm;
    promise(contract, table_is_full(backend), "a function or name of the table is missing");
    if (table_is_full(backend) && make_network(contract)) {
        backend->release(NULL);
        backend->close(NULL);
        options_are_checked(contract);
        candidates_are_known(contract);
        whole_program(contract);
        lean_program(contract);
        ceilings_are_told(contract);
    }
    int broken = contract->broken;
    cnn_network_destroy(contract->network);
    free(contract);
    return broken;
}
