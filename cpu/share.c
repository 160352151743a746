/* SPDX-License-Identifier: MIT */
/* Tensors that live at different times share memory: while training goes back, deltas lie where deltas and outputs of
 * higher layers were; forward alone needs little more than two layers at a time. An inspectable program keeps all
 * apart, and so does a guarded one, whose canaries stand between tensors.
 *
 * Tensors without a halo lie in one common stretch, the largest first, each at the lowest offset that no tensor holds
 * during its life. A halo must stay zero, so a tensor with one lies alone or with others of exactly its geometry, whose
 * halos are the same floats. Offsets depend on network, batch and algorithms alone. */
#include "cpu/program.h"

#include <stdlib.h>

#define ALIGN_FLOATS 16
#define FOREVER (1 << 30)

/* The place of a job in a training step; -1: it touches no tensor between layers. */
static int time_of(const struct cnn_program *p, int job)
{
    enum cnn_operation_kind kind = p->jobs[job].kernel->kind;
    if (kind == CNN_OP_UPDATE)
        return -1;
    return kind < CNN_OP_LOSS ? job : kind == CNN_OP_LOSS ? p->job_count : p->job_count + 1 + job;
}

static bool is_backward_data(enum cnn_operation_kind kind)
{
    return kind >= CNN_OP_CONV_BACKWARD_DATA && kind <= CNN_OP_AVGPOOL_BACKWARD;
}

static void touch(struct cpu_share *share, int time)
{
    if (!share->tensor)
        return;
    share->birth = time < share->birth ? time : share->birth;
    share->death = time > share->death ? time : share->death;
}

/* [2 l] is the output of layer l, [2 l + 1] its delta, the last the input gradient. */
static struct cpu_share *share_of(struct cnn_program *p, int layer, bool delta)
{
    return layer < 0 ? &p->shares[2 * p->network->layer_count] : &p->shares[2 * layer + delta];
}

/* As kernel.h says what an operation touches. */
static void find_lives(struct cnn_program *p)
{
    int last = p->network->layer_count - 1;
    for (int i = 0; i < p->job_count; i++) {
        int time = time_of(p, i), l = (int)(p->jobs[i].layer - p->network->layers);
        enum cnn_operation_kind kind = p->jobs[i].kernel->kind;
        if (time < 0)
            continue;
        if (l > 0)
            touch(share_of(p, l - 1, false), time);
        if (kind <= CNN_OP_LOSS)
            touch(share_of(p, l, false), time);
        if (kind >= CNN_OP_LOSS)
            touch(share_of(p, l, true), time);
        if (is_backward_data(kind))
            touch(share_of(p, l - 1, true), time);
        if (p->jobs[i].pool) { /* the pooling's, at the convolution's time */
            touch(share_of(p, l, false), time);
            touch(share_of(p, l + 1, kind >= CNN_OP_LOSS), time);
        }
    }
    touch(share_of(p, last, false), FOREVER); /* fetched */
    touch(share_of(p, -1, true), FOREVER);
}

/* Whether some operation of training reads the delta of this layer. */
static bool has_delta(const struct cnn_program *p, int layer)
{
    if (!(p->options.phases & CNN_PHASE_TRAIN))
        return false;
    if (layer == p->network->layer_count - 1)
        return true;
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].layer == &p->network->layers[layer] && !p->jobs[i].pool &&
            p->jobs[i].kernel->kind >= CNN_OP_CONV_BACKWARD_DATA &&
            p->jobs[i].kernel->kind <= CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS)
            return true;
    return false;
}

static void enter(struct cnn_program *p, struct cpu_share *share, struct cpu_tensor *tensor, struct cnn_shape shape,
                  int halo, const char *name, int layer)
{
    int64_t size = cpu_tensor_shape(tensor, shape, p->lanes, halo, p->max_blocks);
    *share = (struct cpu_share){ tensor, size, -1, FOREVER, -1, name, layer };
    if (size < 0)
        p->memory.overflow = true;
}

static void enter_all(struct cnn_program *p)
{
    const struct cnn_network *net = p->network;
    for (int l = 0; l < net->layer_count; l++) {
        enter(p, share_of(p, l, false), &p->outputs[l], net->layers[l].out, cpu_output_halo(p, l), "output of layer",
              l);
        if (has_delta(p, l))
            enter(p, share_of(p, l, true), &p->deltas[l], net->layers[l].out, cpu_delta_halo(p, l), "delta of layer",
                  l);
        else
            *share_of(p, l, true) = (struct cpu_share){ .tensor = NULL };
    }
    *share_of(p, -1, true) = (struct cpu_share){ .tensor = NULL };
    if (net->spec.input_gradient && (p->options.phases & CNN_PHASE_TRAIN))
        enter(p, share_of(p, -1, true), &p->input_gradient, net->input, 0, "input gradient", -1);
}

static bool live_together(const struct cpu_share *a, const struct cpu_share *b)
{
    return a->birth <= b->death && b->birth <= a->death;
}

static void place_alone(struct cnn_program *p, struct cpu_share *share)
{
    cpu_tensor_place(share->tensor, cpu_carve(&p->memory, CPU_ACTIVATIONS, share->size, share->name, share->layer));
}

/* ---- tensors with a halo ---- */

static bool same_geometry(const struct cpu_tensor *a, const struct cpu_tensor *b)
{
    return a->halo == b->halo && a->maps == b->maps && a->rows == b->rows && a->cols == b->cols;
}

/* `at` is the number of the tensor whose place it takes, here its own. */
static bool is_home(const struct cpu_share *shares, int i)
{
    return shares[i].at == i;
}

static bool fits_home(const struct cpu_share *shares, int count, int home, int guest)
{
    if (!same_geometry(shares[home].tensor, shares[guest].tensor))
        return false;
    for (int i = home; i < count; i++)
        if (shares[i].tensor && shares[i].tensor->halo > 0 && shares[i].at == home &&
            live_together(&shares[i], &shares[guest]))
            return false;
    return true;
}

static void place_haloed(struct cnn_program *p, int count)
{
    struct cpu_share *shares = p->shares;
    for (int i = 0; i < count; i++) {
        if (!shares[i].tensor || shares[i].tensor->halo == 0)
            continue;
        int home = 0;
        while (home < i && !(shares[home].tensor && shares[home].tensor->halo > 0 && is_home(shares, home) &&
                             fits_home(shares, i, home, i)))
            home++;
        shares[i].at = home;
        if (home == i)
            place_alone(p, &shares[i]);
        else
            shares[i].tensor->data = shares[home].tensor->data;
    }
}

/* ---- tensors without one ---- */

static int by_size(const void *a, const void *b)
{
    const struct cpu_share *x = *(const struct cpu_share *const *)a, *y = *(const struct cpu_share *const *)b;
    return x->size != y->size ? (x->size < y->size ? 1 : -1) : x < y ? -1 : x > y;
}

/* The lowest offset that is free during its life; `placed` is in order of offsets. */
static int64_t lowest_offset(const struct cpu_share *share, struct cpu_share *const *placed, int count)
{
    int64_t at = 0;
    for (int i = 0; i < count; i++) {
        if (!live_together(share, placed[i]))
            continue;
        if (placed[i]->at >= at + share->size)
            break;
        int64_t end = placed[i]->at + placed[i]->size;
        at = end > at ? (end + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS : at;
    }
    return at;
}

static void insert_placed(struct cpu_share **placed, int count, struct cpu_share *share)
{
    int at = count;
    for (; at > 0 && placed[at - 1]->at > share->at; at--)
        placed[at] = placed[at - 1];
    placed[at] = share;
}

static void place_common(struct cnn_program *p, int count)
{
    struct cpu_share **order = p->share_order, **placed = p->share_order + count;
    int members = 0;
    int64_t size = 0;
    for (int i = 0; i < count; i++)
        if (p->shares[i].tensor && p->shares[i].tensor->halo == 0)
            order[members++] = &p->shares[i];
    qsort(order, (size_t)members, sizeof *order, by_size);
    for (int i = 0; i < members; i++) {
        order[i]->at = lowest_offset(order[i], placed, i);
        insert_placed(placed, i, order[i]);
        int64_t end = order[i]->at + order[i]->size;
        size = end > size ? end : size;
    }
    float *common = cpu_carve(&p->memory, CPU_ACTIVATIONS, size, "tensors that share", -1);
    for (int i = 0; i < members; i++)
        cpu_tensor_place(order[i]->tensor, common ? common + order[i]->at : NULL);
}

void cpu_carve_shared(struct cnn_program *p)
{
    int count = 2 * p->network->layer_count + 1;
    enter_all(p);
    if (p->memory.overflow)
        return;
    find_lives(p);
    if (!p->options.inspectable && !p->options.guarded) {
        place_haloed(p, count);
        place_common(p, count);
        return;
    }
    for (int i = 0; i < count; i++)
        if (p->shares[i].tensor)
            place_alone(p, &p->shares[i]);
}
