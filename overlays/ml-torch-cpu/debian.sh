#!/bin/sh
# Where Debian's PyTorch is. The environment's Python is the image's, as in one that `python3 -m venv` makes. In an image of family el there are wheels.
set -eu
[ -e /usr/lib/python3/dist-packages/torch ] || exit 0
cp -r "$SRCDIR/opt" "$DESTDIR/"
ln -s /usr/bin/python3 "$DESTDIR/opt/ml/torch/bin/python3"
ln -s python3 "$DESTDIR/opt/ml/torch/bin/python"
