#!/bin/sh
# Stops the service before its program goes. An upgrade keeps it.
set -e
case ${1:-} in
upgrade | deconfigure | failed-upgrade | 1) exit 0 ;;
esac
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl disable --now junction.service || :
fi
