/* SPDX-License-Identifier: MIT */
/* IDX files, the format of MNIST: two zero bytes, element type, rank, one big-endian 32-bit size per dimension, then
 * the elements (http://yann.lecun.com/exdb/mnist). Plain or gzipped by content, never by name: zlib's gzread() reads
 * both. No size of the header is believed before the file is known to be able to hold it. */
#include "lib/checked.h"
#include "lib/dataset.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define IDX_UNSIGNED_BYTE 0x08
#define IDX_RANK_MAX 4
#define IDX_HEADER_MAX (4 + 4 * IDX_RANK_MAX)
#define IDX_BYTES_MAX ((int64_t)1 << 34) /* 16 GiB of elements: beyond any data set meant here */
#define DEFLATE_RATIO_MAX 1032           /* bytes out per byte in (zlib manual, "Technical details") */
#define READ_CHUNK (1 << 30)             /* gzread() counts in int */

struct idx_file {
    const char *path;
    gzFile stream;
    int64_t size; /* on disk */
    bool zipped;
    int rank;
};

/* "47,040,000": numbers of this length are not readable without. */
struct grouped {
    char text[32];
};

static struct grouped grouped(int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
    struct grouped out;
    char *to = out.text;
    for (int i = 0; i < length; i++) {
        *to++ = digits[i];
        if (i + 1 < length && (length - 1 - i) % 3 == 0 && digits[i] != '-')
            *to++ = ',';
    }
    *to = '\0';
    return out;
}

/* "60,000 x 28 x 28" */
static const char *dims_text(const int64_t *dims, int rank, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " x " : "", grouped(dims[i]).text);
    return out;
}

static const char *element_name(int rank)
{
    return rank == 1 ? "labels" : "pixels";
}

static int idx_open(struct idx_file *file, const char *path, int rank, struct cnn_error *error)
{
    struct stat info;
    *file = (struct idx_file){ .path = path, .rank = rank };
    if (stat(path, &info))
        return cnn_error_set(error, errno == ENOENT ? CNN_UNAVAILABLE : CNN_ERROR, "%s: cannot be read: %s", path,
                             strerror(errno));
    if (S_ISDIR(info.st_mode))
        return cnn_error_set(error, CNN_INVALID, "%s: is a folder, expected an IDX file", path);
    if (!S_ISREG(info.st_mode))
        return cnn_error_set(error, CNN_INVALID, "%s: is no regular file, expected an IDX file", path);
    if (info.st_size == 0)
        return cnn_error_set(error, CNN_INVALID, "%s: is empty, expected an IDX file: failed download?", path);
    errno = 0;
    file->stream = gzopen(path, "rbe");
    if (!file->stream)
        return cnn_error_set(error, errno ? CNN_ERROR : CNN_OOM, "%s: cannot be read: %s", path,
                             errno ? strerror(errno) : "no memory");
    file->size = info.st_size;
    file->zipped = !gzdirect(file->stream);
    return CNN_OK;
}

/* Reads up to `want` bytes; *got is less only where the content ends. */
static int idx_fill(struct idx_file *file, uint8_t *out, int64_t want, int64_t *got, struct cnn_error *error)
{
    for (*got = 0; *got < want;) {
        int64_t left = want - *got;
        int count = gzread(file->stream, out + *got, (unsigned)(left < READ_CHUNK ? left : READ_CHUNK));
        if (count <= 0)
            break;
        *got += count;
    }
    int code = Z_OK;
    const char *text = gzerror(file->stream, &code);
    if (code == Z_ERRNO)
        return cnn_error_set(error, CNN_ERROR, "%s: offset %s: cannot be read: %s", file->path,
                             grouped(gzoffset(file->stream)).text, strerror(errno));
    if (code == Z_BUF_ERROR)
        return cnn_error_set(error, CNN_INVALID, "%s: gzip data ends early, after %s bytes: truncated download?",
                             file->path, grouped(file->size).text);
    if (code == Z_OK || code == Z_STREAM_END)
        return CNN_OK;
    size_t prefix = strlen(file->path) + 2; /* zlib's sentence starts with "PATH: " */
    return cnn_error_set(error, code == Z_MEM_ERROR ? CNN_OOM : CNN_INVALID,
                         "%s: damaged gzip data at or before offset %s: zlib says: %s", file->path,
                         grouped(gzoffset(file->stream)).text, strlen(text) > prefix ? text + prefix : text);
}

static bool looks_like_page(const uint8_t *head, int64_t count)
{
    int64_t i = count >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (i < count && isspace(head[i]))
        i++;
    return i < count && head[i] == '<';
}

static bool looks_like_text(const uint8_t *head)
{
    return isprint(head[0]) && isprint(head[1]) && isprint(head[2]) && isprint(head[3]);
}

/* The four magic bytes, each with its likely mistake. */
static int idx_check_magic(const struct idx_file *file, const uint8_t *head, int64_t got, struct cnn_error *error)
{
    const char *path = file->path;
    if (looks_like_page(head, got))
        return cnn_error_set(error, CNN_INVALID,
                             "%s: looks like a web page, not IDX data: '<' at its start, expected bytes 00 00 08 %02x; "
                             "download the file itself",
                             path, file->rank);
    if (got < 4)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: ends at offset %d within the magic number, expected bytes 00 00 "
                             "08 %02x",
                             path, (int)got, file->rank);
    if (head[0] == 0x1f && head[1] == 0x8b)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: offset 0: still gzip data after unzipping, expected bytes 00 00 "
                             "08 %02x: compressed twice?",
                             path, file->rank);
    if (looks_like_text(head))
        return cnn_error_set(error, CNN_INVALID,
                             "%s: looks like text (\"%.4s\" at its start), not IDX data, expected "
                             "bytes 00 00 08 %02x",
                             path, (const char *)head, file->rank);
    if (head[0] || head[1])
        return cnn_error_set(error, CNN_INVALID,
                             "%s: offset 0: found bytes %02x %02x %02x %02x, expected 00 00 08 "
                             "%02x: no IDX file%s",
                             path, head[0], head[1], head[2], head[3], file->rank,
                             head[1] == IDX_UNSIGNED_BYTE && !head[2] && !head[3] ? " (bytes in reverse order?)" : "");
    if (head[2] != IDX_UNSIGNED_BYTE)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 2: element type %02x, expected 08 (unsigned bytes)", path,
                             head[2]);
    if (head[3] != file->rank)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 3: %d dimension%s, expected %d (%s)%s", path, head[3],
                             head[3] == 1 ? "" : "s", file->rank, element_name(file->rank),
                             head[3] == 1 && file->rank == 3   ? ": a label file under an image file's name?"
                             : head[3] == 3 && file->rank == 1 ? ": an image file under a label file's name?"
                                                               : "");
    return CNN_OK;
}

/* Reads the header; *elements is what the dimensions promise, checked against what the file can hold at all. */
static int idx_header(struct idx_file *file, int64_t dims[4], int64_t *elements, struct cnn_error *error)
{
    uint8_t head[IDX_HEADER_MAX];
    char text[128];
    int64_t got, bytes = 4 + 4 * (int64_t)file->rank;
    if (idx_fill(file, head, bytes, &got, error) || idx_check_magic(file, head, got, error))
        return error->status;
    if (got < bytes)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: ends at offset %d within its header, expected %d bytes: "
                             "truncated download?",
                             file->path, (int)got, (int)bytes);
    bool fits = true;
    *elements = 1;
    for (int i = 0; i < 4; i++) {
        const uint8_t *b = head + 4 + 4 * i;
        dims[i] = i < file->rank ? (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | b[3] : 1;
        if (dims[i] == 0)
            return cnn_error_set(error, CNN_INVALID, "%s: offset %d: dimension %d is 0, expected at least 1",
                                 file->path, 4 + 4 * i, i + 1);
        fits = fits && cnn_mul(*elements, dims[i], elements);
    }
    dims_text(dims, file->rank, text, sizeof text);
    if (!fits || *elements > IDX_BYTES_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 4: absurd size %s, expected at most %s bytes in all",
                             file->path, text, grouped(IDX_BYTES_MAX).text);
    int64_t most;
    if (file->zipped && cnn_mul(file->size, DEFLATE_RATIO_MAX, &most) && *elements > most)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: offset 4: %s is %s bytes of %s, expected at most %s, all that "
                             "%s gzipped bytes can hold",
                             file->path, text, grouped(*elements).text, element_name(file->rank), grouped(most).text,
                             grouped(file->size).text);
    return CNN_OK;
}

/* One sentence for a file that does not hold what its header says. */
static int idx_wrong_length(const struct idx_file *file, const int64_t *dims, int64_t found, const char *more,
                            int64_t expected, struct cnn_error *error)
{
    char text[128];
    return cnn_error_set(error, CNN_INVALID, "%s: %s%s bytes of %s from offset %d on, expected %s (%s): %s", file->path,
                         more, grouped(found).text, element_name(file->rank), 4 + 4 * file->rank,
                         grouped(expected).text, dims_text(dims, file->rank, text, sizeof text),
                         found < expected ? "truncated download?" : "not the file its header says");
}

static int idx_elements(struct idx_file *file, const int64_t *dims, int64_t elements, uint8_t **bytes,
                        struct cnn_error *error)
{
    int64_t held = file->size - 4 - 4 * file->rank, got;
    if (!file->zipped && held != elements)
        return idx_wrong_length(file, dims, held, "", elements, error);
    *bytes = malloc((size_t)elements);
    if (!*bytes)
        return cnn_error_set(error, CNN_OOM, "%s: no memory for its %s bytes", file->path, grouped(elements).text);
    if (idx_fill(file, *bytes, elements, &got, error))
        return error->status;
    if (got < elements)
        return idx_wrong_length(file, dims, got, "", elements, error);
    uint8_t beyond;
    if (idx_fill(file, &beyond, 1, &got, error)) /* also makes zlib check length and CRC at the end */
        return error->status;
    return got ? idx_wrong_length(file, dims, elements + 1, "at least ", elements, error) : CNN_OK;
}

int cnn_idx_read(const char *path, int rank, int64_t dims[4], uint8_t **bytes, struct cnn_error *error)
{
    struct idx_file file;
    struct cnn_error own;
    int64_t elements = 0;
    error = error ? error : &own;
    *bytes = NULL;
    if (rank < 1 || rank > IDX_RANK_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s: asked for %d dimensions, expected 1 to %d", path, rank,
                             IDX_RANK_MAX);
    int status = idx_open(&file, path, rank, error);
    if (!status)
        status = idx_header(&file, dims, &elements, error);
    if (!status)
        status = idx_elements(&file, dims, elements, bytes, error);
    if (file.stream)
        gzclose(file.stream);
    if (status) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}
