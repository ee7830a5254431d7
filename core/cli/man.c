/* man.c - ablate man: prints the manual page from the commands' tables. */
#include "cli/options.h"
#include "tensor/cpu/cpu.h"
#include <string.h>

#define SET(NAME, name, kernels) ", " #name
#define SETS                     CPU_SETS(SET)

/* Writes text for roff: escapes backslashes and hyphens, and dots and apostrophes at the start of a line. */
static void roff(str *out, const char *text)
{
    if (*text == '.' || *text == '\'') str_add(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            str_add(out, "\\e");
        else if (*text == '-')
            str_add(out, "\\-");
        else
            str_addc(out, *text);
    }
}

static void roff_option(const option *o, str *out)
{
    str_add(out, ".TP\n.B ");
    for (const char *p = o->name; *p;) {
        size_t n = strcspn(p, " ");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        roff(out, name);
        p += n + strspn(p + n, " ");
        if (*p) str_add(out, ", ");
    }
    if (o->value) str_addc(out, ' '), roff(out, o->value);
    str_addc(out, '\n');
    roff(out, o->help);
    if (o->type == OPTION_LIST) str_add(out, " (may be repeated)");
    str_addc(out, '\n');
}

static void roff_command(const command *c, str *out)
{
    str_add(out, ".SS \"ablate ");
    roff(out, c->name);
    if (c->arguments) str_addc(out, ' '), roff(out, c->arguments);
    str_add(out, "\"\n");
    roff(out, c->does);
    str_add(out, ".\n");
    if (c->about) str_add(out, ".PP\n"), roff(out, c->about), str_addc(out, '\n');
    for (const option *o = c->options; o && o->name; o++) roff_option(o, out);
    if (c->example) str_add(out, ".PP\nExample:\n.PP\n.nf\n    "), roff(out, c->example), str_add(out, "\n.fi\n");
}

static int man(const invocation *c, void *options)
{
    (void)c, (void)options;
    CLEANUP(str_free) str out = {0};
    str_add(&out, ".TH ABLATE 1 \"\" \"ablate " ABLATE_VERSION "\" \"User Commands\"\n"
                  ".SH NAME\nablate \\- which part of a Transformer matters\n"
                  ".SH SYNOPSIS\n.B ablate\n.I COMMAND\n[\n.I OPTION\n]...\n"
                  ".SH DESCRIPTION\nTrains Transformers with one thing changed at a time and answers with a table. A "
                  "sweep is one INI file;\n"
                  "results are kept in an SQLite database.\n"
                  ".SH COMMANDS\n");
    for (size_t i = 0; i < n_commands; i++)
        if (all_commands[i]->does) roff_command(all_commands[i], &out);
    str_add(&out, ".SH OPTIONS OF EVERY COMMAND\n");
    for (const option *const *o = options_common(); *o; o++) roff_option(*o, &out);
    str_add(&out,
            ".SH ENVIRONMENT\n"
            ".TP\n.B ABLATE_DATA\nfolder of corpora [data]\n"
            ".TP\n.B ABLATE_DB\ndatabase file [results.db]\n"
            ".TP\n.B ABLATE_HOME\nfolder of results.db and runs/ [current folder]\n"
            ".TP\n.B ABLATE_ISA\ninstruction set: generic" SETS "\n"
            ".TP\n.B ABLATE_DATABASE_WAIT\nseconds that a command other than run waits for a database that another "
            "process holds [30]\n"
            ".TP\n.B ABLATE_KEEP_FREE\nbytes of disk and memory that a sweep leaves to others [0]\n"
            ".TP\n.B ABLATE_TASK_LEASE\nseconds of silence after which a task of a job engine loses its run [60]\n"
            ".TP\n.B NO_COLOR\nif set, no colours\n"
            ".SH EXIT STATUS\n0: success. 1: something failed. 2: invalid command line or INI. Some commands\n"
            "answer with 3 and 4, as their help says.\n"
            "130 or 143: interrupted; the same command resumes.\n");
    return fputs(str_text(&out), stdout) < 0;
}

const command man_command = {.name = "man",
                             .part = FOR_PROGRAM,
                             .does = "print the manual page: ablate man | man -l -",
                             .run = man,
                             .example = "ablate man | man -l -"};
