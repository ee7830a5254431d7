/* sql.c - statements and transactions. */
#include "lab/results/internal.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char *path_of(sqlite3 *q)
{
    const char *path = sqlite3_db_filename(q, "main");
    return path && *path ? path : "database";
}

int sql_fail(sqlite3 *q, err *e, const char *what)
{
    const char *path = path_of(q), *said = sqlite3_errmsg(q);
    switch (sqlite3_errcode(q)) {
    case SQLITE_NOTADB: return fail(e, "%s: found a file that is not an SQLite database", path);
    case SQLITE_CORRUPT:
        return fail(e, "%s: the database is damaged (%s); `sqlite3 %s .recover` recovers what is readable", path, said,
                    path);
    case SQLITE_FULL: return fail(e, "%s: the disk is full while %s", path, what);
    case SQLITE_READONLY: return fail(e, "%s is read-only; failed while %s", path, what);
    case SQLITE_CANTOPEN: return fail(e, "%s: cannot open (%s)", path, said);
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return fail(e, "%s: another process still holds the database, while %s", path, what);
    default: return fail(e, "%s: %s, while %s", path, said, what);
    }
}

static int bind(sqlite3_stmt *s, const char *types, va_list ap)
{
    int rc = SQLITE_OK;
    for (int i = 1; *types && rc == SQLITE_OK; types++, i++) {
        if (*types == 'i' || *types == 'I') {
            int64_t v = va_arg(ap, int64_t);
            rc = *types == 'I' && v < 0 ? sqlite3_bind_null(s, i) : sqlite3_bind_int64(s, i, v);
        } else if (*types == 'd' || *types == 'D') {
            double v = va_arg(ap, double);
            bool none = !isfinite(v) || (*types == 'D' && v < 0);
            rc = none ? sqlite3_bind_null(s, i) : sqlite3_bind_double(s, i, v);
        } else if (*types == 's') {
            const char *v = va_arg(ap, const char *);
            rc = v ? sqlite3_bind_text(s, i, v, -1, SQLITE_TRANSIENT) : sqlite3_bind_null(s, i);
        } else if (*types == 'b') {
            const void *v = va_arg(ap, const void *);
            size_t n = va_arg(ap, size_t);
            rc = v ? sqlite3_bind_blob64(s, i, v, n, SQLITE_TRANSIENT) : sqlite3_bind_null(s, i);
        } else {
            broken("lab/results/sql.c: unknown binding type '%c'", *types);
        }
    }
    return rc;
}

/* Returns a prepared and bound statement, or NULL and a message. */
static sqlite3_stmt *open_v(sqlite3 *q, err *e, const char *sql, const char *types, va_list ap)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(q, sql, -1, &s, NULL);
    if (rc == SQLITE_OK) rc = bind(s, types, ap);
    if (rc == SQLITE_OK) return s;
    sql_fail(q, e, "preparing a statement");
    sqlite3_finalize(s);
    return NULL;
}

enum { KEPT = ' ', MOST_KEPT = 128 }; /* KEPT: first letter of the SQL of statements from sql_keep */

static sqlite3_stmt *keep_v(sqlite3 *q, err *e, const char *sql, const char *types, va_list ap)
{
    sqlite3_stmt *s = NULL;
    int n = 0;
    for (; (s = sqlite3_next_stmt(q, s)); n++)
        if (sqlite3_sql(s)[0] == KEPT && same(sqlite3_sql(s) + 1, sql)) break;
    if (s) return bind(s, types, ap) == SQLITE_OK ? s : (sql_fail(q, e, "binding a statement"), NULL);
    AUTOFREE char *text = n < MOST_KEPT ? xprintf("%c%s", KEPT, sql) : xstrdup(sql);
    return open_v(q, e, text, types, ap);
}

sqlite3_stmt *sql_keep(sqlite3 *q, err *e, const char *sql, const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    sqlite3_stmt *s = keep_v(q, e, sql, types, ap);
    va_end(ap);
    return s;
}

void sql_rest(sqlite3_stmt *s)
{
    if (!s || sqlite3_sql(s)[0] != KEPT) {
        sqlite3_finalize(s);
        return;
    }
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
}

void sql_close(sqlite3 *q)
{
    for (sqlite3_stmt *s; q && (s = sqlite3_next_stmt(q, NULL));) sqlite3_finalize(s);
    sqlite3_close(q);
}

sqlite3_stmt *sql_open(sqlite3 *q, err *e, const char *sql, const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    sqlite3_stmt *s = open_v(q, e, sql, types, ap);
    va_end(ap);
    return s;
}

void *list_grow(arena *a, const void *list, size_t n, size_t size)
{
    if (n & (n - 1)) return (void *)(uintptr_t)list; /* grows only at n = 0, 1, 2, 4, 8 ... */
    void *wider = arena_alloc(a, (n ? 2 * n : 1) * size);
    if (n) memcpy(wider, list, n * size);
    return wider;
}

int sql_ids(sqlite3_stmt *s, arena *a, int64_t **ids, size_t *n, err *e)
{
    int rc = 0;
    for (*ids = NULL, *n = 0; sql_each(s, "", &rc, e); ++*n) {
        *ids = list_grow(a, *ids, *n, sizeof **ids);
        (*ids)[*n] = sqlite3_column_int64(s, 0);
    }
    return rc;
}

int sql_next(sqlite3_stmt *s, err *e)
{
    if (!s) return -1;
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) return 1;
    if (rc == SQLITE_DONE) return 0;
    char what[80];
    snprintf(what, sizeof what, "running `%.48s`", sqlite3_sql(s) + (sqlite3_sql(s)[0] == KEPT));
    return sql_fail(sqlite3_db_handle(s), e, what);
}

static int damaged(sqlite3_stmt *s, const char *name, size_t n, const char *found, err *e)
{
    const char *path = path_of(sqlite3_db_handle(s));
    return fail(e, "%s is damaged: found %s in %.*s; `sqlite3 %s .recover | sqlite3 NEW.db` saves what can be saved",
                path, found, (int)n, name, path);
}

int sql_known(sqlite3_stmt *s, int column, const char *name, err *e)
{
    if (sqlite3_column_type(s, column) != SQLITE_NULL) return 0;
    return damaged(s, name, strcspn(name, " "), "NULL", e);
}

int sql_row(sqlite3_stmt *s, const char *names, err *e)
{
    int rc = sql_next(s, e);
    for (int i = 0; rc == 1 && *names; i++) {
        if (*names != '-' && sql_known(s, i, names, e)) return -1;
        names += strcspn(names, " ");
        names += *names == ' ';
    }
    return rc;
}

bool sql_each(sqlite3_stmt *s, const char *names, int *rc, err *e)
{
    bool row = !*rc && (*rc = sql_row(s, names, e)) == 1;
    if (row)
        *rc = 0;
    else
        sql_rest(s);
    return row;
}

int sql_status(sqlite3_stmt *s, int column, enum db_status *out, err *e)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    if (text && !status_parse(text, out)) return 0;
    return damaged(s, "run.status", strlen("run.status"), text ? "an unknown word" : "NULL", e);
}

int sql_int(sqlite3 *q, err *e, int64_t *out, const char *sql, const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    sqlite3_stmt *s = keep_v(q, e, sql, types, ap);
    va_end(ap);
    int rc = sql_next(s, e);
    if (!out)
        while (rc == 1) rc = sql_next(s, e);
    if (rc == 1 && sqlite3_column_type(s, 0) == SQLITE_NULL) rc = 0;
    if (rc == 1) *out = sqlite3_column_int64(s, 0);
    sql_rest(s);
    return rc;
}

int sql_script(sqlite3 *q, const char *sql, err *e)
{
    return sqlite3_exec(q, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_fail(q, e, "running a script");
}

const char *sql_bytes(sqlite3_stmt *s, int column, arena *a)
{
    /* checked first, because SQLite returns NULL when memory runs out, too */
    bool there = sqlite3_column_type(s, column) != SQLITE_NULL;
    const unsigned char *t = sqlite3_column_text(s, column);
    if (there && !t) out_of_memory(0);
    return t ? arena_strdup(a, (const char *)t) : NULL;
}

static const char *shown(const char *text, bool lines, arena *a)
{
    if (!text || is_printable(text, lines)) return text;
    CLEANUP(str_free) str out = {0};
    str_add_shown(&out, text, lines);
    return arena_strndup(a, out.s, out.n);
}
const char *sql_text(sqlite3_stmt *s, int column, arena *a) { return shown(sql_bytes(s, column, a), false, a); }
const char *sql_lines(sqlite3_stmt *s, int column, arena *a) { return shown(sql_bytes(s, column, a), true, a); }

static void show(char **text)
{
    str out = {0};
    if (!*text || is_printable(*text, false)) return;
    str_add_shown(&out, *text, false);
    cJSON_free(*text);
    *text = out.s;
}

static void show_all(cJSON *o)
{
    for (cJSON *x = o->child; x; x = x->next) show_all(x);
    show(&o->string);
    show(&o->valuestring);
}

/* sql_text for the texts in a JSON value */
static const char *json_text(sqlite3_stmt *s, int column, arena *a)
{
    const char *text = sql_bytes(s, column, a);
    if (!text || (!strchr(text, '\\') && is_printable(text, false))) return text;
    cJSON *all = cJSON_Parse(text);
    if (!all) return text; /* whoever reads the JSON reports the fault */
    show_all(all);
    char *again = cJSON_PrintUnformatted(all);
    text = arena_strdup(a, again);
    cJSON_free(again);
    cJSON_Delete(all);
    return text;
}

double sql_real(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

void sql_read(sqlite3_stmt *s, arena *a, const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    for (int i = 0; types[i]; i++) switch (types[i]) {
        case 'i': *va_arg(ap, int64_t *) = sqlite3_column_int64(s, i); break;
        case 'I':
            *va_arg(ap, int64_t *) = sqlite3_column_type(s, i) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, i);
            break;
        case 'd': *va_arg(ap, double *) = sql_real(s, i); break;
        case 'B': *va_arg(ap, bool *) = sqlite3_column_int(s, i); break;
        case 's': *va_arg(ap, const char **) = sql_text(s, i, a); break;
        case 'l': *va_arg(ap, const char **) = sql_lines(s, i, a); break;
        case 'j': *va_arg(ap, const char **) = json_text(s, i, a); break;
        case 'b': *va_arg(ap, const char **) = sql_bytes(s, i, a); break;
        case '-': break;
        default: broken("lab/results/sql.c: unknown reading type '%c'", types[i]);
        }
    va_end(ap);
}

void sql_add_json(str *out, sqlite3_stmt *s, int column)
{
    switch (sqlite3_column_type(s, column)) {
    case SQLITE_NULL: str_add(out, "null"); break;
    case SQLITE_INTEGER: str_addf(out, "%lld", (long long)sqlite3_column_int64(s, column)); break;
    case SQLITE_FLOAT: json_number(out, sqlite3_column_double(s, column)); break;
    case SQLITE_BLOB:
        str_addc(out, '"');
        base64_encode(sqlite3_column_blob(s, column), (size_t)sqlite3_column_bytes(s, column), out);
        str_addc(out, '"');
        break;
    default: json_string(out, (const char *)sqlite3_column_text(s, column));
    }
}

static void quote_with(str *out, const char *text, char mark)
{
    str_addc(out, mark);
    for (; *text; text++) {
        if (*text == mark) str_addc(out, mark);
        str_addc(out, *text);
    }
    str_addc(out, mark);
}
void sql_quote(str *out, const char *name) { quote_with(out, name, '"'); }
void sql_literal(str *out, const char *text) { quote_with(out, text, '\''); }

/* Sets `synchronous`: a power cut may lose the last points, but not a run's status. */
static int set_durable(db *d, bool durable, err *e)
{
    if (d->durable == durable) return 0;
    if (sql_script(d->q, durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", e)) return -1;
    d->durable = durable;
    return 0;
}

static bool busy_tell(db *d, const char *what, double seconds)
{
    AUTOFREE char *news = xprintf("%s %s after %.0f s", d->path, what, seconds);
    if (!d->waits) log_line(LOG_WARN, "%s", news);
    return !d->waits || d->waits(d->waiting, news);
}

static int on_busy(void *self, int n)
{
    enum { TELL = 5, MS = 50 };
    db *d = self;
    if (!n && !d->busy_told) d->busy_since = ticks();
    double seconds = ticks() - d->busy_since;
    bool more = d->patient || seconds < environment_real("ABLATE_DATABASE_WAIT", 30);
    if (d->waits) more = d->waits(d->waiting, NULL) && more;
    if (more && seconds > TELL && !d->busy_told) {
        d->busy_told = true;
        more = busy_tell(d, "is held by another process (a backup?): waiting for it", seconds);
    }
    if (more) sqlite3_sleep(n < MS ? n + 1 : MS);
    return more;
}

void sql_wait(db *d) { sqlite3_busy_handler(d->q, on_busy, d); }

void db_on_wait(db *d, bool (*waits)(void *self, const char *news), void *self)
{
    d->waits = waits;
    d->waiting = self;
}

int tx_begin(db *d, bool durable, err *e)
{
    if (d->pid != getpid())
        return fail(e,
                    "%s: this database was opened by process %d; its child, process %d, tried to write, but only the "
                    "host process may",
                    d->path, (int)d->pid, (int)getpid());
    if (d->group) return sql_script(d->q, "SAVEPOINT one", e);
    if (set_durable(d, durable, e)) return -1;
    if (sqlite3_exec(d->q, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return sql_fail(d->q, e, "beginning a transaction");
    if (d->busy_told) busy_tell(d, "is free again", ticks() - d->busy_since);
    d->busy_told = false;
    return 0;
}

int tx_end(db *d, int rc, err *e)
{
    err none = {0};
    if (d->group && rc) sql_script(d->q, "ROLLBACK TO one", &none);
    if (d->group) return sql_script(d->q, "RELEASE one", rc ? &none : e) || rc ? -1 : 0;
    if (rc == 0 && sqlite3_exec(d->q, "COMMIT", NULL, NULL, NULL) == SQLITE_OK) return 0;
    if (rc == 0) sql_fail(d->q, e, "committing");
    /* After some failures SQLite has already rolled back. */
    if (!sqlite3_get_autocommit(d->q)) sqlite3_exec(d->q, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

int db_begin(db *d, err *e)
{
    if (!d->group && tx_begin(d, true, e)) return -1;
    d->group = true;
    return 0;
}

int db_end(db *d, int rc, err *e)
{
    if (!d->group) return rc ? -1 : 0;
    d->group = false;
    return tx_end(d, rc, e);
}
