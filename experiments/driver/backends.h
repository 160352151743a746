/* SPDX-License-Identifier: MIT */
/* The one place that names the concrete backends. */
#ifndef DRIVER_BACKENDS_H
#define DRIVER_BACKENDS_H

#include "lib/backend.h"

/* The backends of this build, NULL-terminated. */
const struct cnn_backend *const *backends(void);

/* The backend of that name. NULL with CNN_UNAVAILABLE and why for one that exists but not in this build ("cuda"), with
 * CNN_INVALID for a word that is no backend. */
const struct cnn_backend *backend_find(const char *name, struct cnn_error *error);

#endif
