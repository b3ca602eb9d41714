package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// Person answers questions to the user. Several goroutines may call its methods, and an
// implementation asks one question after the other. Each method waits until the user has answered
// or ctx is done. A run waits for the answer, so the methods must not wait for a run. [ErrNobody]
// counts as a no. Any other error ends the review, the question or the call.
type Person interface {
	// Consent asks whether a call may run.
	Consent(ctx context.Context, card ApprovalCard) (Verdict, error)
	// Review asks whether the definitions of servers may be used. It is called after the first
	// connection to a server, and after its definitions changed. All servers that need a review
	// come together, each once, and the answers have the same order. An approval counts even if
	// Review also returns an error.
	Review(ctx context.Context, reviews []Review) ([]ReviewAnswer, error)
	// Elicit asks the user to fill in a server's form or to visit its page.
	Elicit(ctx context.Context, form Form) (*mcp.ElicitResult, error)
	// Sample asks whether a server may use the model. It may change the request.
	Sample(ctx context.Context, s Sampling) (bool, error)
}

// ErrNobody is returned by a [Person] that cannot ask a user. The answer then counts as no, and the
// model reads that no user could be asked.
var ErrNobody = errors.New("no user can be asked")

// nobody is the default Person.
type nobody struct{}

func (nobody) Consent(context.Context, ApprovalCard) (Verdict, error) { return Verdict{}, ErrNobody }

func (nobody) Review(context.Context, []Review) ([]ReviewAnswer, error) { return nil, ErrNobody }

func (nobody) Elicit(context.Context, Form) (*mcp.ElicitResult, error) { return nil, ErrNobody }

func (nobody) Sample(context.Context, Sampling) (bool, error) { return false, ErrNobody }

// ApprovalCard holds the facts that a user needs to decide about a call. Texts come from the
// server, and the user interface cleans them.
type ApprovalCard struct {
	CallID      string
	Agent       string // sub-agent that requested the call; empty: the conversation's own model
	Server      string // empty for a tool of the host itself
	Tool        string // the server's name for it
	Title       string
	Description string
	Arguments   json.RawMessage // complete
	Annotations mcp.ToolAnnotations
	Trusted     bool // the server's annotations are accepted
	// Reads reports that the user declared the tool to be read-only in a review, because its server
	// does not annotate it.
	Reads bool
	// Reasons lists the reasons for asking: the rule, text of untrusted servers that was read
	// before, secrets in the arguments.
	Reasons []string
	// NoRule is set if no rule applies to the call. It is the first of Reasons without the
	// description of the call's effects, for user interfaces that show Annotations instead.
	NoRule string
	// Allowed is the rule that allows the call, if earlier text or the arguments require a question
	// all the same. It is nil if the rules require the question. It must not be changed.
	Allowed *policy.Rule
	// Secret reports that the arguments contain a possible secret.
	Secret bool
	// Always lists the possible rules for "always" that would prevent the next such question, the
	// narrowest first. If there are none, Once is the reason.
	Always []AlwaysRule
	Once   string
	// Never lists the possible rules for "never", the narrowest first.
	Never []AlwaysRule
	// CanTrust reports whether the user may trust the server, with [Verdict].Trust or [Host.Trust].
	CanTrust bool
	// Resource is the URI if this is a read of a resource and not a call.
	Resource string
}

// AlwaysRule is a rule that the user can choose.
type AlwaysRule struct {
	Label string // for users, such as "this tool with any arguments"
	Rule  policy.Rule
}

// Verdict is the user's answer to an ApprovalCard.
type Verdict struct {
	Allow bool
	// Rule, if not nil, is one of the card's Always rules, or of its Never rules if Allow is false.
	// It applies until the host closes, or permanently if Forever is set.
	Rule    *policy.Rule
	Forever bool
	// Question limits a rule that allows calls to the current question. It then applies only to the
	// conversation of the call, with its parents and children.
	Question bool
	// Trust makes the server trusted from now on, permanently if Forever is set.
	Trust bool
	// Note is text for the model if Allow is false: what to do instead.
	Note string
}

// Review holds a server's definitions for the user to review before the model sees them.
type Review struct {
	Server string
	// First reports that nothing of the server was approved before.
	First bool
	// Items holds the new and changed definitions.
	Items []ReviewItem
}

// ReviewAnswer is the user's answer to a Review. The zero ReviewAnswer is a no.
type ReviewAnswer struct {
	// Approve allows the model to use the definitions.
	Approve bool
	// Trust makes the server trusted from now on, permanently if Forever is set. It requires
	// Approve.
	Trust, Forever bool
	// Reads declares the Silent items to be read-only. The declaration applies to this server as
	// long as the definitions do not change. It requires Approve.
	Reads bool
}

// ReviewItem is one definition that is new or changed.
type ReviewItem struct {
	Kind string // tool, prompt, instructions, command, ...
	Name string
	// Text is the whole of a new definition, or a diff of a changed one. Hidden characters are
	// visible.
	Text string
	// Value is the command or the version, and empty for other kinds.
	Value    string
	Changed  bool
	Reads    bool // the server declares the tool to be read-only
	Silent   bool // the server does not declare whether the tool is read-only
	Findings []guard.Finding
}

// Form is a server's question to the user.
type Form struct {
	Server, Tool string // Tool is empty if the question belongs to no call
	Request      mcp.ElicitRequest
	// Warnings lists suspicious properties of the question, such as a request for a secret.
	Warnings []string
}

// Sampling is a server's request to use the model.
type Sampling struct {
	Server, Tool string
	Request      *mcp.CreateMessageRequest
	Tokens       int // maximum use: the estimate for the request plus its MaxTokens
	Budget       int // tokens that the server may still use in this conversation
	Warnings     []string
}

// Question is a question to the model.
type Question struct {
	Text string
	// Shown, if not empty, is a short text for users in place of Text when the conversation is
	// shown again. It is meant for a Text that a program generated. The model and exports have
	// Text.
	Shown string
	// Attach lists resources, texts and pictures to attach.
	Attach []Attachment
	// Prompt is a server's prompt whose messages come before Text.
	Prompt *PromptCall
	// Tools selects the tools that the model can use for this question, and thereby the servers
	// whose resources it can read; nil means all. The built-in tools for searching and reading
	// stay.
	Tools func(ToolInfo) bool
	// Relayed marks a Text that the user did not write, so that its words do not count as the
	// user's. It is implied in a child conversation.
	Relayed bool
}

// Attachment is a resource of a server. If Text or Picture is set, it is instead a text or a
// picture of the user, such as a file.
type Attachment struct {
	Server string // may be empty if only one server lists the resource
	URI    string // URI of the resource, or the name of the text or picture
	Text   string
	// Picture is a PNG, JPEG, GIF or WebP file of at most 3.75 MiB and 8,000 pixels on a side.
	Picture []byte
}

// PromptCall is a prompt of a server with its arguments.
type PromptCall struct {
	Server    string
	Name      string
	Arguments map[string]string
}

// Answer is the result of a question.
type Answer struct {
	Text string
	// Stop is the reason for the end of the run; see [Answered].
	Stop   string
	Totals Totals // totals of this run
	// Refused names a call that was not allowed, as SERVER/TOOL, if all later calls only read. The
	// task may then not be done, whatever Text claims.
	Refused string
}
