/* SPDX-License-Identifier: MIT */
/* The one clock of all measurements: monotonic wall time. Processor time never stands for it. */
#ifndef DRIVER_CLOCK_H
#define DRIVER_CLOCK_H

double clock_seconds(void); /* since some moment in the past */

/* The smallest step that the clock was seen to take, in seconds: what it can tell apart. */
double clock_resolution(void);

#endif
