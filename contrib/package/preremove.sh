#!/bin/sh
# An upgrade ("upgrade" on Debian, 1 with RPM) restarts the daemon afterwards.
set -e
case "$1" in
remove | purge | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now freshet.service
  fi
  ;;
esac
