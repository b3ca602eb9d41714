package install

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/process"
	"github.com/junction-mcp/junction/internal/runner"
)

// maxFirstLine is the number of bytes of a program that are read to find its interpreter.
const maxFirstLine = 512

// expect checks that a lock, which others may have changed, has the usual command line of its type:
// no other program of this machine, and no further words. A word that ends in * matches its prefix.
func (l *Locked) expect(words ...string) error {
	if slices.EqualFunc(l.Program, words, func(got, want string) bool {
		prefix, any := strings.CutSuffix(want, "*")
		return got == want || any && strings.HasPrefix(got, prefix)
	}) {
		return nil
	}
	return fmt.Errorf("the lock starts %q, but packages of %s start with %q", l.Program, l.Type, words)
}

// programIn resolves the words of a Locked in a folder to absolute ones. The interpreter in the
// file's first line replaces a first word such as node.
func programIn(words []string, dir string) (*Program, error) {
	words, err := inFolder(words, dir)
	if err != nil {
		return nil, err
	}
	if len(words) > 1 && words[0] == "node" {
		if asked := interpreter(words[1]); len(asked) > 0 {
			words = append(asked, words[1:]...)
		}
	}
	if !filepath.IsAbs(words[0]) {
		if words[0], err = lookUp(words[0]); err != nil {
			return nil, err
		}
	}
	return &Program{Dir: dir, Argv: words}, nil
}

// inFolder resolves words with ./ in a folder. It returns ErrNotInstalled for a missing file.
func inFolder(words []string, dir string) ([]string, error) {
	if len(words) == 0 {
		return nil, ErrNotInstalled
	}
	all := make([]string, len(words))
	for i, word := range words {
		rel, ok := strings.CutPrefix(word, "./")
		if !ok {
			all[i] = word
			continue
		}
		rel = filepath.FromSlash(rel)
		if !filepath.IsLocal(rel) {
			return nil, ErrNotInstalled
		}
		all[i] = filepath.Join(dir, rel)
		if _, err := os.Stat(all[i]); err != nil {
			return nil, ErrNotInstalled
		}
	}
	return all, nil
}

// interpreter returns the words after #! in a file's first line, with the interpreter's name
// without its folder, which differs between machines. It returns nil without such a line.
func interpreter(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxFirstLine)).ReadString('\n')
	if err != nil && len(line) == maxFirstLine {
		return nil // systems refuse such a long line
	}
	rest, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return nil
	}
	words[0] = path.Base(words[0])
	if words[0] == "env" {
		words = words[1:]
		if len(words) > 0 && words[0] == "-S" {
			words = words[1:]
		}
		if len(words) == 0 || strings.ContainsAny(words[0], "=") || strings.HasPrefix(words[0], "-") {
			return nil // it sets variables, which no script for node does
		}
		words[0] = path.Base(words[0])
	}
	return words
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

const (
	askTime      = 2 * time.Minute  // for a command that looks something up
	installTime  = 10 * time.Minute // for a command that downloads packages
	buildTime    = 30 * time.Minute // for a command that compiles
	maxOutput    = 32 << 20         // bytes of the standard output of a command
	maxErrorTail = 2 << 10          // bytes of the standard error of a command in an error
)

// A command is a command line of a package manager or a runtime. It runs without a shell.
type command struct {
	name string   // looked up in PATH
	args []string // checked by the caller: none from outside may look like a flag
	dir  string   // empty only if the command uses no files
	env  []string // NAME=value, in addition to the clean environment
	time time.Duration
}

// commandError is the failure of a command.
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

// run runs a command and returns its standard output, even if it failed.
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
	if closing := p.Close(); closing != nil { // ends all processes that it started
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

// lookUp returns the path of a program of this machine. Its error names how to install a missing
// one.
func lookUp(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	remedy := "install it, and add it to PATH"
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

// python returns the name of the Python command on this machine.
func python() string {
	if runtime.GOOS == "windows" || !present("python3") && present("python") {
		return "python"
	}
	return "python3"
}

// kept lists the variables that each command gets, in addition to those of the kinds of packages; a
// * matches any end. Code of packages that may run during the installation sees these, too. So a
// secret is in the list only if package managers read theirs from it.
var kept = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_*", "TMPDIR", "TMP", "TEMP", "XDG_*", "DBUS_SESSION_BUS_ADDRESS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PROGRAMDATA", "PROGRAMFILES*",
}

// cleanEnv returns the variables of an environment that package managers need.
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

const (
	fetchTime      = 5 * time.Minute  // for one response of a registry, or one archive
	headersTimeout = 30 * time.Second // until a server begins to respond
	maxIndex       = 64 << 20         // bytes of a registry's information about one package
	maxWords       = 300              // bytes of the texts of registries and authors that are shown
)

// newWeb returns the client for downloads without a package manager. It uses the proxy of the
// environment.
func newWeb() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headersTimeout
	return &http.Client{Transport: transport, Timeout: fetchTime, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) >= 10 {
			return errors.New("redirects ten times")
		}
		if before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return errors.New("redirects from https to http")
		}
		return nil
	}}
}

// checkAddress checks the address of a registry or an archive: it must have https, or be on this
// machine.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("has an address of a registry or an archive that is not one")
	}
	if u.User != nil {
		return fmt.Errorf("%s has a password in it, which would be in the lock: use the package manager's own login", u.Redacted())
	}
	if u.Scheme == "https" || u.Scheme == "http" && outside.IsHere(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s is not https, so others on the network could change the download", u.Redacted())
}

// get sends a GET request. The caller must close the body.
func get(ctx context.Context, web *http.Client, address, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := web.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		err := fmt.Errorf("%s answers %s", request.URL.Redacted(), response.Status)
		if response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusGone {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return nil, err
	}
	return response, nil
}

// getJSON sends a GET request and decodes the response.
func getJSON(ctx context.Context, web *http.Client, address, accept string, into any) error {
	response, err := get(ctx, web, address, accept)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxIndex+1))
	if err != nil {
		return err
	}
	if len(text) > maxIndex {
		return fmt.Errorf("%s answers with more than %d bytes", response.Request.URL.Redacted(), maxIndex)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", response.Request.URL.Redacted(), err)
	}
	return nil
}

// readLimited reads a file of at most limit bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return text, err
}

// writeJSON writes a file that only its owner can read.
func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// oneLine returns text of others on one line, for an error or a table.
func oneLine(s string) string {
	return plaintext.Beginning(plaintext.Clean(strings.Join(strings.Fields(s), " ")), maxWords)
}
