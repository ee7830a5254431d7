/* all.c - the list of commands in the order of the help, and finding a command. */
#include "cli/options.h"
#include <string.h>

/* clang-format off: one command per line */
#define COMMANDS(X)                                                                                                    \
    X(run)                                                                                                             \
    X(plan)                                                                                                            \
    X(watch)                                                                                                           \
    X(table)                                                                                                           \
    X(ls)                                                                                                              \
    X(show)                                                                                                            \
    X(log)                                                                                                             \
    X(diff)                                                                                                            \
    X(note)                                                                                                            \
    X(tag)                                                                                                             \
    X(rm)                                                                                                              \
    X(restore)                                                                                                         \
    X(query)                                                                                                           \
    X(report)                                                                                                          \
    X(plot)                                                                                                            \
    X(export)                                                                                                          \
    X(plugins)                                                                                                         \
    X(check)                                                                                                           \
    X(new)                                                                                                             \
    X(predict)                                                                                                         \
    X(translate)                                                                                                       \
    X(parse)                                                                                                           \
    X(generate)                                                                                                        \
    X(attention)                                                                                                       \
    X(heads)                                                                                                           \
    X(agree)                                                                                                           \
    X(score_bleu)                                                                                                      \
    X(score_f1)                                                                                                        \
    X(data_list)                                                                                                       \
    X(data_get)                                                                                                        \
    X(data_check)                                                                                                      \
    X(bench_train)                                                                                                     \
    X(bench_decode)                                                                                                    \
    X(bench_attention)                                                                                                 \
    X(bench_host)                                                                                                      \
    X(bench_layers)                                                                                                    \
    X(record)                                                                                                          \
    X(import)                                                                                                          \
    X(reference)                                                                                                       \
    X(sync)                                                                                                            \
    X(devices)                                                                                                         \
    X(completion)                                                                                                      \
    X(man)                                                                                                             \
    X(worker)                                                                                                          \
    X(slurm_task)                                                                                                      \
    X(estimate)
/* clang-format on */

#define DECLARE(name) extern const command name##_command;
COMMANDS(DECLARE)
#define ENTRY(name) &name##_command,
const command *const all_commands[] = {COMMANDS(ENTRY)};
const size_t n_commands = LENGTH(all_commands);

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

void commands_overview(str *out)
{
    str_add(out, "ablate: which part of a Transformer matters\n\nusage: ablate COMMAND ...\n\n");
    for (size_t i = 0; i < n_commands; i++)
        if (all_commands[i]->does) str_addf(out, "  %-15s %s\n", all_commands[i]->name, all_commands[i]->does);
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
