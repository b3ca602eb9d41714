package tui

import (
	"context"
	"errors"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// ErrNotKept says that there is no place where conversations are kept.
var ErrNotKept = errors.New("conversations are not kept: there is no archive")

// A Session is what the screen needs of a host and its conversation. Methods are
// called from several goroutines. Those that take a context may take their time.
type Session interface {
	// Model describes the model that answers.
	Model() model.Info
	// Ask puts a question and returns when the run is over. What happens meanwhile
	// comes as events; the error, if there is one, is shown unless an Answered
	// event reported it.
	Ask(ctx context.Context, q host.Question) error

	// Servers tells how it stands with the servers, the others what they have.
	Servers() []host.ServerTools
	Tools() []host.ToolInfo
	Prompts() []host.PromptRef
	Resources() []host.ResourceRef
	Templates() []host.TemplateRef
	// Complete says how an argument can go on.
	Complete(ctx context.Context, server string, req mcp.CompletionRequest) (*mcp.Completion, error)

	// Ledger tells what takes how much of the model's window, Totals what the
	// conversation used.
	Ledger() host.Ledger
	Totals() host.Totals
	// Keep adds a note that every summary keeps; Compact replaces old turns.
	Keep(note string) error
	Compact(ctx context.Context) error

	// Plan is the conversation's plan and ChangePlan changes it; Propose has the model propose
	// one, and Execute carries it out, as in package plan.
	Plan() host.Plan
	ChangePlan(change func(host.Plan) (host.Plan, error)) (host.Plan, error)
	Propose(ctx context.Context, goal string) (host.Plan, error)
	Execute(ctx context.Context, changed func(host.Plan)) error

	// ReviewAgain has the person asked again about what of a server they refused, or
	// was set aside as it changed too often.
	ReviewAgain(server string) error

	// Restart connects to a server again, without waiting; SetOff switches it off or on in the
	// conversation, Trust trusts it from now on, and Distrust ends that. Stderr are the last
	// lines that its program wrote to its standard error.
	Restart(server string) error
	SetOff(server string, off bool) error
	Trust(server string, forever bool) error
	Distrust(server string) error
	Stderr(server string) []string
	// Approvals are the answers to calls that the conversation remembers, and Withdraw
	// forgets one.
	Approvals() []guard.Approval
	Withdraw(a guard.Approval) error

	// Tasks are the calls that run as tasks, CancelTask cancels one, LeaveTask has the model go on without it, and
	// WatchTasks waits, until ctx is done, for those that no call waits for.
	Tasks() []host.Task
	CancelTask(ctx context.Context, number int) error
	LeaveTask(number int) error
	WatchTasks(ctx context.Context)

	// Saved describes the conversation as it is kept; zero if it is not.
	Saved() Saved
	// Entries are the conversation's record.
	Entries() []host.Entry
	// New begins another conversation, Resume goes on with a kept one, Fork with a copy of
	// this one, Rewind with a copy of its first entries and of what the person took back
	// since. Name gives this one a title. Export writes it to a file and returns the file's
	// path; an empty path leaves the choice to the session.
	New(ctx context.Context) error
	Resume(ctx context.Context, id string) error
	Fork(ctx context.Context) error
	Rewind(ctx context.Context, entries int) error
	Name(ctx context.Context, title string) error
	Export(ctx context.Context, path string) (string, error)
	// List returns kept conversations, the last one first.
	List(ctx context.Context) ([]Saved, error)
}

// Saved describes a kept conversation.
type Saved struct {
	ID, Title string
	Changed   time.Time
	Questions int
	Cost      float64 // US dollars
	Folder    string  // where it was begun, if that is elsewhere
}
