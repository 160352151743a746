/* SPDX-License-Identifier: MIT */
/* The folder of one run and its three growing files. Samples and epochs go to disk before the row that sums them up, so
 * that a row's presence means that all of its point is there. */
#include "experiments/driver/rows.h"
#include "experiments/driver/durable.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_TEXT 1024
#define SUFFIX_MAX 1000

enum { FILE_ROWS, FILE_SAMPLES, FILE_EPOCHS, FILE_LAYERS, FILE_COUNT };

static const char *const file_names[FILE_COUNT] = { "rows.csv", "samples.csv", "epochs.csv", "layers.csv" };

struct rows_writer {
    char parent[PATH_TEXT]; /* ROOT/<machine>/<study> */
    char folder[PATH_TEXT];
    char path[FILE_COUNT][PATH_TEXT + 16];
    int file[FILE_COUNT];
    int64_t count; /* rows written */
};

const char rows_samples_header[] =
    "row,series,network,width,depth,image,batch,phase,sample,seconds_per_step,event_seconds_per_step\n";
const char rows_epochs_header[] = "row,series,network,width,depth,image,batch,epoch,train_loss,train_accuracy,"
                                  "test_loss,test_accuracy,train_seconds,test_seconds,load_seconds,"
                                  "images_per_second\n";
const char rows_layers_header[] =
    "row,series,network,width,depth,image,batch,phase,operation,layer,name,algorithm,file,"
    "seconds,share,useful_flop,executed_flop,bytes,sum_seconds,step_seconds,"
    "remainder_seconds\n";

/* A folder of this second's name that nobody else has. */
static int make_folder(struct rows_writer *writer, struct cnn_error *error)
{
    char stamp[32];
    struct tm parts;
    time_t now = time(NULL);
    gmtime_r(&now, &parts);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
    if (durable_folders(writer->parent, error))
        return error->status;
    for (int i = 1; i <= SUFFIX_MAX; i++) {
        char suffix[16] = "";
        if (i > 1)
            snprintf(suffix, sizeof suffix, "-%d", i);
        if (snprintf(writer->folder, sizeof writer->folder, "%s/%s%s", writer->parent, stamp, suffix) >=
            (int)sizeof writer->folder)
            return cnn_error_set(error, CNN_ERROR, "%s: this path is too long for results", writer->parent);
        if (mkdir(writer->folder, 0777) == 0)
            return CNN_OK;
        if (errno != EEXIST)
            break;
    }
    return cnn_error_set(error, CNN_ERROR, "%s: this folder cannot be made: %s; give a folder you may write with --out",
                         writer->folder, strerror(errno));
}

/* A second process that adds to the same run would mix its rows with ours. */
static int lock(const struct rows_writer *writer, struct cnn_error *error)
{
    if (flock(writer->file[FILE_ROWS], LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return cnn_error_set(error, CNN_INVALID, "%s: another process is writing this run", writer->path[FILE_ROWS]);
    return CNN_OK; /* some file systems know no locks */
}

/* Opens the file and gives it its header where it has none. */
static int open_file(struct rows_writer *writer, int file, const char *header, struct cnn_error *error)
{
    struct stat there;
    const char *path = writer->path[file];
    if (writer->file[file] < 0)
        writer->file[file] = durable_open(path, error);
    if (writer->file[file] < 0)
        return CNN_ERROR;
    if (fstat(writer->file[file], &there))
        return cnn_error_set(error, CNN_ERROR, "%s: cannot be read: %s", path, strerror(errno));
    return there.st_size > 0 ? CNN_OK : durable_append(writer->file[file], path, header, strlen(header), error);
}

/* Takes the run's folder over, as it is. */
static int open_files(struct rows_writer *writer, struct cnn_error *error)
{
    char *header = rows_header_text();
    if (!header)
        return cnn_error_set(error, CNN_OOM, "rows: no memory for the header");
    const char *headers[FILE_LAYERS] = { header, rows_samples_header, rows_epochs_header };
    for (int i = 0; i < FILE_COUNT; i++)
        snprintf(writer->path[i], sizeof writer->path[i], "%s/%s", writer->folder, file_names[i]);
    int status = CNN_ERROR;
    writer->file[FILE_ROWS] = durable_open(writer->path[FILE_ROWS], error);
    if (writer->file[FILE_ROWS] >= 0)
        status = lock(writer, error);
    if (status == CNN_OK)
        status = rows_mend(writer->folder, &writer->count, error);
    for (int i = 0; status == CNN_OK && i < FILE_LAYERS; i++)
        status = open_file(writer, i, headers[i], error);
    free(header);
    return status;
}

static struct rows_writer *writer_create(struct cnn_error *error)
{
    struct rows_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        cnn_error_set(error, CNN_OOM, "rows: no memory for their writer");
    for (int i = 0; writer && i < FILE_COUNT; i++)
        writer->file[i] = -1;
    return writer;
}

/* Hands the writer over, or closes it. */
static int writer_done(struct rows_writer *writer, int status, struct rows_writer **out)
{
    if (status == CNN_OK)
        *out = writer;
    else
        rows_close(writer, NULL);
    return status;
}

int rows_open(struct rows_writer **out, const char *root, const char *machine, const char *study,
              struct cnn_error *error)
{
    struct rows_writer *writer = writer_create(error);
    if (!writer)
        return error->status;
    int status = CNN_OK;
    if (snprintf(writer->parent, sizeof writer->parent, "%s/%s/%s", root, machine, study) >= (int)sizeof writer->parent)
        status = cnn_error_set(error, CNN_ERROR, "%s: this path is too long for results", root);
    if (status == CNN_OK)
        status = make_folder(writer, error);
    if (status == CNN_OK)
        status = open_files(writer, error);
    return writer_done(writer, status, out);
}

int rows_reopen(struct rows_writer **out, const char *folder, struct cnn_error *error)
{
    struct rows_writer *writer = writer_create(error);
    if (!writer)
        return error->status;
    char *real = realpath(folder, NULL); /* `latest` is a link, and what it points at may change */
    int status = CNN_OK;
    if (!real)
        status = cnn_error_set(error, CNN_ERROR, "%s: this run cannot be opened: %s", folder, strerror(errno));
    else if (snprintf(writer->folder, sizeof writer->folder, "%s", real) >= (int)sizeof writer->folder)
        status = cnn_error_set(error, CNN_ERROR, "%s: this path is too long for results", real);
    if (status == CNN_OK) {
        snprintf(writer->parent, sizeof writer->parent, "%.*s", (int)(strrchr(real, '/') - real), real);
        status = open_files(writer, error);
    }
    free(real);
    return writer_done(writer, status, out);
}

const char *rows_folder(const struct rows_writer *writer)
{
    return writer->folder;
}

/* What samples and epochs have in common with their row. */
static void print_place(FILE *out, const struct rows_writer *writer, const struct point *point)
{
    fprintf(out, "%" PRId64 ",%s,%s,%d,%d,%d,%d", writer->count + 1, point->series, point->spec.name, point->spec.width,
            point->spec.depth, point->spec.image, point->batch);
}

static void print_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, ",%.9g", value);
    else
        fputc(',', out);
}

static void print_samples(FILE *out, const struct rows_writer *writer, const struct point *point,
                          const struct result *result)
{
    for (int i = 0; result->sample && i < result->samples; i++) {
        print_place(out, writer, point);
        fprintf(out, ",%s,%d", point_phase_name(point->phase), i + 1);
        print_number(out, result->sample[i]);
        print_number(out, result->event ? result->event[i] : NAN);
        fputc('\n', out);
    }
}

static void print_epochs(FILE *out, const struct rows_writer *writer, const struct point *point,
                         const struct result *result)
{
    for (int e = 0; result->epoch && e < result->epochs; e++) {
        const struct epoch_result *epoch = &result->epoch[e];
        double images = result->train_images > 0 ? (double)result->train_images : NAN;
        const double numbers[] = { epoch->train_loss,    epoch->train_accuracy,        epoch->test_loss,
                                   epoch->test_accuracy, epoch->train_seconds,         epoch->test_seconds,
                                   epoch->load_seconds,  images / epoch->train_seconds };
        print_place(out, writer, point);
        fprintf(out, ",%d", epoch->epoch);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            print_number(out, numbers[i]);
        fputc('\n', out);
    }
}

/* Each operation with its share of their sum, and what of the whole step, as it was timed, the sum leaves: less than
 * nothing where waiting for every operation takes longer than running them in a row. */
static void print_layers(FILE *out, const struct rows_writer *writer, const struct point *point,
                         const struct result *result)
{
    double sum = result_operations_sum(result);
    for (int i = 0; i < result->operations; i++) {
        const struct operation_result *of = &result->operation[i];
        print_place(out, writer, point);
        fprintf(out, ",%s,%s,%d,", point_phase_name(point->phase), of->operation, of->layer);
        row_print_cell(out, of->name);
        fprintf(out, ",%s,%s", of->algorithm, of->file);
        const double numbers[] = { of->seconds, of->seconds / sum, of->flops_useful,    of->flops_executed, of->bytes,
                                   sum,         result->median,    result->median - sum };
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
            print_number(out, numbers[n]);
        fputc('\n', out);
    }
}

typedef void (*line_printer)(FILE *out, const struct rows_writer *writer, const struct point *point,
                             const struct result *result);

/* What `print` prints goes to the file in one write; nothing is written where it prints nothing. */
static int append_lines(struct rows_writer *writer, int file, line_printer print, const struct point *point,
                        const struct result *result, struct cnn_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int status = CNN_OK;
    if (out)
        print(out, writer, point, result);
    if (!out || ferror(out) | fclose(out))
        status = cnn_error_set(error, CNN_OOM, "%s: no memory for its lines", writer->path[file]);
    else if (size > 0)
        status = durable_append(writer->file[file], writer->path[file], text, size, error);
    free(text);
    return status;
}

int rows_append(struct rows_writer *writer, const struct row_context *context, const struct point *point,
                const struct cnn_network *network, const struct result *result, struct cnn_error *error)
{
    if (append_lines(writer, FILE_SAMPLES, print_samples, point, result, error) ||
        append_lines(writer, FILE_EPOCHS, print_epochs, point, result, error))
        return error->status;
    if (result->operations > 0 && (open_file(writer, FILE_LAYERS, rows_layers_header, error) || /* with the first */
                                   append_lines(writer, FILE_LAYERS, print_layers, point, result, error)))
        return error->status;
    char *row = rows_row_text(context, point, network, result);
    if (!row)
        return cnn_error_set(error, CNN_OOM, "%s: no memory for a row", writer->path[FILE_ROWS]);
    int status = durable_append(writer->file[FILE_ROWS], writer->path[FILE_ROWS], row, strlen(row), error);
    free(row);
    if (status == CNN_OK)
        writer->count++;
    return status;
}

int rows_write_file(struct rows_writer *writer, const char *name, const char *text, size_t size,
                    struct cnn_error *error)
{
    char path[PATH_TEXT + 64];
    snprintf(path, sizeof path, "%s/%s", writer->folder, name);
    return durable_replace(path, text, size, error);
}

int rows_point_latest(struct rows_writer *writer, struct cnn_error *error)
{
    char link[PATH_TEXT + 16];
    snprintf(link, sizeof link, "%s/latest", writer->parent);
    return durable_link(strrchr(writer->folder, '/') + 1, link, error);
}

int rows_close(struct rows_writer *writer, struct cnn_error *error)
{
    int status = CNN_OK;
    for (int i = 0; writer && i < FILE_COUNT; i++)
        if (writer->file[i] >= 0 && close(writer->file[i]))
            status = cnn_error_set(error, CNN_ERROR, "%s: cannot be closed: %s", writer->path[i], strerror(errno));
    free(writer);
    return status;
}
