/* SPDX-License-Identifier: MIT */
/* How a run was measured, as a paper would say it, from record, study and rows. What the record does not know is left
 * out. */
#include "experiments/driver/page_parts.h"

#include <stdlib.h>
#include <string.h>

/* "machine.cpu.model" */
static const cJSON *item_at(const cJSON *record, const char *path)
{
    char name[64];
    while (record && *path) {
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        record = cJSON_GetObjectItemCaseSensitive(record, name);
        path += length + (path[length] == '.');
    }
    return record;
}

static const char *text_at(const cJSON *record, const char *path)
{
    const char *text = cJSON_GetStringValue(item_at(record, path));
    return text ? text : "";
}

static double number_at(const cJSON *record, const char *path)
{
    const cJSON *item = item_at(record, path);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* "A, B and C": the distinct cells of a column, of rows that were measured. */
static void print_distinct(FILE *out, const struct chart_run *run, enum row_column column, const char *none)
{
    const char *seen[16];
    int count = 0;
    for (int i = 0; i < run->rows.count && count < 16; i++) {
        const char *cell = run->rows.list[i].cell[column];
        bool known = !*cell || !chart_has_number(&run->rows.list[i]);
        for (int k = 0; k < count; k++)
            known = known || !strcmp(seen[k], cell);
        if (!known)
            seen[count++] = cell;
    }
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", seen[i]);
    if (count == 0)
        fputs(none, out);
}

static void print_machine(FILE *out, const struct chart_run *run, const cJSON *record)
{
    double cores = number_at(record, "machine.cpu.physical_cores"),
           cpus = number_at(record, "machine.cpu.logical_cpus");
    double memory = number_at(record, "machine.memory.total_bytes");
    const cJSON *cache = NULL;
    fputs("Measured on ", out);
    print_distinct(out, run, ROW_MACHINE, "a machine");
    if (*text_at(record, "machine.cpu.model"))
        fprintf(out, ": %s", text_at(record, "machine.cpu.model"));
    if (cpus > 0)
        fprintf(out, ", %g logical CPUs", cpus);
    const char *note = text_at(record, "machine.cpu.topology_note");
    if (cores > 0)
        fprintf(out, " (%g cores, %s)", cores, *note ? note : "as the system tells");
    if (cJSON_IsTrue(item_at(record, "machine.cpu.virtual")))
        fputs(", a virtual machine", out);
    cJSON_ArrayForEach(cache, item_at(record, "machine.cpu.caches"))
    {
        fprintf(out, ", %s %g KiB", text_at(cache, "name"), number_at(cache, "bytes") / 1024);
    }
    if (memory > 0)
        fprintf(out, ", %.3g GiB of memory", memory / 1073741824);
    fputs("; devices: ", out);
    print_distinct(out, run, ROW_DEVICE, "none");
    if (*text_at(record, "machine.system.distribution"))
        fprintf(out, "; %s, %s %s", text_at(record, "machine.system.distribution"),
                text_at(record, "machine.system.name"), text_at(record, "machine.system.release"));
    fputs(". ", out);
}

static void print_build(FILE *out, const struct chart_run *run, const cJSON *record)
{
    const char *flags = text_at(record, "build.flags");
    fprintf(out, "convscale %s (", text_at(record, "build.version"));
    print_distinct(out, run, ROW_BUILD, "unknown commit");
    fprintf(out, "), compiled by %s %s at -O%s%s%s. ", text_at(record, "build.compiler"),
            text_at(record, "build.compiler_version"), text_at(record, "build.optimization"), *flags ? " with " : "",
            flags);
}

/* --order and --budget change it; records of old runs leave it to the study. */
static const char *order_text(const struct chart_run *run, const cJSON *record)
{
    const char *word = text_at(record, "run.order");
    if (!strcmp(word, "cheap first"))
        return "the cheapest first";
    bool random = *word ? !strcmp(word, "random") : run->study.shuffled;
    return random ? "in random order drawn from the seed" : "in the study's order";
}

static void print_points(FILE *out, const struct chart_run *run, const cJSON *record)
{
    const cJSON *count = NULL;
    const char *gap = "";
    fprintf(out, "%d points ran from %s to %s, %s, each in a process of its own: ", run->rows.count,
            text_at(record, "run.started"), text_at(record, "run.ended"), order_text(run, record));
    cJSON_ArrayForEach(count, item_at(record, "run.rows"))
    {
        fprintf(out, "%s%g %s", gap, count->valuedouble, count->string);
        gap = ", ";
    }
    fprintf(out, "%s; seed %s. ", *gap ? "" : "their status is in the rows", text_at(record, "run.seed"));
}

/* What the gate compared, of the rows that say so: losses where labels go in, gradients where it trains. */
static void print_gate(FILE *out, const struct chart_run *run)
{
    int measured = 0, verified = 0, losses = 0, gradients = 0, unseen = 0, stand_ins = 0;
    for (int i = 0; i < run->rows.count; i++) {
        const struct row *row = &run->rows.list[i];
        const char *by = row->cell[ROW_VERIFIED_BY], *phase = row->cell[ROW_PHASE];
        bool trains = !strcmp(phase, "train") || !strcmp(phase, "accuracy");
        measured += chart_has_number(row);
        if (!chart_has_number(row) || !*by)
            continue;
        bool skipped = trains && strstr(row->cell[ROW_REASON], "gradients were not checked");
        verified++;
        losses += strcmp(phase, "classify") != 0;
        gradients += trains && !skipped;
        unseen += skipped;
        stand_ins += strstr(by, "naive") != NULL;
    }
    if (verified == 0)
        return;
    if (verified == measured)
        fputs("Before its clock started, every timed point's outputs", out);
    else
        fprintf(out, "Before their clocks started, the outputs of %d of %d timed points", verified, measured);
    fprintf(out, "%s%s were compared with an oracle in double precision",
            losses == 0      ? ""
            : gradients == 0 ? " and loss"
                             : ", loss and gradients",
            (losses == 0 || losses == verified) && (gradients == 0 || gradients == verified)
                ? ""
                : ", where its phase has them,");
    if (stand_ins)
        fprintf(out, "; for the gradients of %d plain loops stood in", stand_ins);
    if (unseen)
        fprintf(out, "; the gradients of %d were not checked", unseen);
    fputs(". ", out);
}

static void print_protocol(FILE *out, const struct chart_run *run)
{
    const struct study_measure *measure = &run->study.measure;
    print_gate(out, run);
    if (run->has_study)
        fprintf(
            out,
            "After %g s of warm-up of the measured path, samples of at least %g s were taken until the nonparametric "
            "95 %% interval of their median lay within %g %% to either side, %d samples at least, or %g s had passed. ",
            measure->warmup, measure->min_time, 100 * measure->interval, measure->min_samples, measure->max_time);
    fputs("Times are wall time, medians, of one step over a batch; precision ", out);
    print_distinct(out, run, ROW_PRECISION, "fp32");
    fputs("; copies inside the clock: ", out);
    print_distinct(out, run, ROW_COPIES, "none");
    fputs("; launch: ", out);
    print_distinct(out, run, ROW_LAUNCH, "stream");
    fputs(". ", out);
}

/* Options on the command line may change what the study's text says. */
static void print_command(FILE *out, const cJSON *record)
{
    const cJSON *word = NULL;
    fputs("The command was", out);
    cJSON_ArrayForEach(word, item_at(record, "run.command"))
    {
        const char *text = word->valuestring ? word->valuestring : "";
        fprintf(out, strchr(text, ' ') ? " '%s'" : " %s", text);
    }
    fputs(".", out);
}

char *page_setup_text(const struct chart_run *run, const cJSON *record)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    print_machine(out, run, record);
    if (record)
        print_build(out, run, record);
    if (record)
        print_points(out, run, record);
    print_protocol(out, run);
    if (item_at(record, "run.command"))
        print_command(out, record);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
