/* SPDX-License-Identifier: MIT */
/* --explain and --profile, as the command line asks for them. */
#include "experiments/driver/inspect.h"
#include "experiments/driver/report.h"

int inspect_point(const struct options *options, enum format format, const struct point *points, int count)
{
    struct cnn_error error = { CNN_OK, "" };
    if (count != 1) {
        fprintf(stderr, "convscale: %d points are meant, expected one; say more of it: AXIS=VALUE, series=ID\n", count);
        return EXIT_USAGE;
    }
    int status = options->action == ACTION_EXPLAIN ? explain_point(stdout, points, format, report_columns(), &error)
                                                   : profile_point(points, options->quiet ? NULL : stderr, &error);
    if (status)
        fprintf(stderr, "convscale: %s\n", error.text);
    return status ? EXIT_POINTS_FAILED : EXIT_FINE;
}
