package reach

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// Staying is what connect made of a host's servers, which stays when they are put back.
type Staying struct {
	host    string              // its ID; empty where a file was named
	path    string              // of its file
	File    string              // Junction's own
	Servers []string            // that were the host's
	Secrets map[string][]string // which they name, by server
}

// Title names the host.
func (s *Staying) Title(p place.Place) string {
	if h, _, known := hostconfig.LookupHost(s.host); known {
		return h.Name
	}
	return "the host of " + p.Short(s.path)
}

// StaysOf finds that out, while the host's entry still says which file it is.
func StaysOf(p place.Place, r *hostconfig.Record) *Staying {
	s := &Staying{host: r.Host, path: r.Path, File: config.Own(ConfigOptions(p)), Secrets: map[string][]string{}}
	if _, ours, _, err := r.Look(); err == nil && ours != nil {
		if at := slices.Index(ours.Args, "--config") + 1; at > 0 && at < len(ours.Args) {
			s.File = ours.Args[at]
		}
	}
	file, err := config.Load(s.File, ConfigOptions(p))
	if err != nil {
		return s // which whoever uses it says
	}
	for _, change := range r.Changes {
		for _, took := range change.Took {
			for _, name := range []string{took.Name, took.Name + "-" + r.Host} { // which connect gives it where another one has that name
				d, found := file.Server(name)
				if !found || slices.Contains(s.Servers, name) {
					continue
				}
				s.Servers = append(s.Servers, name)
				for _, variable := range d.Variables() {
					if secret, is := strings.CutPrefix(variable, "secret:"); is {
						s.Secrets[name] = append(s.Secrets[name], secret)
					}
				}
			}
		}
	}
	return s
}

// WarnConnected says which connected hosts get a server of a file of Junction through it, as they will not any more.
func WarnConnected(a *cli.App, file, name string) {
	journal, err := Taps(a.Place)
	if err != nil {
		return
	}
	records, _ := journal.Records() // of one that cannot be read nothing is known
	for _, r := range records {
		if s := StaysOf(a.Place, r); r.Connected && a.Real(s.File) == file {
			a.Screen.Printf("junction: warning: %s is connected, and got %q through junction; %s puts its own servers back\n", s.Title(a.Place), plaintext.Line(name, 100), r.Remedy())
		}
	}
}

// Taps is where changes of hosts' files are noted.
func Taps(p place.Place) (hostconfig.Journal, error) {
	folder, err := p.State("taps")
	return hostconfig.Journal{Folder: folder}, err
}

// withoutConnected leaves out entries by which a host starts this configuration.
func withoutConnected(a *cli.App, entries []cli.Entry) []cli.Entry {
	if !slices.ContainsFunc(entries, func(e cli.Entry) bool { return e.Name == hostconfig.OwnName }) {
		return entries
	}
	journal, err := Taps(a.Place)
	if err != nil {
		return entries
	}
	records, _ := journal.Records() // an entry of which nothing is known is one like any other
	return slices.DeleteFunc(entries, func(e cli.Entry) bool {
		return e.Name == hostconfig.OwnName && IsConnected(a.Place, records, e.Definition.Source)
	})
}

// IsConnected reports whether junction connect changed a file.
func IsConnected(p place.Place, records []*hostconfig.Record, path string) bool {
	return slices.ContainsFunc(records, func(r *hostconfig.Record) bool { return r.Connected && r.Path == p.Real(path) })
}
