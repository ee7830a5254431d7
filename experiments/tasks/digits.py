#!/usr/bin/env python3
"""Writes the digits of scikit-learn's package (Alpaydin and Kaynak 1998: 1,797 images of 8 x 8, values 0 to 16) as two IDX files for task image:
images.idx and labels.idx in a folder.

usage: digits.py [FOLDER]       default: $ABLATE_DATA/digits, or data/digits
"""
import os
import struct
import sys

from sklearn.datasets import load_digits


def write_idx(path, values):
    """values: unsigned bytes of one or three dimensions. IDX: 0, 0, type 8, number of dimensions; sizes in 32 bits, big-endian; the bytes."""
    with open(path, "wb") as f:
        f.write(bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes())


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.environ.get("ABLATE_DATA") or "data", "digits")
    digits = load_digits()
    os.makedirs(folder, exist_ok=True)
    write_idx(os.path.join(folder, "images.idx"), digits.images.astype("uint8"))
    write_idx(os.path.join(folder, "labels.idx"), digits.target.astype("uint8"))
    print(f"{folder}: {len(digits.images)} images of {digits.images.shape[1]} x {digits.images.shape[2]}, values to {digits.images.max():.0f}")


main()
