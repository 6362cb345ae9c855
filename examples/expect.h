/* SPDX-License-Identifier: MIT
 *
 * For the examples: says whether a result is what the host expects, and counts those that are not.
 *
 *     expect(sum == 6, "1 + 2 + 3");
 *     return failures ? 1 : 0;
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>

static int failures;

static void expect(int ok, const char *what) {
    printf("%-66s %s\n", what, ok ? "ok" : "WRONG");
    if (!ok) ++failures;
}

#endif /* EXPECT_H */
