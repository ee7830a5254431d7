/* cublaslt_file.c - the file of chosen algorithms that ABLATE_CUBLASLT_CHOICES names: a line per device, library and
 * shape, with fields separated by tabs. Timings differ from run to run, so another run may choose another algorithm,
 * which gives other bits. A run whose file has all its shapes times nothing.
 *
 *     device  version of cuBLASLt  shape  algorithm  its milliseconds  those of all candidates, best first
 *
 * The last line for a shape counts. The algorithm is named by its configuration and looked up among the library's
 * candidates, so that no data from the file reach the library. Several programs may share a file: it is locked while a
 * shape is timed. */
#if !defined GPU_ON_CPU || defined HAVE_CUBLASLT
#include "tensor/cuda/cublaslt_plan.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { FIELDS = 6 };
#define CONFIG_TEXT                                                                                                    \
    "id=%lld tile=%lld stages=%lld splits=%lld reduction=%lld swizzle=%lld custom=%lld inner=%lld "                    \
    "cluster=%lld"

typedef struct {
    char *where; /* device, version and shape, as in the file */
    lt_config chosen;
} kept;
static kept *table;
static size_t table_size, table_used, lines_read;

static const char *file_name(void)
{
    const char *name = getenv("ABLATE_CUBLASLT_CHOICES");
    return name ? name : ""; /* "": no file is named */
}
bool lt_keeps_choices(void) { return *file_name(); }

static char *where_text(const lt_key *k)
{
    return xprintf("%s\t%zu\tm=%lld n=%lld k=%lld rows=%lld,%lld,%lld steps=%lld,%lld,%lld,%lld batch=%lld "
                   "types=%d,%d flags=%d alignment=%d",
                   gpu_name(), lt.cublasLtGetVersion(), (long long)k->m, (long long)k->n, (long long)k->k,
                   (long long)k->row[0], (long long)k->row[1], (long long)k->row[2], (long long)k->step[0],
                   (long long)k->step[1], (long long)k->step[2], (long long)k->step[3], (long long)k->batch, k->type,
                   k->type_c, k->flags, k->alignment);
}

static int read_line(char *line, size_t number, err *e)
{
    char *field[FIELDS + 1];
    int n = 0;
    for (char *at = line; at && n <= FIELDS; n++) {
        field[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
    }
    if (n != FIELDS)
        return fail(e,
                    "%s:%zu: found %d fields%s, expected %d between tabs: device, version, shape, algorithm, "
                    "milliseconds, all milliseconds",
                    file_name(), number, n, n > FIELDS ? " or more" : "", FIELDS);
    long long v[LT_CONFIG];
    int used = 0;
    if (sscanf(field[3], CONFIG_TEXT "%n", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &used) !=
            LT_CONFIG ||
        field[3][used])
        return fail(e,
                    "%s:%zu: algorithm '%s', expected nine numbers: id=.. tile=.. stages=.. splits=.. "
                    "reduction=.. swizzle=.. custom=.. inner=.. "
                    "cluster=..",
                    file_name(), number, field[3]);
    table = grow(table, &table_size, table_used + 1, sizeof *table);
    table[table_used] = (kept){.where = xprintf("%s\t%s\t%s", field[0], field[1], field[2])};
    for (int i = 0; i < LT_CONFIG; i++) table[table_used].chosen.value[i] = v[i];
    table_used++;
    return 0;
}

int lt_read_choices(err *e)
{
    str text = {0};
    char **lines = NULL;
    size_t n = 0;
    if (!lt_keeps_choices() || !file_exists(file_name())) return 0;
    int bad = file_lines(file_name(), &text, &lines, &n, e);
    for (size_t i = lines_read; i < n && !bad; i++)
        if (lines[i][0] && lines[i][0] != '#') bad = read_line(lines[i], i + 1, e);
    lines_read = n;
    free(lines);
    str_free(&text);
    return bad;
}

int lt_lock_choices(void)
{
    err e = {{0}};
    int file = open(file_name(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0)
        log_line(LOG_WARN, "%s: choices of algorithms cannot be saved: %s", file_name(), strerror(errno));
    else
        while (flock(file, LOCK_EX) && errno == EINTR) {}
    if (lt_read_choices(&e)) log_line(LOG_WARN, "%s", e.text);
    return file;
}
void lt_unlock_choices(int file)
{
    if (file >= 0) close(file);
}

void lt_forget_choices(void)
{
    for (size_t i = 0; i < table_used; i++) free(table[i].where);
    free(table);
    table = NULL;
    table_size = table_used = lines_read = 0;
}

const lt_config *lt_kept_choice(const lt_key *key)
{
    char *where = where_text(key);
    const lt_config *found = NULL;
    for (size_t i = table_used; i > 0 && !found; i--)
        if (same(table[i - 1].where, where)) found = &table[i - 1].chosen;
    free(where);
    return found;
}

void lt_keep_choice(const lt_key *key, const lt_config *chosen, double ms, const double *others, int n)
{
    char *where = where_text(key);
    const int64_t *v = chosen->value;
    str line = {0};
    str_addf(&line, "%s\t" CONFIG_TEXT "\t%.4f\t", where, (long long)v[0], (long long)v[1], (long long)v[2],
             (long long)v[3], (long long)v[4], (long long)v[5], (long long)v[6], (long long)v[7], (long long)v[8], ms);
    for (int i = 0; i < n; i++) str_addf(&line, "%s%.4f", i ? "," : "", others[i]);
    str_add(&line, "\n");
    int file = open(file_name(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0 || write(file, line.s, line.n) != (ssize_t)line.n)
        log_line(LOG_WARN, "%s: the choice for a product cannot be saved: %s", file_name(), strerror(errno));
    if (file >= 0) close(file);
    lines_read++;
    table = grow(table, &table_size, table_used + 1, sizeof *table);
    table[table_used++] = (kept){where, *chosen};
    str_free(&line);
}
#endif
