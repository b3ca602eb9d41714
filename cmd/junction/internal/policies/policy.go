package policies

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ProjectPolicy is the file of a project's rules, which can only tighten others.
const ProjectPolicy = ".junction/policy.json"

const policyHelp = `Forbid one tool and nothing else: write this to policy.json, and run
junction up --policy policy.json:

  {"rules": [{"effect": "deny", "tool": "delete_file"}], "default": "allow"}

A file of rules is JSON, with comments allowed:

  {
    "rules": [
      {"effect": "allow", "server": "files", "tool": "read_*"},
      {"effect": "deny", "tool": "delete_*", "reason": "nothing is deleted here"},
      {"effect": "ask", "when": "'untrusted' in labels"},
    ],
    "default": "ask",
    "trusted": ["files"],
    "public": ["search"],
  }

"tool" is the name that the server itself gives the tool, without the server's name in
front. Of the rules that match a call the strictest decides, in any order: deny, then
ask, then allow. A call that no rule matches gets "default"; if left out, that is "ask".
"when" is a condition in CEL.

  junction up    reads --policy FILE, or the file that "policy" in its settings names;
                 without either it has no rules
  junction chat  reads --policy FILE, or junction/policy.json in your configuration folder

The other commands of junction policy read --policy FILE, or the file of junction up, or
if the settings name none, that of junction chat. Rules of a project, in
` + ProjectPolicy + `, can only deny and ask.`

const policyExitHelp = `Exit codes:
  0    done
  1    explain: the call is decided otherwise than --expect says
  2    the command line is wrong
  3    a file cannot be read or holds mistakes; no connection to the server
  4    the server answered with a protocol error
  5    the server did not answer in time
  130  interrupted (Ctrl-C)`

// PolicyCommand returns the command policy.
func PolicyCommand(a *cli.App) *cobra.Command {
	return cli.Group("policy", "Rules that allow and forbid tools: how to write them; explain, list, test",
		"Rules say which calls may run: one with the effect \"deny\" forbids tools.\n\n"+policyHelp+"\n\n"+policyExitHelp,
		policyListCommand(a), policyExplainCommand(a), policyTestCommand(a))
}

// PolicyFlag defines the flag --policy.
func PolicyFlag(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "policy", "", "take the rules of `FILE` in place of those that the settings name or your own policy.json")
}

// A Rulebook is the policy in force in a folder, with its files.
type Rulebook struct {
	*policy.Policy
	Files           []*policy.File
	Trusted, Public []string // names of servers
}

// ReadRulebook reads the files of rules at paths, where an empty path is the user's own, and those
// of the project in the current folder. Only named files must exist. It prints the rules that are
// ignored.
func ReadRulebook(a *cli.App, paths ...string) (*Rulebook, error) {
	type source struct {
		path     string
		required bool
		options  policy.LoadOptions
	}
	var sources []source
	for _, path := range paths {
		full, err := PolicyPath(a.Place, path)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{full, path != "", policy.LoadOptions{}})
	}
	book := &Rulebook{}
	var rules []policy.Rule
	var byDefault policy.Options
	for _, source := range append(sources, source{a.Path(filepath.FromSlash(ProjectPolicy)), false, policy.LoadOptions{Tighten: true}}) {
		file, err := policy.Load(source.path, source.options)
		if errors.Is(err, fs.ErrNotExist) && !source.required {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; it is named by --policy, or as policy in the settings", err)
		}
		if err != nil {
			return nil, err
		}
		for _, ignored := range file.Ignored {
			a.Screen.Printf("junction: %v\n", ignored)
		}
		book.Files = append(book.Files, file)
		rules = append(rules, file.Rules...)
		book.Trusted, book.Public = append(book.Trusted, file.Trusted...), append(book.Public, file.Public...)
		byDefault = tightened(byDefault, file, source.options.Tighten)
	}
	var err error
	if book.Policy, err = policy.Compile(rules, byDefault); err != nil {
		return nil, err
	}
	return book, nil
}

// PolicyPath returns path, or the path of the user's own policy if it is empty.
func PolicyPath(p place.Place, path string) (string, error) {
	if path != "" {
		return p.Path(path), nil
	}
	folder, err := p.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("your configuration folder is not known, name the policy with --policy: %w", err)
	}
	return filepath.Join(folder, "junction", "policy.json"), nil
}

// tightened returns the default of before and next together. A project's default can only be
// stricter.
func tightened(before policy.Options, next *policy.File, tighten bool) policy.Options {
	least := before.Default
	if tighten && least == "" {
		least = policy.Ask // the built-in default
	}
	if policy.Strictest(least, next.Default) == least {
		return before
	}
	return policy.Options{Default: next.Default, DefaultSource: next.DefaultSource}
}

// Paths returns the paths of the files that exist.
func (b *Rulebook) Paths() []string {
	paths := []string{}
	for _, f := range b.Files {
		paths = append(paths, f.Path)
	}
	return paths
}
