package tui

import (
	"context"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
)

// What the conversation knows of its servers and their tasks, and of what the person said about them.

func (a *attached) current() *host.Conversation {
	talk, _ := a.now()
	return talk
}

func (a *attached) Servers() []host.ServerTools          { return a.current().Servers() }
func (a *attached) Tools() []host.ToolInfo               { return a.current().Tools() }
func (a *attached) SetOff(server string, off bool) error { return a.current().SetOff(server, off) }
func (a *attached) Trust(server string, forever bool) error {
	return a.current().Trust(server, forever)
}
func (a *attached) Tasks() []host.Task { return a.current().Tasks() }
func (a *attached) CancelTask(ctx context.Context, number int) error {
	return a.current().CancelTask(ctx, number)
}
func (a *attached) LeaveTask(number int) error             { return a.current().LeaveTask(number) }
func (a *attached) WatchTasks(ctx context.Context)         { a.current().WatchTasks(ctx) }
func (a *attached) Distrust(server string) error           { return a.current().Distrust(server) }
func (a *attached) Approvals() []guard.Approval            { return a.current().Approvals() }
func (a *attached) Withdraw(approval guard.Approval) error { return a.current().Withdraw(approval) }
