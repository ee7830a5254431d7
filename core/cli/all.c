/* all.c - finds a command, and lists all of them for `ablate help`. */
#include "cli/options.h"
#include <string.h>

const command *command_find(int argc, char **argv, int *used)
{
    for (size_t i = 0; i < n_commands && argc > 1; i++) {
        const command *c = all_commands[i];
        size_t n = strcspn(c->name, " ");
        bool first = strlen(argv[1]) == n && !strncmp(c->name, argv[1], n);
        if (!first || (c->name[n] && (argc < 3 || !same(c->name + n + 1, argv[2])))) continue;
        *used = c->name[n] ? 2 : 1;
        return c;
    }
    return NULL;
}

#define TITLE(part, title) title,
void commands_overview(str *out)
{
    static const char *const titles[] = {COMMAND_PARTS(TITLE)};
    str_add(out, "ablate: which part of a Transformer matters\n\nusage: ablate COMMAND ...\n\n");
    for (size_t part = 0; part < LENGTH(titles); part++) {
        str_addf(out, "%s:\n", titles[part]);
        for (size_t i = 0; i < n_commands; i++)
            if (all_commands[i]->does && all_commands[i]->part == part)
                str_addf(out, "  %-15s %s\n", all_commands[i]->name, all_commands[i]->does);
    }
    str_addf(out, "  %-15s %s\n", "test", "build and run the test suite (in a checkout: ./ablate test)");
    str_add(out, "\n`ablate COMMAND --help` explains a command's options; `ablate --version` prints version, commit, "
                 "backends and instruction set.\n");
}

void group_help(const char *first, str *out)
{
    size_t n = strlen(first);
    for (size_t i = 0; i < n_commands; i++)
        if (!strncmp(all_commands[i]->name, first, n) && all_commands[i]->name[n] == ' ')
            command_usage(all_commands[i], out);
    str_addf(out, "`ablate %s NAME --help` explains one of them.\n", first);
}
