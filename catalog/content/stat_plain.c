/* stat_plain.c - statistics, for any machine. */
#define TARGET
#define KERNELS stat_plain
#include "catalog/content/stat_loops.h"
