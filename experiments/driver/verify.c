/* SPDX-License-Identifier: MIT */
/* The gate. The batch is filled to its full size with a few distinct images of N(0,1) noise, repeated in seeded order
 * and unequal counts; the oracle runs each distinct image once, weighted by its count. Compared are
 *   outputs   of every image of the batch, within the oracle's bound;
 *   labels    of every image: one that the bounds leave possible;
 *   loss      its sum, within the bound; the number correct, which must be what the program's own labels say;
 *   gradient  (before - after) / rate of every parameter after one step with rate 2^16 and neither momentum nor decay.
 *             The power of two multiplies exactly; the rounding of the new parameter, u |after| / rate, is added to the
 *             oracle's bound.
 * NaN compares as wrong.
 *
 * How much of this the oracle does is settled in verify_extent.c; where it is little, the row says so. */
#include "experiments/driver/verify.h"
#include "experiments/driver/oracle.h"
#include "experiments/driver/standin.h"
#include "lib/loss.h"
#include "lib/random.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATE_RATE 65536.0
#define ROUNDOFF 0x1p-24 /* of fp32 */
#define TINY 0x1p-120    /* what flushed subnormals may lose, well above 2^-126 */

struct gate {
    struct bench *bench;
    enum cnn_phase phase;
    struct verify_extent extent;
    struct oracle_answer oracle;
    double *stand_in;                          /* gradients, then how far they may be off; NULL: nobody stands in */
    struct cnn_error without;                  /* why not */
    float *images, *distinct;                  /* of the batch; of the oracle */
    int32_t *labels, *distinct_labels, *place; /* place[i]: which distinct image stands at i */
    double *counts;
    int32_t *found_labels;
    float *outputs, *after;
    double worst; /* largest |error| / bound */
    struct cnn_error *error;
};

/* Unequal counts that sum up to the batch, each at least 1, then their places in random order. */
static void deal_places(struct gate *gate, struct cnn_random *random)
{
    int batch = gate->bench->options.batch, distinct = gate->extent.distinct;
    for (int i = 0; i < batch; i++)
        gate->place[i] = i < distinct ? i : (int32_t)cnn_random_below(random, (uint32_t)distinct);
    cnn_random_shuffle(random, gate->place, batch);
    for (int i = 0; i < batch; i++)
        gate->counts[gate->place[i]]++;
    bool equal = distinct > 1 && batch > distinct;
    for (int d = 1; d < distinct; d++)
        equal = equal && gate->counts[d] == gate->counts[0];
    for (int i = 0; equal && i < batch; i++)
        if (gate->place[i] == 0) {
            gate->place[i] = 1;
            gate->counts[0]--;
            gate->counts[1]++;
            break;
        }
}

static void draw_images(struct gate *gate)
{
    const struct cnn_network *network = gate->bench->network;
    int64_t size = cnn_shape_size(network->input);
    struct cnn_random random;
    cnn_random_init(&random, network->spec.seed, CNN_STREAM_VERIFY, 0);
    deal_places(gate, &random);
    for (int64_t i = 0; i < gate->extent.distinct * size; i++)
        gate->distinct[i] = (float)cnn_random_normal(&random);
    for (int d = 0; d < gate->extent.distinct; d++)
        gate->distinct_labels[d] = (int32_t)cnn_random_below(&random, (uint32_t)network->label_count);
    for (int i = 0; i < gate->bench->options.batch; i++) {
        memcpy(gate->images + i * size, gate->distinct + gate->place[i] * size, (size_t)size * sizeof(float));
        gate->labels[i] = gate->distinct_labels[gate->place[i]];
    }
}

static int open_gate(struct gate *gate)
{
    const struct cnn_network *network = gate->bench->network;
    size_t batch = (size_t)gate->bench->options.batch, distinct = (size_t)gate->extent.distinct;
    size_t size = (size_t)cnn_shape_size(network->input);
    gate->images = calloc(batch * size, sizeof *gate->images);
    gate->distinct = calloc(distinct * size, sizeof *gate->distinct);
    gate->labels = calloc(batch, sizeof *gate->labels);
    gate->distinct_labels = calloc(distinct, sizeof *gate->distinct_labels);
    gate->place = calloc(batch, sizeof *gate->place);
    gate->counts = calloc(distinct, sizeof *gate->counts);
    gate->found_labels = calloc(batch, sizeof *gate->found_labels);
    gate->outputs = calloc(batch * (size_t)network->classes, sizeof *gate->outputs);
    gate->after = calloc((size_t)network->parameters, sizeof *gate->after);
    if (!gate->images || !gate->distinct || !gate->labels || !gate->distinct_labels || !gate->place || !gate->counts ||
        !gate->found_labels || !gate->outputs || !gate->after)
        return cnn_error_set(gate->error, CNN_OOM, "gate: no memory for its batch of %d images", (int)batch);
    draw_images(gate);
    return CNN_OK;
}

static void close_gate(struct gate *gate)
{
    oracle_free(&gate->oracle);
    free(gate->stand_in);
    free(gate->images);
    free(gate->distinct);
    free(gate->labels);
    free(gate->distinct_labels);
    free(gate->place);
    free(gate->counts);
    free(gate->found_labels);
    free(gate->outputs);
    free(gate->after);
}

static int ask_oracle(struct gate *gate)
{
    const struct oracle_question question = {
        .network = gate->bench->network,
        .parameters = gate->bench->parameters,
        .images = gate->distinct,
        .labels = gate->distinct_labels,
        .counts = gate->counts,
        .distinct = gate->extent.distinct,
        .batch = gate->bench->options.batch,
        .precision = gate->bench->options.precision,
        .gradient = gate->extent.gradient,
    };
    if (oracle_ask(&gate->oracle, &question, gate->bench->point->answers, gate->error))
        return cnn_error_prefix(gate->error, "gate");
    return CNN_OK;
}

/* Whether the program is the stand-in itself, kernel by kernel. */
static bool is_standin(const struct bench *bench)
{
    const struct cnn_program_options *o = &bench->options;
    return !strcmp(bench->backend->name, "cpu") && !strcmp(o->algorithm, "naive") && o->choice_count == 0 &&
           (!o->isa || !*o->isa || !strcmp(o->isa, "scalar"));
}

/* Without it gradients are not checked, which the row says. A stand-in that is itself wrong is a mismatch. */
static int ask_standin(struct gate *gate)
{
    const struct bench *bench = gate->bench;
    int64_t parameters = bench->network->parameters;
    const struct standin_question question = {
        .network = bench->network,
        .parameters = bench->parameters,
        .image = gate->distinct,
        .label = gate->distinct_labels[0],
        .batch = bench->options.batch,
        .precision = bench->options.precision,
        .output = gate->oracle.output,
        .output_bound = gate->oracle.output_bound,
    };
    if (is_standin(bench)) {
        cnn_error_set(&gate->without, CNN_SKIPPED, "these are the loops that stand in for the oracle");
        return CNN_OK;
    }
    gate->stand_in = calloc(2 * (size_t)parameters, sizeof *gate->stand_in);
    if (gate->stand_in && !standin_gradient(&question, gate->stand_in, gate->stand_in + parameters, &gate->without))
        return CNN_OK;
    if (!gate->stand_in)
        cnn_error_set(&gate->without, CNN_OOM, "no memory for a stand-in of the oracle");
    free(gate->stand_in);
    gate->stand_in = NULL;
    return gate->without.status == CNN_MISMATCH ? cnn_error_set(gate->error, CNN_MISMATCH, "%s", gate->without.text)
                                                : CNN_OK;
}

/* False where `found` is not within `bound` of `expected`; the caller then says what it was. NaN and infinity never
 * are. */
static bool within(struct gate *gate, double found, double expected, double bound)
{
    double off = fabs(found - expected);
    if (!isfinite(found) || !(off <= bound))
        return false;
    if (off > gate->worst * bound) /* seldom: a division for each of many is slow */
        gate->worst = off / bound;
    return true;
}

static int mismatch(struct gate *gate, double found, double expected, double bound, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static int mismatch(struct gate *gate, double found, double expected, double bound, const char *format, ...)
{
    char where[160];
    va_list list;
    va_start(list, format);
    vsnprintf(where, sizeof where, format, list);
    va_end(list);
    return cnn_error_set(gate->error, CNN_MISMATCH, "%s: found %.9g, %s has %.9g and allows +-%.3g", where, found,
                         gate->stand_in && gate->phase == CNN_PHASE_TRAIN ? "the stand-in of the oracle" : "the oracle",
                         expected, bound);
}

static const char *phase_word(enum cnn_phase phase)
{
    return phase == CNN_PHASE_TRAIN ? "train" : phase == CNN_PHASE_CLASSIFY ? "classify" : "evaluate";
}

static int compare_outputs(struct gate *gate)
{
    const struct cnn_network *network = gate->bench->network;
    const double *expected = gate->oracle.output, *bound = gate->oracle.output_bound;
    for (int i = 0; i < gate->bench->options.batch; i++)
        for (int c = 0; c < network->classes; c++) {
            int64_t at = (int64_t)gate->place[i] * network->classes + c;
            double found = gate->outputs[(int64_t)i * network->classes + c];
            if (!within(gate, found, expected[at], bound[at]))
                return mismatch(gate, found, expected[at], bound[at], "%s: output %d of image %d in a batch of %d",
                                phase_word(gate->phase), c, i, gate->bench->options.batch);
        }
    return CNN_OK;
}

/* The label of exact outputs, as cnn_answer_label() has it. */
static int32_t exact_label(const struct cnn_network *network, const double *output)
{
    int32_t best = 0;
    if (network->classes == 1) {
        float on, off;
        cnn_loss_targets(network, &on, &off);
        return output[0] >= ((double)on + (double)off) / 2 ? 0 : 1;
    }
    for (int c = 1; c < network->classes; c++)
        best = output[c] > output[best] ? c : best;
    return best;
}

/* Whether `label` can be the answer for outputs that lie within their bounds. */
static bool label_possible(const struct cnn_network *network, int32_t label, const double *output, const double *bound)
{
    if (label < 0 || label >= network->label_count)
        return false;
    if (network->classes == 1) {
        const double nearest = output[0] + (label == 0 ? bound[0] : -bound[0]);
        return label == exact_label(network, &nearest);
    }
    for (int c = 0; c < network->classes; c++)
        if (output[c] - bound[c] > output[label] + bound[label])
            return false;
    return true;
}

static int compare_labels(struct gate *gate)
{
    const struct cnn_network *network = gate->bench->network;
    const double *expected = gate->oracle.output, *bound = gate->oracle.output_bound;
    for (int i = 0; i < gate->bench->options.batch; i++) {
        int64_t at = (int64_t)gate->place[i] * network->classes;
        if (!label_possible(network, gate->found_labels[i], expected + at, bound + at))
            return cnn_error_set(gate->error, CNN_MISMATCH, "%s: image %d in a batch of %d got label %d, the oracle %d",
                                 phase_word(gate->phase), i, gate->bench->options.batch, gate->found_labels[i],
                                 exact_label(network, expected + at));
    }
    return CNN_OK;
}

static int compare_sums(struct gate *gate, const struct cnn_answer *answer)
{
    int batch = gate->bench->options.batch;
    int64_t correct = 0;
    double expected = gate->oracle.loss, bound = gate->oracle.loss_bound;
    for (int i = 0; i < batch; i++)
        correct += gate->found_labels[i] == gate->labels[i];
    if (answer->images != batch || answer->correct != correct)
        return cnn_error_set(
            gate->error, CNN_MISMATCH, "%s: %lld of %lld images were counted correct, their labels say %lld of %d",
            phase_word(gate->phase), (long long)answer->correct, (long long)answer->images, (long long)correct, batch);
    if (!within(gate, answer->loss_sum, expected, bound))
        return mismatch(gate, answer->loss_sum, expected, bound, "%s: sum of the losses of %d images",
                        phase_word(gate->phase), batch);
    return CNN_OK;
}

static const struct cnn_layer *layer_of_parameter(const struct cnn_network *network, int64_t at)
{
    const struct cnn_layer *found = &network->layers[0];
    for (int l = 0; l < network->layer_count; l++)
        if (network->layers[l].weights + network->layers[l].biases > 0 && network->layers[l].weight_at <= at)
            found = &network->layers[l];
    return found;
}

static int compare_gradient(struct gate *gate)
{
    const struct cnn_network *network = gate->bench->network;
    const double *expected = gate->stand_in ? gate->stand_in : gate->oracle.gradient;
    const double *bounds = gate->stand_in ? gate->stand_in + network->parameters : gate->oracle.gradient_bound;
    for (int64_t i = 0; i < network->parameters; i++) {
        double after = gate->after[i], found = (gate->bench->parameters[i] - after) / GATE_RATE;
        double bound = bounds[i] + ROUNDOFF * (2 * fabs(expected[i]) + fabs(after) / GATE_RATE) + TINY;
        if (within(gate, found, expected[i], bound))
            continue;
        const struct cnn_layer *layer = layer_of_parameter(network, i);
        bool bias = i >= layer->bias_at;
        return mismatch(gate, found, expected[i], bound, "train: gradient of %s %lld of layer %s",
                        bias ? "bias" : "weight", (long long)(i - (bias ? layer->bias_at : layer->weight_at)),
                        layer->name);
    }
    return CNN_OK;
}

/* One step of gate->phase on the batch. Sums run from the fetch of the phase before, or from compile(). */
static int run_program(struct gate *gate, struct cnn_answer *answer)
{
    struct bench *bench = gate->bench;
    const struct cnn_backend *backend = bench->backend;
    const struct cnn_rates rates = { .rate = (float)GATE_RATE };
    *answer = (struct cnn_answer){ .labels = gate->found_labels, .outputs = gate->outputs };
    const int32_t *labels = gate->phase == CNN_PHASE_CLASSIFY ? NULL : gate->labels;
    return backend->write_parameters(bench->program, bench->parameters, gate->error) ||
           backend->set_rates(bench->program, &rates, gate->error) ||
           backend->load(bench->program, 0, gate->images, labels, bench->options.batch, gate->error) ||
           bench_run(bench, gate->phase, 1, gate->error) || backend->sync(bench->program, gate->error) ||
           backend->fetch(bench->program, answer, gate->error) ||
           backend->read_parameters(bench->program, gate->after, gate->error);
}

static int check_phase(struct gate *gate)
{
    struct cnn_answer answer;
    if (run_program(gate, &answer)) {
        if (gate->error->status == CNN_INVALID) /* what was compiled must run */
            gate->error->status = CNN_ERROR;
        return cnn_error_prefix(gate->error, "gate");
    }
    if (compare_outputs(gate) || compare_labels(gate))
        return gate->error->status;
    if (gate->phase != CNN_PHASE_CLASSIFY && compare_sums(gate, &answer))
        return gate->error->status;
    if (gate->phase == CNN_PHASE_TRAIN)
        return gate->extent.gradient || gate->stand_in ? compare_gradient(gate) : CNN_OK;
    if (memcmp(gate->after, gate->bench->parameters, (size_t)gate->bench->network->parameters * sizeof(float)) != 0)
        return cnn_error_set(gate->error, CNN_MISMATCH, "%s: parameters changed", phase_word(gate->phase));
    return CNN_OK;
}

static void remark(const struct gate *gate, struct result *result)
{
    const struct cnn_network *network = gate->bench->network;
    bool unchecked = gate->extent.stand_in && !gate->stand_in;
    snprintf(result->verified_by, sizeof result->verified_by, "%s",
             gate->stand_in ? "oracle, naive"
             : unchecked    ? "oracle, outputs alone"
                            : "oracle");
    if (unchecked)
        result_remark(result,
                      "gradients were not checked: the oracle would take about %.0f s for those of one image; %s",
                      verify_oracle_seconds(network, true), gate->without.text);
    if (gate->extent.distinct < VERIFY_DISTINCT_WANTED && gate->extent.distinct < gate->bench->options.batch)
        result_remark(result, "checked with %d distinct image%s: the oracle takes about %.0f s for each",
                      gate->extent.distinct, gate->extent.distinct == 1 ? "" : "s",
                      verify_oracle_seconds(network, gate->extent.gradient));
}

int verify_program(struct bench *bench, struct result *result, struct cnn_error *error)
{
    static const enum cnn_phase phases[] = { CNN_PHASE_EVALUATE, CNN_PHASE_CLASSIFY, CNN_PHASE_TRAIN };
    struct gate gate = {
        .bench = bench,
        .extent = verify_extent(bench->network, bench->options.batch, bench->options.phases & CNN_PHASE_TRAIN),
        .error = error,
    };
    int status = open_gate(&gate);
    if (status == CNN_OK)
        status = ask_oracle(&gate);
    if (status == CNN_OK && gate.extent.stand_in)
        status = ask_standin(&gate);
    for (size_t i = 0; status == CNN_OK && i < sizeof phases / sizeof *phases; i++) {
        gate.phase = phases[i];
        if (bench->options.phases & gate.phase)
            status = check_phase(&gate);
    }
    if (status == CNN_OK) {
        result->verified_error = gate.worst;
        remark(&gate, result);
    }
    close_gate(&gate);
    return status;
}
