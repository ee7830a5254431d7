/* worker.c - ablate worker: trains a run in its own process, started by the host (lab/run/worker.c); or, with a run's
 * folder, is a job engine's task, which starts that process (lab/launch/task.c). */
#include "cli/options.h"
#include "lab/launch/launch.h"
#include "lab/run/worker.h"

/* lab/launch/worker_process.c writes this command line. */
#define AT(field) offsetof(worker_job, field)
static const worker_job defaults = {.device = "auto", .seed = 1, .fd = -1};
static const option options[] = {
    {"--folder", "FOLDER", "folder with config.json, and for checkpoints", OPTION_TEXT, AT(folder)},
    {"--data", "FOLDER", "folder of corpora", OPTION_TEXT, AT(data_dir)},
    {"--cache", "FOLDER", "folder of vocabularies", OPTION_TEXT, AT(cache_dir)},
    {"--device", "DEVICE", "device to train on", OPTION_TEXT, AT(device)},
    {"--seed", "N", "seed of the run", OPTION_COUNT, AT(seed), -9e15, 9e15},
    {"--threads", "N", "processor threads", OPTION_COUNT, AT(threads), 0, MOST_THREADS},
    {"--fd", "N", "file descriptor for events", OPTION_COUNT, AT(fd), 0, 1e6},
    {"--events", "FILE", "file for events, instead of --fd", OPTION_TEXT, AT(events)},
    {"--ranks", "N", "processes that train this run together", OPTION_COUNT, AT(ranks), 1, COMM_MOST_RANKS},
    {"--profile", NULL, "time per operation", OPTION_FLAG, AT(profile)},
    {"--sandbox", NULL, "write below the folder and the cache only, no network", OPTION_FLAG, AT(sandbox)},
    {"--stay", NULL, "on a GPU: take more runs from standard input", OPTION_FLAG, AT(stay)},
    {"--lend", NULL, "take more threads when standard input grants some", OPTION_FLAG, AT(lend)},
    {"--fresh", NULL, "ignore files of other runs in the folder", OPTION_FLAG, AT(fresh)},
    {0}};

static int work(const invocation *c, void *typed)
{
    worker_job *j = typed;
    err e = {0};
    if (!j->folder == !c->n_words) return call_usage(c, "expected the folder of a run");
    if (c->n_words) {
        int code = task_run_folder(c->p.program, c->word[0], &e);
        return code < 0 ? call_failed(c, &e) : code;
    }
    if (!j->data_dir) j->data_dir = c->p.data_dir;
    int code = worker_run_job(j, &e);
    return code < 0 ? call_failed(c, &e) : code;
}

const command worker_command = {.name = "worker",
                                .part = FOR_TRAINING,
                                .does = "train the run of a folder, for a job engine (docs/cluster.md)",
                                .about = "Needs only FOLDER, which `ablate run --launcher COMMAND` has prepared. The "
                                         "options are for processes that ablate starts.",
                                .example = "ablate worker runs/quick/0123456789ab-s1-g0",
                                .arguments = "[FOLDER]",
                                .options = options,
                                .defaults = &defaults,
                                .size = sizeof defaults,
                                .run = work};
