package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/policy"
)

// examineHosts examines the hosts that junction host connect changed.
func examineHosts(ctx context.Context, a *cli.App) (all []*Report) {
	journal, err := launch.OpenJournal(a.Place)
	if err != nil {
		return nil
	}
	records, err := journal.Records()
	if err != nil {
		p := &Report{Server: "hosts", Host: true}
		p.Fail("journal", err.Error(), "remove that folder; the host's earlier file is in it as \"before\"")
		all = append(all, p)
	}
	for _, r := range records {
		if !r.Connected || ctx.Err() != nil {
			continue
		}
		h, _, _ := hostconfig.LookupHost(r.Host)
		p := &Report{Server: h.ID, Host: true, Source: r.Path}
		examineHost(ctx, a, h, r, p)
		all = append(all, p)
	}
	return all
}

// examineHost examines the file and the entry of a host.
func examineHost(ctx context.Context, a *cli.App, h hostconfig.Host, r *hostconfig.Record, p *Report) {
	again := fmt.Sprintf("%s, then junction host connect %s", r.Remedy(), h.ID)
	d, ours, isChanged, err := r.Look()
	if err != nil {
		p.Fail("file", err.Error(), "correct the file, or "+r.Remedy())
		return
	}
	p.Pass("file", "%s", a.Short(r.Path))
	adds := slices.ContainsFunc(r.Changes, func(c hostconfig.Change) bool { return c.Added })
	switch {
	case ours == nil && adds:
		p.Fail("entry", "the host's file no longer has the entry of junction", again)
		return
	case isChanged:
		p.careful("entry", "it changed since junction wrote it")
	case adds:
		p.Pass("entry", "as junction host connect wrote it")
	}
	if ours != nil && !examineEntry(ctx, a, ours, p, again) {
		return
	}
	var past []string
	files := slices.DeleteFunc(hostconfig.Files(h, reach.HostOptions(a.Place)), func(f hostconfig.File) bool { return f.Project == "" || a.Real(f.Path) == r.Path })
	for _, f := range append([]hostconfig.File{{Path: r.Path}}, files...) {
		other := d
		if f.Path != r.Path {
			if other, err = hostconfig.Read(h, f.Path); err != nil {
				continue // the host cannot start any server from an unreadable file
			}
		}
		for _, e := range other.Entries {
			if e == ours || e.Scope != "" && !reach.IsWithin(a.Place, e.Scope) || e.Command == "" && e.URL == "" {
				continue
			}
			where := ""
			if f.Path != r.Path {
				where = " (in " + a.Short(f.Path) + ")"
			} else if e.Scope != "" {
				where = " (for " + a.Short(e.Scope) + ")"
			}
			past = append(past, e.Name+where)
		}
	}
	if len(past) > 0 {
		p.careful("servers", "the host uses these servers without junction: %s", strings.Join(past, ", "))
	}
}

// examineEntry examines the program or the address of a host's entry.
func examineEntry(ctx context.Context, a *cli.App, ours *hostconfig.Entry, p *Report, again string) bool {
	if ours.URL != "" {
		return reachAddress(ctx, &config.Server{URL: ours.URL}, p) && p.Pass("rules", "those of the junction up at that address, and its log")
	}
	if _, err := a.LookPath(ours.Command); err != nil {
		return p.Fail("program", err.Error(), "install junction there again, or "+again)
	}
	p.Pass("program", "%s", a.Short(ours.Command))
	for k, arg := range ours.Args {
		if arg != "--config" || k+1 == len(ours.Args) {
			continue
		}
		if _, err := os.Stat(ours.Args[k+1]); err != nil {
			reason := err
			if errors.Is(err, os.ErrNotExist) {
				reason = fmt.Errorf("%s does not exist", a.Short(ours.Args[k+1]))
			}
			return p.Fail("configuration", reason.Error(), "junction host import writes it, or "+again)
		}
		p.Pass("configuration", "%s", a.Short(ours.Args[k+1]))
	}
	return examineOversight(a, ours.Args, p)
}

// examineOversight examines the rules and the audit log of the junction up that a host starts.
func examineOversight(a *cli.App, args []string, p *Report) bool {
	o, err := policies.ReadOversight(a, args)
	if err != nil {
		return p.Fail("settings", err.Error(), "correct the file; until then the host has no servers")
	}
	rules, log := o.Lines(a)
	_, noRules := os.Stat(o.Own)
	switch {
	case len(o.Rules) > 0:
		for _, path := range o.Rules {
			file, err := policy.Load(path, policy.LoadOptions{})
			if err == nil {
				_, err = policy.Compile(file.Rules, policy.Options{Default: file.Default})
			}
			if err != nil {
				return p.Fail("rules", err.Error(), "correct the file; until then the host has no servers")
			}
		}
		p.Pass("rules", "%s", rules)
		p.Links[len(p.Links)-1].Careful = o.Shadow
	case noRules == nil:
		p.careful("rules", "none: those in %s are only of junction chat; to have them here, %s", a.Short(o.Own), o.Remedy(a, true, false))
	default:
		p.Pass("rules", "none; to have those that you write into %s, %s", a.Short(o.Own), o.Remedy(a, true, false))
	}
	if o.Log == "" {
		log += "; to keep one, " + o.Remedy(a, false, true)
	}
	return p.Pass("log", "%s", log)
}
