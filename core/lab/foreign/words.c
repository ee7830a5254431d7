/* words.c - guesses the meaning of columns by the words in their names. */
#include "lab/foreign/foreign.h"
#include <ctype.h>
#include <string.h>

/* Is one of the name's words, split at anything but letters and digits, in the blank-separated list? */
static bool has_word(const char *name, const char *list)
{
    char word[64];
    for (const char *p = name; *p;) {
        size_t n = 0;
        while (*p && !isalnum((unsigned char)*p)) p++;
        for (; isalnum((unsigned char)*p); p++)
            if (n < sizeof word - 1) word[n++] = (char)tolower((unsigned char)*p);
        word[n] = 0;
        for (const char *at = list; n && (at = strstr(at, word)); at += n)
            if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    }
    return false;
}

static const char higher[] = "acc accuracy bleu sacrebleu chrf f1 em match auc auroc ap map mrr ndcg recall precision "
                             "rouge rouge1 rouge2 rougel meteor comet score reward return success iou miou dice psnr "
                             "ssim mcc top1 top5 pass win spearman pearson kappa r2 elo hits correct";
static const char lower[] = "loss ppl perplexity error err wer cer ter mse rmse mae nll bpc bpb bits ce entropy fid kl "
                            "brier ece latency regret";

const char *direction_of_name(const char *metric)
{
    bool up = has_word(metric, higher), down = has_word(metric, lower);
    return up == down ? NULL : up ? "max" : "min";
}

bool sounds_like_metric(const char *name) { return has_word(name, higher) || has_word(name, lower); }
bool sounds_like_setting(const char *name)
{
    return has_word(name,
                    "lr learning size dim dropout decay heads layers depth width hidden batch warmup epochs steps "
                    "num weight smoothing beta beta1 beta2 eps epsilon momentum params parameters interval length "
                    "clip optimizer scheduler activation");
}
bool sounds_like_bookkeeping(const char *name)
{
    return *name == '_' ||
           has_word(name, "time runtime timestamp date created updated host hostname url path dir state "
                          "notes user tags id elapsed duration sweep commit second seconds uuid pid");
}
bool names_best(const char *metric) { return has_word(metric, "best max min"); }

bool seed_in_name(const char *name, size_t *length, int64_t *seed)
{
    static const char *const endings[] = {"seed", "version", "trial", "rep", "run", "s"};
    size_t n = strlen(name), digits = n;
    while (digits && isdigit((unsigned char)name[digits - 1])) digits--;
    if (digits == n || n - digits > 9) return false;
    size_t end = digits;
    if (end && strchr("-_=", name[end - 1])) end--;
    for (size_t i = 0; i < LENGTH(endings); i++) {
        size_t k = strlen(endings[i]);
        if (end < k + 2 || strncmp(name + end - k, endings[i], k) || !strchr("-_./ ", name[end - k - 1])) continue;
        *length = end - k - 1;
        return parse_int(name + digits, seed);
    }
    return false;
}
