/* replay.c - see replay.h. The run's own files are read, never written. */
#include "lab/run/replay.h"
#include "lab/launch/event.h"
#include "tensor/cpu/cpu.h"
#include "tensor/device/device.h"
#include "tensor/graph/profile.h"

train_outcome replay_train(const replay_job *j, err *e)
{
    worker_run r = {.job = j->job, .leads = true, .lock = -1};
    train_outcome outcome = TRAIN_FAILED;
    events_open(-1);
    cpu_threads((int)j->job.threads);
    profile_enable(j->job.profile);
    if ((r.on = device_open(j->job.device, e)) && !worker_open(&r, e)) {
        train_job t = {.m = &r.model,
                       .data = &r.data,
                       .src = r.src,
                       .tgt = r.tgt,
                       .events = {.self = j->self, .point = j->point},
                       .renew = worker_renew(&r),
                       .renewed = &r,
                       .resume = j->resume,
                       .until = j->until,
                       .show = j->show,
                       .show_from = j->show_from};
        r.model.prints = true;
        outcome = train_run(&t, &r.trained, e);
    }
    if (j->job.profile && outcome != TRAIN_FAILED) worker_print_profile(&r);
    worker_close(&r);
    return outcome;
}
