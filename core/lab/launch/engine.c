/* engine.c - runs that any job engine trains (away.h): `ablate run --launcher COMMAND`. The engine only starts `ablate
 * worker FOLDER` for each run, on a machine that sees the folder; it is never queried.
 *     FOLDER/job   exists while a run waits or trains: the spool, and the run's number in it. Without this file a task
 *                  does not start, and a running task stops
 *     command      in the spool: how many commands run at a time, and COMMAND
 *     signed       a hash of the command with a key that only this user has: an unsigned command is not started again
 *     round-R      the runs that COMMAND is started for, one number per line
 *     host-R       the process that starts them (db_owner)
 *     status-I     the exit status of the last COMMAND for run I, when it has ended
 *     output.txt   what the commands wrote
 * A run whose task is silent for a lease is lost, and COMMAND starts again for it; so is a run that never started if
 * COMMAND failed. If the silent task still lives, or the engine restarts it, only one of both tasks trains the run
 * (task.c). Any other run waits in the engine without limit. */
#include "base/below.h"
#include "lab/launch/away.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_STARTS = 20, MOST_FAILURES = 3 }; /* limits: starts of a run's command; failures before any task began */

static char *job_of(const away_run *a) { return path_join(a->w.folder, "job"); }

static void withdraw(const away_run *a)
{
    AUTOFREE char *path = job_of(a);
    unlink(path);
}

/* ---- the process that starts the commands ---- */

/* Rejects a path with characters that a shell would change, because the engine's and other machines' shells read it. */
static int check_path(const char *path, err *e)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=+,:@%-";
    size_t n = strspn(path, plain);
    return path[n] ? fail(e,
                          "%s: found '%c' in the path, expected only letters, digits and _./=+,:@%%-, because the "
                          "launcher's shells read it",
                          path, path[n])
                   : 0;
}

typedef struct {
    const char *program, *spool, *command;
    int64_t at_once;
    char **folder; /* [n] folders of the round's runs */
    int64_t *run;
    pid_t *pid;
    size_t n;
} round_of;

static void write_status(const round_of *r, size_t k, int status)
{
    AUTOFREE char *path = away_part(r->spool, "status", r->run[k]);
    char text[32];
    err none = {0};
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    file_write(path, text, (size_t)snprintf(text, sizeof text, "%d\n", code), &none);
}

static void add_command(const round_of *r, size_t k, str *out)
{
    str_addf(out, "%s worker %s", r->program, r->folder[k]);
}

/* Starts COMMAND for a run; each {} becomes the run's command. */
static pid_t start_one(const round_of *r, size_t k)
{
    CLEANUP(str_free) str line = {0};
    const char *at = r->command;
    for (const char *hole; (hole = strstr(at, "{}")); at = hole + 2) {
        str_addn(&line, at, (size_t)(hole - at));
        add_command(r, k, &line);
    }
    str_add(&line, at);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", str_text(&line), (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void run_each(round_of *r)
{
    int64_t running = 0;
    for (size_t next = 0; running || next < r->n;) {
        int status = 0;
        if (next < r->n && running < r->at_once) {
            r->pid[next] = start_one(r, next);
            if (r->pid[next] > 0)
                running++;
            else
                write_status(r, next, 127 << 8);
            next++;
            continue;
        }
        pid_t gone = wait(&status);
        if (gone < 0 && errno != EINTR) return;
        for (size_t k = 0; k < next && gone > 0; k++)
            if (r->pid[k] == gone) write_status(r, k, status), r->pid[k] = 0, running--;
    }
}

static void run_all(round_of *r)
{
    CLEANUP(str_free) str lines = {0};
    for (size_t k = 0; k < r->n; k++) add_command(r, k, &lines), str_addc(&lines, '\n');
    FILE *f = popen(r->command, "w");
    int status = 127 << 8;
    if (f) fwrite(lines.s, 1, lines.n, f), status = pclose(f);
    for (size_t k = 0; k < r->n; k++) write_status(r, k, status);
}

/* Reads the numbers of the round's runs, and their folders from the spool's claims. */
static int read_round(round_of *r, int64_t round, err *e)
{
    CLEANUP(str_free) str claims = {0}, list = {0};
    AUTOFREE char **claim = NULL, **number = NULL, *all = path_join(r->spool, "claims"),
                  *file = away_part(r->spool, "round", round);
    size_t n_claims = 0, n = 0;
    int bad = file_lines(all, &claims, &claim, &n_claims, e) || file_lines(file, &list, &number, &n, e);
    r->folder = xcalloc(n + 1, sizeof *r->folder);
    r->run = xcalloc(n + 1, sizeof *r->run);
    r->pid = xcalloc(n + 1, sizeof *r->pid);
    for (size_t k = 0; k < n && !bad; k++) {
        int64_t i;
        const char *tab = parse_int(number[k], &i) && i >= 0 && (size_t)i < n_claims ? strrchr(claim[i], '\t') : NULL;
        if (!tab) {
            bad = fail(e, "%s:%zu: found \"%s\", expected the number of a run", file, k + 1, number[k]);
            break;
        }
        r->run[k] = i, r->folder[k] = xstrdup(tab + 1), r->n = k + 1;
    }
    return bad ? -1 : 0;
}

int launch_round(const char *program, const char *spool, int64_t round, err *e)
{
    round_of r = {.program = program, .spool = spool};
    AUTOFREE char *host = away_part(spool, "host", round), *path = path_join(spool, "command");
    char me[128], *line = NULL;
    CLEANUP(str_free) str command = {0};
    db_owner(me);
    signal(SIGPIPE, SIG_IGN);
    int bad = read_round(&r, round, e) || file_read(path, &command, e);
    if (!bad) line = strchr(command.s, '\n');
    if (!bad && line) *line = 0, r.command = line + 1;
    if (!bad && (!line || !parse_int(command.s, &r.at_once))) bad = fail(e, "%s: not written by this program", path);
    if (!bad) bad = file_write(host, me, strlen(me), e);
    if (!bad) strstr(r.command, "{}") ? run_each(&r) : run_all(&r);
    for (size_t k = 0; k < r.n; k++) free(r.folder[k]);
    free(r.folder), free(r.run), free(r.pid);
    return bad;
}

/* ---- the host's side ---- */

/* Reads the user's key; the first call makes it. */
static int read_key(str *key, err *e)
{
    unsigned char fresh[32];
    AUTOFREE char *folder = path_in_cache(""), *path = path_in_cache("key");
    char hex[65];
    int bad = !path ? fail(e, "HOME is not set") : 0;
    if (!bad && !file_exists(path)) {
        if (getrandom(fresh, sizeof fresh, 0) != sizeof fresh) bad = fail(e, "no random bytes: %s", strerror(errno));
        sha256_of(fresh, sizeof fresh, hex);
        mode_t before = umask(077);
        bad = bad || make_folders(folder, e) || file_write(path, hex, 64, e);
        umask(before);
    }
    return bad ? bad : file_read_regular(path, 64, key, e);
}

/* Computes the signature of the spool's command. */
static int sign(const away_job *j, char hash[65], err *e)
{
    CLEANUP(str_free) str text = {0}, command = {0};
    AUTOFREE char *path = path_join(j->spool, "command"), *spool = realpath(j->spool, NULL);
    int bad = read_key(&text, e) || file_read_regular(path, 1 << 20, &command, e);
    str_addf(&text, "\n%s\n%s", spool ? spool : "", str_text(&command));
    sha256_of(text.s, text.n, hash);
    return bad;
}

/* A folder of runs may be another user's: a command is started again only if this host or user wrote the command. */
static bool may_start(const launcher *l, const away_job *j)
{
    AUTOFREE char *path = path_join(j->spool, "signed");
    char hash[65] = "";
    CLEANUP(str_free) str was = {0};
    err none = {0};
    return l->o->command ||
           (!sign(j, hash, &none) && !file_read_regular(path, 64, &was, &none) && same(str_text(&was), hash));
}

/* Starts the process that starts commands, for the runs in `which`; it survives the host. */
static int start_round(const launcher *l, away_job *j, const size_t *which, size_t n, err *e)
{
    CLEANUP(str_free) str list = {0};
    for (size_t k = 0; k < n; k++) {
        AUTOFREE char *status = away_part(j->spool, "status", (int64_t)which[k]);
        unlink(status);
        str_addf(&list, "%zu\n", which[k]);
        away_run *a = &j->run[which[k]];
        a->launched++, a->missing = 0, a->round = j->rounds + 1;
    }
    AUTOFREE char *path = away_part(j->spool, "round", ++j->rounds), *output = path_join(j->spool, "output.txt");
    int bad = file_write(path, list.s, list.n, e);
    char round[16];
    snprintf(round, sizeof round, "%d", j->rounds);
    pid_t pid = bad ? -1 : fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL), signal(SIGHUP, SIG_DFL);
        setsid();
        int nothing = open("/dev/null", O_RDONLY), out = open(output, O_WRONLY | O_CREAT | O_APPEND, 0666);
        dup2(nothing, 0), dup2(out, 1), dup2(out, 2);
        for (int fd = 3; fd < 1024; fd++) close(fd); /* closes inherited files, above all the database's */
        execl(l->o->program, "ablate", "launch-round", j->spool, round, (char *)NULL);
        _exit(127);
    }
    return pid < 0 && !bad ? fail(e, "cannot start the launcher: %s", strerror(errno)) : bad;
}

static int submit_command(launcher *l, away_job *j, err *e)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char *path = path_join(j->spool, "command");
    AUTOFREE size_t *which = xcalloc(j->n + 1, sizeof *which);
    str_addf(&text, "%d\n%s", l->o->workers > 1 ? l->o->workers : 1, l->o->command);
    int bad = check_path(l->o->program, e) || check_path(j->spool, e) || file_write(path, text.s, text.n, e);
    AUTOFREE char *own = path_join(j->spool, "signed");
    char hash[65];
    err unsigned_ = {0}; /* if it fails, `ablate sync` does not start the command again */
    if (!bad && !sign(j, hash, &unsigned_)) file_write(own, hash, 64, &unsigned_);
    if (!bad && j->ranks > 1)
        bad = fail(e, "ranks = %d: --launcher COMMAND cannot start several ranks; use local or slurm", j->ranks);
    for (size_t i = 0; i < j->n && !bad; i++) {
        AUTOFREE char *job = job_of(&j->run[i]);
        str_clear(&text);
        str_addf(&text, "%s\n%zu\n", j->spool, i);
        bad = file_write(job, text.s, text.n, e);
        which[i] = i;
    }
    if (!bad) bad = start_round(l, j, which, j->n, e);
    if (!bad) {
        j->id = xstrdup(strrchr(j->spool, '/') + 1);
        progress_line(&l->p, "%zu run%s handed to: %s", j->n, j->n == 1 ? "" : "s", l->o->command);
    }
    for (size_t i = 0; i < j->n && bad; i++)
        if (j->run[i].w.folder) withdraw(&j->run[i]);
    return bad;
}

/* Reads from the rounds' files how often and when each run's command was started. */
static int read_rounds(away_job *j, err *e)
{
    bool bad = false, more = true;
    while (more && !bad) {
        AUTOFREE char *path = away_part(j->spool, "round", j->rounds + 1), **line = NULL;
        CLEANUP(str_free) str text = {0};
        size_t n = 0;
        int64_t i;
        more = file_exists(path);
        if (more) j->rounds++, bad = file_lines(path, &text, &line, &n, e);
        for (size_t k = 0; k < n; k++)
            if (parse_int(line[k], &i) && i >= 0 && (size_t)i < j->n) j->run[i].launched++, j->run[i].round = j->rounds;
    }
    j->id = xstrdup(strrchr(j->spool, '/') + 1);
    return bad ? -1 : j->rounds > 0;
}

/* Returns the exit status of the last command for run i; -1: the command runs; -2: its process ended without recording
 * a status, or never wrote host-R. *unread: why a file that exists cannot be read. */
static int status_of(const away_job *j, size_t i, err *unread)
{
    AUTOFREE char *path = away_part(j->spool, "status", (int64_t)i),
                  *host = away_part(j->spool, "host", j->run[i].round);
    CLEANUP(str_free) str text = {0}, owner = {0};
    int64_t code;
    bool told = file_exists(path) && !file_read(path, &text, unread) && parse_int(trim(text.s), &code);
    bool gone =
        !told && (file_exists(host) ? !file_read(host, &owner, unread) && db_owner_is_gone(str_text(&owner))
                                    : away_age(j->spool, "round", j->run[i].round, NULL, unread) > away_lease());
    return told ? (int)code : gone ? -2 : -1;
}

static const char *why(const away_job *j, size_t i, int status, bool may, char out[320])
{
    if (!may)
        snprintf(out, 320, "its tasks are gone, and %s/command is not started again: this user did not write it",
                 j->spool);
    else if (status >= 0)
        snprintf(
            out, 320,
            "its launcher ended %d times without training it, at last with status %d; %s/output.txt has its output",
            j->run[i].launched, status, j->spool);
    else
        snprintf(out, 320, "its tasks went silent %d times", j->run[i].launched);
    return out;
}

/* Is run i lost? Yes if its task is silent, or if it has no task and its command failed. */
static bool is_lost(away_job *j, size_t i, double *silent, int *status, err *unread)
{
    away_run *a = &j->run[i];
    int code, sig;
    *silent = away_age(j->spool, "owner", (int64_t)i, NULL, unread);
    *status = status_of(j, i, unread);
    bool lost = *silent >= 0 ? *silent > away_lease() : j->cancelled || *status > 0 || *status == -2;
    if (!lost || away_ended(j, i, &code, &sig)) return a->missing = 0, false;
    return ++a->missing >= (j->cancelled ? 1 : AWAY_GRACE);
}

static int inspect_command(launcher *l, away_job *j, err *e)
{
    size_t n = 0;
    AUTOFREE size_t *again = xcalloc(j->n + 1, sizeof *again);
    int bad = 0;
    err unread = {0};
    while (waitpid(-1, NULL, WNOHANG) > 0) {} /* reaps processes of rounds */
    for (size_t i = 0; i < j->n && !bad; i++) {
        away_run *a = &j->run[i];
        double silent;
        int status;
        bool may;
        if (a->over || !is_lost(j, i, &silent, &status, &unread)) continue;
        if (j->cancelled) {
            bad = away_end(l, j, i, WORKER_STOPPED, -1, e);
        } else if (!(may = may_start(l, j)) ||
                   a->launched >= (silent < 0 && !a->start && !a->read ? MOST_FAILURES : MOST_STARTS)) {
            char text[320];
            snprintf(a->w.error, sizeof a->w.error, "%s", why(j, i, status, may, text));
            bad = away_end(l, j, i, -1, SIGKILL, e);
        } else {
            progress_line(&l->p, "again   %s s%lld: %s", a->w.claim.name, (long long)a->w.claim.seed,
                          silent >= 0 ? "its task is silent" : "its launcher ended without training it");
            again[n++] = i;
        }
    }
    j->unread = *unread.text ? j->unread + 1 : 0;
    if (!bad && j->unread >= AWAY_GRACE)
        bad = fail(e, "%s; the runs continue, and `ablate sync` records their results", unread.text);
    if (n && !bad) bad = start_round(l, j, again, n, e);
    return bad;
}

/* Is this process the launch-round of the spool? host-R alone does not show it: another process may have written it. */
static bool starts_round(long process, const char *spool)
{
    char path[64];
    CLEANUP(str_free) str words = {0}, expected = {0};
    err none = {0};
    snprintf(path, sizeof path, "/proc/%ld/cmdline", process);
    str_addn(&expected, "ablate\0launch-round", sizeof "ablate\0launch-round");
    str_addn(&expected, spool, strlen(spool) + 1);
    return !file_read(path, &words, &none) && words.n > expected.n && !memcmp(words.s, expected.s, expected.n);
}

/* Removes the runs' job files, so that tasks stop; ends the processes that start commands and all they started here. */
static void cancel_command(away_job *j)
{
    for (size_t i = 0; i < j->n; i++)
        if (!j->run[i].over) withdraw(&j->run[i]);
    for (int r = 1; r <= j->rounds; r++) {
        AUTOFREE char *path = away_part(j->spool, "host", r);
        CLEANUP(str_free) str owner = {0};
        err none = {0};
        long group = file_exists(path) && !file_read(path, &owner, &none) ? db_owner_process(str_text(&owner)) : 0;
        if (group && starts_round(group, j->spool) && getpgid((pid_t)group) == (pid_t)group)
            kill((pid_t)-group, SIGTERM);
    }
}

const away_engine command_engine = {.name = "engine",
                                    .submit = submit_command,
                                    .read = read_rounds,
                                    .look = inspect_command,
                                    .cancel = cancel_command,
                                    .end = withdraw};
