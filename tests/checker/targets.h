/* SPDX-License-Identifier: MIT */
/* Everything that can run here: a device for each backend and number of threads, a target for each of its algorithms
 * and instruction sets. */
#ifndef TESTS_CHECKER_TARGETS_H
#define TESTS_CHECKER_TARGETS_H

#include "tests/checker/check.h"

#define TARGETS_MAX 256
#define DEVICES_MAX 16
#define ISAS_MAX 8

/* Names apart by commas; NULL: all. */
struct check_filter {
    const char *backend, *algorithm, *isa;
};

struct check_room {
    struct cnn_device *devices[DEVICES_MAX];
    const struct cnn_backend *owners[DEVICES_MAX];
    struct cnn_device_info info[DEVICES_MAX];
    char isas[DEVICES_MAX][ISAS_MAX][16];
    struct check_target targets[TARGETS_MAX];
    int device_count, target_count;
};

/* Opens what the filter wants; omp with 1, 2 and 3 threads. What is not available is left out aloud. Returns an exit
 * code: 0, 1 where a device fails, 2 where a name is no backend, 77 where nothing is left. The caller closes the room.
 */
int check_room_open(struct check_room *room, const struct check_filter *filter);
void check_room_close(struct check_room *room);

/* "omp direct avx2, 2 threads" */
void check_target_name(const struct check_target *target, char *text, size_t size);

#endif
