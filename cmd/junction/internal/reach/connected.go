package reach

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
)

// ImportedServers holds the servers that junction host connect copied from a host; they stay when the host's own
// are restored.
type ImportedServers struct {
	host    string              // the host's ID; empty if a file was named
	path    string              // the host's file
	File    string              // Junction's own configuration file
	Servers []string            // copied from the host
	Secrets map[string][]string // names of secrets that the servers use, by server
}

// Title returns the name of the host, or a description of its file.
func (s *ImportedServers) Title(p place.Place) string {
	if h, _, known := hostconfig.LookupHost(s.host); known {
		return h.Name
	}
	return "the host of " + p.Short(s.path)
}

// FindImported returns what junction host connect copied, while the host's entry still names Junction's file.
func FindImported(p place.Place, r *hostconfig.Record) *ImportedServers {
	s := &ImportedServers{host: r.Host, path: r.Path, File: config.Own(launch.ConfigOptions(p)), Secrets: map[string][]string{}}
	if _, ours, _, err := r.Look(); err == nil && ours != nil {
		if at := slices.Index(ours.Args, "--config") + 1; at > 0 && at < len(ours.Args) {
			s.File = ours.Args[at]
		}
	}
	file, err := config.Load(s.File, launch.ConfigOptions(p))
	if err != nil {
		return s // users of the file report the error
	}
	for _, change := range r.Changes {
		for _, took := range change.Took {
			for _, name := range []string{took.Name, took.Name + "-" + r.Host} { // connect appends the host if the name is taken
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

// WarnConnected prints a warning for each connected host that loses the server of a configuration
// file.
func WarnConnected(a *cli.App, file, name string) {
	journal, err := launch.OpenJournal(a.Place)
	if err != nil {
		return
	}
	records, _ := journal.Records() // unreadable records are skipped
	for _, r := range records {
		if s := FindImported(a.Place, r); r.Connected && a.Real(s.File) == file {
			a.Screen.Printf("junction: warning: %s no longer has %q, which it got through junction; %s restores its own servers\n", s.Title(a.Place), plaintext.Line(name, 100), r.Remedy())
		}
	}
}
