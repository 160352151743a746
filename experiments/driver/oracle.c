/* SPDX-License-Identifier: MIT */
/* Asks the oracle once for all points that want the same. The file: a head that says in full what was asked, then
 * doubles: loss and its bound, outputs and theirs, gradients and theirs where they were asked for. It is written under
 * a name of its own and renamed, so that it is whole or absent, and carries checksums. */
#include "experiments/driver/oracle.h"
#include "experiments/driver/crew.h"
#include "lib/checked.h"
#include "lib/parameters.h"
#include "lib/reference.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

#define ORACLE_PATH 1200
#define FILE_BYTES_MAX ((int64_t)1 << 30)
#define FREE_SHARE 4 /* so many times its size must be free: rows matter more than time */

/* Everything that the answer depends on. Two questions with the same head have the same answer. */
struct head {
    char network[POINT_NETWORK_KEY]; /* point_network_key() */
    uint64_t parameters, images;     /* checksums */
    double counts[16];
    int32_t labels[16];
    int32_t distinct, batch, precision;
    int64_t gradients;                    /* number of them, 0: not asked for */
    uint64_t checksum, gradient_checksum; /* of the doubles behind the head: without gradients; of these */
};

uint32_t oracle_group(const struct cnn_network_spec *spec, int batch)
{
    char key[POINT_NETWORK_KEY + 32];
    point_network_key(spec, key, POINT_NETWORK_KEY);
    size_t length = strlen(key);
    length += (size_t)snprintf(key + length, 32, " batch=%d", batch);
    return (uint32_t)crc32_z(0, (const Bytef *)key, length);
}

static bool file_path(char path[ORACLE_PATH], const char *folder, uint32_t group, enum cnn_precision precision)
{
    return snprintf(path, ORACLE_PATH, "%s/%08" PRIx32 ".%s", folder, group, cnn_precision_name(precision)) <
           ORACLE_PATH;
}

void oracle_forget(const char *folder, uint32_t group)
{
    char path[ORACLE_PATH];
    for (int precision = 0; precision < CNN_PRECISION_COUNT; precision++)
        if (file_path(path, folder, group, (enum cnn_precision)precision))
            unlink(path);
}

/* FNV-1a over the words of numbers; goes on from an earlier sum. Answers are large, and this is as fast as memory. */
static uint64_t checksum(uint64_t sum, const double *list, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, &list[i], sizeof word);
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
    }
    return sum;
}

static bool make_head(struct head *head, const struct oracle_question *question)
{
    const struct cnn_network *network = question->network;
    memset(head, 0, sizeof *head); /* padding is written, too */
    if (question->distinct > (int)(sizeof head->counts / sizeof *head->counts))
        return false;
    point_network_key(&network->spec, head->network, sizeof head->network);
    head->parameters = cnn_checksum_floats(question->parameters, network->parameters);
    head->images = cnn_checksum_floats(question->images, question->distinct * cnn_shape_size(network->input));
    memcpy(head->counts, question->counts, (size_t)question->distinct * sizeof *head->counts);
    memcpy(head->labels, question->labels, (size_t)question->distinct * sizeof *head->labels);
    head->distinct = question->distinct;
    head->batch = question->batch;
    head->precision = (int32_t)question->precision;
    head->gradients = question->gradient ? network->parameters : 0;
    return true;
}

/* An answer with gradients answers a question without them, too. */
static bool same_question(const struct head *asked, const struct head *kept, int64_t parameters)
{
    struct head other;
    memcpy(&other, kept, sizeof other); /* with its padding */
    other.checksum = other.gradient_checksum = 0;
    if (asked->gradients == 0 && kept->gradients == parameters)
        other.gradients = 0;
    return memcmp(asked, &other, sizeof other) == 0;
}

/* Doubles behind the head; -1: too many. */
static int64_t double_count(const struct oracle_question *question, int64_t gradients)
{
    int64_t count = 2 + 2 * (int64_t)question->distinct * question->network->classes;
    return cnn_accumulate(gradients, 2, &count) ? count : -1;
}

/* Shares out doubles as the file has them. */
static void point_into(struct oracle_answer *answer, const struct oracle_question *question, const double *at,
                       int64_t gradients)
{
    int64_t outputs = (int64_t)question->distinct * question->network->classes;
    answer->loss = at[0];
    answer->loss_bound = at[1];
    answer->output = at + 2;
    answer->output_bound = answer->output + outputs;
    answer->gradient = gradients ? answer->output_bound + outputs : NULL;
    answer->gradient_bound = gradients ? answer->gradient + gradients : NULL;
    answer->shared = true;
}

static int64_t file_bytes(int64_t doubles)
{
    return (int64_t)sizeof(struct head) + doubles * (int64_t)sizeof(double);
}

/* Whether a file of `size` bytes answers, of which out->mapped has the head and what was asked for. */
static bool answers(struct oracle_answer *out, const struct oracle_question *question, const struct head *asked,
                    int64_t size)
{
    const struct head *kept = out->mapped;
    const double *list = (const double *)(kept + 1);
    int64_t few = double_count(question, 0), more = double_count(question, asked->gradients) - few;
    if (!same_question(asked, kept, question->network->parameters) ||
        size != file_bytes(double_count(question, kept->gradients)) || checksum(0, list, few) != kept->checksum ||
        (more && checksum(0, list + few, more) != kept->gradient_checksum))
        return false;
    point_into(out, question, list, asked->gradients);
    return true;
}

/* Gradients that were not asked for are many: they stay where they are. Nobody writes into a file that has its name. */
static bool take(struct oracle_answer *out, const struct oracle_question *question, const struct head *asked,
                 const char *path)
{
    int64_t count = double_count(question, asked->gradients);
    struct stat about;
    if (count < 0 || count > FILE_BYTES_MAX / (int64_t)sizeof(double))
        return false;
    int64_t bytes = file_bytes(count);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *there = MAP_FAILED;
    if (file >= 0 && fstat(file, &about) == 0 && about.st_size >= bytes)
        there = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (file >= 0)
        close(file);
    if (there == MAP_FAILED)
        return false;
    out->mapped = there;
    out->mapped_bytes = bytes;
    if (answers(out, question, asked, about.st_size))
        return true;
    oracle_free(out);
    return false;
}

static bool has_room(const char *folder, int64_t bytes)
{
    struct statvfs about;
    return bytes <= FILE_BYTES_MAX && statvfs(folder, &about) == 0 &&
           (double)about.f_bavail * (double)about.f_frsize > FREE_SHARE * (double)bytes;
}

/* One part of the file; its checksum goes on in *sum. */
static bool write_list(FILE *file, const double *list, int64_t count, uint64_t *sum)
{
    if (count == 0)
        return true;
    *sum = checksum(*sum, list, count);
    return fwrite(list, sizeof *list, (size_t)count, file) == (size_t)count;
}

static bool write_lists(FILE *file, const struct oracle_answer *answer, struct head *head, int64_t outputs)
{
    const double sums[2] = { answer->loss, answer->loss_bound };
    return fseek(file, sizeof *head, SEEK_SET) == 0 && write_list(file, sums, 2, &head->checksum) &&
           write_list(file, answer->output, outputs, &head->checksum) &&
           write_list(file, answer->output_bound, outputs, &head->checksum) &&
           write_list(file, answer->gradient, head->gradients, &head->gradient_checksum) &&
           write_list(file, answer->gradient_bound, head->gradients, &head->gradient_checksum) &&
           fseek(file, 0, SEEK_SET) == 0 && fwrite(head, sizeof *head, 1, file) == 1;
}

/* Without a word where it cannot: the next point computes for itself. */
static void leave(const struct oracle_answer *answer, const struct oracle_question *question, struct head *head,
                  const char *folder, const char *path)
{
    char own[ORACLE_PATH + 32];
    int64_t count = double_count(question, head->gradients);
    if (count < 0 || count > FILE_BYTES_MAX || !has_room(folder, count * (int64_t)sizeof(double)))
        return;
    snprintf(own, sizeof own, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(own, "wb");
    if (!file)
        return;
    bool fine = write_lists(file, answer, head, (int64_t)question->distinct * question->network->classes);
    if (fclose(file) != 0 || !fine || rename(own, path) != 0)
        unlink(own);
}

static int compute(struct oracle_answer *out, const struct oracle_question *question, struct cnn_error *error)
{
    int last = question->network->layer_count - 1;
    if (cnn_reference_create(&out->reference, question->network, question->distinct, error))
        return error->status;
    cnn_reference_set_runner(out->reference, crew_run);
    cnn_reference_skip_input_gradient(out->reference);
    cnn_reference_set_precision(out->reference, question->precision);
    cnn_reference_write_parameters(out->reference, question->parameters);
    out->loss =
        cnn_reference_forward(out->reference, question->images, question->labels, question->counts, question->distinct);
    out->loss_bound = cnn_reference_loss_bound(out->reference);
    out->output = cnn_reference_output(out->reference, last);
    out->output_bound = cnn_reference_output_bound(out->reference, last);
    if (question->gradient) {
        cnn_reference_backward(out->reference);
        out->gradient = cnn_reference_gradient(out->reference);
        out->gradient_bound = cnn_reference_gradient_bound(out->reference);
    }
    return CNN_OK;
}

int oracle_ask(struct oracle_answer *out, const struct oracle_question *question, const char *folder,
               struct cnn_error *error)
{
    struct head head;
    char path[ORACLE_PATH];
    *out = (struct oracle_answer){ .loss = 0 };
    bool shares = folder && *folder && make_head(&head, question) &&
                  file_path(path, folder, oracle_group(&question->network->spec, question->batch), question->precision);
    if (shares && take(out, question, &head, path))
        return CNN_OK;
    int status = compute(out, question, error);
    if (status == CNN_OK && shares)
        leave(out, question, &head, folder, path);
    return status;
}

void oracle_free(struct oracle_answer *answer)
{
    cnn_reference_destroy(answer->reference);
    if (answer->mapped)
        munmap(answer->mapped, (size_t)answer->mapped_bytes);
    *answer = (struct oracle_answer){ .loss = 0 };
}
