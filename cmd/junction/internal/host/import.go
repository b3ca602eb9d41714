package host

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/server"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// An importing is one run of host import, or the import step of host connect.
type importing struct {
	*cli.App
	yes, dry, keep bool
	named          bool // --file was given

	journal hostconfig.Journal
	records []*hostconfig.Record // of files that junction host connect or tap changed

	path  string // of junction's own file
	own   *hostconfig.Document
	there []*hostconfig.Carried // the entries of own
	found []*imported
	plain []*plainSecret
}

// An imported is an entry of a host's file, with the decision whether to import it.
type imported struct {
	host  hostconfig.Host
	file  string
	entry *hostconfig.Entry
	read  *hostconfig.Carried // nil if junction cannot use the entry
	as    *hostconfig.Carried // nil if the entry is not imported
	same  string              // the name of an equal entry in own; as is nil then
	why   string              // the reason that the entry is renamed or not imported
	own   bool                // whether the entry is junction itself
}

// ImportCommand returns the command host import.
func ImportCommand(a *cli.App) *cobra.Command {
	i := &importing{App: a}
	var all bool
	var files []string
	cmd := &cobra.Command{
		Use:   "import HOST… | --all",
		Short: "Copy the servers of hosts such as Cursor to junction's own file",
		Long: `Copy the servers in the configuration of hosts to junction's own file, which every command
reads. HOST is claude-desktop, claude-code, cursor, vscode, codex or another that
junction host tap --list knows. The hosts' files are only read.

Variables get junction's form. A value that a host asks for, or keeps in its own keyring,
becomes ${secret:NAME}. So does a secret in clear text, unless you decide otherwise. A server
that several hosts have is copied once; a different one of the same name gets a new name.
The result is shown first, with the servers that cannot be copied and the reasons.

` + cli.ExitCodes("done, or nothing is left to do", "", "", "a file cannot be read or written, or there is no terminal for questions"),
		RunE: func(cmd *cobra.Command, args []string) error {
			hosts, err := importedHosts(i.Place, args, all)
			if err != nil {
				return err
			}
			if len(files) > 0 && len(hosts) != 1 {
				return cli.Usagef("--file needs the one HOST whose file it is")
			}
			if err := i.open(); err != nil {
				return err
			}
			for _, h := range hosts {
				i.readHost(h, files, all)
			}
			return i.finish(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "copy the servers of all hosts on this machine")
	cmd.Flags().StringArrayVar(&files, "file", nil, "read only `FILE`, instead of the host's files (repeatable)")
	i.flags(cmd)
	return cmd
}

// flags defines the flags that host import shares with host connect.
func (i *importing) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&i.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&i.dry, "dry-run", false, "show what would be written, and write nothing")
	cmd.Flags().BoolVar(&i.keep, "keep-secrets", false, "leave secrets as they are in the hosts' files")
	cmd.Flags().StringArrayVar(&i.App.Launch.Config, "config", nil, "write to the configuration `FILE`, instead of your own file")
}

// importedHosts returns the hosts named on the command line, or all hosts if all is set.
func importedHosts(p place.Place, names []string, all bool) (hosts []hostconfig.Host, err error) {
	if all && len(names) > 0 {
		return nil, cli.Usagef("--all and %q: give only one", names[0])
	}
	if all {
		return hostconfig.Hosts(), nil
	}
	if len(names) == 0 {
		return nil, missingHost(p, 0, "; --all takes all hosts on this machine, and --dry-run only shows the result")
	}
	for _, name := range names {
		h, err := hostNamed(name)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// open opens the journal and reads junction's own file.
func (i *importing) open() (err error) {
	if i.journal, err = launch.OpenJournal(i.Place); err != nil {
		return err
	}
	if err := (&tap{App: i.App, journal: i.journal}).recover(); err != nil {
		i.Screen.Printf("junction: %v\n", err)
	}
	i.records, _ = i.journal.Records() // recover has already printed these errors
	if i.path, err = server.AddFile(i.App, false); err != nil {
		return err
	}
	if i.own, err = hostconfig.Read(hostconfig.Host{}, i.path); errors.Is(err, fs.ErrNotExist) {
		i.own, err = hostconfig.Missing(hostconfig.Host{}, i.path)
	}
	if err != nil {
		return err
	}
	for _, e := range i.own.Entries {
		c, err := e.Carry("")
		if err != nil { // the name counts as taken even if the entry is invalid
			c = &hostconfig.Carried{Name: e.Name}
		}
		i.there = append(i.there, c)
	}
	return nil
}

// readHost reads the configuration files of a host. If quiet is set, it prints no line for a host
// without files.
func (i *importing) readHost(h hostconfig.Host, paths []string, quiet bool) {
	files := hostconfig.Files(h, reach.HostOptions(i.Place))
	if len(paths) > 0 {
		var named []hostconfig.File
		for _, path := range distinctFiles(i.Paths(paths)) {
			f := hostconfig.File{Path: path}
			if k := slices.IndexFunc(files, func(f hostconfig.File) bool { return i.Real(f.Path) == i.Real(path) }); k >= 0 {
				f.Project = files[k].Project
			}
			named = append(named, f)
		}
		files, i.named = named, true
	}
	if len(files) == 0 && !quiet {
		why := "it has no configuration file here; name one with --file"
		if h.Nowhere != "" {
			why = h.Nowhere
		}
		i.Out.Printf("%s: %s\n", h.Name, why)
	}
	for _, f := range files {
		d, err := hostconfig.Read(h, f.Path)
		if err != nil {
			i.Out.Printf("%s: %s\n", h.Name, plaintext.Line(err.Error(), cli.MaxReason))
			i.Unread = errors.Join(i.Unread, err)
			continue
		}
		for _, e := range d.Entries {
			i.consider(h, f, e)
		}
	}
}

// consider decides whether to import an entry of a host, and records the decision.
func (i *importing) consider(h hostconfig.Host, f hostconfig.File, e *hostconfig.Entry) *imported {
	it := &imported{host: h, file: f.Path, entry: e}
	i.found = append(i.found, it)
	kind := ""
	if launch.IsJunction(i.Place, e.Command) && len(e.Args) > 0 {
		kind = e.Args[0]
	}
	switch {
	case kind == "up" || e.Name == hostconfig.OwnName && launch.IsConnected(i.Place, i.records, f.Path) || strings.HasPrefix(e.URL+"/", "http://"+up.DefaultAddress+launch.EndpointPath+"/"):
		it.own, it.why = true, "it is junction itself"
		return it
	case kind == "proxy" && slices.Contains(e.Args, "--name"):
		it.why = "it is tapped; first run: junction host tap --undo"
		return it
	case e.Scope != "" && !reach.IsWithin(i.Place, e.Scope):
		it.why = fmt.Sprintf("it is only for %s; run junction host import there", i.Short(e.Scope))
		return it
	}
	if f.Project != "" && i.yes && !i.named { // a project's file may come from an untrusted author
		it.why = "it comes from a project's file, which others may have written: run junction host import without --yes, or name the file with --file"
		return it
	}
	c, err := e.Carry(f.Project)
	if err != nil {
		it.why = err.Error()
		return it
	}
	it.read = c
	for _, other := range i.there {
		if other.Is(c) {
			it.same = other.Name
			return it
		}
	}
	if i.isTaken(c.Name) {
		old := c.Name
		c.Name += "-" + h.ID
		for n := 2; i.isTaken(c.Name); n++ {
			c.Name = fmt.Sprintf("%s-%s-%d", old, h.ID, n)
		}
		it.why = fmt.Sprintf("a different server is called %s already", old)
	}
	if err := i.check(c); err != nil {
		it.why = err.Error()
		return it
	}
	it.as = c
	i.there = append(i.there, c)
	i.findPlain(c)
	return it
}

// isTaken reports whether an entry of junction's own file has the name.
func (i *importing) isTaken(name string) bool {
	return slices.ContainsFunc(i.there, func(c *hostconfig.Carried) bool { return c.Name == name })
}

// check reports whether junction could parse the entry once it is imported. It assumes that a plain
// client secret is stored and replaced by a reference.
func (i *importing) check(c *hostconfig.Carried) error {
	checked := *c
	checked.OAuth = slices.Clone(c.OAuth)
	for k := range checked.OAuth {
		if v := &checked.OAuth[k]; v.Name == "clientSecret" && !i.keep && !strings.Contains(v.Value, "${") {
			v.Value = "${secret:" + hostconfig.SecretName(c.Name, v.Name) + "}"
		}
	}
	alone, err := hostconfig.Missing(hostconfig.Host{}, i.path)
	if err != nil {
		return err
	}
	data, err := alone.Add([]*hostconfig.Carried{&checked})
	if err != nil {
		return err
	}
	_, err = parseOwn(i.path, data, c.Name)
	return err
}

// parseOwn parses one entry of junction's own file.
func parseOwn(path string, data []byte, name string) (*config.Definition, error) {
	file, err := config.Parse(path, data, config.Options{})
	if err != nil {
		return nil, err
	}
	d, err := file.Find(name)
	if p, is := errors.AsType[*config.Problem](err); is {
		err = fmt.Errorf("junction cannot use it: %s: %w", p.Field, p.Err)
	}
	return d, err
}
