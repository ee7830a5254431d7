/* lines.c - the service that reads a file's lines for tasks. */
#include "network/plugin/plugin.h"
#include "base/gzip.h"
#include "base/places.h"
#include <stdlib.h>
#include <string.h>

int read_lines_service(const char *path, char ***lines, int64_t *n, char *message, size_t n_message)
{
    str text = {0};
    char **at = NULL;
    size_t count = 0;
    err e = {0};
    bool packed = has_suffix(path, ".gz");
    if ((packed ? gzip_read(path, SIZE_MAX, &text, &e) : file_read(path, &text, &e)) ||
        text_lines(&text, path, &at, &count, &e)) {
        snprintf(message, n_message, "%s", e.text);
        free(at);
        str_free(&text);
        return -1;
    }
    size_t head = (count + 1) * sizeof *at; /* one block holds the pointers, then the text */
    char **block = xmalloc(head + text.n + 1);
    char *copy = (char *)block + head;
    memcpy(copy, str_text(&text), text.n + 1);
    for (size_t i = 0; i < count; i++) block[i] = copy + (at[i] - text.s);
    if (count) block[0] += byte_order_mark(block[0], strlen(block[0]));
    places_add(path, block, count, copy + text.n + 1);
    *lines = block;
    *n = (int64_t)count;
    free(at);
    str_free(&text);
    return 0;
}
void free_lines_service(char **lines)
{
    places_remove(lines);
    free(lines);
}
