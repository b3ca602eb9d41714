package revision

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// TasksExtension is the name of the Tasks extension in capabilities. Revisions that define tasks
// themselves have a capability in its place.
const TasksExtension = "io.modelcontextprotocol/tasks"

// MetaRelatedTask is the member of _meta that, in 2025-11-25, contains the task to which a message
// belongs.
const MetaRelatedTask = "io.modelcontextprotocol/related-task"

// ResultOf returns the method that defines the form of a method's results.
func ResultOf(method string) string {
	if method == "tasks/result" {
		return "tools/call"
	}
	return method
}

// RelatedTask returns the value of [MetaRelatedTask] for the task with an id.
func RelatedTask(id string) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("taskId", id)
	return w.Bytes()
}

// HasTasks reports whether server capabilities, in the form of server/discover, include tasks.
func HasTasks(capabilities json.RawMessage) bool {
	return isObject(jsonrpc.Get(jsonrpc.Get(capabilities, "extensions"), TasksExtension))
}

// WithoutTasks returns the result of server/discover without the tasks capability.
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

// lowerCapabilities converts the capabilities of a modern server to the form of a legacy revision.
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
		w.Object("list") // at least the tasks of the session, for any client
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

// raiseCapabilities converts the capabilities of a legacy server to the form of the modern
// revision.
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

// LowerTask converts a modern task to the form of 2025-11-25. It removes its result, error and
// requests, and sets the status to failed if the tool's result is an error.
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

// RaiseTask converts a task of 2025-11-25 to the form of the modern revision. It does not add the
// members that depend on the status.
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
