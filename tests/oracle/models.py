"""Models that `ablate export` wrote, opened by the real packages (pip install torch transformers ctranslate2 sentencepiece gguf llama-cpp-python).

    python tests/oracle/models.py translation MODEL.safetensors TEXT   CTranslate2 (fp32, int8) and MarianMT against ablate on a text
    python tests/oracle/models.py lm MODEL.safetensors TEXT            Llama's transformers and llama.cpp against each other
    python tests/oracle/models.py logits FOLDER                        logits that test_formats kept (ABLATE_KEEP=FOLDER build/test_formats)

The program is $ABLATE, default build/ablate. Prints figures; exits with 1 if one is outside its bound.
"""
import sys

HERE = sys.path.pop(0)  # removes this folder from the path: its statistics.py would hide Python's
import collections, json, os, pathlib, struct, subprocess, tempfile

import numpy as np

ABLATE = os.environ.get("ABLATE", "build/ablate")
bad = []


def check(what, ok, figure):
    print(f"{what}: {figure}{'' if ok else '   OUT OF BOUNDS'}", flush=True)
    if not ok:
        bad.append(what)


def export(model, form, folder):
    done = subprocess.run([ABLATE, "export", model, "--format", form, "-o", folder, "-q"], capture_output=True, text=True)
    if done.returncode:
        print(f"{form}: refused:\n{done.stderr.strip()}")
    return not done.returncode


def refusals_only(model):
    meta = json.loads(header(model)["__metadata__"]["config"])
    return {k: meta[k] for k in ("position", "feed_forward", "norm", "block", "share_embeddings", "vocab", "bias")}


def header(path):
    with open(path, "rb") as f:
        return json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))


# ---- translation ----

def ours(model, lines, beam, penalty, nbest=1, precision="fp32"):
    out = subprocess.run([ABLATE, "translate", "--model", model, "--beam-size", str(beam), "--length-penalty", str(penalty), "--nbest", str(nbest),
                          "--precision", precision, "--threads", "1", "-q"], input="".join(s + "\n" for s in lines), capture_output=True, text=True, check=True)
    rows = out.stdout.split("\n")[:-1]
    if nbest == 1:
        return rows
    by_line = collections.defaultdict(list)
    for row in rows:
        n, score, text = row.split("\t", 2)
        by_line[int(n) - 1].append((text, float(score)))
    return by_line


def ctranslate2_outputs(folder, sp, lines, beam, penalty, kind, nbest=1, patience=1):
    import ctranslate2
    t = ctranslate2.Translator(folder, device="cpu", compute_type=kind, intra_threads=1)
    tokens = [sp.encode(s, out_type=str) for s in lines]
    out = [[] for _ in lines]
    for n in {len(x) for x in tokens}:  # ablate's maximal output length depends on the source's length
        at = [i for i, x in enumerate(tokens) if len(x) == n]
        found = t.translate_batch([tokens[i] for i in at], beam_size=beam, length_penalty=penalty, max_batch_size=32, return_scores=True,
                                  num_hypotheses=nbest, patience=patience, max_decoding_length=n + 50)
        for i, r in zip(at, found):
            out[i] = [(sp.decode(h), s, len(h) + 1) for h, s in zip(r.hypotheses, r.scores)]
    return out


def translation(model, text):
    import sentencepiece, torch
    lines = pathlib.Path(text).read_text(encoding="utf-8").splitlines()
    print(f"{len(lines)} lines; {refusals_only(model)}")
    with tempfile.TemporaryDirectory() as folder:
        if export(model, "ctranslate2", f"{folder}/ct2"):
            sp = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/ct2/target.spm")
            for beam in 1, 4:
                a = ours(model, lines, beam, 0)
                b = ctranslate2_outputs(f"{folder}/ct2", sp, lines, beam, 0, "float32")
                differ = [i for i in range(len(lines)) if a[i] != b[i][0][0]]
                check(f"CTranslate2 fp32, beam {beam}, no length penalty: equal lines", len(differ) <= 0.005 * len(lines),
                      f"{100 - 100 * len(differ) / len(lines):.1f} %")
                best = ours(model, lines, 4, 0, nbest=4) if beam == 4 else None
                for i in differ:
                    print(f"  line {i + 1}: log P {best[i][0][1] if best else 0:.5f} and {b[i][0][1]:.5f}: {a[i]} | {b[i][0][0]}")
            # Ranks CTranslate2's four hypotheses again, by the run's own penalty ((5 + n) / 6)^0.6.
            a = ours(model, lines, 4, 0.6)
            b = [max(h, key=lambda x: x[1] / ((5 + x[2]) / 6) ** 0.6)[0]
                 for h in ctranslate2_outputs(f"{folder}/ct2", sp, lines, 4, 0, "float32", nbest=4, patience=2)]
            print(f"CTranslate2 fp32, beam 4, its n-best ranked by ablate's length penalty 0.6: equal lines: "
                  f"{100 * sum(x == y for x, y in zip(a, b)) / len(a):.1f} %")
            a, b = ours(model, lines, 4, 0), [x[0][0] for x in ctranslate2_outputs(f"{folder}/ct2", sp, lines, 4, 0, "int8")]
            print(f"CTranslate2 int8, beam 4: lines equal to ablate's fp32: {100 * sum(x == y for x, y in zip(a, b)) / len(a):.1f} %")
        if export(model, "huggingface", f"{folder}/hf"):
            from transformers import MarianMTModel, MarianTokenizer
            m, t = MarianMTModel.from_pretrained(f"{folder}/hf").eval(), MarianTokenizer.from_pretrained(f"{folder}/hf")
            sp = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/hf/source.spm")
            same = sum(t(s).input_ids == sp.encode(s) + [3] for s in lines)
            check("MarianTokenizer: lines with equal ids", same == len(lines), f"{same} of {len(lines)}")
            best = ours(model, lines[:100], 4, 0)
            sys.path.append(HERE)
            import model as oracle
            c, params, _ = oracle.load(model)
            o, worst = oracle.Transformer(c, params), 0
            with torch.no_grad():
                for i in range(100):
                    src, tgt = torch.tensor([t(lines[i]).input_ids]), torch.tensor([[2] + sp.encode(best[i])])
                    worst = max(worst, (o.logits(src, tgt) - m(input_ids=src, decoder_input_ids=tgt).logits).abs().max().item())
            check("MarianMT: logits of 100 lines against model.py", worst < 1e-4, f"at most {worst:.1e} apart")


# ---- language models ----

def lm(model, text):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    lines = pathlib.Path(text).read_text(encoding="utf-8").splitlines()[:500]
    with tempfile.TemporaryDirectory() as folder:
        if not export(model, "huggingface", f"{folder}/hf"):
            return
        m, t = AutoModelForCausalLM.from_pretrained(f"{folder}/hf").eval(), AutoTokenizer.from_pretrained(f"{folder}/hf")
        print(type(m).__name__, type(t).__name__, t(lines[0]).input_ids, repr(t.decode(t(lines[0]).input_ids, skip_special_tokens=True)))
        equal, prompts = 0, [" ".join(s.split()[:3]) for s in lines if len(s.split()) > 5][:40]
        for prompt in prompts:
            want = subprocess.run([ABLATE, "generate", "--model", model, "--prompt", prompt, "--tokens", "10", "--temperature", "0", "--threads", "1", "-q"],
                                  capture_output=True, text=True, check=True).stdout.split("\n")[0]
            x = t(prompt, return_tensors="pt")
            got = m.generate(x.input_ids, attention_mask=x.attention_mask, do_sample=False, max_new_tokens=10, pad_token_id=0)
            got = t.decode(got[0], skip_special_tokens=True)
            equal += got == want
            if got != want:
                print(f"  {prompt!r}: {got!r} and {want!r}")
        check("Llama: greedy continuations equal to ablate's (in the run's precision)", equal >= 0.95 * len(prompts), f"{equal} of {len(prompts)}")
        if not export(model, "gguf", f"{folder}/gguf"):
            return
        from gguf import GGUFReader
        r = GGUFReader(f"{folder}/gguf/model.gguf")
        print(f"gguf: {len(r.fields)} fields, {len(r.tensors)} tensors, architecture {r.fields['general.architecture'].contents()}")
        state = m.state_dict()
        g = {x.name: np.array(x.data) for x in r.tensors}
        heads, d = m.config.num_attention_heads, m.config.head_dim
        w = state["model.layers.0.self_attn.q_proj.weight"].numpy()
        permuted = w.reshape(heads, 2, d // 2, -1).swapaxes(1, 2).reshape(w.shape)
        check("gguf: q as llama.cpp's converter permutes it", np.array_equal(g["blk.0.attn_q.weight"], permuted), g["blk.0.attn_q.weight"].shape)
        try:
            from llama_cpp import Llama
        except ImportError:
            return print("llama-cpp-python is not installed")
        l = Llama(f"{folder}/gguf/model.gguf", logits_all=True, verbose=False, n_ctx=64, n_threads=1, type_k=0, type_v=0)
        worst, equal, n = 0, 0, 0
        for s in (s for s in lines if s and len(t(s).input_ids) < 60):
            ids = t(s).input_ids
            equal, n = equal + (l.tokenize(s.encode()) == ids), n + 1
            if n > 50:
                continue
            l.reset()
            l.eval(ids)
            with torch.no_grad():
                z = m(torch.tensor([ids])).logits[0].numpy()
            worst = max(worst, np.abs(np.array(l.scores[:len(ids)]) - z).max())
        check("llama.cpp: logits against transformers", worst < 1e-4, f"at most {worst:.1e} apart")
        check("llama.cpp: lines with equal tokens", equal == n, f"{equal} of {n}")


# ---- logits that a test kept ----

def logits(folder):
    import torch
    from transformers import LlamaForCausalLM, MarianMTModel
    for case in sorted(pathlib.Path(folder).iterdir()):
        shape = json.loads((case / "shape.json").read_text())
        want = np.fromfile(case / "logits.f32", dtype="<f4").reshape(-1, shape["vocab"])
        if (case / "huggingface").exists():
            marian = (case / "huggingface" / "source.spm").exists() or json.loads((case / "huggingface/config.json").read_text())["model_type"] == "marian"
            m = (MarianMTModel if marian else LlamaForCausalLM).from_pretrained(case / "huggingface").eval()
            with torch.no_grad():
                tgt = torch.tensor([shape["target"]])
                z = m(input_ids=torch.tensor([shape["source"]]), decoder_input_ids=tgt).logits[0] if marian else m(tgt).logits[0]
            worst = np.abs(z.numpy() - want).max()
            check(f"{case.name}: {type(m).__name__}, logits", worst < 1e-4, f"at most {worst:.1e} apart")
        if (case / "ctranslate2").exists():
            import ctranslate2
            v = json.loads(next(case.glob("ctranslate2/*[td]_vocabulary.json")).read_text())
            t = ctranslate2.Translator(str(case / "ctranslate2"), device="cpu", compute_type="float32")
            src, tgt = [v[i] for i in shape["source"][:-1]], [v[i] for i in shape["target"][1:]]
            got = t.score_batch([src], [tgt])[0].log_probs
            p = torch.tensor(want).log_softmax(-1)
            ids = shape["target"][1:] + [3]
            worst = max(abs(p[i, ids[i]].item() - got[i]) for i in range(len(ids)))
            check(f"{case.name}: CTranslate2, log P of tokens", worst < 1e-4, f"at most {worst:.1e} apart")
        if (case / "gguf").exists():
            try:
                from llama_cpp import Llama
            except ImportError:
                continue
            l = Llama(str(case / "gguf/model.gguf"), logits_all=True, verbose=False, n_ctx=64, n_threads=1, type_k=0, type_v=0)
            l.eval(shape["target"])
            worst = np.abs(np.array(l.scores[:len(shape["target"])]) - want).max()
            check(f"{case.name}: llama.cpp, logits", worst < 1e-4, f"at most {worst:.1e} apart")


{"translation": translation, "lm": lm, "logits": logits}[sys.argv[1]](*sys.argv[2:])
sys.exit(1 if bad else 0)
