package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
)

const (
	// chainVariable is the environment variable that each started server gets. It holds the marks
	// of the gateways and entries through which the server was started, the outermost first.
	chainVariable = "JUNCTION_CHAIN"
	// maxChain is the largest number of marks in chainVariable. Each gateway adds two.
	maxChain = 16
)

// Chain returns the marks of the gateways and entries through which this process was started.
func (l *Launcher) Chain() []string {
	return strings.FieldsFunc(l.Place.Getenv(chainVariable), func(r rune) bool { return r == ',' })
}

// chained returns chainVariable with its value for the program of an entry. d is nil for a program
// that the command line names.
func (l *Launcher) chained(d *config.Definition) (variable string, err error) {
	marks := l.Chain()
	if len(marks) >= maxChain {
		return "", fmt.Errorf("%d gateways start each other; find the configuration that starts another junction", maxChain/2)
	}
	if l.Gateway != "" {
		marks = append(marks, l.Gateway)
	}
	if d != nil {
		marks = append(marks, EntryMark(d))
	}
	return chainVariable + "=" + strings.Join(marks, ","), nil
}

// mark returns a short hash of words.
func mark(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// GatewayMark returns the mark of a gateway that serves the named servers of a configuration;
// without names, all of its servers.
func GatewayMark(set *config.Set, names []string) string {
	words := []string{"gateway"}
	for _, f := range set.Files {
		words = append(words, "file "+filename.Real(f.Path))
	}
	for _, name := range names {
		words = append(words, "name "+name)
	}
	slices.Sort(words[1:])
	return mark(words...)
}

// EntryMark returns the mark of an entry.
func EntryMark(d *config.Definition) string {
	return mark("entry", filename.Real(d.Source), d.Name)
}

// EnterChain sets the mark of this process's gateway, which the gateway's programs get. Later calls
// keep the first mark. The error reports that the gateway was started by itself.
func (l *Launcher) EnterChain(c Configuration) error {
	if l.Gateway == "" {
		l.Gateway = GatewayMark(c.Set, c.Names)
	}
	i := slices.Index(l.Chain(), l.Gateway)
	if i < 0 {
		return nil
	}
	for _, f := range c.Set.Files {
		for _, d := range f.Servers { // the next mark is of the entry that began the loop
			if marks := l.Chain()[i+1:]; len(marks) > 0 && EntryMark(d) == marks[0] {
				return fmt.Errorf("this gateway would start itself: entry %q in %s; remove it there, or name other servers", d.Name, d.Source)
			}
		}
	}
	return errors.New("this gateway would start itself: one of its servers runs junction up")
}

// WithoutSelf returns the entries except those that would start or call this gateway. It prints a
// line about each omitted entry. at is this process's listener, or nil.
func (l *Launcher) WithoutSelf(ctx context.Context, entries []Entry, at net.Listener) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		if !l.isSelf(ctx, e.Definition, at) {
			return false
		}
		why := "it is this gateway itself"
		if l.Gateway == "" {
			why = "it is a gateway for the same servers"
		}
		l.Screen.Printf("junction: entry %q in %s is omitted: %s\n", e.Name, l.Place.Short(e.Definition.Source), why)
		return true
	})
}

// isSelf reports whether connecting to an entry would lead back to this gateway. There are two
// cases. The entry starts a junction up that serves the entry again or is a gateway that started
// this process. Or its URL is the address of at.
func (l *Launcher) isSelf(ctx context.Context, d *config.Definition, at net.Listener) bool {
	if d == nil || d.Disabled {
		return false
	}
	self := EntryMark(d)
	if slices.Contains(l.Chain(), self) {
		return true
	}
	if NeedsInput(d) || !IsProgram(d.Kind) && at == nil {
		return false
	}
	if IsProgram(d.Kind) && !slices.Contains(d.Words(), "up") {
		return false // without the user's consent, only an entry that can be a gateway is resolved
	}
	s, err := d.Resolve(ctx)
	if err != nil {
		return false // connecting reports the error
	}
	if !IsProgram(d.Kind) {
		return listensAt(at, s.URL)
	}
	set, names, ok := l.servedBy(s)
	if !ok {
		return false
	}
	if slices.Contains(append(l.Chain(), l.Gateway), GatewayMark(set, names)) {
		return true
	}
	return (len(names) == 0 || slices.Contains(names, d.Name)) &&
		slices.ContainsFunc(set.Servers, func(other *config.Definition) bool { return !other.Disabled && EntryMark(other) == self })
}

// servedBy returns the configuration and the names of the servers that s serves. ok is false if s
// does not run junction up.
func (l *Launcher) servedBy(s *config.Server) (set *config.Set, names []string, ok bool) {
	p := l.Place
	if l.UpArgs == nil || len(s.Args) == 0 || s.Args[0] != "up" || !IsJunction(p, s.Command) {
		return nil, nil, false
	}
	files, names, ok := l.UpArgs(s.Args[1:])
	if !ok {
		return nil, nil, false
	}
	at := place.Place{Vars: slices.Clone(p.Environ()), Dir: cmp.Or(s.Dir, p.Dir)}
	for name, value := range s.Env {
		at.Vars = append(at.Vars, name+"="+value)
	}
	o := ConfigOptions(at)
	paths := at.Paths(files)
	if len(paths) == 0 {
		paths = config.Find(o)
	}
	set, _ = config.LoadAll(paths, o) // junction up does not serve files that cannot be read
	return set, names, true
}

// IsJunction reports whether a command is this program, or any program named junction.
func IsJunction(p place.Place, command string) bool {
	base := strings.ToLower(filepath.Base(command))
	return strings.TrimSuffix(base, ".exe") == "junction" || isThisProgram(p, command)
}

// isThisProgram reports whether a command is the program of this process.
func isThisProgram(p place.Place, command string) bool {
	self, err := os.Executable()
	return err == nil && p.Real(command) == p.Real(self)
}

// StartsUp reports whether t starts the program of this process as junction up. It reports false for
// a program that is found by the folder or the PATH of the entry, as that may be another one of the
// same name.
func (t *Target) StartsUp(p place.Place) bool {
	s := t.Server
	if s == nil || t.IsInstalled || !t.IsProgram() || len(s.Args) == 0 || s.Args[0] != "up" {
		return false
	}
	if !filepath.IsAbs(s.Command) {
		for name := range s.Env {
			if strings.EqualFold(name, "PATH") {
				return false
			}
		}
		if s.Dir != "" && filepath.Base(s.Command) != s.Command {
			return false
		}
	}
	command, err := p.LookPath(s.Command)
	return err == nil && isThisProgram(p, command)
}

// listensAt reports whether the URL leads to at.
func listensAt(at net.Listener, address string) bool {
	u, err := url.Parse(address)
	own, ok := at.Addr().(*net.TCPAddr)
	if err != nil || !ok || u.Port() != fmt.Sprint(own.Port) {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return own.IP.IsLoopback() || own.IP.IsUnspecified()
	}
	return ip != nil && ip.Equal(own.IP)
}
