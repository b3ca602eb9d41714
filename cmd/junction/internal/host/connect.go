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
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// A connecting is one run of the command host connect.
type connecting struct {
	importing
	host    hostconfig.Host
	files   []string
	profile string
	url     string // of a running junction up; up.AnyURL stands for any
	stdio   bool

	to    hostconfig.Endpoint
	links []*hostLink
}

// A hostLink is a configuration file of the host, together with the changes that host connect makes
// to it.
type hostLink struct {
	doc     *hostconfig.Document
	instead []*hostconfig.Entry
	stay    []string
	after   []byte
	change  hostconfig.Change
}

// ConnectCommand returns the command host connect.
func ConnectCommand(a *cli.App) *cobra.Command {
	c := &connecting{importing: importing{App: a}}
	cmd := &cobra.Command{
		Use:   "connect HOST",
		Short: "Give a host such as Cursor your servers, through junction",
		Long: `Copy the servers of a host to junction's own file, as junction host import does. One entry
replaces them in the host's file and serves them all: junction up --stdio, or with --url the
address of a running junction up. Servers that cannot be copied stay. The change is shown
first. The rest of the host's file is kept, and junction host disconnect restores the file,
byte for byte.

Restart the host afterwards, unless it reads its file again by itself. junction up --stdio
uses the rules and the audit log of the settings in junction's file. --policy and --audit of
another junction up apply only to its own clients; connect with --url to use that one.

HOST is claude-desktop, claude-code, cursor, vscode, codex or another that junction host tap --list
knows. Files of projects are not changed, unless --file names one.

` + cli.ExitCodes("done", "", "", "a file cannot be read or changed, or there is no terminal for questions"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return missingHost(a.Place, len(args), "")
			}
			var err error
			if c.host, err = hostNamed(args[0]); err != nil {
				return err
			}
			if c.stdio && c.url != "" {
				return cli.Usagef("--stdio and --url: give only one")
			}
			if err := c.open(); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&c.profile, "profile", "", "serve the profile `NAME` of junction's configuration")
	cmd.Flags().StringVar(&c.url, "url", "", "have the host call the `URL` of junction up; default: the running one")
	cmd.Flags().Lookup("url").NoOptDefVal = up.AnyURL
	cmd.Flags().BoolVar(&c.stdio, "stdio", false, "have the host start junction (the default)")
	cmd.Flags().StringArrayVar(&c.files, "file", nil, "change only `FILE`, instead of the host's configuration files (repeatable)")
	c.flags(cmd)
	return cmd
}

// run shows the changes, asks for confirmation, and writes them.
func (c *connecting) run(ctx context.Context) error {
	if err := c.readFiles(); err != nil {
		return err
	}
	if err := c.endpoint(ctx); err != nil {
		return err
	}
	if err := c.change(); err != nil {
		return err
	}
	own, err := c.plan(ctx)
	if err != nil {
		return err
	}
	c.showLinks()
	if c.dry {
		return nil
	}
	if err := c.agree(ctx, "Connect "+c.host.Name+"?"); err != nil {
		return err
	}
	if err := c.writeOwn(ctx, own); err != nil {
		return err
	}
	for _, l := range c.links {
		r := hostconfig.Record{Host: c.host.ID, Kept: true, Connected: true, Changes: []hostconfig.Change{l.change}}
		if _, _, err := c.journal.Apply(l.doc, l.after, r); err != nil {
			return c.inUse(l.doc.Path, err)
		}
		c.Out.Printf("Connected: %s\n", c.Short(l.doc.Path))
	}
	if c.host.Reload != "" {
		c.Out.Printf("To apply this in %s, %s.\n", c.host.Name, c.host.Reload)
	}
	back := c.host.ID
	if len(c.files) > 0 {
		back = "--file " + strings.Join(c.files, " --file ")
	}
	c.Out.Printf("To put its own servers back: junction host disconnect %s\n", back)
	if own == nil && len(c.there) == 0 && c.url == "" && c.path == config.Own(launch.ConfigOptions(c.Place)) {
		c.Out.Printf("Until you run junction server add, %s gets a server to try: everything\n", c.host.Name)
	}
	c.showOversight()
	return nil
}

// showOversight prints the rules and the audit log that the host now has, and how to add those that
// it lacks.
func (c *connecting) showOversight() {
	if c.to.URL != "" {
		c.Out.Printf("Rules and log: those of the junction up at %s.\n", c.to.URL)
		return
	}
	o, err := policies.ReadOversight(c.App, c.to.Args)
	if err != nil {
		c.Screen.Printf("junction: warning: %s cannot start junction: %v\n", c.host.Name, err)
		return
	}
	rules, log := o.Lines(c.App)
	c.Out.Printf("Rules: %s. Log: %s.\n", rules, log)
	switch noRules, noLog := len(o.Rules) == 0, o.Log == ""; {
	case noRules && noLog:
		c.Out.Printf("For a log, and for rules in %s, %s\n", c.Short(o.Own), o.Remedy(c.App, true, true))
	case noRules:
		c.Out.Printf("For rules in %s, %s\n", c.Short(o.Own), o.Remedy(c.App, true, false))
	case noLog:
		c.Out.Printf("For a log, %s\n", o.Remedy(c.App, false, true))
	}
}

// writeOwn writes after, the content with the imported servers, to junction's own file. If after is
// nil and the file does not exist, it creates a file without servers.
func (c *connecting) writeOwn(ctx context.Context, after []byte) error {
	if after != nil {
		return c.write(ctx, after)
	}
	if _, err := os.Stat(c.path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := hostconfig.Replace(c.own, []byte("{\"mcpServers\": {}}\n")); err != nil {
		return err
	}
	c.Out.Printf("%s has no servers yet: junction host import takes those of other hosts\n", c.Short(c.path))
	return nil
}

// inUse extends the error for a file that is already connected or tapped. It adds the command that
// restores the file.
func (c *connecting) inUse(path string, err error) error {
	if !errors.Is(err, hostconfig.ErrInUse) {
		return err
	}
	records, _ := c.journal.Records()
	for _, r := range records {
		switch {
		case r.Path != c.Real(path):
		case r.Connected:
			return fmt.Errorf("%s is connected already; %s puts it back", c.Short(path), r.Remedy())
		case r.Kept:
			return fmt.Errorf("%s is tapped; junction host tap --undo %s puts it back", c.Short(path), r.Host)
		case r.Alive:
			return fmt.Errorf("%s is tapped by process %d; end that process with Ctrl-C", c.Short(path), r.Process)
		}
	}
	return err
}

// readFiles reads the configuration files of the host, and decides for each entry whether to import
// it.
func (c *connecting) readFiles() error {
	paths := distinctFiles(c.Paths(c.files))
	if len(paths) == 0 {
		for _, f := range hostconfig.Files(c.host, reach.HostOptions(c.Place)) {
			if f.Project == "" {
				paths = append(paths, f.Path)
			}
		}
	}
	if len(paths) == 0 {
		path := hostconfig.Default(c.host, reach.HostOptions(c.Place))
		if path == "" {
			return errors.New(c.host.Nowhere)
		}
		paths = []string{path}
	}
	for _, path := range paths {
		if slices.ContainsFunc(c.records, func(r *hostconfig.Record) bool { return r.Path == c.Real(path) }) {
			return c.inUse(path, hostconfig.ErrInUse)
		}
		d, err := hostconfig.Read(c.host, path)
		if errors.Is(err, fs.ErrNotExist) {
			d, err = hostconfig.Missing(c.host, path)
		}
		if err != nil {
			return err
		}
		link := &hostLink{doc: d}
		for _, e := range d.Entries {
			if e.Scope != "" {
				link.stay = append(link.stay, e.Name+" (it is only for "+c.Short(e.Scope)+")")
				continue
			}
			it := c.consider(c.host, hostconfig.File{Path: path}, e)
			if it.as == nil && it.same == "" && !it.own {
				link.stay = append(link.stay, e.Name)
				continue
			}
			link.instead = append(link.instead, e)
			if it.read != nil {
				c.to.Pass = append(c.to.Pass, it.read.Variables()...)
			}
		}
		c.links = append(c.links, link)
	}
	return nil
}

// endpoint sets c.to, the entry for junction that the host's file gets.
func (c *connecting) endpoint(ctx context.Context) error {
	if c.url == "" {
		program, err := ownProgram(c.Place)
		if err != nil {
			return err
		}
		slices.Sort(c.to.Pass)
		c.to = hostconfig.Endpoint{Command: program, Args: []string{"up", "--stdio", "--config", c.path}, Pass: slices.Compact(c.to.Pass)}
		if c.profile != "" {
			c.to.Args = append(c.to.Args, "--profile", c.profile)
		}
		return nil
	}
	address := c.url
	if address == up.AnyURL {
		address = "http://" + up.DefaultAddress + launch.EndpointPath
		all, err := cli.Instances(ctx, c.Place)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(i cli.Instance) bool { return launch.At(i.Endpoint) != nil })
		if at < 0 {
			c.Screen.Printf("junction: no junction up serves an address now; to run one: junction service install -- --http %s\n", up.DefaultAddress)
		} else {
			address = all[at].Endpoint
		}
	}
	if launch.At(address) == nil {
		return cli.Usagef("--url: expected a URL such as http://%s%s, got %q", up.DefaultAddress, launch.EndpointPath, address)
	}
	if c.profile != "" {
		address = strings.TrimSuffix(address, "/") + "/" + c.profile
	}
	c.to = hostconfig.Endpoint{URL: address}
	return nil
}

// ownProgram returns the path of this executable. If PATH leads to the same file, it returns the
// path found there, which stays valid after an update.
func ownProgram(p place.Place) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if path := filepath.ToSlash(self); strings.Contains(path, "/go-build") && strings.Contains(path, "/exe/") {
		return "", errors.New("go run deletes this program when it ends: install it with go install, and run that")
	}
	if found, err := p.LookPath("junction"); err == nil && filepath.IsAbs(found) && p.Real(found) == p.Real(self) {
		return found, nil
	}
	return self, nil
}

// change computes the new content of the host's files.
func (c *connecting) change() (err error) {
	for k, l := range c.links {
		to := &c.to
		if k > 0 && c.host.ReadsAll {
			if to = nil; len(l.instead) == 0 {
				continue
			}
		}
		if l.after, l.change, err = l.doc.Connect(to, l.instead); err != nil {
			return fmt.Errorf("%s: %w", l.doc.Path, err)
		}
	}
	c.links = slices.DeleteFunc(c.links, func(l *hostLink) bool { return l.after == nil })
	return nil
}

// showLinks prints the changes of the host's files.
func (c *connecting) showLinks() {
	for _, l := range c.links {
		var names []string
		for _, e := range l.instead {
			names = append(names, e.Name)
		}
		what := "will start junction"
		switch {
		case !l.change.Added:
			what = "loses " + strings.Join(names, ", ")
		case len(names) > 0:
			what += " in place of " + strings.Join(names, ", ")
		}
		c.Out.Printf("%s %s\n", c.Short(l.doc.Path), plaintext.Line(what, cli.MaxReason))
		if len(l.stay) > 0 {
			c.Out.Printf("  These stay in it, and do not go through junction: %s\n", plaintext.Line(strings.Join(l.stay, ", "), cli.MaxReason))
		}
	}
}
