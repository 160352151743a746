/* SPDX-License-Identifier: MIT */
/* The one place that names the concrete backends. */
#ifndef DRIVER_BACKENDS_H
#define DRIVER_BACKENDS_H

#include "lib/backend.h"

/* A backend that exists somewhere, in this build or not. */
struct backend_entry {
    const char *name, *label;          /* as in struct cnn_backend */
    const struct cnn_backend *backend; /* NULL: not in this build */
    const char *sources;               /* hash of its own sources and the core's, as they were when it was built */
    const char *archs;                 /* of its code, told by --version; NULL or empty: nothing to tell */
    const char *missing;               /* then: why, and what to do; one sentence without the name */
    bool threads, isa, launch;         /* which of these axes make a difference to it */
    const char *optional;              /* an algorithm that a build may lack: then it is unavailable, not unknown */
};

/* All of them; the last one has a NULL name. */
const struct backend_entry *backend_entries(void);

/* NULL for a word that is no backend. */
const struct backend_entry *backend_entry(const char *name);

/* The backends of this build, NULL-terminated. */
const struct cnn_backend *const *backends(void);

/* The backend of that name. NULL with CNN_UNAVAILABLE and why for one that exists but not in this build ("cuda"), with
 * CNN_INVALID for a word that is no backend. */
const struct cnn_backend *backend_find(const char *name, struct cnn_error *error);

#endif
