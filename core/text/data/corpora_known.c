/* corpora_known.c - the public corpora: addresses, sizes, checksums.
 *
 * Checksums of statmt.org's archives are from the url_checksums of TensorFlow Datasets (wmt14_translate.txt,
 * wmt15_translate.txt). Those of Multi30k, the WMT test sets as plain text and the treebanks were computed from the
 * repositories at the commits in the addresses (2026-11). Test sets are OPUS-MT's plain text of the WMT files:
 * newstest2014 is the full set (3,003 lines). */
#include "text/data/corpora.h"

#define STATMT "https://www.statmt.org/"
#define M30K                                                                                                           \
    "https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/"                \
    "task1/"
#define OPUS                                                                                                           \
    "https://raw.githubusercontent.com/Helsinki-NLP/OPUS-MT-testsets/"                                                 \
    "ac0f19c0be3cb4e0d9450fcb2d7a9847c4bdd180/testsets/"

#define CRAFT "https://raw.githubusercontent.com/UCDenver-ccp/CRAFT/2abe82b8bb8089448b84937d5f61d8c218011322/"
#define GUM   "https://raw.githubusercontent.com/amir-zeldes/gum/72ce5ac14978a324c2fd18d49484e65292cbe316/"
#define SHAKESPEARE                                                                                                    \
    "https://raw.githubusercontent.com/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/"               \
    "tinyshakespeare/"
#define GENIA_TREES                                                                                                    \
    "https://raw.githubusercontent.com/allenai/genia-dependency-trees/"                                                \
    "a155b14b6e852f57cb1c8ef760d3f23a3ea60e6e/"

/* clang-format off */
static const download europarl = {STATMT "wmt13/training-parallel-europarl-v7.tgz", 657632379,
    "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7"};
static const download commoncrawl = {STATMT "wmt13/training-parallel-commoncrawl.tgz", 918311367,
    "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5"};
static const download un = {STATMT "wmt13/training-parallel-un.tgz", 2365634246,
    "29141b5c1eba149a94f7a59d3b1a834b2e47fe0f8758d68dcd77a3d3f497ee47"};
static const download commentary = {STATMT "wmt14/training-parallel-nc-v9.tgz", 80418416,
    "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485"};
static const download giga = {STATMT "wmt10/training-giga-fren.tar", 2595102720,
    "3ff8319f6919393520559bfbc7ad6a747ec81b3abc7be9993b338d4b017b4d9a"};
static const download news2013_de_en = {OPUS "eng-deu/newstest2013.eng", 332974,
    "ace268a1d9724ca76f6d8e5c720ffdc08f01bdce45630ed8b269dc7918e1c16e"};
static const download news2013_de_de = {OPUS "eng-deu/newstest2013.deu", 385433,
    "d7ea35ab91ff3709e03ad9cb6bf5b4f2cc775cd2d72efd5254c4aec5e69663ca"};
static const download news2014_de_en = {OPUS "eng-deu/newstest2014.eng", 359898,
    "7294bccf2879a97b3706b95c9595f1459617a8ee7130d5d8581c910e69736971"};
static const download news2014_de_de = {OPUS "eng-deu/newstest2014.deu", 399406,
    "ae5d110486bc33d7175e9e28c7d0051eb3e5fcd2166dd93371089852c091a20e"};
static const download news2013_fr_en = {OPUS "eng-fra/newstest2013.eng", 332974,
    "ace268a1d9724ca76f6d8e5c720ffdc08f01bdce45630ed8b269dc7918e1c16e"};
static const download news2013_fr_fr = {OPUS "eng-fra/newstest2013.fra", 393465,
    "909b63be5df3eb8c13e1d5967bf3f0adfdb9f6ed5e638c5bffff563ee2ff7f41"};
static const download news2014_fr_en = {OPUS "eng-fra/newstest2014.eng", 375106,
    "9a12cb6e8efb3509ebede627e4a9c83ee64935509d561ff70f4b7bd5f93f6096"};
static const download news2014_fr_fr = {OPUS "eng-fra/newstest2014.fra", 445720,
    "2bd07dc204f965bf88e90adb6223a8cb850f9bf9840df6af1f4945195936656e"};
static const download raw_train_en = {M30K "raw/train.en.gz", 568929,
    "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"};
static const download raw_train_de = {M30K "raw/train.de.gz", 637044,
    "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"};
static const download raw_train_fr = {M30K "raw/train.fr.gz", 604242,
    "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c"};
static const download raw_val_en = {M30K "raw/val.en.gz", 21650,
    "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"};
static const download raw_val_de = {M30K "raw/val.de.gz", 24681,
    "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"};
static const download raw_val_fr = {M30K "raw/val.fr.gz", 23001,
    "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9"};
static const download raw_test2016_en = {M30K "raw/test_2016_flickr.en.gz", 21077,
    "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"};
static const download raw_test2016_de = {M30K "raw/test_2016_flickr.de.gz", 22890,
    "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"};
static const download raw_test2016_fr = {M30K "raw/test_2016_flickr.fr.gz", 22310,
    "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90"};
static const download raw_test2017_en = {M30K "raw/test_2017_flickr.en.gz", 19138,
    "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074"};
static const download raw_test2017_de = {M30K "raw/test_2017_flickr.de.gz", 21471,
    "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee"};
static const download raw_test2017_fr = {M30K "raw/test_2017_flickr.fr.gz", 20434,
    "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496"};
static const download tok_train_en = {M30K "tok/train.lc.norm.tok.en", 1837696,
    "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119"};
static const download tok_train_de = {M30K "tok/train.lc.norm.tok.de", 2150008,
    "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505"};
static const download tok_val_en = {M30K "tok/val.lc.norm.tok.en", 64608,
    "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec"};
static const download tok_val_de = {M30K "tok/val.lc.norm.tok.de", 77273,
    "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00"};
static const download tok_test2016_en = {M30K "tok/test_2016_flickr.lc.norm.tok.en", 63307,
    "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2"};
static const download tok_test2016_de = {M30K "tok/test_2016_flickr.lc.norm.tok.de", 71917,
    "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4"};

/* McClosky's split of GENIA; `extra` is his future_use. */
static const download genia_xml = {GENIA_TREES "original_data/genia_treebank_original.tar.gz", 2386042,
    "9c8ee311e5c7328eb9a5187a21ccc92eb4a5037529d883ada192f96fc1c1e2e9"};
static const download genia_train = {GENIA_TREES "mclosky/train.pmids", 13959,
    "71f1fa1c30c85fbec09fd78c1ef122e916e8b68235d8421dd5422cc86b2b273c"};
static const download genia_dev = {GENIA_TREES "mclosky/dev.pmids", 1332,
    "8a4d310583c6ab6c7a49f329e3c2c06681568ca4e9dcbbcbdb6127a0c992ac95"};
static const download genia_test = {GENIA_TREES "mclosky/test.pmids", 1350,
    "4286c4a90ad34d4d23102a91abcf45cce20890a21652447ef6931b3a091d11c7"};
static const download genia_extra = {GENIA_TREES "mclosky/future_use.pmids", 1350,
    "cd73e14433827e88cf23bc2980c302f25d2e4287c65e1ffeaef3cc2dcc586ea2"};
static const download genia_licence = {GENIA_TREES "GENIA_LICENSE", 3702,
    "3664640aaee0e4d9e634fdd617f7ff41de09694dc0310f8e0bdebab3c0d38a92"};
static const download craft_licence = {CRAFT "LICENSE.txt", 147,
    "ed7a61b0f2c12e975e3e0bb96fb44a47d577fb563ca1532fece52262a0dd9f1d"};
static const download gum_licence = {GUM "LICENSE.txt", 5551,
    "4c14265237b977ecda6abebc8e0a8df0f430ab3955554f805325ebfbf9b49580"};
#define T(split, article, bytes, sum) static const download craft_##article = { \
    CRAFT "structural-annotation/treebank/penn/" #article ".tree", bytes, sum};
#include "text/data/craft_files.inc"
#undef T
#define T(split, document, bytes, sum) static const download gum_##document = { \
    GUM "const/GUM_" #document ".ptb", bytes, sum};
#include "text/data/gum_files.inc"
#undef T
/* clang-format on */

static const piece wmt14_en_de[] = {
    {"train.en", &europarl, "training/europarl-v7.de-en.en", false},
    {"train.en", &commoncrawl, "commoncrawl.de-en.en", false},
    {"train.en", &commentary, "training/news-commentary-v9.de-en.en", false},
    {"train.de", &europarl, "training/europarl-v7.de-en.de", false},
    {"train.de", &commoncrawl, "commoncrawl.de-en.de", false},
    {"train.de", &commentary, "training/news-commentary-v9.de-en.de", false},
    {"newstest2013.en", &news2013_de_en, NULL, false},
    {"newstest2013.de", &news2013_de_de, NULL, false},
    {"newstest2014.en", &news2014_de_en, NULL, false},
    {"newstest2014.de", &news2014_de_de, NULL, false},
};

static const piece wmt14_en_fr[] = {
    {"train.en", &europarl, "training/europarl-v7.fr-en.en", false},
    {"train.en", &commoncrawl, "commoncrawl.fr-en.en", false},
    {"train.en", &un, "un/undoc.2000.fr-en.en", false},
    {"train.en", &commentary, "training/news-commentary-v9.fr-en.en", false},
    {"train.en", &giga, "giga-fren.release2.fixed.en.gz", true},
    {"train.fr", &europarl, "training/europarl-v7.fr-en.fr", false},
    {"train.fr", &commoncrawl, "commoncrawl.fr-en.fr", false},
    {"train.fr", &un, "un/undoc.2000.fr-en.fr", false},
    {"train.fr", &commentary, "training/news-commentary-v9.fr-en.fr", false},
    {"train.fr", &giga, "giga-fren.release2.fixed.fr.gz", true},
    {"newstest2013.en", &news2013_fr_en, NULL, false},
    {"newstest2013.fr", &news2013_fr_fr, NULL, false},
    {"newstest2014.en", &news2014_fr_en, NULL, false},
    {"newstest2014.fr", &news2014_fr_fr, NULL, false},
};

static const piece newstest[] = {
    {"newstest2013.en", &news2013_de_en, NULL, false},
    {"newstest2013.de", &news2013_de_de, NULL, false},
    {"newstest2014.en", &news2014_de_en, NULL, false},
    {"newstest2014.de", &news2014_de_de, NULL, false},
};

static const piece multi30k[] = {
    {"train.en", &raw_train_en, NULL, true},       {"train.de", &raw_train_de, NULL, true},
    {"train.fr", &raw_train_fr, NULL, true},       {"val.en", &raw_val_en, NULL, true},
    {"val.de", &raw_val_de, NULL, true},           {"val.fr", &raw_val_fr, NULL, true},
    {"test2016.en", &raw_test2016_en, NULL, true}, {"test2016.de", &raw_test2016_de, NULL, true},
    {"test2016.fr", &raw_test2016_fr, NULL, true}, {"test2017.en", &raw_test2017_en, NULL, true},
    {"test2017.de", &raw_test2017_de, NULL, true}, {"test2017.fr", &raw_test2017_fr, NULL, true},
};

static const piece multi30k_lctok[] = {
    {"train.en", &tok_train_en, NULL, false},       {"train.de", &tok_train_de, NULL, false},
    {"val.en", &tok_val_en, NULL, false},           {"val.de", &tok_val_de, NULL, false},
    {"test2016.en", &tok_test2016_en, NULL, false}, {"test2016.de", &tok_test2016_de, NULL, false},
};

static const download shakespeare_text = {SHAKESPEARE "input.txt", 1115394,
                                          "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"};
static const piece shakespeare[] = {{"input.txt", &shakespeare_text, NULL, false}};

static const piece craft[] = {
    {"LICENSE.txt", &craft_licence, NULL, false},
#define T(split, article, bytes, sum) {#split ".ptb", &craft_##article, NULL, false},
#include "text/data/craft_files.inc"
#undef T
};
static const tree_file craft_files[] = {
    {"train.ptb", "197f3bc8d494363d07ed942d73bc690800798048fa5861e838001ea242783213", NULL},
    {"dev.ptb", "0aaf9b0d68fbb06ee35c5c6158347738ee3129cbc1a83ee3174ce0811d4610a5", NULL},
    {"test.ptb", "9ba537265d8b3409c04a2eaa3286fed1f8a892076e703e9298295d0b0eda2210", NULL},
};
static const tree_form craft_form = {FORM_BRACKETS, craft_files, LENGTH(craft_files)};

static const piece gum[] = {
    {"LICENSE.txt", &gum_licence, NULL, false},
#define T(split, document, bytes, sum) {#split ".ptb", &gum_##document, NULL, false},
#include "text/data/gum_files.inc"
#undef T
};
static const tree_file gum_files[] = {
    {"train.ptb", "4dd2bea52cd8b08d70582f5d78ff64e3c441fa35cd3be207574cffd6edd9dcfc", NULL},
    {"dev.ptb", "04238997e327ac9899a95ab76eb79d581f0c4bb19e89395d9373f697b11dd977", NULL},
    {"test.ptb", "9ccbb8e4c71f2ca092420b7a2406cd309bbb789d29af077c87ac65a962507afd", NULL},
};
static const tree_form gum_form = {FORM_BRACKETS, gum_files, LENGTH(gum_files)};

static const piece genia[] = {
    {"LICENSE.txt", &genia_licence, NULL, false},          {"train.ptb", &genia_xml, "GENIA_treebank_v1", false},
    {"dev.ptb", &genia_xml, "GENIA_treebank_v1", false},   {"test.ptb", &genia_xml, "GENIA_treebank_v1", false},
    {"extra.ptb", &genia_xml, "GENIA_treebank_v1", false},
};
static const tree_file genia_files[] = {
    {"train.ptb", "955853c2e6e3482a8e8cc9c34c874169e3780485a79fb689fdfdd73351e21ff1", &genia_train},
    {"dev.ptb", "9a456f778ba5b1508cfd714aa963066f7790133e2d0023c813c8298d485c3d88", &genia_dev},
    {"test.ptb", "eab5696e9f52dbac04d3273917936b42c4c8ebd5fefc86a2b713076413830c4a", &genia_test},
    {"extra.ptb", "8fcfcfc3c92885c0602794c927398df9e00d118b4408f79ab82d45e595e41eeb", &genia_extra},
};
static const tree_form genia_form = {FORM_GENIA, genia_files, LENGTH(genia_files)};

#define PIECES(p) p, LENGTH(p), NULL
#define TREES(p)  p, LENGTH(p), &p##_form
const corpus known_corpora[] = {
    {"multi30k", "Multi30k English-German-French, 29,000 triples, raw text", "non-commercial research",
     PIECES(multi30k)},
    {"multi30k-lctok", "Multi30k English-German, lowercased, normalised and tokenised by its authors",
     "non-commercial research", PIECES(multi30k_lctok)},
    {"wmt14-en-de", "WMT14 English-German: Europarl v7, Common Crawl, News Commentary v9; newstest2013, newstest2014",
     "see statmt.org/wmt14", PIECES(wmt14_en_de)},
    {"wmt14-en-fr", "WMT14 English-French: Europarl, Common Crawl, UN, News Commentary, 10^9; newstest2013 and 2014",
     "see statmt.org/wmt14", PIECES(wmt14_en_fr)},
    {"shakespeare", "tiny Shakespeare, 40,000 lines of his plays, as one text for language models", "public domain",
     PIECES(shakespeare)},
    {"newstest", "WMT English-German test sets only: newstest2013, newstest2014", "see statmt.org/wmt14",
     PIECES(newstest)},
    {"craft", "CRAFT treebank v5, trees of 97 biomedical articles, 18,951 for training",
     "annotations CC BY 3.0, articles of PMC's Open Access subset", TREES(craft)},
    {"genia", "GENIA treebank 1.0, trees of 1,999 biomedical abstracts in McClosky's split, 14,326 for training",
     "annotations CC BY 3.0, abstracts belong to their publishers", TREES(genia)},
    {"gum", "GUM v11, 15 genres without reddit, 10,224 trees for training: a parser's output from gold tags",
     "annotations CC BY 4.0, texts by genre, some non-commercial (its LICENSE.txt)", TREES(gum)},
};
const int n_known_corpora = LENGTH(known_corpora);
