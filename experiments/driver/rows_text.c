/* SPDX-License-Identifier: MIT */
/* A row as text: what stands in each column. Quoted as RFC 4180 says; a number that is not there
 * is an empty cell. */
#include "experiments/driver/rows.h"
#include "experiments/driver/study_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The cells of a row on their way; one that is NULL is empty, `failed` says that memory ran out. */
struct cells {
    char *text[ROW_COLUMN_COUNT];
    bool failed;
};

static void put(struct cells *cells, enum row_column column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put(struct cells *cells, enum row_column column, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (vasprintf(&cells->text[column], format, list) < 0) {
        cells->text[column] = NULL;
        cells->failed = true;
    }
    va_end(list);
}

static void put_number(struct cells *cells, enum row_column column, double value)
{
    if (isfinite(value))
        put(cells, column, "%.9g", value);
}

/* A setting as it was given: the fewest digits that are this fp32 value again. */
static void put_setting(struct cells *cells, enum row_column column, float value)
{
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    if (isfinite(value))
        put(cells, column, "%s", text);
}

/* -1: not there. */
static void put_count(struct cells *cells, enum row_column column, int64_t value)
{
    if (value >= 0)
        put(cells, column, "%" PRId64, value);
}

static void put_connections(struct cells *cells, const struct cnn_network_spec *spec)
{
    const struct cnn_connection_spec *all = &spec->connections.all;
    if (spec->connections.paper)
        put(cells, ROW_CONNECTIONS, "paper");
    else if (all->kind == CNN_CONNECT_FAN_IN)
        put(cells, ROW_CONNECTIONS, "fan-in %d", all->fan_in);
    else if (all->kind == CNN_CONNECT_DENSITY)
        put(cells, ROW_CONNECTIONS, "density %g", all->density);
    else
        put(cells, ROW_CONNECTIONS, "%s", cnn_connection_kind_name(all->kind));
}

/* "conv_forward=mine full_forward@4=gemm": the operation, of one layer where a number follows. */
static void put_choices(struct cells *cells, const struct point *point)
{
    char text[POINT_CHOICES_MAX * 80] = "";
    size_t used = 0;
    for (int i = 0; i < point->choice_count; i++) {
        const struct point_choice *choice = &point->choices[i];
        char layer[16] = "";
        if (choice->layer >= 0)
            snprintf(layer, sizeof layer, "@%d", choice->layer);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s=%s", i ? " " : "",
                                 cnn_operation_kind_name(choice->kind), layer, choice->algorithm);
    }
    put(cells, ROW_CHOICES, "%s", text);
}

static void put_network(struct cells *cells, const struct point *point, const struct cnn_network *network)
{
    const struct cnn_network_spec *spec = &point->spec;
    put(cells, ROW_NETWORK, "%s", spec->name);
    put_count(cells, ROW_WIDTH, spec->width);
    put_count(cells, ROW_DEPTH, spec->depth);
    put_count(cells, ROW_IMAGE, spec->image);
    put_count(cells, ROW_CHANNELS, spec->channels);
    put_count(cells, ROW_CLASSES, spec->classes);
    put_connections(cells, spec);
    if (spec->layer_count > 0)
        put(cells, ROW_OUTPUT, "%s", cnn_activation_name(spec->layers[spec->layer_count - 1].activation));
    put(cells, ROW_LOSS, "%s", cnn_loss_name(spec->loss));
    put(cells, ROW_INPUT_GRADIENT, "%s", spec->input_gradient ? "true" : "false");
    put(cells, ROW_SEED, "%" PRIu64, spec->seed);
    if (network) {
        put_count(cells, ROW_PARAMETERS, network->parameters);
        put_count(cells, ROW_MACS_PER_IMAGE, network->macs);
    }
}

/* What is done to the images of a data set. */
static void put_data(struct cells *cells, const struct point *point)
{
    struct words fits, pixels;
    if (!strcmp(point->data, "normal"))
        return;
    words_fill(&fits, WORDS_FITS);
    words_fill(&pixels, WORDS_PIXELS);
    put(cells, ROW_FIT, "%s", fits.list[point->fit]);
    put(cells, ROW_PIXELS, "%s", pixels.list[point->pixels]);
    if (point->phase == POINT_ACCURACY)
        put(cells, ROW_DISTORT, "%s", point->distort);
}

static void put_point(struct cells *cells, const struct point *point)
{
    char key[2048];
    put(cells, ROW_SERIES, "%s", point->series);
    put(cells, ROW_LABEL, "%s", point->label);
    put_count(cells, ROW_BATCH, point->batch);
    put(cells, ROW_PHASE, "%s", point_phase_name(point->phase));
    put(cells, ROW_BACKEND, "%s", point->backend);
    put(cells, ROW_ALGORITHM, "%s", point->algorithm);
    put_choices(cells, point);
    put(cells, ROW_PRECISION, "%s", cnn_precision_name(point->precision));
    put(cells, ROW_COPIES, "%s", cnn_copies_name(point->copies));
    put(cells, ROW_LAUNCH, "%s", cnn_launch_name(point->launch));
    put_count(cells, ROW_THREADS_ASKED, point->threads);
    put_count(cells, ROW_DEVICE_INDEX, point->device);
    put(cells, ROW_DATA, "%s", point->data);
    put_data(cells, point);
    put_setting(cells, ROW_RATE, point->rates.rate);
    put_setting(cells, ROW_MOMENTUM, point->rates.momentum);
    put_setting(cells, ROW_DECAY, point->rates.decay);
    if (point->phase == POINT_ACCURACY)
        put_setting(cells, ROW_RATE_DECAY, point->rate_decay);
    point_key(point, key, sizeof key);
    put(cells, ROW_KEY, "%s", key);
}

static void put_times(struct cells *cells, const struct point *point, const struct result *result)
{
    double seconds = result->median;
    put_number(cells, ROW_SECONDS_PER_STEP, seconds);
    put_number(cells, ROW_INTERVAL_LOW_SECONDS, result->low);
    put_number(cells, ROW_INTERVAL_HIGH_SECONDS, result->high);
    put_number(cells, ROW_IMAGES_PER_SECOND, point->batch / seconds);
    put_number(cells, ROW_USEFUL_GFLOP_PER_SECOND, result->flops_useful / seconds * 1e-9);
    put_number(cells, ROW_EXECUTED_GFLOP_PER_SECOND, result->flops_executed / seconds * 1e-9);
    put_number(cells, ROW_MEAN_SECONDS, result->mean);
    put_number(cells, ROW_LOWER_QUARTILE_SECONDS, result->q1);
    put_number(cells, ROW_UPPER_QUARTILE_SECONDS, result->q3);
    put_number(cells, ROW_MINIMUM_SECONDS, result->min);
    put_number(cells, ROW_EVENT_SECONDS_PER_STEP, result->event_seconds);
    put_number(cells, ROW_COMPUTE_LIMIT_SECONDS, result->limit_seconds.compute);
    put_number(cells, ROW_MEMORY_LIMIT_SECONDS, result->limit_seconds.memory);
    put_number(cells, ROW_LATENCY_LIMIT_SECONDS, result->limit_seconds.latency);
    put_number(cells, ROW_COPIES_LIMIT_SECONDS, result->limit_seconds.copies);
    put_number(cells, ROW_BYTES_PER_STEP, result->bytes_per_step);
    put_number(cells, ROW_SHARE_OF_LIMIT, result->share_of_limit);
    put(cells, ROW_BOUND, "%s", result->bound);
}

/* Where the first epoch that reached the target lies. */
static void put_target(struct cells *cells, const struct point *point, const struct result *result)
{
    double train, loading;
    int epoch = result_target(result, point->target, point->copies != CNN_COPIES_NONE, &train, &loading);
    if (point->target <= 0)
        return;
    put_setting(cells, ROW_TARGET_ACCURACY, (float)point->target);
    if (epoch == 0)
        return;
    put_count(cells, ROW_EPOCHS_TO_TARGET, epoch);
    put_number(cells, ROW_SECONDS_TO_TARGET, train);
    put_number(cells, ROW_SECONDS_TO_TARGET_WITH_LOADING, train + loading);
}

static void put_accuracy(struct cells *cells, const struct point *point, const struct result *result)
{
    double loading = result->data_seconds;
    for (int e = 0; e < result->epochs; e++)
        loading += result->epoch[e].load_seconds;
    put_number(cells, ROW_LOADING_SECONDS, loading);
    put_target(cells, point, result);
    put_number(cells, ROW_SECONDS_PER_EPOCH, result->median);
    if (result->train_images > 0)
        put_number(cells, ROW_IMAGES_PER_SECOND, (double)result->train_images / result->median);
    put_number(cells, ROW_PIXEL_MEAN, result->pixel_mean);
    put_number(cells, ROW_PIXEL_DEVIATION, result->pixel_deviation);
    put_count(cells, ROW_TRAIN_IMAGES, result->train_images);
    put_count(cells, ROW_TEST_IMAGES, result->test_images);
    put_count(cells, ROW_EPOCHS, result->epochs);
    if (result->epochs > 0) {
        const struct epoch_result *last = &result->epoch[result->epochs - 1];
        put_number(cells, ROW_TRAIN_LOSS, last->train_loss);
        put_number(cells, ROW_TRAIN_ACCURACY, last->train_accuracy);
        put_number(cells, ROW_TEST_LOSS, last->test_loss);
        put_number(cells, ROW_TEST_ACCURACY, last->test_accuracy);
    }
}

/* What a point took beside its steps: seconds outside every clock of a sample, bytes, power. */
static void put_costs(struct cells *cells, const struct result *result)
{
    put_number(cells, ROW_COPY_SECONDS_PER_STEP, result->copy_seconds);
    put_number(cells, ROW_PROCESS_SECONDS, result->process_seconds);
    put_number(cells, ROW_STARTUP_SECONDS, result->startup_seconds);
    put_number(cells, ROW_SETUP_SECONDS, result->setup_seconds);
    put_number(cells, ROW_COMPILE_SECONDS, result->compile_seconds);
    put_number(cells, ROW_VERIFY_SECONDS, result->verify_seconds);
    put_number(cells, ROW_WARMUP_SECONDS, result->warmup_seconds);
    put_number(cells, ROW_CLOCK_MHZ_LOW, result->clock_mhz_low);
    put_number(cells, ROW_CLOCK_MHZ_HIGH, result->clock_mhz_high);
    put(cells, ROW_THROTTLED, "%s", result->throttled);
    put_number(cells, ROW_POWER_WATTS, result->power_watts);
    put_number(cells, ROW_ENERGY_JOULE_PER_IMAGE, result->energy_per_image);
    put_count(cells, ROW_PLANNED_BYTES, result->plan_bytes);
    put_count(cells, ROW_PEAK_BYTES, result->peak_bytes);
    put_count(cells, ROW_PEAK_DEVICE_BYTES, result->peak_device_bytes);
}

/* Times and accuracies are those of a point that came to its end; of one that broke off, epochs.csv has the epochs. */
static void put_result(struct cells *cells, const struct point *point, const struct result *result)
{
    put(cells, ROW_STATUS, "%s", cnn_status_word(result->status));
    put(cells, ROW_REASON, "%s", result->reason);
    put_count(cells, ROW_THREADS, result->threads);
    put(cells, ROW_ISA, "%s", *result->isa ? result->isa : point->isa);
    put(cells, ROW_DEVICE, "%s", result->device);
    if (result->parameters_checksum)
        put(cells, ROW_PARAMETERS_CHECKSUM, "%016" PRIx64, result->parameters_checksum);
    put_count(cells, ROW_SAMPLES, result->samples);
    put_count(cells, ROW_STEPS_PER_SAMPLE, result->steps_per_sample);
    put(cells, ROW_STOP, "%s", result->stop);
    put_number(cells, ROW_USEFUL_FLOP_PER_STEP, result->flops_useful);
    put_number(cells, ROW_EXECUTED_FLOP_PER_STEP, result->flops_executed);
    if (result->choices) {
        free(cells->text[ROW_CHOICES]);
        put(cells, ROW_CHOICES, "%s", result->choices);
    }
    put_number(cells, ROW_VERIFIED_ERROR_OVER_BOUND, result->verified_error);
    put(cells, ROW_VERIFIED_BY, "%s", result->verified_by);
    put_costs(cells, result);
    bool measured = result->status == CNN_OK || result->status == CNN_UNSTABLE;
    if (measured && point->phase == POINT_ACCURACY)
        put_accuracy(cells, point, result);
    else if (measured)
        put_times(cells, point, result);
}

void row_print_cell(FILE *out, const char *text)
{
    if (!text)
        return;
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* NULL without memory. */
static char *print_line(const char *const *cells)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (int column = 0; column < ROW_COLUMN_COUNT; column++) {
        if (column > 0)
            fputc(',', out);
        row_print_cell(out, cells[column]);
    }
    fputc('\n', out);
    if (ferror(out) | fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

char *rows_header_text(void)
{
    const char *names[ROW_COLUMN_COUNT];
    for (int column = 0; column < ROW_COLUMN_COUNT; column++)
        names[column] = row_column_name((enum row_column)column);
    return print_line(names);
}

char *rows_row_text(const struct row_context *context, const struct point *point, const struct cnn_network *network,
                    const struct result *result)
{
    struct cells cells = { { NULL }, false };
    put(&cells, ROW_STUDY, "%s", context->study);
    put(&cells, ROW_MACHINE, "%s", context->machine);
    put(&cells, ROW_BUILD, "%s", context->build);
    put(&cells, ROW_STARTED, "%s", context->started);
    put(&cells, ROW_SOURCES_HASH, "%s", context->sources ? context->sources : "");
    put(&cells, ROW_SCHEMA, "%d", ROWS_SCHEMA);
    put_network(&cells, point, network);
    put_point(&cells, point);
    put_result(&cells, point, result);
    char *text = cells.failed ? NULL : print_line((const char *const *)cells.text);
    for (int column = 0; column < ROW_COLUMN_COUNT; column++)
        free(cells.text[column]);
    return text;
}
