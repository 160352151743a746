/* SPDX-License-Identifier: MIT */
/* Epochs over batches, on any backend: the order of images is the seed's alone. Knows no clock; whoever wants seconds
 * takes them in the callback. */
#ifndef CNN_LIB_TRAINER_H
#define CNN_LIB_TRAINER_H

#include "lib/backend.h"
#include "lib/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cnn_trainer_options {
    int batch, epochs;
    struct cnn_rates rates;
    float rate_decay; /* the rate is multiplied by this after each epoch; 1: constant */
    uint64_t seed;
};

struct cnn_epoch {
    int epoch; /* from 1 */
    double train_loss,
        train_accuracy; /* mean over the images of the epoch, as seen before each update; accuracy 0..1 */
    double test_loss, test_accuracy;
    uint64_t parameters_checksum;
};

/* Called at the start of an epoch's training (stage 0), at its end before testing (1) and after testing with the
 * figures (2). Return false to stop training there. */
typedef bool (*cnn_epoch_callback)(void *context, int stage, const struct cnn_epoch *epoch);

/* Order of the images of an epoch: a permutation of 0..count-1 from the seed and the epoch number alone. */
void cnn_trainer_order(uint64_t seed, int epoch, int32_t *order, int64_t count);

/* Trains an already compiled program (phases train and evaluate, batch = options.batch) whose parameters are written.
 * The short last batch runs at its true size. A loss that is not finite ends training with CNN_ERROR and the epoch's
 * number. */
int cnn_trainer_run(const struct cnn_backend *backend, struct cnn_program *program, const struct cnn_network *network,
                    const struct cnn_dataset *train, const struct cnn_dataset *test,
                    const struct cnn_trainer_options *options, cnn_epoch_callback callback, void *context,
                    struct cnn_error *error);

#ifdef __cplusplus
}
#endif
#endif
