/* load.c - opens a shared object and accepts its description or refuses it with a message; calls no plugin function. */
#include "network/plugin/open.h"
#include "network/plugin/python.h"
#include "base/below.h"
#include "network/settings/config.h"
#include "tensor/graph/params.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct { /* opened plugins; folders to search; the folder of ab_plugin.h */
    plugin **loaded;
    char **folders, *include;
    size_t n_loaded, cap_loaded, n_folders, cap_folders, searched;
} known;

const char *plugin_kind_name(ab_kind kind) { return config_kinds[kind < AB_KIND_COUNT ? kind : 0].name; }

/* ---- checking the description ---- */

static size_t iface_size(ab_kind kind)
{
#define KIND_SIZE(NAME, name, ...) [AB_##NAME] = sizeof(ab_##name##_plugin),
    static const size_t sizes[AB_KIND_COUNT] = {0, AB_KINDS(KIND_SIZE)};
    return kind < AB_KIND_COUNT ? sizes[kind] : 0;
}

static const ab_plugin *find_constant(void *so, const char *path, err *e)
{
    const ab_plugin *p = dlsym(so, "ab_plugin_v2");
    for (int v = 0; !p && v < 10; v++) {
        char name[32];
        snprintf(name, sizeof name, "ab_plugin_v%d", v);
        if (dlsym(so, name)) {
            fail(e, "%s: speaks plugin ABI %d, this host speaks %u; %s the plugin against this host's ab_plugin.h",
                 path, v, AB_ABI_MAJOR, v > (int)AB_ABI_MAJOR ? "update the host, or rebuild" : "rebuild");
            return NULL;
        }
    }
    if (!p)
        fail(e, "%s: not a plugin: it exports no ab_plugin_v%u (does it end with AB_PLUGIN(...)?)", path, AB_ABI_MAJOR);
    return p;
}

int plugin_check_param(const ab_plugin *p, const ab_option *q, const char *path, err *e)
{
    if (!q->doc || !*q->doc)
        return fail(e, "%s: parameter '%s' has no doc; a description with the unit is required", path, q->name);
    if (q->type < AB_INT || q->type > AB_TEXT)
        return fail(e, "%s: parameter '%s' has type %d, which ablate does not know", path, q->name, (int)q->type);
    if (q->offset + 8 > p->cfg_size)
        return fail(e,
                    "%s: parameter '%s' takes bytes %zu to %zu, expected all within the config struct's %zu; is its "
                    "field an int64_t, double or const char *?",
                    path, q->name, (size_t)q->offset, (size_t)q->offset + 7, (size_t)p->cfg_size);
    bool ranged = q->type == AB_INT || q->type == AB_REAL;
    bool word = q->type == AB_INT && q->choices && q->def < 0;
    if (ranged && !word && (q->def < q->min || q->def > q->max))
        return fail(e, "%s: parameter '%s': default %g is outside its range %g to %g", path, q->name, q->def, q->min,
                    q->max);
    if (q->type == AB_CHOICE && !q->choices)
        return fail(e, "%s: parameter '%s' is a choice without choices", path, q->name);
    return 0;
}

/* Checks that every parameter has 8 bytes of the config struct to itself. */
static int check_params(const ab_plugin *p, const char *path, err *e)
{
    for (const ab_option *q = p->params; q; q++) {
        int row = (int)(q - p->params) + 1;
        if (mapped_from(q, false) < sizeof *q)
            return fail(e, "%s: the parameter table does not end: row %d lies beyond the file's data; end it with {0}",
                        path, row);
        if (!q->name) return 0;
        if (!mapped_text(q->name) || (q->doc && !mapped_text(q->doc)) || (q->choices && !mapped_text(q->choices)) ||
            !is_plain_word(q->name))
            return fail(e, "%s: row %d of the parameter table is no parameter; does the table end with {0}?", path,
                        row);
        if (plugin_check_param(p, q, path, e)) return -1;
        for (const ab_option *o = p->params; o < q; o++) {
            if (same(o->name, q->name)) return fail(e, "%s: two parameters are named '%s'", path, q->name);
            if (o->offset < q->offset + 8 && q->offset < o->offset + 8)
                return fail(e,
                            "%s: parameters '%s' and '%s' overlap in the config struct (offsets %zu and %zu); fields "
                            "are int64_t, double or const char *",
                            path, o->name, q->name, o->offset, q->offset);
        }
    }
    return 0;
}

static int check_slots(const ab_optimizer_plugin *o, const char *name, const char *path, err *e)
{
    if (o->n_slots > MOST_SLOTS)
        return fail(e, "%s: optimizer '%s' has %u slots, expected at most %d", path, name, o->n_slots, MOST_SLOTS);
    if (!o->period != !o->refresh) return fail(e, "%s: optimizer '%s' has only one of period and refresh", path, name);
    if (o->slot_shape && o->flags & AB_ELEMENTWISE)
        return fail(e,
                    "%s: optimizer '%s' has slot_shape, but is elementwise (AB_ELEMENTWISE), which gives slots the "
                    "shapes of parameters",
                    path, name);
    if (o->evaluated > o->n_slots || (o->evaluated && o->slot_shape))
        return fail(e, "%s: optimizer '%s' evaluates slot %u, expected one of its %u slots, in the parameters' shapes",
                    path, name, o->evaluated - 1, o->n_slots);
    for (uint32_t i = 0; i < o->n_slots; i++) {
        if (!o->slots || mapped_from(&o->slots[i], false) < sizeof *o->slots || !o->slots[i] ||
            !mapped_text(o->slots[i]) || !*o->slots[i])
            return fail(e, "%s: slot %u of optimizer '%s' has no name (slots); checkpoints need one", path, i, name);
        for (uint32_t k = 0; k < i; k++)
            if (same(o->slots[k], o->slots[i]))
                return fail(e, "%s: optimizer '%s' has two slots named '%s'", path, name, o->slots[i]);
    }
    return 0;
}

static int check_iface(const plugin *p, const char *path, err *e)
{
    const char *name = p->desc.name;
    uint32_t since = config_kinds[p->desc.kind].since;
    if (p->desc.minor < since)
        return fail(e, "%s: %s '%s' needs ABI 2.%u; build it with that ab_plugin.h", path,
                    plugin_kind_name(p->desc.kind), name, since);
    switch (p->desc.kind) {
    case AB_ATTENTION:
        if (!p->iface.attention.forward) return fail(e, "%s: attention '%s' has no forward", path, name);
        if (!(p->iface.attention.roles & 7))
            return fail(e, "%s: attention '%s' names no role (AB_SELF, AB_CAUSAL, AB_CROSS)", path, name);
        return 0;
    case AB_OPTIMIZER:
        if (!p->iface.optimizer.update) return fail(e, "%s: optimizer '%s' has no update", path, name);
        return check_slots(&p->iface.optimizer, name, path, e);
    case AB_NORM: return p->iface.norm.forward ? 0 : fail(e, "%s: norm '%s' has no forward", path, name);
    case AB_BLOCK: return p->iface.block.forward ? 0 : fail(e, "%s: block '%s' has no forward", path, name);
    case AB_SCHEDULE: return p->iface.schedule.lr ? 0 : fail(e, "%s: schedule '%s' has no lr", path, name);
    case AB_TASK: {
        bool alone = p->iface.task.flags & AB_DECODER_ONLY,
             scores = alone ? p->iface.task.score_likelihoods != NULL : p->iface.task.score != NULL;
        if (!p->iface.task.open || !p->iface.task.count || !p->iface.task.get || !scores || !p->iface.task.close)
            return fail(e, "%s: task '%s' lacks one of open, count, get, %s, close", path, name,
                        alone ? "score_likelihoods" : "score");
        if (p->iface.task.flags & AB_BIDIRECTIONAL && !alone)
            return fail(e, "%s: task '%s' has AB_BIDIRECTIONAL without AB_DECODER_ONLY", path, name);
        if ((p->iface.task.vocabulary || p->iface.task.start) &&
            (!p->iface.task.vocabulary || !p->iface.task.start || !p->iface.task.advance || !p->iface.task.allowed ||
             !p->iface.task.release))
            return fail(e, "%s: task '%s' lacks one of vocabulary, start, advance, allowed, release", path, name);
        return 0;
    }
    default: return 0;
    }
}

/* Checks that all pointers of the description point into the file's data. */
static int check_places(const ab_plugin *p, const char *path, err *e)
{
    const char *const texts[] = {p->name, p->doc, p->paper, p->version};
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (texts[i] && !mapped_text(texts[i])) return fail(e, "%s: damaged description (text %zu)", path, i + 1);
    size_t size = iface_size(p->kind) < p->iface_size ? iface_size(p->kind) : p->iface_size;
    if ((p->iface && mapped_from(p->iface, false) < size) || (p->host && mapped_from(p->host, true) < sizeof *p->host))
        return fail(e, "%s: damaged description: its interface is outside the file's data", path);
    bool good = !p->ops || mapped_list(p->ops);
    for (const ab_op *const *o = p->ops; good && o && *o; o++)
        good = mapped_from(*o, false) >= sizeof(ab_op) && mapped_text((*o)->name);
    if (!good) return fail(e, "%s: its list `ops` names no operations; does it end with NULL?", path);
    const char *const *calls = p->size >= offsetof(ab_plugin, calls) + sizeof p->calls ? p->calls : NULL;
    good = !calls || mapped_list(calls);
    for (; good && calls && *calls; calls++) good = mapped_text(*calls);
    return good ? 0 : fail(e, "%s: its list `calls` names no attentions; does it end with NULL?", path);
}

static int check_header(const ab_plugin *p, const char *path, err *e)
{
    if (mapped_from(p, false) < offsetof(ab_plugin, host) + sizeof p->host)
        return fail(e, "%s: damaged description: ab_plugin_v%u is no ab_plugin", path, AB_ABI_MAJOR);
    if (p->magic != AB_MAGIC || p->major != AB_ABI_MAJOR)
        return fail(e, "%s: damaged description (magic %08x, major %u)", path, p->magic, p->major);
    if (p->minor > AB_ABI_MINOR)
        return fail(e,
                    "%s: plugin '%s' needs ABI %u.%u, this host is %u.%u; update the host, or rebuild the plugin with "
                    "-DAB_TARGET_MINOR=%u",
                    path, p->name ? p->name : "?", p->major, p->minor, AB_ABI_MAJOR, AB_ABI_MINOR, AB_ABI_MINOR);
    if (p->size < offsetof(ab_plugin, host) + sizeof p->host || p->size > mapped_from(p, false))
        return fail(e, "%s: damaged description (size %u)", path, p->size);
    if (check_places(p, path, e)) return -1;
    if (!p->name || !*p->name) return fail(e, "%s: the plugin has no name", path);
    if (!is_plain_word(p->name))
        return fail(e, "%s: found the plugin's name \"%.64s\", expected letters, digits and _", path, p->name);
    if (!p->doc || !*p->doc) return fail(e, "%s: plugin '%s' has no doc; a description is required", path, p->name);
    if (!p->iface || !p->host) return fail(e, "%s: plugin '%s' has no interface", path, p->name);
    if (!iface_size(p->kind)) return fail(e, "%s: plugin '%s' has the unknown kind %d", path, p->name, (int)p->kind);
    return 0;
}

static plugin *accept_plugin(const ab_plugin *p, const char *path, err *e)
{
    if (check_header(p, path, e) || check_params(p, path, e)) return NULL;
    plugin *out = xcalloc(1, sizeof *out); /* zeroed, so that fields that an older plugin lacks are NULL */
    memcpy(&out->desc, p, p->size < sizeof *p ? p->size : sizeof *p);
    size_t size = iface_size(p->kind);
    memcpy(&out->iface, p->iface, p->iface_size < size ? p->iface_size : size);
    if (check_iface(out, path, e) || plugin_hash(path, out->sha256, e)) {
        free(out);
        return NULL;
    }
    out->path = xstrdup(path);
    out->desc.iface = &out->iface;
    *p->host = &host_table;
    return out;
}

static bool is_own_file(const char *full) { return known.n_folders && has_prefix(full, known.folders[0]); }

static plugin *open_python(const char *full, err *e)
{
    mapped_anywhere(true); /* Python's descriptions are on the heap, not in a file's data */
    const ab_plugin *p = python_describe(full, e);
    plugin *out = p ? accept_plugin(p, full, e) : NULL;
    mapped_anywhere(false);
    if (!out) python_reword(full, e->text, sizeof e->text);
    return out;
}

plugin *plugin_open_file(const char *full, err *e)
{
    if (has_suffix(full, ".py")) return open_python(full, e);
    void *so = dlopen(full, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!so) {
        const char *why = dlerror(),
                   *lacks = strstr(why, "undefined symbol: ab_host_") ? "; does it end with AB_PLUGIN(...)?" : "";
        return fail(e, "%s: cannot be opened: %s%s", full, why, lacks), NULL;
    }
    const ab_plugin *constant = find_constant(so, full, e);
    return constant ? accept_plugin(constant, full, e) : NULL;
}

const plugin *plugin_load(const char *path, err *e)
{
    char *file = plugin_prepare(path, e), *full = file ? realpath(file, NULL) : NULL;
    free(file);
    if (!file) return NULL;
    if (!full && !access(path, R_OK)) full = xstrdup(path); /* path is a file in memory, which has no full path */
    if (!full) {
        fail(e, "%s: no such plugin file", path);
        return NULL;
    }
    for (size_t i = 0; i < known.n_loaded; i++)
        if (same(known.loaded[i]->path, full)) {
            free(full);
            return known.loaded[i];
        }
    plugin *p = is_own_file(full) ? plugin_open_file(full, e) : plugin_open_tried(path, full, e);
    if (p) {
        known.loaded = grow(known.loaded, &known.cap_loaded, known.n_loaded + 1, sizeof *known.loaded);
        known.loaded[known.n_loaded++] = p;
    }
    free(full);
    return p;
}

int plugin_open_described(err *e)
{
    plugin_describe_in(NULL);
    for (size_t i = 0; i < known.n_loaded; i++) {
        bool anew = known.loaded[i]->described || has_suffix(known.loaded[i]->path, ".py");
        plugin *p = anew ? plugin_open_file(known.loaded[i]->path, e) : known.loaded[i];
        if (!p) return -1;
        *known.loaded[i] = *p;
    }
    return 0;
}

/* ---- folders ---- */

void plugin_set_include(const char *folder)
{
    free(known.include);
    known.include = xstrdup(folder);
}

const char *plugin_include(void) { return known.include ? known.include : "."; }

void plugin_add_folder(const char *folder)
{
    for (size_t i = 0; i < known.n_folders; i++)
        if (same(known.folders[i], folder)) return;
    known.folders = grow(known.folders, &known.cap_folders, known.n_folders + 1, sizeof *known.folders);
    known.folders[known.n_folders++] = xstrdup(folder);
}

void plugin_add_path(const char *path)
{
    for (const char *p = path ? path : ""; *p;) {
        size_t n = strcspn(p, ":");
        char *folder = xstrndup(p, n);
        if (n) plugin_add_folder(folder);
        free(folder);
        p += n + (p[n] == ':');
    }
}

/* Does a line of the Python file begin with the decorator of a plugin? Other files in a folder are not run. */
static bool python_decorates(const char *path)
{
    str text = {0};
    err unread = {0};
    bool yes = !file_read_regular(path, 16 << 20, &text, &unread) &&
               (strstr(str_text(&text), "\n@ab.") || strstr(str_text(&text), "\n@ablate."));
    str_free(&text);
    return yes;
}

static void each_file(const char *folder, plugin_file f, void *self)
{
    struct dirent **entry = NULL;
    int n = scandir(folder, &entry, NULL, alphasort);
    if (n < 0 && errno != ENOENT && errno != ENOTDIR)
        log_line(LOG_WARN, "plugins of the folder %s are skipped: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *path = path_join(folder, entry[i]->d_name);
        if (has_suffix(path, ".so") || (has_suffix(path, ".py") && python_decorates(path))) f(path, self);
        free(path);
        free(entry[i]);
    }
    free(entry);
}

static void each_in(const char *folder, plugin_file f, void *self)
{
    for (ab_kind k = 1; k < AB_KIND_COUNT; k++) {
        char *path = path_join(folder, plugin_kind_name(k));
        each_file(path, f, self);
        free(path);
    }
    each_file(folder, f, self);
}

void plugin_each_file(plugin_file f, void *self)
{
    for (size_t i = 0; i < known.n_folders; i++) each_in(known.folders[i], f, self);
}

static void load_one(const char *path, void *unused)
{
    err e = {0};
    (void)unused;
    if (!plugin_load(path, &e)) log_line(LOG_WARN, "refused: %s", e.text);
}

static void load_folders(void)
{
    for (; known.searched < known.n_folders; known.searched++) each_in(known.folders[known.searched], load_one, NULL);
}

bool plugin_is_own(const plugin *p)
{
    char *own = known.n_folders ? realpath(known.folders[0], NULL) : NULL;
    bool is = own && has_prefix(p->path, own) && p->path[strlen(own)] == '/';
    free(own);
    return is;
}

const plugin *const *plugin_list(size_t *n)
{
    load_folders();
    *n = known.n_loaded;
    return (const plugin *const *)known.loaded;
}

bool plugin_is_path(const char *name) { return strchr(name, '/') || plugin_suffix(name); }

/* Finds the plugin that plugin_load opened at this path or built from this source; else a plugin of the same name in
 * the user's folders. */
static const plugin *find_opened(ab_kind kind, const char *path, err *e)
{
    size_t n = strlen(path);
    char *so = has_suffix(path, ".c") ? xprintf("%.*sso", (int)n - 1, path) : xstrdup(path), *full = realpath(so, NULL);
    const plugin *p = NULL;
    for (size_t i = 0; i < known.n_loaded && !p; i++)
        if (same(known.loaded[i]->path, full ? full : so)) p = known.loaded[i];
    char *dot = strrchr(so, '.'), *slash = strrchr(so, '/'), *name = slash ? slash + 1 : so;
    if (dot > name) *dot = 0;
    for (size_t i = 0; i < known.n_loaded && !p; i++)
        if (known.loaded[i]->desc.kind == kind && same(known.loaded[i]->desc.name, name) &&
            !plugin_is_own(known.loaded[i]))
            p = known.loaded[i];
    free(so);
    free(full);
    if (!p)
        fail(e,
             "%s: is not opened, because only the command line and the INI of `run` name files of plugins; "
             "--plugin-path FOLDER opens those of its folder",
             path);
    return p;
}

static const plugin *expect_kind(const plugin *p, ab_kind kind, const char *path, err *e)
{
    if (!p || !kind || p->desc.kind == kind) return p;
    fail(e, "%s is a plugin of kind %s, expected %s", path, plugin_kind_name(p->desc.kind), plugin_kind_name(kind));
    return NULL;
}

const plugin *plugin_open(ab_kind kind, const char *name, err *e)
{
    return plugin_is_path(name) ? expect_kind(plugin_load(name, e), kind, name, e) : plugin_find(kind, name, e);
}

const plugin *plugin_find(ab_kind kind, const char *name, err *e)
{
    const plugin *p = NULL;
    load_folders();
    if (plugin_is_path(name)) return expect_kind(find_opened(kind, name, e), kind, name, e);
    const char **names = xcalloc(known.n_loaded + 1, sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < known.n_loaded && !p; i++) {
        if (kind && known.loaded[i]->desc.kind != kind) continue;
        if (same(known.loaded[i]->desc.name, name)) p = known.loaded[i];
        names[n++] = known.loaded[i]->desc.name;
    }
    if (!p) {
        const char *near = suggestion(name, names, n, "'");
        fail(e, "no %s%splugin '%s'%s", kind ? plugin_kind_name(kind) : "", kind ? " " : "", name,
             *near ? near
             : n   ? "; --plugin-path FOLDER adds a folder of plugins"
                   : "; no plugin folder was found");
    }
    free(names);
    return p;
}

int plugin_check_reach(const plugin *p, const void *cfg, int64_t needed, const char *why, err *e)
{
    for (const ab_option *q = p->desc.params; q && q->name; q++) {
        if (!same(q->name, "max_len") || q->type != AB_INT) continue;
        int64_t reach = *(const int64_t *)((const char *)cfg + q->offset);
        if (reach < needed)
            return fail(e, "%s.max_len = %lld: expected at least %lld, because %s", p->desc.name, (long long)reach,
                        (long long)needed, why);
    }
    return 0;
}

/* ---- listing ---- */

static void print_param(const ab_option *q, FILE *f)
{
    char def[32], lo[32], hi[32];
    static const char *const types[] = {"?", "int", "real", "bool", "choice", "text"};
    fprintf(f, "    %-20s %-6s ", q->name, types[q->type]);
    if (q->type == AB_TEXT)
        fprintf(f, "%-24s", q->choices ? q->choices : "(none)");
    else if (q->type == AB_BOOL)
        fprintf(f, "%-24s", q->def != 0 ? "true" : "false");
    else if (q->type == AB_CHOICE)
        fprintf(f, "%-24s", q->choices);
    else {
        char both[96];
        bool word = q->type == AB_INT && q->def < 0 && q->choices;
        snprintf(both, sizeof both, "%s (%s..%s)", word ? q->choices : format_real(q->def, def),
                 format_real(q->min, lo), format_real(q->max, hi));
        fprintf(f, "%-24s", both);
    }
    fprintf(f, " %s\n", q->doc);
}

void plugin_print(const plugin *p, FILE *f, bool parameters)
{
    fprintf(f, "%s/%-14s %s", plugin_kind_name(p->desc.kind), p->desc.name, p->desc.doc);
    if (p->desc.paper) fprintf(f, " (%s)", p->desc.paper);
    fputc('\n', f);
    for (const ab_option *q = p->desc.params; parameters && q && q->name; q++) print_param(q, f);
    if (parameters)
        fprintf(f, "    file %s, ABI %u.%u, sha256 %.12s\n", p->path, p->desc.major, p->desc.minor, p->sha256);
}

bool plugin_task_has_source(const char *name)
{
    err unused = {0};
    const plugin *p = plugin_find(AB_TASK, name, &unused);
    return !p || !(p->iface.task.flags & AB_DECODER_ONLY);
}
