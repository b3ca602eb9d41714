package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/process"
	"github.com/junction-mcp/junction/internal/runner"
)

const (
	askTime      = 2 * time.Minute  // for a command that looks something up
	installTime  = 10 * time.Minute // for a command that downloads packages
	buildTime    = 30 * time.Minute // for a command that compiles
	maxOutput    = 32 << 20         // bytes of the standard output of a command
	maxErrorTail = 2 << 10          // bytes of the standard error of a command that stand in an error
)

// A command is a package manager's, or a runtime's. There is no shell.
type command struct {
	name string   // looked up in PATH
	args []string // checked by whoever makes them: none that came from outside may look like a flag
	dir  string   // empty only for what looks at no folder
	env  []string // NAME=value, in addition to the clean environment
	time time.Duration
}

// commandError is how a command failed.
type commandError struct {
	what   string // the program and its first argument
	cause  error
	stderr string
}

func (e *commandError) Error() string {
	text := fmt.Sprintf("%s %v", e.what, e.cause)
	if e.stderr != "" {
		text += ": " + e.stderr
	}
	return text
}

func (e *commandError) Unwrap() error { return e.cause }

// says reports whether a command failed with one of these texts on its standard error.
func says(err error, texts ...string) bool {
	var failed *commandError
	return errors.As(err, &failed) && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(failed.stderr, text) })
}

// run runs a command and returns its standard output, of a failed one too.
func run(ctx context.Context, c command) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.time, fmt.Errorf("took longer than %s", c.time))
	defer cancel()
	path, err := lookUp(c.name)
	if err != nil {
		return nil, err
	}
	what := c.name
	if i := slices.IndexFunc(c.args, func(arg string) bool { return !strings.HasPrefix(arg, "-") }); i >= 0 {
		what += " " + c.args[i]
	}
	p, err := process.Start(process.Command{Path: path, Args: c.args, Dir: c.dir, Env: append(cleanEnv(os.Environ()), c.env...), StderrTail: maxErrorTail})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Terminate() })
	out, err := io.ReadAll(io.LimitReader(p, maxOutput+1))
	if len(out) > maxOutput {
		err = fmt.Errorf("wrote more than %d bytes", maxOutput)
	}
	if err == nil {
		select {
		case <-p.Exited():
		case <-ctx.Done():
		}
	}
	stop()
	ended := p.ExitError()
	if closing := p.Close(); closing != nil { // and all that it started
		return nil, closing
	}
	if ctx.Err() != nil {
		ended = context.Cause(ctx)
	}
	if err = cmp.Or(ended, err); err != nil {
		return out, &commandError{what, err, p.Stderr()}
	}
	return out, nil
}

// lookUp returns the path of a program of this machine; the error says how to get one that is missing.
func lookUp(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	remedy := "install it, and see that it is in PATH"
	for _, k := range runner.Kinds() {
		if known := k.Remedies[name]; known != "" {
			remedy = known
			break
		}
	}
	return "", fmt.Errorf("%s %w: %s", name, ErrRuntime, remedy)
}

// present reports whether a program is on this machine.
func present(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// python returns the name of the Python on this machine.
func python() string {
	if runtime.GOOS == "windows" || !present("python3") && present("python") {
		return "python"
	}
	return "python3"
}

// kept are the names of variables that each command gets, next to those of the kinds of packages; a * stands for any end. What packages run while
// they are installed, where that is allowed, sees these too: so a secret is among them only where package managers take theirs from it.
var kept = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_*", "TMPDIR", "TMP", "TEMP", "XDG_*", "DBUS_SESSION_BUS_ADDRESS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PROGRAMDATA", "PROGRAMFILES*",
}

// cleanEnv leaves of an environment what package managers need.
func cleanEnv(env []string) []string {
	patterns := kept
	for _, k := range runner.Kinds() {
		patterns = slices.Concat(patterns, k.Env)
	}
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		return !slices.ContainsFunc(patterns, func(pattern string) bool {
			if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
				return strings.HasPrefix(name, prefix)
			}
			return name == pattern
		})
	})
}
