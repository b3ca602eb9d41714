package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// Person decides what the host must not decide alone. Its methods may be called from several goroutines; an
// implementation asks one thing after the other. Each waits until the user has answered or ctx is done. They are
// called while a run waits for them, so they must not wait for one themselves. What returns [ErrNobody] has said no;
// other errors end the review, the question or the call they belong to.
type Person interface {
	// Consent is asked whether a call may run.
	Consent(ctx context.Context, card Card) (Verdict, error)
	// Review is asked whether the definitions of servers may be used: at the first connection to each, and again for
	// whatever changed since. All that wait for a review come together, each server once, and the answers are in their
	// order. A yes to a server holds whatever error comes with it.
	Review(ctx context.Context, reviews []Review) ([]ReviewAnswer, error)
	// Elicit is asked to fill in a server's form or to visit its page.
	Elicit(ctx context.Context, form Form) (*mcp.ElicitResult, error)
	// Sample is asked whether a server may use the model. It may change the request.
	Sample(ctx context.Context, s Sampling) (bool, error)
}

// ErrNobody is what a [Person] returns where nobody can be asked. The answer is no
// then, and the model learns that nobody has given it.
var ErrNobody = errors.New("no user can be asked")

// nobody is the Person of a Host that has none.
type nobody struct{}

func (nobody) Consent(context.Context, Card) (Verdict, error) { return Verdict{}, ErrNobody }

func (nobody) Review(context.Context, []Review) ([]ReviewAnswer, error) { return nil, ErrNobody }

func (nobody) Elicit(context.Context, Form) (*mcp.ElicitResult, error) { return nil, ErrNobody }

func (nobody) Sample(context.Context, Sampling) (bool, error) { return false, ErrNobody }

// Card is all that a user needs to say yes or no to a call. Texts are the
// server's own: whoever shows them cleans them.
type Card struct {
	CallID      string
	Agent       string // the sub-agent that wants it; empty: the conversation's own model
	Server      string // empty: a tool of the host itself
	Tool        string // as the server names it
	Title       string
	Description string
	Arguments   json.RawMessage // in full
	Annotations mcp.ToolAnnotations
	Trusted     bool // whether the server's annotations are believed
	// Reads is whether the user said, in a review, that the tool only reads, as its server does not say what it does.
	Reads bool
	// Reasons say why the user is asked: the rule, text of which untrusted
	// servers was read before, secrets among the arguments.
	Reasons []string
	// NoRule, where no rule is for the call, is the first of Reasons without what the call
	// does: for whoever shows that by Annotations.
	NoRule string
	// Allowed is the rule that allows the call, where what was read before, or what the call carries, asks for a yes
	// all the same; nil where the rules ask. It is not to be changed.
	Allowed *policy.Rule
	// Secret is whether the arguments hold what looks like a secret.
	Secret bool
	// Always are the rules that "always" could write, the narrowest first: those that would
	// save the next such question. Where there are none, Once says why.
	Always []AlwaysRule
	Once   string
	// Never are the rules that "never" could write, the narrowest first.
	Never []AlwaysRule
	// CanTrust is whether the user could trust the server, with [Verdict].Trust or
	// [Host.Trust].
	CanTrust bool
	// Resource is set where this is not a call but the reading of a resource.
	Resource string
}

// AlwaysRule is a rule that a user can have written.
type AlwaysRule struct {
	Label string // for users, such as "this tool with any arguments"
	Rule  policy.Rule
}

// Verdict is what a user said to a Card.
type Verdict struct {
	Allow bool
	// Rule, if not nil, is one of the card's Always rules (or of its Never rules, where
	// Allow is false): it holds until the host closes, or for good if Forever is set.
	Rule    *policy.Rule
	Forever bool
	// Question has the rule, if it allows, hold until the question is answered and no longer, and
	// only for the conversation that the call belongs to, with its parents and children.
	Question bool
	// Trust is whether the server is to be trusted from now on, for good if Forever is set.
	Trust bool
	// Note goes to the model where Allow is false: what to do instead.
	Note string
}

// Review shows a user what a server brings before the model sees it.
type Review struct {
	Server string
	// First is whether the server was never approved.
	First bool
	// Items are the definitions that are new or changed.
	Items []ReviewItem
}

// ReviewAnswer is what a user said to a Review. The zero ReviewAnswer is a no.
type ReviewAnswer struct {
	// Approve is whether the model may use what was shown.
	Approve bool
	// Trust is whether the server is to be trusted from now on, for good if Forever is set.
	// It counts with Approve only.
	Trust, Forever bool
	// Reads is whether the user holds those of the items to only read that are Silent. It
	// holds as long as they are what was shown, and for this server only; with Approve only.
	Reads bool
}

// ReviewItem is one definition that is new or changed.
type ReviewItem struct {
	Kind string // tool, prompt, instructions, command, ...
	Name string
	// Text is the whole definition where it is new, a diff where it changed, with hidden characters made visible.
	Text string
	// Value is the command or the version that is defined; empty for other kinds.
	Value    string
	Changed  bool
	Reads    bool // a tool that says that it only reads
	Silent   bool // a tool of which the server does not say whether it only reads
	Findings []guard.Finding
}

// Form is a question of a server to the user.
type Form struct {
	Server, Tool string // Tool is empty where the question belongs to no call
	Request      mcp.ElicitRequest
	// Warnings say what is suspicious about it, such as asking for a secret.
	Warnings []string
}

// Sampling is a server's wish to use the model.
type Sampling struct {
	Server, Tool string
	Request      *mcp.CreateMessageRequest
	Tokens       int // what it may cost at most: the request's estimate and its MaxTokens
	Budget       int // what the server may still use in this conversation
	Warnings     []string
}

// Question is what a user says.
type Question struct {
	Text string
	// Shown, if not empty, is what people see in place of Text when the conversation is shown
	// again: a few words, where a program made Text. The model and exports have Text.
	Shown string
	// Attach are resources, texts and pictures that go along.
	Attach []Attachment
	// Prompt is a prompt of a server whose messages go along, before Text.
	Prompt *PromptCall
	// Tools chooses among the tools that the model can have for this question, and so whose
	// resources it can read; nil means all. The built-in ones, to search and to read, stay.
	Tools func(ToolInfo) bool
	// Relayed is for a Text that the user did not write: nothing that it says counts as
	// their words. In a child conversation it always is.
	Relayed bool
}

// Attachment is a resource of a server or, where Text or Picture is not empty, a text or a
// picture that the user has from elsewhere, such as a file.
type Attachment struct {
	Server string // may be empty where one server lists the resource
	URI    string // of the resource; the name of the text or picture
	Text   string
	// Picture is a PNG, JPEG, GIF or WebP, as its content says, of at most 3.75 MiB and 8,000 pixels on a side.
	Picture []byte
}

// PromptCall is a prompt of a server with its arguments.
type PromptCall struct {
	Server    string
	Name      string
	Arguments map[string]string
}

// Answer is what came of a question.
type Answer struct {
	Text string
	// Stop says why the run is over; see [Answered].
	Stop   string
	Totals Totals // of this run
	// Refused is a call that was not allowed, as SERVER/TOOL, where no later one did more than
	// read: what was asked for may not be done, whatever Text says.
	Refused string
}
