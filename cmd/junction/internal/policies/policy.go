package policies

import (
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const policyHelp = `Rules stand in a file of JSON, comments allowed:

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

Of the rules that match a call the strictest decides, in whatever order they stand: deny
before ask before allow. "when" is a condition in CEL.
The file is the one that the settings of the configuration name as "policy", which
junction up goes by; or else junction/policy.json in your configuration folder, which
junction chat goes by; or --policy FILE. Rules of a project, in ` + rules.ProjectFile + `,
can only deny and ask.`

const policyExitHelp = `Exit codes:
  0    done
  1    explain: the call is decided otherwise than --expect says
  2    the command line is wrong
  3    a file cannot be read or holds mistakes; no connection to the server
  4    the server answered with a protocol error
  5    the server did not answer in time
  130  interrupted (Ctrl-C)`

func PolicyCommand(a *cli.App) *cobra.Command {
	return cli.Group("policy", "Rules that allow and forbid tools: how to write them; explain, list, test",
		"Rules say which calls may run: one with the effect \"deny\" forbids tools.\n\n"+policyHelp+"\n\n"+policyExitHelp,
		policyListCommand(a), policyExplainCommand(a), policyTestCommand(a))
}

// PolicyFlag says which file holds the rules.
func PolicyFlag(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "policy", "", "take the rules of `FILE` in place of those that the settings name or your own policy.json")
}

// ReadRules reads the user's rules, or those at paths in their place, and reports what of the project's is left out.
func ReadRules(a *cli.App, paths ...string) (*rules.Book, error) {
	return rules.ReadBook(a.Place, func(ignored error) { a.Screen.Printf("junction: %v\n", ignored) }, paths...)
}
