/* SPDX-License-Identifier: MIT */
/* One case on one target, some programs: an inspectable one whose every tensor is compared, an ordinary one (which may
 * fuse and overwrite as it likes) that must train to the same parameters within bounds and to the same bits each time,
 * one that only classifies, and in some cases one of mixed algorithms; where there are tensor cores, one in tf32. */
#include "lib/parameters.h"
#include "lib/random.h"
#include "tests/checker/run.h"

#include <stdlib.h>
#include <string.h>

/* One step on batch `b` with everything that can be known of it. */
static bool train(struct run *run, int b, bool inspectable)
{
    struct cnn_error error = { 0 };
    const struct check_oracle *oracle = run_oracle(run, b, true);
    return oracle && run_load(run, 0, b, true) &&
           run_worked(run, run->target->backend->train(run->program, 1, &error), "train", &error) &&
           run_synchronised(run, "training") && (!inspectable || run_inspect_all(run, oracle->reference, b)) &&
           run_fetch(run, oracle, "training", b, true) && run_check_update(run, oracle->reference);
}

static bool classify(struct run *run, int b, bool labelled)
{
    struct cnn_error error = { 0 };
    const struct check_oracle *oracle = run_oracle(run, b, false);
    return oracle && run_load(run, 0, b, labelled) &&
           run_worked(run, run->target->backend->classify(run->program, 1, &error), "classify", &error) &&
           run_synchronised(run, "classification") && run_fetch(run, oracle, "classification", b, false);
}

static bool evaluate(struct run *run, int b)
{
    struct cnn_error error = { 0 };
    const struct check_oracle *oracle = run_oracle(run, b, false);
    return oracle && run_load(run, 0, b, true) &&
           run_worked(run, run->target->backend->evaluate(run->program, 1, &error), "evaluate", &error) &&
           run_synchronised(run, "evaluation") && run_fetch(run, oracle, "evaluation", b, true);
}

/* CHECK_UNSUPPORTED where the backend says that this cannot be done; a plan must say the same. */
static enum check_verdict compile(struct run *run, struct cnn_program_options options)
{
    static int told;
    const struct check_target *target = run->target;
    struct cnn_error error = { 0 }, plan_error = { 0 };
    struct cnn_plan plan = { 0 };
    options.batch = run->material->c.batch;
    options.algorithm = target->algorithm;
    options.isa = target->isa;
    int planned = target->backend->plan(target->device, run->material->network, &options, &plan, &plan_error);
    int status = target->backend->compile(&run->program, target->device, run->material->network, &options, &error);
    if (planned != status) {
        check_fail(run->report, "plan says %s (%s), compile says %s (%s)", cnn_status_word((enum cnn_status)planned),
                   plan_error.text, cnn_status_word((enum cnn_status)status), error.text);
        return CHECK_FAILED;
    }
    if (status == CNN_UNAVAILABLE && !told++) /* not here: said aloud, once */
        printf("left out: %s\n", error.text);
    if ((status == CNN_INVALID || status == CNN_UNAVAILABLE) && error.text[0])
        return CHECK_UNSUPPORTED;
    if (!run_worked(run, status, "compile", &error))
        return CHECK_FAILED;
    int64_t sum = plan.parameters + plan.gradients + plan.activations + plan.workspace + plan.batches;
    if (plan.total == sum && plan.parameters >= 4 * run->material->network->parameters)
        return CHECK_PASSED;
    check_fail(run->report, "plan: %lld bytes in all, %lld of parameters; the classes add up to %lld",
               (long long)plan.total, (long long)plan.parameters, (long long)sum);
    return CHECK_FAILED;
}

static bool inspectable_program(struct run *run)
{
    if (!run_write_parameters(run, true))
        return false;
    if (run->material->c.data != CHECK_NAN)
        for (int b = 0; b < CHECK_BATCHES; b++)
            if (!train(run, b, true))
                return false;
    return classify(run, 1, true) && evaluate(run, 0) && evaluate(run, 1) && classify(run, 0, false);
}

/* The bits after both steps must be those of everybody in the group who did the same. */
static bool same_as_others(struct run *run)
{
    const struct check_target *target = run->target;
    struct check_material *material = run->material;
    uint64_t checksum = cnn_checksum_floats(run->before.data, material->network->parameters);
    const char *isa = target->isa ? target->isa : "";
    for (int i = 0; i < material->record_count; i++) {
        struct check_record *record = &material->records[i];
        if (strcmp(record->group, target->group) != 0 || strcmp(record->algorithm, target->algorithm) != 0 ||
            strcmp(record->isa, isa) != 0)
            continue;
        return record->checksum == checksum ||
               check_fail(run->report,
                          "parameters after two steps: checksum %016llx, but another run of group %s had "
                          "%016llx",
                          (unsigned long long)checksum, target->group, (unsigned long long)record->checksum);
    }
    if (material->record_count < (int)(sizeof material->records / sizeof *material->records)) {
        struct check_record *record = &material->records[material->record_count++];
        *record = (struct check_record){ .group = target->group, .algorithm = target->algorithm, .checksum = checksum };
        snprintf(record->isa, sizeof record->isa, "%s", isa);
    }
    return true;
}

/* Both batches resident: steps rotate from slot 0 on, and two steps in one call give the bits of two calls. */
static bool rotate_training(struct run *run)
{
    struct cnn_error error = { 0 };
    struct check_material *material = run->material;
    size_t bytes = (size_t)material->network->parameters * sizeof(float);
    float *once = malloc(bytes);
    if (!once)
        return check_fail(run->report, "checker: no memory for parameters");
    memcpy(once, run->before.data, bytes);
    bool right = run_write_parameters(run, true) && run_load(run, 0, 0, true) && run_load(run, 1, 1, true) &&
                 run_worked(run, run->target->backend->train(run->program, 2, &error), "train", &error) &&
                 run_synchronised(run, "two steps") && run_read_parameters(run, &run->before) &&
                 (!memcmp(once, run->before.data, bytes) ||
                  check_fail(run->report, "two steps in one call gave other parameters than two calls"));
    free(once);
    return right;
}

/* Slots 0, 1, 0: sums over all three, labels of the last. */
static bool rotate_evaluation(struct run *run)
{
    struct cnn_error error = { 0 };
    struct check_material *material = run->material;
    const struct cnn_backend *backend = run->target->backend;
    struct cnn_answer stale = { 0 }, answer = { .labels = NULL, .outputs = run->outputs.data };
    if (!evaluate(run, 1) || !evaluate(run, 0) || !run_load(run, 1, 1, true) ||
        !run_worked(run, backend->fetch(run->program, &stale, &error), "fetch", &error) ||
        !run_worked(run, backend->evaluate(run->program, 3, &error), "evaluate", &error))
        return false;
    check_buffer_reset(&run->outputs, (int64_t)material->c.counts[0] * material->network->classes);
    if (!run_worked(run, backend->fetch(run->program, &answer, &error), "fetch", &error) ||
        !run_synchronised(run, "fetch"))
        return false;
    int64_t images = 2 * material->c.counts[0] + material->c.counts[1];
    int64_t correct = 2 * run->correct[0] + run->correct[1];
    if (stale.images != 0 || answer.images != images || answer.correct != correct)
        return check_fail(run->report,
                          "three evaluations over two slots: %lld correct of %lld images (%lld left over before), "
                          "expected %lld of %lld",
                          (long long)answer.correct, (long long)answer.images, (long long)stale.images,
                          (long long)correct, (long long)images);
    const struct check_oracle *first = run_oracle(run, 0, false), *second = run_oracle(run, 1, false);
    if (!first || !second)
        return false;
    double bound = 2 * cnn_reference_loss_bound(first->reference) + cnn_reference_loss_bound(second->reference);
    int last = material->network->layer_count - 1;
    return check_number(run->report, "loss over rotating slots", answer.loss_sum, 2 * first->loss + second->loss,
                        bound) &&
           run_intact(run, &run->outputs, "fetch") &&
           check_values(run->report, "outputs of slot 0", material->network->layers[last].out, run->outputs.data,
                        cnn_reference_output(first->reference, last),
                        cnn_reference_output_bound(first->reference, last), material->c.counts[0],
                        material->c.data == CHECK_NAN);
}

static bool ordinary_program(struct run *run)
{
    if (!run_write_parameters(run, true))
        return false;
    if (run->material->c.data == CHECK_NAN)
        return rotate_evaluation(run);
    for (int b = 0; b < CHECK_BATCHES; b++)
        if (!train(run, b, false))
            return false;
    return same_as_others(run) && rotate_evaluation(run) && rotate_training(run);
}

static bool classifying_program(struct run *run)
{
    return run_write_parameters(run, false) && classify(run, 1, false) && classify(run, 0, false);
}

static enum check_verdict run_program(const struct check_target *target, struct check_material *material,
                                      struct check_report *report, const struct cnn_program_options *options,
                                      bool (*body)(struct run *run))
{
    struct run run = { .target = target, .material = material, .report = report, .precision = options->precision };
    enum check_verdict verdict = run_start(&run) ? compile(&run, *options) : CHECK_FAILED;
    if (verdict == CHECK_PASSED && !body(&run))
        verdict = CHECK_FAILED;
    run_finish(&run);
    return verdict;
}

/* For every kind of operation with kernels, one of the backend's algorithms. */
static int draw_choices(const struct check_target *target, int mix, struct cnn_choice choices[CNN_OPERATION_KIND_COUNT])
{
    struct cnn_random random;
    const char *const *names = target->backend->algorithms();
    uint32_t algorithms = 0;
    int count = 0;
    while (names[algorithms])
        algorithms++;
    cnn_random_init(&random, (uint64_t)mix, CNN_STREAM_TEST, 2000000);
    for (int kind = CNN_OP_CONV_FORWARD; kind <= CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS; kind++)
        choices[count++] = (struct cnn_choice){ .kind = (enum cnn_operation_kind)kind,
                                                .layer = -1,
                                                .algorithm = names[cnn_random_below(&random, algorithms)] };
    return count;
}

/* Algorithms chosen operation by operation. A combination may be refused. */
static enum check_verdict run_mixed(const struct check_target *target, struct check_material *material,
                                    struct check_report *report)
{
    struct cnn_choice choices[CNN_OPERATION_KIND_COUNT];
    struct cnn_program_options options = { .slots = 1, .phases = CNN_PHASE_ALL, .momentum = true };
    options.inspectable = options.guarded = true;
    options.choices = choices;
    options.choice_count = draw_choices(target, material->c.mix, choices);
    enum check_verdict verdict = run_program(target, material, report, &options, inspectable_program);
    return verdict == CHECK_UNSUPPORTED ? CHECK_PASSED : verdict;
}

/* Whether a rounding can send a whole delta elsewhere: what follows from that goes together, so no bound holds that
 * adds up squares. In fp32 it is rare enough; in tf32 one network in a thousand has it. */
static bool has_corners(const struct cnn_network *network)
{
    for (int i = 0; i < network->layer_count; i++)
        if (network->layers[i].kind == CNN_MAXPOOL || network->layers[i].activation == CNN_RELU)
            return true;
    return false;
}

/* Tensor cores, where the backend has them. */
static enum check_verdict run_tf32(const struct check_target *target, struct check_material *material,
                                   struct check_report *report)
{
    struct cnn_program_options options = { .slots = 1, .phases = CNN_PHASE_ALL, .momentum = true };
    options.inspectable = options.guarded = true;
    options.precision = CNN_TF32;
    enum check_verdict verdict = run_program(target, material, report, &options, inspectable_program);
    return verdict == CHECK_UNSUPPORTED ? CHECK_PASSED : verdict;
}

static enum check_verdict named(enum check_verdict verdict, const char *program, struct check_report *report)
{
    if (verdict == CHECK_FAILED) {
        char text[sizeof report->text];
        snprintf(text, sizeof text, "%s", report->text);
        snprintf(report->text, sizeof report->text, "%s program: %.1900s", program, text);
    }
    return verdict;
}

enum check_verdict check_run(const struct check_target *target, struct check_material *material,
                             struct check_report *report)
{
    const struct cnn_program_options options[3] = {
        { .slots = 1, .phases = CNN_PHASE_ALL, .momentum = true, .inspectable = true, .guarded = true },
        { .slots = 2,
          .phases = CNN_PHASE_ALL,
          .momentum = material->c.rates.momentum > 0.0f,
          .copies = material->c.copies },
        { .slots = 1, .phases = CNN_PHASE_CLASSIFY }
    };
    static const char *const names[3] = { "inspectable", "ordinary", "classifying" };
    bool (*const bodies[3])(struct run *) = { inspectable_program, ordinary_program, classifying_program };
    enum check_verdict verdict = CHECK_PASSED;
    for (int i = 0; i < 3 && verdict == CHECK_PASSED; i++)
        verdict = named(run_program(target, material, report, &options[i], bodies[i]), names[i], report);
    if (verdict == CHECK_PASSED && material->c.mix > 0)
        verdict = named(run_mixed(target, material, report), "mixed", report);
    if (verdict == CHECK_PASSED && !has_corners(material->network))
        verdict = named(run_tf32(target, material, report), "tf32", report);
    return verdict;
}
