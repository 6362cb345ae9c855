/* SPDX-License-Identifier: MIT
 * The one implementation that all test programs link. */
#define GPULITE_IMPLEMENTATION
#include "gpulite.h"
