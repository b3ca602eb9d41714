package layer

import (
	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// maxReason is the maximum number of characters of a name or a reason in the audit log.
const maxReason = 300

// Reviews reports whether the plan withholds definitions without approval.
func (p *Plan) Reviews() bool { return p.Settings.Review != "" && p.Settings.Review != "none" }

// readPins reads the approved definitions if the plan needs them and they were not read before.
func readPins(s *Stack, p *Plan) error {
	if !p.Reviews() || s.Pins.Load() != nil {
		return nil
	}
	return s.ReadPins()
}

// ReadPins reads the approved definitions again. Reviews use them from then on.
func (s *Stack) ReadPins() error {
	load := s.LoadPins
	if load == nil {
		load = func() (*guard.Pins, error) {
			path, err := s.Place.State("pins.json")
			if err != nil {
				return nil, err
			}
			return guard.Load(path)
		}
	}
	approved, err := load()
	if err == nil {
		s.Pins.Store(approved)
	}
	return err
}

// review returns middleware that withholds the definitions of a server that are not approved. If
// each user or client has an instance of the server, each instance has its own reviewer, as its
// lists may be meant for one user only.
func (s *Stack) review(p *Plan, of Server) mcp.Middleware {
	if !p.Reviews() || of.Command == nil { // the definitions of this program need no approval
		return nil
	}
	o := review.Options{Server: of.Name, Mode: review.Mode(p.Settings.Review), Pins: s.Pins.Load, Remedy: "run junction server approve " + plaintext.ShellWord(of.Name) + ", as junction status shows it"}
	if of.Locked != nil {
		// The lock is read once, as a server is replaced when its lock changes. Later changes of
		// the file do not approve definitions of this server.
		locked := of.Locked()
		o.Locked = func() map[string]string { return locked }
	}
	o.NoteObserver = reviewed{s, of, false}
	own := o
	own.NoteObserver = reviewed{s, of, true}
	own.Remedy += " (if definitions differ between users, only those of the gateway's own connection can be approved)"
	r := review.New(o)
	of.upstream.Check = r.Check
	if of.upstream.Isolation == gateway.Shared {
		return r.Around
	}
	of.upstream.Instance = func() mcp.Middleware { return review.Middleware(own) }
	return r.Lists
}

// A reviewed is the NoteObserver for the lists of a server.
type reviewed struct {
	*Stack
	of Server
	// instance suppresses reports of withheld definitions, as the connection of each user would
	// repeat them.
	instance bool
}

// Note implements [mcp.NoteObserver].
func (r reviewed) Note(_ string, value any) {
	change, _ := value.(review.Change)
	if r.instance {
		change.Withheld = nil
	}
	for _, w := range change.Withheld {
		r.withheld.WithLabelValues(r.of.Name).Inc()
		if r.Log != nil {
			name := plaintext.Line(w.Definition.Name, maxReason)
			_ = r.Log.Withhold(&audit.Record{Server: r.of.Name, Name: name, Tool: name, Rule: "review", Reason: plaintext.Line(w.Why(), maxReason)}) // the error is dropped, as calls report whether lines can be written
		}
	}
	if r.Reviewed != nil {
		r.Reviewed(r.of, change)
	}
}
