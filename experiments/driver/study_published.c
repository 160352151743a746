/* SPDX-License-Identifier: MIT */
/* Numbers typed from a paper, to lie over ours: a CSV beside the study, without quotes. It goes into the run's folder,
 * so that figures can be drawn again from there.
 *
 *     label,phase,axis,at,quantity,value
 *     GPU of 2010 (table 2),train,image,32,speedup,5.1
 */
#include "experiments/driver/study_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "label,phase,axis,at,quantity,value";

static bool read_line(const char *line, struct study_published *out)
{
    int end = 0;
    int cells = sscanf(line, "%63[^,],%15[^,],%15[^,],%lf,%23[^,],%lf%n", out->label, out->phase, out->axis, &out->at,
                       out->quantity, &out->value, &end);
    return cells == 6 && line[end] == '\0' && isfinite(out->at) && isfinite(out->value) && out->value > 0 &&
           (!strcmp(out->quantity, "speedup") || !strcmp(out->quantity, "seconds_per_step") ||
            !strcmp(out->quantity, "images_per_second"));
}

static int add(struct study *study, const struct study_published *one, struct cnn_error *error)
{
    struct study_published *more = realloc(study->published, ((size_t)study->published_count + 1) * sizeof *more);
    if (!more)
        return cnn_error_set(error, CNN_OOM, "published: no memory for its numbers");
    study->published = more;
    study->published[study->published_count++] = *one;
    return CNN_OK;
}

static int read_lines(struct study *study, const char *path, char *text, struct cnn_error *error)
{
    int number = 0, status = CNN_OK;
    for (char *line; !status && (line = strsep(&text, "\n")) && (*line || text);) {
        struct study_published one;
        line[strcspn(line, "\r")] = '\0';
        if (number++ == 0 && strcmp(line, header))
            return cnn_error_set(error, CNN_INVALID, "%s:1: \"%.80s\": expected \"%s\"", path, line, header);
        if (number == 1 || !*line)
            continue;
        if (!read_line(line, &one))
            return cnn_error_set(
                error, CNN_INVALID,
                "%s:%d: \"%.80s\": expected six cells, as in \"GPU of 2010,train,image,32,speedup,5.1\"; "
                "quantities are speedup, seconds_per_step and images_per_second",
                path, number, line);
        status = add(study, &one, error);
    }
    return status;
}

int study_published_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    char path[4096], *text = NULL;
    size_t size = 0;
    struct cnn_error why;
    const char *name = reader_text(reader, setting, "the name of a CSV beside the study"),
               *study_path = reader->text->files[0];
    const char *slash = strrchr(study_path, '/');
    if (!name)
        return CNN_INVALID;
    if (strchr(name, '/') || strlen(name) >= sizeof study->published_file)
        return reader_fail(reader, setting, "published = \"%.60s\": expected the name of a file beside the study",
                           name);
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - study_path) + 1 : 0, study_path, name);
    snprintf(study->published_file, sizeof study->published_file, "%s", name);
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &size, '\0', file) < 0)
        reader_fail(reader, setting, "published: %s: cannot be read: %s", path,
                    errno ? strerror(errno) : "it is empty");
    if (file)
        fclose(file);
    study->published_text = text ? strdup(text) : NULL;
    int status = !study->published_text ? CNN_INVALID : read_lines(study, path, text, &why);
    free(text);
    return status && study->published_text ? reader_fail(reader, setting, "published: %s", why.text) : status;
}
