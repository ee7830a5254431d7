import os

import ablate as ab


@ab.task(doc="twin of translation, from a folder of lines", folder=ab.text("", "folder of SPLIT.en and SPLIT.de"))
class translation_py:
    def examples(split, seed, folder):
        sides = (open(os.path.join(folder, f"{split}.{side}"), encoding="utf-8") for side in ("en", "de"))
        return zip(*(map(str.strip, side) for side in sides))
