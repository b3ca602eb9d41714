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

// maxFirstLine is the number of bytes of a file that are searched for the name of its interpreter.
const maxFirstLine = 512

// expect returns an error unless a lock has the usual command line of its type. Other users may
// have edited the lock, and it must not start another program or have further words. A word that
// ends in * matches all words with that prefix.
func (l *Locked) expect(words ...string) error {
	if slices.EqualFunc(l.Program, words, func(got, want string) bool {
		prefix, any := strings.CutSuffix(want, "*")
		return got == want || any && strings.HasPrefix(got, prefix)
	}) {
		return nil
	}
	return fmt.Errorf("the lock starts %q, but packages of %s start with %q", l.Program, l.Type, words)
}

// programIn resolves the words of a Locked to absolute paths in a folder. If the first word is
// node, the interpreter in the file's first line replaces it.
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

// inFolder resolves words that begin with ./ in a folder. It returns ErrNotInstalled for a missing
// file.
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

// interpreter returns the words after #! in a file's first line, or nil. It removes the folder of
// the interpreter, which differs between machines.
func interpreter(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxFirstLine)).ReadString('\n')
	if err != nil && len(line) == maxFirstLine {
		return nil // systems refuse a line of this length
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
			return nil // it sets variables, which scripts for node do not do
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
	askTime      = 2 * time.Minute  // maximum time for a command that queries
	installTime  = 10 * time.Minute // maximum time for a command that downloads packages
	buildTime    = 30 * time.Minute // maximum time for a command that compiles
	maxOutput    = 32 << 20         // bytes of a command's standard output
	maxErrorTail = 2 << 10          // bytes of a command's standard error in an error
)

// A command is a command line of a package manager or a runtime. It runs without a shell.
type command struct {
	name string   // looked up in PATH
	args []string // checked by the caller, so that no external value looks like a flag
	dir  string   // working folder; may be empty only if the command uses no files
	env  []string // variables in addition to the clean environment, as NAME=value
	time time.Duration
}

// A commandError reports the failure of a command.
type commandError struct {
	what   string // program and its first argument
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

// failedWith reports whether err is the failure of a command whose standard error has one of the
// texts.
func failedWith(err error, texts ...string) bool {
	var failed *commandError
	return errors.As(err, &failed) && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(failed.stderr, text) })
}

// run runs a command and returns its standard output, even if the command failed.
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
	if closing := p.Close(); closing != nil { // Close ends all processes that it started
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

// lookUp returns the path of a program on this machine. If it is missing, the error describes how
// to install it.
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

// python returns the name of the Python interpreter on this machine.
func python() string {
	if runtime.GOOS == "windows" || !present("python3") && present("python") {
		return "python"
	}
	return "python3"
}

// kept lists the variables that every command gets, in addition to those in the table of kinds. A *
// matches any ending. Code of packages that runs during an installation sees these variables. So a
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
	fetchTime      = 5 * time.Minute  // maximum time for one response of a registry, or one archive
	headersTimeout = 30 * time.Second // maximum wait for the headers of a response
	maxIndex       = 64 << 20         // bytes of a registry's information about one package
	maxWords       = 300              // bytes shown of texts from registries and authors
)

// newWeb returns the client for downloads without a package manager. It uses the proxy in the
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

// checkAddress returns an error unless the address of a registry or an archive has https or is on
// this machine.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("has an invalid address of a registry or an archive")
	}
	if u.User != nil {
		return fmt.Errorf("%s contains a password, which would be written into the lock: use the package manager's own login", u.Redacted())
	}
	if u.Scheme == "https" || u.Scheme == "http" && outside.IsHere(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s is not https, so others on the network could change the download", u.Redacted())
}

// get sends a GET request. The caller must close the body of the response.
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

// getJSON sends a GET request and decodes the JSON response.
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

// oneLine returns a registry's or an author's text on one line, for an error or a table.
func oneLine(s string) string {
	return plaintext.Beginning(plaintext.Clean(strings.Join(strings.Fields(s), " ")), maxWords)
}
