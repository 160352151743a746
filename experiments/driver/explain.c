/* SPDX-License-Identifier: MIT */
/* --explain: a point's step as the list of operations it is lowered to, and which kernel does each. What runs is asked
 * of the compiled program itself: one step of it is taken apart. */
#include "experiments/driver/backends.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/grid.h"
#include "experiments/driver/inspect.h"
#include "experiments/driver/layers.h"
#include "experiments/driver/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE_TEXT 48

/* A point's program and what it does. */
struct explained {
    struct bench bench;
    struct cnn_operations *operations;
    struct cnn_profile_entry *entry;
    int entries;
};

/* "6x28x28", or how many where it is a list of parameters. */
static void shape_text(const struct explained *it, int tensor, char out[SHAPE_TEXT])
{
    *out = '\0';
    if (tensor < 0)
        return;
    const struct cnn_tensor *of = &it->operations->tensors[tensor];
    if (of->fixed > 0)
        snprintf(out, SHAPE_TEXT, "%" PRId64, of->fixed);
    else if (of->shape.maps > 0)
        snprintf(out, SHAPE_TEXT, "%dx%dx%d", of->shape.maps, of->shape.rows, of->shape.cols);
    else
        snprintf(out, SHAPE_TEXT, "%" PRId64, of->per_image);
}

static const struct cnn_profile_entry *entry_of(const struct explained *it, const struct cnn_operation *operation)
{
    for (int i = 0; i < it->entries; i++)
        if (it->entry[i].kind == operation->kind && (operation->layer < 0 || it->entry[i].layer == operation->layer))
            return &it->entry[i];
    return NULL;
}

static bool is_copy(enum cnn_operation_kind kind)
{
    return kind == CNN_OP_COPY_IN || kind == CNN_OP_COPY_OUT;
}

/* Operations of the phase; resident batches are not copied in a step. */
static bool is_in_step(const struct explained *it, const struct cnn_operation *operation)
{
    return (operation->phases & bench_phase(&it->bench)) &&
           !(is_copy(operation->kind) && it->bench.options.copies == CNN_COPIES_NONE);
}

static const char *layer_name(const struct explained *it, const struct cnn_operation *operation)
{
    return operation->layer < 0 ? "" : it->bench.network->layers[operation->layer].name;
}

/* The cells of one operation, in the order of the heads. */
enum {
    CELL_OPERATION,
    CELL_LAYER,
    CELL_IN,
    CELL_OUT,
    CELL_USEFUL,
    CELL_EXECUTED,
    CELL_BYTES,
    CELL_ALGORITHM,
    CELL_FILE,
    CELL_COUNT
};

static const char *const heads[CELL_COUNT] = { "operation",     "layer", "reads",     "writes", "useful_flop",
                                               "executed_flop", "bytes", "algorithm", "kernel" };

static void fill_cells(const struct explained *it, const struct cnn_operation *operation,
                       char cell[CELL_COUNT][SHAPE_TEXT + 16])
{
    const struct cnn_profile_entry *entry = entry_of(it, operation);
    int64_t batch = it->bench.point->batch;
    memset(cell, 0, CELL_COUNT * sizeof *cell);
    snprintf(cell[CELL_OPERATION], sizeof *cell, "%s", cnn_operation_kind_name(operation->kind));
    snprintf(cell[CELL_LAYER], sizeof *cell, "%s", layer_name(it, operation));
    shape_text(it, operation->reads[0], cell[CELL_IN]);
    shape_text(it, operation->writes[0], cell[CELL_OUT]);
    if (operation->flops > 0)
        snprintf(cell[CELL_USEFUL], sizeof *cell, "%" PRId64, operation->flops * batch);
    if (entry && entry->flops_executed > 0)
        snprintf(cell[CELL_EXECUTED], sizeof *cell, "%" PRId64, entry->flops_executed);
    snprintf(cell[CELL_BYTES], sizeof *cell, "%" PRId64, operation->bytes_per_image * batch + operation->bytes_fixed);
    snprintf(cell[CELL_ALGORITHM], sizeof *cell, "%s",
             is_copy(operation->kind) ? "copy"
             : !entry                 ? "fused"
             : *entry->algorithm      ? entry->algorithm
                                      : "any");
    snprintf(cell[CELL_FILE], sizeof *cell, "%s", entry ? entry->file : "");
}

static bool print_table(FILE *out, const struct explained *it, int columns)
{
    char title[256], cell[CELL_COUNT][SHAPE_TEXT + 16];
    struct grid *grid = grid_create(CELL_COUNT, 2);
    for (int i = 0; i < CELL_COUNT; i++) {
        snprintf(title, sizeof title, "%s", heads[i]);
        if (strchr(title, '_'))
            *strchr(title, '_') = ' ';
        grid_head(grid, i, title, i >= CELL_USEFUL && i <= CELL_BYTES);
    }
    for (int i = 0; i < it->operations->count; i++) {
        if (!is_in_step(it, &it->operations->list[i]))
            continue;
        fill_cells(it, &it->operations->list[i], cell);
        grid_row(grid);
        for (int c = 0; c < CELL_COUNT; c++)
            grid_cell(grid, c, "%s", cell[c]);
    }
    point_title(it->bench.point, title, sizeof title);
    text_wrap(out, title, columns, 0);
    fputc('\n', out);
    bool fine = grid_print(grid, out, GRID_UNBROKEN);
    fputc('\n', out);
    text_wrap(
        out,
        "FLOPs and bytes are of the whole batch, every tensor once; shapes are of one image, a single number counts "
        "parameters. fused: done by another operation's kernel. any: every algorithm has this kernel.",
        columns, 0);
    grid_free(grid);
    return fine;
}

static void print_csv(FILE *out, const struct explained *it)
{
    char cell[CELL_COUNT][SHAPE_TEXT + 16];
    for (int c = 0; c < CELL_COUNT; c++)
        fprintf(out, "%s%s", heads[c], c + 1 < CELL_COUNT ? "," : "\n");
    for (int i = 0; i < it->operations->count; i++) {
        if (!is_in_step(it, &it->operations->list[i]))
            continue;
        fill_cells(it, &it->operations->list[i], cell);
        for (int c = 0; c < CELL_COUNT; c++) {
            row_print_cell(out, cell[c]);
            fputc(c + 1 < CELL_COUNT ? ',' : '\n', out);
        }
    }
}

/* Compiles, runs one step and keeps what ran. */
static int take_apart(struct explained *it, struct result *result, struct cnn_error *error)
{
    struct bench *bench = &it->bench;
    if (bench_open(bench, result, error) || cnn_operations_create(&it->operations, bench->network, error))
        return error->status;
    int capacity = it->operations->count;
    const int32_t *labels = bench_phase(bench) == CNN_PHASE_CLASSIFY ? NULL : batches_labels(&bench->batches, 0);
    it->entry = calloc((size_t)capacity, sizeof *it->entry);
    if (!it->entry)
        return cnn_error_set(error, CNN_OOM, "no memory for %d operations", capacity);
    if (bench->backend->write_parameters(bench->program, bench->parameters, error) ||
        bench->backend->load(bench->program, 0, batches_images(&bench->batches, 0), labels, bench->point->batch,
                             error) ||
        bench->backend->profile(bench->program, bench_phase(bench), clock_seconds, it->entry, capacity, &it->entries,
                                error))
        return error->status;
    it->entries = it->entries < capacity ? it->entries : capacity;
    return CNN_OK;
}

int explain_point(FILE *out, const struct point *point, enum format format, int columns, struct cnn_error *error)
{
    struct result result;
    struct explained it = { .bench = { .point = point } };
    if (point->phase == POINT_ACCURACY)
        return cnn_error_set(error, CNN_INVALID, "--explain: accuracy is no step: choose train, classify or evaluate");
    if (!(it.bench.backend = backend_find(point->backend, error)))
        return error->status;
    result_init(&result);
    int status = take_apart(&it, &result, error);
    bool fine = true;
    if (!status && format == FORMAT_CSV)
        print_csv(out, &it);
    else if (!status)
        fine = print_table(out, &it, columns);
    if (!fine || ferror(out))
        status = cnn_error_set(error, CNN_ERROR, "--explain: stdout cannot be written");
    cnn_operations_destroy(it.operations);
    free(it.entry);
    bench_close(&it.bench);
    result_free(&result);
    return status;
}
