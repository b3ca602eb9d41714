package revision

import (
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A Kind is the kind of thing that a method is about.
type Kind string

// The kinds. Templates and skills belong to the kind of resources, as they consist of resources and
// change together with them.
const (
	OfTool     Kind = "tool"
	OfPrompt   Kind = "prompt"
	OfResource Kind = "resource"
	OfTask     Kind = "task"
)

// A Method describes a request of a client to code that passes it on. A Method never changes.
type Method struct {
	Name string
	// Kind is empty for methods about the server itself, and for completion/complete, which is
	// about either a prompt or a resource.
	Kind Kind
	// Capability is the member of the server's capabilities that announces the method. After the
	// list_changed notification of the capability, results of the method may differ. Capability is
	// empty for methods that every server supports.
	Capability string
	// Subject is the member of the params with the name or URI of the tool, prompt, resource or
	// task. It is empty if the method has no subject.
	Subject string
	// Header is set if clients copy the subject into the HTTP header Mcp-Name (basic/transports).
	Header bool
	// Arguments is set if the params may contain arguments.
	Arguments bool
	// Member is the member that every complete result must have, and Empty is its empty value.
	Member, Empty string
	// Key is the member that identifies an entry, and Noun is a noun for an entry. They are set
	// only for methods that list definitions, whose list is in Member.
	Key, Noun string
	// Used is set if the request uses a definition of the server; requests that list or follow
	// definitions do not.
	Used bool
	// Asks is set if the response can be input_required (basic/patterns/mrtr).
	Asks bool
	// Task is set if the response can be a task (ext-tasks, supported methods).
	Task bool
	// Cached is set if results have caching hints (server/utilities/caching, and an extension whose
	// hints proxies must preserve).
	Cached bool
	// Core is set for methods of the core protocol, and not for methods of extensions.
	Core bool
}

// methods begins with the most frequent methods, because the search is linear.
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

// none is the Method for names that the table does not contain.
var none Method

// MethodNamed returns the Method with a name. If the table does not contain the name, the Name of
// the returned Method is empty.
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

// A Change describes the notification of changed lists of one capability. Filter is the member of a
// subscription's filter that requests it (basic/patterns/subscriptions).
type Change struct{ Capability, Notification, Filter string }

// ListChanged returns the name of the notification that lists of a capability have changed.
func ListChanged(capability string) string { return "notifications/" + capability + "/list_changed" }

var changes = func() (all []Change) {
	for _, m := range Lists() {
		if c := m.Capability; !slices.ContainsFunc(all, func(known Change) bool { return known.Capability == c }) {
			all = append(all, Change{c, ListChanged(c), c + "ListChanged"})
		}
	}
	return all
}()

// Changes returns a Change for each capability that has lists. The caller must not change the
// slice.
func Changes() []Change { return changes }

// Changed returns the capability whose lists have changed according to a notification. It returns
// "" for other notifications.
func Changed(notification string) (capability string) {
	for i := range changes {
		if changes[i].Notification == notification {
			return changes[i].Capability
		}
	}
	return ""
}

// ListOf returns the method that lists the definitions of a kind: tools, prompts or resources.
func ListOf(kind Kind) *Method {
	for i := range methods {
		if m := &methods[i]; m.Kind == kind && m.Key != "" {
			return m
		}
	}
	return &none
}

// Subject returns the name or URI of the subject of a request, and its arguments. params are the
// members of the request's params.
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
