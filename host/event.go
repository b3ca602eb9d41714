package host

import (
	"encoding/json"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// An Event is something that happened in a run, in the order in which it happened. Exactly one of the pointers is set.
// Its JSON form is what junction chat --json prints, one object a line.
type Event struct {
	At time.Time `json:"at"`
	// Run counts the questions of a conversation, Step the requests to the model
	// in a run, both from 1; 0 is outside of them.
	Run  int `json:"run,omitempty"`
	Step int `json:"step,omitempty"`

	Listed        *Listed          `json:"listed,omitempty"`        // step 1 of 7: which tools there are
	Asked         *Asked           `json:"asked,omitempty"`         // steps 2 and 6: the model is asked
	Delta         *model.Delta     `json:"delta,omitempty"`         // a piece of its answer
	Decided       *Decided         `json:"decided,omitempty"`       // step 3: what it wants
	Consent       *Consented       `json:"consent,omitempty"`       // whether a call may run, and who said so
	Called        *Called          `json:"called,omitempty"`        // step 4: a call is made
	Progress      *Progress        `json:"progress,omitempty"`      // how far it has come
	Log           *Logged          `json:"log,omitempty"`           // a server's log message
	ServerRequest *ServerRequested `json:"serverRequest,omitempty"` // a server asked something, and what came of it
	Returned      *Returned        `json:"returned,omitempty"`      // step 5: a call's result
	Notice        *Notice          `json:"notice,omitempty"`        // what a user should know
	Answered      *Answered        `json:"answered,omitempty"`      // step 7: the run is over
	Child         *ChildEvent      `json:"child,omitempty"`         // something happened in a child conversation

	Generated *Generated `json:"generated,omitempty"` // the model was asked outside of the seven steps
	Reviewed  *Reviewed  `json:"reviewed,omitempty"`  // the user was shown definitions, and what came of it
}

// Listed tells which tools the model can have.
type Listed struct {
	Servers []ServerTools `json:"servers"`
	// Native are the tools sent with the first request, Deferred those that must be searched for.
	Native   int `json:"native"`
	Deferred int `json:"deferred"`
	// Tokens is an estimate of what the tools sent with the first request cost.
	Tokens int `json:"tokens"`
}

// ServerTools tells what one server adds.
type ServerTools struct {
	Server string `json:"server"`
	State  string `json:"state"` // connected, connecting, failed, unapproved
	Error  string `json:"error,omitempty"`
	// Tools is how many tools it has, Seen how many of them the model can be given:
	// the rest is denied by a rule, set aside or not approved.
	Tools  int `json:"tools"`
	Seen   int `json:"seen"`
	Tokens int `json:"tokens"` // of all its definitions
	// Trusted is whether the user trusts it now.
	Trusted bool `json:"trusted,omitempty"`
	// Off is whether it is switched off in the conversation, so that Seen is 0.
	Off bool `json:"off,omitempty"`
	// Remedy says what to do where the server refused the authorization.
	Remedy string `json:"remedy,omitempty"`
}

// Asked tells that the model is asked.
type Asked struct {
	Model    string `json:"model"`
	Messages int    `json:"messages"`
	Tools    int    `json:"tools"`
	Tokens   int    `json:"tokens"` // estimated, of the whole request
	// Request is what is sent, in the form of package model; only if
	// [Options.Trace] is set.
	Request *model.Request `json:"-"`
}

// Decided tells what the model answered.
type Decided struct {
	Message    *model.Message   `json:"message"`
	Stop       model.StopReason `json:"stop"`
	StopDetail string           `json:"stopDetail,omitempty"`
	Usage      model.Usage      `json:"usage"`
	Cost       float64          `json:"cost,omitempty"` // US dollars
	// CostUnknown is whether the price of the model is not known, so that Cost is 0.
	CostUnknown bool             `json:"costUnknown,omitempty"`
	Exchanges   []model.Exchange `json:"-"` // the bytes on the wire; only if [Options.Trace] is set
}

// Generated tells of an exchange with the model that is none of the seven steps, when it is over.
type Generated struct {
	// For says what for: one of the constants below.
	For string `json:"for"`
	// Server and CallID are who wanted it and in the middle of which call, where For is ForSampling.
	Server string `json:"server,omitempty"`
	CallID string `json:"callId,omitempty"`
	Asked  Asked  `json:"asked"`
	// Decided is what the model answered; nil if it did not.
	Decided  *Decided      `json:"decided,omitempty"`
	Error    string        `json:"error,omitempty"`
	Duration time.Duration `json:"durationNs"`
	// Exchanges are the bytes on the wire; only if [Options.Trace] is set.
	Exchanges []model.Exchange `json:"-"`
}

// The values of [Generated].For.
const (
	ForSummary  = "summary"  // of old turns, which it replaces
	ForSampling = "sampling" // for a server
	ForStep     = "step"     // for a step after all, which the model did not answer: Asked was reported before
)

// Reviewed tells what a user said to definitions of a server that are new or changed.
type Reviewed struct {
	Server string `json:"server"`
	// First is whether the server was never approved.
	First       bool `json:"first,omitempty"`
	Definitions int  `json:"definitions"` // that were shown
	Approved    bool `json:"approved"`
	Trusted     bool `json:"trusted,omitempty"` // from now on, as the user said
	// Reading is how many of the tools only read, as the user said and the server does not.
	Reading int    `json:"reading,omitempty"`
	Error   string `json:"error,omitempty"` // why the user did not answer
}

// Consented tells whether a call may run.
type Consented struct {
	CallID  string `json:"callId"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Allowed bool   `json:"allowed"`
	By      string `json:"by"`             // "policy", "person", "session" or "question": a rule the user made for it, or "host": nobody was there, or the run was ended meanwhile
	Rule    string `json:"rule,omitempty"` // the name of the rule that decided
	Reason  string `json:"reason,omitempty"`
}

// Called tells that a call is made.
type Called struct {
	CallID      string               `json:"callId"`
	Server      string               `json:"server"` // empty: a tool of the host itself
	Tool        string               `json:"tool"`
	Title       string               `json:"title,omitempty"`
	Arguments   json.RawMessage      `json:"arguments"`
	Annotations *mcp.ToolAnnotations `json:"annotations,omitempty"`
}

// Progress tells how far a call has come; Total 0 means unknown.
type Progress struct {
	CallID   string  `json:"callId"`
	Server   string  `json:"server"`
	Tool     string  `json:"tool"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// Logged is a log message of a server.
type Logged struct {
	Server string          `json:"server"`
	Level  mcp.LogLevel    `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// ServerRequested reports a request from a server in the middle of a call.
type ServerRequested struct {
	CallID  string `json:"callId,omitempty"`
	Server  string `json:"server"`
	Method  string `json:"method"`
	Message string `json:"message,omitempty"` // what a user would read
	Outcome string `json:"outcome"`           // accept, decline, cancel, an error's text, or "refused: " and why the user was not asked
}

// Returned tells what came of a call.
type Returned struct {
	CallID   string        `json:"callId"`
	Server   string        `json:"server"`
	Tool     string        `json:"tool"`
	Duration time.Duration `json:"durationNs"`
	IsError  bool          `json:"isError,omitempty"`
	Text     string        `json:"text"`   // what the model reads
	Tokens   int           `json:"tokens"` // estimated, of what the model reads
	Bytes    int           `json:"bytes"`  // of the whole result
	// Kept is the URI under which the rest of a long result can be read.
	Kept string `json:"kept,omitempty"`
	// Task is the number of the task as which the call went on until its lists were not requested any more; see
	// [Conversation.WatchTasks]. The model reads the result under Kept.
	Task int `json:"task,omitempty"`
	// Media are images, sounds and files of the result.
	Media []model.Media `json:"-"`
}

// Notice is something that a user should know.
type Notice struct {
	// Kind is a stable word for programs: one of the constants below.
	Kind   string `json:"kind"`
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Text   string `json:"text"`
}

// The kinds of notices.
const (
	NoticeServer   = "server"   // a server was lost, came back, or was not approved
	NoticeTools    = "tools"    // tools came, went or changed
	NoticeReviews  = "reviews"  // a server changes too often: see [Conversation.ReviewAgain]
	NoticeLowered  = "lowered"  // a schema was rewritten for the provider, a tool set aside, or a picture not shown to the model
	NoticeGuard    = "guard"    // something suspicious was found
	NoticeRetry    = "retry"    // the provider is asked again
	NoticeStop     = "stop"     // the model stopped for another reason than being done
	NoticeLimit    = "limit"    // a limit was reached
	NoticeLoop     = "loop"     // the model repeats itself
	NoticeCompact  = "compact"  // old turns were replaced by a summary
	NoticeRepaired = "repaired" // a history was mended
	NoticeOffline  = "offline"  // the model is no language model
	NoticeTask     = "task"     // a call became a task of its server, or goes on as one
)

// Answered tells that a run is over.
type Answered struct {
	Text string `json:"text"`
	// Stop says why it is over: "end", or one of "steps", "time", "tokens",
	// "money", "loop", "length", "refusal", "cancelled", "error".
	Stop   string  `json:"stop"`
	Error  string  `json:"error,omitempty"`
	Totals Totals  `json:"totals"`         // of this run
	Cost   float64 `json:"cost,omitempty"` // as the totals have it
}

// Totals count what was used.
type Totals struct {
	Usage model.Usage `json:"usage"`
	Cost  float64     `json:"cost,omitempty"` // US dollars
	// CostUnknown is whether there were requests to a model whose price is not known: Cost has only that of the others.
	CostUnknown bool          `json:"costUnknown,omitempty"`
	Requests    int           `json:"requests"`
	Calls       int           `json:"calls"`
	Asked       int           `json:"asked"` // how often a user was asked for consent
	Duration    time.Duration `json:"durationNs"`
}

// ToolRef names a tool of a server.
type ToolRef struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// ToolInfo is a tool as users list it.
type ToolInfo struct {
	ToolRef
	Title string `json:"title,omitempty"`
	// State says how the model can have it: ToolSent, ToolSearched, or why it cannot.
	State string `json:"state"`
	// ReadOnly is whether it says, or the user does, that it changes nothing. Whether it is believed, and may
	// run, is decided at each call.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Via is the server that it is reached through, where that is a gateway; see [Server].Prefixed.
	Via string `json:"via,omitempty"`
	// View is the URI of the document that hosts with views show its results in, if it has one.
	View string `json:"view,omitempty"`
	// Sent is the tool as a model gets it.
	Sent *model.Tool `json:"-"`
}

// How the model can have a tool, or why it cannot.
const (
	ToolSent       = "sent"           // with every request
	ToolSearched   = "searched for"   // when a search finds it
	ToolDenied     = "denied"         // by a rule, whatever the arguments
	ToolUnapproved = "not approved"   // by the user
	ToolSetAside   = "set aside"      // as no provider takes its schema
	ToolHidden     = "hidden"         // behind another of the same name
	ToolForViews   = "for views only" // as it says itself: a view calls it, and no model
	ToolOff        = "off"            // as the user switched its server off in the conversation
)

// The states of a server.
const (
	StateConnected  = "connected"
	StateConnecting = "connecting"
	StateFailed     = "failed"
	StateUnapproved = "unapproved" // a user must see its definitions first
)

// ChildEvent is an event of a child conversation.
type ChildEvent struct {
	// CallID is the call that it belongs to, and Agent the name of the [Agent].
	CallID string `json:"callId"`
	Agent  string `json:"agent"`
	Event  Event  `json:"event"`
}

func (t Totals) add(u Totals) Totals {
	return Totals{
		Usage: t.Usage.Add(u.Usage), Cost: t.Cost + u.Cost, CostUnknown: t.CostUnknown || u.CostUnknown, Requests: t.Requests + u.Requests,
		Calls: t.Calls + u.Calls, Asked: t.Asked + u.Asked, Duration: t.Duration + u.Duration,
	}
}

// The reasons why a run is over, which [Answered] names.
const (
	stopEnd       = "end"
	stopSteps     = "steps"
	stopTime      = "time"
	stopTokens    = "tokens"
	stopMoney     = "money"
	stopLoop      = "loop"
	stopLength    = "length"
	stopRefusal   = "refusal"
	stopCancelled = "cancelled"
	stopError     = "error"
)

// StopCutOff is how a run ended, in [Ended], whose program ended before.
const StopCutOff = "cut off"
