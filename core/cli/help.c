/* help.c - writes usage and --help of every command from the commands' tables. */
#include "cli/options.h"
#include <string.h>

enum { WIDE = 110, NARROW = 60, INDENT = 24 };

/* Returns the width of --help: the terminal's, but at most WIDE; WIDE without a terminal. */
static size_t wide(void)
{
    size_t columns = terminal_columns(1);
    return !columns || columns > WIDE ? WIDE : columns < NARROW ? NARROW : columns;
}

static void wrap(str *out, const char *text, size_t indent, size_t *column)
{
    str_wrap(out, text, wide(), indent, column);
}

static void one_usage(const option *o, str *out)
{
    char name[64];
    option_name(o, name);
    const char *open = o->required ? "" : "[", *close = o->required ? "" : "]";
    str_addf(out, "%s%s", open, name);
    if (o->value) str_addf(out, o->type == OPTION_COUNT_BARE ? " [%s]" : " %s", o->value);
    str_addf(out, "%s%s", close, o->type == OPTION_LIST ? "..." : "");
}

/* Adds an option, which is never broken over lines. */
static void add_piece(str *out, const char *piece, size_t indent, size_t *column)
{
    size_t n = strlen(piece);
    if (*column + n + 1 > wide()) {
        str_addf(out, "\n%*s", (int)indent, "");
        *column = indent;
    } else {
        str_addc(out, ' ');
        ++*column;
    }
    str_add(out, piece);
    *column += n;
}

void command_usage(const command *what, str *out)
{
    CLEANUP(str_free) str head = {0}, piece = {0};
    str_addf(&head, "usage: %s %s", program_name, what->name);
    size_t column = head.n, indent = head.n + 1;
    str_add(out, str_text(&head));
    if (what->arguments) add_piece(out, what->arguments, indent, &column);
    for (int required = 1; required >= 0; required--)
        for (const option *o = what->options; o && o->name; o++) {
            if (o->required != required) continue;
            str_clear(&piece);
            one_usage(o, &piece);
            add_piece(out, str_text(&piece), indent, &column);
        }
    str_addc(out, '\n');
}

static void one_option(const option *o, str *out)
{
    CLEANUP(str_free) str left = {0};
    const char *space = strchr(o->name, ' ');
    if (space) str_addf(&left, "%s, ", space + 1);
    str_addf(&left, "%.*s", (int)strcspn(o->name, " "), o->name);
    bool listed = o->value && strchr(o->value, '|');
    if (o->value) str_addf(&left, " %s", listed && strlen(o->value) > 14 ? "WORD" : o->value);
    size_t column = left.n + 2;
    str_addf(out, "  %s", str_text(&left));
    if (column + 2 > INDENT) {
        str_addc(out, '\n');
        column = 0;
    }
    str_addf(out, "%*s", (int)(INDENT - column), "");
    column = INDENT;
    wrap(out, o->help, INDENT, &column);
    if (listed && strlen(o->value) > 14) {
        CLEANUP(str_free) str list = {0};
        str_add(&list, ": ");
        for (const char *p = o->value; *p; p++) str_add(&list, *p == '|' ? ", " : (char[]){*p, 0});
        wrap(out, str_text(&list), INDENT, &column);
    }
    if (o->type == OPTION_LIST) wrap(out, " (may be repeated)", INDENT, &column);
    str_addc(out, '\n');
}

void command_help(const command *what, str *out)
{
    size_t start = out->n, column;
    str_addf(out, "%s %s: ", program_name, what->name);
    column = out->n - start;
    wrap(out, what->does ? what->does : "", 4, &column);
    str_add(out, "\n\n");
    command_usage(what, out);
    if (what->about) {
        str_addc(out, '\n');
        column = 0;
        wrap(out, what->about, 0, &column);
        str_addc(out, '\n');
    }
    str_add(out, "\noptions:\n");
    for (const option *o = what->options; o && o->name; o++) one_option(o, out);
    for (const option *const *o = options_common(); *o; o++) one_option(*o, out);
    if (what->example) str_addf(out, "\nexample:\n  %s\n", what->example);
}
