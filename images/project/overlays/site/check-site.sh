#!/bin/sh
# The finished tree has what the overlay promises.
set -eu
tmux -V
[ -x /usr/local/lib/site/space ]
[ "$(systemctl --root=/ is-enabled site-note.service)" = enabled ]
