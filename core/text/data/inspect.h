/* inspect.h - counts faults of a task's pairs, or of lines without a source, such as empty sides and training pairs
 * that also are in dev or test. */
#ifndef ABLATE_DATA_INSPECT_H
#define ABLATE_DATA_INSPECT_H
#include "api/ab_plugin.h"
#include "base/base.h"

enum { LENGTH_BINS = 7 };
extern const int64_t length_bins[LENGTH_BINS - 1]; /* each bin's maximum number of words; the last bin has no maximum */

typedef struct { /* one split; words are separated by blanks */
    int64_t pairs, src_words, tgt_words;
    int64_t src_bins[LENGTH_BINS], tgt_bins[LENGTH_BINS]; /* number of lines by length */
    int64_t empty;                                        /* a side is empty or blank */
    int64_t not_utf8;                                     /* a side is not UTF-8 */
    int64_t identical;                                    /* both sides are the same text */
    int64_t ratio;        /* one side has ten words or more, and over three times as many as the other side */
    int64_t twice;        /* pairs that occurred before in this split */
    int64_t swapped;      /* pairs that are a training pair with the sides exchanged */
    int64_t in_train;     /* dev and test: the pair is in train too */
    int64_t src_in_train; /* dev and test: the source is in train too */
    int64_t long_word;    /* a side is left out when vocabularies are trained: a word is too long (vocab.h) */
} split_report;

typedef struct {
    split_report split[AB_SPLITS];
    bool alone; /* lines without a source: each pair is a line, and fields about sources or both sides mean nothing */
} data_report;

/* Called for each fault: example i of a split, and offsetof(split_report, FIELD). */
typedef struct {
    void (*fault)(void *to, ab_split s, size_t field, int64_t i, const ab_example *x);
    void *to;
} data_listener;
/* Inspects every pair of a task whose data are open. to: called for each fault; may be NULL. */
void data_inspect(const ab_task_plugin *task, void *self, data_report *out, const data_listener *to);
/* Faults in a line's text. A byte order mark at a file's start is removed from `line` and is no fault. */
enum {
    TEXT_CRLF,
    TEXT_CR,
    TEXT_SEPARATOR,
    TEXT_CONTROL,
    TEXT_MARK,
    TEXT_NOT_NFC,
    TEXT_LONG_WORD,
    TEXT_NOT_UTF8,
    TEXT_FAULTS
};
extern const char *const text_faults[TEXT_FAULTS];
unsigned text_faults_of(const char *line, size_t n); /* bits 1 << TEXT_...; n: bytes without the line feed */

/* Can data_inspect read `data`, the value of a task's key or NULL, as a corpus? */
bool data_inspectable(const char *data);
/* Appends the faults that can falsify results, separated by "; ": pairs of dev or test in train, empty sides. */
void data_dangers(const data_report *r, str *out);
#endif
