/* SPDX-License-Identifier: MIT */
/* The columns of rows.csv: their names, and which hold words. A word stays one where it looks like a number: a seed has
 * 64 bits, more than most readers of JSON keep. */
#include "experiments/driver/rows.h"

#include <string.h>

static const struct {
    const char *name;
    bool text;
} columns[ROW_COLUMN_COUNT] = {
    [ROW_STUDY] = { "study", true },
    [ROW_SERIES] = { "series", true },
    [ROW_LABEL] = { "label", true },
    [ROW_NETWORK] = { "network", true },
    [ROW_WIDTH] = { "width", false },
    [ROW_DEPTH] = { "depth", false },
    [ROW_IMAGE] = { "image", false },
    [ROW_BATCH] = { "batch", false },
    [ROW_THREADS] = { "threads", false },
    [ROW_PHASE] = { "phase", true },
    [ROW_STATUS] = { "status", true },
    [ROW_REASON] = { "reason", true },
    [ROW_SECONDS_PER_STEP] = { "seconds_per_step", false },
    [ROW_INTERVAL_LOW_SECONDS] = { "interval_low_seconds", false },
    [ROW_INTERVAL_HIGH_SECONDS] = { "interval_high_seconds", false },
    [ROW_IMAGES_PER_SECOND] = { "images_per_second", false },
    [ROW_USEFUL_GFLOP_PER_SECOND] = { "useful_gflop_per_second", false },
    [ROW_EXECUTED_GFLOP_PER_SECOND] = { "executed_gflop_per_second", false },
    [ROW_SHARE_OF_LIMIT] = { "share_of_limit", false },
    [ROW_BOUND] = { "bound", true },
    [ROW_SECONDS_PER_EPOCH] = { "seconds_per_epoch", false },
    [ROW_TRAIN_LOSS] = { "train_loss", false },
    [ROW_TRAIN_ACCURACY] = { "train_accuracy", false },
    [ROW_TEST_LOSS] = { "test_loss", false },
    [ROW_TEST_ACCURACY] = { "test_accuracy", false },
    [ROW_EPOCHS] = { "epochs", false },
    [ROW_TARGET_ACCURACY] = { "target_accuracy", false },
    [ROW_EPOCHS_TO_TARGET] = { "epochs_to_target", false },
    [ROW_SECONDS_TO_TARGET] = { "seconds_to_target", false },
    [ROW_SECONDS_TO_TARGET_WITH_LOADING] = { "seconds_to_target_with_loading", false },
    [ROW_LOADING_SECONDS] = { "loading_seconds", false },
    [ROW_PARAMETERS] = { "parameters", false },
    [ROW_MACS_PER_IMAGE] = { "macs_per_image", false },
    [ROW_USEFUL_FLOP_PER_STEP] = { "useful_flop_per_step", false },
    [ROW_EXECUTED_FLOP_PER_STEP] = { "executed_flop_per_step", false },
    [ROW_COMPUTE_LIMIT_SECONDS] = { "compute_limit_seconds", false },
    [ROW_MEMORY_LIMIT_SECONDS] = { "memory_limit_seconds", false },
    [ROW_LATENCY_LIMIT_SECONDS] = { "latency_limit_seconds", false },
    [ROW_COPIES_LIMIT_SECONDS] = { "copies_limit_seconds", false },
    [ROW_BYTES_PER_STEP] = { "bytes_per_step", false },
    [ROW_BACKEND] = { "backend", true },
    [ROW_ALGORITHM] = { "algorithm", true },
    [ROW_CHOICES] = { "choices", true },
    [ROW_ISA] = { "isa", true },
    [ROW_PRECISION] = { "precision", true },
    [ROW_COPIES] = { "copies", true },
    [ROW_LAUNCH] = { "launch", true },
    [ROW_THREADS_ASKED] = { "threads_asked", false },
    [ROW_DEVICE_INDEX] = { "device_index", false },
    [ROW_DEVICE] = { "device", true },
    [ROW_CHANNELS] = { "channels", false },
    [ROW_CLASSES] = { "classes", false },
    [ROW_CONNECTIONS] = { "connections", true },
    [ROW_OUTPUT] = { "output", true },
    [ROW_LOSS] = { "loss", true },
    [ROW_INPUT_GRADIENT] = { "input_gradient", false },
    [ROW_DATA] = { "data", true },
    [ROW_FIT] = { "fit", true },
    [ROW_PIXELS] = { "pixels", true },
    [ROW_PIXEL_MEAN] = { "pixel_mean", false },
    [ROW_PIXEL_DEVIATION] = { "pixel_deviation", false },
    [ROW_DISTORT] = { "distort", true },
    [ROW_TRAIN_IMAGES] = { "train_images", false },
    [ROW_TEST_IMAGES] = { "test_images", false },
    [ROW_RATE] = { "rate", false },
    [ROW_MOMENTUM] = { "momentum", false },
    [ROW_DECAY] = { "decay", false },
    [ROW_RATE_DECAY] = { "rate_decay", false },
    [ROW_SEED] = { "seed", true },
    [ROW_PARAMETERS_CHECKSUM] = { "parameters_checksum", true },
    [ROW_SAMPLES] = { "samples", false },
    [ROW_STEPS_PER_SAMPLE] = { "steps_per_sample", false },
    [ROW_STOP] = { "stop", true },
    [ROW_MEAN_SECONDS] = { "mean_seconds", false },
    [ROW_LOWER_QUARTILE_SECONDS] = { "lower_quartile_seconds", false },
    [ROW_UPPER_QUARTILE_SECONDS] = { "upper_quartile_seconds", false },
    [ROW_MINIMUM_SECONDS] = { "minimum_seconds", false },
    [ROW_EVENT_SECONDS_PER_STEP] = { "event_seconds_per_step", false },
    [ROW_COPY_SECONDS_PER_STEP] = { "copy_seconds_per_step", false },
    [ROW_PROCESS_SECONDS] = { "process_seconds", false },
    [ROW_STARTUP_SECONDS] = { "startup_seconds", false },
    [ROW_SETUP_SECONDS] = { "setup_seconds", false },
    [ROW_COMPILE_SECONDS] = { "compile_seconds", false },
    [ROW_VERIFY_SECONDS] = { "verify_seconds", false },
    [ROW_WARMUP_SECONDS] = { "warmup_seconds", false },
    [ROW_VERIFIED_ERROR_OVER_BOUND] = { "verified_error_over_bound", false },
    [ROW_VERIFIED_BY] = { "verified_by", true },
    [ROW_CLOCK_MHZ_LOW] = { "clock_mhz_low", false },
    [ROW_CLOCK_MHZ_HIGH] = { "clock_mhz_high", false },
    [ROW_THROTTLED] = { "throttled", true },
    [ROW_POWER_WATTS] = { "power_watts", false },
    [ROW_ENERGY_JOULE_PER_IMAGE] = { "energy_joule_per_image", false },
    [ROW_PLANNED_BYTES] = { "planned_bytes", false },
    [ROW_PEAK_BYTES] = { "peak_bytes", false },
    [ROW_PEAK_DEVICE_BYTES] = { "peak_device_bytes", false },
    [ROW_MACHINE] = { "machine", true },
    [ROW_BUILD] = { "build", true },
    [ROW_SOURCES_HASH] = { "sources_hash", true },
    [ROW_STARTED] = { "started", true },
    [ROW_KEY] = { "key", true },
    [ROW_SCHEMA] = { "schema", false },
};

const char *row_column_name(enum row_column column)
{
    return columns[column].name;
}

bool row_column_is_text(enum row_column column)
{
    return columns[column].text;
}

enum row_column row_column_find(const char *name)
{
    int column = 0;
    while (column < ROW_COLUMN_COUNT && strcmp(columns[column].name, name) != 0)
        column++;
    return (enum row_column)column;
}
