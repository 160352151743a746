/* SPDX-License-Identifier: MIT */
/* --help and --version. */
#include "experiments/driver/backends.h"
#include "experiments/driver/build_info.h"
#include "experiments/driver/machine.h"
#include "experiments/driver/options.h"

#include <cjson/cJSON.h>
#include <hwloc.h>
#include <string.h>
#include <zlib.h>

/* At most 40 lines of 120 characters; a test counts them. */
static const char help[] =
    "Usage: ./run_sweep [options] STUDY.cfg...\n"
    "Trains and times convolutional networks of growing size on the backends of this machine, as studies say.\n"
    "What to run:\n"
    "  STUDY.cfg...          run every point of these studies: one CSV row each, then a table and charts\n"
    "  --dry-run, -n         run nothing; show each point with its parameters, MACs, bytes and an estimate of its "
    "time\n"
    "  --list                show the backends of this machine, networks, layers, algorithms, axes and data sets\n"
    "  --plot FOLDER...      draw the charts of earlier runs anew, as in --plot results/*/quick/latest\n"
    "  --analyse FOLDER...   say why: break-even, what a step costs, scaling over threads; also at the end of a run\n"
    "  --report FOLDER...    a page for each of these runs, and one over all of them in the folder of --out\n"
    "  --compare BASE RUN... which points became faster or slower: folders, previous, latest; --threshold PERCENT (5)\n"
    "  --ceilings            what this machine can do at most; --resolution: what the harness can tell apart on it\n"
    "  --layers              also time every operation of each point: a table, and layers.csv beside the rows\n"
    "  --explain POINT       operations of one point, FLOPs, kernels; --profile POINT: a step for ncu, nsys, perf\n"
    "  --fetch SET           download mnist, fashion, cifar10 or norb and check it; into --data FOLDER, or data/\n"
    "  --bundle FOLDER       pack a run as an archive for others; --reproduce ARCHIVE: check one, run it here, "
    "compare\n"
    "  --setup, --no-build   first install what is missing (Debian, Ubuntu); run what is built. These three come "
    "first\n"
    "\n"
    "Choose:\n"
    "  --set KEY=VALUES      replace a key of the study, as in --set width=1,2,4 or --set 'image=32..64 step 8'\n"
    "  --filter TERMS        only points for which all terms hold: AXIS=VALUES, series=ID, or a piece of a name; "
    "repeatable\n"
    "  --backend NAME        only series of this backend (cpu, omp, cuda); it must then be there. May be given again\n"
    "  --threads N           threads of omp, over the study's; auto: as many as affinity and quota allow\n"
    "  --data FOLDER         where data sets lie; else the variable CONVSCALE_DATA says it, or data/ in the project\n"
    "  --order WORD          random (seeded) or as-written, over the study's\n"
    "  --choices FILE        take what another run chose where a study says algorithm = \"auto\": its choices.json\n"
    "  --budget TIME         of the whole run: cheap points first, the rest is skipped; --timeout TIME: of a point\n"
    "  --slow, --required    also run points estimated above a minute; what this machine lacks is a failure\n"
    "  --fresh               a new run instead of going on with an unfinished one; --retry STATUS,... repeats points\n"
    "\n"
    "Output:\n"
    "  --out FOLDER          root of the results (default: results); a run writes MACHINE/STUDY/TIME/ below it\n"
    "  --figures LIST        formats of the charts: svg,png (default), pdf, tex; --figure-width 88mm: as wide in "
    "print\n"
    "  --format WORD         what stdout gets: table (default on a terminal), csv (default in a pipe), json\n"
    "  --quiet, -q           no progress and no notes; failures are still told. Log and progress go to stderr\n"
    "  --help, --version     this text; version, compiler, libraries and backends of this build. Also -h, -V\n"
    "\n"
    "Exit codes: 0 all is well (what a machine lacks is left out aloud, points that cannot exist are no failure); 1 a\n"
    "  point failed, what was required or asked for by name is not here, nothing came of a study, --compare found one\n"
    "  slower, or results could not be written; 2 a wrong command line or study; 130 ended by Ctrl-C (128 + the\n"
    "  signal's number), with all finished points on disk.\n";

void help_print(FILE *out)
{
    fputs(help, out);
}

static void print_backends(FILE *out)
{
    for (const struct backend_entry *entry = backend_entries(); entry->name; entry++) {
        struct cnn_device *device = NULL;
        struct cnn_device_info info;
        const struct cnn_device_options options = { 0 };
        struct cnn_error error;
        const struct cnn_backend *backend = entry->backend;
        if (!backend)
            fprintf(out, "%s: not available: %s\n", entry->name, entry->missing);
        else if (backend->open(&device, &options, &error) || backend->describe(device, &info, &error))
            fprintf(out, "%s: not available: %s\n", entry->name, error.text);
        else
            fprintf(out, "%s: %s%s%s%s%s\n", entry->name, info.name, info.isas[0] ? "; " : "", info.isas,
                    info.detail[0] ? "; " : "", info.detail);
        if (entry->archs && entry->archs[0])
            fprintf(out, "%s: has code for %s\n", entry->name, entry->archs);
        if (backend)
            backend->close(device);
    }
}

void version_print(FILE *out)
{
    unsigned hwloc = hwloc_get_api_version();
    fprintf(out, "convscale %s (%s)\n", BUILD_VERSION, machine_build());
    fprintf(out, "compiler: %s %s, %s build, -O%s %s\n", BUILD_COMPILER, BUILD_COMPILER_VERSION, BUILD_TYPE,
            BUILD_OPTIMIZATION, BUILD_C_ARGS);
    fprintf(out, "libraries: libconfig %s, cJSON %s, hwloc %u.%u, zlib %s, OpenMP %s\n", BUILD_LIBCONFIG,
            cJSON_Version(), hwloc >> 16, hwloc >> 8 & 0xff, zlibVersion(), BUILD_OPENMP[0] ? BUILD_OPENMP : "none");
    print_backends(out);
}
