/* worker.c - one run from its settings to its results: begin with worker_do. process.c surrounds it with a process. */
#include "lab/run/worker.h"
#include "network/check/known.h"
#include "tensor/comm/comm.h"
#include "text/data/dataset.h"
#include "text/data/inspect.h"
#include "base/places.h"
#include "network/decode/constrain.h"
#include "tensor/device/device.h"
#include "lab/launch/event.h"
#include "network/model/costs.h"
#include "network/model/fusion.h"
#include "network/model/groups.h"
#include "network/train/train.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

typedef worker_job job;
typedef worker_run run;

/* While training, the first SIGTERM asks for a checkpoint at the end of the step. The process ends at a second SIGTERM,
 * at a SIGTERM outside of training, or if the step takes 5 s more than twice the longest so far. The last checkpoint
 * stays valid, because all files are written atomically. */
enum { STOP_PATIENCE = 5 }; /* seconds */
static volatile sig_atomic_t stop_asked, training;
static volatile double longest_step, last_step; /* seconds; ticks() */
static void ask_stop(int signal_number)
{
    (void)signal_number;
    if (!training || stop_asked) _exit(WORKER_STOPPED);
    stop_asked = 1;
    alarm(STOP_PATIENCE + (unsigned)(2 * longest_step));
}
/* Ignores repeated signals, because the host may ask mpirun several times. */
static void ask_rank_to_stop(int signal_number)
{
    if (!stop_asked) ask_stop(signal_number);
}
static void step_too_long(int signal_number)
{
    (void)signal_number;
    _exit(WORKER_STOPPED);
}
void worker_obey(bool rank)
{
    signal(SIGTERM, ask_stop);
    signal(SIGALRM, step_too_long);
    if (rank) signal(SIGUSR1, ask_rank_to_stop); /* mpirun forwards SIGUSR1 and leaves time for a checkpoint */
    longest_step = last_step = 0;
}
bool worker_asked_to_stop(void) { return stop_asked; }
static bool should_stop(void *self)
{
    if (stop_asked) alarm(0); /* the step has ended: its checkpoint may take any time */
    const run *r = self;
    return stop_asked || events_broken() || r->renew_error.text[0];
}
static void renew(void *self, int64_t epoch)
{
    run *r = self;
    dataset_renew(&r->data.split[AB_TRAIN], r->task, r->task_self, r->tgt, epoch, &r->renew_error);
}
void (*worker_renew(const run *r))(void *, int64_t) { return r->task->get_epoch ? renew : NULL; }
/* Uses threads lent by the host; returns whether any are lent. They change a run's time, not its numbers. */
static bool use_threads(void *self, int64_t step)
{
    run *r = self;
    int threads = r->job.lend ? event_threads(0) : 0;
    if (threads && threads != (r->lent ? r->lent : r->job.threads)) {
        cpu_threads(threads);
        str_addf(&r->lent_told, "%s%d from step %lld", r->lent_told.n ? ", " : "", threads, (long long)step);
        event_fact("threads_lent", str_text(&r->lent_told));
        r->lent = threads;
    }
    return r->lent && r->lent != r->job.threads;
}

/* The last point of a curve recorded by a plugin. Only these curves' names, PLUGIN.name, have exactly one dot. */
typedef struct last_recorded {
    const char *name;
    int64_t step;
    double value;
    struct last_recorded *next;
} last_recorded;

static void send_point(void *self, const char *metric, int64_t step, double value)
{
    run *r = self;
    event_point(metric, step, value);
    const char *dot = strchr(metric, '.');
    if (!dot || strchr(dot + 1, '.')) return; /* "enc.0.gradient" is a layer's (watch_layers) */
    if (has_suffix(metric, "]")) return;      /* a vector's element: too many for columns */
    last_recorded *at = r->recorded;
    while (at && !same(at->name, metric)) at = at->next;
    if (!at) {
        at = arena_alloc(&r->memory, sizeof *at);
        *at = (last_recorded){.name = arena_strdup(&r->memory, metric), .next = r->recorded};
        r->recorded = at;
    }
    at->step = step, at->value = value;
}

/* Sends each curve's last point as a result, hence a table column; neither direction is better. */
static void recorded_results(const run *r)
{
    for (const last_recorded *at = r->recorded; at; at = at->next)
        event_result(&(metric){.name = at->name}, "recorded by the plugin in training, on the last batch", at->value,
                     at->step, "last", 0, NULL);
}
static void send_progress(void *self, int64_t step, int64_t total, double ppl, double tokens_per_second)
{
    (void)self;
    double t = ticks();
    if (last_step > 0 && t - last_step > longest_step) longest_step = t - last_step;
    last_step = t;
    event_progress(step, total, ppl, tokens_per_second);
}

/* ---- the folder ---- */

/* Removes half-written files; all: everything that training left. */
static void clear_folder(const char *folder, bool all)
{
    DIR *d = opendir(folder);
    struct dirent *x;
    while (d && (x = readdir(d))) {
        AUTOFREE char *path = path_join(folder, x->d_name);
        if (has_suffix(x->d_name, ".tmp") || (all && has_suffix(x->d_name, ".safetensors"))) unlink(path);
    }
    if (d) closedir(d);
}

/* Locks the run's folder for this process, because the worker of a killed host may still be writing its checkpoint. The
 * lock ends with the process. File systems without locks get none. */
static int lock_folder(run *r, err *e)
{
    enum { PATIENCE = 120 }; /* seconds: one step and one checkpoint of the other process */
    const job *j = &r->job;
    AUTOFREE char *path = path_join(j->folder, "lock");
    int fd = r->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), bad = 0;
    double start = ticks();
    bool told = false;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && (errno == EWOULDBLOCK || errno == EINTR) && !bad) {
        if (!told) log_line(LOG_INFO, "waiting for another process that works in %s", j->folder);
        told = true;
        if (ticks() - start > PATIENCE)
            bad = fail(e, "another process has been working in %s for %d s", j->folder, PATIENCE);
        usleep(20000);
    }
    if (!bad) clear_folder(j->folder, j->fresh);
    return bad; /* `lock` stays open, which holds the lock */
}

/* ---- the steps of a run ---- */

static int read_settings(run *r, err *e)
{
    CLEANUP(str_free) str json = {0};
    AUTOFREE char *path = path_join(r->job.folder ? r->job.folder : "", "config.json");
    char seed[32];
    int bad = (!r->job.config && file_read(path, &json, e)) ||
              config_from_json(r->job.config ? r->job.config : str_text(&json), &r->set, &r->memory, e) ||
              config_from_settings(&r->set, &r->cfg, &r->memory, e);
    snprintf(seed, sizeof seed, "%lld", (long long)r->job.seed);
    settings_set(&r->set, "seed", seed, &r->memory);
    r->cfg.seed = r->job.seed;
    if (!bad && !r->job.config) /* config.json comes from the user's own INI: its plugins may be loaded */
        plugin_add_path(r->cfg.plugin_path), bad = model_open_plugins(&r->set, e);
    return bad;
}

static int open_task(run *r, err *e)
{
    if (!(r->task_plugin = plugin_find(AB_TASK, r->cfg.task, e))) return -1;
    ab_env env = {.data_dir = r->job.data_dir, .seed = (uint64_t)r->job.seed};
    char said[TASK_SAYS];
    r->task = &r->task_plugin->iface.task;
    if (r->task->flags & AB_BIDIRECTIONAL) settings_set(&r->set, MODEL_BIDIRECTIONAL, "1", &r->memory);
    if (model_open_task(r->task_plugin, &r->set, &env, &r->memory, &r->task_self, said, e)) return -1;
    if (*said) event_fact("data", said), log_line(LOG_INFO, "%s", said);
    AUTOFREE char *key = xprintf("%s.data", r->task_plugin->desc.name);
    if (data_inspectable(settings_get(&r->set, key)) || !plugin_is_own(r->task_plugin)) {
        data_report found;
        CLEANUP(str_free) str dangers = {0};
        data_inspect(r->task, r->task_self, &found, NULL);
        data_dangers(&found, &dangers);
        if (dangers.n) event_fact("data_check", str_text(&dangers));
    }
    return 0;
}

static int read_data(run *r, err *e)
{
    bool shared = r->task->flags & AB_SHARED_VOCAB;
    if (dataset_vocabs(r->task, r->task_self, shared, (vocab_kind)r->cfg.vocab, r->cfg.vocab_size,
                       r->cfg.lowercase != 0, r->job.cache_dir, &r->src, &r->tgt, e))
        return -1;
    if (task_rules_open(&r->rules, r->task, r->task_self, r->src, r->tgt, e))
        return fail_in(e, "task '%s': ", r->task_plugin->desc.name);
    return dataset_build(&r->data, r->task, r->task_self, r->src, r->tgt, r->cfg.max_length, e);
}

/* Reports the first failed check of the run's plugins, if they were checked (run.c). */
static void report_checks(run *r)
{
    CLEANUP(str_free) str message = {0};
    for (size_t i = 0; i < r->model.set.n && r->job.cache_dir; i++) {
        const setting *s = &r->model.set.at[i];
        ab_kind kind = model_plugin_kind(s->key);
        const plugin *p = kind ? plugin_find(kind, s->value, NULL) : NULL;
        if (!p || plugin_is_own(p) || !check_known(r->job.cache_dir, p->sha256, &message) || !message.n) continue;
        AUTOFREE char *text = xprintf("%s/%s: %s", plugin_kind_name(kind), p->desc.name, str_text(&message));
        event_fact("check_failed", text);
        r->check_failed = true;
        break;
    }
}

/* Reports the device; with ranks, all their devices, because a table marks rows trained on different devices. */
static int report_device(const run *r, err *e)
{
    char mine[192] = "";
    CLEANUP(str_free) str message = {0};
    snprintf(mine, sizeof mine, "%s", device_description(r->on));
    if (!r->comm) return event_fact("device", mine), 0;
    AUTOFREE char *all = xcalloc((size_t)r->comm->size, sizeof mine);
    int bad = r->comm->m->gather(mine, all, sizeof mine, e);
    for (int i = 0; i < r->comm->size && !bad; i++) {
        const char *own = all + (size_t)i * sizeof mine;
        if (!strstr(str_text(&message), own)) str_addf(&message, "%s%s", message.n ? " + " : "", own);
    }
    if (!bad) event_fact("device", str_text(&message)), event_fact("communicator", r->comm->about);
    return bad;
}

static int open_model(run *r, err *e)
{
    dtype compute = device_compute(r->cfg.precision, r->on);
    if (compute == BF16 && !device_has_bf16(r->on))
        log_line(LOG_INFO,
                 "bf16: numbers are stored in bf16, multiplied in fp32: the instruction set has no faster way");
    if (train_open_model(&r->model, &r->set, r->src, r->tgt, compute, r->on, e)) return -1;
    r->model_open = true;
    config_find_runs(&r->model.cfg, r->job.runs, r->job.folder, &r->memory);
    CLEANUP(str_free) str plugins = {0};
    if (model_plugins_json(&r->model.set, &plugins, e)) return -1;
    event_fact("plugins_json", str_text(&plugins));
    report_checks(r);
    if (report_device(r, e)) return -1;
    struct utsname here;
    if (!uname(&here)) event_fact("host", here.nodename);
    event_fact("precision", dtype_name(compute));
    CLEANUP(str_free) str why = {0};
    const char *fusion = model_fusion(&r->model, &why, e);
    if (fusion && why.n && r->job.profile) log_line(LOG_INFO, "attention: %s, because %s", fusion, str_text(&why));
    if (!fusion) return -1;
    event_fact("attention", fusion);
    CLEANUP(str_free) str groups = {0};
    groups_describe(&r->model, &groups);
    if (groups.n) event_fact("parameter_groups", str_text(&groups));
    event_fact_number("parameters", (double)params_count(&r->model.params));
    return 0;
}

/* Returns ", FILE:LINE," of a split's longest sentence, or "". */
static const char *longest_at(const run *r, ab_split s, bool source, char out[PLACE + 2])
{
    const pairs *p = &r->data.split[s];
    const int64_t *from = source ? p->src_at : p->tgt_at;
    int64_t i = 0, longest = source ? p->src_longest : p->tgt_longest;
    ab_example x = {0};
    while (i < p->n && from[i + 1] - from[i] != longest) i++;
    if (i < p->n && !p->text) r->task->get(r->task_self, s, p->example[i], &x);
    size_t n = strlen(place_of(source ? x.src : x.tgt, out + 2));
    if (n) memcpy(out, ", ", 2), memcpy(out + n, ",", 2);
    return n ? out : "";
}

/* Fails if the position plugin has fewer positions than the longest sentence or the longest decoded output. */
static int check_lengths(const run *r, err *e)
{
    int64_t needed = 0;
    char why[160 + PLACE] = "", at[PLACE + 2];
    for (ab_split s = AB_TRAIN; s < AB_SPLITS; s++) {
        const pairs *p = &r->data.split[s];
        if (!p->n || (s == AB_TEST && !worker_scores(r, s))) continue;
        bool source = p->src_longest >= p->tgt_longest;
        int64_t longest = source ? p->src_longest : p->tgt_longest, output = p->src_longest + r->cfg.max_extra_tokens;
        if (longest > needed) {
            needed = longest;
            snprintf(why, sizeof why, "the longest %s of %s%s has this many tokens, including EOS",
                     source ? "source" : "target", split_names[s], longest_at(r, s, source, at));
        }
        if (worker_decodes(r, s) && output > needed) {
            needed = output;
            snprintf(
                why, sizeof why,
                "outputs can be max_extra_tokens = %lld tokens longer than the longest source of %s, which has %lld",
                (long long)r->cfg.max_extra_tokens, split_names[s], (long long)p->src_longest);
        }
    }
    int64_t contrast = contrast_longest(r);
    if (contrast > needed) {
        needed = contrast;
        snprintf(why, sizeof why, "the longest contrastive pair has this many tokens, including EOS");
    }
    return model_check_reach(&r->model, needed, why, e);
}

/* Does a plugin of the model claim that in training a row may depend on other rows of the batch? */
static bool trains_on_batch(const run *r)
{
    bool any = false;
    for (size_t i = 0; i < r->model.set.n; i++) {
        ab_kind kind = model_plugin_kind(r->model.set.at[i].key);
        const plugin *p = kind ? plugin_find(kind, r->model.set.at[i].value, NULL) : NULL;
        any |= p && p->desc.claims & AB_TRAINS_ON_BATCH;
    }
    return any;
}

/* Tests that the trained model sees no future tokens, over a batch of dev (else of test or train) and a training batch:
 * a plugin may meet sizes that no check has tried. Off the CPU, rounding may differ a little. */
static void watch_future(run *r)
{
    static const ab_split tried[] = {AB_DEV, AB_TEST, AB_TRAIN};
    const double exact = r->on == &cpu_backend ? 0 : r->model.compute == F64 ? 1e-9 : 1e-4;
    err e = {0};
    size_t k = 0;
    while (k + 1 < LENGTH(tried) && !r->data.split[tried[k]].n) k++;
    double seen = train_sees_future(&r->model, &r->data.split[tried[k]], false, &e), in_training = 0;
    if (!e.text[0] && !trains_on_batch(r))
        in_training = train_sees_future(&r->model, &r->data.split[AB_TRAIN], true, &e);
    if (e.text[0]) log_line(LOG_WARN, "not tested whether the trained model sees future tokens: %s", e.text);
    if (e.text[0]) return;
    bool only_training = !(seen > exact);
    if (in_training > seen) seen = in_training;
    event_fact_number("future_seen", seen);
    if (seen <= exact) return;
    char message[256];
    snprintf(message, sizeof message,
             "the trained model sees the future: later tokens of a %s sentence change the losses of earlier ones by "
             "%.2g (relative)%s",
             split_names[only_training ? AB_TRAIN : tried[k]], seen, only_training ? ", in training" : "");
    log_line(LOG_WARN, "%s", message);
    if (!r->check_failed) event_fact("check_failed", message);
}

static void report_costs(run *r)
{
    err e = {0};
    double flops = model_update_flops(
        &r->model, worker_decoder_only(r) ? r->data.split[AB_TRAIN].tgt_longest : COSTS_SENTENCE, &e);
    if (e.text[0]) log_line(LOG_WARN, "FLOPs were not counted: %s", e.text);
    event_fact_number("flops_step", flops * r->trained.fill);
    if (*r->trained.started) event_fact("start_from", r->trained.started);
    if (*r->trained.taught) event_fact("teacher", r->trained.taught);
    if (r->trained.tokens_per_second > 0) {
        event_fact_number("tokens_second", r->trained.tokens_per_second);
        event_fact_number("target_tokens_second", r->trained.target_tokens_per_second);
    }
    event_fact_number("train_seconds", r->trained.seconds);
    event_fact_number("trained_tokens", r->trained.tokens);
    event_fact_number("batch_fill", r->trained.fill);
    if (r->trained.out_of_time) {
        char message[96];
        snprintf(message, sizeof message, "max_time = %.40s was over at step %lld of %lld", r->cfg.max_time,
                 (long long)r->trained.step, (long long)r->cfg.steps);
        log_line(LOG_INFO, "%s", message);
        event_fact("ended", message);
    }
}

double worker_core_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void report_process(const run *r)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    event_fact_number("peak_memory", (double)use.ru_maxrss * 1024);
    event_fact_number("core_seconds", r->trained.processor_before + worker_core_seconds() - r->core_seconds);
    event_fact_number("run_seconds", r->trained.run_before + ticks() - r->began);
}

/* Joins the other ranks, if any; only rank 0 reports to the host and writes in the folder. */
static int join_ranks(run *r, err *e)
{
    int rank = 0, ranks = 1, here = 0;
    if (r->job.ranks < 2) return (r->on = device_open(r->job.device, e)) ? lock_folder(r, e) : -1;
    comm_place(&rank, &ranks, &here);
    if (!(r->on = device_open_rank(r->job.device, here, e)) ||
        !(r->comm = comm_open(r->on, r->job.folder, (int)r->job.ranks, e)))
        return -1;
    r->leads = comm_leads(r->comm);
    if (!r->leads) events_open(-1);
    return (r->leads && lock_folder(r, e)) || comm_barrier(r->comm, e) ? -1 : 0;
}

/* After the last update rank 0 continues alone, on the cores of its machine's other ranks. */
static void leave_ranks(run *r)
{
    const comm *c = r->comm;
    if (c && r->leads && r->job.threads) cpu_threads((int)r->job.threads * c->here);
    comm_close(c);
    r->comm = NULL;
}

int worker_open(run *r, err *e)
{
    if (read_settings(r, e) || open_task(r, e) || read_data(r, e)) return -1;
    event_phase("model");
    return contrast_open(r, e) || open_model(r, e) || check_lengths(r, e) ? -1 : 0;
}

/* Trains and scores a run. */
train_outcome worker_do(run *r, err *e)
{
    event_phase("data");
    if (join_ranks(r, e) || worker_open(r, e)) return TRAIN_FAILED;
    event_phase("train");
    train_job t = {
        .m = &r->model,
        .data = &r->data,
        .src = r->src,
        .tgt = r->tgt,
        .folder = r->job.folder,
        .comm = r->comm,
        .began = r->began,
        .processor = r->core_seconds,
        .renew = worker_renew(r),
        .renewed = r,
        .events = {
            .self = r, .point = send_point, .progress = send_progress, .stop = should_stop, .lent = use_threads}};
    training = 1;
    train_outcome outcome = train_run(&t, &r->trained, e);
    training = 0;
    if (r->renew_error.text[0]) return fail(e, "%s", r->renew_error.text), TRAIN_FAILED;
    if (outcome != TRAIN_FAILED) leave_ranks(r);
    if (!r->leads) return outcome;
    if (outcome == TRAIN_DONE && stop_asked) return TRAIN_STOPPED; /* the signal came after the last step */
    report_costs(r);
    report_process(r);
    if (outcome != TRAIN_DONE) return outcome;
    use_threads(r, r->trained.step);
    event_phase("score");
    if (score_perplexity(r, e)) return TRAIN_FAILED;
    if (!r->model.bidirectional) watch_future(r);
    if (!worker_decoder_only(r)) event_phase("decode");
    if (worker_decoder_only(r) ? score_likelihoods(r, e) : score_decoded(r, e)) return TRAIN_FAILED;
    score_token_accuracy(r);
    if (contrast_score(r, e)) return TRAIN_FAILED;
    recorded_results(r);
    char message[128];
    if (r->on->stats) r->on->stats(message, sizeof message), event_fact("products", message);
    AUTOFREE char *path = path_join(r->job.folder, "model.safetensors");
    if (file_exists(path)) event_artifact("model", path);
    report_process(r); /* again, including scores and decoding */
    return TRAIN_DONE;
}

void worker_close(run *r)
{
    for (int s = 0; s < AB_SPLITS; s++) free(r->nll[s]), free(r->hits[s]);
    str_free(&r->lent_told);
    if (r->model_open) model_free(&r->model);
    contrast_close(r);
    dataset_free(&r->data);
    vocabs_free(r->src, r->tgt);
    if (r->task && r->task_self) r->task->close(r->task_self);
    arena_free(&r->memory);
    if (r->lock >= 0) close(r->lock);
}
