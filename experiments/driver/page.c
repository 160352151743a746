/* SPDX-License-Identifier: MIT */
/* From folders to pages. What is said is gathered as data; how it looks is the template's business. */
#include "experiments/driver/analysis.h"
#include "experiments/driver/durable.h"
#include "experiments/driver/latex.h"
#include "experiments/driver/page_parts.h"
#include "experiments/driver/template.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_TEXT 4096

char *page_file_read(const char *folder, const char *name)
{
    char path[PATH_TEXT + 256], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

cJSON *page_record_read(const char *run_folder)
{
    char *text = page_file_read(run_folder, "machine.json");
    cJSON *record = text ? cJSON_Parse(text) : NULL;
    free(text);
    return record;
}

/* ---- parts of a run's page ---- */

/* The comment at the head of the study: what it shows, what is known, what is ours. */
static char *study_words(const struct chart_run *run)
{
    char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);
    for (const char *line = run->study.text ? run->study.text : ""; out && *line == '#';) {
        size_t length = strcspn(line, "\n"), skip = strspn(line, "# ");
        skip = skip < length ? skip : length;
        if (!strstr(line, "SPDX") || strstr(line, "SPDX") > line + length)
            fprintf(out, "%.*s\n", (int)(length - skip), line + skip);
        line += length + (line[length] == '\n');
    }
    return out && fclose(out) == 0 ? words : NULL;
}

/* What explains the figures: the words of the analysis. */
static char *analysis_words(const char *folder)
{
    struct cnn_error ignored;
    char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);
    if (out)
        analysis_write(folder, out, &ignored);
    return out && fclose(out) == 0 ? words : NULL;
}

static void add_text(cJSON *page, const char *name, char *text)
{
    cJSON_AddStringToObject(page, name, text ? text : "");
    free(text);
}

static void add_links(cJSON *page, const char *folder)
{
    static const char *const files[][2] = {
        { "rows.csv", "one row for every point" },
        { "samples.csv", "every sample" },
        { "samples.csv.gz", "every sample" },
        { "epochs.csv", "every epoch of training" },
        { "claims.csv", "verdicts, line by line" },
        { "layers.csv", "time of every operation" },
        { "charts/breakeven.csv", "where series overtake" },
        { "charts/model.csv", "what a step costs" },
        { "charts/scaling.csv", "scaling over threads" },
        { "ceilings.json", "what this machine can do" },
        { "machine.json", "machine, build, command" },
        { "study.cfg", "the study" },
        { "setup.md", "the set-up, in Markdown" },
        { "setup.tex", "the set-up, for LaTeX" },
    };
    cJSON *links = cJSON_AddArrayToObject(page, "links");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_TEXT + 64];
        snprintf(path, sizeof path, "%s/%s", folder, files[i][0]);
        if (access(path, R_OK))
            continue;
        cJSON *link = cJSON_CreateObject();
        cJSON_AddStringToObject(link, "file", files[i][0]);
        cJSON_AddStringToObject(link, "what", files[i][1]);
        cJSON_AddItemToArray(links, link);
    }
}

/* ---- files ---- */

static int write_text(const char *folder, const char *name, const char *text, struct cnn_error *error)
{
    char path[PATH_TEXT + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return durable_replace(path, text, strlen(text), error);
}

/* The set-up in two spellings, to paste. */
static int write_setup(const char *folder, const char *setup, struct cnn_error *error)
{
    size_t length = strlen(setup), size = 16 * length + 2, used = 0;
    char *text = malloc(size);
    if (!text)
        return cnn_error_set(error, CNN_OOM, "report: no memory for the set-up of %s", folder);
    latex_escape(setup, text, size - 1);
    strcat(text, "\n");
    int status = write_text(folder, "setup.tex", text, error);
    for (; *setup; setup++) {
        if (strchr("\\`*_[]<>#", *setup))
            text[used++] = '\\';
        text[used++] = *setup;
    }
    strcpy(text + used, "\n");
    status = status ? status : write_text(folder, "setup.md", text, error);
    free(text);
    return status;
}

static int write_page(const cJSON *page, const char *folder, struct cnn_error *error)
{
    char plots[PATH_TEXT], *html = NULL;
    size_t size = 0;
    if (chart_scripts_find(plots, sizeof plots, error))
        return error->status;
    char *text = page_file_read(plots, "report.html");
    if (!text)
        return cnn_error_set(error, CNN_UNAVAILABLE, "no report: %s/report.html cannot be read: %s", plots,
                             strerror(errno));
    FILE *out = open_memstream(&html, &size);
    int status = out ? template_render(out, text, page, error) : CNN_OOM;
    if (!out || fclose(out))
        status = cnn_error_set(error, CNN_OOM, "report: no memory for the page of %s", folder);
    if (status == CNN_OK)
        status = write_text(folder, "index.html", html, error);
    free(html);
    free(text);
    return status;
}

/* ---- one run ---- */

static int add_verdicts(cJSON *page, const struct claim_findings *all, bool machines, struct cnn_error *error)
{
    struct claim_findings merged = { 0 };
    if (claims_merge(&merged, all, error))
        return error->status;
    cJSON_AddItemToObject(page, "verdicts", page_verdicts(&merged, machines));
    claims_free(&merged);
    return CNN_OK;
}

static void add_heads(cJSON *page, const struct chart_run *run)
{
    const struct row *first = run->rows.count > 0 ? &run->rows.list[0] : NULL;
    char date[16] = "";
    if (first)
        snprintf(date, sizeof date, "%.10s", first->cell[ROW_STARTED]);
    cJSON_AddStringToObject(page, "title",
                            run->has_study ? run->study.title
                            : first        ? first->cell[ROW_STUDY]
                                           : "A run");
    cJSON_AddStringToObject(page, "study", first ? first->cell[ROW_STUDY] : "");
    cJSON_AddStringToObject(page, "machine", first ? first->cell[ROW_MACHINE] : "");
    cJSON_AddStringToObject(page, "date", date);
}

static int fill_page(cJSON *page, const struct chart_run *run, struct cnn_error *error)
{
    struct claim_findings findings;
    cJSON *record = page_record_read(run->folder);
    int number = 0;
    add_heads(page, run);
    add_text(page, "study_words", study_words(run));
    int status = claims_judge(&findings, run->folder, error);
    if (status == CNN_OK)
        status = add_verdicts(page, &findings, false, error);
    claims_free(&findings);
    if (status == CNN_OK)
        status = page_figures(cJSON_AddArrayToObject(page, "figures"), run, NULL, &number, error);
    add_text(page, "analysis", analysis_words(run->folder));
    char *setup = page_setup_text(run, record);
    if (status == CNN_OK)
        status = setup ? write_setup(run->folder, setup, error)
                       : cnn_error_set(error, CNN_OOM, "report: no memory for the set-up of %s", run->folder);
    add_text(page, "setup", setup);
    cJSON_AddItemToObject(page, "audit", page_audit(run, record));
    add_links(page, run->folder);
    cJSON_Delete(record);
    return status;
}

int page_write(const char *run_folder, struct cnn_error *error)
{
    struct chart_run run;
    cJSON *page = cJSON_CreateObject();
    int status = chart_run_open(&run, run_folder, NULL, error);
    if (status == CNN_OK)
        status = fill_page(page, &run, error);
    if (status == CNN_OK)
        status = write_page(page, run_folder, error);
    chart_run_close(&run);
    cJSON_Delete(page);
    return status;
}

/* ---- several ---- */

/* The way from one folder to another, as a page links it. */
static void relative_path(const char *from, const char *to, char *out, size_t size)
{
    char here[PATH_MAX], there[PATH_MAX];
    size_t same = 0, used = 0;
    out[0] = '\0';
    if (!realpath(from, here) || !realpath(to, there)) {
        snprintf(out, size, "%s", to);
        return;
    }
    for (size_t i = 0;; i++) {
        bool ends = (here[i] == '/' || !here[i]) && (there[i] == '/' || !there[i]);
        same = ends ? i : same;
        if (here[i] != there[i] || !here[i])
            break;
    }
    for (const char *at = here + same; *at; at++)
        if (*at == '/' && at[1])
            used += (size_t)snprintf(out + used, used < size ? size - used : 0, "../");
    snprintf(out + used, used < size ? size - used : 0, "%s", there[same] == '/' ? there + same + 1 : ".");
}

static int add_run(cJSON *runs, struct claim_findings *all, const char *folder, const char *out_folder, int *number,
                   struct cnn_error *error)
{
    struct chart_run run;
    struct claim_findings findings;
    char way[PATH_TEXT];
    int status = chart_run_open(&run, folder, NULL, error);
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(runs, item);
    if (status == CNN_OK) {
        relative_path(out_folder, folder, way, sizeof way);
        add_heads(item, &run);
        cJSON_AddNumberToObject(item, "place", cJSON_GetArraySize(runs));
        cJSON_AddStringToObject(item, "folder", way);
        add_text(item, "study_words", study_words(&run));
        cJSON *figures = cJSON_AddArrayToObject(item, "figures");
        status = page_figures(figures, &run, "speedup", number, error);
        if (status == CNN_OK && cJSON_GetArraySize(figures) == 0)
            status = page_figures(figures, &run, "accuracy", number, error);
    }
    if (status == CNN_OK)
        status = claims_judge(&findings, folder, error);
    if (status == CNN_OK) {
        status = claims_append(all, &findings, error);
        claims_free(&findings);
    }
    chart_run_close(&run);
    return status;
}

int page_write_all(const char *const *run_folders, int count, const char *out_folder, struct cnn_error *error)
{
    struct claim_findings all = { 0 };
    cJSON *page = cJSON_CreateObject(), *runs = cJSON_AddArrayToObject(page, "runs");
    int number = 0, status = CNN_OK;
    if (durable_folders(out_folder, error))
        status = error->status;
    cJSON_AddStringToObject(page, "title", "All runs");
    for (int i = 0; i < count && status == CNN_OK; i++)
        status = add_run(runs, &all, run_folders[i], out_folder, &number, error);
    if (status == CNN_OK)
        status = add_verdicts(page, &all, true, error);
    if (status == CNN_OK)
        status = write_page(page, out_folder, error);
    claims_free(&all);
    cJSON_Delete(page);
    return status;
}
