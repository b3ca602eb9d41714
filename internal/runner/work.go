package runner

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// builders lists further programs that can install or build a server before they start it, with the
// subcommands for which they do; nil means all subcommands.
var builders = map[string][]string{
	"bunx": nil, "pnpx": nil, "pnpm": {"dlx", "exec"}, "yarn": {"dlx"}, "npm": {"exec", "x"},
	"bun": {"x"}, "pipx": {"run"}, "uv": {"run", "tool"}, "podman": {"run"}, "nerdctl": {"run"},
	"go": {"run"}, "cargo": {"run"}, "deno": nil, "dotnet": {"run", "tool"}, "nix": {"run", "shell"}, "jbang": nil,
}

// shells are programs whose arguments are the command line of another program.
var shells = []string{"cmd", "env"}

// Work describes the work of a program that starts a package, such as "npx installs x", or "npx
// starts x" if known is set. It returns "" for other programs.
func Work(name string, args []string, known bool) string {
	base := strings.ToLower(filepath.Base(name))
	if runtime.GOOS == "windows" {
		base = strings.TrimSuffix(base, filepath.Ext(base))
	}
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return strings.HasPrefix(arg, "-") || strings.EqualFold(arg, "/c") || arg == ""
	})
	if slices.Contains(shells, base) && len(words) > 0 {
		return Work(words[0], words[1:], known)
	}
	subcommands, isRunner := builders[base]
	container := base == "podman" || base == "nerdctl" // the first word after the subcommand is not always the image, as some flags have values
	if k := first(func(k *Kind) bool { return k.Start != nil && k.Start[0] == base }); k.IsContainer {
		subcommands, isRunner, container = k.Start[1:2], true, true
	} else if k.Start != nil {
		isRunner = true
	}
	if !isRunner {
		return ""
	}
	if subcommands != nil {
		if len(words) == 0 || !slices.Contains(subcommands, words[0]) {
			return ""
		}
		words = words[1:]
	}
	what := "the server"
	if len(words) > 0 && !container {
		what = plaintext.Line(words[0], 80)
	}
	switch {
	case known:
		return base + " starts " + what
	case container:
		return base + " fetches its image"
	}
	return base + " installs " + what
}
