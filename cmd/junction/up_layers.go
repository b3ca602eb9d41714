package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/pflag"
)

// A layering says what stands around the gateway and its servers: Handlers around Handlers.
type layering struct {
	tools  string   // all, search or auto
	pinned []string // patterns of tools that are listed in any case
	policy string   // a file of rules
	shadow bool     // rules only write down what they would have decided
	audit  string   // a folder; default: the usual one
	sync   string   // call or second: when the audit log is on the disk
	goOn   bool     // where the audit log cannot be written
}

// When the audit log is on the disk.
const (
	syncCall   = "call"
	syncSecond = "second"
)

// usualFolder is what --audit alone means.
const usualFolder = "default"

func (o *layering) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.tools, "tools", string(search.All), "offer `all` tools; or search: search_tools, describe_tool and call_tool in their place; or auto: search where their definitions cost more than 10,000 tokens")
	flags.StringSliceVar(&o.pinned, "pin", nil, "with --tools search or auto: list the tools whose names match this `PATTERN` in any case, such as files__*")
	flags.StringVar(&o.policy, "policy", "", "have the rules of `FILE` decide which calls may run; what they ask about, the client's user is asked")
	flags.BoolVar(&o.shadow, "shadow", false, "with --policy: let every call run, and only write down what the rules would have decided")
	flags.StringVar(&o.audit, "audit", "", "write down every call before its result leaves, in `FOLDER` (default with --audit alone: junction/audit in your configuration folder)")
	flags.Lookup("audit").NoOptDefVal = usualFolder
	flags.StringVar(&o.sync, "audit-sync", syncCall, "with --audit: wait for the disk with every `call`; or each second, so that calls are faster and the last second is lost if the machine fails")
	flags.BoolVar(&o.goOn, "audit-optional", false, "with --audit: answer calls that cannot be written down, such as on a full disk, in place of refusing them")
}

// check says what is wrong with the flags.
func (o *layering) check() error {
	switch {
	case !slices.Contains([]string{string(search.All), string(search.Search), string(search.Auto)}, o.tools):
		return usagef("--tools: expected all, search or auto, got %q", o.tools)
	case len(o.pinned) > 0 && o.tools == string(search.All):
		return usagef("--pin goes with --tools search or --tools auto: all tools are listed")
	case o.shadow && o.policy == "":
		return usagef("--shadow goes with --policy FILE, the rules that it tries")
	case o.goOn && o.audit == "":
		return usagef("--audit-optional goes with --audit")
	case o.sync != syncCall && o.sync != syncSecond:
		return usagef("--audit-sync: expected call or second, got %q", o.sync)
	case o.sync != syncCall && o.audit == "":
		return usagef("--audit-sync goes with --audit")
	}
	for _, pattern := range o.pinned {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return usagef("--pin: %q is no pattern: %v", pattern, err)
		}
	}
	return nil
}

// layers are what stands around a gateway while it runs.
type layers struct {
	options layering
	book    atomic.Pointer[rulebook] // nil: there are no rules
	log     *audit.Log               // nil: nothing is written down
	folder  string                   // of log
}

// openLayers makes the layers that the command line asks for. Close the log when done.
func (a *app) openLayers(o layering) (*layers, error) {
	y := &layers{options: o}
	if o.policy != "" {
		book, err := a.rulebook(o.policy)
		if err != nil {
			return nil, err
		}
		y.book.Store(book)
	}
	if o.audit == "" {
		return y, nil
	}
	var err error
	if y.folder, err = auditFolder(o.audit); err != nil {
		return nil, err
	}
	key, err := auditKey()
	if err != nil {
		return nil, err
	}
	y.log, err = audit.Open(y.folder, audit.Options{Key: key, GoOn: o.goOn, NoSync: o.sync == syncSecond, Logger: a.logger()})
	if errors.Is(err, audit.ErrInUse) {
		return nil, &connectError{fmt.Errorf("%w: name another with --audit=FOLDER", err)}
	}
	if err != nil {
		return nil, &connectError{err}
	}
	return y, nil
}

// auditFolder is the folder of a log that the command line names.
func auditFolder(named string) (string, error) {
	if named != usualFolder && named != "" {
		return named, nil
	}
	return stateFile("audit")
}

// auditKey is the key of this installation.
func auditKey() (*audit.Key, error) {
	path, err := stateFile("audit.key")
	if err != nil {
		return nil, err
	}
	key, err := audit.ReadKey(path)
	if err != nil {
		return nil, &connectError{err}
	}
	return key, nil
}

func (y *layers) close() error {
	if y.log == nil {
		return nil
	}
	return y.log.Close()
}

// around is what stands around one server.
func (y *layers) around(e entry) []mcp.Middleware {
	if y.book.Load() == nil {
		return nil
	}
	command := e.command()
	return []mcp.Middleware{rules.Middleware(rules.Options{
		Policy: func() *policy.Policy { return y.book.Load().Policy }, Server: e.name, Origin: policy.OriginOf(command), Shadow: y.options.shadow,
		Trusted: func() bool { return vouches(y.book.Load().trusted, e.name, command, !e.ofProject()) },
		OnDecision: func(ctx context.Context, req *mcp.Request, d *policy.Decision, effect policy.Effect) {
			rule := d.Rule.String()
			if d.Rule.Source != "" {
				rule += " (" + d.Rule.Source + ")"
			}
			reason := d.Reason
			if y.options.shadow {
				reason = "in the shadow: " + reason
			}
			audit.Decided(ctx, string(effect), rule, reason)
		},
	})}
}

// front is the gateway with what stands around all of it.
func (y *layers) front(g *gateway.Gateway) mcp.Handler {
	var h mcp.Handler = g
	if y.log != nil {
		h = y.log.Calls(audit.CallOptions{
			Describe: func(req *mcp.Request, r *audit.Record) {
				if t, ok := g.Tool(req.Name); ok && req.Method == "tools/call" {
					r.Server, r.Tool, r.Hash = t.Server, t.Name, audit.HashOf(t.Definition)
				}
			},
			Arguments: func(_ *mcp.Request, data json.RawMessage) json.RawMessage { return audit.Redacted(data) },
		})(h)
	}
	if y.options.tools != string(search.All) {
		h = search.Middleware(search.Options{Mode: search.Mode(y.options.tools), Pinned: y.options.pinned, Server: func(tool string) (name, about string) {
			t, _ := g.Tool(tool)
			return t.Server, ""
		}})(h)
	}
	return h
}

// introduce says which layers there are, for people.
func (y *layers) introduce(a *app) {
	if y.book.Load() != nil && y.options.shadow {
		a.screen.Printf("Rules of %s are tried, and nothing is refused.\n", shortened(y.options.policy))
	} else if y.book.Load() != nil {
		a.screen.Printf("Rules of %s decide which calls may run.\n", shortened(y.options.policy))
	}
	if y.log != nil {
		a.screen.Printf("Calls are written down in %s.\n", shortened(y.folder))
	}
}

// watchPause is the time between two looks whether a file of rules changed.
const watchPause = 2 * time.Second

// watch reads the rules again when one of their files changed, until it is stopped. What is wrong with
// them then is said, and those that were there before hold.
func (y *layers) watch(ctx context.Context, a *app, g *gateway.Gateway) (stop func()) {
	if y.book.Load() == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(watchPause)
		defer ticker.Stop()
		seen := y.stamp()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			if now := y.stamp(); now != seen {
				seen = now
				y.reread(a, g)
			}
		}
	})
	return func() { cancel(); watching.Wait() }
}

// stamp changes when a file of rules does.
func (y *layers) stamp() (stamp string) {
	for _, path := range []string{y.options.policy, filepath.FromSlash(projectPolicy)} {
		if info, err := os.Stat(path); err == nil {
			stamp += fmt.Sprintln(info.ModTime().UnixNano(), info.Size())
		} else {
			stamp += "none\n"
		}
	}
	return stamp
}

func (y *layers) reread(a *app, g *gateway.Gateway) {
	book, err := a.rulebook(y.options.policy)
	if err != nil {
		a.screen.Printf("junction: the rules changed and cannot be used; those before still hold: %v\n", err)
		return
	}
	y.book.Store(book)
	for _, s := range g.Status() {
		_ = g.Reread(s.Name) // it is there
	}
	a.screen.Printf("The rules of %s were read again.\n", shortened(y.options.policy))
}
