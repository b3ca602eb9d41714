package up

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
)

// The outcomes of lines about events.
const (
	outcomeOK    = "ok"
	outcomeError = "error"
)

// A caller is an administrator of a running gateway.
type caller struct {
	way     string // such as "in the console"; empty for the gateway itself, which noticed a changed file
	address string // with a port; empty on this machine
}

// String returns the caller for messages.
func (c caller) String() string {
	if c.address != "" {
		return c.way + ", from " + c.address
	}
	return c.way
}

// operator returns the caller for lines of the audit log. Holders of the token of --admin are not
// known by name. Every other way is open to the operating system's user of this process only.
func (c caller) operator() string {
	switch {
	case c.way == "":
		return ""
	case c.address != "":
		return c.way
	}
	return audit.Operator() + ", " + c.way
}

// hostOf returns the IP address in an address with a port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// auditLog returns the audit log, or nil.
func (v *Served) auditLog() *audit.Log {
	if v.Gateway == nil {
		return nil
	}
	return v.Gateway.Layers().Log
}

// note writes a line about an event to the audit log, if there is one. An error is logged.
func (v *Served) note(r *audit.Record) {
	log := v.auditLog()
	if log == nil {
		return
	}
	if err := log.Admin(r); err != nil {
		v.App.Logger().Error("junction: an event is not in the audit log", "event", r.Event, "error", err)
	}
}

// noteStart writes a line about the start, and takes the events that commands queued before. end
// writes a line about the end.
func (v *Served) noteStart() (end func()) {
	v.note(&audit.Record{Event: audit.EventStart, Operator: audit.Operator(), Name: cli.Version, Files: filesOf(v.hashes(), nil)})
	v.takeEvents()
	return func() {
		v.takeEvents()
		v.note(&audit.Record{Event: audit.EventStop, Operator: audit.Operator(), Name: cli.Version})
	}
}

// takeEvents adds to the audit log the events of commands, if there are new ones.
func (v *Served) takeEvents() {
	log := v.auditLog()
	if log == nil {
		return
	}
	q, err := policies.Queue(v.App.Place)
	if err == nil && q != nil {
		stamp := q.Stamp()
		if stamp == v.queue {
			return
		}
		if err = log.Take(q); err == nil {
			v.queue = stamp
		}
	}
	if err != nil && err.Error() != v.queueFault {
		v.App.Logger().Error("junction: events of commands are not in the audit log", "error", err)
	}
	v.queueFault = ""
	if err != nil {
		v.queueFault = err.Error()
	}
}

// hashes returns the SHA-256 of each file from which the gateway is made, by path. It omits missing
// files. It does nothing without an audit log.
func (v *Served) hashes() map[string]string {
	all := map[string]string{}
	if v.auditLog() == nil {
		return all
	}
	for path := range v.stamp() {
		if sum, err := hashFile(v.App.Path(path)); err == nil {
			all[path] = sum
		}
	}
	return all
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(file, maxHashed)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// maxHashed is the number of bytes of a file whose hash is in the audit log.
const maxHashed = 64 << 20

// changedMeanwhile stands for the hash of a file that changed while the configuration was read.
const changedMeanwhile = "it changed while it was read"

// filesOf returns the hashes for a line of the audit log. Unless after is nil, a file whose hash
// differs there has no hash.
func filesOf(before, after map[string]string) json.RawMessage {
	all := maps.Clone(before)
	for path, sum := range after {
		if before[path] != sum {
			all[path] = changedMeanwhile
		}
	}
	if len(all) == 0 {
		return nil
	}
	text, _ := json.Marshal(all) // encoding strings cannot fail
	return text
}

// noteReload writes a line about a reload. before has the hashes of the files before they were
// read, and err is the reason why they cannot be used.
func (v *Served) noteReload(by caller, before map[string]string, err error) {
	r := &audit.Record{Event: audit.EventReload, Operator: by.operator(), Address: hostOf(by.address), Files: filesOf(before, v.hashes())}
	if err != nil {
		r.Outcome, r.Reason = outcomeError, redact.Text(err.Error(), cli.MaxReason)
	}
	v.note(r)
}

// retention returns a sentence about how long the audit log keeps lines. It is empty without a
// log or as long as the log is too young.
func (v *Served) retention() string {
	log := v.auditLog()
	if log == nil {
		return ""
	}
	kept, measured := log.Retention()
	if kept == 0 {
		return ""
	}
	return fmt.Sprintf(" At the rate of the last %s, lines are kept for about %s.", days(measured.Hours()/24), days(kept.Hours()/24))
}

// days returns a number of days as text.
func days(n float64) string {
	if n < 1 {
		return plaintext.Count(max(1, int(n*24)), "hour")
	}
	return plaintext.Count(int(n), "day")
}
