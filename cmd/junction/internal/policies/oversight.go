package policies

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/up/layer"
	"github.com/spf13/pflag"
)

// An Oversight holds the rules and the audit log of a junction up.
type Oversight struct {
	Rules  []string // files of rules
	Shadow bool     // whether the rules only go to the log
	Log    string   // folder of the audit log; empty without a log
	Own    string   // file of the rules of junction chat, which may not exist
	file   string   // configuration file
	from   string   // file with the settings; empty without settings
}

// ReadOversight returns the oversight of a junction up with these arguments.
func ReadOversight(a *cli.App, args []string) (*Oversight, error) {
	f := pflag.NewFlagSet("up", pflag.ContinueOnError)
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.SetOutput(io.Discard)
	files := f.StringArray("config", nil, "")
	profile, policy, log := f.String("profile", "", ""), f.String("policy", "", ""), f.String("audit", "", "")
	shadow := f.Bool("shadow", false, "")
	f.Lookup("audit").NoOptDefVal = layer.DefaultAudit
	if err := f.Parse(args); err != nil {
		return nil, fmt.Errorf("the arguments %q: %w", args, err)
	}
	s := &settings.Settings{}
	o := &Oversight{file: config.Own(launch.ConfigOptions(a.Place))}
	for i, path := range a.Paths(*files) {
		file, err := config.Load(path, launch.ConfigOptions(a.Place))
		if err != nil {
			return nil, err
		}
		found, at, err := file.Settings()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			o.file = path
		}
		if found != nil && o.from == "" {
			s, o.from = found, at.Path
		}
	}
	if err := CheckProfile(s, *profile); err != nil {
		return nil, err
	}
	s.Policy = cmp.Or(*policy, s.Policy)
	o.Rules, o.Shadow = s.PolicyFiles(*profile), s.Shadow || *shadow
	if *log != "" || s.Audit != nil {
		folder := *log
		if folder == "" {
			folder = s.Audit.Folder
		}
		var err error
		if o.Log, err = layer.AuditFolder(a.Place, folder); err != nil {
			return nil, err
		}
	}
	var err error
	o.Own, err = rules.UserFile(a.Place, "")
	return o, err
}

// Lines returns the rules and the log as text: their files, or none.
func (o *Oversight) Lines(a *cli.App) (rules, log string) {
	rules, log = "none", "none"
	if len(o.Rules) > 0 {
		rules = shortPaths(a, o.Rules)
	}
	if len(o.Rules) > 0 && o.Shadow {
		rules += " (shadow: nothing is refused)"
	}
	if o.Log != "" {
		log = a.Short(o.Log)
	}
	return rules, log
}

// Remedy returns how to add rules, a log or both, as words behind "to have it".
func (o *Oversight) Remedy(a *cli.App, rules, log bool) string {
	var members []string
	if rules {
		members = append(members, policyMember(o.Own, cmp.Or(o.from, o.file)))
	}
	if log {
		members = append(members, `"audit": {}`)
	}
	return addSettings(a, o.from, o.file, members...)
}

// addSettings returns the request to add members to the settings in the file from. If from is "",
// the configuration file has no settings yet.
func addSettings(a *cli.App, from, file string, members ...string) string {
	line := strings.Join(members, ", ")
	if from != "" {
		return fmt.Sprintf(`add %s to "junction" in %s`, line, a.Short(from))
	}
	return fmt.Sprintf(`add "junction": {%s} next to "mcpServers" in %s`, line, a.Short(file))
}

// policyMember returns the member of the settings in the file at that names a file of rules.
func policyMember(rules, at string) string {
	if filepath.Dir(rules) == filepath.Dir(at) {
		rules = filepath.Base(rules)
	}
	return fmt.Sprintf(`"policy": %q`, rules)
}

// shortPaths returns the paths of files for a sentence.
func shortPaths(a *cli.App, files []string) string {
	var short []string
	for _, path := range files {
		short = append(short, a.Short(path))
	}
	return strings.Join(short, " and ")
}
