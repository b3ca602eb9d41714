package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// maxSeconds is the longest sleep of slow_compute.
const maxSeconds = 120

// runsAsTasks returns the tools whose calls become tasks.
func runsAsTasks() map[string]tasks.Tool {
	return map[string]tasks.Tool{
		"slow_compute":        {},
		"failing_job":         {Required: true},
		"protocol_error_job":  {},
		"confirm_delete":      {},
		"multi_input":         {},
		"test_tool_with_task": {Required: true, Later: true},
	}
}

// addTaskTools registers the tools of the tasks extension.
func addTaskTools(s *mcp.Server) {
	mcp.AddToolWith(s, about("greet", "Greets, at once."), func(_ context.Context, in named) (string, error) {
		return "Hello, " + in.Name + "!", nil
	})
	mcp.AddToolWith(s, about("slow_compute", "Sleeps, and says so."), slowCompute)
	mcp.AddToolWith(s, about("failing_job", "Fails after a second."), func(ctx context.Context, _ struct{}) (string, error) {
		if err := idle.Wait(ctx, time.Second); err != nil {
			return "", err
		}
		return "", errors.New("the job failed, as it always does")
	})
	mcp.AddToolWith(s, about("protocol_error_job", "Panics."), func(context.Context, struct{}) (string, error) {
		panic("a fixture of the conformance suite")
	})
	mcp.AddToolWith(s, about("confirm_delete", "Asks whether a file is to be deleted."), confirmDelete)
	mcp.AddToolWith(s, about("multi_input", "Asks two things at once."), multiInput)
	mcp.AddToolWith(s, about("test_tool_with_task", "Asks for a name, and then goes on as a task."), taskAfterAsking)
}

func slowCompute(ctx context.Context, in struct {
	Seconds float64 `json:"seconds"`
	Label   string  `json:"label,omitempty"`
}) (string, error) {
	d := time.Duration(min(max(in.Seconds, 0), maxSeconds) * float64(time.Second))
	if err := idle.Wait(ctx, d); err != nil {
		return "", err
	}
	return fmt.Sprintf("computed %s in %v", in.Label, d), nil
}

type confirmation struct {
	Confirm bool `json:"confirm"`
}

func confirmDelete(ctx context.Context, in struct {
	Filename string `json:"filename"`
}) (string, error) {
	answer, err := mcp.Elicit[confirmation](ctx, "Delete "+in.Filename+"?")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("deleted %s: %v", in.Filename, answer.Confirm), nil
}

type named struct {
	Name string `json:"name"`
}

func multiInput(ctx context.Context, _ struct{}) (string, error) {
	var name named
	var sure confirmation
	err := mcp.Parallel(
		func() (err error) { name, err = mcp.Elicit[named](ctx, "What is your name?"); return err },
		func() (err error) { sure, err = mcp.Elicit[confirmation](ctx, "Are you sure?"); return err },
	)
	return fmt.Sprintf("%s: %v", name.Name, sure.Confirm), err
}

// taskAfterAsking asks the user before it becomes a task. It asks between two rounds of its call.
func taskAfterAsking(ctx context.Context, _ struct{}) (string, error) {
	who, err := mcp.Elicit[named](ctx, "What is your name?")
	if err != nil {
		return "", err
	}
	if _, err := tasks.Begin(ctx); err != nil {
		return "", err
	}
	if err := idle.Wait(ctx, pause); err != nil {
		return "", err
	}
	return "Hello, " + who.Name, nil
}
