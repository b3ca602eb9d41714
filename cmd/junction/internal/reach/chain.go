package reach

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
)

// EnterChain sets the mark of this gateway that the programs it starts receive. It returns the
// entries without this gateway itself, and an error if this gateway was started by itself.
func EnterChain(ctx context.Context, a *cli.App, set *config.Set, entries []launch.Entry, names []string, l net.Listener) ([]launch.Entry, error) {
	a.Launch.Gateway = launch.GatewayMark(set, names)
	if i := slices.Index(a.Launch.Chain(), a.Launch.Gateway); i >= 0 {
		return nil, startedByItself(set, a.Launch.Chain()[i+1:])
	}
	return WithoutSelf(ctx, a, entries, l), nil
}

// startedByItself returns an error that names the entry with the first of the marks, which began
// the loop.
func startedByItself(set *config.Set, marks []string) error {
	for _, f := range set.Files {
		for _, d := range f.Servers {
			if len(marks) > 0 && launch.EntryMark(d) == marks[0] {
				return fmt.Errorf("this gateway is started by itself: entry %q in %s; remove it there or name other servers", d.Name, d.Source)
			}
		}
	}
	return fmt.Errorf("this gateway is started by itself; a server that it starts runs junction up again")
}

// WithoutSelf returns the entries without those that would start or call the gateway serving them,
// and prints each that it omits. l is the listener of this process, or nil.
func WithoutSelf(ctx context.Context, a *cli.App, entries []launch.Entry, l net.Listener) []launch.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e launch.Entry) bool {
		if !isSelf(ctx, a, e.Definition, l) {
			return false
		}
		why := "it is this gateway itself"
		if a.Launch.Gateway == "" {
			why = "it is a gateway of the same servers"
		}
		a.Screen.Printf("junction: entry %q in %s is omitted: %s\n", e.Name, a.Short(e.Definition.Source), why)
		return true
	})
}

// isSelf reports whether an entry starts a junction up that serves this entry again. It also
// reports true for a gateway that started this process, and for one that listens at l.
func isSelf(ctx context.Context, a *cli.App, d *config.Definition, l net.Listener) bool {
	if d == nil || d.Disabled {
		return false
	}
	self := launch.EntryMark(d)
	if slices.Contains(a.Launch.Chain(), self) {
		return true
	}
	if launch.NeedsInput(d) || !launch.IsProgram(d.Kind) && l == nil {
		return false
	}
	s, err := d.Resolve(ctx)
	if err != nil {
		return false // connecting reports the error
	}
	if !launch.IsProgram(d.Kind) {
		return listensAt(l, s.URL)
	}
	set, names, ok := servedBy(a, s)
	if !ok {
		return false
	}
	if slices.Contains(append(a.Launch.Chain(), a.Launch.Gateway), launch.GatewayMark(set, names)) {
		return true
	}
	return (len(names) == 0 || slices.Contains(names, d.Name)) &&
		slices.ContainsFunc(set.Servers, func(other *config.Definition) bool { return !other.Disabled && launch.EntryMark(other) == self })
}

// servedBy returns the configuration and the names of servers that s serves, if s runs junction up.
func servedBy(a *cli.App, s *config.Server) (set *config.Set, names []string, ok bool) {
	p := a.Place
	if a.UpFlags == nil || len(s.Args) == 0 || s.Args[0] != "up" || !IsJunction(p, s.Command) {
		return nil, nil, false
	}
	child := &cli.App{}
	flags := a.UpFlags(child)
	if flags.Parse(s.Args[1:]) != nil {
		return nil, nil, false
	}
	at := place.Place{Vars: slices.Clone(p.Environ()), Dir: cmp.Or(s.Dir, p.Dir)}
	for name, value := range s.Env {
		at.Vars = append(at.Vars, name+"="+value)
	}
	o := ConfigOptions(at)
	paths := at.Paths(child.Flags.Config)
	if len(paths) == 0 {
		paths = config.Find(o)
	}
	set, _ = config.LoadAll(paths, o) // files that cannot be read are not served
	return set, flags.Args(), true
}

// IsJunction reports whether a command is this program, or another one named junction.
func IsJunction(p place.Place, command string) bool {
	base := strings.ToLower(filepath.Base(command))
	if strings.TrimSuffix(base, ".exe") == "junction" {
		return true
	}
	self, err := os.Executable()
	return err == nil && p.Real(command) == p.Real(self)
}

// listensAt reports whether l listens at the address of a URL.
func listensAt(l net.Listener, address string) bool {
	u, err := url.Parse(address)
	own, ok := l.Addr().(*net.TCPAddr)
	if err != nil || !ok || u.Port() != fmt.Sprint(own.Port) {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return own.IP.IsLoopback() || own.IP.IsUnspecified()
	}
	return ip != nil && ip.Equal(own.IP)
}
