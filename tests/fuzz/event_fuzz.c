/* event_fuzz.c - bytes as lines of a worker's pipe: split into fields that stay inside the line; statistics are as many
 * numbers as the line has, whatever it claims. */
#include "file.h"
#include "lab/launch/event.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *line = xstrndup((const char *)data, n), *field[10];
    size_t length = strlen(line);
    int fields = event_split(line, field, n % 2 ? 10 : 8);
    must(fields >= 1 && fields <= 10, "a wrong number of fields");
    for (int i = 0; i < fields; i++)
        must(field[i] >= line && field[i] + strlen(field[i]) <= line + length, "a field outside its line");
    if (fields == 10) {
        size_t rows = strtoull(field[7], NULL, 10), width = strtoull(field[8], NULL, 10);
        double *v = event_stats(field[9], rows, width);
        volatile double sum = 0;
        for (size_t i = 0; v && i < rows * width; i++) sum = sum + v[i];
        free(v);
    }
    free(line);
    return 0;
}
