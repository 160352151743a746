/* SPDX-License-Identifier: MIT */
/* A program at work: batches in, steps, answers out. */
#include "cpu/naive.h"
#include "cpu/program.h"
#include "lib/loss.h"

#include <string.h>

/* One map of one block: images side by side, lanes without an image zero. */
static int64_t load_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return (int64_t)batch->blocks * job->x.maps;
}

static void load_maps(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct cpu_tensor *t = &job->x;
    const float *images = job->bias; /* the host's, [count][maps][rows][cols] */
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i / t->maps, map = i % t->maps;
        for (int row = 0; row < t->rows; row++)
            for (int lane = 0; lane < t->lanes; lane++) {
                int64_t image = block * t->lanes + lane;
                float *to = cpu_at(t, block, (int)map, row, 0) + lane;
                const float *from = images + ((image * t->maps + map) * t->rows + row) * t->cols;
                for (int col = 0; col < t->cols; col++)
                    to[(int64_t)col * t->lanes] = image < batch->count ? from[col] : 0;
            }
    }
}

static int check_labels(const struct cnn_program *p, const int32_t *labels, int count, struct cnn_error *error)
{
    for (int i = 0; i < count; i++)
        if (labels[i] < 0 || labels[i] >= p->network->label_count)
            return cnn_error_set(error, CNN_INVALID, "label %d of the batch is %d, expected 0 to %d", i, labels[i],
                                 p->network->label_count - 1);
    return CNN_OK;
}

static int blocks_of(const struct cnn_program *p, int count)
{
    return (count + p->lanes - 1) / p->lanes;
}

int cpu_load(struct cnn_program *p, int slot, const float *images, const int32_t *labels, int count,
             struct cnn_error *error)
{
    if (slot < 0 || slot >= p->options.slots || count < 1 || count > p->options.batch)
        return cnn_error_set(error, CNN_INVALID, "slot %d, %d images: the program has %d slots of 1 to %d images", slot,
                             count, p->options.slots, p->options.batch);
    if (labels && check_labels(p, labels, count, error))
        return CNN_INVALID;
    struct cpu_job job = { .x = p->slots[slot], .bias = images };
    struct cpu_step step = { &job, { load_tiles, load_maps }, true };
    struct cpu_batch batch = { .count = count, .blocks = blocks_of(p, count) };
    p->device->run(p->threads, &step, 1, &batch);
    p->labelled[slot] = labels != NULL;
    if (labels)
        memcpy(p->labels + (int64_t)slot * p->options.batch, labels, (size_t)count * sizeof *labels);
    p->counts[slot] = count;
    return CNN_OK;
}

/* The slots loaded from 0 on. */
static int loaded_slots(const struct cnn_program *p)
{
    int slots = 0;
    while (slots < p->options.slots && p->counts[slots])
        slots++;
    return slots;
}

static void use_slot(struct cnn_program *p, int slot)
{
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].layer == &p->network->layers[0])
            p->jobs[i].x.data = p->slots[slot].data;
}

static struct cpu_batch batch_of(struct cnn_program *p, int slot, bool labels, bool train)
{
    return (struct cpu_batch){ .count = p->counts[slot],
                               .blocks = blocks_of(p, p->counts[slot]),
                               .labels = labels ? p->labels + (int64_t)slot * p->options.batch : NULL,
                               .losses = p->losses,
                               .predicted = p->predicted,
                               .train = train,
                               .rates = p->rates };
}

/* Images in index order, so that the sum does not depend on threads. */
static void tally(struct cnn_program *p, const struct cpu_batch *batch)
{
    for (int i = 0; batch->labels && i < batch->count; i++) {
        p->loss_sum += batch->losses[i];
        p->correct += p->predicted[i] == batch->labels[i];
    }
    if (batch->labels)
        p->images += batch->count;
}

/* A vector per image: outputs or their gradient, between canonical order and the layout. */
static void copy_outputs(const struct cpu_tensor *t, int count, float *values, bool to_tensor)
{
    for (int image = 0; image < count; image++)
        for (int map = 0; map < t->maps; map++)
            for (int row = 0; row < t->rows; row++)
                for (int col = 0; col < t->cols; col++, values++) {
                    float *at = cpu_pixel(t, image, map, row, col);
                    if (to_tensor)
                        *at = *values;
                    else
                        *values = *at;
                }
}

/* copies = paper: the outputs come to the host, which computes loss and gradient and sends the gradient back. The
 * kernel has already turned the gradient by the outputs into the delta by their slope; the host's differs by that
 * factor. */
void cpu_paper_exchange(struct cnn_program *p, const struct cpu_batch *batch)
{
    const struct cpu_tensor *y = &p->outputs[p->network->layer_count - 1],
                            *dy = &p->deltas[p->network->layer_count - 1];
    enum cnn_activation activation = p->network->layers[p->network->layer_count - 1].activation;
    copy_outputs(y, batch->count, p->host_outputs, false);
    cnn_loss_host(p->network, p->host_outputs, batch->labels, batch->count, p->host_gradient);
    int64_t size = (int64_t)batch->count * p->network->classes;
    for (int64_t i = 0; i < size; i++)
        p->host_gradient[i] *= naive_slope(activation, p->host_outputs[i]);
    copy_outputs(dy, batch->count, p->host_gradient, true);
}

int cpu_step_check(const struct cnn_program *p, enum cnn_phase phase, int slots, struct cnn_error *error)
{
    if (!(p->options.phases & phase))
        return cnn_error_set(error, CNN_INVALID, "this phase was not compiled into the program");
    if (!slots)
        return cnn_error_set(error, CNN_INVALID, "no batch is loaded in slot 0");
    for (int slot = 0; phase != CNN_PHASE_CLASSIFY && slot < slots; slot++)
        if (!p->labelled[slot])
            return cnn_error_set(error, CNN_INVALID, "the batch in slot %d was loaded without labels", slot);
    return CNN_OK;
}

void cpu_paper_finish(struct cnn_program *p, const struct cpu_batch *batch)
{
    if (p->host_input_gradient)
        copy_outputs(&p->input_gradient, batch->count, p->host_input_gradient, false);
}

static void train_step(struct cnn_program *p, const struct cpu_batch *batch)
{
    if (p->options.copies != CNN_COPIES_PAPER) {
        p->device->run(p->threads, p->steps, p->forward_count + p->backward_count, batch);
        return;
    }
    p->device->run(p->threads, p->steps, p->forward_count, batch);
    cpu_paper_exchange(p, batch);
    p->device->run(p->threads, p->steps + p->backward_at, p->backward_count, batch);
    cpu_paper_finish(p, batch);
}

struct cpu_batch cpu_step_begin(struct cnn_program *p, enum cnn_phase phase, int slot)
{
    use_slot(p, slot);
    return batch_of(p, slot, phase != CNN_PHASE_CLASSIFY, phase == CNN_PHASE_TRAIN);
}

void cpu_step_end(struct cnn_program *p, const struct cpu_batch *batch, int slot)
{
    tally(p, batch);
    p->last_slot = slot;
    p->last_count = batch->count;
}

static int run_phase(struct cnn_program *p, enum cnn_phase phase, int steps, struct cnn_error *error)
{
    int slots = loaded_slots(p);
    if (cpu_step_check(p, phase, slots, error))
        return CNN_INVALID;
    for (int i = 0; i < steps; i++) {
        int slot = i % slots;
        struct cpu_batch batch = cpu_step_begin(p, phase, slot);
        if (phase == CNN_PHASE_TRAIN)
            train_step(p, &batch);
        else
            p->device->run(p->threads, p->steps, p->forward_count, &batch);
        cpu_step_end(p, &batch, slot);
    }
    return CNN_OK;
}

int cpu_train(struct cnn_program *p, int steps, struct cnn_error *error)
{
    return run_phase(p, CNN_PHASE_TRAIN, steps, error);
}

int cpu_classify(struct cnn_program *p, int steps, struct cnn_error *error)
{
    return run_phase(p, CNN_PHASE_CLASSIFY, steps, error);
}

int cpu_evaluate(struct cnn_program *p, int steps, struct cnn_error *error)
{
    return run_phase(p, CNN_PHASE_EVALUATE, steps, error);
}

int cpu_fetch(struct cnn_program *p, struct cnn_answer *answer, struct cnn_error *error)
{
    if (p->last_slot < 0 && (answer->labels || answer->outputs))
        return cnn_error_set(error, CNN_INVALID, "no labels or outputs to fetch: no step has run");
    answer->loss_sum = p->loss_sum;
    answer->correct = p->correct;
    answer->images = p->images;
    p->loss_sum = 0;
    p->correct = p->images = 0;
    if (answer->labels)
        memcpy(answer->labels, p->predicted, (size_t)p->last_count * sizeof *answer->labels);
    if (answer->outputs)
        copy_outputs(&p->outputs[p->network->layer_count - 1], p->last_count, answer->outputs, false);
    return CNN_OK;
}

int cpu_sync(struct cnn_program *p, struct cnn_error *error)
{
    const struct cpu_region *broken = cpu_memory_check(&p->memory);
    if (broken)
        return cnn_error_set(error, CNN_ERROR, "written beyond its end or before its begin: %s", broken->name);
    return CNN_OK;
}
