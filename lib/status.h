/* SPDX-License-Identifier: MIT */
/* Status words, the same in code, in rows and in reports, and the error that travels with one. */
#ifndef CNN_LIB_STATUS_H
#define CNN_LIB_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum cnn_status {
    CNN_OK,
    CNN_UNSTABLE,    /* measured, but the interval stayed wide */
    CNN_MISMATCH,    /* the answer differs from the oracle's */
    CNN_INVALID,     /* this network, shape or combination cannot exist */
    CNN_UNAVAILABLE, /* this machine or build lacks what is needed */
    CNN_OOM,         /* planned or met: not enough memory */
    CNN_TIMEOUT,
    CNN_ERROR,   /* anything else: a file, a crash, a device fault */
    CNN_SKIPPED, /* not run, by choice or budget */
    CNN_STATUS_COUNT
};

/* One sentence for a person: where, what was found, what was expected, what to do. */
struct cnn_error {
    enum cnn_status status;
    char text[512];
};

/* "ok", "unstable", ...; never NULL. */
const char *cnn_status_word(enum cnn_status status);

/* The reverse; CNN_STATUS_COUNT for a word that is none. */
enum cnn_status cnn_status_parse(const char *word);

/* Fills *error (which may be NULL) and returns `status`, so that a failure is one return statement. */
int cnn_error_set(struct cnn_error *error, enum cnn_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Puts "context: " before the sentence that is there; returns error->status. */
int cnn_error_prefix(struct cnn_error *error, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#ifdef __cplusplus
}
#endif
#endif
