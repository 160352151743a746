/* SPDX-License-Identifier: MIT */
/* The CPU backends: `cpu` runs every range of tiles on the calling thread, `omp` deals it to all of them. The kernels
 * are the same objects, so that the ratio of the two measures threading and nothing else. */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include "lib/backend.h"

extern const struct cnn_backend cnn_cpu_backend;
extern const struct cnn_backend cnn_omp_backend; /* only in a build with OpenMP */

#endif
