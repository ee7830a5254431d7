/* spm_shim.cc - the project's only C++: SentencePiece 0.1.97 as in Debian 12. */
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" {
#include "base/base.h"
#include "text/tokens/vocab.h"
}
#include "text/tokens/spm_shim.h"

struct spm {
    sentencepiece::SentencePieceProcessor processor;
};

namespace
{

/* Being out of memory ends C++ code like C code (base/memory.c), here and in the libraries below. */
const std::new_handler before = std::set_new_handler([] { out_of_memory(0); });

/* Reads the training lines from memory, except lines with too long words. */
class Lines : public sentencepiece::SentenceIterator
{
  public:
    Lines(const char *const *lines, int64_t n) : lines_(lines), n_(n) { set(); }
    bool done() const override { return at_ >= n_; }
    void Next() override
    {
        at_++;
        set();
    }
    const std::string &value() const override { return line_; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    void set()
    {
        while (at_ < n_ && word_too_long(lines_[at_])) at_++;
        if (at_ < n_) line_ = lines_[at_];
    }
    const char *const *lines_;
    int64_t n_, at_ = 0;
    std::string line_;
};

/* Returns the whole number after `words` in SentencePiece's message, or -1. */
long number_after(const std::string &message, const char *words)
{
    size_t at = message.find(words);
    return at == std::string::npos ? -1 : atol(message.c_str() + at + strlen(words));
}

/* Fails with SentencePiece's message in this project's terms. */
int refuse(const char *kind, int64_t size, int64_t n, const std::string &message, err *e)
{
    long most = number_after(message, "value <= ");
    if (most > 0) {
        const long usual = most / 4 / 100 * 100; /* few enough that tokens recur (Gowda and May 2020, section 4) */
        return fail(
            e, "vocab_size %lld is too large: %lld lines give a %s vocabulary of at most %ld; set vocab_size = %ld%s",
            (long long)size, (long long)n, kind, most, usual ? usual : most,
            usual ? " or so, so that tokens recur" : " or less");
    }
    long least = number_after(message, "required_chars. ");
    size_t versus = message.find(" vs ");
    if (least >= 0 && versus != std::string::npos) least = atol(message.c_str() + versus + 4);
    if (least > 0) return fail(e, VOCAB_TOO_SMALL, (long long)size, (long long)least, (long long)least);
    if (message.find("!sentences_.empty()") != std::string::npos)
        return fail(
            e,
            "no line is left to train a %s vocabulary: of %lld lines, every non-empty one has U+2585 (SentencePiece's "
            "mark for unknown) or a word of more than %d characters",
            kind, (long long)n, LONGEST_WORD);
    return fail(e, "SentencePiece could not train a %s vocabulary of %lld on %lld lines: %s", kind, (long long)size,
                (long long)n, message.c_str());
}

/* Quotes a text for a comma-separated list. */
std::string in_csv(const std::string &text)
{
    std::string out = "\"";
    for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

} // namespace

int spm_train(bool bpe, int64_t size, const char *const *symbols, int64_t n_symbols, const char *const *lines,
              int64_t n, str *model, err *e)
{
    const char *kind = bpe ? "bpe" : "unigram";
    try {
        std::unordered_map<std::string, std::string> options = {
            {"model_type", kind},
            {"vocab_size", std::to_string(size)},
            {"pad_id", std::to_string(VOCAB_PAD)},
            {"unk_id", std::to_string(VOCAB_UNK)},
            {"bos_id", std::to_string(VOCAB_BOS)},
            {"eos_id", std::to_string(VOCAB_EOS)},
            {"character_coverage", "1.0"}, /* keeps all characters, so that the training text reads back unchanged */
            {"normalization_rule_name", "identity"},
            {"remove_extra_whitespaces", "false"},
            {"max_sentence_length", "1000000000"}, /* by default, lines over 4,192 bytes are dropped */
            {"num_threads", "1"},
            {"minloglevel", "4"},
        };
        /* SentencePiece does not by itself add the tab to its alphabet. */
        if (std::any_of(lines, lines + n, [](const char *line) { return strchr(line, '\t'); }))
            options["user_defined_symbols"] = "\t";
        for (int64_t i = 0; i < n_symbols; i++) {
            std::string &list = options["user_defined_symbols"];
            list += (list.empty() ? "" : ",") + in_csv(std::string("\xe2\x96\x81") + symbols[i]);
        }
        Lines iterator(lines, n);
        std::string out;
        auto status = sentencepiece::SentencePieceTrainer::Train(options, &iterator, &out);
        if (!status.ok()) return refuse(kind, size, n, status.message(), e);
        str_addn(model, out.data(), out.size());
        return 0;
    } catch (const std::exception &x) {
        return refuse(kind, size, n, x.what(), e);
    }
}

spm *spm_open(const void *data, size_t n, err *e)
{
    try {
        auto m = std::make_unique<spm>(); /* the library may throw */
        auto status = m->processor.LoadFromSerializedProto({static_cast<const char *>(data), n});
        if (status.ok()) return m.release();
        fail(e, "not a SentencePiece model: %s", status.message());
    } catch (const std::exception &x) {
        fail(e, "not a SentencePiece model: %s", x.what());
    }
    return nullptr;
}

void spm_close(spm *m) { delete m; }

int64_t spm_size(const spm *m) { return m->processor.GetPieceSize(); }

const char *spm_piece(const spm *m, int32_t id) { return m->processor.IdToPiece(id).c_str(); }

float spm_score(const spm *m, int32_t id) { return m->processor.GetScore(id); }

int spm_encode(const spm *m, const char *line, size_t n, id_list *out, err *e)
{
    try {
        std::vector<int> ids;
        auto status = m->processor.Encode({line, n}, &ids);
        if (!status.ok()) return fail(e, "SentencePiece cannot encode the line: %s", status.message());
        size_t total = static_cast<size_t>(out->n) + ids.size();
        out->id = static_cast<int32_t *>(grow(out->id, &out->cap, total, sizeof *out->id));
        for (int id : ids) out->id[out->n++] = id;
        return 0;
    } catch (const std::exception &x) {
        return fail(e, "SentencePiece cannot encode the line: %s", x.what());
    }
}
