/* SPDX-License-Identifier: MIT */
/* Sampling. A sample is as many steps as fill max(min_time, 1,000 x timer resolution); its value is seconds per step.
 * Samples are taken until the nonparametric interval of their median is narrow, or the budget is spent. Nothing is
 * thrown away but samples that turn out too short to be read off the clock: then all start anew with more steps. */
#include "experiments/driver/sample.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/meter.h"
#include "experiments/driver/nvml.h"
#include "experiments/driver/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RESOLUTIONS_PER_SAMPLE 1000
#define DEFAULT_MIN_TIME 1e-3
#define STEPS_MAX 100000000
#define RESTARTS_MAX 20
#define CLOCKS_DIFFER 0.01
#define EVENT_RESOLUTION 2e-6 /* seconds; a CUDA event's is 0.5 us, and there are two */
#define PLANTED_STEPS 100

struct sampler {
    struct bench *bench;
    struct meter *meter;
    enum cnn_phase phase;
    double target;                   /* seconds a sample lasts at least */
    int steps;                       /* per sample */
    int next;                        /* host batch that comes next */
    int32_t *labels;                 /* [batch], answers */
    double *taken, *events, *sorted; /* seconds per step: by our clock, by the device's, by our clock in order */
    int count, capacity;
};

static int load(struct sampler *sampler, int slot, struct cnn_error *error)
{
    struct bench *bench = sampler->bench;
    int index = sampler->next++ % bench->batches.count;
    const int32_t *labels = sampler->phase == CNN_PHASE_CLASSIFY ? NULL : batches_labels(&bench->batches, index);
    return bench->backend->load(bench->program, slot, batches_images(&bench->batches, index), labels,
                                bench->batches.batch, error);
}

/* An answer is used, so that no work can be left out, and must make sense. */
static int check(const struct sampler *sampler, const struct cnn_answer *answer, struct cnn_error *error)
{
    const struct bench *bench = sampler->bench;
    if (sampler->phase != CNN_PHASE_CLASSIFY && !isfinite(answer->loss_sum))
        return cnn_error_set(error, CNN_ERROR, "the loss became %f while it was timed (rate %g); use a smaller rate",
                             answer->loss_sum, (double)bench->point->rates.rate);
    for (int i = 0; answer->labels && i < bench->batches.batch; i++)
        if (answer->labels[i] < 0 || answer->labels[i] >= bench->network->label_count)
            return cnn_error_set(error, CNN_ERROR, "image %d was given label %d while it was timed, expected 0 to %d",
                                 i, answer->labels[i], bench->network->label_count - 1);
    return CNN_OK;
}

static int fetch(struct sampler *sampler, int steps, struct cnn_error *error)
{
    const struct bench *bench = sampler->bench;
    struct cnn_answer answer = { .labels = sampler->phase == CNN_PHASE_TRAIN ? NULL : sampler->labels };
    if (bench->backend->fetch(bench->program, &answer, error))
        return error->status;
    if (sampler->phase != CNN_PHASE_CLASSIFY && answer.images != (int64_t)steps * bench->batches.batch)
        return cnn_error_set(error, CNN_ERROR, "%d steps of %d images were asked for, %lld images were answered", steps,
                             bench->batches.batch, (long long)answer.images);
    return check(sampler, &answer, error);
}

/* Everything that a sample needs and its clock must not see. */
static int prepare(struct sampler *sampler, struct cnn_error *error)
{
    struct bench *bench = sampler->bench;
    if (sampler->phase == CNN_PHASE_TRAIN && bench->backend->write_parameters(bench->program, bench->parameters, error))
        return error->status;
    for (int slot = 0; slot < sampler->steps && sampler->steps < bench->options.slots; slot++)
        if (load(sampler, slot, error))
            return error->status;
    return bench->backend->sync(bench->program, error);
}

/* Where steps are planted, whole percents are whole steps. */
static void settle_steps(struct sampler *sampler, double steps)
{
    sampler->steps = (int)fmin(STEPS_MAX, fmax(1, steps));
    if (sampler->bench->point->planted > 0)
        sampler->steps += (PLANTED_STEPS - sampler->steps % PLANTED_STEPS) % PLANTED_STEPS;
}

/* The steps that a sample runs: those it counts, and planted ones. */
static int steps_run(const struct sampler *sampler)
{
    return sampler->steps + (int)round(sampler->bench->point->planted * sampler->steps);
}

static int run_resident(struct sampler *sampler, struct cnn_error *error)
{
    return bench_run(sampler->bench, sampler->phase, steps_run(sampler), error) ||
           sampler->bench->backend->sync(sampler->bench->program, error);
}

static int run_copied(struct sampler *sampler, struct cnn_error *error)
{
    for (int step = steps_run(sampler); step > 0; step--)
        if (load(sampler, 0, error) || bench_run(sampler->bench, sampler->phase, 1, error) || fetch(sampler, 1, error))
            return error->status;
    return CNN_OK;
}

/* One sample, in seconds for all its steps; what the device counted of it, after the clock. */
static int take(struct sampler *sampler, double *seconds, struct cnn_counters *counters, struct cnn_error *error)
{
    bool resident = sampler->bench->options.copies == CNN_COPIES_NONE;
    if (prepare(sampler, error))
        return error->status;
    double start = clock_seconds();
    if (resident ? run_resident(sampler, error) : run_copied(sampler, error))
        return error->status;
    *seconds = clock_seconds() - start;
    if (resident && fetch(sampler, steps_run(sampler), error))
        return error->status;
    if (sampler->bench->backend->counters(sampler->bench->program, counters, error))
        return error->status;
    /* the device works inside our clock, so by its own it cannot have worked for longer */
    if (counters->event_seconds > (1 + CLOCKS_DIFFER) * *seconds + EVENT_RESOLUTION)
        return cnn_error_set(error, CNN_ERROR,
                             "%d steps took %g s by the device's own clock, %g s by ours: they were not waited for",
                             sampler->steps, counters->event_seconds, *seconds);
    return CNN_OK;
}

/* Steps that should last 1.2 times the target, at most ten times as many as now. */
static int more_steps(const struct sampler *sampler, double seconds)
{
    double wanted = seconds > 0 ? ceil(1.2 * sampler->target / seconds * sampler->steps) : INFINITY;
    double least = sampler->steps + 1.0, most = fmin(10.0 * sampler->steps, STEPS_MAX);
    return (int)fmax(least, fmin(wanted, most));
}

/* Runs the measured path itself for `warmup` seconds at least and finds the number of steps of a sample. */
static int warm_up(struct sampler *sampler, struct cnn_error *error)
{
    double start = clock_seconds(), seconds, fastest = INFINITY;
    struct cnn_counters counters;
    sampler->steps = 1;
    for (;;) {
        if (take(sampler, &seconds, &counters, error))
            return error->status;
        fastest = fmin(fastest, seconds / sampler->steps);
        if (seconds < sampler->target) {
            if (sampler->steps >= STEPS_MAX)
                return cnn_error_set(error, CNN_ERROR, "%d steps take %g s, too little to be measured", sampler->steps,
                                     seconds);
            sampler->steps = more_steps(sampler, seconds);
        } else if (clock_seconds() - start >= sampler->bench->point->warmup) {
            break;
        }
    }
    settle_steps(sampler, ceil(1.1 * sampler->target / fastest));
    return CNN_OK;
}

/* Grows the lists by doubling, outside the clock. */
static int make_room(struct sampler *sampler, struct cnn_error *error)
{
    if (sampler->count < sampler->capacity)
        return CNN_OK;
    int capacity = sampler->capacity ? 2 * sampler->capacity : 256;
    double *taken = realloc(sampler->taken, (size_t)capacity * sizeof *taken);
    if (taken)
        sampler->taken = taken;
    double *events = realloc(sampler->events, (size_t)capacity * sizeof *events);
    if (events)
        sampler->events = events;
    double *sorted = realloc(sampler->sorted, (size_t)capacity * sizeof *sorted);
    if (sorted)
        sampler->sorted = sorted;
    if (!taken || !events || !sorted)
        return cnn_error_set(error, CNN_OOM, "no memory for %d samples", capacity);
    sampler->capacity = capacity;
    return CNN_OK;
}

/* Why to stop now, or NULL. */
static const char *stop_reason(const struct sampler *sampler, double elapsed)
{
    const struct point *point = sampler->bench->point;
    struct statistics statistics;
    if (sampler->count < STATISTICS_SAMPLES_MIN)
        return NULL;
    statistics_of(sampler->sorted, sampler->count, &statistics);
    if (sampler->count >= point->min_samples && statistics_half_width(&statistics) <= point->interval)
        return "interval";
    if (sampler->count >= point->max_samples)
        return "samples";
    return elapsed >= point->max_time ? "time" : NULL;
}

static int take_all(struct sampler *sampler, const char **stop, struct cnn_error *error)
{
    double start = clock_seconds(), seconds;
    struct cnn_counters counters;
    meter_start(sampler->meter);
    for (int restarts = 0; !(*stop = stop_reason(sampler, clock_seconds() - start));) {
        if (make_room(sampler, error) || take(sampler, &seconds, &counters, error))
            return error->status;
        meter_look(sampler->meter);
        if (seconds < sampler->target) {
            if (++restarts > RESTARTS_MAX || sampler->steps > STEPS_MAX / 2)
                return cnn_error_set(error, CNN_ERROR, "%d steps take %g s now and more before: no steady time",
                                     sampler->steps, seconds);
            settle_steps(sampler, sampler->steps + sampler->steps / 2 + 1);
            sampler->count = 0;
            continue;
        }
        sampler->taken[sampler->count] = seconds / sampler->steps;
        sampler->events[sampler->count] = counters.event_seconds / sampler->steps;
        statistics_insert(sampler->sorted, sampler->count, seconds / sampler->steps);
        sampler->count++;
    }
    return CNN_OK;
}

/* The device's own times where it has them; `sorted` is used up. */
static void report_events(struct sampler *sampler, struct result *result)
{
    struct statistics statistics;
    if (!isfinite(sampler->events[0]))
        return;
    for (int i = 0; i < sampler->count; i++)
        statistics_insert(sampler->sorted, i, sampler->events[i]);
    statistics_of(sampler->sorted, sampler->count, &statistics);
    result->event_seconds = statistics.median;
    result->event = sampler->events;
    sampler->events = NULL;
}

static void report(struct sampler *sampler, const char *stop, struct result *result)
{
    const struct point *point = sampler->bench->point;
    struct statistics statistics;
    statistics_of(sampler->sorted, sampler->count, &statistics);
    result->samples = sampler->count;
    result->steps_per_sample = sampler->steps;
    result->median = statistics.median;
    result->low = statistics.low;
    result->high = statistics.high;
    result->mean = statistics.mean;
    result->q1 = statistics.q1;
    result->q3 = statistics.q3;
    result->min = statistics.min;
    result->sample = sampler->taken;
    sampler->taken = NULL;
    snprintf(result->stop, sizeof result->stop, "%s", stop);
    report_events(sampler, result);
    meter_report(sampler->meter, sampler->bench->batches.batch / result->median, result);
    double width = statistics_half_width(&statistics);
    result->status = width <= point->interval ? CNN_OK : CNN_UNSTABLE;
    if (result->status == CNN_UNSTABLE)
        result_remark(result, "the median is known to +-%.1f %% only after %d samples, wanted +-%.1f %%", 100 * width,
                      sampler->count, 100 * point->interval);
}

/* Batches into the device, one after another for as long as a sample: where steps do not bring theirs along. */
static int time_copies(struct sampler *sampler, struct result *result, struct cnn_error *error)
{
    if (sampler->bench->options.copies != CNN_COPIES_NONE)
        return CNN_OK;
    double start = clock_seconds(), seconds = 0;
    int64_t copies = 0;
    for (; seconds < sampler->target; copies++, seconds = clock_seconds() - start)
        if (load(sampler, 0, error))
            return error->status;
    result->copy_seconds = seconds / (double)copies;
    return sampler->bench->backend->sync(sampler->bench->program, error);
}

/* Other batches into the slots, the study's rates. Sums run from the gate's last fetch. */
static int start(struct sampler *sampler, struct cnn_error *error)
{
    struct bench *bench = sampler->bench;
    for (int slot = 0; slot < bench->options.slots; slot++)
        if (load(sampler, slot, error))
            return error->status;
    return bench->backend->set_rates(bench->program, &bench->point->rates, error);
}

int sample_point(struct bench *bench, struct result *result, struct cnn_error *error)
{
    const struct point *point = bench->point;
    double least = point->min_time > 0 ? point->min_time : DEFAULT_MIN_TIME;
    struct sampler sampler = {
        .bench = bench,
        .phase = bench_phase(bench),
        .target = fmax(least, RESOLUTIONS_PER_SAMPLE * clock_resolution()),
        .labels = calloc((size_t)point->batch, sizeof *sampler.labels),
        .meter = meter_open("", NVML_LIBRARY, bench->pci),
    };
    const char *stop = NULL;
    if (!sampler.labels)
        cnn_error_set(error, CNN_OOM, "no memory for %d labels", point->batch);
    double begin = clock_seconds();
    if (sampler.labels && !start(&sampler, error) && !warm_up(&sampler, error)) {
        result->warmup_seconds = clock_seconds() - begin;
        if (!take_all(&sampler, &stop, error)) {
            report(&sampler, stop, result);
            if (time_copies(&sampler, result, error))
                stop = NULL;
        }
    }
    free(sampler.labels);
    meter_close(sampler.meter);
    free(sampler.taken);
    free(sampler.events);
    free(sampler.sorted);
    if (!stop && error->status == CNN_INVALID) /* what passed the gate must run */
        error->status = CNN_ERROR;
    return stop ? CNN_OK : error->status;
}
