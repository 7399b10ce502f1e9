#!/bin/sh
# The history stays when the package is removed; purging it removes all.
set -e
if [ "$1" = purge ]; then
  rm -rf /var/lib/freshet /etc/freshet
  if getent passwd freshet >/dev/null && command -v deluser >/dev/null; then
    deluser --quiet --system freshet
  fi
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
