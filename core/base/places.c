/* places.c - lists the files whose lines are in memory. */
#include "base/places.h"
#include "base/base.h"
#include <stdlib.h>

typedef struct file file;
struct file {
    file *next;
    char *path;
    char *const *line;
    size_t n;
    const char *end;
};
static file *files;

void places_add(const char *path, char *const *line, size_t n, const char *end)
{
    file *f = xcalloc(1, sizeof *f);
    *f = (file){files, xstrdup(path), line, n, end};
    files = f;
}

void places_remove(char *const *line)
{
    for (file **at = &files; *at; at = &(*at)->next) {
        file *f = *at;
        if (f->line != line) continue;
        *at = f->next;
        free(f->path);
        free(f);
        return;
    }
}

const char *place_of(const char *text, char out[PLACE])
{
    *out = 0;
    for (const file *f = files; f && !*out; f = f->next) {
        if (!f->n || text < f->line[0] || text >= f->end) continue;
        size_t low = 0, high = f->n; /* the line is among lines [low, high) */
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (f->line[middle] <= text)
                low = middle;
            else
                high = middle;
        }
        snprintf(out, PLACE, "%s:%zu: ", f->path, low + 1);
    }
    return out;
}
