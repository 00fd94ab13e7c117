#!/bin/sh
# The environment's Python is the image's, as in one that `python3 -m venv` makes.
set -eu
ln -s /usr/bin/python3 /opt/ml/torch/bin/python3
ln -s python3 /opt/ml/torch/bin/python
