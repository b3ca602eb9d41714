#!/usr/bin/env bash
# Installs the binary of a release for this runner, after its sum was compared with SHA256SUMS:
#
#   VERSION   latest, or a version such as 0.1.0
#   RELEASES  the address of the releases
#   RUNNER_OS, RUNNER_ARCH, RUNNER_TEMP, GITHUB_PATH  those of GitHub
set -euo pipefail

fail() {
	echo "::error title=Junction is not installed::$*"
	exit 1
}

fetch() {
	curl --fail --silent --show-error --location --proto-redir '=https' --retry 3 --max-time 300 --output "$2" "$1" ||
		fail "version $VERSION: $1 cannot be downloaded"
}

case $VERSION in
latest) from=$RELEASES/latest/download ;;
*[!0-9A-Za-z.+-]*) fail "version: expected latest or a version such as 0.1.0, got $VERSION" ;;
*) from=$RELEASES/download/v${VERSION#v} ;;
esac
case $RUNNER_OS in
Linux) os=linux ending=tar.xz ;;
macOS) os=darwin ending=tar.xz ;;
Windows) os=windows ending=zip ;;
*) fail "there is no release for $RUNNER_OS" ;;
esac
case $RUNNER_ARCH in
X64) arch=amd64 ;;
ARM64) arch=arm64 ;;
*) fail "there is no release for $RUNNER_ARCH" ;;
esac

folder=$RUNNER_TEMP/junction-test
mkdir -p "$folder/bin"
cd "$folder"
fetch "$from/SHA256SUMS" SHA256SUMS
line=$(grep -E "^[0-9a-f]{64}  junction_[0-9][0-9A-Za-z.+-]*_${os}_${arch}\.${ending//./\\.}$" SHA256SUMS) ||
	fail "version $VERSION has no archive for ${os}_$arch"
file=${line##* }
fetch "$from/$file" "$file"
if command -v sha256sum >/dev/null; then sums=(sha256sum); else sums=(shasum -a 256); fi
printf '%s\n' "$line" | "${sums[@]}" --check --strict - || fail "$file differs from its sum in SHA256SUMS"
if [ "$os" = windows ]; then
	unzip -q -o "$file" junction.exe -d bin
else
	tar -xf "$file" -C bin junction
fi
if [ "$os" = windows ]; then cygpath -w "$folder/bin"; else echo "$folder/bin"; fi >>"$GITHUB_PATH"
