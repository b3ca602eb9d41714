// Package place finds variables, folders and programs for a command that runs in another
// environment or folder than the process.
package place

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/junction-mcp/junction/internal/filename"
)

// A Place is the environment and the working folder of a command. The zero Place means the
// environment and folder of the process.
type Place struct {
	Vars []string // NAME=VALUE; the last entry with a name counts; nil means the environment of the process
	Dir  string   // absolute; empty means the working folder of the process
}

// Environ returns the environment. It is like [os.Environ].
func (p Place) Environ() []string {
	if p.Vars == nil {
		return os.Environ()
	}
	return p.Vars
}

// LookupEnv returns a variable, and whether it is set. It is like [os.LookupEnv].
func (p Place) LookupEnv(name string) (value string, set bool) {
	if p.Vars == nil {
		return os.LookupEnv(name)
	}
	for _, pair := range p.Vars {
		if n, v, _ := strings.Cut(pair, "="); n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value, set = v, true
		}
	}
	return value, set
}

// Getenv returns a variable, or "" if it is not set. It is like [os.Getenv].
func (p Place) Getenv(name string) string {
	value, _ := p.LookupEnv(name)
	return value
}

// Getwd returns the working folder. It is like [os.Getwd].
func (p Place) Getwd() (string, error) {
	if p.Dir == "" {
		return os.Getwd()
	}
	return p.Dir, nil
}

// Path returns the path with which the process can open the file that is called name in p.
func (p Place) Path(name string) string {
	if p.Dir == "" || name == "" || filepath.IsAbs(name) {
		return name
	}
	return p.Dir + string(filepath.Separator) + name // not cleaned, so that a separator at the end remains
}

// Abs returns the absolute form of a path in p. It is like [filepath.Abs].
func (p Place) Abs(path string) (string, error) {
	if p.Dir != "" && !filepath.IsAbs(path) {
		return filepath.Join(p.Dir, path), nil
	}
	return filepath.Abs(path)
}

// Absolute is like [Place.Abs], but returns path itself if it has no absolute form.
func (p Place) Absolute(path string) string {
	if full, err := p.Abs(path); err == nil {
		return full
	}
	return path
}

// Real returns the absolute path of a file, with symbolic links resolved.
func (p Place) Real(path string) string { return filename.Real(p.Absolute(path)) }

// Short returns path for display: ~ replaces the home folder.
func (p Place) Short(path string) string {
	home, err := p.UserHomeDir()
	if err != nil {
		return path
	}
	if rest, found := strings.CutPrefix(path, home+string(filepath.Separator)); found {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// UserHomeDir returns the home folder. It is like [os.UserHomeDir].
func (p Place) UserHomeDir() (string, error) {
	if p.Vars == nil {
		return os.UserHomeDir()
	}
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := p.Getenv(name); home != "" {
		return home, nil
	}
	return "", fmt.Errorf("%s is not defined", name)
}

// UserConfigDir returns the folder with the user's configuration. It is like [os.UserConfigDir].
func (p Place) UserConfigDir() (string, error) {
	if p.Vars == nil {
		return os.UserConfigDir()
	}
	return p.below("XDG_CONFIG_HOME", ".config", "Library/Application Support", "APPDATA")
}

// UserCacheDir returns the folder for the user's cached data. It is like [os.UserCacheDir].
func (p Place) UserCacheDir() (string, error) {
	if p.Vars == nil {
		return os.UserCacheDir()
	}
	return p.below("XDG_CACHE_HOME", ".cache", "Library/Caches", "LOCALAPPDATA")
}

// below returns the folder that a variable contains. If the variable is not set, it returns a
// folder in the home folder.
func (p Place) below(variable, unix, darwin, windows string) (string, error) {
	folder := unix
	switch runtime.GOOS {
	case "windows":
		if dir := p.Getenv(windows); dir != "" {
			return dir, nil
		}
		return "", fmt.Errorf("%s is not defined", windows)
	case "darwin":
		folder = darwin
	default:
		if dir := p.Getenv(variable); filepath.IsAbs(dir) {
			return dir, nil
		} else if dir != "" {
			return "", fmt.Errorf("path in $%s is relative", variable)
		}
	}
	home, err := p.UserHomeDir()
	return filepath.Join(home, folder), err
}

// State returns the path of a file with Junction's state. The file is in the folder that
// JUNCTION_STATE contains, or else in the folder junction in the user's configuration folder.
func (p Place) State(name string) (string, error) {
	folder := p.Path(p.Getenv("JUNCTION_STATE"))
	if folder == "" {
		config, err := p.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("your configuration folder is not known, name another with JUNCTION_STATE: %w", err)
		}
		folder = filepath.Join(config, "junction")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("the folder of conversations and approvals cannot be made, name another with JUNCTION_STATE: %w", err)
	}
	return filepath.Join(folder, name), nil
}

// Cache returns the path of Junction's cached data with a name, in the user's cache folder.
func (p Place) Cache(name string) (string, error) {
	dir, err := p.UserCacheDir()
	return filepath.Join(dir, "junction", name), err
}

// LookPath finds a program. It is like [exec.LookPath].
func (p Place) LookPath(name string) (string, error) {
	if p.Vars == nil && p.Dir == "" {
		return exec.LookPath(name)
	}
	if strings.ContainsAny(name, `/`+string(filepath.Separator)) {
		return exec.LookPath(p.Path(name))
	}
	for _, dir := range filepath.SplitList(p.Getenv("PATH")) {
		found, err := exec.LookPath(filepath.Join(p.Absolute(dir), name))
		if err == nil && !filepath.IsAbs(dir) { // only the working folder contains the program, and a bare name never runs a program in it
			err = &exec.Error{Name: name, Err: exec.ErrDot}
		}
		if err == nil || errors.Is(err, exec.ErrDot) {
			return found, err
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// Paths returns the paths with which the process can open the named files; see [Place.Path].
func (p Place) Paths(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = p.Path(name)
	}
	return paths
}

// Command returns a command that runs in p. It is like [exec.CommandContext].
func (p Place) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	if p.Vars != nil || p.Dir != "" {
		cmd.Path, cmd.Err = p.LookPath(name)
		cmd.Env, cmd.Dir = p.Vars, p.Dir
	}
	return cmd
}

// Expand replaces ~ at the beginning of path by the home folder.
func (p Place) Expand(path string) string {
	if rest, found := strings.CutPrefix(path, "~"); found && (rest == "" || rest[0] == '/') {
		home, _ := p.UserHomeDir()
		return filepath.Join(home, rest)
	}
	return path
}

// Tilde returns a path in the form that sandbox profiles use: absolute, or relative to the home
// folder and with ~ at the beginning.
func (p Place) Tilde(path string) string {
	if path == "" || path == "~" || strings.HasPrefix(path, "~/") {
		return path
	}
	path = p.Absolute(path)
	if home, err := p.UserHomeDir(); err == nil && home != "/" {
		if rest, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rest) {
			return filepath.ToSlash(filepath.Join("~", rest))
		}
	}
	return path
}
