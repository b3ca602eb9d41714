package main

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/develop"
	"github.com/junction-mcp/junction/cmd/junction/internal/doctor"
	"github.com/junction-mcp/junction/cmd/junction/internal/host"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/server"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A branch is a command in the tree of commands.
type branch struct {
	path  string // words that reach it; with a flag if it is a flag of another command: "server upgrade --check"
	short string // description of a command that only has subcommands
	group string // heading of junction --help that lists it; empty for subcommands and for hidden commands
	old   string // earlier name at the top level, which still works
	make  func(*cli.App) *cobra.Command
}

// The headings of junction --help.
const (
	groupUse     = "Use servers:"
	groupServers = "Servers on this machine:"
	groupHosts   = "Claude, Cursor, VS Code and other hosts:"
	groupGateway = "All servers at one address, for others too:"
	groupAccount = "Logins and passwords:"
	groupWatch   = "Watch, and find faults:"
	groupDevelop = "Develop servers:"
)

// tree returns all commands in the order of help: by heading, and below a heading the most
// frequently needed ones first.
func tree() []branch {
	all := []branch{{path: "list", group: groupUse, make: use.ListCommand}}
	for _, l := range use.AllLists() {
		all = append(all, branch{path: "list " + l.Command, old: l.Command, make: func(a *cli.App) *cobra.Command { return use.NewListCommand(a, l) }})
	}
	return append(all, []branch{
		{path: "call", group: groupUse, make: use.CallCommand},
		{path: "get", group: groupUse, short: "Read a resource, or fill in a prompt"},
		{path: "get resource", old: "read", make: use.ReadCommand},
		{path: "get prompt", old: "prompt", make: use.PromptCommand},
		{path: "get completion", old: "complete", make: use.CompleteCommand},
		{path: "chat", group: groupUse, make: chat.Command},
		{path: "chat history", old: "conversations", make: chat.ConversationsCommand},

		{path: "server", group: groupServers, short: "Add, remove, upgrade, search, approve and confine servers"},
		{path: "server add", old: "add", make: server.AddCommand},
		{path: "server remove", old: "remove", make: server.RemoveCommand},
		{path: "server list", make: use.ListCommand},
		{path: "server search", old: "search", make: server.SearchCommand},
		{path: "server info", old: "info", make: server.InfoCommand},
		{path: "server upgrade", old: "upgrade", make: server.UpgradeCommand},
		{path: "server upgrade --check", old: "outdated", make: server.OutdatedCommand},
		{path: "server upgrade --vulnerable", old: "audit-deps", make: server.AuditDepsCommand},
		{path: "server approve", old: "approve", make: policies.ApproveCommand},
		{path: "server restart", old: "restart", make: up.RestartCommand},
		{path: "server sandbox", old: "sandbox", make: server.SandboxCommand},
		{path: "server ping", old: "ping", make: use.PingCommand},
		{path: "server install", old: "install", make: server.InstallCommand},
		{path: "server publish", old: "publish", make: server.PublishCommand},

		{path: "host", group: groupHosts, short: "Give Cursor, Claude or another host your servers, and undo that"},
		{path: "host connect", old: "connect", make: host.ConnectCommand},
		{path: "host disconnect", old: "disconnect", make: host.DisconnectCommand},
		{path: "host import", old: "import", make: host.ImportCommand},
		{path: "host tap", old: "tap", make: host.TapCommand},

		{path: "up", group: groupGateway, make: up.Command},
		{path: "up service", old: "service", make: up.ServiceCommand},
		{path: "status", group: groupGateway, make: (*cli.App).StatusCommand},
		{path: "policy", group: groupGateway, make: policies.PolicyCommand},
		{path: "policy approvals", old: "approvals", make: policies.ApprovalsCommand},
		{path: "audit", group: groupGateway, make: policies.AuditCommand},
		{path: "key", group: groupGateway, make: policies.KeyCommand},
		{path: "user", group: groupGateway, make: policies.UserCommand},

		{path: "login", group: groupAccount, make: account.LoginCommand},
		{path: "logout", make: account.LogoutCommand},
		{path: "whoami", make: account.WhoamiCommand},
		{path: "secret", group: groupAccount, make: account.SecretCommand},

		{path: "traffic", group: groupWatch, make: watch.TrafficCommand},
		{path: "console", group: groupWatch, make: watch.ConsoleCommand},
		{path: "inspect", group: groupWatch, make: watch.InspectCommand},
		{path: "doctor", group: groupWatch, make: doctor.Command},

		{path: "test", group: groupDevelop, make: develop.TestCommand},
		{path: "lint", group: groupDevelop, make: develop.LintCommand},
		{path: "serve", group: groupDevelop, make: develop.ServeCommand},
		{path: "proxy", group: groupDevelop, make: develop.ProxyCommand},
		{path: "replay", make: develop.ReplayCommand},
		{path: "version", make: func(*cli.App) *cobra.Command { return versionCommand() }},
		{path: launch.RenewCommand, make: account.RenewLoginCommand},
		{path: up.CopyProgram, make: up.CopyProgramCommand},
	}...)
}

// grow adds the commands of the tree to root, and hidden copies under their old names. If the first
// of words names a command, it adds only that command and its subcommands, because making all
// commands takes longer.
func grow(a *cli.App, root *cobra.Command, words []string) {
	all, first := tree(), ""
	if len(words) > 0 && slices.ContainsFunc(all, func(b branch) bool { return b.path == words[0] || b.old == words[0] }) {
		first = words[0]
	}
	grown := map[string]*cobra.Command{"": root}
	for place, b := range all {
		if b.old != "" && (first == "" || first == b.old) {
			c := b.make(a)
			c.Hidden = true
			root.AddCommand(c)
		}
		above, word := "", b.path
		if at := strings.LastIndex(b.path, " "); at >= 0 {
			above, word = b.path[:at], b.path[at+1:]
		}
		if top, _, _ := strings.Cut(b.path, " "); strings.HasPrefix(word, "--") || first != "" && first != top {
			continue // a flag of the command above, or not the typed command
		}
		c := cli.Group(word, b.short, b.short+".")
		if b.make != nil {
			c = b.make(a)
		}
		c.Use = word + strings.TrimPrefix(c.Use, c.Name())
		cli.SetOrder(c, place)
		c.GroupID, c.Hidden = b.group, above == "" && b.group == ""
		if b.group != "" && !root.ContainsGroup(b.group) {
			root.AddGroup(&cobra.Group{ID: b.group, Title: b.group})
		}
		grown[above].AddCommand(c)
		grown[b.path] = c
	}
}

// spellings returns the paths that reach a command: its own path and the old one.
func spellings(path string) []string {
	for _, b := range tree() {
		if rest, found := strings.CutPrefix(path+" ", b.path+" "); found && b.old != "" {
			return []string{path, strings.TrimSpace(b.old + " " + rest)}
		}
	}
	return []string{path}
}

// uncover removes a subcommand, such as tools of list, if a server has its name. Before the
// subcommand existed, such a command line was about the server.
func uncover(a *cli.App, root *cobra.Command, args []string) {
	part, _, err := root.Find(args)
	for err == nil && part.HasParent() && part.Parent().ValidArgsFunction == nil {
		part = part.Parent()
	}
	if err != nil || !part.HasParent() {
		return
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags, flags.Usage = true, func() {}
	reach.ConfigFlags(a, flags)
	_ = flags.Parse(args) // the command itself reports errors
	c, _ := a.Launch.Read()
	if slices.Contains(reach.ServerNames(c.Entries), part.Name()) {
		part.Parent().RemoveCommand(part)
	}
}
