import math

import ablate as ab


def belongs(bucket, place, buckets, max_distance, both_ways):
    relative = place - max_distance
    n, first, distance = int(buckets), 0, abs(relative)
    if both_ways:
        n //= 2
        first = n if relative > 0 else 0
    elif relative > 0:
        distance = 0
    exact = n // 2
    if distance < exact:
        return first + distance == bucket
    if distance >= max_distance:
        return first + n - 1 == bucket
    share = math.log(distance / exact) / math.log(max_distance / exact)
    return first + min(exact + int(share * (n - exact)), n - 1) == bucket


@ab.position(doc="twin of t5", relative=True, buckets=ab.integer(32, 8, 512, "buckets [buckets]"),
             max_distance=ab.integer(128, 1, 4096, "distances that share the last bucket [tokens]"))
class t5_py:
    def bias(c, qpos, kpos, buckets, max_distance):
        learned = c.weight("rel_bias", c.info.heads, 1, buckets, scale=-0.1)
        table = c.table(belongs, buckets, 2 * max_distance + 1, buckets=buckets, max_distance=max_distance,
                        both_ways=c.info.role != ab.CAUSAL)
        each_query = learned @ table + c.full(0, qpos.shape[-1], 1)
        return c.gather(each_query, c.clipped_relative_position(qpos, kpos, max_distance))
