"""Depo: a shuffled list of the edges of a cycle, then queries for the node k edges on: reasoning depth without steps in
between. Names are single tokens; an answer stands at its query's last token."""

import random

import ablate as ab


@ab.task(doc="the k-th successor of a node in a shuffled cycle", decoder_only=True,
         paper="Allen-Zhu 2025 (Physics of Language Models 4.1), Depo",
         nodes=ab.integer(12, 3, 225, "largest cycle [nodes]"),
         hops=ab.integer(4, 1, 32, "largest distance [edges]"),
         queries=ab.integer(4, 1, 64, "queries of an example [queries]"))
class depo:
    @staticmethod
    def examples(split, seed, nodes, hops, queries):
        chance = random.Random(f"{seed} {split}")
        for _ in range({"train": 20000, "dev": 200, "test": 200}[split]):
            n = chance.randint(3, nodes)
            cycle = chance.sample(range(nodes), n)
            edges = [(cycle[i], cycle[(i + 1) % n]) for i in range(n)]
            chance.shuffle(edges)
            source = [f"n{node}" for edge in edges for node in edge]
            target = ["_"] * len(source)
            for _ in range(queries):
                at, hop = chance.randrange(n), chance.randint(1, hops)
                source += [f"hop{hop}", f"n{cycle[at]}"]
                target += ["_", f"n{cycle[(at + hop) % n]}"]
            yield source, target
