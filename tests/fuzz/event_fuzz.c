/* event_fuzz.c - bytes as lines of a worker's pipe: split into fields that stay inside the line. */
#include "file.h"
#include "launch/event.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *line = xstrndup((const char *)data, n), *field[10];
    size_t length = strlen(line);
    int fields = event_split(line, field, n % 2 ? 10 : 8);
    must(fields >= 1 && fields <= 10, "a wrong number of fields");
    for (int i = 0; i < fields; i++) must(field[i] >= line && field[i] + strlen(field[i]) <= line + length, "a field outside its line");
    free(line);
    return 0;
}
