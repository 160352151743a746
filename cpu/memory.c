/* SPDX-License-Identifier: MIT */
/* The memory of a program: one allocation per class, carved into aligned pieces. In a guarded program each piece stands
 * between canaries. */
#include "cpu/program.h"
#include "lib/checked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN_FLOATS 16 /* a cache line, and the widest vector */
#define CANARY_FLOATS 16
#define CANARY_WORD 0xdeadc0deu
#define SET_FLOATS 1024 /* maps a multiple of 4 KiB apart fall into the same sets of L1 */

static const char *const CLASS_NAMES[CPU_CLASS_COUNT] = { "parameters", "gradients", "activations", "workspace",
                                                          "batches" };

void cpu_memory_begin(struct cpu_memory *memory, bool guarded)
{
    *memory = (struct cpu_memory){ .guarded = guarded };
}

static void add_region(struct cpu_memory *memory, float *data, int64_t size, const char *name, int index)
{
    if (memory->region_count == memory->region_capacity)
        return; /* sizes were added up first, so this is the second carving with a full list */
    struct cpu_region *region = &memory->regions[memory->region_count++];
    *region = (struct cpu_region){ .data = data, .size = size };
    if (index >= 0)
        snprintf(region->name, sizeof region->name, "%s %d", name, index);
    else
        snprintf(region->name, sizeof region->name, "%s", name);
}

static void write_canary(float *at)
{
    for (int i = 0; i < CANARY_FLOATS; i++) {
        uint32_t word = CANARY_WORD;
        memcpy(at + i, &word, sizeof word);
    }
}

static bool canary_intact(const float *at)
{
    for (int i = 0; i < CANARY_FLOATS; i++) {
        uint32_t word;
        memcpy(&word, at + i, sizeof word);
        if (word != CANARY_WORD)
            return false;
    }
    return true;
}

float *cpu_carve(struct cpu_memory *memory, enum cpu_class class, int64_t count, const char *name, int index)
{
    int64_t canary = memory->guarded ? CANARY_FLOATS : 0, at, end;
    if (count < 0 || !cnn_add(memory->size[class], canary, &at) || !cnn_add(at, count + ALIGN_FLOATS - 1, &end) ||
        !cnn_add(end / ALIGN_FLOATS * ALIGN_FLOATS, canary, &memory->size[class])) {
        memory->overflow = true;
        return NULL;
    }
    float *base = memory->base[class];
    if (!base) {
        memory->region_capacity++;
        return NULL;
    }
    if (canary) {
        write_canary(base + at - canary);
        write_canary(base + at + count); /* right behind the last float: padding for alignment follows it */
        add_region(memory, base + at, count, name, index);
    }
    return base + at;
}

int cpu_memory_take(struct cpu_memory *memory, struct cnn_error *error)
{
    if (memory->guarded && !(memory->regions = calloc((size_t)memory->region_capacity, sizeof *memory->regions)))
        return cnn_error_set(error, CNN_OOM, "no memory for the list of guarded tensors");
    for (int class = 0; class < CPU_CLASS_COUNT; class ++) {
        size_t bytes;
        void *piece = NULL;
        if (!memory->size[class])
            continue;
        if (!cnn_bytes(memory->size[class] + CANARY_FLOATS, sizeof(float), &bytes) ||
            posix_memalign(&piece, ALIGN_FLOATS * sizeof(float), bytes))
            return cnn_error_set(error, CNN_OOM, "no memory for %s: %.1f MiB", CLASS_NAMES[class],
                                 (double)memory->size[class] * sizeof(float) / 1048576);
        /* Activations and batches are touched first by the workers that will use them, block by block. */
        if (class == CPU_PARAMETERS || class == CPU_GRADIENTS || class == CPU_WORKSPACE)
            memset(piece, 0, bytes);
        memory->base[class] = piece;
        memory->size[class] = 0; /* the second carving counts it up again */
    }
    return CNN_OK;
}

void cpu_memory_free(struct cpu_memory *memory)
{
    for (int class = 0; class < CPU_CLASS_COUNT; class ++)
        free(memory->base[class]);
    free(memory->regions);
    *memory = (struct cpu_memory){ 0 };
}

const struct cpu_region *cpu_memory_check(const struct cpu_memory *memory)
{
    for (int i = 0; i < memory->region_count; i++) {
        const struct cpu_region *region = &memory->regions[i];
        if (!canary_intact(region->data - CANARY_FLOATS) || !canary_intact(region->data + region->size))
            return region;
    }
    return NULL;
}

int64_t cpu_tensor_shape(struct cpu_tensor *t, struct cnn_shape shape, int lanes, int halo, int blocks)
{
    int64_t rows = (int64_t)shape.rows + halo, cols = (int64_t)shape.cols + halo, behind, total;
    *t =
        (struct cpu_tensor){ .maps = shape.maps, .rows = shape.rows, .cols = shape.cols, .lanes = lanes, .halo = halo };
    if (!cnn_mul(cols, lanes, &t->row) || !cnn_mul(rows, t->row, &t->map))
        return -1;
    if (t->map % SET_FLOATS == 0 && halo > 0)
        t->map += ALIGN_FLOATS;
    if (!cnn_mul(t->row + lanes, halo, &behind) || !cnn_mul(t->map, shape.maps, &t->block) ||
        !cnn_add(t->block, behind, &t->block) || !cnn_mul(t->block, blocks, &total) ||
        !cnn_add(total, CPU_TENSOR_SLACK, &total))
        return -1;
    return total;
}

void cpu_tensor_place(struct cpu_tensor *t, float *memory)
{
    t->data = memory ? memory + (t->row + t->lanes) * t->halo : NULL;
}

void cpu_tensor_poison(const struct cpu_tensor *t, int blocks)
{
    for (int block = 0; block < blocks; block++)
        for (int map = 0; map < t->maps; map++)
            for (int row = 0; row < t->rows; row++) {
                float *at = cpu_at(t, block, map, row, 0);
                for (int i = 0; i < t->cols * t->lanes; i++)
                    at[i] = NAN;
            }
}
