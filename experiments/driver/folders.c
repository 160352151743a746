/* SPDX-License-Identifier: MIT */
#include "experiments/driver/folders.h"
#include "experiments/driver/analysis.h"
#include "experiments/driver/ceilings.h"
#include "experiments/driver/outputs.h"
#include "experiments/driver/page.h"

static int failed(const struct cnn_error *error)
{
    fprintf(stderr, "convscale: %s\n", error->text);
    return EXIT_POINTS_FAILED;
}

/* Asked for by name, so that missing charts are a failure. */
int folders_plot(const struct options *options)
{
    int code = EXIT_FINE;
    for (int i = 0; i < options->arguments.count; i++)
        if (!outputs_make(options->arguments.list[i], &options->style, NULL, options->quiet ? NULL : stderr, true))
            code = EXIT_POINTS_FAILED;
    return code;
}

int folders_report(const struct options *options, const char *results)
{
    struct cnn_error error;
    int code = folders_plot(options);
    if (page_write_all(options->arguments.list, options->arguments.count, results, &error))
        return failed(&error);
    if (!options->quiet)
        fprintf(stderr, "%s/index.html\n", results);
    return code;
}

int folders_analyse(const struct options *options)
{
    struct cnn_error error;
    int code = EXIT_FINE;
    for (int i = 0; i < options->arguments.count; i++) {
        printf("%s%s\n", i ? "\n" : "", options->arguments.list[i]);
        if (analysis_write(options->arguments.list[i], stdout, &error))
            code = failed(&error);
    }
    return code;
}

int folders_ceilings(const struct options *options, const char *results)
{
    struct ceilings ceilings = { 0 };
    struct cnn_error error;
    int code = EXIT_FINE;
    if (ceilings_measure(&ceilings, options->quiet ? NULL : stderr, &error) ||
        ceilings_keep(&ceilings, results, &error))
        code = failed(&error);
    else
        ceilings_print(stdout, &ceilings, options->format == FORMAT_JSON);
    ceilings_free(&ceilings);
    return code;
}
