/* main.c - the command line: finds folders and database, and calls the command. */
#include "cli/options.h"
#include "tensor/cpu/cpu.h"
#include "tensor/device/device.h"
#include "cli/results.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Finds the folder of results.db and runs/: $ABLATE_HOME, else the current folder. */
static void find_places(places *p)
{
    static char here[4096];
    static arena paths; /* lives as long as the program */
    const char *home = getenv("ABLATE_HOME"), *data = getenv("ABLATE_DATA");
    p->program = program_file();
    p->root = home && *home ? home : getcwd(here, sizeof here) ? here : ".";
    p->data_default = !data || !*data;
    p->data_dir = p->data_default ? arena_printf(&paths, "%s/data", p->root) : data;
    p->db = (db_options){.path = arena_printf(&paths, "%s/results.db", p->root),
                         .recorded = arena_printf(&paths, "%s/experiments/recorded", p->root)};
    /* relative to the program: in a checkout; in the checkout that a build folder links to; in an installation */
    static const char *const recorded[] = {"../experiments/recorded", "source/experiments/recorded",
                                           "../share/ablate/experiments/recorded"};
    char *found = is_folder(p->db.recorded) ? NULL : file_of_program(recorded, LENGTH(recorded));
    if (found) p->db.recorded = arena_printf(&paths, "%s", found);
    free(found);
    const char *db = getenv("ABLATE_DB");
    if (db && *db) p->db.path = db;
    p->db.usual = p->db.path, p->db.root = p->root;
}

/* Refuses values of variables that are not numbers of 0 or more. */
static int check_environment(err *e)
{
    static const char *const numbers[] = {"ABLATE_CHECK_SECONDS", "ABLATE_DATABASE_WAIT", "ABLATE_KEEP_FREE",
                                          "ABLATE_LANDLOCK", "ABLATE_TASK_LEASE"};
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        const char *text = getenv(numbers[i]);
        if (text && *text && environment_real(numbers[i], -1) < 0)
            return fail(e, "%s: found \"%s\", expected a number of 0 or more", numbers[i], text);
    }
    return 0;
}

/* Exit codes by which commands answer (gate, verify); not failures. */
static bool is_answer(int code) { return code == 3 || code == 4; }

/* Returns the exit code; a failed write to standard output (a full disk) makes it a failure. */
static int all_written(int code)
{
    if (!fflush(stdout) && !ferror(stdout)) return code;
    fprintf(stderr, "ablate: cannot write standard output: %s\n", strerror(errno));
    return code && !is_answer(code) ? code : 1;
}

static int print(void (*text)(str *out), FILE *f)
{
    str out = {0};
    text(&out);
    fputs(str_text(&out), f);
    str_free(&out);
    return f == stdout ? 0 : 2;
}

/* Reports an unknown command, or one that lacks its second word. */
static int no_command(char **argv)
{
    const char *names[256];
    char first[256][64];
    size_t n = 0;
    str group = {0};
    names[n++] = "--version", names[n++] = "--help";
    for (size_t i = 0; i < n_commands && n < LENGTH(names); i++) {
        snprintf(first[n], sizeof first[n], "%.*s", (int)strcspn(all_commands[i]->name, " "), all_commands[i]->name);
        if (same(first[n], argv[1])) group_help(argv[1], &group);
        if (group.n) break;
        names[n] = first[n], n++;
    }
    char two[128];
    snprintf(two, sizeof two, "%s %s", argv[1], argv[2] ? argv[2] : "");
    const char *word = old_word(two, "") ? two : argv[1], *instead = old_word(word, "");
    bool asked = group.n && argv[2] && (same(argv[2], "--help") || same(argv[2], "-h"));
    if (group.n && word == argv[1]) {
        fputs(str_text(&group), asked ? stdout : stderr);
    } else if (instead) {
        fprintf(stderr, "ablate: %s is gone: %s\n", word, instead);
    } else {
        fprintf(stderr, "ablate: unknown command '%s'%s\n", argv[1], suggestion(argv[1], names, n, "'"));
    }
    str_free(&group);
    return asked ? 0 : 2;
}

int main(int argc, char **argv)
{
    places p = {0};
    /* cJSON returns NULL for invalid JSON and for lack of memory; xmalloc ends the program for lack of memory */
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = xmalloc, .free_fn = free});
    if (argc < 2) return print(commands_overview, stderr);
    bool help = same(argv[1], "help");
    if (same(argv[1], "--help") || same(argv[1], "-h") || (help && argc == 2))
        return all_written(print(commands_overview, stdout));
    err e = {0};
    if (check_environment(&e) || cpu_use(NULL, &e)) {
        fprintf(stderr, "ablate: %s\n", e.text);
        return 2;
    }
    if (same(argv[1], "--version")) return all_written(version_print(stdout));
    find_places(&p);
    run_setup();
    static char asks[] = "--help";
    char *explain[] = {argv[0], argv[1], argc > 2 ? argv[2] : NULL, NULL};
    int used = 0;
    if (help) explain[1] = argv[2], explain[2] = argc > 3 ? argv[3] : NULL;
    const command *c = help ? command_find(argc - 1, explain, &used) : command_find(argc, argv, &used);
    if (!c) return no_command(help ? explain : argv);
    if (help) return all_written(command_run(c, 2, (char *[]){explain[used], asks, NULL}, &p));
    program_wait_asleep(argv);
    return all_written(command_run(c, argc - used, argv + used, &p));
}
