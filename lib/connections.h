/* SPDX-License-Identifier: MIT */
/* Connection tables: which input maps each output map of a convolution reads. Internal to lib. */
#ifndef CNN_LIB_CONNECTIONS_H
#define CNN_LIB_CONNECTIONS_H

#include "lib/network.h"

/* The number of pairs of `in` to `out` maps, before anything is drawn or allocated. `in` and `out` are already
 * multiplied by width: tables of the papers take their group size from them. *table is false where every pair is
 * connected, so that no table is needed. CNN_INVALID with a sentence that starts with `where`. */
int cnn_connections_count(const struct cnn_connection_spec *spec, int in, int out, const char *where, int64_t *pairs,
                          bool *table, struct cnn_error *error);

/* Writes out + 1 offsets and cnn_connections_count()'s number of ascending sources. Random tables depend on seed and
 * `sub` (the layer's place) alone. CNN_OOM when there is no memory for the drawing. */
int cnn_connections_write(const struct cnn_connection_spec *spec, int in, int out, uint64_t seed, uint32_t sub,
                          int32_t *first, int32_t *source, struct cnn_error *error);

#endif
