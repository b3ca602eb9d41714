package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// DisconnectCommand returns the command host disconnect.
func DisconnectCommand(a *cli.App) *cobra.Command {
	var all bool
	var files []string
	cmd := &cobra.Command{
		Use:   "disconnect HOST | --all",
		Short: "Undo connect: put a host's file back as it was",
		Long: `Restore a host's file from before junction host connect, byte for byte. If the file was
changed meanwhile, only the entry of junction is replaced by the servers that were there.
The servers that connect wrote into junction's own file stay there, and so do the secrets.
disconnect lists them, with the commands that remove them, and the other files of junction,
which stay, too. It asks no questions.

` + cli.ExitCodes("done", "", "", "a file cannot be restored, or nothing is connected"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !all && len(args) == 0 && len(files) == 0 {
				return missingHost(a.Place, len(args), "; --all restores all")
			}
			for k, name := range args {
				h, err := hostNamed(name)
				if err != nil {
					return err
				}
				args[k] = h.ID
			}
			return disconnect(a, args, files, all)
		},
	}
	cmd.Flags().BoolP("yes", "y", false, "accepted and ignored: disconnect asks nothing")
	cmd.Flags().BoolVar(&all, "all", false, "restore those of all hosts")
	cmd.Flags().StringArrayVar(&files, "file", nil, "restore only `FILE` (repeatable)")
	return cmd
}

// disconnect restores the files of the hosts, and prints the servers that remain in junction's own
// file.
func disconnect(a *cli.App, hosts, files []string, all bool) error {
	journal, err := launch.OpenJournal(a.Place)
	if err != nil {
		return err
	}
	for k, path := range files {
		files[k] = a.Real(path)
	}
	connected, err := journal.Records()
	faults := []error{err}
	var records []*hostconfig.Record
	var own, others []*reach.ImportedServers
	for _, r := range connected {
		switch {
		case !r.Connected:
		case all || slices.Contains(hosts, r.Host) || slices.Contains(files, r.Path) || slices.Contains(files, r.Named):
			records, own = append(records, r), append(own, reach.FindImported(a.Place, r))
		default:
			others = append(others, reach.FindImported(a.Place, r))
		}
	}
	faults = append(faults, putBack(a, journal, records...)...)
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if len(records) == 0 && !all {
		return fmt.Errorf("%s is not connected", strings.Join(append(hosts, files...), ", "))
	}
	if len(records) == 0 {
		a.Screen.Printf("Nothing is connected.\n")
	}
	for _, s := range own {
		printRemaining(a, s, others)
	}
	if len(records) > 0 && len(others) == 0 {
		reach.ShowKept(a)
	}
	return nil
}

// printRemaining prints the imported servers of a host that remain in junction's file. It also
// prints the commands that remove those that no other connected host uses.
func printRemaining(a *cli.App, s *reach.ImportedServers, others []*reach.ImportedServers) {
	if len(s.Servers) == 0 {
		return
	}
	var free, used, users, secrets []string
	for _, name := range s.Servers {
		by := slices.DeleteFunc(slices.Clone(others), func(o *reach.ImportedServers) bool {
			return a.Real(o.File) != a.Real(s.File) || !slices.Contains(o.Servers, name)
		})
		if len(by) == 0 {
			free, secrets = append(free, name), append(secrets, s.Secrets[name]...)
			continue
		}
		used = append(used, name)
		for _, o := range by {
			users = append(users, o.Title(a.Place))
		}
	}
	said := fmt.Sprintf("Still in %s, for junction: %s.", a.Short(s.File), plaintext.Line(strings.Join(s.Servers, ", "), cli.MaxReason))
	which := "them"
	if len(used) > 0 {
		slices.Sort(users)
		said += fmt.Sprintf(" Still connected, and using %s: %s.", plaintext.Line(strings.Join(used, ", "), cli.MaxReason), strings.Join(slices.Compact(users), ", "))
		which = "the others"
	}
	if len(free) > 0 {
		said += fmt.Sprintf(" To remove %s: junction server remove %s", which, plaintext.ShellWords(free))
		if s.File != config.Own(launch.ConfigOptions(a.Place)) {
			said += " --config " + plaintext.ShellWord(s.File)
		}
	}
	a.Out.Printf("%s\n", said)
	slices.Sort(secrets)
	for _, name := range slices.Compact(secrets) {
		a.Out.Printf("The secret %s is still kept: junction secret remove %s\n", name, plaintext.ShellWord(name))
	}
}

// putBack restores the files of hosts, and prints the outcome for each file.
func putBack(a *cli.App, journal hostconfig.Journal, records ...*hostconfig.Record) (faults []error) {
	for _, r := range records {
		done, err := journal.Restore(r)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		printRestored(a, done)
	}
	return faults
}

// printRestored prints how a file was restored.
func printRestored(a *cli.App, r *hostconfig.Restored) {
	out, others, left := a.Screen, "its servers are restored", "These servers were changed, renamed or removed, too, and stay as they are now"
	if r.Connected {
		out, others, left = a.Out, "junction is removed, its servers are restored", "It already has these again, and they stay as they are now"
	}
	path := a.Short(r.Path)
	switch {
	case r.Gone:
		out.Printf("%s no longer exists; its earlier content is in %s\n", path, r.Original)
	case r.Removed:
		out.Printf("%s is removed: there was none before.\n", path)
	case r.Whole:
		out.Printf("%s is as it was.\n", path)
	default:
		out.Printf("%s was edited meanwhile: %s, and the other edits are kept.\n", path, others)
	}
	if len(r.Left) > 0 {
		out.Printf("%s: %s\nThe file's earlier content is in %s\n", left, plaintext.Line(strings.Join(r.Left, ", "), cli.MaxReason), r.Original)
	}
	if r.Also != nil {
		out.Printf("Its link was replaced or changed, and is restored, too.\n")
		printRestored(a, r.Also)
	}
}
