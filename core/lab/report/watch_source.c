/* watch_source.c - keeps a live view's connection between frames, and the experiment until a process writes. */
#include "lab/report/watch.h"
#include <stdlib.h>
#include <sys/stat.h>

struct watch_source {
    reader *r;
    db_options options;
    char *path, *name;
    dev_t device; /* identify the file that r reads, because another file may replace it */
    ino_t file;
    arena a; /* holds x */
    read_experiment x;
    int64_t version; /* the database's version when x was read; -1: x is empty */
};

/* Opens the file of this name, unless it is open already. */
static int open_file(watch_source *w, err *e)
{
    struct stat now;
    bool there = !stat(w->path, &now);
    if (w->r && (!there || (now.st_dev == w->device && now.st_ino == w->file))) return 0;
    reader_close(w->r);
    w->version = -1;
    w->r = reader_open(&w->options, e);
    if (!w->r || stat(w->path, &now)) return w->r ? fail(e, "%s is gone", w->path) : -1;
    w->device = now.st_dev, w->file = now.st_ino;
    return 0;
}

watch_source *watch_source_open(const db_options *o, const char *name, err *e)
{
    watch_source *w = xcalloc(1, sizeof *w);
    *w = (watch_source){.options = *o, .path = xstrdup(o->path), .name = name ? xstrdup(name) : NULL, .version = -1};
    w->options.path = w->path;
    if (!open_file(w, e)) return w;
    watch_source_close(w);
    return NULL;
}

void watch_source_close(watch_source *w)
{
    if (!w) return;
    reader_close(w->r);
    arena_free(&w->a);
    free(w->path);
    free(w->name);
    free(w);
}

/* Reads the experiment if another process has written since. */
static int renew(watch_source *w, err *e)
{
    int64_t version = reader_version(w->r, e); /* before reading, so that the next frame reads later writes */
    if (version < 0) return -1;
    if (version == w->version) return 0;
    w->version = -1;
    arena_free(&w->a);
    int rc = reader_experiment(w->r, w->name, READ_BRIEF, &w->a, &w->x, e);
    if (rc == 1)
        rc = fail(e, "found no experiment%s%s%s; `ablate ls` lists the experiments", w->name ? " \"" : "",
                  w->name ? w->name : "", w->name ? "\"" : "");
    if (!rc) w->version = version;
    return rc;
}

int watch_source_draw(watch_source *w, const watch_view *v, double now, str *out, size_t *wrong, err *e)
{
    return open_file(w, e) || renew(w, e) ? -1 : watch_frame(w->r, &w->x, v, now, out, wrong, e);
}
