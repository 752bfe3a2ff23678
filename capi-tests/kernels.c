// Prints the name of every kernel that the library has, one a line, whether this processor runs it or not. There is one
// way to ask for that: to name a kernel that does not exist.

#define _GNU_SOURCE  // setenv
#include <qgemm/qgemm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    setenv("QGEMM_ISA", "?", 1);
    const char *known = "known are ";
    const char *names = qgemm_kernel_name() ? NULL : strstr(qgemm_last_error(), known);
    if (names == NULL) {
        fprintf(stderr, "no list of kernels in \"%s\"\n", qgemm_last_error());
        return 1;
    }
    for (const char *c = names + strlen(known); *c; c++)
        if (*c == ',')
            putchar('\n');
        else if (*c != ' ')
            putchar(*c);
    putchar('\n');
    return 0;
}
