/* SPDX-License-Identifier: MIT */
/* What the CPU kernels are meant to reach, and what they do: a table of points with our time, the time that the FMA
 * ceiling of as many threads would allow and the share of it, a peer's time beside it in the same run, and the goal.
 * For whoever writes a kernel; nothing is verified here.
 *
 *   bench_targets [PEER]
 *
 * PEER is experiments/peers/torch_peer.py: with a python3 that has PyTorch it times the same points. */
#include "experiments/driver/backends.h"
#include "experiments/driver/clock.h"
#include "tests/checker/bench_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CEILINGS 64
#define CEILING_SECONDS 0.2

/* Train, then classify: at most so many microseconds, or so many times faster than the peer; 0: no such goal. */
struct target {
    const char *backend;
    struct bench_point point;
    double microseconds[2], ratio[2];
};

static const struct target targets[] = {
    { "cpu", { "lenet5", 1, 1, 32, 1, CNN_FP32, CNN_COPIES_NONE, true }, { 50, 15 }, { 29, 0 } },
    { "cpu", { "lenet5", 1, 1, 104, 1, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 2.5, 2 } },
    { "cpu", { "lenet5", 1, 1, 32, 128, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 4.5, 5 } },
    { "cpu", { "lenet5", 4, 1, 32, 128, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 3, 2.5 } },
    { "cpu", { "lenet5", 16, 1, 32, 128, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 3, 2.5 } },
    { "cpu", { "stack", 1, 1, 32, 128, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 10, 10 } },
    { "cpu", { "stack", 1, 4, 32, 128, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 1.7, 1.6 } },
    { "cpu", { "large", 1, 1, 64, 16, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 3.5, 4 } },
    { "omp", { "lenet5", 1, 1, 32, 128, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 5, 3 } },
    { "omp", { "lenet5", 4, 1, 32, 128, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 3, 3 } },
    { "omp", { "lenet5", 16, 1, 32, 128, CNN_FP32, CNN_COPIES_NONE, true }, { 0, 0 }, { 2.5, 2 } },
};

/* The largest rate of multiply-adds that the device's threads reach in fp32. */
static double fma_rate(const struct cnn_backend *backend, struct cnn_device *device)
{
    struct cnn_ceiling list[CEILINGS];
    struct cnn_error error;
    int count = 0;
    double most = 0;
    if (backend->ceiling(device, clock_seconds, CEILING_SECONDS, list, CEILINGS, &count, &error))
        return 0;
    for (int i = 0; i < count && i < CEILINGS; i++)
        if (list[i].kind == CNN_CEILING_FMA && list[i].precision == CNN_FP32 && list[i].value > most)
            most = list[i].value;
    return most;
}

/* Seconds of the peer for train and classify; 0 where it gave none. */
static void ask_peer(const char *script, const struct bench_point *p, int threads, double seconds[2])
{
    char text[512], phase[16];
    double found;
    seconds[0] = seconds[1] = 0;
    if (!script)
        return;
    snprintf(text, sizeof text,
             "python3 '%s' cpu --threads %d --networks %s --widths %d --depths %d --images %d --batches %d 2>/dev/null",
             script, threads, p->network, p->width, p->depth, p->image, p->batch);
    FILE *pipe = popen(text, "r");
    while (pipe && fgets(text, sizeof text, pipe)) /* device,threads,mode,network,width,depth,image,batch,phase,... */
        if (sscanf(text, "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%15[^,],%lf", phase, &found) == 2)
            seconds[strcmp(phase, "train") != 0] = found;
    if (pipe)
        pclose(pipe);
}

static void print_number(const char *format, double value)
{
    char text[32] = "-";
    if (value > 0)
        snprintf(text, sizeof text, format, value);
    printf(" %10s", text);
}

static void print_row(const struct target *target, int threads, int phase, const struct bench_times *ours, double rate,
                      double peer)
{
    const struct bench_point *p = &target->point;
    double floor = rate > 0 ? ours->flops / rate : 0;
    printf("%-7s %5d %5d %5d %5d %7d %-8s", p->network, p->width, p->depth, p->image, p->batch, threads,
           phase ? "classify" : "train");
    print_number("%.1f", 1e6 * ours->seconds);
    print_number("%.1f", 1e6 * floor);
    print_number("%.0f %%", 100 * floor / ours->seconds);
    print_number("%.1f", 1e6 * peer);
    print_number("%.2f", peer / ours->seconds);
    print_number("%.1f x", target->ratio[phase]);
    print_number("%.0f us", target->microseconds[phase]);
    printf("\n");
}

static int run_target(const struct target *target, const struct cnn_backend *backend, struct cnn_device *device,
                      int threads, double rate, const char *script, struct cnn_error *error)
{
    double peer[2];
    ask_peer(script, &target->point, threads, peer);
    for (int phase = 0; phase < 2; phase++) {
        struct bench_times ours;
        struct bench_point point = target->point;
        point.train = phase == 0;
        if (bench_time(backend, device, "direct", &point, false, &ours, error))
            return error->status;
        print_row(target, threads, phase, &ours, rate, peer[phase]);
    }
    return CNN_OK;
}

static int run_backend(const char *name, const char *script)
{
    struct cnn_error error;
    struct cnn_device *device = NULL;
    struct cnn_device_info info;
    const struct cnn_device_options options = { 0 };
    const struct cnn_backend *backend = backend_find(name, &error);
    if (!backend || backend->open(&device, &options, &error) || backend->describe(device, &info, &error)) {
        fprintf(stderr, "%s: left out: %s\n", name, error.text);
        if (backend)
            backend->close(device);
        return 0;
    }
    double rate = fma_rate(backend, device);
    int status = CNN_OK;
    printf("# %s, %d thread%s, FMA ceiling %.1f GFLOP/s\n", info.name, info.threads, info.threads == 1 ? "" : "s",
           1e-9 * rate);
    for (size_t i = 0; i < sizeof targets / sizeof *targets && !status; i++)
        if (!strcmp(targets[i].backend, name))
            status = run_target(&targets[i], backend, device, info.threads, rate, script, &error);
    if (status)
        fprintf(stderr, "%s: %s\n", name, error.text);
    backend->close(device);
    return status != CNN_OK;
}

int main(int count, char **words)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%-7s %5s %5s %5s %5s %7s %-8s %10s %10s %10s %10s %10s %10s %10s\n", "network", "width", "depth", "image",
           "batch", "threads", "phase", "ours/us", "at FMA/us", "share", "peer/us", "ratio", "goal", "or at most");
    int failed = run_backend("cpu", count > 1 ? words[1] : NULL);
    return run_backend("omp", count > 1 ? words[1] : NULL) || failed;
}
