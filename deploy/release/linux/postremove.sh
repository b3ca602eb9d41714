#!/bin/sh
# Names the data that the package leaves.
set -e
root=${DPKG_ROOT:-}
case ${1:-} in
remove | purge | 0) ;;
*) exit 0 ;;
esac
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
fi
for folder in /var/lib/junction /var/cache/junction; do
	if [ -d "$root$folder" ]; then
		echo "junction: $folder stays, with the user junction; to delete it: rm -r $folder"
	fi
done
