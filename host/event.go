package host

import (
	"encoding/json"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// An Event is one event of a run; events come in the order in which they happened. Exactly one of
// the pointers is set. Its JSON is printed by junction chat --json, one object a line.
type Event struct {
	At time.Time `json:"at"`
	// Run is the number of the question in the conversation, and Step the number of the request to
	// the model in the run. Both count from 1, and are 0 outside of a run or step.
	Run  int `json:"run,omitempty"`
	Step int `json:"step,omitempty"`

	Listed        *Listed          `json:"listed,omitempty"`        // step 1 of 7: the available tools
	Asked         *Asked           `json:"asked,omitempty"`         // steps 2 and 6: the model is asked
	Delta         *model.Delta     `json:"delta,omitempty"`         // a piece of the model's answer
	Decided       *Decided         `json:"decided,omitempty"`       // step 3: the model's complete answer
	Consent       *Consented       `json:"consent,omitempty"`       // the decision whether a call may run
	Called        *Called          `json:"called,omitempty"`        // step 4: a call is made
	Progress      *Progress        `json:"progress,omitempty"`      // progress of a call
	Log           *Logged          `json:"log,omitempty"`           // a server's log message
	ServerRequest *ServerRequested `json:"serverRequest,omitempty"` // a request from a server, with its outcome
	Returned      *Returned        `json:"returned,omitempty"`      // step 5: a call's result
	Notice        *Notice          `json:"notice,omitempty"`        // a text that users should read
	Answered      *Answered        `json:"answered,omitempty"`      // step 7: the run is over
	Child         *ChildEvent      `json:"child,omitempty"`         // an event of a child conversation

	Generated *Generated `json:"generated,omitempty"` // a request to the model outside of the seven steps
	Reviewed  *Reviewed  `json:"reviewed,omitempty"`  // a review of definitions, with the user's answer
}

// Listed describes the tools that the model can use.
type Listed struct {
	Servers []ServerTools `json:"servers"`
	// Native is the number of tools sent with the first request, Deferred the number of tools that
	// the model must search for.
	Native   int `json:"native"`
	Deferred int `json:"deferred"`
	// Tokens is an estimate of the tokens of the tools in the first request.
	Tokens int `json:"tokens"`
}

// ServerTools describes the tools of one server.
type ServerTools struct {
	Server string `json:"server"`
	State  string `json:"state"` // connected, connecting, failed, unapproved
	Error  string `json:"error,omitempty"`
	// Tools is the number of all its tools, and Seen the number of those that the model can use.
	// The others are denied by a rule, set aside or not approved.
	Tools  int `json:"tools"`
	Seen   int `json:"seen"`
	Tokens int `json:"tokens"` // estimate for all its definitions
	// Trusted reports whether the user trusts the server now.
	Trusted bool `json:"trusted,omitempty"`
	// Off reports whether the server is switched off in the conversation. Seen is then 0.
	Off bool `json:"off,omitempty"`
	// Remedy tells the user how to continue after the server refused authorization.
	Remedy string `json:"remedy,omitempty"`
}

// Asked reports a request to the model.
type Asked struct {
	Model    string `json:"model"`
	Messages int    `json:"messages"`
	Tools    int    `json:"tools"`
	Tokens   int    `json:"tokens"` // estimate for the whole request
	// Request is the request in the form of package model. It is set only if [Options.Trace] is.
	Request *model.Request `json:"-"`
}

// Decided reports an answer of the model.
type Decided struct {
	Message    *model.Message   `json:"message"`
	Stop       model.StopReason `json:"stop"`
	StopDetail string           `json:"stopDetail,omitempty"`
	Usage      model.Usage      `json:"usage"`
	Cost       float64          `json:"cost,omitempty"` // US dollars
	// CostUnknown reports that the price of the model is not known. Cost is then 0.
	CostUnknown bool             `json:"costUnknown,omitempty"`
	Exchanges   []model.Exchange `json:"-"` // bytes on the wire; only if [Options.Trace] is set
}

// Generated reports a request to the model that is not one of the seven steps, after its end.
type Generated struct {
	// For is the purpose: one of the constants below.
	For string `json:"for"`
	// Server and CallID name the server that asked for it, and the call during which it asked. They
	// are set if For is ForSampling.
	Server string `json:"server,omitempty"`
	CallID string `json:"callId,omitempty"`
	Asked  Asked  `json:"asked"`
	// Decided is the model's answer, or nil if there is none.
	Decided  *Decided      `json:"decided,omitempty"`
	Error    string        `json:"error,omitempty"`
	Duration time.Duration `json:"durationNs"`
	// Exchanges holds the bytes on the wire. It is set only if [Options.Trace] is.
	Exchanges []model.Exchange `json:"-"`
}

// Values of [Generated].For.
const (
	ForSummary  = "summary"  // a summary of old turns, which replaces them
	ForSampling = "sampling" // for a server
	ForStep     = "step"     // a step that failed: its Asked was reported before, and no Decided follows
)

// Reviewed reports the user's answer to a review of new or changed definitions of a server.
type Reviewed struct {
	Server string `json:"server"`
	// First reports that nothing of the server was approved before.
	First       bool `json:"first,omitempty"`
	Definitions int  `json:"definitions"` // number of definitions shown
	Approved    bool `json:"approved"`
	Trusted     bool `json:"trusted,omitempty"` // the user also trusts the server from now on
	// Reading is the number of tools that the user declared to be read-only although the server did
	// not.
	Reading int    `json:"reading,omitempty"`
	Error   string `json:"error,omitempty"` // reason why the user did not answer
}

// Consented reports the decision whether a call may run.
type Consented struct {
	CallID  string `json:"callId"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Allowed bool   `json:"allowed"`
	By      string `json:"by"`             // "policy", "person", "session" or "question" (a rule the user made), or "host": no user could answer, or the run ended
	Rule    string `json:"rule,omitempty"` // name of the rule that decided
	Reason  string `json:"reason,omitempty"`
}

// Called reports the start of a call.
type Called struct {
	CallID      string               `json:"callId"`
	Server      string               `json:"server"` // empty for a tool of the host itself
	Tool        string               `json:"tool"`
	Title       string               `json:"title,omitempty"`
	Arguments   json.RawMessage      `json:"arguments"`
	Annotations *mcp.ToolAnnotations `json:"annotations,omitempty"`
}

// Progress reports the progress of a call. A Total of 0 means unknown.
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

// ServerRequested reports a request from a server during a call.
type ServerRequested struct {
	CallID  string `json:"callId,omitempty"`
	Server  string `json:"server"`
	Method  string `json:"method"`
	Message string `json:"message,omitempty"` // text shown to the user
	Outcome string `json:"outcome"`           // accept, decline, cancel, an error's text, or "refused: " and the reason why the user was not asked
}

// Returned reports the result of a call.
type Returned struct {
	CallID   string        `json:"callId"`
	Server   string        `json:"server"`
	Tool     string        `json:"tool"`
	Duration time.Duration `json:"durationNs"`
	IsError  bool          `json:"isError,omitempty"`
	Text     string        `json:"text"`   // text for the model
	Tokens   int           `json:"tokens"` // estimate for the text
	Bytes    int           `json:"bytes"`  // size of the whole result
	// Kept is the URI under which the model can read the rest of a long result.
	Kept string `json:"kept,omitempty"`
	// Task is the number of the task that had the result, if no call waited for it any more; see
	// [Conversation.WatchTasks]. The model reads the result under Kept.
	Task int `json:"task,omitempty"`
	// Media holds the images, sounds and files of the result.
	Media []model.Media `json:"-"`
}

// Notice is a text that users should read.
type Notice struct {
	// Kind is a stable identifier for programs: one of the constants below.
	Kind   string `json:"kind"`
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Text   string `json:"text"`
}

// Kinds of notices.
const (
	NoticeServer   = "server"   // a server was lost, came back, or was not approved
	NoticeTools    = "tools"    // tools were added, removed or changed
	NoticeReviews  = "reviews"  // a server changed too often: see [Conversation.ReviewAgain]
	NoticeLowered  = "lowered"  // a schema was rewritten for the provider, a tool set aside, or a picture withheld from the model
	NoticeGuard    = "guard"    // a suspicious text was found
	NoticeRetry    = "retry"    // the provider is asked again
	NoticeStop     = "stop"     // the model stopped for another reason than the end of its answer
	NoticeLimit    = "limit"    // a limit was reached
	NoticeLoop     = "loop"     // the model repeats itself
	NoticeCompact  = "compact"  // old turns were replaced by a summary
	NoticeRepaired = "repaired" // a history was repaired
	NoticeOffline  = "offline"  // the model is not a language model
	NoticeTask     = "task"     // a call became a task of its server, or continues as one
)

// Answered reports the end of a run.
type Answered struct {
	Text string `json:"text"`
	// Stop is the reason for the end: "end", or one of "steps", "time", "tokens", "money", "loop",
	// "length", "refusal", "cancelled", "error".
	Stop   string  `json:"stop"`
	Error  string  `json:"error,omitempty"`
	Totals Totals  `json:"totals"`         // totals of this run
	Cost   float64 `json:"cost,omitempty"` // the same as Totals.Cost
}

// Totals counts used resources.
type Totals struct {
	Usage model.Usage `json:"usage"`
	Cost  float64     `json:"cost,omitempty"` // US dollars
	// CostUnknown reports requests to a model whose price is not known. Cost includes only the
	// other requests.
	CostUnknown bool          `json:"costUnknown,omitempty"`
	Requests    int           `json:"requests"`
	Calls       int           `json:"calls"`
	Asked       int           `json:"asked"` // number of questions to the user for consent
	Duration    time.Duration `json:"durationNs"`
}

// ToolRef identifies a tool of a server.
type ToolRef struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// ToolInfo describes a tool for a list that users read.
type ToolInfo struct {
	ToolRef
	Title string `json:"title,omitempty"`
	// State is ToolSent, ToolSearched, or the reason why the model cannot use the tool.
	State string `json:"state"`
	// ReadOnly reports that the server, or the user, declares the tool to be read-only. Each call
	// decides anew whether this is accepted and whether the call may run.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Via is the gateway through which the tool is reached, if there is one; see [Server].Prefixed.
	Via string `json:"via,omitempty"`
	// View is the URI of the document that shows its results in hosts with views, if it has one.
	View string `json:"view,omitempty"`
	// Sent is the tool in the form that a model gets.
	Sent *model.Tool `json:"-"`
}

// Values of [ToolInfo].State.
const (
	ToolSent       = "sent"           // sent with every request
	ToolSearched   = "searched for"   // sent after a search finds it
	ToolDenied     = "denied"         // denied by a rule, whatever the arguments
	ToolUnapproved = "not approved"   // not approved by the user
	ToolSetAside   = "set aside"      // no provider accepts its schema
	ToolHidden     = "hidden"         // an earlier tool has the same name
	ToolForViews   = "for views only" // views may call it, models may not
	ToolOff        = "off"            // the user switched its server off in the conversation
)

// States of a server.
const (
	StateConnected  = "connected"
	StateConnecting = "connecting"
	StateFailed     = "failed"
	StateUnapproved = "unapproved" // a user must review its definitions first
)

// ChildEvent is an event of a child conversation.
type ChildEvent struct {
	// CallID is the id of the parent's call that runs the child, and Agent the name of the [Agent].
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

// Reasons for the end of a run, for [Answered].
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

// StopCutOff is the Stop of [Ended] for a run whose program ended first.
const StopCutOff = "cut off"
