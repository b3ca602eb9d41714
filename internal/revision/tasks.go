package revision

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// TasksExtension is the name of the Tasks extension in capabilities. The
// revisions that have tasks of their own have a capability in its place.
const TasksExtension = "io.modelcontextprotocol/tasks"

// MetaRelatedTask says in _meta of 2025-11-25 which task a message belongs to.
const MetaRelatedTask = "io.modelcontextprotocol/related-task"

// ResultOf is the method whose result a method has.
func ResultOf(method string) string {
	if method == "tasks/result" {
		return "tools/call"
	}
	return method
}

// RelatedTask is the value of [MetaRelatedTask].
func RelatedTask(id string) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("taskId", id)
	return w.Bytes()
}

// HasTasks reports whether capabilities of a server, as server/discover has them, hold tasks.
func HasTasks(capabilities json.RawMessage) bool {
	return isObject(jsonrpc.Get(jsonrpc.Get(capabilities, "extensions"), TasksExtension))
}

// WithoutTasks returns what a Handler says of itself without its tasks.
func WithoutTasks(discovered json.RawMessage) json.RawMessage {
	capabilities := jsonrpc.Get(discovered, "capabilities")
	if !HasTasks(capabilities) {
		return discovered
	}
	others := jsonrpc.Without(jsonrpc.Get(capabilities, "extensions"), TasksExtension)
	if capabilities = jsonrpc.Without(capabilities, "extensions"); len(others) > len("{}") {
		capabilities = jsonrpc.With(capabilities, "extensions", others)
	}
	return jsonrpc.With(discovered, "capabilities", capabilities)
}

// lowerCapabilities returns a modern server's capabilities as a legacy revision has them.
func (r *Revision) lowerCapabilities(capabilities json.RawMessage) json.RawMessage {
	if !HasTasks(capabilities) {
		return capabilities
	}
	w := jsonrpc.NewObject(nil)
	w.Members(capabilities, "extensions", "tasks")
	if others := jsonrpc.Without(jsonrpc.Get(capabilities, "extensions"), TasksExtension); len(others) > len("{}") {
		w.Raw("extensions", others)
	}
	if r.Tasks {
		w.Object("tasks")
		w.Object("list") // those of the session at least, whoever asks
		w.End()
		w.Object("cancel")
		w.End()
		w.Object("requests")
		w.Object("tools")
		w.Object("call")
		w.End()
		w.End()
		w.End()
		w.End()
	}
	return w.Bytes()
}

// raiseCapabilities returns a legacy server's capabilities as the modern revision has them.
func raiseCapabilities(capabilities json.RawMessage) json.RawMessage {
	tasks := jsonrpc.Get(capabilities, "tasks")
	if tasks == nil {
		return capabilities
	}
	kept := jsonrpc.Without(capabilities, "tasks")
	if !isObject(jsonrpc.Get(jsonrpc.Get(jsonrpc.Get(tasks, "requests"), "tools"), "call")) {
		return kept
	}
	return jsonrpc.With(kept, "extensions", jsonrpc.With(jsonrpc.Get(kept, "extensions"), TasksExtension, []byte(`{}`)))
}

// LowerTask returns a modern task as 2025-11-25 has it: without its result, its
// error and its requests, and failed where the tool's result says so.
func LowerTask(task json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.Members(task, "resultType", "_meta", "status", "ttlMs", "pollIntervalMs", "inputRequests", "result", "error")
	status, _ := jsonrpc.Unquote(jsonrpc.Get(task, "status"))
	if status == "completed" && string(jsonrpc.Get(jsonrpc.Get(task, "result"), "isError")) == "true" {
		status = "failed"
	}
	w.String("status", status)
	if ttl := jsonrpc.Get(task, "ttlMs"); ttl != nil {
		w.Raw("ttl", ttl)
	} else {
		w.Null("ttl")
	}
	if poll := jsonrpc.Get(task, "pollIntervalMs"); poll != nil {
		w.Raw("pollInterval", poll)
	}
	return w.Bytes()
}

// RaiseTask returns a task of 2025-11-25 as the modern revision has it, but for
// what it holds of its status.
func RaiseTask(task json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.Members(task, "ttl", "pollInterval", "_meta")
	if ttl := jsonrpc.Get(task, "ttl"); ttl != nil {
		w.Raw("ttlMs", ttl)
	} else {
		w.Null("ttlMs")
	}
	if poll := jsonrpc.Get(task, "pollInterval"); poll != nil {
		w.Raw("pollIntervalMs", poll)
	}
	return w.Bytes()
}
