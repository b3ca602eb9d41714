package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// A tap is one run of host tap.
type tap struct {
	*cli.App
	journal          hostconfig.Journal
	record           string // absolute path of the folder for recordings
	files            []string
	keep, undo, list bool
	filter           watch.TrafficFilter

	host    hostconfig.Host
	applied []*appliedTap
}

// An appliedTap is a configuration file that this process changed.
type appliedTap struct {
	path    string // with symbolic links resolved
	before  []byte
	release func()
}

// TapCommand returns the command host tap.
func TapCommand(a *cli.App) *cobra.Command {
	p := &tap{App: a}
	var record string
	cmd := &cobra.Command{
		Use:   "tap HOST [SERVER…] [-- COMMAND [ARGS]]",
		Short: "Watch the messages between Claude, Cursor, Codex and other hosts and their servers",
		Long: `Put junction proxy between a host and its servers, all or those that you name, and show
the messages until Ctrl-C. For this the host's configuration is changed; afterwards it is
restored, byte for byte. A command after "--" is run meanwhile, on this terminal;
junction traffic in another terminal shows the messages.

HOST is claude-desktop, claude-code, cursor, vscode, codex or another that junction host
tap --list names. It can be left out if the command after "--" identifies the host.

If a junction host tap is killed, the next one restores the configuration.

Exit codes:
  0    done, or ended by Ctrl-C while it showed the messages
  2    the command line is wrong
  3    a file cannot be read or changed, or has no server to tap
With a command after \"--\", its exit code.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if record != "" {
				folder, err := a.Abs(record)
				if err != nil {
					return err
				}
				p.record = folder + string(filepath.Separator)
			}
			var err error
			if p.journal, err = launch.OpenJournal(a.Place); err != nil {
				return err
			}
			return p.run(cmd, args)
		},
	}
	cmd.Flags().StringVar(&record, "record", "", "record the messages of each server in new files in the folder `DIR`, without secrets")
	cmd.Flags().StringArrayVar(&p.files, "config", nil, "tap only the servers in `FILE`, instead of those in the host's files (repeatable)")
	cmd.Flags().BoolVar(&p.keep, "keep", false, "keep the changed configuration, and end; --undo restores it")
	cmd.Flags().BoolVar(&p.undo, "undo", false, "restore what --keep changed, for HOST or for all hosts")
	cmd.Flags().BoolVar(&p.list, "list", false, "list the hosts on this machine, their files, and the tapped ones")
	cmd.Flags().BoolVar(&p.filter.Full, "full", false, "print the whole message below each line")
	a.JSONFlag(cmd, &watch.ShownEvent{})
	return cmd
}

// missingHost returns the usage error for a command line that names no host, or several. The error
// lists the hosts found on this machine.
func missingHost(p place.Place, named int, more string) error {
	if named > 1 {
		return cli.Usagef("expected one HOST, got %d words", named)
	}
	found := "there are none here"
	var ids []string
	for _, h := range hostconfig.Hosts() {
		if len(hostconfig.Find(h, reach.HostOptions(p))) > 0 {
			ids = append(ids, h.ID)
		}
	}
	if len(ids) > 0 {
		found = "found here: " + strings.Join(ids, ", ")
	}
	return cli.Usagef("HOST is missing: give one of %s; %s%s", hostIDs(), found, more)
}

// hostIDs returns the IDs of all known hosts, separated by commas.
func hostIDs() string {
	var ids []string
	for _, h := range hostconfig.Hosts() {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, ", ")
}

// run runs host tap with its arguments.
func (p *tap) run(cmd *cobra.Command, args []string) error {
	var command []string
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if args, command = args[:dash], args[dash:]; len(command) == 0 {
			return cli.Usagef(`expected the command of a host after "--"`)
		}
	}
	if p.list {
		if err := cli.NoArguments(cmd, args); err != nil {
			return err
		}
		return p.showHosts()
	}
	err := p.recover()
	if p.undo {
		return p.undoKept(args, err)
	}
	if err != nil { // an error about one file must not prevent another tap
		p.Screen.Printf("junction: %v\n", err)
	}
	var servers []string
	if len(args) > 0 {
		host, byProgram, isHost := hostconfig.LookupHost(args[0])
		switch {
		case isHost && !byProgram:
			p.host, servers = host, args[1:]
		case len(command) > 0 || len(p.files) > 0:
			servers = args
		case isHost:
			command = args // a command without "--", such as junction host tap claude
		default:
			return unknownHost(args[0])
		}
	}
	if p.host.ID == "" && len(command) > 0 {
		p.host, _, _ = hostconfig.LookupHost(command[0])
	}
	switch {
	case p.host.ID == "" && len(command) > 0 && len(p.files) == 0:
		return cli.Usagef("%q does not identify a host: name the host first, as in: junction host tap claude-code -- %s", command[0], command[0])
	case p.host.ID == "" && len(p.files) == 0:
		return missingHost(p.Place, 0, "; --list shows their files")
	case p.host.Nowhere != "" && len(p.files) == 0:
		return errors.New(p.host.Nowhere)
	}
	if p.keep && len(command) > 0 {
		return cli.Usagef("--keep does not go with a command, after which the configuration is restored; give only one")
	}
	return p.tapFor(cmd.Context(), servers, command)
}

// hostNamed returns the host with the given name.
func hostNamed(name string) (hostconfig.Host, error) {
	h, _, is := hostconfig.LookupHost(name)
	if !is {
		return h, unknownHost(name)
	}
	return h, nil
}

// unknownHost returns the usage error for an unknown host. It suggests a similar name if there is
// one.
func unknownHost(name string) error {
	if near := nearest.Name(name, strings.Split(hostIDs(), ", ")); near != "" {
		return cli.Usagef("no host is called %q; did you mean %q?", name, near)
	}
	return cli.Usagef("no host is called %q; there are: %s", name, hostIDs())
}

// tapFor taps the servers while it shows their traffic, or while the given command runs. With
// --keep, it taps them and returns.
func (p *tap) tapFor(ctx context.Context, servers, command []string) (err error) {
	names, err := p.apply(servers)
	if err == nil && len(command) == 0 && p.host.Reload != "" {
		p.Screen.Printf("To apply this in %s, %s.\n", p.host.Name, p.host.Reload)
	}
	if p.keep && err == nil {
		p.Screen.Printf("The change stays; junction traffic shows the messages. To undo it: junction host tap --undo %s\n", p.host.ID)
		return nil
	}
	defer func() {
		fault := p.restore()
		if fault != nil && ctx.Err() != nil { // after Ctrl-C, the command reports only the interrupt
			p.Screen.Printf("junction: %v\n", fault)
		}
		err = errors.Join(err, fault)
	}()
	if err != nil {
		return err
	}
	if len(command) > 0 {
		return p.runHost(ctx, command)
	}
	p.filter.Servers = names
	return cli.IgnoreInterrupt(ctx, watch.PrintTraffic(ctx, p.App, nil, len(names), p.filter))
}

// apply puts junction proxy in front of the servers in the host's files. It prints the changed
// files, and returns the names of the tapped servers.
func (p *tap) apply(servers []string) (names []string, err error) {
	paths := distinctFiles(p.Paths(p.files))
	if len(paths) == 0 {
		paths = hostconfig.Find(p.host, reach.HostOptions(p.Place))
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s has no configuration file here; name one with --config", p.host.Name)
	}
	unknown := slices.Clone(servers)
	var there []string
	for _, path := range paths {
		d, err := hostconfig.Read(p.host, path)
		if err != nil {
			return nil, err
		}
		programs := map[*hostconfig.Entry]hostconfig.Program{}
		for _, e := range d.Entries {
			there = append(there, e.Name)
			if len(servers) > 0 && !slices.Contains(servers, e.Name) {
				continue
			}
			unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == e.Name })
			if program, is := p.program(path, e); is {
				programs[e] = program
			}
		}
		tapped, err := p.applyTo(d, programs)
		if err != nil {
			return nil, err
		}
		names = append(names, tapped...)
	}
	switch {
	case len(unknown) > 0:
		return nil, fmt.Errorf("no server is called %q in %s (there are: %s)", unknown[0], strings.Join(paths, ", "), strings.Join(there, ", "))
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no server that can be tapped", strings.Join(paths, ", "))
	}
	return names, nil
}

// distinctFiles returns paths without duplicates. Two paths are duplicates if they lead to the same
// file.
func distinctFiles(paths []string) (distinct []string) {
	var files []fs.FileInfo
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) }) {
			continue
		}
		if distinct = append(distinct, path); err == nil {
			files = append(files, info)
		}
	}
	return distinct
}

// program returns the command that a tapped entry runs. If the entry cannot be tapped, it prints
// the reason and returns false.
func (p *tap) program(path string, e *hostconfig.Entry) (hostconfig.Program, bool) {
	says := func(what string) { p.printAbout(path, e, what) }
	if e.Problem != nil {
		says("not tapped: " + e.Problem.Error())
		return hostconfig.Program{}, false
	}
	if e.Warning != "" {
		says(e.Warning)
	}
	self, err := os.Executable()
	if err != nil {
		says("not tapped: " + err.Error())
		return hostconfig.Program{}, false
	}
	program := hostconfig.Program{Command: self, Args: []string{"proxy", "--name", e.Name}}
	if p.record != "" {
		program.Args = append(program.Args, "--record", p.record)
	}
	if e.URL == "" {
		program.Args = append(append(program.Args, "--", e.Command), e.Args...)
	} else {
		program.Args = append(program.Args, "--url-from-env")
	}
	return program, true
}

// printAbout prints a line about an entry.
func (p *tap) printAbout(path string, e *hostconfig.Entry, what string) {
	p.Screen.Printf("%s in %s: %s\n", plaintext.Line(e.Name, 80), p.Short(path), plaintext.Line(what, 500))
}

// wayBack describes how to restore a file that is already tapped or connected.
func (p *tap) wayBack(path string) string {
	records, _ := p.journal.Records() // tap --list reports this error
	for _, r := range records {
		switch {
		case r.Path != p.Real(path):
		case r.Connected:
			return fmt.Sprintf("its servers go through junction, so junction traffic shows their messages already; %s restores them", r.Remedy())
		case r.Kept:
			return fmt.Sprintf("junction host tap --undo %s restores it; junction traffic shows the messages", r.Host)
		case r.Alive:
			return fmt.Sprintf("Ctrl-C in process %d restores it; junction traffic shows the messages", r.Process)
		}
	}
	return "see junction host tap --list"
}

// applyTo changes a file. It skips entries that cannot be changed, and prints the reason.
func (p *tap) applyTo(d *hostconfig.Document, programs map[*hostconfig.Entry]hostconfig.Program) (names []string, err error) {
	after, changes, err := d.Replace(programs)
	if err != nil {
		for e, program := range programs {
			if _, _, err := d.Replace(map[*hostconfig.Entry]hostconfig.Program{e: program}); err != nil {
				p.printAbout(d.Path, e, "not tapped: "+err.Error())
				delete(programs, e)
			}
		}
		if after, changes, err = d.Replace(programs); err != nil {
			return nil, err
		}
	}
	if len(programs) == 0 {
		return nil, nil
	}
	r := hostconfig.Record{Host: p.host.ID, Kept: p.keep, Changes: changes}
	path, release, err := p.journal.Apply(d, after, r)
	if errors.Is(err, hostconfig.ErrInUse) {
		return nil, fmt.Errorf("%w; %s", err, p.wayBack(d.Path))
	}
	if err != nil {
		return nil, err
	}
	p.applied = append(p.applied, &appliedTap{path, d.Data, release})
	p.Screen.Printf("Tapped in %s: %s\n", p.Short(d.Path), plaintext.Line(strings.Join(r.Servers(), ", "), 500))
	return r.Servers(), nil
}
