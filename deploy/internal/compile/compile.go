// Package compile builds the binary of a release.
package compile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const module = "github.com/junction-mcp/junction"

// inlined lists the packages whose functions the compiler copies to their callers: what a message
// passes, and libraries that are small only that way. All others are called some times in a minute.
// Copies in them, and the tables that name them in stack traces, are 3.6 MB of the binary and 1.7 MB
// of what is downloaded.
var inlined = []string{
	"std",
	module + "/event/...",
	module + "/gateway",
	module + "/internal/jsonrpc/...",
	module + "/internal/redact/...",
	module + "/internal/revision/...",
	module + "/internal/schema/...",
	module + "/internal/share/...",
	module + "/mcp/...",
	module + "/toolsearch/...",
	"github.com/go-json-experiment/json/...",
	"github.com/google/jsonschema-go/...",
	"github.com/redis/rueidis/...",
	"go.opentelemetry.io/otel/...",
	"modernc.org/...",
}

// Program builds the static binary of the sources in the folder root for an operating system and an
// architecture, and writes it to a file. If commit is set, it contains the commit of the sources.
func Program(ctx context.Context, root, to, system, arch string, commit bool) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	args := []string{
		"build", "-trimpath", fmt.Sprintf("-buildvcs=%t", commit), "-o", to,
		// Functions begin at multiples of 16 bytes, as on arm64. 32, the default of amd64, costs 0.4 MB.
		"-ldflags", "-s -w -buildid= -funcalign=16",
		"-gcflags=all=-l",
	}
	for _, pattern := range inlined {
		args = append(args, "-gcflags="+pattern+"=") // the last pattern that fits counts
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/junction")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build for %s_%s: %w", system, arch, err)
	}
	return nil
}
