package layer

import (
	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// maxReason is how many characters of a name or a reason the audit log has of a withheld definition.
const maxReason = 300

// Reviews reports whether definitions are withheld that are not approved.
func (p *Plan) Reviews() bool { return p.Settings.Review != "" && p.Settings.Review != "none" }

// readPins reads which definitions are approved, if that is asked for and was not.
func readPins(s *Stack, p *Plan) error {
	if !p.Reviews() || s.Pins.Load() != nil {
		return nil
	}
	return s.ReadPins()
}

// ReadPins reads again which definitions are approved. Servers are reviewed by that from then on.
func (s *Stack) ReadPins() error {
	path, err := s.Place.State("pins.json")
	if err != nil {
		return err
	}
	approved, err := guard.Load(path)
	if err == nil {
		s.Pins.Store(approved)
	}
	return err
}

// review withholds the definitions of a server that are not approved. Of one with an instance for each user or client, each
// instance has a reviewer of its own, as what it lists may be for its user only.
func (s *Stack) review(p *Plan, of Server) mcp.Middleware {
	if !p.Reviews() || of.Command == nil { // junction server approve knows its own definitions
		return nil
	}
	o := review.Options{Server: of.Name, Mode: review.Mode(p.Settings.Review), Pins: s.Pins.Load, Remedy: "run junction server approve " + plaintext.ShellWord(of.Name) + ", as junction status shows it"}
	if of.Locked != nil {
		// The lock is read once, as a server whose lock changed is replaced: what comes into the file meanwhile approves nothing of this one.
		locked := of.Locked()
		o.Locked = func() map[string]string { return locked }
	}
	o.Noter = reviewed{s, of, false}
	own := o
	own.Noter = reviewed{s, of, true}
	own.Remedy += " (of definitions that differ by user, only those that a connection of nobody gets can be approved)"
	r := review.New(o)
	of.upstream.Check = r.Check
	if of.upstream.Isolation == gateway.Shared {
		return r.Around
	}
	of.upstream.Instance = func() mcp.Middleware { return review.Middleware(own) }
	return r.Lists
}

// reviewed gets the notes about the lists of a server.
type reviewed struct {
	*Stack
	of Server
	// instance: of what is withheld nothing is reported, as each user's connection would repeat it.
	instance bool
}

// Note implements [mcp.Noter].
func (r reviewed) Note(_ string, value any) {
	change, _ := value.(review.Change)
	if r.instance {
		change.Withheld = nil
	}
	for _, w := range change.Withheld {
		r.withheld.WithLabelValues(r.of.Name).Inc()
		if r.Log != nil {
			name := plaintext.Line(w.Definition.Name, maxReason)
			_ = r.Log.Withhold(&audit.Record{Server: r.of.Name, Name: name, Tool: name, Rule: "review", Reason: plaintext.Line(w.Why(), maxReason)}) // calls say whether lines can be written
		}
	}
	if r.Reviewed != nil {
		r.Reviewed(r.of, change)
	}
}
