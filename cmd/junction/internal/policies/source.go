package policies

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
)

// CheckProfile returns a usage error if the settings do not define the profile.
func CheckProfile(s *settings.Settings, name string) error {
	if _, there := s.Profiles[name]; name == "" || there {
		return nil
	}
	return cli.Usagef("--profile: there is no profile %q; the configuration has %s", name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(s.Profiles)), ", "), "none"))
}

// A policySource selects the rules for the policy commands. These are the rules that junction up
// with the same configuration would use, or else the user's own.
type policySource struct {
	app      *cli.App
	flag     string // the value of --policy
	settings *settings.Settings
	from     string // the file with the settings
	books    map[string]*rules.Book
}

// readPolicySource reads the settings of a configuration. With --policy, only the policies of their
// profiles matter.
func readPolicySource(a *cli.App, set *config.Set, flag, profile string) (*policySource, error) {
	s, from, err := a.Launch.Settings(set)
	if err == nil && from != "" {
		err = CheckProfile(s, profile)
	}
	return &policySource{a, flag, s, from, map[string]*rules.Book{}}, err
}

// files returns the rule files that junction up uses for a profile.
func (p *policySource) files(profile string) []string {
	s := *p.settings
	s.Policy = cmp.Or(p.flag, s.Policy)
	return s.PolicyFiles(profile)
}

// book returns the rules for a profile. An unknown profile gets the rules of the whole gateway.
func (p *policySource) book(profile string) (*rules.Book, error) {
	if _, there := p.settings.Profiles[profile]; !there {
		profile = ""
	}
	if book := p.books[profile]; book != nil {
		return book, nil
	}
	files := p.files(profile)
	if len(files) == 0 {
		files = []string{""} // selects the user's own file
	}
	book, err := ReadRules(p.app, files...)
	if err == nil {
		p.books[profile] = book
	}
	return book, err
}

// report prints which files contain the rules, unless the command line names the only one.
func (p *policySource) report(profile string) {
	files := p.files(profile)
	own, err := rules.UserFile(p.app.Place, "")
	switch {
	case p.flag != "" && len(files) == 1:
	case len(files) > 0:
		where := ""
		if profile != "" {
			where = " in the profile " + profile
		}
		p.app.Screen.Printf("junction: these are the rules of junction up%s, set in %s: %s\n", where, p.app.Short(p.from), shortPaths(p.app, files))
	case err == nil:
		p.app.Screen.Printf("junction: these are the rules of junction chat, from %s. %s\n", p.app.Short(own), p.others(own))
	}
}

// others returns a sentence about the rules of connected hosts and junction up, if the settings name
// none. own is the file of the user's own rules.
func (p *policySource) others(own string) string {
	who, file := "Connected hosts and junction up have no rules", config.Own(launch.ConfigOptions(p.app.Place))
	if given := p.app.Launch.Config; len(given) > 0 {
		who, file = "With this configuration junction up has no rules", p.app.Path(given[0])
		if host := p.connected(file); host != nil {
			return fmt.Sprintf("Those of %s: junction policy list --config %s", host.Title(p.app.Place), plaintext.ShellWord(host.File))
		}
	}
	return who + "; for these ones, " + addSettings(p.app, p.from, file, policyMember(own, cmp.Or(p.from, file)))
}

// connected returns the servers of the connected host whose configuration file has this path, or nil.
func (p *policySource) connected(path string) *reach.ImportedServers {
	journal, err := launch.OpenJournal(p.app.Place)
	if err != nil {
		return nil
	}
	records, _ := journal.Records() // junction doctor reports unreadable ones
	for _, r := range records {
		if launch.IsConnected(p.app.Place, []*hostconfig.Record{r}, path) {
			return reach.FindImported(p.app.Place, r)
		}
	}
	return nil
}
