/* event_fuzz.c - fuzzes lines of a worker's pipe: fields stay inside the line, and statistics never have more numbers
 * than the line, even if the line claims a larger count. */
#include "file.h"
#include "lab/launch/event.h"
#include <string.h>

/* Returns how many numbers a text begins with, but at most `most`. */
static size_t numbers(const char *text, size_t most)
{
    size_t n = 0;
    for (char *end; n < most && (strtod(text, &end), end != text); text = end) n++;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *line = xstrndup((const char *)data, n), *field[EVENT_RESULT_FIELDS];
    size_t length = strlen(line);
    int fields = event_split(line, field, has_prefix(line, "result\t") ? EVENT_RESULT_FIELDS : 8);
    must(fields >= 1 && fields <= EVENT_RESULT_FIELDS, "a wrong number of fields");
    for (int i = 0; i < fields; i++)
        must(field[i] >= line && field[i] + strlen(field[i]) <= line + length, "a field outside its line");
    if (fields == EVENT_RESULT_FIELDS) {
        size_t rows = strtoull(field[9], NULL, 10), width = strtoull(field[10], NULL, 10);
        double *v = event_stats(field[11], rows, width);
        must(!v || numbers(field[11], rows * width) == rows * width, "more statistics than the line has numbers");
        volatile double sum = 0; /* reads every number, so that a sanitizer notices a list that is too short */
        for (size_t i = 0; v && i < rows * width; i++) sum = sum + v[i];
        free(v);
    }
    free(line);
    return 0;
}
