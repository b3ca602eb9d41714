package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// lookPath finds the program of c. The returned path is relative only if c.Path is a relative path;
// it is then relative to c.Dir.
func lookPath(c Command) (string, error) {
	switch {
	case c.Path == "":
		return "", errors.New("no command given")
	case strings.ContainsAny(c.Path, separators) && !filepath.IsAbs(c.Path):
		return c.Path, nil // relative to Dir; checked when the program is started
	case c.Env == nil || strings.ContainsAny(c.Path, separators):
		return exec.LookPath(c.Path)
	}
	for _, dir := range filepath.SplitList(searchPath(c.Env)) {
		if !filepath.IsAbs(dir) {
			continue // a bare name never runs a program in the working directory
		}
		if path, err := exec.LookPath(filepath.Join(dir, c.Path)); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// WithoutStarts runs f while this process starts no programs. A child inherits files that are open
// for writing until it executes its program. During this time, a program that is being written to
// such a file cannot be executed ("text file busy", go.dev/issue/22315). f should therefore open,
// write and close the file. All starts wait for f, so f must not block, and it must not start
// programs.
func WithoutStarts(f func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return f()
}

// separators are the characters that make a command a path instead of a name.
const separators = "/" + string(filepath.Separator)

// searchPath returns the PATH of an environment. If there are several, the last one counts, as in
// os/exec.
func searchPath(env []string) (path string) {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			path = value
		}
	}
	return path
}

// startError returns an error with the command and a remedy. It omits the arguments, which may
// contain secrets.
func startError(c Command, err error) error {
	return fmt.Errorf("start %q: %w", c.Path, explained(c, err))
}

func explained(c Command, err error) error {
	if info, statErr := os.Stat(c.Dir); c.Dir != "" && (statErr != nil || !info.IsDir()) {
		return fmt.Errorf("working directory %q does not exist", c.Dir)
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return described{"not found in PATH; is it installed?", err}
	case errors.Is(err, exec.ErrDot):
		return described{"found only in the working directory; write ./ before it to run that", err}
	case errors.Is(err, fs.ErrNotExist) && present(c):
		return described{"the interpreter that its first line names does not exist", err}
	case errors.Is(err, fs.ErrNotExist):
		return described{"no such file; is it installed?", err}
	case errors.Is(err, fs.ErrPermission):
		return described{"may not be executed; check its permissions", err}
	case errors.Is(err, syscall.ENOEXEC):
		return described{"not a program that this system can run", err}
	}
	return err
}

// present reports whether the path of c exists.
func present(c Command) bool {
	path := c.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	_, err := os.Stat(path)
	return err == nil
}
