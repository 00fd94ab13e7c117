#!/bin/bash
# That each fuzz target links with what tests/fuzz/run names for it: nobody fuzzes every day, and a target that lacks a file is found on
# the day when it is wanted.
set -u
cd "$TOP" && exec tests/fuzz/run --links
