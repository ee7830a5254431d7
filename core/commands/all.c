/* all.c - the list of commands in the order of the help, and finding one in it. */
#include "commands/options.h"
#include <string.h>

extern const command run_command, table_command, ls_command, show_command, log_command, rm_command, query_command, report_command, plot_command, export_command, plugins_command,
    check_command, predict_command, translate_command, parse_command, attention_command, agree_command, score_bleu_command, score_f1_command,
    data_list_command, data_get_command, bench_train_command, bench_decode_command, bench_attention_command, bench_layers_command, record_command, import_command,
    reference_command, devices_command, completion_command, man_command, worker_command, estimate_command;

const command *const all_commands[] = {
    &run_command,           &table_command,        &ls_command,           &show_command,        &log_command,
    &rm_command,            &query_command,        &report_command,       &plot_command,         &export_command,       &plugins_command,
    &check_command,
    &predict_command,       &translate_command,    &parse_command,        &attention_command,   &agree_command,
    &score_bleu_command,    &score_f1_command,     &data_list_command,    &data_get_command,    &bench_train_command,
    &bench_decode_command,  &bench_attention_command, &bench_layers_command, &record_command,    &import_command,      &reference_command,
    &devices_command,       &completion_command,   &man_command,          &worker_command,    &estimate_command};
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
    str_add(out, "\n`ablate COMMAND --help` explains a command's options; `ablate --version` says what this program is.\n");
}

void group_help(const char *first, str *out)
{
    size_t n = strlen(first);
    for (size_t i = 0; i < n_commands; i++)
        if (!strncmp(all_commands[i]->name, first, n) && all_commands[i]->name[n] == ' ') command_usage(all_commands[i], out);
    str_addf(out, "`ablate %s NAME --help` explains one of them.\n", first);
}
