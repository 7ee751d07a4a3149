/*
 * resources.h - what processes have used, from /proc.
 */
#ifndef UMAVEZ_BENCH_RESOURCES_H
#define UMAVEZ_BENCH_RESOURCES_H

#include <stdint.h>
#include <sys/types.h>

/* Memory that is resident now, and the most that it ever was, MiB. */
double resources_rss(pid_t pid);
double resources_peak_rss(pid_t pid);

/* Open descriptors. */
int resources_descriptors(pid_t pid);

/* Processor time so far, user and system, microseconds. */
int64_t resources_cpu_us(pid_t pid);

#endif
