#!/bin/sh
# Makes the user and the folders of the service. A service that runs starts anew; none is started.
set -e
root=${DPKG_ROOT:-}
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers ${root:+--root="$root"} junction.conf
fi
if command -v systemd-tmpfiles >/dev/null; then
	systemd-tmpfiles ${root:+--root="$root"} --create junction.conf || :
fi
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
	systemctl try-restart junction.service || :
fi
