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

// A Session is what the screen needs of a host and its conversations. Methods are
// called from several goroutines. Those that take a context may take their time.
type Session interface {
	// Talk is the conversation that goes on now.
	Talk() Talk
	// Model describes the model that answers.
	Model() model.Info

	// What servers offer, as [host.Host] has it.
	Prompts() []host.PromptRef
	Resources() []host.ResourceRef
	Templates() []host.TemplateRef
	Complete(ctx context.Context, server string, req mcp.CompletionRequest) (*mcp.Completion, error)
	Restart(server string) error
	Stderr(server string) []string

	// Propose has the model propose a plan, and Execute carries it out, as in package plan.
	Propose(ctx context.Context, goal string) (host.Plan, error)
	Execute(ctx context.Context, changed func(host.Plan)) error

	// Saved describes the conversation as it is kept; zero if it is not.
	Saved() Saved
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

// A Talk is what the screen needs of a [host.Conversation], which is one. What happens in a run comes as
// events; the error of Ask is shown unless an Answered event reported it.
type Talk interface {
	Ask(ctx context.Context, q host.Question) (host.Answer, error)
	Entries() []host.Entry
	Ledger() host.Ledger
	Totals() host.Totals
	Keep(note string) error
	Compact(ctx context.Context) error
	Plan() host.Plan
	ChangePlan(change func(host.Plan) (host.Plan, error)) (host.Plan, error)

	Servers() []host.ServerTools
	Tools() []host.ToolInfo
	ReviewAgain(server string) error
	SetOff(server string, off bool) error
	Trust(server string, forever bool) error
	Distrust(server string) error
	Approvals() []guard.Approval
	Withdraw(a guard.Approval) error

	Tasks() []host.Task
	CancelTask(ctx context.Context, number int) error
	LeaveTask(number int) error
	WatchTasks(ctx context.Context)
}

// Saved describes a kept conversation.
type Saved struct {
	ID, Title string
	Changed   time.Time
	Questions int
	Cost      float64 // US dollars
	Folder    string  // where it was begun, if that is elsewhere
}
