package runner

import (
	"slices"
	"strings"
)

// A Kind is a kind of packages. Package install contains the installers.
type Kind struct {
	Type     string   // name of the kind in a server.json and in junction.lock
	Prefixes []string // prefixes of package names on the command line, without the colon; nil if the packages are not in a registry
	Suffix   string   // suffix of names that are paths or addresses; empty for names in a registry
	Sign     string   // separator between name and version; empty if a name contains no version in this form
	Form     string   // form of a published package after the type and a colon, for messages

	Programs []string          // programs of which this machine needs one; nil if it needs none
	Remedies map[string]string // ways to install a program, by its name
	Env      []string          // names of variables that the programs receive; a * at the end matches any suffix

	Start       []string // beginning of the command line that starts a package; nil if no program fetches and starts packages
	Separator   string   // separator between a package and its server's arguments; empty if none is needed
	IsContainer bool     // a container engine runs and confines the package
	IsPython    bool     // a name can have extras in brackets, and one additional requirement is possible
	InPlace     bool     // packages are started in their own folder

	Canonical func(name string) string // returns the same text for all spellings of a package's name; nil if each name has only one spelling

	hints []string                                             // names of programs that accept the flags of Start[0]
	words func(line []string, p Package, spec string) []string // returns the command line, which begins with line; spec is the name and the version
	flags family                                               // flags of Start[0]
}

// Remedies that several programs share.
const (
	getNode   = "install Node.js, from nodejs.org or with the system's packages (apt install nodejs npm, brew install node), and see that it is in PATH"
	getPython = "install Python 3.10 or later, from python.org or with the system's packages (apt install python3 python3-venv, brew install python), and see that it is in PATH"
	getEngine = "install Docker or Podman, and see that its service runs"
)

// kinds contains all kinds of packages, in the order in which texts list them.
var kinds = []*Kind{
	{
		Type: "npm", Prefixes: []string{"npm"}, Sign: "@", Form: "NAME@VERSION",
		Programs: []string{"npm"}, Remedies: map[string]string{"npm": getNode, "node": getNode},
		Env:   []string{"NPM_CONFIG_*", "NPM_TOKEN", "NODE_AUTH_TOKEN", "NVM_*", "VOLTA_HOME"},
		Start: []string{"npx", "-y"}, hints: []string{"npx", "npm"},
		words: func(line []string, p Package, spec string) []string {
			line = append(line, p.Options...)
			if p.Program != "" {
				return append(line, "--package="+spec, p.Program)
			}
			return append(line, spec)
		},
		flags: family{
			programs: []string{"npx", "npm", "exec", "x"}, made: []string{"-y", "--yes"}, package_: []string{"-p", "--package"},
			others: []string{"-c", "--call", "--registry", "--userconfig", "--globalconfig", "--prefix", "-w", "--workspace", "--node-options", "--script-shell", "--shell"},
			values: []string{"--cache", "--loglevel", "--before", "--fetch-timeout", "--fetch-retries"},
			plain: []string{"-q", "--quiet", "-s", "--silent", "-d", "--verbose", "--offline", "--prefer-offline", "--prefer-online", "--no-install", "--ignore-existing", "--ignore-scripts", "--legacy-peer-deps",
				"--force", "--no-audit", "--no-fund", "--no-update-notifier", "--no-color", "--no-progress"},
		},
	},
	{
		Type: "pypi", Prefixes: []string{"pypi"}, Sign: "==", Form: "NAME==VERSION", IsPython: true,
		Programs: []string{"uv", "python3", "python"},
		Remedies: map[string]string{"python3": getPython, "python": getPython, "uv": "install it: docs.astral.sh/uv, or pip install uv"},
		Env:      []string{"PIP_*", "UV_*", "PYENV_*"},
		Start:    []string{"uvx"}, hints: []string{"uvx", "uv"},
		Canonical: func(name string) string { // the normal form of PEP 503, without extras
			plain, _, _ := strings.Cut(name, "[")
			return strings.Join(strings.FieldsFunc(strings.ToLower(plain), func(r rune) bool { return strings.ContainsRune("-_.", r) }), "-")
		},
		words: func(line []string, p Package, spec string) []string {
			if p.With != "" {
				line = append(line, "--with", p.With)
			}
			line = append(line, p.Options...)
			if p.Program != "" {
				return append(line, "--from", spec, p.Program)
			}
			return append(line, spec)
		},
		flags: family{
			programs: []string{"uvx", "uv", "tool", "run"}, package_: []string{"--from"}, with: []string{"--with", "-w"}, isJoined: true,
			others: []string{"--with-editable", "--with-requirements", "--index", "--index-url", "-i", "--default-index", "--extra-index-url", "--find-links", "-f", "--directory", "--project",
				"--config-file", "--env-file", "-c", "--constraints", "--overrides", "-m", "--module", "-b", "--build-constraints", "--allow-insecure-host"},
			values: []string{"--python", "-p", "--refresh-package", "--prerelease", "--resolution", "--exclude-newer", "--index-strategy", "--keyring-provider", "--link-mode", "--cache-dir",
				"-P", "--upgrade-package", "--python-preference", "--color", "--python-platform", "--torch-backend", "--reinstall-package", "--no-binary-package", "--no-build-package", "-C", "--config-setting"},
			plain: []string{"-q", "--quiet", "-v", "--verbose", "-n", "--no-cache", "--offline", "--isolated", "--refresh", "-U", "--upgrade", "--reinstall", "--native-tls", "--system-certs", "--no-progress",
				"--no-config", "--no-env-file", "--no-index", "--no-sources", "--no-build", "--no-binary", "--no-build-isolation", "--compile-bytecode", "--exact", "--pre", "--managed-python", "--no-managed-python",
				"--no-python-downloads"},
		},
	},
	{
		Type: "cargo", Prefixes: []string{"cargo"}, Sign: "@", Form: "NAME@VERSION",
		Programs: []string{"cargo"}, Remedies: map[string]string{"cargo": "install Rust from rustup.rs"}, Env: []string{"CARGO_*", "RUSTUP_*"},
	},
	{
		Type: "nuget", Prefixes: []string{"nuget"}, Sign: "@", Form: "NAME@VERSION",
		Programs: []string{"dotnet"}, Remedies: map[string]string{"dotnet": "install .NET 8 or later from dotnet.microsoft.com"}, Env: []string{"DOTNET_*", "NUGET_*"},
		Start: []string{"dnx"}, hints: []string{"dnx"}, Separator: "--",
		words: func(line []string, p Package, spec string) []string {
			return slices.Concat(line, []string{spec, "--yes"}, p.Options)
		},
		flags: family{
			programs: []string{"dnx", "dotnet", "tool", "exec"}, made: []string{"--yes", "-y"}, behind: "--yes", version: "--version",
			others: []string{"--source", "--add-source", "--configfile", "--tool-manifest"},
			values: []string{"--version", "--framework", "-v", "--verbosity"},
			plain:  []string{"--prerelease", "--allow-roll-forward", "--disable-parallel", "--ignore-failed-sources", "--interactive", "--no-http-cache", "--no-cache"},
		},
	},
	{
		Type: "oci", Prefixes: []string{"docker", "oci"}, Form: "IMAGE:TAG", IsContainer: true,
		Programs: []string{"docker", "podman"}, Remedies: map[string]string{"docker": getEngine, "podman": getEngine}, Env: []string{"DOCKER_*", "CONTAINER_HOST"},
		Start: []string{"docker", "run", "-i", "--rm"}, hints: []string{"docker", "podman"},
		words: func(line []string, p Package, image string) []string {
			return slices.Concat(line, p.Options, []string{image})
		},
		flags: family{programs: []string{"docker", "podman", "run"}},
	},
	{Type: "mcpb", Prefixes: []string{"mcpb"}, Suffix: ".mcpb", Form: "URL#FILE, whose hash is that of FILE"},
	{Type: "folder", InPlace: true},
}

// Kinds returns all kinds of packages.
func Kinds() []*Kind { return slices.Clone(kinds) }

// first returns the first kind for which has returns true, or an empty one.
func first(has func(k *Kind) bool) *Kind {
	if i := slices.IndexFunc(kinds, has); i >= 0 {
		return kinds[i]
	}
	return new(Kind)
}

// Of returns the kind with the given type, or an empty one.
func Of(of string) *Kind { return first(func(k *Kind) bool { return k.Type == of }) }

// Prefixed returns the kind with the given prefix, or an empty one.
func Prefixed(prefix string) *Kind {
	return first(func(k *Kind) bool { return slices.Contains(k.Prefixes, prefix) })
}

// Filed returns the kind whose suffix a path or address has, or an empty one.
func Filed(name string) *Kind {
	return first(func(k *Kind) bool { return k.Suffix != "" && strings.HasSuffix(strings.ToLower(name), k.Suffix) })
}

// Lying returns the kind whose packages are started in their own folder.
func Lying() *Kind { return first(func(k *Kind) bool { return k.InPlace }) }

// Fetching returns the kind whose packages the given program fetches and starts, or an empty one.
func Fetching(program string) *Kind {
	return first(func(k *Kind) bool { return k.Start != nil && !k.IsContainer && k.Start[0] == program })
}

// Fetches reports whether a command line begins with a program that fetches and starts packages.
func Fetches(words []string) bool { return len(words) > 0 && Fetching(words[0]).Type != "" }

// Fetchers returns the names of the programs that fetch and start packages, as in "npx or uvx".
func Fetchers() string {
	var names []string
	for _, k := range kinds {
		if k.Start != nil && !k.IsContainer {
			names = append(names, k.Start[0])
		}
	}
	return Or(names, " or ")
}

// Listed returns the types of the kinds that the official registry contains.
func Listed() (types []string) {
	for _, k := range kinds {
		if k.Prefixes != nil {
			types = append(types, k.Type)
		}
	}
	return types
}

// Or joins words with commas, except that the text or, such as " or ", precedes the last word.
func Or(words []string, or string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + or + words[last]
}

// Bare returns a name without the parts that change with the version.
func (k *Kind) Bare(name string) string {
	if k.IsContainer {
		return bareImage(name)
	}
	return name
}

// Split splits the word of a package into its name and its version.
func (k *Kind) Split(word string) (name, version string) {
	switch {
	case k.IsContainer:
		if at := strings.LastIndexAny(word, ":@"); at > strings.LastIndexByte(word, '/') {
			if name, digest, found := strings.Cut(word, "@"); found {
				return name, digest
			}
			return word[:at], word[at+1:]
		}
	case k.Sign != "":
		if name, version, found := strings.Cut(word, "=="); found {
			return name, version
		}
		if at := strings.LastIndexByte(word, '@'); at > 0 {
			return word[:at], word[at+1:]
		}
	}
	return word, ""
}
