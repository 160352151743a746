/* SPDX-License-Identifier: MIT */
/* What the tests of data files share: a temporary folder, files in it plain or gzipped, IDX content. */
#ifndef TESTS_UNIT_FILES_H
#define TESTS_UNIT_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define FILES_PATH 256

static inline int files_folder_make(void **state)
{
    static char folder[FILES_PATH];
    const char *where = getenv("TMPDIR");
    int length = snprintf(folder, sizeof folder, "%s/convscale-data-XXXXXX", where && where[0] ? where : "/tmp");
    if (length < 0 || length >= FILES_PATH - 64)
        return -1;
    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static inline int files_remove(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static inline int files_folder_remove(void **state)
{
    return nftw(*state, files_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void files_path(char path[FILES_PATH], const char *folder, const char *name)
{
    int length = snprintf(path, FILES_PATH, "%s/%s", folder, name);
    assert_in_range(length, 1, FILES_PATH - 1);
}

static inline void files_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Writes `text` to a file below a made-up root, with its folders. */
static inline void files_plant(const char *root, const char *path, const char *text)
{
    char full[FILES_PATH * 2];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(full, 0777);
        *slash = '/';
    }
    files_write(full, text, strlen(text));
}

/* Gzips in memory; returns the number of bytes. */
static inline size_t files_zip(const void *bytes, size_t count, uint8_t *out, size_t room)
{
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)count };
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t size = stream.total_out;
    deflateEnd(&stream);
    return size;
}

static inline void files_write_zipped(const char *path, const void *bytes, size_t count)
{
    size_t room = count + count / 100 + 256;
    uint8_t *zipped = malloc(room);
    assert_non_null(zipped);
    files_write(path, zipped, files_zip(bytes, count, zipped, room));
    free(zipped);
}

/* An IDX header of unsigned bytes; returns its length. */
static inline size_t files_idx_header(uint8_t *out, int rank, const uint32_t *dims)
{
    const uint8_t magic[4] = { 0, 0, 8, (uint8_t)rank };
    memcpy(out, magic, 4);
    for (int i = 0; i < rank; i++)
        for (int byte = 0; byte < 4; byte++)
            out[4 + 4 * i + byte] = (uint8_t)(dims[i] >> (24 - 8 * byte));
    return 4 + 4 * (size_t)rank;
}

#endif
