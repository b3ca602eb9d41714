package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

func (a *app) disconnectCommand() *cobra.Command {
	var all bool
	var files []string
	cmd := &cobra.Command{
		Use:   "disconnect HOST | --all",
		Short: "Put the servers of a host back that junction connect took out",
		Long: `Put a host's file back as it was before junction connect, byte for byte. Where somebody changed
it meanwhile, only the entry of junction goes, and the servers come back that it stood for. What
connect wrote into junction's own file stays there, and so do the secrets that it keeps: which they
are is said, with what takes them out. Nothing is asked.

` + exitCodes("done", "", "", "a file cannot be put back, or nothing is connected"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !all && len(args) == 0 && len(files) == 0 {
				return usagef("HOST is missing: %s; --all puts all back", hostIDs())
			}
			for _, name := range args {
				if _, _, ok := hostconfig.LookupHost(name); !ok {
					return unknownHost(name)
				}
			}
			return a.disconnect(args, files, all)
		},
	}
	cmd.Flags().BoolP("yes", "y", false, "do nothing else: connect has it, and here nothing is asked")
	cmd.Flags().BoolVar(&all, "all", false, "put back those of all hosts")
	cmd.Flags().StringArrayVar(&files, "file", nil, "put `FILE` back only (repeatable)")
	return cmd
}

func (a *app) disconnect(hosts, files []string, all bool) error {
	journal, err := taps()
	if err != nil {
		return err
	}
	for k, name := range hosts {
		h, _, _ := hostconfig.LookupHost(name)
		hosts[k] = h.ID
	}
	for k, path := range files {
		files[k] = realPath(path)
	}
	records, err := journal.Records()
	faults := []error{err}
	records = slices.DeleteFunc(records, func(r *hostconfig.Record) bool {
		return !r.Connected || !all && !slices.Contains(hosts, r.Host) && !slices.Contains(files, r.Path) && !slices.Contains(files, r.Named)
	})
	var own []*staying
	for _, r := range records {
		own = append(own, staysOf(r))
	}
	faults = append(faults, a.putBack(journal, records...)...)
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if len(records) == 0 && !all {
		return fmt.Errorf("%s is not connected", strings.Join(append(hosts, files...), ", "))
	}
	if len(records) == 0 {
		a.screen.Printf("Nothing is connected.\n")
	}
	for _, s := range own {
		a.sayStays(s)
	}
	return nil
}

// staying is what connect made of a host's servers, which stays when they are put back.
type staying struct {
	file             string // Junction's own
	servers, secrets []string
}

// staysOf finds that out, while the host's entry still says which file it is.
func staysOf(r *hostconfig.Record) *staying {
	s := &staying{file: config.Own(config.Options{})}
	if _, ours, _, err := r.Look(); err == nil && ours != nil {
		if at := slices.Index(ours.Args, "--config") + 1; at > 0 && at < len(ours.Args) {
			s.file = ours.Args[at]
		}
	}
	file, err := config.Load(s.file, config.Options{})
	if err != nil {
		return s // which whoever uses it says
	}
	for _, change := range r.Changes {
		for _, took := range change.Took {
			for _, name := range []string{took.Name, took.Name + "-" + r.Host} { // which connect gives it where another one has that name
				d, found := file.Server(name)
				if !found || slices.Contains(s.servers, name) {
					continue
				}
				s.servers = append(s.servers, name)
				for _, variable := range d.Variables() {
					if secret, is := strings.CutPrefix(variable, "secret:"); is && !slices.Contains(s.secrets, secret) {
						s.secrets = append(s.secrets, secret)
					}
				}
			}
		}
	}
	return s
}

func (a *app) sayStays(s *staying) {
	if len(s.servers) == 0 {
		return
	}
	remove := "junction remove " + shellWords(s.servers)
	if s.file != config.Own(config.Options{}) {
		remove += " --config " + shellWord(s.file)
	}
	a.out.Printf("Still in %s, for junction: %s. To take them out: %s\n", shortened(s.file), plaintext.Line(strings.Join(s.servers, ", "), maxReason), remove)
	for _, name := range s.secrets {
		a.out.Printf("The secret %s is still kept: junction secret remove %s\n", name, shellWord(name))
	}
}

// taps is where changes of hosts' files are noted.
func taps() (hostconfig.Journal, error) {
	folder, err := stateFile("taps")
	return hostconfig.Journal{Folder: folder}, err
}

// putBack takes changes of hosts' files back, and says what became of each.
func (a *app) putBack(journal hostconfig.Journal, records ...*hostconfig.Record) (faults []error) {
	for _, r := range records {
		done, err := journal.Restore(r)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		a.sayRestored(done)
	}
	return faults
}

func (a *app) sayRestored(r *hostconfig.Restored) {
	out, others, left := a.screen, "its servers are put back", "These servers were changed, renamed or removed, too, and are left as they are now"
	if r.Connected {
		out, others, left = a.out, "the entry of junction is gone from it, its servers are back", "It has these again already, and they are left as they are now"
	}
	path := shortened(r.Path)
	switch {
	case r.Gone:
		out.Printf("%s is gone; what it held before is in %s\n", path, r.Original)
	case r.Removed:
		out.Printf("%s is removed: there was none before.\n", path)
	case r.Whole:
		out.Printf("%s is as it was.\n", path)
	default:
		out.Printf("%s was changed by somebody else meanwhile: %s, and all else is left as it is now.\n", path, others)
	}
	if len(r.Left) > 0 {
		out.Printf("%s: %s\nWhat the file held before is in %s\n", left, plaintext.Line(strings.Join(r.Left, ", "), maxReason), r.Original)
	}
	if r.Also != nil {
		out.Printf("Its link is a file now, or leads elsewhere, which is put back, too.\n")
		a.sayRestored(r.Also)
	}
}

// withoutConnected leaves out entries by which a host starts this configuration.
func (a *app) withoutConnected(entries []entry) []entry {
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.name == hostconfig.OwnName }) {
		return entries
	}
	journal, err := taps()
	if err != nil {
		return entries
	}
	records, _ := journal.Records() // an entry of which nothing is known is one like any other
	return slices.DeleteFunc(entries, func(e entry) bool {
		return e.name == hostconfig.OwnName && slices.ContainsFunc(records, func(r *hostconfig.Record) bool {
			return r.Connected && r.Path == realPath(e.definition.Source)
		})
	})
}
