package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A branch is a command of the tree.
type branch struct {
	path  string // the words that reach it, and the flag, if it is another command's: "server upgrade --check"
	short string // Short of a command that only holds others
	group string // the heading of junction --help that lists it; empty for the parts of others and what no help lists
	old   string // its earlier name at the top, which still works
	make  func(*app) *cobra.Command
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

// tree returns all commands in the order of help: headings, and below them what users need most first.
func tree() []branch {
	all := []branch{{path: "list", group: groupUse, make: (*app).listCommand}}
	for _, l := range allLists() {
		all = append(all, branch{path: "list " + l.command, old: l.command, make: l.newCommand})
	}
	return append(all, []branch{
		{path: "call", group: groupUse, make: (*app).callCommand},
		{path: "get", group: groupUse, short: "Read a resource, or fill in a prompt"},
		{path: "get resource", old: "read", make: (*app).readCommand},
		{path: "get prompt", old: "prompt", make: (*app).promptCommand},
		{path: "get completion", old: "complete", make: (*app).completeCommand},
		{path: "chat", group: groupUse, make: (*app).chatCommand},
		{path: "chat history", old: "conversations", make: (*app).conversationsCommand},

		{path: "server", group: groupServers, short: "Add, remove, upgrade, search, approve and confine servers"},
		{path: "server add", old: "add", make: (*app).addCommand},
		{path: "server remove", old: "remove", make: (*app).removeCommand},
		{path: "server list", make: (*app).listCommand},
		{path: "server search", old: "search", make: (*app).searchCommand},
		{path: "server info", old: "info", make: (*app).infoCommand},
		{path: "server upgrade", old: "upgrade", make: (*app).upgradeCommand},
		{path: "server upgrade --check", old: "outdated", make: (*app).outdatedCommand},
		{path: "server upgrade --vulnerable", old: "audit-deps", make: (*app).auditDepsCommand},
		{path: "server approve", old: "approve", make: (*app).approveCommand},
		{path: "server sandbox", old: "sandbox", make: (*app).sandboxCommand},
		{path: "server ping", old: "ping", make: (*app).pingCommand},
		{path: "server install", old: "install", make: (*app).installCommand},
		{path: "server publish", old: "publish", make: (*app).publishCommand},

		{path: "host", group: groupHosts, short: "Put your servers into Cursor, Claude or another host, and undo that"},
		{path: "host connect", old: "connect", make: (*app).connectCommand},
		{path: "host disconnect", old: "disconnect", make: (*app).disconnectCommand},
		{path: "host import", old: "import", make: (*app).importCommand},
		{path: "host tap", old: "tap", make: (*app).tapCommand},

		{path: "up", group: groupGateway, make: (*app).upCommand},
		{path: "up service", old: "service", make: (*app).serviceCommand},
		{path: "status", group: groupGateway, make: (*app).statusCommand},
		{path: "policy", group: groupGateway, make: (*app).policyCommand},
		{path: "audit", group: groupGateway, make: (*app).auditCommand},
		{path: "key", group: groupGateway, make: (*app).keyCommand},
		{path: "user", group: groupGateway, make: (*app).userCommand},

		{path: "login", group: groupAccount, make: (*app).loginCommand},
		{path: "logout", make: (*app).logoutCommand},
		{path: "whoami", make: (*app).whoamiCommand},
		{path: "secret", group: groupAccount, make: (*app).secretCommand},

		{path: "traffic", group: groupWatch, make: (*app).trafficCommand},
		{path: "console", group: groupWatch, make: (*app).consoleCommand},
		{path: "inspect", group: groupWatch, make: (*app).inspectCommand},
		{path: "doctor", group: groupWatch, make: (*app).doctorCommand},

		{path: "test", group: groupDevelop, make: (*app).testCommand},
		{path: "lint", group: groupDevelop, make: (*app).lintCommand},
		{path: "serve", group: groupDevelop, make: (*app).serveCommand},
		{path: "proxy", group: groupDevelop, make: (*app).proxyCommand},
		{path: "replay", make: (*app).replayCommand},
		{path: "version", make: func(*app) *cobra.Command { return versionCommand() }},
		{path: launch.RenewCommand, make: (*app).renewLoginCommand},
	}...)
}

// grow adds the commands of the tree to root, and those with an old name once more under it, which no help lists: all of them, or
// only those below the first word where that is one of the tree, as making a command takes longer than finding it.
func (a *app) grow(root *cobra.Command, words []string) {
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
			continue // the command above has it, or another one was typed
		}
		c := group(word, b.short, b.short+".")
		if b.make != nil {
			c = b.make(a)
		}
		c.Use = word + strings.TrimPrefix(c.Use, c.Name())
		setPlace(c, place)
		c.GroupID, c.Hidden = b.group, above == "" && b.group == ""
		if b.group != "" && !root.ContainsGroup(b.group) {
			root.AddGroup(&cobra.Group{ID: b.group, Title: b.group})
		}
		grown[above].AddCommand(c)
		grown[b.path] = c
	}
}

// spellings returns the paths that reach a command of the tree: its own and the old one.
func spellings(path string) []string {
	for _, b := range tree() {
		if rest, found := strings.CutPrefix(path+" ", b.path+" "); found && b.old != "" {
			return []string{path, strings.TrimSpace(b.old + " " + rest)}
		}
	}
	return []string{path}
}

// setPlace sets the place of a command among those that help lists with it, as cobra sorts them by their names.
func setPlace(c *cobra.Command, place int) {
	c.Annotations = map[string]string{"place": fmt.Sprintf("%03d", place)}
}

// listedBelow returns the commands below one that help lists, each in its place.
func listedBelow(cmd *cobra.Command) []*cobra.Command {
	listed := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() })
	slices.SortStableFunc(listed, func(x, y *cobra.Command) int { return strings.Compare(x.Annotations["place"], y.Annotations["place"]) })
	return listed
}

// uncover takes a part of a command that takes servers, such as tools of list, out of the tree where a server has its name: such a
// command line was about the server before there was the part.
func (a *app) uncover(root *cobra.Command, args []string) {
	part, _, err := root.Find(args)
	for err == nil && part.HasParent() && part.Parent().ValidArgsFunction == nil {
		part = part.Parent()
	}
	if err != nil || !part.HasParent() {
		return
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags, flags.Usage = true, func() {}
	a.configFlags(flags)
	_ = flags.Parse(args) // the command reports what is wrong
	_, entries, _ := a.readServers()
	if slices.Contains(serverNames(entries), part.Name()) {
		part.Parent().RemoveCommand(part)
	}
}
