/* SPDX-License-Identifier: MIT */
/* Times the points of a file of peers' times through the seam and prints ours beside theirs: for whoever writes a
 * kernel. What is published comes from the driver, which verifies every point; here nothing is verified.
 *
 *   bench_peers FILE [BACKEND [ALGORITHM [FILTER]]]
 *
 * FILE has the header network,width,depth,image,batch,precision,copies,phase,seconds_per_step,...; FILTER is a piece of
 * text that a line must hold. With BENCH_PROFILE set in the environment each point is preceded by its operations. */
#include "experiments/driver/backends.h"
#include "tests/checker/bench_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    struct bench_point point;
    char precision[16], copies[16], phase[16];
    double seconds;
};

static bool parse(const char *text, struct line *line)
{
    struct bench_point *p = &line->point;
    if (sscanf(text, "%31[^,],%d,%d,%d,%d,%15[^,],%15[^,],%15[^,],%lf", p->network, &p->width, &p->depth, &p->image,
               &p->batch, line->precision, line->copies, line->phase, &line->seconds) != 9)
        return false;
    p->train = !strcmp(line->phase, "train");
    return cnn_precision_parse(line->precision, &p->precision) && cnn_copies_parse(line->copies, &p->copies);
}

static int run(const struct cnn_backend *backend, struct cnn_device *device, const char *algorithm,
               const struct line *line, struct cnn_error *error)
{
    struct bench_times ours;
    const struct bench_point *p = &line->point;
    int status = bench_time(backend, device, algorithm, p, getenv("BENCH_PROFILE") != NULL, &ours, error);
    if (status == CNN_OK)
        printf("%-7s w%-2d d%-2d i%-3d b%-4d %s %-6s %-8s %10.1f us  peer %10.1f us  ratio %5.2f  %7.2f TFLOP/s\n",
               p->network, p->width, p->depth, p->image, p->batch, line->precision, line->copies, line->phase,
               1e6 * ours.seconds, 1e6 * line->seconds, line->seconds / ours.seconds,
               1e-12 * ours.flops / ours.seconds);
    return status;
}

int main(int count, char **words)
{
    struct cnn_error error = { 0 };
    const struct cnn_backend *backend = backend_find(count > 2 ? words[2] : "cuda", &error);
    struct cnn_device *device = NULL;
    const struct cnn_device_options options = { .index = 0 };
    FILE *file = count > 1 ? fopen(words[1], "r") : NULL;
    char text[512];
    int failed = 0;
    if (!file) {
        fprintf(stderr, "usage: bench_peers FILE [BACKEND [ALGORITHM [FILTER]]]\n");
        return 2;
    }
    if (!backend || backend->open(&device, &options, &error)) {
        fprintf(stderr, "%s\n", error.text);
        fclose(file);
        return error.status == CNN_UNAVAILABLE ? 77 : 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(text, sizeof text, file)) {
        struct line line;
        if ((count > 4 && !strstr(text, words[4])) || !parse(text, &line))
            continue;
        if (run(backend, device, count > 3 ? words[3] : "direct", &line, &error)) {
            printf("%.*s: %s\n", (int)strcspn(text, "\n"), text, error.text);
            failed = 1;
        }
    }
    fclose(file);
    backend->close(device);
    return failed;
}
