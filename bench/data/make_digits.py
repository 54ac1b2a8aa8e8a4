#!/usr/bin/env python3
"""Makes digits.safetensors: logits of a linear classifier on the UCI handwritten digits.

Run once (Debian: python3-sklearn); the command needs only the file. Each image is scored by a
classifier that was trained without it: multinomial logistic regression in five folds.
"""

import json
import pathlib
import struct

import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

PROVENANCE = {
    "data": "Optical Recognition of Handwritten Digits, test part, 1797 images of 8x8 with 17 "
    "levels of grey; E. Alpaydin and C. Kaynak, 1998, UCI Machine Learning Repository, "
    "doi:10.24432/C50P49, CC BY 4.0; as in scikit-learn's load_digits",
    "logits": "multinomial logistic regression on pixels / 16, C = 1, five stratified folds, each "
    "image scored by the classifier that was trained without it",
    "made_by": f"bench/data/make_digits.py with scikit-learn {sklearn.__version__}",
}


def main() -> None:
    digits = load_digits()
    x, y = digits.data / 16.0, digits.target
    logits = np.zeros((len(y), 10))
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
    for train, rest in folds.split(x, y):
        model = LogisticRegression(C=1.0, max_iter=1000).fit(x[train], y[train])
        logits[rest] = model.decision_function(x[rest])
    tensors = {
        "logits": ("F32", logits.astype("<f4")),
        "labels": ("I32", y.astype("<i4")),
        "images": ("U8", digits.images.astype("u1")),
    }
    header, blobs, at = {"__metadata__": PROVENANCE}, [], 0
    for name, (kind, a) in tensors.items():
        raw = np.ascontiguousarray(a).tobytes()
        header[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [at, at + len(raw)]}
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    out = pathlib.Path(__file__).with_name("digits.safetensors")
    out.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    print(out.stat().st_size, "bytes; accuracy", (logits.argmax(1) == y).mean(), "mean confidence",
          p.max(1).mean(), "cross-entropy", -np.log(p[np.arange(len(y)), y]).mean())


if __name__ == "__main__":
    main()
