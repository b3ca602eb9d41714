package server

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/sandbox"
	"github.com/spf13/cobra"
)

const sandboxHelp = `A confined program reads the system's programs and libraries and its own package. It writes into
a home folder and a temporary folder, which are deleted when it ends. It reaches no host, and
gets no variable that holds a secret. Its profile allows more. The log of junction names each
refusal, with the command that allows it.`

// SandboxCommand returns the command server sandbox.
func SandboxCommand(a *cli.App) *cobra.Command {
	return cli.Group("sandbox", "Show, learn and change the permissions of servers' programs on this machine",
		"Work with the profiles of confined servers.\n\n"+sandboxHelp,
		sandboxShowCommand(a), sandboxLearnCommand(a), sandboxChangeCommand(a, true), sandboxChangeCommand(a, false))
}

func sandboxShowCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show [SERVER]",
		Short:             "Show the permissions of servers' programs",
		Long:              "Show the permissions of a server's program, and the file that has them; without SERVER, a line\nfor each server that is started by a command.\n\n" + sandboxHelp,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return showProfiles(a)
			}
			k, err := ReadProfile(a, args)
			if err != nil {
				return err
			}
			if k.Profile == nil {
				a.Out.Printf("%s is not confined: its program has all of your permissions. junction server sandbox learn %s proposes a profile.\n", k.Entry.Name, plaintext.ShellWord(k.Entry.Name))
				return nil
			}
			ShowProfile(a, k, sandbox.Available())
			return nil
		},
	}
	reach.ConfigFlags(a, cmd.Flags())
	return cmd
}

// ShowProfile prints the profile of a program, and the parts of it that this system, with the given
// state, cannot enforce.
func ShowProfile(a *cli.App, k *StoredProfile, state sandbox.State) {
	weaker := (k.Weaker || k.Locked != nil) && k.Profile.By == "" // a lock is shared with systems that cannot confine; see [launch.Launcher.ConfineBy]
	if weaker && len(state.Confined) == 0 {
		a.Out.Printf("%s is not confined on this system, although %s says:\n", k.Entry.Name, k.where(a.Place))
	} else {
		a.Out.Printf("%s is confined, by %s:\n", k.Entry.Name, k.where(a.Place))
	}
	lines := launch.ProfileLines(*k.Profile)
	if k.Entry.Definition.Cwd != "" {
		lines = append([]string{"read   " + plaintext.Line(k.Entry.Definition.Cwd, 500) + " (cwd of its entry)"}, lines...)
	}
	if len(lines) == 0 {
		lines = []string{"nothing beyond the system's programs and its own package, and no host"}
	}
	for _, line := range lines {
		a.Out.Printf("  %s\n", line)
	}
	if missing := state.Missing(*k.Profile); weaker && len(missing) > 0 {
		a.Out.Printf("It starts even if this system cannot confine all of that. Missing here:\n")
		for _, line := range missing {
			a.Out.Printf("  %s\n", plaintext.Line(line, cli.MaxReason))
		}
	}
}

// showProfiles prints a line about the confinement of each server that is a program.
func showProfiles(a *cli.App) error {
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Definition == nil || !launch.IsProgram(e.Definition.Kind) {
			continue
		}
		k, err := profileKept(a, set, e)
		if err != nil {
			a.Out.Printf("%s: %v\n", e.Name, err)
			continue
		}
		a.Out.Printf("%s %s\n", e.Name, a.Launch.Confinement(k.Profile, nil))
	}
	return nil
}

// ReadProfile returns the profile of the only server that the command line names.
func ReadProfile(a *cli.App, args []string) (*StoredProfile, error) {
	if len(args) != 1 {
		return nil, cli.Usagef("expected the name of one SERVER, got %d words", len(args))
	}
	set, e, err := reach.FindConfigured(a, args[0])
	if err != nil {
		return nil, err
	}
	return profileKept(a, set, e)
}

// changedLines returns the lines of two profiles. A line that only one of them has begins with - or
// +.
func changedLines(was, now sandbox.Profile) (lines []string) {
	before, after := launch.ProfileLines(was), launch.ProfileLines(now)
	for _, line := range before {
		if !slices.Contains(after, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range after {
		mark := "+ "
		if slices.Contains(before, line) {
			mark = "  "
		}
		lines = append(lines, mark+line)
	}
	return lines
}

// A profileChange holds the flags of sandbox allow and sandbox deny.
type profileChange struct {
	read, write, hosts, env []string
	memory                  string
	processes               int
}

// sandboxChangeCommand returns the command sandbox allow, or sandbox deny if allows is false.
func sandboxChangeCommand(a *cli.App, allows bool) *cobra.Command {
	var c profileChange
	cmd := &cobra.Command{
		Use:   "allow SERVER",
		Short: "Allow a confined server folders, hosts and variables",
		Long: `Add folders, files, hosts and names of variables to the profile of a confined server. The change
applies from the server's next start.

` + sandboxHelp,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeProfile(cmd.Context(), a, args, c, allows)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&c.read, "read", nil, "let it read the folder or file at `PATH` (repeatable)")
	f.StringArrayVar(&c.write, "write", nil, "let it read and write the folder or file at `PATH` (repeatable)")
	f.StringArrayVar(&c.hosts, "host", nil, "let it reach `HOST` at ports 443 and 80: api.example.com, *.example.com or an address; HOST:PORT for another port (repeatable)")
	f.StringArrayVar(&c.env, "env", nil, "pass the variable `NAME` of junction's environment to it (repeatable)")
	if allows {
		f.StringVar(&c.memory, "memory", "", "limit its memory to `SIZE`, such as 2GB")
		f.IntVar(&c.processes, "processes", 0, "limit its processes and threads to `N`")
	} else {
		cmd.Use, cmd.Short = "deny SERVER", "Remove folders, hosts and variables from a confined server's profile"
		cmd.Long = "Remove folders, files, hosts and names of variables from the profile of a confined server, as\njunction server sandbox show lists them. The change applies from the server's next start.\n\n" + sandboxHelp
	}
	reach.ConfigFlags(a, f)
	return cmd
}

// changeProfile changes the profile of a server and prints the differences.
func changeProfile(ctx context.Context, a *cli.App, args []string, c profileChange, allows bool) error {
	unlock, err := lockChanges(ctx, a)
	if err != nil {
		return err
	}
	defer unlock()
	k, err := ReadProfile(a, args)
	if err != nil {
		return err
	}
	if k.Profile == nil {
		return fmt.Errorf("server %q is not confined, and has all of your permissions; junction server sandbox learn %s confines it", k.Entry.Name, plaintext.ShellWord(k.Entry.Name))
	}
	now, err := c.of(a.Place, k, allows)
	if err != nil {
		return err
	}
	if err := k.write(ctx, a, now); err != nil {
		return err
	}
	a.Out.Printf("%s:\n", k.where(a.Place))
	for _, line := range changedLines(*k.Profile, now) {
		a.Out.Printf("%s\n", line)
	}
	if allows {
		for _, line := range c.remarks(a.Place) {
			a.Out.Printf("%s\n", plaintext.Line(line, cli.MaxReason))
		}
	}
	return nil
}

// remarks returns lines about allowed paths that do not exist, and about files that the program
// cannot replace.
func (c profileChange) remarks(p place.Place) (lines []string) {
	for _, path := range c.read {
		if _, err := os.Stat(p.Expand(path)); os.IsNotExist(err) {
			lines = append(lines, fmt.Sprintf("%s does not exist now: the program sees it once it exists and the program starts again.", p.Tilde(path)))
		}
	}
	return append(lines, aloneRemarks(p, c.write)...)
}

// aloneRemarks returns lines about writable files that a program cannot replace, because that needs
// write access to their folder.
func aloneRemarks(p place.Place, paths []string) (lines []string) {
	for _, path := range paths {
		path = p.Absolute(p.Expand(path))
		folder, shared := sandbox.DataFolder(path)
		if folder == path {
			continue
		}
		how := "with --write " + plaintext.ShellWord(folder)
		if shared {
			how = "which other programs use, too: move the file to a folder of its own"
		}
		lines = append(lines, fmt.Sprintf("%s can be written, but not replaced. A program that replaces it by a new file needs access to the folder, %s.", p.Tilde(path), how))
	}
	return lines
}

// of returns the profile of k with the change applied.
func (c profileChange) of(p place.Place, k *StoredProfile, allows bool) (sandbox.Profile, error) {
	now := *k.Profile
	for _, list := range []struct {
		flag   string
		in     *[]string
		values []string
		isPath bool
	}{{"--read", &now.Read, c.read, true}, {"--write", &now.Write, c.write, true}, {"--host", &now.Hosts, c.hosts, false}, {"--env", &now.Env, c.env, false}} {
		*list.in = slices.Clone(*list.in)
		for _, value := range list.values {
			if list.isPath {
				value = p.Tilde(value)
			}
			switch at := slices.Index(*list.in, value); {
			case value == "":
				return now, cli.Usagef("%s: expected a value", list.flag)
			case allows && at < 0:
				*list.in = append(*list.in, value)
			case !allows && at < 0:
				return now, cli.Usagef("%s: the profile of %s has no %q; junction server sandbox show %s lists what it has", list.flag, k.Entry.Name, value, plaintext.ShellWord(k.Entry.Name))
			case !allows:
				*list.in = slices.Delete(*list.in, at, at+1)
			}
		}
	}
	if c.memory != "" {
		size, ok := settings.Size(c.memory)
		if !ok {
			return now, cli.Usagef("--memory: expected a size such as 2GB, got %q", c.memory)
		}
		now.Memory = size
	}
	if c.processes < 0 {
		return now, cli.Usagef("--processes: expected a positive number")
	} else if c.processes > 0 {
		now.Processes = c.processes
	}
	if len(c.read)+len(c.write)+len(c.hosts)+len(c.env)+c.processes == 0 && c.memory == "" {
		return now, cli.Usagef("expected a permission to change: --read, --write, --host or --env")
	}
	return now, nil
}
