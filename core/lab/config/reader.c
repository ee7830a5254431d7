/* reader.c - splits an INI's text into sections of entries, with inih.
 *
 * inih (as built by distributions) truncates lines at 200 bytes, appends an indented line to the value above
 * it, keeps `# ...` in values, cuts at ` ;` even inside quotes, and ignores text after `]`. So each line is
 * cleaned here before inih sees it. A long value is passed in pieces, as indented lines that the library
 * joins to the key above; what it would still truncate is an error. */
#include "lab/config/build.h"
#include <ini.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEY_MAX = 100, /* inih gets a key and the start of its value in one line */
    TITLE_MAX = 49 /* inih's buffer for section names has 50 bytes */
};
/* Characters with a meaning for inih are passed to it as control characters, which no line may contain. */
static const char shown[] = " \t;#", hidden[] = "\x1e\x1c\x1f\x1d";

typedef struct included { /* a file being read, and the line that includes it */
    const char *path, *where;
    const struct included *by; /* the including file; NULL: this is the file that `run` names */
} included;

typedef struct {
    const char *next, *end; /* the text not yet read */
    int line;               /* number of inih's current line */
    const char *path;
    const included *file; /* NULL: text in memory, which cannot include files */
    ini_file *out;
    ini_section *section; /* the section being read; NULL: this file has had no section yet */
    size_t inherited;     /* number of the section's first entries that come from included files */
    arena *a;
    str *errors;
    bool skip;   /* the section header was invalid: skip its keys */
    str clean;   /* the cleaned line that inih gets */
    size_t sent; /* bytes of `clean` passed to inih so far */
    bool joins;  /* the current piece continues the previous entry */
    str value;   /* value of the pieces so far */
    const char *key;
    name_set keys; /* indices of the section's keys, if it has inherited entries */
} reader;

void *build_room(void *old, size_t *cap, size_t n, size_t size, arena *a)
{
    if (n < *cap) return old;
    *cap = *cap ? 2 * *cap : 8;
    void *p = arena_alloc(a, *cap * size);
    if (n) memcpy(p, old, n * size);
    return p;
}

void ini_add(ini_section *s, ini_entry e, arena *a)
{
    s->at = build_room(s->at, &s->cap, s->n, sizeof *s->at, a);
    s->at[s->n++] = e;
}

bool room_for_error(str *errors)
{
    static const char more[] = "only the first 100 errors are shown\n";
    if (has_suffix(str_text(errors), more)) return false;
    size_t lines = 0;
    for (const char *p = str_text(errors); (p = strchr(p, '\n')); p++) lines++;
    if (lines == MOST_ERRORS) str_add(errors, more);
    return lines < MOST_ERRORS;
}

/* Reads the text of an INI. */
static int ini_read(const char *path, str *out, err *e)
{
    if (file_read_regular(path, MOST_BYTES, out, e)) return -1;
    const char *zero = out->n ? memchr(out->s, 0, out->n) : NULL;
    if (!zero) return 0;
    size_t line = 1;
    for (const char *p = out->s; p < zero; p++) line += *p == '\n';
    return fail(e, "%s:%zu: found a zero byte, expected text", path, line);
}

static const char *place(const reader *r) { return arena_printf(r->a, "%s:%d", r->path, r->line); }

/* Adds an error at the current line. Returns false. */
static PRINTF_LIKE(2, 3) bool refuse(reader *r, const char *fmt, ...)
{
    va_list args;
    if (!room_for_error(r->errors)) return false;
    str_addf(r->errors, "%s:%d: ", r->path, r->line);
    va_start(args, fmt);
    str_addv(r->errors, fmt, args);
    va_end(args);
    str_addc(r->errors, '\n');
    return false;
}

/* The next line, without its end, into *text; false at the end of the file. */
static bool next_line(reader *r, str *text)
{
    if (r->next == r->end) return false;
    const char *stop = memchr(r->next, '\n', (size_t)(r->end - r->next));
    size_t n = (size_t)((stop ? stop : r->end) - r->next);
    str_clear(text);
    str_addn(text, r->next, n && r->next[n - 1] == '\r' ? n - 1 : n);
    r->next = stop ? stop + 1 : r->end;
    r->line++;
    return true;
}

static bool is_plain(reader *r, const str *text)
{
    for (size_t i = 0, used = 0; i < text->n; i += used) {
        unsigned char c = (unsigned char)text->s[i];
        used = utf8_length(text->s + i);
        if (!used)
            return refuse(r, "found byte 0x%02x, column %zu, expected UTF-8; `iconv` converts the file", c, i + 1);
        if (c != '\t' && control_at(text->s + i))
            return refuse(r, "found a control character (byte %d, column %zu), expected text", c, i + 1);
    }
    return true;
}

/* Do the quotes enclose a whole item? Then the start of the value or one of = , / stands before `open`; after `close`
 * stands the end of the line, a comment, or one of , /. */
static bool quotes_item(const char *start, const char *open, const char *close)
{
    const char *before = open, *after = close + 1;
    while (before > start && is_blank(before[-1])) before--;
    after += strspn(after, " \t");
    bool comment = after > close + 1 && (*after == '#' || *after == ';');
    return (before == start || strchr("=,/", before[-1])) && (!*after || comment || strchr(",/", *after));
}

/* Removes a comment, which starts with # or ; at the start of the line or after a blank, outside quotes. False: an
 * error. */
static bool cut_comment(reader *r, char *s)
{
    char *open = NULL;
    for (char *p = s; *p; p++) {
        if (*p == '"' && open && !quotes_item(s, open, p))
            return refuse(r, "found %s, expected quotes around a whole value or item", trim(s));
        if (*p == '"')
            open = open ? NULL : p;
        else if (!open && (*p == '#' || *p == ';') && (p == s || is_blank(p[-1]))) {
            *p = 0;
            return true;
        }
    }
    return !open || refuse(r, "found an opening quote, expected a closing one on the same line");
}

static void one_blank(char *s)
{
    char *to = s;
    for (const char *p = s; *p; p++)
        if (!is_blank(*p) || (to > s && to[-1] != ' ')) *to++ = is_blank(*p) ? ' ' : *p;
    *to = 0;
}

/* "[sweep A]  # words" -> a new section. */
static bool read_header(reader *r, char *s)
{
    r->skip = true;
    char *close = strchr(s, ']');
    if (!close) return refuse(r, "%s: found an unclosed section name, expected a ]", s);
    char *rest = trim(close + 1);
    if (*rest && *rest != '#' && *rest != ';')
        return refuse(r, "found \"%s\" after %.*s, expected nothing or a comment", rest, (int)(close + 1 - s), s);
    *close = 0;
    char *title = trim(s + 1);
    one_blank(title);
    size_t n = strlen(title);
    if (!n) return refuse(r, "found [], expected a name in the brackets");
    if (title[strcspn(title, ";\"")])
        return refuse(r, "[%s]: found ; or a quote in a section name, expected neither", title);
    if (n > TITLE_MAX)
        return refuse(r, "[%s]: found a section name of %zu bytes, expected at most %d", title, n, TITLE_MAX);
    ini_file *f = r->out;
    const char *own = arena_strdup(r->a, title);
    size_t at = f->n, i;
    if (name_set_add(&f->titles, own, at, &at)) {
        f->at = build_room(f->at, &f->cap, f->n, sizeof *f->at, r->a);
        f->at[f->n++] = (ini_section){.title = own};
    } else if (f->at[at].path == r->path) {
        return refuse(r, "[%s]: found a second section of this name, expected one; the first is at %s", title,
                      f->at[at].where);
    }
    r->section = &f->at[at];
    r->section->where = place(r), r->section->path = r->path;
    r->inherited = r->section->n;
    name_set_free(&r->keys);
    for (size_t k = 0; k < r->inherited; k++) name_set_add(&r->keys, r->section->at[k].key, k, &i);
    r->skip = false;
    str_addf(&r->clean, "[%s]", title);
    return true;
}

static void recode(char *s, const char *from, const char *to)
{
    for (; *s; s++)
        if (strchr(from, *s)) *s = to[strchr(from, *s) - from];
}

static int load(const char *path, const included *file, ini_file *out, str *text, arena *a, str *errors, err *e);

/* Returns a text that is the same for all paths of one file; NULL: no such file. */
static const char *identity_of(const char *path, arena *a)
{
    struct stat s;
    return stat(path, &s) ? NULL : arena_printf(a, "%ju:%ju", (uintmax_t)s.st_dev, (uintmax_t)s.st_ino);
}

/* include = FILE, above the first section: reads the sections of a file beside this one, unless they are read already.
 * Returns false: the line adds no entry. */
static bool include(reader *r, const char *value)
{
    const char *folder = strrchr(r->path, '/'), *name = unquote(value, r->a), *where = place(r);
    const char *path =
        *name == '/' || !folder ? name : arena_printf(r->a, "%.*s/%s", (int)(folder - r->path), r->path, name);
    if (!r->file) return refuse(r, "include: found in a text that is not a file, which cannot include files");
    if (r->section)
        return refuse(r, "include: found below [%s], expected it above the first section", r->section->title);
    const char *identity = identity_of(path, r->a);
    for (const included *f = r->file; f; f = f->by)
        if (same(identity, identity_of(f->path, r->a)))
            return refuse(r, "include: found a cycle: %s includes this file%s%s", name,
                          r->file->where ? " through " : "", r->file->where ? r->file->where : "");
    r->out->includes = true;
    size_t before;
    if (identity && !name_set_add(&r->out->loaded, identity, 0, &before)) return false;
    CLEANUP(str_free) str text = {0};
    err e = {{0}};
    if (load(path, &(included){path, where, r->file}, r->out, &text, r->a, r->errors, &e)) refuse(r, "%s", e.text);
    return false;
}

/* "  key = value  # words" -> "key=value". */
static bool read_pair(reader *r, char *s)
{
    if (!cut_comment(r, s) || r->skip) return false;
    char *equals = strchr(s, '=');
    s = trim(s);
    if (!*s) return false;
    if (!equals || equals == s) return refuse(r, "found \"%s\", expected key = value", s);
    *equals = 0;
    char *key = trim(s), *value = trim(equals + 1);
    if (key[strcspn(key, ":\"")]) return refuse(r, "found \"%s\" before the =, expected a key", key);
    if (same(key, "include")) return include(r, value);
    if (!r->section)
        return refuse(r, "%s: found a key before any section, expected [base] or another section above it", key);
    if (strlen(key) > KEY_MAX)
        return refuse(r, "%.40s...: found a key of %zu bytes, expected at most %d", key, strlen(key), KEY_MAX);
    recode(value, shown, hidden);
    str_addf(&r->clean, "%s=%s", key, value);
    return true;
}

static void next_clean(reader *r, str *text)
{
    str_clear(&r->clean);
    r->sent = 0;
    char *s = text->n && is_plain(r, text) ? trim(text->s) : NULL;
    bool kept = s && (*s == '[' ? read_header(r, s) : read_pair(r, s));
    if (!kept) str_clear(&r->clean);
}

/* Called by inih. Returns the next cleaned line, or its next piece; an empty line if the line was rejected. */
static char *read_line(char *buffer, int size, void *user)
{
    reader *r = user;
    CLEANUP(str_free) str text = {0};
    r->joins = r->sent < r->clean.n;
    if (!r->joins) {
        if (!next_line(r, &text)) return NULL;
        next_clean(r, &text);
    }
    size_t room = (size_t)size - 4, left = r->clean.n - r->sent; /* 4: a blank before the piece; CR, LF, NUL after */
    int n = (int)(left < room ? left : room);
    snprintf(buffer, (size_t)size, "%s%.*s", r->joins ? " " : "", n, str_text(&r->clean) + r->sent);
    r->sent += (size_t)n;
    return buffer;
}

/* Was the entry read from this file, not from an included one? */
static bool is_own(const reader *r, const ini_entry *e)
{
    return has_prefix(e->where, r->path) && e->where[strlen(r->path)] == ':';
}

static int read_entry(void *user, const char *section, const char *key, const char *value)
{
    reader *r = user;
    ini_section *s = r->section;
    if (!same(s->title, section)) broken("the INI library is in [%s] while the reader is in [%s]", section, s->title);
    if (!r->joins) {
        r->key = arena_strdup(r->a, key);
        str_clear(&r->value);
    }
    str_add(&r->value, value);
    if (r->sent < r->clean.n) return 1; /* more pieces follow */
    char *whole = arena_strdup(r->a, str_text(&r->value));
    recode(whole, hidden, shown);
    ini_entry e = {place(r), r->key, whole};
    size_t at;
    if (r->inherited && !name_set_add(&r->keys, e.key, s->n, &at) && !is_own(r, &s->at[at])) return s->at[at] = e, 1;
    ini_add(s, e, r->a);
    return 1;
}

static void split(const char *text, size_t n, const char *path, const included *file, ini_file *out, arena *a,
                  str *errors)
{
    reader r = {.next = text + byte_order_mark(text, n),
                .end = text + n,
                .path = path,
                .file = file,
                .out = out,
                .a = a,
                .errors = errors};
    int rc = ini_parse_stream(read_line, &r, read_entry, &r);
    str_free(&r.clean);
    str_free(&r.value);
    name_set_free(&r.keys);
    if (rc) str_addf(errors, "%s:%d: found a line that the INI library rejects, expected key = value\n", path, rc);
}

static void free_sets(ini_file *f)
{
    name_set_free(&f->titles);
    name_set_free(&f->loaded);
}

void ini_split(const char *text, size_t n, const char *path, ini_file *out, arena *a, str *errors)
{
    split(text, n, path, NULL, out, a, errors);
    free_sets(out);
}

static int load(const char *path, const included *file, ini_file *out, str *text, arena *a, str *errors, err *e)
{
    if (ini_read(path, text, e)) return -1;
    split(str_text(text), text->n, path, file, out, a, errors);
    return 0;
}

bool ini_load(const char *path, ini_file *out, str *text, arena *a, str *errors)
{
    err e = {{0}};
    int bad = load(path, &(included){.path = path}, out, text, a, errors, &e);
    free_sets(out);
    if (bad) return str_addf(errors, "%s\n", e.text), false;
    if (!out->includes) return true;
    str_clear(text);
    for (size_t i = 0; i < out->n; i++) {
        str_addf(text, "%s[%s]\n", i ? "\n" : "", out->at[i].title);
        for (size_t k = 0; k < out->at[i].n; k++)
            str_addf(text, "%s = %s\n", out->at[i].at[k].key, out->at[i].at[k].value);
    }
    return true;
}
