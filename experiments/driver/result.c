/* SPDX-License-Identifier: MIT */
/* A result before anything is known of it, its words, and its end. */
#include "experiments/driver/result.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void result_init(struct result *result)
{
    *result = (struct result){
        .status = CNN_ERROR,
        .threads = -1,
        .parameters = -1,
        .macs = -1,
        .samples = -1,
        .steps_per_sample = -1,
        .median = NAN,
        .low = NAN,
        .high = NAN,
        .mean = NAN,
        .q1 = NAN,
        .q3 = NAN,
        .min = NAN,
        .flops_useful = NAN,
        .flops_executed = NAN,
        .event_seconds = NAN,
        .copy_seconds = NAN,
        .opened_at = NAN,
        .startup_seconds = NAN,
        .process_seconds = NAN,
        .setup_seconds = NAN,
        .compile_seconds = NAN,
        .verify_seconds = NAN,
        .warmup_seconds = NAN,
        .limit_seconds = { NAN, NAN, NAN, NAN },
        .bytes_per_step = NAN,
        .share_of_limit = NAN,
        .clock_mhz_low = NAN,
        .clock_mhz_high = NAN,
        .power_watts = NAN,
        .energy_per_image = NAN,
        .plan_bytes = -1,
        .peak_bytes = -1,
        .peak_device_bytes = -1,
        .verified_error = NAN,
        .pixel_mean = NAN,
        .pixel_deviation = NAN,
        .data_seconds = NAN,
        .train_images = -1,
        .test_images = -1,
    };
}

void result_free(struct result *result)
{
    free(result->epoch);
    free(result->sample);
    free(result->event);
    free(result->choices);
    free(result->operation);
    result->operation = NULL;
    result->choices = NULL;
    result->epoch = NULL;
    result->sample = NULL;
    result->event = NULL;
}

double result_operations_sum(const struct result *result)
{
    double sum = 0;
    for (int i = 0; i < result->operations; i++)
        sum += result->operation[i].seconds;
    return sum;
}

int result_set(struct result *result, enum cnn_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(result->reason, sizeof result->reason, format, list);
    va_end(list);
    result->status = status;
    return status;
}

void result_remark(struct result *result, const char *format, ...)
{
    size_t used = strlen(result->reason);
    if (used + 3 > sizeof result->reason)
        return;
    if (used > 0) {
        memcpy(result->reason + used, "; ", 3);
        used += 2;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(result->reason + used, sizeof result->reason - used, format, list);
    va_end(list);
}

int result_target(const struct result *result, double target, bool copies, double *train, double *loading)
{
    *train = 0;
    *loading = result->data_seconds;
    for (int e = 0; target > 0 && result->epoch && e < result->epochs; e++) {
        const struct epoch_result *epoch = &result->epoch[e];
        *train += epoch->train_seconds;
        *loading += copies ? 0 : epoch->load_seconds;
        if (epoch->test_accuracy >= target)
            return epoch->epoch;
    }
    return 0;
}
