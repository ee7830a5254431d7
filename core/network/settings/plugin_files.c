/* plugin_files.c - names and hashes of plugins' files. A plugin consists of its source and the files beside it that the
 * source includes or imports. */
#include "network/settings/plugin_files.h"
#include "base/cleanup.h"

size_t plugin_suffix(const char *value)
{
    static const char *const endings[] = {".so", ".c", ".py"};
    for (size_t i = 0; i < LENGTH(endings); i++)
        if (has_suffix(value, endings[i])) return strlen(endings[i]);
    return 0;
}

typedef struct {
    char *folder, **names;
    size_t n, cap;
    bool python;
} sources;

/* Adds a file of the folder, unless the file is listed already. Takes ownership of name. */
static void add(sources *all, char *name)
{
    AUTOFREE char *path = path_join(all->folder, name);
    bool new = !strchr(name, '/') && file_exists(path) && !is_folder(path);
    for (size_t i = 0; i < all->n; i++) new = new && !same(all->names[i], name);
    if (!new) {
        free(name);
        return;
    }
    all->names = grow(all->names, &all->cap, all->n + 1, sizeof *all->names);
    all->names[all->n++] = name;
}

static void add_included(sources *all, const char *line)
{
    static const char before[] = "#include \"";
    if (has_prefix(line, before)) add(all, xstrndup(line + strlen(before), strcspn(line + strlen(before), "\"")));
}

/* Reads "import a, b as c" or "from d import e". */
static void add_imported(sources *all, const char *line)
{
    bool several = has_prefix(line, "import "), one = has_prefix(line, "from ");
    for (const char *at = several || one ? strchr(line, ' ') : NULL; at; at = several ? strchr(at, ',') : NULL) {
        at += strspn(at, ", ");
        add(all, xprintf("%.*s.py", (int)strcspn(at, " .,;#"), at));
    }
}

static int add_named_in(sources *all, const char *name, err *e)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char *path = path_join(all->folder, name);
    char *rest;
    int rc = file_read_regular(path, 16 << 20, &text, e);
    for (char *line = rc || !text.n ? NULL : strtok_r(text.s, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        (all->python ? add_imported : add_included)(all, trim(line));
    return rc;
}

int plugin_each_source(const char *path, plugin_source f, void *self, err *e)
{
    const char *slash = strrchr(path, '/');
    sources all = {.folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup("."),
                   .python = has_suffix(path, ".py")};
    int rc = 0;
    add(&all, xstrdup(slash ? slash + 1 : path));
    if (!all.n) rc = fail(e, "%s: no such plugin file", path);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = f(all.folder, all.names[i], self, e) || add_named_in(&all, all.names[i], e);
    free_texts(all.names, all.n);
    free(all.folder);
    return rc ? -1 : 0;
}

static int add_hash(const char *folder, const char *name, void *self, err *e)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char *path = path_join(folder, name);
    int rc = file_read_regular(path, 16 << 20, &text, e);
    sha256_add(self, name, strlen(name) + 1);
    sha256_add(self, str_text(&text), text.n + 1);
    return rc;
}

int plugin_hash(const char *path, char out[65], err *e)
{
    sha256 all;
    if (!has_suffix(path, ".py")) return sha256_file(path, out, e);
    sha256_init(&all);
    sha256_add(&all, "ablate " ABLATE_VERSION, sizeof "ablate " ABLATE_VERSION);
    int rc = plugin_each_source(path, add_hash, &all, e);
    sha256_hex(&all, out);
    return rc;
}
