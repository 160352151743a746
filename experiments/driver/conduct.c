/* SPDX-License-Identifier: MIT */
/* The account of a run. */
#include "experiments/driver/conduct.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>

static double known(double seconds)
{
    return isfinite(seconds) ? seconds : 0;
}

static double measured_seconds(const struct result *result)
{
    double seconds = known(result->warmup_seconds);
    for (int i = 0; result->sample && i < result->samples; i++)
        seconds += result->sample[i] * result->steps_per_sample;
    for (int i = 0; result->epoch && i < result->epochs; i++)
        seconds += known(result->epoch[i].train_seconds) + known(result->epoch[i].test_seconds);
    return seconds;
}

void conduct_count(struct conduct_time *time, const struct result *result)
{
    double measured = measured_seconds(result), verify = known(result->verify_seconds);
    double prepare = known(result->setup_seconds) + known(result->compile_seconds);
    time->measured += measured;
    time->verify += verify;
    time->prepare += prepare;
    time->process += fmax(known(result->process_seconds) - measured - verify - prepare, 0);
}

double conduct_overhead(const struct conduct_time *time)
{
    double total = time->total + time->charts;
    return total > 0 ? (total - time->measured) / total : 0;
}

static double own_seconds(const struct conduct_time *time)
{
    return fmax(time->total - time->measured - time->verify - time->prepare - time->process, 0);
}

void conduct_time_text(const struct conduct_time *time, char *out, size_t size)
{
    snprintf(
        out, size,
        "%.1f s, of these %.1f s warm-up and samples; %.0f %% outside them: %.1f s verification, %.1f s preparation, "
        "%.1f s processes, %.1f s records, %.1f s charts",
        time->total + time->charts, time->measured, 100 * conduct_overhead(time), time->verify, time->prepare,
        time->process, own_seconds(time), time->charts);
}

static void add_number(cJSON *object, const char *name, double value)
{
    cJSON_AddItemToObject(object, name, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

static void add_text(cJSON *object, const char *name, const char *text)
{
    cJSON_AddItemToObject(object, name, text && *text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static void add_time(cJSON *run, const struct conduct_time *time)
{
    cJSON *item = cJSON_AddObjectToObject(run, "time");
    add_number(item, "seconds", time->total);
    add_number(item, "measured_seconds", time->measured);
    add_number(item, "verify_seconds", time->verify);
    add_number(item, "prepare_seconds", time->prepare);
    add_number(item, "process_seconds", time->process);
    add_number(item, "overhead", conduct_overhead(time));
}

static void add_probe(cJSON *drift, const char *name, const struct drift_probe *probe)
{
    cJSON *item = cJSON_AddObjectToObject(drift, name);
    add_number(item, "compute_seconds", probe->compute);
    add_number(item, "memory_seconds", probe->memory);
}

void conduct_record(const struct conduct *conduct, struct cJSON *run)
{
    add_text(run, "identity", conduct->identity);
    add_text(run, "order", conduct->order);
    add_text(run, "continued", conduct->continued);
    add_number(run, "rows_taken_over", conduct->taken);
    if (conduct->time.total > 0)
        add_time(run, &conduct->time);
    if (conduct->start.compute > 0) {
        cJSON *drift = cJSON_AddObjectToObject(run, "drift");
        add_probe(drift, "start", &conduct->start);
        if (conduct->end.compute > 0) {
            add_probe(drift, "end", &conduct->end);
            add_number(drift, "change", drift_change(&conduct->start, &conduct->end));
        }
    }
}
