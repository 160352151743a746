/* SPDX-License-Identifier: MIT */
/* The way of one point: network, device, plan against memory, batches, program, gate, clock. Whatever stops it is the
 * point's status and sentence; what was known until then stays in the result. */
#include "experiments/driver/measure.h"
#include "experiments/driver/accuracy.h"
#include "experiments/driver/auto.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/layers.h"
#include "experiments/driver/resources.h"
#include "experiments/driver/sample.h"
#include "experiments/driver/verify.h"
#include "lib/checked.h"
#include "lib/parameters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PROCESS_BYTES ((int64_t)32 << 20) /* code, libraries, stacks */

int bench_run(struct bench *bench, enum cnn_phase phase, int steps, struct cnn_error *error)
{
    switch (phase) {
    case CNN_PHASE_TRAIN:
        return bench->backend->train(bench->program, steps, error);
    case CNN_PHASE_CLASSIFY:
        return bench->backend->classify(bench->program, steps, error);
    default:
        return bench->backend->evaluate(bench->program, steps, error);
    }
}

enum cnn_phase bench_phase(const struct bench *bench)
{
    switch (bench->point->phase) {
    case POINT_CLASSIFY:
        return CNN_PHASE_CLASSIFY;
    case POINT_EVALUATE:
        return CNN_PHASE_EVALUATE;
    default:
        return CNN_PHASE_TRAIN;
    }
}

static unsigned phases_of(enum point_phase phase)
{
    switch (phase) {
    case POINT_TRAIN:
        return CNN_PHASE_TRAIN;
    case POINT_CLASSIFY:
        return CNN_PHASE_CLASSIFY;
    case POINT_EVALUATE:
        return CNN_PHASE_EVALUATE;
    default:
        return CNN_PHASE_TRAIN | CNN_PHASE_EVALUATE;
    }
}

void bench_options(struct bench *bench)
{
    const struct point *point = bench->point;
    for (int i = 0; i < point->choice_count; i++)
        bench->choices[i] =
            (struct cnn_choice){ point->choices[i].kind, point->choices[i].layer, point->choices[i].algorithm };
    bool resident = point->copies == CNN_COPIES_NONE;
    bench->options = (struct cnn_program_options){
        .batch = point->batch,
        .slots = !resident                        ? 1
                 : point->phase == POINT_ACCURACY ? accuracy_slots(point)
                                                  : BATCHES_COUNT,
        .phases = phases_of(point->phase),
        .algorithm = point->algorithm,
        .choices = bench->choices,
        .choice_count = point->choice_count,
        .isa = *point->isa ? point->isa : NULL,
        .precision = point->precision,
        .copies = point->copies,
        .launch = point->launch,
        .momentum = point->rates.momentum != 0,
    };
}

/* A point from elsewhere is not trusted to have come through a study. */
static int check_point(const struct point *point, struct cnn_error *error)
{
    if (point->batch < 1)
        return cnn_error_set(error, CNN_INVALID, "batch %d: expected at least 1", point->batch);
    if (point->phase == POINT_ACCURACY && point->epochs < 1)
        return cnn_error_set(error, CNN_INVALID, "epochs %d: expected at least 1", point->epochs);
    if (point->copies == CNN_COPIES_PIPELINED)
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "copies \"pipelined\" cannot be measured by this version: use none, answer or paper");
    return CNN_OK;
}

static int open_device(struct bench *bench, struct result *result, struct cnn_device_info *info,
                       struct cnn_error *error)
{
    const struct point *point = bench->point;
    const struct cnn_device_options options = { .index = point->device, .threads = point->threads, .pin = point->pin };
    if (bench->backend->open(&bench->device, &options, error) || bench->backend->describe(bench->device, info, error))
        return error->status;
    result->threads = info->threads;
    snprintf(bench->pci, sizeof bench->pci, "%s", info->pci);
    snprintf(result->device, sizeof result->device, "%s", info->name);
    snprintf(result->detail, sizeof result->detail, "%s", info->detail);
    snprintf(result->pinned, sizeof result->pinned, "%s", info->pinned);
    const char *best = strrchr(info->isas, ' ');
    snprintf(result->isa, sizeof result->isa, "%.15s", *point->isa ? point->isa : best ? best + 1 : info->isas);
    if (point->threads > 0 && *info->detail)
        result_remark(result, "%s", info->detail);
    return CNN_OK;
}

/* Host memory that the point will take beside its program. */
static int64_t host_bytes(const struct bench *bench)
{
    const struct point *point = bench->point;
    bool train = bench->options.phases & CNN_PHASE_TRAIN;
    int64_t bytes = verify_bytes(bench->network, point->batch, train), batches = 0;
    if (point->phase != POINT_ACCURACY)
        batches = batches_bytes(bench->network, point->batch);
    return bytes < 0 || batches < 0 || !cnn_add(bytes, batches, &bytes) || !cnn_add(bytes, PROCESS_BYTES, &bytes)
               ? -1
               : bytes;
}

/* Before anything large is allocated. */
int bench_check_memory(const struct bench *bench, const struct cnn_device_info *info, const struct cnn_plan *plan,
                       struct cnn_error *error)
{
    struct resources resources;
    int64_t need = host_bytes(bench);
    bool on_host = info->threads > 0;
    resources_read(&resources, "");
    if (need >= 0 && on_host && !cnn_add(need, plan->total, &need))
        need = -1;
    if (need < 0)
        return cnn_error_set(error, CNN_OOM, "needs more bytes than 63 bits can count");
    if (resources.memory_available >= 0 && need > resources.memory_available)
        return cnn_error_set(error, CNN_OOM, "needs about %.1f MiB of memory, %.1f MiB are available",
                             (double)need / 0x1p20, (double)resources.memory_available / 0x1p20);
    if (!on_host && info->memory > 0 && plan->total > info->memory)
        return cnn_error_set(error, CNN_OOM, "needs %.1f MiB on the device, which has %.1f MiB",
                             (double)plan->total / 0x1p20, (double)info->memory / 0x1p20);
    return CNN_OK;
}

static int make_plan(struct bench *bench, const struct cnn_device_info *info, struct result *result,
                     struct cnn_error *error)
{
    struct cnn_plan plan = { 0 };
    bool train = bench->options.phases & CNN_PHASE_TRAIN;
    if (bench->backend->plan(bench->device, bench->network, &bench->options, &plan, error))
        return error->status;
    int64_t useful = train ? cnn_network_flops_train(bench->network, bench->point->batch, false)
                           : cnn_network_flops_forward(bench->network, bench->point->batch, false);
    int64_t executed = train ? plan.flops_executed_train : plan.flops_executed_forward;
    if (plan.threads > 0 && plan.threads < info->threads) {
        result->threads = plan.threads;
        result_remark(result, "ran %d thread%s: too small for more", plan.threads, plan.threads == 1 ? "" : "s");
    }
    if (plan.isa)
        snprintf(result->isa, sizeof result->isa, "%.15s", plan.isa);
    result->plan_bytes = plan.total;
    result->flops_useful = useful < 0 ? NAN : (double)useful;
    result->flops_executed = executed > 0 ? (double)executed : NAN;
    return bench_check_memory(bench, info, &plan, error);
}

static int make_parameters(struct bench *bench, struct result *result, struct cnn_error *error)
{
    bench->parameters = calloc((size_t)bench->network->parameters, sizeof *bench->parameters);
    if (!bench->parameters)
        return cnn_error_set(error, CNN_OOM, "no memory for %lld parameters", (long long)bench->network->parameters);
    cnn_parameters_init(bench->network, bench->parameters);
    result->parameters_checksum = cnn_checksum_floats(bench->parameters, bench->network->parameters);
    return CNN_OK;
}

/* What was chosen goes into options and result. */
static int apply_choices(struct bench *bench, struct choices *choices, struct result *result, struct cnn_error *error)
{
    int fixed = bench->point->choice_count;
    result->choices = choices_text(choices, bench->network);
    bench->all_choices = calloc((size_t)choices->count + (size_t)fixed + 1, sizeof *bench->all_choices);
    if (!bench->all_choices || !result->choices)
        return cnn_error_set(error, CNN_OOM, "no memory for choices of algorithms");
    if (choices->count > 0)
        memcpy(bench->all_choices, choices->list, (size_t)choices->count * sizeof *choices->list);
    memcpy(bench->all_choices + choices->count, bench->choices, (size_t)fixed * sizeof *bench->choices);
    bench->options.algorithm = choices->algorithm;
    bench->options.choices = bench->all_choices;
    bench->options.choice_count = choices->count + fixed;
    return CNN_OK;
}

static int choose_algorithms(struct bench *bench, const struct cnn_device_info *info, struct result *result,
                             struct cnn_error *error)
{
    struct choices choices;
    if (strcmp(bench->point->algorithm, CHOICES_AUTO))
        return CNN_OK;
    if (auto_choose(bench, info, clock_seconds, &choices, error))
        return error->status;
    int status = apply_choices(bench, &choices, result, error);
    choices_free(&choices);
    return status;
}

int bench_open(struct bench *bench, struct result *result, struct cnn_error *error)
{
    struct cnn_device_info info = { .threads = 0 };
    bench_options(bench);
    if (check_point(bench->point, error) || open_device(bench, result, &info, error))
        return error->status;
    double start = result->opened_at = clock_seconds();
    if (cnn_network_create(&bench->network, &bench->point->spec, error))
        return error->status;
    result->parameters = bench->network->parameters;
    result->macs = bench->network->macs;
    if (make_parameters(bench, result, error) || choose_algorithms(bench, &info, result, error) ||
        make_plan(bench, &info, result, error))
        return error->status;
    if (bench->point->phase != POINT_ACCURACY && batches_create(&bench->batches, bench->network, bench->point, error))
        return error->status;
    result->setup_seconds = clock_seconds() - start;
    start = clock_seconds();
    if (bench->backend->compile(&bench->program, bench->device, bench->network, &bench->options, error))
        return error->status;
    result->compile_seconds = clock_seconds() - start;
    return CNN_OK;
}

static int verify(struct bench *bench, struct result *result, struct cnn_error *error)
{
    double start = clock_seconds();
    if (verify_program(bench, result, error))
        return error->status;
    result->verify_seconds = clock_seconds() - start;
    return CNN_OK;
}

static int measure_accuracy(struct bench *bench, struct result *result, struct cnn_error *error)
{
    struct cnn_dataset *train = NULL, *test = NULL;
    double start = clock_seconds();
    int status = accuracy_open(bench, &train, &test, error);
    result->data_seconds = clock_seconds() - start;
    if (status == CNN_OK)
        status = verify(bench, result, error);
    if (status == CNN_OK)
        status = accuracy_run(bench, train, test, result, error);
    cnn_dataset_close(train);
    cnn_dataset_close(test);
    if (status == CNN_OK)
        result->status = CNN_OK;
    return status;
}

void bench_close(struct bench *bench)
{
    if (bench->program)
        bench->backend->release(bench->program);
    if (bench->device)
        bench->backend->close(bench->device);
    batches_free(&bench->batches);
    free(bench->parameters);
    free(bench->all_choices);
    cnn_network_destroy(bench->network);
}

/* The largest resident set so far, in bytes. */
static int64_t peak_bytes(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage))
        return -1;
#ifdef __APPLE__
    return usage.ru_maxrss;
#else
    return (int64_t)usage.ru_maxrss * 1024;
#endif
}

/* All of it is taken before anything is timed, so that what is held now is the most. */
static void read_device_bytes(struct bench *bench, struct result *result)
{
    struct cnn_counters counters;
    struct cnn_error ignored; /* a device that failed has said so */
    if (bench->program && bench->backend->counters(bench->program, &counters, &ignored) == CNN_OK)
        result->peak_device_bytes = counters.device_bytes;
}

void measure_point(const struct point *point, const struct cnn_backend *backend, struct result *result)
{
    struct bench bench = { .point = point, .backend = backend };
    struct cnn_error error = { CNN_ERROR, "" };
    result_init(result);
    int status = bench_open(&bench, result, &error);
    if (status == CNN_OK && point->phase == POINT_ACCURACY)
        status = measure_accuracy(&bench, result, &error);
    else if (status == CNN_OK)
        status = verify(&bench, result, &error) || sample_point(&bench, result, &error) ||
                         (point->layers && layers_measure(&bench, result, &error))
                     ? error.status
                     : CNN_OK;
    if (status != CNN_OK)
        result_set(result, error.status, "%s", error.text);
    read_device_bytes(&bench, result);
    result->peak_bytes = peak_bytes();
    bench_close(&bench);
}
