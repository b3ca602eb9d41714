package revision

import (
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A Kind is the kind of subject of a method.
type Kind string

// Kinds. Templates and skills consist of resources and change with them.
const (
	OfTool     Kind = "tool"
	OfPrompt   Kind = "prompt"
	OfResource Kind = "resource"
	OfTask     Kind = "task"
)

// A Method describes a request of clients for code that passes it on. A Method never changes.
type Method struct {
	Name string
	// Kind is empty for methods about a server, and for completion/complete, which is about a
	// prompt or a resource.
	Kind Kind
	// Capability is the member of the server capabilities that announces the method. Its
	// notification means that results of the method may have changed. It is empty for methods of
	// every server. Skills consist of resources and change with them.
	Capability string
	// Subject is the member of the parameters that names the tool, prompt, resource or task; empty
	// for none.
	Subject string
	// Header is set if over HTTP the header Mcp-Name repeats the subject (basic/transports).
	Header bool
	// Arguments is set if the parameters may have arguments.
	Arguments bool
	// Member is the member that each complete result has, and Empty its empty value.
	Member, Empty string
	// Key is the member that identifies an entry, and Noun the name of an entry. They are set for
	// methods that list definitions, whose Member is the list.
	Key, Noun string
	// Used is set if the request uses a definition of a server, instead of listing or following it.
	Used bool
	// Asks is set if the response may be input_required (basic/patterns/mrtr).
	Asks bool
	// Task is set if the response may be a task (ext-tasks, supported methods).
	Task bool
	// Cached is set if results have caching hints (server/utilities/caching, and an extension whose
	// hints proxies must keep).
	Cached bool
	// Core is set for methods of the protocol itself, not of an extension.
	Core bool
}

// methods has the frequent methods first, for the linear search.
var methods = [...]Method{
	{Name: "tools/call", Kind: OfTool, Capability: "tools", Subject: "name", Header: true, Arguments: true, Member: "content", Empty: `[]`, Used: true, Asks: true, Task: true, Core: true},
	{Name: "tools/list", Kind: OfTool, Capability: "tools", Member: "tools", Empty: `[]`, Key: "name", Noun: "tool", Cached: true, Core: true},
	{Name: "prompts/get", Kind: OfPrompt, Capability: "prompts", Subject: "name", Header: true, Arguments: true, Member: "messages", Empty: `[]`, Used: true, Asks: true, Core: true},
	{Name: "prompts/list", Kind: OfPrompt, Capability: "prompts", Member: "prompts", Empty: `[]`, Key: "name", Noun: "prompt", Cached: true, Core: true},
	{Name: "resources/read", Kind: OfResource, Capability: "resources", Subject: "uri", Header: true, Member: "contents", Empty: `[]`, Used: true, Asks: true, Cached: true, Core: true},
	{Name: "resources/list", Kind: OfResource, Capability: "resources", Member: "resources", Empty: `[]`, Key: "uri", Noun: "resource", Cached: true, Core: true},
	{Name: "resources/templates/list", Kind: OfResource, Capability: "resources", Member: "resourceTemplates", Empty: `[]`, Key: "uriTemplate", Noun: "resource template", Cached: true, Core: true},
	{Name: "resources/subscribe", Kind: OfResource, Capability: "resources", Subject: "uri", Core: true},
	{Name: "resources/unsubscribe", Kind: OfResource, Capability: "resources", Subject: "uri", Core: true},
	{Name: "completion/complete", Capability: "completions", Member: "completion", Empty: `{"values":[]}`, Used: true, Core: true},
	{Name: "server/discover", Cached: true, Core: true},
	{Name: "subscriptions/listen", Core: true},
	{Name: "initialize", Core: true},
	{Name: "ping", Core: true},
	{Name: "logging/setLevel", Capability: "logging", Core: true},

	// The extension io.modelcontextprotocol/tasks, and its equivalent in 2025-11-25.
	{Name: "tasks/get", Kind: OfTask, Subject: "taskId", Header: true},
	{Name: "tasks/update", Kind: OfTask, Subject: "taskId", Header: true},
	{Name: "tasks/cancel", Kind: OfTask, Subject: "taskId", Header: true},
	{Name: "tasks/result", Kind: OfTask, Subject: "taskId", Member: "content", Empty: `[]`},
	{Name: "tasks/list", Kind: OfTask},

	// The extension io.modelcontextprotocol/skills.
	{Name: "skills/list", Kind: OfResource, Capability: "resources", Member: "skills", Empty: `[]`, Key: "uri", Noun: "skill", Cached: true},
	{Name: "skills/get", Kind: OfResource, Capability: "resources", Subject: "uri", Cached: true},
	{Name: "resources/directory/read", Kind: OfResource, Capability: "resources", Subject: "uri"},
}

// none is the Method of names that are not in the table.
var none Method

// MethodNamed returns the Method of a name. Its Name is empty if the table has none.
func MethodNamed(name string) *Method {
	for i := range methods {
		if methods[i].Name == name {
			return &methods[i]
		}
	}
	return &none
}

// Lists returns the methods that list definitions.
func Lists() (lists []*Method) {
	for i := range methods {
		if methods[i].Key != "" {
			lists = append(lists, &methods[i])
		}
	}
	return lists
}

// A Change is the notification of changed lists of one capability, and the member of a filter that
// requests it (basic/patterns/subscriptions).
type Change struct{ Capability, Notification, Filter string }

// ListChanged returns the notification of changed lists of a capability.
func ListChanged(capability string) string { return "notifications/" + capability + "/list_changed" }

var changes = func() (all []Change) {
	for _, m := range Lists() {
		if c := m.Capability; !slices.ContainsFunc(all, func(known Change) bool { return known.Capability == c }) {
			all = append(all, Change{c, ListChanged(c), c + "ListChanged"})
		}
	}
	return all
}()

// Changes returns a Change for each capability with lists. It must not be changed.
func Changes() []Change { return changes }

// Changed returns the capability of a notification of changed lists; empty for other notifications.
func Changed(notification string) (capability string) {
	for i := range changes {
		if changes[i].Notification == notification {
			return changes[i].Capability
		}
	}
	return ""
}

// ListOf returns the method that lists the definitions of a kind: tools, prompts, or resources.
func ListOf(kind Kind) *Method {
	for i := range methods {
		if m := &methods[i]; m.Kind == kind && m.Key != "" {
			return m
		}
	}
	return &none
}

// Subject returns the name or URI of the subject of a request, and the arguments, from the members
// of its parameters.
func Subject(method string, params *jsonrpc.Members) (name string, arguments json.RawMessage) {
	m := MethodNamed(method)
	if m.Subject != "" {
		name, _ = jsonrpc.Unquote(params.Get(m.Subject))
	}
	if m.Arguments {
		arguments = params.Get("arguments")
	}
	return name, arguments
}
