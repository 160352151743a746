/* SPDX-License-Identifier: MIT */
/* From the files of a set to a split in memory: images brought to their side, pixels normalised by the training images,
 * which a test split reads, too, unless the training split is at hand. */
#include "lib/raw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_there(const char *path)
{
    struct stat info;
    return !stat(path, &info) || (errno != ENOENT && errno != ENOTDIR); /* a fault of its own is told when it is read */
}

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* Whether files in `folder` itself are this set's. */
static bool is_own(const struct cnn_file_set *files, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    size_t name = length;
    while (name > 0 && folder[name - 1] != '/')
        name--;
    char last[NAME_MAX + 1];
    snprintf(last, sizeof last, "%.*s", (int)(length - name), folder + name);
    return !files->own || strcasestr(last, files->own);
}

/* Says where nothing was found. */
static int not_found(const struct cnn_dataset_kind *kind, const char *folder, const char *const *names,
                     struct cnn_error *error)
{
    const struct cnn_file_set *files = kind->files;
    char places[1024] = "", spellings[512] = "";
    size_t used = 0;
    if (!is_folder(folder) && !files->prefix)
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "%s: %s is no folder: give the folder of the %s files with --data DIR or "
                             "CONVSCALE_DATA=DIR",
                             kind->name, folder, files->title);
    for (int i = 0; names[i] && used < sizeof spellings; i++)
        used += (size_t)snprintf(spellings + used, sizeof spellings - used, "%s%s", i ? " or " : "", names[i]);
    used = 0;
    for (int i = 0; files->below[i] && used < sizeof places; i++)
        if (*files->below[i] || is_own(files, folder))
            used += (size_t)snprintf(places + used, sizeof places - used, "%s%s%s", used ? " or " : "", folder,
                                     files->below[i]);
    return cnn_error_set(error, CNN_UNAVAILABLE,
                         "%s: no %s, with or without .gz, in %s: give the folder of the %s files with --data DIR or "
                         "CONVSCALE_DATA=DIR%s%s",
                         kind->name, spellings, places, files->title,
                         kind->files->prefix ? "" : "; to download them: ./run_sweep --fetch ",
                         kind->files->prefix ? "" : kind->name);
}

int cnn_raw_find(char path[PATH_MAX], const struct cnn_dataset_kind *kind, const char *folder, const char *const *names,
                 struct cnn_error *error)
{
    static const char *const endings[] = { "", ".gz" };
    const struct cnn_file_set *files = kind->files;
    for (int place = 0; files->below[place] || (files->prefix && place == 1); place++) {
        const char *below = files->below[place] ? files->below[place] : "";
        const char *slash = files->below[place] ? "/" : ""; /* behind the last place: the folder as a prefix */
        if (!*below && *slash && !is_own(files, folder))
            continue;
        for (int ending = 0; ending < 2; ending++)
            for (int i = 0; names[i]; i++) {
                int length = snprintf(path, PATH_MAX, "%s%s%s%s%s", folder, below, slash, names[i], endings[ending]);
                if (length > 0 && length < PATH_MAX && is_there(path))
                    return CNN_OK;
            }
    }
    return not_found(kind, folder, names, error);
}

static void raw_free(struct cnn_raw *raw)
{
    free(raw->pixels);
    free(raw->labels);
}

/* Fits all images: into the set those it has room for, into the sums (NULL: none wanted) every one. */
static int images_fit(struct cnn_dataset *data, const struct cnn_raw *raw, int64_t keep, int side, enum cnn_fit fit,
                      struct cnn_pixel_sums *sums, struct cnn_error *error)
{
    struct cnn_fitter *fitter = NULL;
    int64_t size = (int64_t)side * side, own = (int64_t)raw->side * raw->side;
    int64_t planes = raw->count * raw->channels, kept = keep * raw->channels; /* both fit in the file's size */
    uint8_t *scratch = NULL;
    int status = cnn_fitter_create(&fitter, raw->side, side, fit, error);
    if (status)
        return cnn_error_prefix(error, "%s", raw->path);
    scratch = malloc((size_t)size);
    if (!scratch)
        status = cnn_error_set(error, CNN_OOM, "%s: no memory for one image of side %d", raw->path, side);
    for (int64_t i = 0; !status && i < (sums ? planes : kept); i++) {
        uint8_t *to = i < kept ? data->pixels + i * size : scratch;
        cnn_fitter_apply(fitter, raw->pixels + i * own, to);
        if (sums)
            cnn_pixel_sums_add(sums, to, size);
    }
    free(scratch);
    cnn_fitter_destroy(fitter);
    return status;
}

/* Mean and deviation for a test split, from the training images. */
static int statistics_read(struct cnn_dataset *data, const struct cnn_dataset_kind *kind, const char *folder,
                           const struct cnn_raw *test, enum cnn_fit fit, struct cnn_error *error)
{
    struct cnn_raw raw = { .count = 0 };
    struct cnn_pixel_sums sums = { 0, 0, 0 };
    int status = kind->files->read(&raw, kind, folder, CNN_SPLIT_TRAIN, error);
    if (!status && raw.side != test->side)
        status = cnn_error_set(error, CNN_INVALID, "%s: images of side %d, but side %d in %s: files of two sets?",
                               raw.path, raw.side, test->side, test->path);
    if (!status)
        status = images_fit(data, &raw, 0, data->side, fit, &sums, error);
    if (!status)
        status = cnn_dataset_normalise(data, &sums, error);
    raw_free(&raw);
    return status;
}

static int fill(struct cnn_dataset *data, const struct cnn_dataset_kind *kind, const char *folder, enum cnn_split split,
                const struct cnn_raw *raw, const struct cnn_dataset_options *options, struct cnn_error *error)
{
    bool train = split == CNN_SPLIT_TRAIN;
    struct cnn_pixel_sums sums = { 0, 0, 0 };
    int64_t keep = options->limit && options->limit < raw->count ? options->limit : raw->count;
    int side = options->side ? options->side : raw->side;
    int status;
    if (raw->count > INT32_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 4: %lld images, expected at most %d", raw->path,
                             (long long)raw->count, INT32_MAX);
    status = cnn_dataset_allocate(data, keep, raw->channels, side, raw->classes, error);
    if (!status)
        status = images_fit(data, raw, keep, side, options->fit, train ? &sums : NULL, error);
    if (status)
        return status;
    for (int64_t i = 0; i < keep; i++)
        data->labels[i] = raw->labels[i];
    if (train)
        return cnn_dataset_normalise(data, &sums, error);
    if (!options->train)
        return statistics_read(data, kind, folder, raw, options->fit, error);
    data->mean = options->train->mean;
    data->deviation = options->train->deviation;
    return CNN_OK;
}

int cnn_raw_open(struct cnn_dataset *data, const struct cnn_dataset_kind *kind, enum cnn_split split,
                 const struct cnn_dataset_options *options, struct cnn_error *error)
{
    const char *folder = options->folder && options->folder[0] ? options->folder : getenv("CONVSCALE_DATA");
    struct cnn_raw raw = { .count = 0 };
    if (!folder || !folder[0])
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "%s: no folder was given to look in: give that of the %s files with --data DIR or "
                             "CONVSCALE_DATA=DIR%s%s",
                             kind->name, kind->files->title,
                             kind->files->prefix ? "" : "; to download them: ./run_sweep --fetch ",
                             kind->files->prefix ? "" : kind->name);
    int status = kind->files->read(&raw, kind, folder, split, error);
    if (!status)
        status = fill(data, kind, folder, split, &raw, options, error);
    raw_free(&raw);
    return status;
}
