package policies

import (
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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

"tool" is the server's own name for the tool, without the server's name in front. The
strictest rule that matches a call decides, in any order: deny, then ask, then allow.
"default" decides calls that no rule matches; without it they are asked about.
"when" is a condition in CEL.

  junction up    reads --policy FILE, or the file that "policy" in its settings names;
                 without either it has no rules, nor has a connected host
  junction chat  reads --policy FILE, or junction/policy.json in your configuration folder

The other commands of junction policy read --policy FILE, or the file of junction up. If
the settings name no file, they read that of junction chat. Rules of a project, in
` + rules.ProjectFile + `, can only deny and ask.`

const policyExitHelp = `Exit codes:
  0    done
  1    explain: the call is decided otherwise than --expect says
  2    the command line is wrong
  3    a file cannot be read or has mistakes; no connection to the server
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
	f.StringVar(path, "policy", "", "read the rules from `FILE`, not from the settings or your policy.json")
}

// ReadRules reads the policy rules of the user and of the project. If paths are given, it reads
// these files instead of the user's. It prints each rule of the project that it ignores.
func ReadRules(a *cli.App, paths ...string) (*rules.Book, error) {
	return rules.ReadBook(a.Place, func(ignored error) { a.Screen.Printf("junction: %v\n", ignored) }, paths...)
}
