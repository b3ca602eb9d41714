package audit

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// The administrative events. See [Events].
const (
	EventStart        = "start"
	EventStop         = "stop"
	EventReload       = "reload"
	EventRestart      = "restart"
	EventApprove      = "approve"
	EventLogin        = "login"
	EventLogout       = "logout"
	EventConsent      = "consent"
	EventRevoke       = "revoke"
	EventClient       = "client"
	EventKeyCreate    = "key.create"
	EventKeyRotate    = "key.rotate"
	EventKeyRemove    = "key.remove"
	EventUserAdd      = "user.add"
	EventUserPassword = "user.password"
	EventUserRemove   = "user.remove"
)

// An Event describes an administrative event: something that an administrator or a login did.
type Event struct {
	Name string
	Doc  string
	// Members are the members that a line of the event can have, apart from those of every line and
	// the members outcome and reason.
	Members []string
}

// Events returns all administrative events, in the order of the documentation.
func Events() []Event {
	command := []string{"operator", "principal", "name"}
	login := []string{"principal", "issuer", "address", "client"}
	with := func(members []string, more ...string) []string { return slices.Concat(members, more) }
	return []Event{
		{EventStart, "'junction up' starts; `name` is its version", []string{"operator", "name", "files"}},
		{EventStop, "it ends", []string{"operator", "name"}},
		{EventReload, "the configuration was read again; 'error' means that it was refused", []string{"operator", "address", "files"}},
		{EventRestart, "a user restarted a server", []string{"operator", "address", "server"}},
		{EventApprove, "a user approved definitions of a server; with the outcome 'cancelled', the user rejected them. `name` is their hash", []string{"operator", "address", "server", "name"}},
		{EventLogin, "a user logged in; 'error' means that a login, a key or a token was refused", with(login, "rule", "refused")},
		{EventLogout, "logins of a user ended; `name` is their number", with(login, "operator", "name")},
		{EventConsent, "a user allowed a client to act for them; with the outcome 'cancelled', the user declined", with(login, "scopes", "name")},
		{EventRevoke, "the permission of a client ended, such as by the client", with(login, "name")},
		{EventClient, "a client registered itself; `name` is its own name", []string{"issuer", "address", "client", "name", "refused"}},
		{EventKeyCreate, "'junction key create', or a user on the page of the team; `name` is the ID of the key", command},
		{EventKeyRotate, "'junction key rotate'; `name` is the ID of the old key", command},
		{EventKeyRemove, "'junction key remove', or a user on the page of the team; `name` is the ID of the key", command},
		{EventUserAdd, "'junction user add'", command},
		{EventUserPassword, "'junction user passwd'", command},
		{EventUserRemove, "'junction user remove'", command},
	}
}

// Members of all lines of administrative events.
var adminMembers = []string{"time", "kind", "event", "call", "outcome", "reason"}

// Admin adds a line about an administrative event, and waits until it is on disk. The member event
// must be the name of one of [Events], and the line may have only the members of that event. The
// default of the outcome is ok.
//
// For events of callers who are not logged in, use [Log.AdminByAnyone].
func (l *Log) Admin(r *Record) error {
	if err := r.asAdmin(); err != nil {
		return err
	}
	return l.Append(r)
}

// AdminByAnyone adds a line about an event that a caller without a login causes, such as a refused
// login. It does not wait until the line is written. Equal lines of one caller are counted, and one
// line a second has their number. All these lines take at most the part of the log that refusals
// have, so that they cannot displace other lines. address is the IP address of the caller.
func (l *Log) AdminByAnyone(r *Record, address string) error {
	r.Address = address
	if err := r.asAdmin(); err != nil {
		return err
	}
	r.refusal, r.caller = true, share.Key("", "", net.JoinHostPort(address, "0"))
	if !l.folds.refused(r, true, time.Now()) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.arm() // schedules the line with the count
		return nil
	}
	return l.Note(r)
}

// asAdmin completes and checks a record of kind admin.
func (r *Record) asAdmin() error {
	r.Kind = KindAdmin
	if r.Outcome == "" {
		r.Outcome = string(mcp.OutcomeOK)
	}
	if r.Call == "" {
		r.Call = callID()
	}
	for _, text := range []*string{&r.Name, &r.Principal, &r.Issuer, &r.Client, &r.Reason, &r.Operator, &r.Address, &r.Server} {
		*text = words(*text)
	}
	all := Events()
	i := slices.IndexFunc(all, func(e Event) bool { return e.Name == r.Event })
	if i < 0 {
		return fmt.Errorf("audit: there is no event %q", r.Event)
	}
	line := r.append(nil)
	for _, f := range records.Fields() {
		if f.Text(line) != "" && !slices.Contains(adminMembers, f.Name) && !slices.Contains(all[i].Members, f.Name) {
			return fmt.Errorf("audit: a line of the event %s has no member %s", r.Event, f.Name)
		}
	}
	return nil
}

// Operator returns the name of the operating system's user who runs this process, with the user's
// number.
func Operator() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprintf("uid %d", os.Getuid())
	}
	return fmt.Sprintf("%s (uid %s)", u.Username, u.Uid)
}

// EventsMarkdown returns the rows of a table of all administrative events.
func EventsMarkdown() string {
	var b strings.Builder
	for _, e := range Events() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", e.Name, strings.ReplaceAll(e.Doc, "'", "`"), strings.Join(e.Members, "`, `"))
	}
	return b.String()
}
