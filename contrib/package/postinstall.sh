#!/bin/sh
# Debian calls this with "configure" and the version before, RPM with the number of versions.
set -e
if ! getent passwd freshet >/dev/null; then
  if command -v adduser >/dev/null && [ -f /etc/debian_version ]; then
    adduser --system --quiet --group --no-create-home --home /var/lib/freshet freshet
  else
    useradd --system --user-group --no-create-home --home-dir /var/lib/freshet --shell /usr/sbin/nologin freshet
  fi
fi
chgrp freshet /etc/freshet/freshet.yaml
install -d -o freshet -g freshet -m 0700 /var/lib/freshet
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable freshet.service
  systemctl restart freshet.service
fi
