/* get.c - builds a corpus's folder from downloads, and the command `data`. */
#include "text/data/brackets.h"
#include "base/cleanup.h"
#include "text/data/corpora.h"
#include "text/data/fetch.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- existing files ---- */

static bool first_of_out(const corpus *c, int i)
{
    for (int k = 0; k < i; k++)
        if (same(c->pieces[k].out, c->pieces[i].out)) return false;
    return true;
}

static char *out_path(const corpus *c, const char *dir, const char *out)
{
    return xprintf("%s/%s/%s", dir, c->name, out);
}

void corpus_state(const corpus *c, const char *dir, int *here, int *all)
{
    *here = *all = 0;
    for (int i = 0; i < c->n_pieces; i++) {
        if (!first_of_out(c, i)) continue;
        AUTOFREE char *path = out_path(c, dir, c->pieces[i].out);
        ++*all;
        *here += file_exists(path);
    }
}

int64_t corpus_download_bytes(const corpus *c)
{
    int64_t sum = 0;
    for (int i = 0; i < c->n_pieces; i++) {
        bool before = false;
        for (int k = 0; k < i; k++) before |= c->pieces[k].from == c->pieces[i].from;
        if (!before) sum += c->pieces[i].from->bytes;
    }
    return sum;
}

/* ---- getting ---- */

/* Returns a download's path, DIR/downloads/host_path with _ for /, so that names of two hosts stay apart. */
static char *download_path(const download *d, const char *dir)
{
    AUTOFREE char *name = xstrdup(strstr(d->url, "://") + strlen("://"));
    for (char *c = name; *c; c++)
        if (*c == '/') *c = '_';
    return xprintf("%s/downloads/%s", dir, name);
}

static const tree_file *tree_file_of(const corpus *c, const char *out)
{
    for (int i = 0; c->trees && i < c->trees->n; i++)
        if (same(c->trees->file[i].out, out)) return &c->trees->file[i];
    return NULL;
}

/* Appends the trees of `from` to the file `to`. list: file with numbers of articles, or NULL. *n: number of trees. */
static int convert(const tree_form *t, const char *from, const char *list, const char *to, int64_t *n, err *e)
{
    CLEANUP(str_free) str text = {0}, ids = {0}, trees = {0};
    int rc = file_read(from, &text, e) || (list && file_read(list, &ids, e)) ? -1 : 0;
    if (!rc && t->form == FORM_GENIA)
        rc = brackets_genia(str_text(&text), str_text(&ids), &trees, e);
    else if (!rc)
        rc = brackets_lines(str_text(&text), text.n, &trees, e);
    FILE *f = rc ? NULL : fopen(to, "ab");
    bool written = f && fwrite(str_text(&trees), 1, trees.n, f) == trees.n;
    if (f && fclose(f)) written = false;
    if (!rc && !written) rc = fail(e, "%s: cannot be written: %s", to, strerror(errno));
    *n = 0;
    for (const char *at = str_text(&trees); (at = strchr(at, '\n')); at++) ++*n;
    return rc;
}

/* The list of a treebank's documents, if the treebank has a file per document (text/metric/documents.h). */
#define DOCUMENTS "documents.tsv"
static bool has_documents(const corpus *c) { return c->trees && c->trees->form == FORM_BRACKETS; }

/* Appends a line such as "GUM_bio_byron<tab>dev<tab>25". */
static void add_document(const piece *p, int64_t trees, str *out)
{
    const char *name = strrchr(p->from->url, '/') + 1;
    str_addf(out, "%.*s\t%.*s\t%lld\n", (int)strcspn(name, "."), name, (int)strcspn(p->out, "."), p->out,
             (long long)trees);
}

/* Appends a piece to the file `part`, and its document to `documents`. */
static int add_piece(const corpus *c, const piece *p, const char *dir, const char *part, const char *scratch,
                     str *documents, err *e)
{
    const tree_file *made = tree_file_of(c, p->out);
    AUTOFREE char *from = download_path(p->from, dir), *source = xprintf("%s.source", scratch);
    AUTOFREE char *list = made && made->articles ? download_path(made->articles, dir) : NULL;
    int rc = fetch_download(p->from, from, e);
    if (!rc && list) rc = fetch_download(made->articles, list, e);
    if (!rc && !made) {
        rc = fetch_unpack(p, from, part, scratch, e);
    } else if (!rc) {
        unlink(source); /* left by a killed run */
        rc = fetch_unpack(p, from, source, scratch, e);
        int64_t trees = 0;
        if (!rc && convert(c->trees, source, list, part, &trees, e)) rc = fail_in(e, "%s: ", from);
        if (has_documents(c)) add_document(p, trees, documents);
        unlink(source);
    }
    return rc;
}

/* Checks that the converted trees have the expected sha256. */
static int check_trees(const corpus *c, const char *out, const char *part, err *e)
{
    char sum[65];
    const tree_file *made = tree_file_of(c, out);
    if (!made) return 0;
    if (sha256_file(part, sum, e)) return -1;
    return same(sum, made->sha256) ? 0 : fail(e, "%s/%s has sha256 %s, expected %s", c->name, out, sum, made->sha256);
}

static char *part_path(const corpus *c, const char *dir, const char *out)
{
    return xprintf("%s/%s/%s.part", dir, c->name, out);
}

/* Writes OUT.part from its pieces. publish() renames it when the whole corpus is there. */
static int assemble(const corpus *c, const char *dir, const char *out, str *documents, err *e)
{
    AUTOFREE char *part = part_path(c, dir, out), *scratch = xprintf("%s/%s/%s.scratch", dir, c->name, out);
    unlink(part);
    int rc = 0, files = 0;
    for (int i = 0; i < c->n_pieces; i++) files += same(c->pieces[i].out, out);
    if (c->trees && files > 1) log_line(LOG_INFO, "%s/%s: getting %d files", c->name, out, files);
    for (int i = 0; i < c->n_pieces && !rc; i++)
        if (same(c->pieces[i].out, out)) rc = add_piece(c, &c->pieces[i], dir, part, scratch, documents, e);
    if (!rc) rc = check_trees(c, out, part, e);
    if (rc) unlink(part);
    return rc;
}

static int count_lines(const char *path, int64_t *n, err *e)
{
    FILE *f = fopen(path, "rb");
    if (!f) return fail(e, "%s: cannot be opened: %s", path, strerror(errno));
    enum { BLOCK = 1 << 20 };
    AUTOFREE char *block = xmalloc(BLOCK);
    *n = 0;
    for (size_t got; (got = fread(block, 1, BLOCK, f)) > 0;)
        for (const char *at = block, *end = block + got; (at = memchr(at, '\n', (size_t)(end - at))); at++) ++*n;
    bool bad = ferror(f);
    fclose(f);
    return bad ? fail(e, "%s: cannot be read", path) : 0;
}

/* Checks that the languages of a text have equally many lines: "train.en" and "train.de". */
static int check_lines(const corpus *c, const char *dir, err *e)
{
    AUTOFREE int64_t *lines = xcalloc((size_t)c->n_pieces, sizeof *lines);
    int rc = 0;
    for (int i = 0; i < c->n_pieces && !rc; i++) {
        if (!first_of_out(c, i)) continue;
        const char *out = c->pieces[i].out;
        AUTOFREE char *part = part_path(c, dir, out), *whole = out_path(c, dir, out);
        rc = count_lines(file_exists(part) ? part : whole, &lines[i], e);
        size_t stem = (size_t)(strrchr(out, '.') - out) + 1;
        for (int k = 0; k < i && !rc; k++)
            if (first_of_out(c, k) && !strncmp(c->pieces[k].out, out, stem) && lines[k] != lines[i])
                rc = fail(e, "%s has %lld lines, but %s, its other side, has %lld", out, (long long)lines[i],
                          c->pieces[k].out, (long long)lines[k]);
    }
    return rc;
}

/* Renames every new file to its final name. */
static int publish(const corpus *c, const char *dir, err *e)
{
    int rc = 0;
    for (int i = 0; i < c->n_pieces && !rc; i++) {
        if (!first_of_out(c, i)) continue;
        AUTOFREE char *part = part_path(c, dir, c->pieces[i].out), *whole = out_path(c, dir, c->pieces[i].out);
        if (file_exists(part) && rename(part, whole))
            rc = fail(e, "%s: cannot be renamed to %s: %s", part, whole, strerror(errno));
    }
    return rc;
}

static int get_locked(const corpus *c, const char *dir, err *e)
{
    CLEANUP(str_free) str documents = {0};
    AUTOFREE char *list = out_path(c, dir, DOCUMENTS);
    bool kept = false;
    int rc = 0;
    str_add(&documents, "document\tsplit\ttrees\n");
    for (int i = 0; i < c->n_pieces && !rc; i++) {
        if (!first_of_out(c, i)) continue;
        AUTOFREE char *whole = out_path(c, dir, c->pieces[i].out), *part = part_path(c, dir, c->pieces[i].out);
        bool here = file_exists(whole);
        if (here) unlink(part); /* left by a killed run */
        rc = here ? 0 : assemble(c, dir, c->pieces[i].out, &documents, e);
        kept = kept || (here && tree_file_of(c, c->pieces[i].out));
    }
    if (!rc) rc = check_lines(c, dir, e);
    if (!rc && has_documents(c) && !kept) rc = file_write(list, documents.s, documents.n, e);
    if (!rc && has_documents(c) && kept)
        log_line(LOG_WARN, "%s: %s is not written, because trees of an earlier run are there: remove %s/%s to get it",
                 c->name, DOCUMENTS, dir, c->name);
    return rc || publish(c, dir, e) ? -1 : 0;
}

int corpus_get(const corpus *c, const char *dir, err *e)
{
    int here, all;
    corpus_state(c, dir, &here, &all);
    if (here == all) {
        log_line(LOG_INFO, "%s: all %d files are in %s/%s", c->name, all, dir, c->name);
        return 0;
    }
    AUTOFREE char *folder = path_join(dir, c->name), *downloads = path_join(dir, "downloads"),
                  *lock = path_join(downloads, ".lock");
    int rc = make_folders(folder, e) || make_folders(downloads, e) ? -1 : 0;
    if (!rc) {
        int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666); /* a lock: two runs would write the same files */
        while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR) {}
        rc = get_locked(c, dir, e);
        if (fd >= 0) close(fd);
    }
    if (!rc) log_line(LOG_INFO, "%s: %d files in %s; %s may be removed", c->name, all, folder, downloads);
    return rc;
}
