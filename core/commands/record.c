/* record.c - `ablate record`: exports, and takes this machine's folders out. */
#include "commands/record.h"
#include "results/db.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *folder, *name;
} place;

/* Is it a whole path that begins at `at`, in a text that begins at `start`? */
static bool is_path(const char *start, const char *at, const char *end, const char *folder)
{
    size_t n = strlen(folder);
    if ((size_t)(end - at) < n || strncmp(at, folder, n)) return false;
    bool begins = at == start || strchr(" =:,;'([{", at[-1]) || at[-1] == '"';
    return begins && (at + n == end || strchr("/ :,;')]}\\\"", at[n]));
}

/* The inside of one JSON string. */
static void add_text(str *out, const char *start, const char *end, const place *places, size_t n)
{
    for (const char *at = start; at < end;) {
        size_t i = 0;
        while (i < n && !is_path(start, at, end, places[i].folder)) i++;
        if (i == n) {
            str_addc(out, *at++);
            continue;
        }
        str_add(out, places[i].name);
        at += strlen(places[i].folder);
    }
}

static const char *end_of_string(const char *at)
{
    while (*at && *at != '"') at += *at == '\\' && at[1] ? 2 : 1;
    return at;
}

void record_without_folders(const char *json, const char *data_dir, const char *root, str *out)
{
    const place all[] = {{data_dir, "$ABLATE_DATA"}, {root, "."}};
    place places[LENGTH(all)];
    size_t n = 0;
    for (size_t i = 0; i < LENGTH(all); i++) /* others are no place of this machine */
        if (all[i].folder[0] == '/' && all[i].folder[1]) places[n++] = all[i];
    bool stats = false; /* is the value that of the key "stats"? */
    for (const char *at = json; *at;) {
        if (*at != '"') {
            if (*at == ',' || *at == '{') stats = false;
            str_addc(out, *at++);
            continue;
        }
        const char *start = at + 1, *end = end_of_string(start), *next = end + (*end == '"');
        next += strspn(next, " \n\t");
        bool key = *next == ':';
        if (key) stats = (size_t)(end - start) == strlen("stats") && !strncmp(start, "stats", strlen("stats"));
        str_addc(out, '"');
        if (key || stats)
            str_addn(out, start, (size_t)(end - start));
        else
            add_text(out, start, end, places, n);
        if (*end) str_addc(out, '"');
        at = end + (*end == '"');
    }
}

static int clean_file(const char *path, const places *p, err *e)
{
    str text = {0}, clean = {0};
    int bad = file_read(path, &text, e);
    if (!bad) {
        record_without_folders(str_text(&text), p->data_dir, p->root, &clean);
        bad = file_write(path, str_text(&clean), clean.n, e);
    }
    str_free(&text);
    str_free(&clean);
    return bad;
}

int report_record(int argc, char **argv, const places *p)
{
    err e = {0};
    bool option = false;
    for (int i = 1; i < argc; i++) option = option || argv[i][0] == '-';
    if (argc < 2 || argc > 3 || option) {
        fprintf(stderr, "usage: ablate record EXPERIMENT [FILE.json]    (of another database: ABLATE_DB=FILE)\n");
        return 2;
    }
    char *name = xprintf("experiments/recorded/%s.json", argv[1]);
    char *path = argc > 2 ? xstrdup(argv[2]) : path_join(p->root, name);
    db *d = db_open(&p->db, &e);
    int bad = !d || db_export(d, argv[1], path, 200, &e) || clean_file(path, p, &e);
    db_close(d);
    if (bad)
        fprintf(stderr, "ablate record: %s\n", e.text);
    else
        fprintf(stderr, "%s\n", path);
    free(name);
    free(path);
    return bad ? 1 : 0;
}
