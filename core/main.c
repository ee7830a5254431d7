/* main.c - the command line: finds the places and hands each command to the part that does it. */
#include "check/check.h"
#include "cpu/cpu.h"
#include "data/corpora.h"
#include "device/device.h"
#include "metric/score_cli.h"
#include "plugin/plugin.h"
#include "commands/record.h"
#include "report/cli.h"
#include "run.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv, const places *p);
    const char *does;
} command;

static int table_cmd(int c, char **v, const places *p) { return report_table(c, v, &p->db); }
static int ls_cmd(int c, char **v, const places *p) { return report_ls(c, v, &p->db); }
static int show_cmd(int c, char **v, const places *p) { return report_show(c, v, &p->db); }
static int log_cmd(int c, char **v, const places *p) { return report_log(c, v, &p->db); }
static int rm_cmd(int c, char **v, const places *p) { return report_rm(c, v, &p->db); }
static int query_cmd(int c, char **v, const places *p) { return report_query(c, v, &p->db); }
static int page_cmd(int c, char **v, const places *p) { return report_page(c, v, &p->db); }
static int plot_cmd(int c, char **v, const places *p) { return report_plot(c, v, &p->db); }

static int score_cmd(int argc, char **argv, const places *p)
{
    (void)p;
    if (argc > 1 && same(argv[1], "bleu")) return score_bleu_main(argc - 1, argv + 1);
    if (argc > 1 && same(argv[1], "f1")) return score_f1_main(argc - 1, argv + 1);
    fprintf(
        stderr,
        "usage: ablate score bleu --ref FILE ... < hypotheses\n       ablate score f1 --gold FILE < trees\n");
    return 2;
}

static int check_cmd(int argc, char **argv, const places *p)
{
    (void)p;
    if (argc > 2 && same(argv[1], "--device")) {
        err e = {0};
        const backend *on = device_open(argv[2], &e);
        if (!on) {
            fprintf(stderr, "ablate check: %s\n", e.text);
            return 2;
        }
        check_use_device(on);
        argv[2] = argv[0];
        argc -= 2, argv += 2;
    }
    return check_command(argc, argv);
}

static int data_cmd(int argc, char **argv, const places *p)
{
    setenv("ABLATE_DATA", p->data_dir, 0);
    return data_main(argc, argv);
}

static int import_cmd(int c, char **v, const places *p) { return report_import(c, v, &p->db); }
static int record_cmd(int c, char **v, const places *p) { return report_record(c, v, p); }

static int reference_cmd(int argc, char **argv, const places *p)
{
    (void)argc, (void)argv, (void)p;
    config_reference(stdout, run_schemas());
    return 0;
}

int plugins_command(int argc, char **argv, const places *p)
{
    (void)p;
    size_t n, shown = 0;
    const plugin *const *all = plugin_list(&n);
    const char *kind = argc > 1 ? argv[1] : NULL, *slash = kind ? strchr(kind, '/') : NULL;
    if (kind && has_suffix(kind, ".so")) {
        err e = {0};
        const plugin *one = plugin_load(kind, &e);
        if (one)
            plugin_print(one, stdout, true);
        else
            fprintf(stderr, "ablate plugins: %s\n", e.text);
        return one ? 0 : 2;
    }
    for (ab_kind k = AB_ATTENTION; k <= AB_TASK; k++)
        for (size_t i = 0; i < n; i++) {
            const ab_plugin *d = &all[i]->desc;
            if (d->kind != k) continue;
            char *full = xprintf("%s/%s", plugin_kind_name(k), d->name);
            if (!kind || (slash ? same(full, kind) : same(plugin_kind_name(k), kind)))
                plugin_print(all[i], stdout, kind != NULL), shown++;
            free(full);
        }
    if (shown) return 0;
    fprintf(stderr, "ablate plugins: no plugin '%s'; kinds are attention, posenc, optim, task\n",
            kind ? kind : "");
    return 2;
}

int devices_command(int argc, char **argv, const places *p)
{
    (void)argc, (void)argv, (void)p;
    return devices_print(stdout);
}

static int completion_cmd(int argc, char **argv, const places *p);

static const command commands[] = {
    {"run", run_command, "expand a sweep, train what is missing, print its table"},
    {"table", table_cmd, "an experiment's table; table1 to table4 beside the published numbers"},
    {"ls", ls_cmd, "runs in the database"},
    {"show", show_cmd, "one run: settings, results, where it came from"},
    {"log", log_cmd, "one run's log"},
    {"rm", rm_cmd, "remove runs"},
    {"query", query_cmd, "read-only SQL on the database"},
    {"report", page_cmd, "one HTML page of an experiment"},
    {"plot", plot_cmd, "one chart for a paper: SVG, PDF, PNG, or data for gnuplot and Vega-Lite"},
    {"plugins", plugins_command, "what is loaded, with parameters and docs"},
    {"check", check_cmd, "the conformance kit on plugins, by name or file"},
    {"translate", translate_command, "standard input to standard output, by a trained run"},
    {"attention", attention_command, "what each head attends to in a sentence: a page, or a figure as SVG or PDF"},
    {"parse", parse_command, "sentences to trees, by a trained run of the task parsing"},
    {"agree", agree_command, "lines that are the same in several files: trees on which parsers agree"},
    {"score", score_cmd, "BLEU and bracketing F1 of files"},
    {"data", data_cmd, "known corpora: list, get"},
    {"bench", bench_command, "speed of training, decoding and attention"},
    {"record", record_cmd, "write an experiment to experiments/recorded/, for git"},
    {"import", import_cmd, "take recorded experiments into the database"},
    {"reference", reference_cmd, "every INI key with its default and range, as Markdown"},
    {"devices", devices_command, "what the runs can use"},
    {"completion", completion_cmd, "completion bash: words for the shell, source <(ablate completion bash)"},
    {"worker", worker_command, NULL},
};

static int completion_cmd(int argc, char **argv, const places *p)
{
    const char *names[LENGTH(commands) + 2] = {"test", "help"};
    size_t n = 2;
    for (size_t i = 0; i < LENGTH(commands); i++)
        if (commands[i].does) names[n++] = commands[i].name;
    return completion_words(argc, argv, names, n, p);
}

static int help(FILE *f)
{
    fprintf(f, "ablate: which part of a Transformer matters\n\nusage: ablate COMMAND ...\n\n");
    for (size_t i = 0; i < LENGTH(commands); i++)
        if (commands[i].does) fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].does);
    fprintf(f, "  %-10s %s\n", "test", "build and run the whole test suite (./ablate test)");
    return f == stdout ? 0 : 2;
}

/* The folder of results.db and runs/: $ABLATE_HOME, else where we stand. */
static void find_places(places *p)
{
    static char program[4096], here[4096];
    static arena paths; /* lives as long as the program */
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    const char *home = getenv("ABLATE_HOME"), *data = getenv("ABLATE_DATA");
    p->program = program;
    p->root = home && *home ? home : getcwd(here, sizeof here) ? here : ".";
    p->data_dir = data && *data ? data : arena_printf(&paths, "%s/data", p->root);
    p->db = (db_options){.path = arena_printf(&paths, "%s/results.db", p->root),
                         .published = arena_printf(&paths, "%s/experiments/published", p->root),
                         .recorded = arena_printf(&paths, "%s/experiments/recorded", p->root)};
    const char *db = getenv("ABLATE_DB");
    if (db && *db) p->db.path = db;
}

/* Threads that wait for others soon sleep instead of spinning, which on a busy machine costs everybody twenty
 * times over. The thread library reads this when it is loaded: so the program starts itself again with it. */
static void wait_asleep(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    setenv("GOMP_SPINCOUNT", "2000", 1);
    execv("/proc/self/exe", argv);
}

/* A full disk under standard output is a failure, whatever the command thought. */
static int all_written(int code)
{
    if (!fflush(stdout) && !ferror(stdout)) return code;
    fprintf(stderr, "ablate: standard output could not be written: %s\n", strerror(errno));
    return code ? code : 1;
}

int main(int argc, char **argv)
{
    places p = {0};
    wait_asleep(argv);
    if (argc < 2) return help(stderr);
    if (same(argv[1], "--help") || same(argv[1], "-h") || same(argv[1], "help")) return help(stdout);
    err e = {0};
    if (cpu_use(NULL, &e)) {
        fprintf(stderr, "ablate: %s\n", e.text);
        return 2;
    }
    find_places(&p);
    run_setup(&p);
    const char *names[LENGTH(commands)];
    for (size_t i = 0; i < LENGTH(commands); i++) {
        names[i] = commands[i].name;
        if (same(argv[1], commands[i].name)) return all_written(commands[i].run(argc - 1, argv + 1, &p));
    }
    const char *near = nearest(argv[1], names, LENGTH(names));
    fprintf(stderr, "ablate: there is no command '%s'%s%s%s\n", argv[1], near ? "; did you mean '" : "",
            near ? near : "", near ? "'?" : "");
    return 2;
}
