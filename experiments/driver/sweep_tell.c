/* SPDX-License-Identifier: MIT */
/* What a sweep says while it runs: rows on stdout where they are wanted there, notes on stderr. */
#include "experiments/driver/sweep_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sweep_print(struct sweep *sweep, const char *text)
{
    if (!sweep->options->csv_stdout || !text || sweep->out_lost.status != CNN_OK)
        return;
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return;
    if (errno == EPIPE)
        sweep->summary->signal = SIGPIPE;
    cnn_error_set(&sweep->out_lost, CNN_ERROR, "stdout: cannot be written: %s; all rows are in %s", strerror(errno),
                  sweep->summary->rows);
}

void sweep_print_header(struct sweep *sweep)
{
    if (sweep->options->csv_headed)
        return;
    char *header = rows_header_text();
    sweep_print(sweep, header);
    free(header);
}

void sweep_say(struct sweep *sweep, const char *format, ...)
{
    va_list arguments;
    if (sweep->options->quiet)
        return;
    progress_clear(&sweep->progress);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

/* Whether this reason is new. */
static bool remember(struct sweep *sweep, const char *reason)
{
    for (int i = 0; i < sweep->told_count; i++)
        if (strncmp(sweep->told[i], reason, sizeof sweep->told[i] - 1) == 0)
            return false;
    if (sweep->told_count < SWEEP_TOLD_MAX)
        snprintf(sweep->told[sweep->told_count++], sizeof *sweep->told, "%s", reason);
    return true;
}

/* A failure is said as it happens; what this machine lacks, once for all points that lack it; what was skipped, at the
 * end. */
void sweep_note(struct sweep *sweep, const struct point *point, const struct result *result)
{
    char title[512];
    if (result->status == CNN_OK || result->status == CNN_UNSTABLE || result->status == CNN_SKIPPED)
        return;
    point_title(point, title, sizeof title);
    if (result->status != CNN_UNAVAILABLE)
        sweep_say(sweep, "%s: %s: %s", title, cnn_status_word(result->status), result->reason);
    else if (remember(sweep, result->reason))
        sweep_say(sweep, "%s: left out: %s", point->label, result->reason);
}

void sweep_tell_skipped(struct sweep *sweep)
{
    if (sweep->slow > 0)
        sweep_say(sweep, "%d point%s skipped that would take more than a minute each: --slow runs them", sweep->slow,
                  sweep->slow == 1 ? " was" : "s were");
    if (sweep->late > 0)
        sweep_say(sweep, "%d point%s skipped for lack of time: a larger --budget has room for them", sweep->late,
                  sweep->late == 1 ? " was" : "s were");
}
