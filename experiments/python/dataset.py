"""A data set of Hugging Face as local files: SPLIT.jsonl with a source and a target. datasets.load_dataset, where it is
installed, gives the same records in place of the loop's."""

import json
import os

import ablate as ab


@ab.task(doc="pairs of two fields of JSON lines", vocab="words", folder=ab.text("", "folder of SPLIT.jsonl"),
         source=ab.text("source", "field of the source"), target=ab.text("target", "field of the target"))
class dataset:
    @staticmethod
    def examples(split, seed, folder, source, target, data_dir):
        with open(os.path.join(data_dir, folder, f"{split}.jsonl"), encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                yield record[source], record[target]
