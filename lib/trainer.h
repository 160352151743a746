/* SPDX-License-Identifier: MIT */
/* Epochs over batches, on any backend: the order of images is the seed's alone. Knows no clock; whoever wants seconds
 * takes them in the callback. */
#ifndef CNN_LIB_TRAINER_H
#define CNN_LIB_TRAINER_H

#include "lib/backend.h"
#include "lib/dataset.h"
#include "lib/distort.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cnn_trainer_options {
    int batch, epochs;
    int slots; /* of the program: so many batches are loaded, then run without a pause; 0: 1 */
    struct cnn_rates rates;
    float rate_decay; /* the rate is multiplied by this after each epoch; 1: constant */
    uint64_t seed;
    const struct cnn_distortion *distortion; /* of training images, anew in every epoch; NULL: none */
};

struct cnn_epoch {
    int epoch; /* from 1 */
    double train_loss,
        train_accuracy; /* mean over the images of the epoch, as seen before each update; accuracy 0..1 */
    double test_loss, test_accuracy;
    uint64_t parameters_checksum;
};

/* What begins now. */
enum cnn_epoch_stage {
    CNN_EPOCH_LOADS,  /* images become batches, distorted where asked, in the slots */
    CNN_EPOCH_TRAINS, /* a step on each of them; then more are loaded, until the epoch has seen every image once */
    CNN_EPOCH_TESTS,  /* loading of test images included */
    CNN_EPOCH_DONE    /* with the epoch's figures */
};

/* Return false to stop training there. */
typedef bool (*cnn_epoch_callback)(void *context, enum cnn_epoch_stage stage, const struct cnn_epoch *epoch);

/* Order of the images of an epoch: a permutation of 0..count-1 from the seed and the epoch number alone. */
void cnn_trainer_order(uint64_t seed, int epoch, int32_t *order, int64_t count);

/* Trains an already compiled program (phases train and evaluate, batch and slots as in the options) whose parameters
 * are written.
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
